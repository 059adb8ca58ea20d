"""One simulation, from its seed to its verdict."""

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.audit import verify
from core.calls import Outcome
from core.errors import GatepostError, StoreError
from core.host import BaseHost
from core.ids import OrgId, Run, TaskRef
from core.people import Account, Organization
from core.poster import Surface
from core.redact import Redactor
from core.tasks import Task
from core.testing import CountingIds, MemoryStore
from core.testing.chat import MemoryChat
from core.testing.memory.rows import AccountRow, ApprovalRouteRow, OrganizationRow
from core.testing.memory.store import AUDIT_KEY
from tests.simulation import postings, repeats
from tests.simulation.arrivals import NOT_SENT
from tests.simulation.faults import Fault, Faults
from tests.simulation.hosts import App, Plan
from tests.simulation.outside import CANARY, Provider, Screen, Weather
from tests.simulation.people import People
from tests.simulation.process import LEASE_SECONDS, SURFACE, WITHIN, Died, Process
from tests.simulation.rules import demand
from tests.simulation.timing import VirtualLoop, WorldClock
from tests.simulation.watching import Watch

ACTS = 28
"""What the people of an organization do, at the most, before everything is healed."""
PATIENCE_SECONDS = 400.0
"""Virtual seconds after the faults end by which everything must have come to its end (I20)."""
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """How a seed ended. *broken*: the violation in words, None where every rule held."""

    seed: int
    broken: str | None
    rule: str | None
    faults: Counter[str]
    seen: Counter[str]
    sends: int
    duplicates: int
    transactions: int
    trace: tuple[str, ...]


def simulate(seed: int, *, traced: bool = False) -> Verdict:
    """The world of *seed*, lived through."""
    loop = VirtualLoop()
    loop.set_exception_handler(lambda _loop, _context: None)  # what a killed process leaves behind
    loop.set_task_factory(_belonging)
    world = World(seed=seed, traced=traced)
    try:
        asyncio.set_event_loop(loop)
        with _logging(world):
            loop.run_until_complete(world.live())
        return world.verdict()
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _belonging(loop: asyncio.AbstractEventLoop, coro: Any, **named: Any) -> asyncio.Task[Any]:
    """A task that its process takes along when it dies."""
    task = asyncio.Task(coro, loop=loop, **named)
    process = WITHIN.get()
    if process is not None:
        process.started(task)
    return task


class _Log(logging.Handler):
    """What a worker logs of a run or chore that broke off is looked at: it may be a bug of ours."""

    def __init__(self, world: "World") -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "core.worker" and record.exc_info and record.exc_info[1] is not None:
            self._world.broke_off(record.exc_info[1])


@contextmanager
def _logging(world: "World") -> Iterator[None]:
    """What core logs is heard by the world, and by nobody else: thousands of lines that are no news."""
    logger, log = logging.getLogger("core"), _Log(world)
    before, logger.propagate = logger.propagate, False
    logger.addHandler(log)
    try:
        yield
    finally:
        logger.removeHandler(log)
        logger.propagate = before


