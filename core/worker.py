"""A worker: claims tasks and runs them, several at once, and does the housekeeping any worker may do.

It holds nothing another process needs: killed at any line, the leases run out and another worker goes
on. Leases are for speed; what keeps a task from being worked on twice is its epoch (rule 3).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from core.caught import caught
from core.decisions import Desk
from core.errors import GatepostError
from core.ids import Run, TaskRef, WorkerId
from core.intake import Intake
from core.loop import OnStep, TaskRun, nobody_looks_on
from core.moves.ends import give_back
from core.moves.waits import expire, remind
from core.ports import Clock, Due, Model
from core.poster import Poster

log = logging.getLogger(__name__)

SEAL_LEASE_SECONDS = 10.0
DRAIN_SECONDS = 15.0
"""How long a stopping worker lets its steps finish; platforms kill 30 s after SIGTERM."""
LAST_POSTS_SECONDS = 2.0
"""For how long each sender still begins to send what has come of the last steps."""


LONGEST_WAIT_SECONDS = 10.0
"""Between two tries of a chore that fails: a database that is back is noticed soon, and not besieged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Seconds between two looks of each chore."""

    poll: float = 0.25
    sweep: float = 1.0
    seal: float = 2.0
    post: float = 0.2


@dataclass(kw_only=True, slots=True)
class Worker:
    """One process's worker. *slots* tasks at once; a lease is renewed three times in its length."""

    desk: Desk
    clock: Clock
    worker_id: WorkerId
    default_model: Model | None = None
    lease_seconds: float = 60.0
    slots: int = 10
    pace: Pace = Pace()
    on_step: OnStep = nobody_looks_on
    posters: Sequence[Poster] = ()
    _runs: dict[Run, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _stopping: bool = field(default=False, init=False)
    _sealing: int | None = field(default=None, init=False)

    async def work(self, stop: asyncio.Event) -> None:
        """Works until *stop* is set; then finishes or gives back what is in hand."""
        claiming = asyncio.create_task(self._every(self.pace.poll, self.claim))
        chores = [
            asyncio.create_task(self._every(self.lease_seconds / 3, self._heartbeat)),
            asyncio.create_task(self._every(self.pace.sweep, self.sweep)),
            asyncio.create_task(self._every(self.pace.seal, self.seal)),
            *(asyncio.create_task(self._every(self.pace.post, p.deliver)) for p in self.posters),
        ]
        try:
            await stop.wait()
            self._stopping = True
            for poster in self.posters:
                poster.leaving = True  # a post cut off on its way would be there twice
            await claiming  # ends by itself: a claim cut off in its commit would be nobody's
            await self._drain()
            await self._leave(LAST_POSTS_SECONDS)
        finally:
            for chore in (claiming, *chores):
                chore.cancel()
            await asyncio.gather(claiming, *chores, return_exceptions=True)

    async def until_idle(self) -> None:
        """Works until no task can go on without a person, an answer or a time; for tests and examples."""
        beating = asyncio.create_task(self._every(self.lease_seconds / 3, self._heartbeat))
        try:
            while True:
                await self.sweep()
                claimed = await self.claim()
                if not claimed and not self._runs:
                    return await self._leave()
                for ended in await asyncio.gather(*self._runs.values(), return_exceptions=True):
                    # a run that lost its lease was cancelled by the heartbeat; that is an ordinary end
                    if isinstance(ended, BaseException) and not isinstance(ended, asyncio.CancelledError):
                        raise ended
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def claim(self) -> int:
        """Free slots are filled with claimed tasks, each running now; how many were claimed."""
        free = self.slots - len(self._runs)
        if free <= 0 or self._stopping:
            return 0
        runs = await self.desk.store.queue.claim(self.worker_id, free, self.lease_seconds)
        for run in runs:
            self._runs[run] = asyncio.create_task(self._run(run))
        return len(runs)

    async def _run(self, run: Run) -> None:
        try:
            with caught() as ended:
                await self._task_run(run).go()
        finally:
            self._runs.pop(run, None)
        if ended.error is not None:
            # one broken task harms itself alone; its lease runs out, and after five such losses it is failed
            log.error("a run of %s broke off", run.task_id, exc_info=ended.error)

    def _task_run(self, run: Run) -> TaskRun:
        return TaskRun(
            desk=self.desk,
            clock=self.clock,
            run=run,
            default_model=self.default_model,
            on_step=self.on_step,
            leaving=lambda: self._stopping,
        )

    async def _heartbeat(self) -> None:
        """Leases are renewed; a run that lost its own stops."""
        before = dict(self._runs)  # what is claimed while the statement runs is not looked for in its answer
        if not before:
            return
        queue = self.desk.store.queue
        held = set(await queue.heartbeat(self.worker_id, list(before), self.lease_seconds))
        for run, running in before.items():
            if run.ref not in held:
                running.cancel()

    async def sweep(self) -> None:
        """Lost, due and unblocked tasks are queued again, the inbox applied, parks expired and recalled."""
        await self.desk.store.queue.recover(100)
        await Intake(desk=self.desk).sweep()
        for ref in await self.desk.store.parks.due(Due.EXPIRE, 100):
            await self._expire(ref)
        for ref in await self.desk.store.parks.due(Due.REMIND, 100):
            await self._remind(ref)

    async def _remind(self, ref: TaskRef) -> None:
        """Who keeps *ref* waiting is reminded, once; it keeps no other reminder waiting if it breaks."""
        try:
            await self.desk.store.tasks.change(ref, remind())
        except GatepostError:
            log.exception("nobody could be reminded of %s", ref.task_id)

    async def _expire(self, ref: TaskRef) -> None:
        """What is due of one task is expired; a task that can't be changed keeps nobody else waiting."""
        try:
            task = (await self.desk.store.ledger.story(ref)).task
            await self.desk.store.tasks.change(ref, expire(self.desk.agent(task.agent)))
        except GatepostError:
            log.exception("what is due of %s could not be expired", ref.task_id)

    async def seal(self) -> None:
        """New audit entries are in their organization's chain, if this worker is the one who seals."""
        leases, ledger = self.desk.store.leases, self.desk.store.ledger
        self._sealing = await leases.take("seal", self.worker_id, SEAL_LEASE_SECONDS)
        if self._sealing is None:
            return
        for org in await ledger.organizations():
            await ledger.seal(org, 1000)

    async def _leave(self, seconds: float | None = None) -> None:
        """What is new is shown (for *seconds*) and sealed once more, and the next worker may seal at once."""
        for poster in self.posters:
            await poster.deliver_all(seconds)
            await poster.leave()
        await self.seal()
        if self._sealing is not None:
            await self.desk.store.leases.drop("seal", self._sealing)

    async def _drain(self) -> None:
        """Steps in hand get some seconds; what is left is cancelled and its task given back."""
        running = dict(self._runs)
        if not running:
            return
        _, unfinished = await asyncio.wait(running.values(), timeout=DRAIN_SECONDS)
        late = {run: task for run, task in running.items() if task in unfinished}
        for task in late.values():
            task.cancel()
        await asyncio.gather(*late.values(), return_exceptions=True)
        for run in late:
            await self.desk.store.tasks.change(run.ref, give_back(run))

    async def _every(self, seconds: float, chore: Callable[[], Awaitable[object]]) -> None:
        name, failed = getattr(chore, "__name__", chore), 0
        ending = (self.claim, *(poster.deliver for poster in self.posters))
        while not (self._stopping and chore in ending):
            with caught() as ended:
                await chore()
            if ended.error is None and failed:
                log.warning("%s works again, after %d tries", name, failed)
            elif ended.error is not None and not failed:  # the database may be away for a while: said once
                log.error("%s failed; tried again until it works", name, exc_info=ended.error)
            failed = 0 if ended.error is None else failed + 1
            await self.clock.sleep(
                min(LONGEST_WAIT_SECONDS, seconds * 2 ** min(failed, 10)) if failed else seconds
            )
