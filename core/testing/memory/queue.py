"""The queue: which task a worker gets next, and what brings tasks back into it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from core.ids import Run, TaskRef, WorkerId
from core.people import OrgState
from core.tasks import Prio, Task, TaskState
from core.testing.memory.rows import Rows


class MemoryQueue:
    """core.ports.Queue."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def claim(self, worker: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        runs: list[Run] = []
        queued = self._rows.tasks.under("state", TaskState.QUEUED)
        with self._rows.transaction():
            for task in _in_order(t for t in queued if t.vrt >= self._rows.floor(t.prio)):
                if len(runs) == n:
                    break
                if self._blocked(task):
                    held = replace(task, state=TaskState.HELD, worker=None, lease_until=None)
                    self._rows.tasks.update(held)
                else:
                    runs.append(self._claimed(task, worker, lease_seconds))
        return runs

    async def heartbeat(self, worker: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[TaskRef]:
        until = self._rows.now() + timedelta(seconds=lease_seconds)
        held = [task for run in runs if (task := self._rows.task(run.ref)) is not None]
        ours = [task for task in held if task.state is TaskState.RUNNING and task.worker == worker]
        with self._rows.transaction():
            for task in ours:
                self._rows.tasks.update(replace(task, lease_until=until))
        return [task.ref for task in ours]

    async def recover(self, limit: int) -> list[TaskRef]:
        now = self._rows.now()
        running, delayed, held = (
            _in_order(self._rows.tasks.under("state", state))
            for state in (TaskState.RUNNING, TaskState.DELAYED, TaskState.HELD)
        )
        back = [
            *(replace(t, attempts=t.attempts + 1) for t in running if t.lease_until and t.lease_until < now),
            *(t for t in delayed if t.not_before and t.not_before <= now),
            *(t for t in held if not self._blocked(t)),
        ]
        with self._rows.transaction():
            for task in back[:limit]:
                self._queue_again(task)
            self._advance()
        return [task.ref for task in back[:limit]]

    def _blocked(self, task: Task) -> bool:
        around = self._rows.organizations.get(task.org)
        switch = self._rows.switches.get(task.org, task.agent)
        paused = around is not None and around.organization.state is OrgState.PAUSED
        return paused or (switch is not None and switch.switch.paused)

    def _claimed(self, task: Task, worker: WorkerId, lease_seconds: float) -> Run:
        now = self._rows.now()
        running = replace(
            task,
            state=TaskState.RUNNING,
            epoch=task.epoch + 1,
            worker=worker,
            lease_until=now + timedelta(seconds=lease_seconds),
            started_at=task.started_at or now,
        )
        self._rows.tasks.update(running)
        return Run(org=task.org, task_id=task.id, epoch=running.epoch, worker=worker)

    def _queue_again(self, task: Task) -> None:
        """At the end of its organization's turns."""
        vrt = self._rows.place(task.org, task.prio)
        free = replace(task, worker=None, lease_until=None, not_before=None)
        self._rows.tasks.update(replace(free, state=TaskState.QUEUED, vrt=vrt))

    def _advance(self) -> None:
        """The floors are the lowest places still taken."""
        queued = self._rows.tasks.under("state", TaskState.QUEUED)
        for prio in (Prio.PERSON, Prio.SELF_STARTED):
            lowest = min((task.vrt for task in queued if task.prio == prio), default=None)
            floor = self._rows.queue_floor.get(prio)
            if lowest is not None and floor is not None:
                self._rows.queue_floor.update(replace(floor, floor=lowest))


def _in_order(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (task.prio, task.vrt, task.id))