@dataclass(kw_only=True)
class World:
    """Everything there is in one simulation."""

    seed: int
    traced: bool = False
    rng: random.Random = field(init=False)
    faults: Faults = field(init=False)
    store: MemoryStore = field(init=False)
    processes: list[Process] = field(default_factory=list, init=False)
    trace: list[str] = field(default_factory=list, init=False)
    _made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.faults = Faults(self.rng)
        self._plan = Plan.drawn(self.rng)
        self._provider = Provider(rng=self.rng, faults=self.faults)

    async def live(self) -> None:
        """The whole life; ends early at the first violation."""
        self._open()
        living = [asyncio.create_task(self._keep_alive(n)) for n in range(self.rng.choice((2, 2, 3)))]
        course = asyncio.create_task(self._course())
        over = asyncio.create_task(self.watch.over.wait())
        await asyncio.wait((course, over), return_when=asyncio.FIRST_COMPLETED)
        for task in (*living, over, course):
            task.cancel()
        for process in self.processes:
            process.kill()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*left, return_exceptions=True)

    def _open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._database_clock = WorldClock(self._loop)
        self.redactor = Redactor({"SHOP_KEY": CANARY})  # as the bot has it from its start
        self.store = MemoryStore(clock=self._database_clock, ids=CountingIds(), redactor=self.redactor)
        self.watch = Watch(
            rows=self.store.rows,
            provider=self._provider,
            now=self._database_clock.now,
            limits=self._plan.limits,
        )
        weather = Weather(faults=self.faults)
        self.chat = MemoryChat(clock=self._database_clock, name=SURFACE, trouble=weather, busy_seconds=2.0)
        orgs = [OrgId(f"org{n}") for n in range(self.rng.choice((1, 1, 2, 3)))]
        self.people = [
            People(
                org=org,
                other=orgs[n - 1] if len(orgs) > 1 else OrgId("nowhere"),
                rng=self.rng,
                faults=self.faults,
                store=self.store,
                watch=self.watch,
                provider=self._provider,
                processes=self.processes,
                chat=self.chat,
            )
            for n, org in enumerate(orgs)
        ]
        rows = self.store.rows
        with rows.transaction():
            for people in self.people:
                named = Organization(id=people.org, name=people.org)
                rows.organizations.insert(OrganizationRow(organization=named))
                for person in (people.ada, people.ben, people.eve):
                    rows.people.insert(person)
                    account = Account(surface=SURFACE, ref=person.id)
                    rows.accounts.insert(AccountRow(org=people.org, account=account, person_id=person.id))
                if self.rng.random() < 0.3:
                    route = ApprovalRouteRow(org=people.org, agent="", surface=SURFACE, ref="C9")
                    rows.approval_routes.insert(route)
        rows.journal.watch = self.watch.committed

    # ── what goes on ─────────────────────────────────────────────────────────────────────────

    async def _course(self) -> None:
        acting = [asyncio.create_task(self._acts(people)) for people in self.people]
        acting.append(asyncio.create_task(self._misfortunes()))
        try:
            await asyncio.gather(*acting[:-1])
        finally:
            for task in acting:
                task.cancel()
        self.tell("── healed ──")
        self.faults.healed = True
        for people in self.people:
            await people.heal()
        for process in self.processes:
            process.clock.skew_seconds = 0.0
        self.watch.look(lambda: None)
        await self._come_to_an_end()

    async def _acts(self, people: People) -> None:
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            await people.ask()
        for _ in range(self.rng.randrange(ACTS // 2, ACTS)):
            await asyncio.sleep(self.rng.expovariate(2.0))
            try:
                await people.act()
            except Died:
                continue  # there was no process to serve it

    async def _misfortunes(self) -> None:
        """What befalls processes, rows and clocks."""
        faults, rng = self.faults, self.rng
        while True:
            await asyncio.sleep(rng.expovariate(1.0))
            alive = [p for p in self.processes if p.alive]
            if alive and faults.strikes(Fault.TERMINATED, 0.04):
                rng.choice(alive).terminate()
            if alive and faults.strikes(Fault.STALLED, 0.08):
                rng.choice(alive).stall(rng.uniform(1, 3) * LEASE_SECONDS)
            if alive and faults.strikes(Fault.CLOCK_STEPPED, 0.1):
                rng.choice(alive).clock.skew_seconds = rng.choice((-1, 1)) * DAY_SECONDS
            if faults.strikes(Fault.TIME_JUMPED, 0.04):
                days = rng.choice((0.1, 1.1, 8.0))
                self.tell(f"the database's time is {days} days later")
                self._database_clock.skew_seconds += days * DAY_SECONDS
            rng.choice(self.people).tamper()
            self.watch.look(self._in_sight)

    async def _keep_alive(self, n: int) -> None:
        """A process, and the next one where it ends."""
        while True:
            self._made += 1
            changed = self._made > 2 and self.faults.strikes(Fault.REDEPLOYED, 0.5)
            process = Process(world=self, number=self._made, deployed=1 if changed else 0)
            self.processes[:] = [p for p in self.processes if p.alive] + [process]
            await process.live()
            self.tell(f"w{process.number} is gone")
            await asyncio.sleep(self.rng.uniform(0.1, 2.0))

    async def _come_to_an_end(self) -> None:
        """Answers come, time passes, and within a while nothing is left to do (I19, I20)."""
        began = self._loop.time()
        while not self._quiet():
            if self._loop.time() - began > PATIENCE_SECONDS:
                self.watch.look(self._not_ended)
                return
            await asyncio.sleep(1.0)
            self.watch.look(self._in_sight)
            answered = 0
            for people in self.people:
                with contextlib.suppress(Died, GatepostError):
                    answered += await people.answer_all()
            if not answered and not self._at_work():
                self._database_clock.skew_seconds += 20.0  # nobody waits out what only time brings
        for process in self.processes:
            process.terminate()
        await asyncio.sleep(LEASE_SECONDS)
        self.watch.look(self._end_checks)

    def _in_sight(self) -> None:
        postings.in_sight(self.watch, self.store.rows, self.chat)

    def _at_work(self) -> bool:
        return any(process.alive and process.worker._runs for process in self.processes)

    def _quiet(self) -> bool:
        rows = self.store.rows
        waits = all(people.waits_for_nobody() for people in self.people)
        return waits and not any(p.owed for p in rows.posts) and not rows.inbox.under("state", "new")

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    def _not_ended(self) -> None:
        rows = self.store.rows
        open_tasks = [f"{t.org} {t.code} {t.state}" for t in self._tasks() if not t.ended]
        posts = [f"{p.dedup_key} {p.state}" for p in rows.posts if p.owed]
        new = len(rows.inbox.under("state", "new"))
        demand(False, f"I20: after {PATIENCE_SECONDS:g} s: {open_tasks}, posts {posts}, {new} new events")

    def _end_checks(self) -> None:
        rows = self.store.rows
        for arrival in self._provider.accepted:
            call = rows.calls.get(arrival.call.org, arrival.call.id)
            assert call is not None
            demand(call.outcome not in NOT_SENT, f"I8: {call.tool} went out and is {call.outcome}")
        for call in rows.calls:
            if call.outcome is Outcome.SUCCEEDED and not call.pure and not self._provider.took(call.id):
                said = [p for p in rows.parks.under("task", call.org, call.task_id) if p.call_id == call.id]
                by_person = any(p.choice is not None for p in said)
                demand(by_person, f"I8: {call.tool} is said to have gone out, and did not")
        for row in rows.inbox:
            demand(row.state != "dead" or row.event.kind != "message", f"I21: {row.error}")
        for (org, agent), served in self.watch.tokens.items():
            kept = sum(u.used + u.reserved for u in rows.usage if (u.org, u.agent) == (org, agent))
            demand(kept >= served, f"I24: {served} tokens were served, {kept} are accounted for")
        for task in self._tasks():
            repeats.check(rows, task)
        for people in self.people:
            self._trail(people.org)

    def _tasks(self) -> list[Task]:
        return [task for people in self.people for task in self.store.rows.tasks_of(people.org)]

    def _trail(self, org: OrgId) -> None:
        entries = sorted(self.store.rows.audit.under("sealed", org, True), key=lambda e: e.seq or 0)
        loose = self.store.rows.audit.under("sealed", org, False)
        row = self.store.rows.organizations.get(org)
        assert row is not None
        found = verify(AUDIT_KEY, entries, loose, row.head)
        demand(found.whole, f"I34: {found.findings}")

    def verdict(self) -> Verdict:
        broken = self.watch.broken
        keys = Counter(
            (a.call.org, a.call.task_id, a.call.effect_key)
            for a in self._provider.accepted
            if a.call.resend_of is None
        )
        return Verdict(
            seed=self.seed,
            broken=None if broken is None else str(broken),
            rule=None if broken is None else broken.rule,
            faults=Counter({str(k.name): n for k, n in self.faults.happened.items()}),
            seen=self.watch.seen,
            sends=len(self._provider.accepted),
            duplicates=sum(n - 1 for n in keys.values()),
            transactions=self.watch.transactions,
            trace=tuple(self.trace),
        )

    # ── what processes need of it ────────────────────────────────────────────────────────────

    def host_of(self, process: Process) -> BaseHost:
        return App(
            plan=self._plan,
            rng=self.rng,
            faults=self.faults,
            watch=self.watch,
            provider=self._provider,
            process=process,
        ).host()

    def surface_of(self, process: Process) -> Surface:
        return Screen(self.chat, process, self.watch.shown)

    def tell(self, words: str) -> None:
        if self.traced:
            self.trace.append(f"{self._loop.time():8.3f} {words}")

    async def provoked(self, ref: TaskRef, move: Any) -> None:
        """The worst moment for a stop or a pause: between what was planned and the marker's lock."""
        if move.__qualname__.startswith("mark."):
            people = next(p for p in self.people if p.org == ref.org)
            await people.interrupt(ref)

    def broke_off(self, error: BaseException) -> None:
        """Core raised what no fault of this world explains: an illegal move, a bug."""
        if not isinstance(error, StoreError | Died | asyncio.CancelledError):
            self.watch.look(lambda: demand(False, f"§1: a run broke off: {type(error).__name__}: {error}"))

    @contextmanager
    def writing(self, run: Run | None) -> Iterator[None]:
        with self.watch.writing(run):
            yield
