"""The queue: which task a worker gets next, and what brings tasks back into it.

The rules of adapters/store/queue.py, one task after another.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from core.ids import OrgId, Run, TaskRef, WorkerId
from core.people import OrgState
from core.queue import QueueSettings
from core.tasks import Prio, Task, TaskState
from core.testing.memory.rows import Rows, TaskRow


class MemoryQueue:
    """core.ports.Queue."""

    def __init__(self, rows: Rows, settings: QueueSettings | None = None) -> None:
        self._rows = rows
        self._settings = settings or QueueSettings()

    async def claim(self, worker: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        runs: list[Run] = []
        with self._rows.transaction():
            running = self._running()
            for row in self._in(TaskState.QUEUED):
                if len(runs) == n:
                    break
                task = row.task
                if task.vrt < self._rows.floor(task.prio):
                    continue
                if self._paused(task) or running[task.org] >= self._cap(task.org):
                    self._hold(row)
                else:
                    runs.append(self._claim(row, worker, lease_seconds))
                    running[task.org] += 1
        return runs

    async def heartbeat(self, worker: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[TaskRef]:
        until = self._rows.now() + timedelta(seconds=lease_seconds)
        held = [row for run in runs if (row := self._rows.tasks.get(run.org, run.task_id)) is not None]
        ours = [r for r in held if r.task.state is TaskState.RUNNING and r.task.worker == worker]
        with self._rows.transaction():
            for row in ours:
                self._rows.tasks.update(replace(row, task=replace(row.task, lease_until=until)))
        return [row.task.ref for row in ours]

    async def recover(self, limit: int) -> list[TaskRef]:
        with self._rows.transaction():
            queued = self._recover_lost(limit)
            queued += self._recover_due(limit - len(queued))
            queued += self._release(limit - len(queued))
            self._age(limit)
            self._advance()
        return queued

    # ── claiming ─────────────────────────────────────────────────────────────────────────────

    def _claim(self, row: TaskRow, worker: WorkerId, lease_seconds: float) -> Run:
        task, now = row.task, self._rows.now()
        running = replace(
            task,
            state=TaskState.RUNNING,
            prio=Prio.SELF_STARTED if row.aged else task.prio,
            epoch=task.epoch + 1,
            worker=worker,
            lease_until=now + timedelta(seconds=lease_seconds),
            started_at=task.started_at or now,
        )
        self._rows.tasks.update(replace(row, task=running))
        return Run(org=task.org, task_id=task.id, epoch=running.epoch, worker=worker)

    def _hold(self, row: TaskRow) -> None:
        held = replace(row.task, state=TaskState.HELD, worker=None, lease_until=None)
        self._rows.tasks.update(replace(row, task=held))

    # ── what blocks ──────────────────────────────────────────────────────────────────────────

    def _paused(self, task: Task) -> bool:
        switch = self._rows.switches.get(task.org, task.agent)
        return self._org_paused(task.org) or (switch is not None and switch.switch.paused)

    def _org_paused(self, org: OrgId) -> bool:
        around = self._rows.organizations.get(org)
        return around is not None and around.organization.state is OrgState.PAUSED

    def _cap(self, org: OrgId) -> int:
        """How many of *org* may run at once."""
        around = self._rows.organizations.get(org)
        own = None if around is None else around.organization.max_running
        return self._settings.max_running if own is None else own

    def _running(self) -> Counter[OrgId]:
        return Counter(row.task.org for row in self._rows.tasks.under("state", TaskState.RUNNING))

    # ── coming back ──────────────────────────────────────────────────────────────────────────

    def _recover_lost(self, limit: int) -> list[TaskRef]:
        now = self._rows.now()
        running = self._in(TaskState.RUNNING)
        lost = [row for row in running if row.task.lease_until and row.task.lease_until < now]
        counted = [replace(row, task=replace(row.task, attempts=row.task.attempts + 1)) for row in lost]
        return self._queue_again(counted[:limit])

    def _recover_due(self, limit: int) -> list[TaskRef]:
        now = self._rows.now()
        delayed = self._in(TaskState.DELAYED)
        due = [row for row in delayed if row.task.not_before and row.task.not_before <= now]
        return self._queue_again(due[:limit])

    def _release(self, limit: int) -> list[TaskRef]:
        """Held tasks are queued again, as many of each organization as it has room for.

        Each organization may bring its share of *limit*, so that none is always too late.
        """
        held: dict[OrgId, list[TaskRow]] = {}
        for row in self._in(TaskState.HELD):
            if not self._paused(row.task):
                held.setdefault(row.task.org, []).append(row)
        running = self._running()
        rooms = {org: self._cap(org) - running[org] for org in held}
        free = [org for org, room in rooms.items() if room > 0]
        free.sort(key=lambda org: (min(row.task.vrt for row in held[org]), org))
        free = free[:limit]
        queued: list[TaskRef] = []
        for nth, org in enumerate(free):
            share = (limit - len(queued)) // (len(free) - nth)
            queued += self._queue_again(held[org][: min(rooms[org], share)])
        return queued

    def _queue_again(self, back: Iterable[TaskRow]) -> list[TaskRef]:
        """At the end of their organizations' turns. Only what comes back from held has waited all along."""
        queued = []
        for row in back:
            task = row.task
            vrt = self._rows.place(task.org, task.prio)
            free = replace(task, worker=None, lease_until=None, not_before=None)
            waits = replace(row, task=replace(free, state=TaskState.QUEUED, vrt=vrt))
            if task.state is not TaskState.HELD:
                waits = replace(waits, queued_at=self._rows.now(), aged=False)
            self._rows.tasks.update(waits)
            queued.append(task.ref)
        return queued

    # ── ageing and the floors ────────────────────────────────────────────────────────────────

    def _age(self, limit: int) -> None:
        """Of each organization the next self-started task that waited too long stands among those a
        person asked for, unless one that aged before still waits."""
        before = self._rows.now() - timedelta(seconds=self._settings.age_seconds)
        waiting = self._in(TaskState.QUEUED)
        first: dict[OrgId, TaskRow] = {}
        for row in waiting:
            if row.task.prio == Prio.SELF_STARTED:
                first.setdefault(row.task.org, row)
        for org in {row.task.org for row in waiting if row.aged}:
            first.pop(org, None)
        old = [row for row in first.values() if row.queued_at < before]
        for row in sorted(old, key=lambda row: (row.queued_at, row.task.id))[:limit]:
            vrt = self._rows.place(row.task.org, Prio.PERSON)
            task = replace(row.task, prio=Prio.PERSON, vrt=vrt)
            self._rows.tasks.update(replace(row, task=task, aged=True))

    def _advance(self) -> None:
        """The floors are the lowest places still taken."""
        queued = self._in(TaskState.QUEUED)
        for prio in (Prio.PERSON, Prio.SELF_STARTED):
            lowest = min((row.task.vrt for row in queued if row.task.prio == prio), default=None)
            floor = self._rows.queue_floor.get(prio)
            if lowest is not None and floor is not None:
                self._rows.queue_floor.update(replace(floor, floor=lowest))

    def _in(self, state: TaskState) -> list[TaskRow]:
        """The tasks of that state, in the queue's order."""
        rows = self._rows.tasks.under("state", state)
        return sorted(rows, key=lambda row: (row.task.prio, row.task.vrt, row.task.id))
