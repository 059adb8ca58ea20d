"""One process of the bot: the real worker over ports that take time, fail, and may be its last."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar, cast

from core.decisions import Desk
from core.errors import StoreError
from core.front import Front
from core.host import BaseHost
from core.ids import Run, TaskRef, WorkerId
from core.ports import (
    Inbox,
    Leases,
    Ledger,
    Outbox,
    Parks,
    People,
    Prompts,
    Queue,
    Rates,
    Secrets,
    Store,
    Tasks,
)
from core.poster import Poster, Surface
from core.redact import Redactor
from core.shown import Room
from core.testing import CountingIds
from core.worker import Pace, Worker
from tests.simulation.faults import Fault, Faults
from tests.simulation.timing import WorldClock

T = TypeVar("T")

LEASE_SECONDS = 3.0
PACE = Pace(poll=1.2, sweep=2.0, seal=6.0, post=1.5)
SURFACE = "chat"
NO_ROOM = Room(alone=0, several=0)
CARDS = 2
"""That come to one place in an hour (I39): few, so that seeds have more."""

WITHIN: ContextVar["Process | None"] = ContextVar("WITHIN", default=None)
"""The process whose code is running; everything it starts belongs to it."""


class Died(BaseException):
    """The process ended here. Nothing of ours may catch it: it is no Exception."""


class Around(Protocol):
    """What a process needs of its world."""

    @property
    def rng(self) -> random.Random: ...
    @property
    def faults(self) -> Faults: ...
    @property
    def store(self) -> Store: ...
    @property
    def redactor(self) -> Redactor: ...

    def host_of(self, process: "Process") -> BaseHost: ...
    def surface_of(self, process: "Process") -> Surface: ...
    def tell(self, words: str) -> None: ...
    def writing(self, run: Run | None) -> Any: ...
    async def provoked(self, ref: TaskRef, move: Any) -> None: ...
    def broke_off(self, error: BaseException) -> None: ...


@dataclass(kw_only=True, eq=False)
class Process:
    """A process until it is killed or has stopped. *deployed* is the version of the tools it runs."""

    world: Around
    number: int
    deployed: int
    alive: bool = True
    stalled_until: float = 0.0
    clock: WorldClock = field(init=False)
    worker: Worker = field(init=False)
    host: BaseHost = field(init=False)
    desk: Desk = field(init=False)
    front: Front = field(init=False)
    small_front: Front = field(init=False)  # of a screen that has no room for arguments
    _stop: asyncio.Event = field(init=False)
    _tasks: list[asyncio.Task[Any]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.clock = WorldClock(self._loop)
        self.host = self.world.host_of(self)
        ids = CountingIds(first=(self.number + 1) * 1_000_000)
        self.desk = Desk(store=_Ports(self), host=self.host, ids=ids, redactor=self.world.redactor)
        self.worker = Worker(
            desk=self.desk,
            clock=self.clock,
            worker_id=WorkerId(f"w{self.number}"),
            lease_seconds=LEASE_SECONDS,
            slots=3,
            pace=PACE,
            posters=[
                Poster(
                    desk=self.desk,
                    clock=self.clock,
                    name=SURFACE,
                    surface=self.world.surface_of(self),
                    holder=f"w{self.number}",
                    most=CARDS,
                )
            ],
        )
        self.front = Front(desk=self.desk, clock=self.clock, surface=SURFACE, room=None)
        self.small_front = replace(self.front, room=NO_ROOM)
        self._stop = asyncio.Event()

    async def live(self) -> None:
        """Until it has stopped, or was killed."""
        with self.inside():
            working = asyncio.create_task(self.worker.work(self._stop))
        await asyncio.wait((working,))
        self.kill()
        error = None if working.cancelled() else working.exception()
        if error is not None and not isinstance(error, Died | StoreError):
            self.world.broke_off(error)

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What is started in here belongs to this process."""
        before = WITHIN.set(self)
        try:
            yield
        finally:
            WITHIN.reset(before)

    def started(self, task: asyncio.Task[Any]) -> None:
        self._tasks.append(task)

    def terminate(self) -> None:
        self._stop.set()

    def stall(self, seconds: float) -> None:
        """For so long nothing of it goes on, its heartbeat included."""
        self.stalled_until = self._loop.time() + seconds

    def kill(self) -> None:
        """Gone: whatever it was doing ends here, and its ports answer nobody any more."""
        self.alive = False
        for task in self._tasks:
            task.cancel()

    def runs(self, run: Run) -> bool:
        """Some code of this process may still be at work on *run*."""
        return self.alive and run in self.worker._runs

    # ── its calls to the outside ─────────────────────────────────────────────────────────────

    async def call(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """What *act* answers, unless the way there, the way back or the process fails."""
        world = self.world
        await self.travel()
        if world.faults.strikes(Fault.KILLED_BEFORE, 0.003):
            self.die(f"before {name}")
        if world.faults.strikes(Fault.STORE_FAILED, 0.008):
            world.tell(f"w{self.number} {name} fails")
            raise StoreError("the connection was lost")
        answer = await act()
        if world.faults.strikes(Fault.KILLED_AFTER, 0.003):
            self.die(f"after {name}")
        if world.faults.strikes(Fault.STORE_LOST_ANSWER, 0.008):
            world.tell(f"w{self.number} {name}: its answer is lost")
            raise StoreError("the connection was lost in COMMIT")
        await self.travel()
        return answer

    async def travel(self) -> None:
        """A moment passes, longer where the process is paused or the way is slow."""
        faults, rng = self.world.faults, self.world.rng
        seconds = rng.expovariate(100.0)
        if faults.strikes(Fault.STORE_SLOW, 0.005):
            seconds += rng.uniform(0.5, LEASE_SECONDS * 1.5)
        await asyncio.sleep(seconds)
        if self.stalled_until > self._loop.time():
            await asyncio.sleep(self.stalled_until - self._loop.time())
        if not self.alive:
            raise Died

    def die(self, where: str) -> None:
        self.world.tell(f"w{self.number} is killed {where}")
        self.kill()
        raise Died


class _Port:
    """A port whose every method is a call of *process*."""

    def __init__(self, process: Process, name: str, real: object) -> None:
        self._process, self._name, self._real = process, name, real

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        real = getattr(self._real, method)
        process, name = self._process, f"{self._name}.{method}"

        async def called(*args: Any, **named: Any) -> Any:
            if method != "change":
                return await process.call(name, lambda: real(*args, **named))
            move = args[1]

            async def change() -> Any:
                await process.world.provoked(args[0], move)
                with process.world.writing(_run_of(move)):
                    return await real(*args, **named)

            return await process.call(f"{name}({move.__qualname__.partition('.')[0]})", change)

        setattr(self, method, called)
        return called


def _run_of(move: Any) -> Run | None:
    """The run that *move* is a move of: one of the values it closes over."""
    held = (cell.cell_contents for cell in move.__closure__ or ())
    return next((value for value in held if isinstance(value, Run)), None)


class _Ports:
    """core.ports.Store as one process reaches it."""

    def __init__(self, process: Process) -> None:
        real = process.world.store
        self.tasks = cast(Tasks, _Port(process, "tasks", real.tasks))
        self.queue = cast(Queue, _Port(process, "queue", real.queue))
        self.inbox = cast(Inbox, _Port(process, "inbox", real.inbox))
        self.outbox = cast(Outbox, _Port(process, "outbox", real.outbox))
        self.parks = cast(Parks, _Port(process, "parks", real.parks))
        self.people = cast(People, _Port(process, "people", real.people))
        self.ledger = cast(Ledger, _Port(process, "ledger", real.ledger))
        self.leases = cast(Leases, _Port(process, "leases", real.leases))
        self.secrets = cast(Secrets, _Port(process, "secrets", real.secrets))
        self.rates = cast(Rates, _Port(process, "rates", real.rates))
        self.prompts = cast(Prompts, _Port(process, "prompts", real.prompts))

    async def close(self) -> None:
        """The database stays."""
