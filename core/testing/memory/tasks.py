"""Opening and changing tasks: the only writer of tasks, messages, calls and parks."""

from dataclasses import replace

from core.errors import StoreError, TaskNotFound
from core.ids import Run, TaskRef
from core.moves.opening import goal, opened, opening
from core.ports import Transcript
from core.tasks import Task, TaskState
from core.testing.memory.apply import settle_applied, write_change, write_entry, write_events, write_messages
from core.testing.memory.load import calls_of, load_work
from core.testing.memory.rows import Rows, TaskRow
from core.work import NOTHING, Cause, Duplicate, Fenced, Lost, Move, Need, NewTask, R, TaskEvent, Work


class MemoryTasks:
    """core.ports.Tasks."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def open(self, new: NewTask, cause: Cause) -> Task | Duplicate:
        with self._rows.transaction():
            spent = _spent(self._rows, new, cause)
            return spent if spent is not None else _open(self._rows, new, cause)

    async def change(self, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
        return changed(self._rows, ref, move, need)

    async def load(self, run: Run) -> Work | Fenced:
        task = self._rows.task(run.ref)
        if task is None or task.state is not TaskState.RUNNING or task.epoch != run.epoch:
            return Fenced(run=run)
        return load_work(self._rows, task, NOTHING, self._rows.now())

    async def transcript(self, ref: TaskRef, after_seq: int = 0) -> Transcript:
        task = self._rows.task(ref)
        said = [row.message for row in self._rows.messages.under("task", ref.org, ref.task_id)]
        messages = sorted((m for m in said if m.seq > after_seq), key=lambda message: message.seq)
        return Transcript(
            messages=tuple(messages), calls=() if task is None else tuple(calls_of(self._rows, task))
        )


def changed(rows: Rows, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
    """What *move* decided on the rows is written with its one audit entry, or nothing is; its answer.

    Raises TaskNotFound, what *move* raises, and StoreError.
    """
    if (task := rows.task(ref)) is None:
        raise TaskNotFound
    at = rows.now()
    work = load_work(rows, task, need, at)
    change, answer = move(work, at)
    if not isinstance(change, Lost):
        with rows.transaction():
            write_change(rows, work, change, at)
    return answer


def _spent(rows: Rows, new: NewTask, cause: Cause) -> Duplicate | None:
    """Why *cause* can't open a task (any more); None: it can."""
    if (row := rows.inbox.get(cause.key)) is None:
        return Duplicate()
    if row.event.org not in (None, new.org):
        raise StoreError(f"inbox row {cause.key.source} {cause.key.event_id} is another organization's")
    if row.state == "new":
        return None
    by = row.event.task_id if row.state == "applied" else None
    return Duplicate(ref=None if by is None else TaskRef(org=new.org, task_id=by))


def _open(rows: Rows, new: NewTask, cause: Cause) -> Task:
    if (around := rows.organizations.get(new.org)) is None:
        raise StoreError(f"there is no organization {new.org}")
    rows.organizations.update(replace(around, next_task_no=around.next_task_no + 1))
    task = opened(new, around.next_task_no, around.organization.state, rows.now())
    if task.state is TaskState.QUEUED:
        task = replace(task, vrt=rows.place(task.org, task.prio))
    task = rows.tasks.insert(TaskRow(task=task, queued_at=task.created_at)).task
    write_messages(rows, task, [goal(task, rows.ids.nonce())])
    settle_applied(rows, task, [cause.key])
    write_events(rows, task, [TaskEvent(name="task_created")], task.created_at)
    write_entry(rows, task, opening(task, cause), task.created_at)
    return task
