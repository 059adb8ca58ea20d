"""What only a database can have: rows that changed meanwhile, locks, and a driver to be cancelled in.

In memory nothing comes between a move's look and its writing, and a change awaits nothing.
"""

import asyncio
from collections.abc import Coroutine, Generator
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any, cast

import pytest
from sqlalchemy import event, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.pool import QueuePool

from adapters.store.apply import write_change
from adapters.store.load import load_work
from adapters.store.rows import call_row
from adapters.store.tables import calls, tasks
from core.calls import CallState
from core.errors import StoreError
from core.parks import ParkState
from core.tasks import MessageKind, TaskState
from core.work import Change, Move, Need, NewMessage, Spend, TaskEvent, Work
from tests.contract import factories as make
from tests.contract.factories import NOW
from tests.contract.moves import read, writing
from tests.contract.planted_sql import SqlPlanted

HOUR = NOW.replace(minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
async def organization(sql: SqlPlanted) -> None:
    await sql.save(make.organization())


@pytest.mark.parametrize(
    "mistaken",
    [
        {"task": make.task(epoch=9)},
        {"task": make.task(state=TaskState.RUNNING)},
        {"calls": (make.call(state=CallState.EXECUTING),)},
        {"calls": (make.call(epoch=3),)},
        {"parks": (make.park(state=ParkState.EXPIRED),)},
    ],
)
async def test_a_row_that_is_not_as_the_move_saw_it_is_an_error(sql: SqlPlanted, mistaken: Any) -> None:
    # Under the lock no other row can be seen, so the writing itself is shown one that is not there.
    await sql.save(make.task(), make.call(), make.park())
    seen = replace(Work(task=make.task(), organization=make.organization()), **mistaken)
    change = make.change(
        replace(seen.task, strikes=1),
        calls=tuple(replace(c, attempts=3) for c in seen.calls),
        parks=tuple(replace(p, reason="x") for p in seen.parks),
    )
    with pytest.raises(StoreError, match="not as it was read"):
        await sql.db.write(lambda conn: write_change(sql.db, conn, seen, change, NOW))
    assert await sql.count("audit") == 0


async def test_two_stores_on_one_database_lose_no_change(sql: SqlPlanted, migrated_url: str) -> None:
    other = SqlPlanted(migrated_url, sql.ids)
    await sql.save(make.task())

    def once_more(work: Work, at: datetime) -> tuple[Change, None]:
        return make.change(replace(work.task, strikes=work.task.strikes + 1)), None

    both = (sql.store.tasks, other.store.tasks) * 6
    await asyncio.gather(*(one.change(make.task().ref, once_more) for one in both))
    await other.close()
    assert (await sql.store.tasks.change(make.task().ref, read)).task.strikes == 12


@pytest.mark.parametrize("database_kind", ["postgres"])  # SQLite has one writer
async def test_a_locked_task_does_not_keep_another_one_waiting(sql: SqlPlanted) -> None:
    await sql.save(make.task(), make.numbered_task(2))
    locked, release = asyncio.Event(), asyncio.Event()

    async def hold(conn: AsyncConnection) -> None:
        await conn.execute(select(tasks).where(tasks.c.id == "task-1").with_for_update())
        locked.set()
        await release.wait()

    holder = asyncio.create_task(sql.db.write(hold))
    await locked.wait()
    async with asyncio.timeout(60):
        await sql.store.tasks.change(make.numbered_task(2).ref, writing())
    waiting = asyncio.create_task(sql.store.tasks.change(make.task().ref, writing()))
    async with asyncio.timeout(60):
        await sql.store.tasks.change(make.numbered_task(2).ref, writing())
    assert not waiting.done()
    release.set()
    await holder
    await waiting
    assert await sql.count("audit") == 3


@pytest.mark.rule("C16", "I6")
@pytest.mark.parametrize("database_kind", ["postgres"])  # SQLite has one writer
async def test_who_marks_the_same_send_sees_what_was_marked_before(sql: SqlPlanted) -> None:
    await sql.save(make.task(), make.numbered_task(2), make.numbered_task(3))
    await sql.save(make.call(sent_key="key-1"))
    need, locked, release = Need(sent_key="key-1"), asyncio.Event(), asyncio.Event()

    async def marks(conn: AsyncConnection) -> None:
        """What a change with this need does: the guard first, then the call that executes."""
        _, at = await load_work(sql.db, conn, make.task(), need)
        locked.set()
        await release.wait()
        executing = replace(make.call(sent_key="key-1"), state=CallState.EXECUTING, marked_at=at)
        await conn.execute(update(calls).values(call_row(executing)))

    first = asyncio.create_task(sql.db.write(marks))
    await locked.wait()
    second = asyncio.create_task(sql.store.tasks.change(make.numbered_task(2).ref, read, need))
    async with asyncio.timeout(60):
        await sql.store.tasks.change(make.numbered_task(3).ref, writing())
    assert not second.done()
    release.set()
    await first
    assert [e.call.state for e in (await second).elsewhere] == [CallState.EXECUTING]


class CancelledAt:
    """Awaits *work*, but is cancelled while it waits for the *nth* time (from 0)."""

    def __init__(self, work: Coroutine[Any, Any, Any], nth: int) -> None:
        self._work, self._nth = work, nth

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, waits, error = self._work.__await__(), count(), None
        while True:
            try:
                waited_for = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as done:
                return done.value
            if next(waits) == self._nth:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waited_for
                error = None
            except BaseException as thrown:
                error = thrown


def writes_of_every_kind() -> Move[datetime]:
    return writing(
        messages=(NewMessage(kind=MessageKind.NOTE, body={}),),
        spend=(Spend(hour=HOUR, used=1),),
        events=(TaskEvent(name="x"),),
    )


async def written_whole(sql: SqlPlanted) -> int:
    """How many of those changes are written, each whole; and no connection is out or locks anything."""
    assert cast(QueuePool, sql.db.engine.pool).checkedout() == 0
    async with asyncio.timeout(60):
        work = await sql.store.tasks.change(make.task().ref, read)
    written = await sql.count("audit")
    assert await sql.count("messages") == await sql.count("events") == written
    assert work.task.next_seq == 2 + written
    return written


async def ended_by_cancellation(work: Coroutine[Any, Any, Any]) -> bool:
    changing = asyncio.create_task(work)
    await asyncio.wait([changing])
    if changing.cancelled():
        return True
    changing.result()
    return False


async def test_a_cancellation_at_any_await_of_a_change_leaves_all_of_it_or_nothing(sql: SqlPlanted) -> None:
    await sql.save(make.task(round=1))
    move, ends, before = writes_of_every_kind(), [], 0

    async def change(nth: int) -> Any:
        return await CancelledAt(sql.store.tasks.change(make.task().ref, move), nth)

    for nth in count():
        cancelled = await ended_by_cancellation(change(nth))
        written = await written_whole(sql)
        ends.append((cancelled, written - before))
        before = written
        if not cancelled:
            break
    assert ends[-1] == (False, 1)
    assert set(ends[:-1]) <= {(True, 0), (True, 1)}
    if sql.db.is_postgres:  # on SQLite the caller's one await is for the whole
        assert len(ends) > 10
        assert set(ends[:-1]) == {(True, 0), (True, 1)}


async def test_a_cancellation_at_any_statement_of_a_change_leaves_all_of_it_or_nothing(
    sql: SqlPlanted,
) -> None:
    await sql.save(make.task(round=1))
    move, ends, before = writes_of_every_kind(), [], 0
    changing: asyncio.Task[Any] | None = None
    cancel_in = -1

    def step(*_: object) -> None:
        nonlocal cancel_in
        cancel_in -= 1
        if cancel_in == 0 and changing is not None:
            changing.cancel()

    for name in ("begin", "before_cursor_execute", "after_cursor_execute", "commit", "rollback"):
        event.listen(sql.db.engine.sync_engine, name, step)

    async def change(nth: int) -> Any:
        nonlocal cancel_in, changing
        cancel_in, changing = nth, asyncio.current_task()
        return await sql.store.tasks.change(make.task().ref, move)

    for nth in count(1):
        cancelled = await ended_by_cancellation(change(nth))
        cancel_in = -1
        written = await written_whole(sql)
        ends.append((cancelled, written - before))
        before = written
        if not cancelled:
            break
    assert len(ends) > 20
    assert ends[-1] == (False, 1)
    assert set(ends[:-1]) == {(True, 0), (True, 1)}
