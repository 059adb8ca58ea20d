"""Opening and changing tasks: the only writer of tasks, messages, calls and parks."""

from dataclasses import replace
from typing import Final

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.apply import (
    insert_entry,
    insert_events,
    insert_messages,
    next_place,
    settle_applied,
    write_change,
)
from adapters.store.engine import Database, Undo
from adapters.store.load import OF_ORG, OF_TASK, find_task, load_work
from adapters.store.rows import call_of, message_of, task_row
from adapters.store.tables import calls, inbox, messages, organizations, tasks
from core.calls import Call
from core.errors import StoreError, TaskNotFound
from core.ids import Run, TaskRef
from core.moves.opening import goal, opened, opening
from core.people import OrgState
from core.ports import Transcript
from core.tasks import Message, Task, TaskState
from core.work import (
    NOTHING,
    Cause,
    Duplicate,
    Fenced,
    Lost,
    Move,
    Need,
    NewTask,
    R,
    TaskEvent,
    Work,
)


class SqlTasks:
    """core.ports.Tasks."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def open(self, new: NewTask, cause: Cause) -> Task | Duplicate:
        """The task exists, queued, its goal first in the transcript, its cause applied (T1).

        A paused organization's task is stored as held. Where the cause is not a new inbox row,
        nothing is written and the answer is Duplicate, with the task that applied it, if one did.
        """

        async def body(conn: AsyncConnection) -> Task | Duplicate | Undo[Task | Duplicate]:
            spent = await _spent(conn, new, cause)
            return Undo(spent) if spent is not None else await self._open(conn, new, cause)

        return await self._db.write(body)

    async def change(self, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
        """What *move* decided on the locked rows is written with its one audit entry, or nothing is.

        *move* may run more than once, each time on rows read anew. Raises TaskNotFound, what *move*
        raises, and StoreError.
        """

        async def body(conn: AsyncConnection) -> R | Undo[R]:
            task = await find_task(conn, ref, lock=True)
            if task is None:
                raise TaskNotFound
            work, at = await load_work(self._db, conn, task, need)
            change, answer = move(work, at)
            if isinstance(change, Lost):
                return Undo(answer)
            await write_change(self._db, conn, work, change, at)
            return answer

        return await self._db.write(body)

    async def load(self, run: Run) -> Work | Fenced:
        """The task's usual rows, read without the lock, if *run* still has it."""

        async def body(conn: AsyncConnection) -> Work | Fenced:
            task = await find_task(conn, run.ref, lock=False)
            if task is None or task.state is not TaskState.RUNNING or task.epoch != run.epoch:
                return Fenced(run=run)
            work, _ = await load_work(self._db, conn, task, NOTHING)
            return work

        return await self._db.read(body)

    async def transcript(self, ref: TaskRef, after_seq: int = 0) -> Transcript:
        """The transcript's rows past *after_seq*, by seq, and every call of the task, by number."""

        async def body(conn: AsyncConnection) -> Transcript:
            return Transcript(messages=await _messages(conn, ref, after_seq), calls=await _calls(conn, ref))

        return await self._db.read(body)

    async def _open(self, conn: AsyncConnection, new: NewTask, cause: Cause) -> Task:
        at = await self._db.now(conn)
        number, state = await _next_number(conn, new)
        task = await self._insert(conn, opened(new, number, state, at))
        await insert_messages(conn, task, [goal(task, self._db.ids.nonce())])
        await settle_applied(conn, task, [cause.key])
        await insert_events(self._db, conn, task, [TaskEvent(name="task_created")], at)
        await insert_entry(self._db, conn, task, opening(task, cause), at)
        return task

    async def _insert(self, conn: AsyncConnection, task: Task) -> Task:
        values = task_row(task) | {"queued_at": task.created_at}
        if task.state is TaskState.QUEUED:
            values["vrt"] = next_place(self._db, task.org, task.prio)
        vrt = await conn.execute(insert(tasks).values(values).returning(tasks.c.vrt))
        return replace(task, vrt=vrt.scalar_one())


async def _spent(conn: AsyncConnection, new: NewTask, cause: Cause) -> Duplicate | None:
    """Why *cause* can't open a task (any more); None: it can, and its row is locked for it."""
    query = select(inbox.c.state, inbox.c.org, inbox.c.task_id).where(
        inbox.c.source == cause.key.source, inbox.c.event_id == cause.key.event_id
    )
    row = (await conn.execute(query.with_for_update())).one_or_none()
    if row is None:
        return Duplicate()
    if row.org is not None and row.org != new.org:
        raise StoreError(f"inbox row {cause.key.source} {cause.key.event_id} is another organization's")
    if row.state == "new":
        return None
    by = row.task_id if row.state == "applied" else None
    return Duplicate(ref=None if by is None else TaskRef(org=new.org, task_id=by))


async def _next_number(conn: AsyncConnection, new: NewTask) -> tuple[int, OrgState]:
    """The organization's next task number, now taken, and its state; its row is locked, last."""
    statement = (
        update(organizations)
        .where(organizations.c.id == new.org)
        .values(next_task_no=organizations.c.next_task_no + 1)
        .returning(organizations.c.next_task_no, organizations.c.state)
    )
    row = (await conn.execute(statement)).one_or_none()
    if row is None:
        raise StoreError(f"there is no organization {new.org}")
    return row.next_task_no - 1, OrgState(row.state)


async def _messages(conn: AsyncConnection, ref: TaskRef, after_seq: int) -> tuple[Message, ...]:
    said = {"of_org": ref.org, "of_task": ref.task_id, "after": after_seq}
    return tuple(message_of(row) for row in (await conn.execute(_MESSAGES, said)).mappings())


async def _calls(conn: AsyncConnection, ref: TaskRef) -> tuple[Call, ...]:
    said = {"of_org": ref.org, "of_task": ref.task_id}
    return tuple(call_of(row) for row in (await conn.execute(_CALLS, said)).mappings())


_MESSAGES: Final = (
    select(messages)
    .where(messages.c.org == OF_ORG, messages.c.task_id == OF_TASK, messages.c.seq > bindparam("after"))
    .order_by(messages.c.seq)
)
_CALLS: Final = (
    select(calls).where(calls.c.org == OF_ORG, calls.c.task_id == OF_TASK).order_by(calls.c.number)
)
