"""Between a pause and an effect that starts, one comes first: what missed a pause was marked before it.

In databases only: in memory nothing comes between a mark's look and its writing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.load import load_work
from core.people import Role
from core.switches import Pause, Practice, SwitchTo
from core.tasks import Task
from core.work import Need, Work
from tests.contract import factories as make
from tests.contract.planted_sql import SqlPlanted

A_MOMENT = 0.3
"""Long enough for a statement that nothing holds up; one that is held up never comes."""


async def in_line(sql: SqlPlanted, n: int) -> None:
    """*n* sessions of this database wait for a lock; asked until it is so."""
    async with asyncio.timeout(60):
        while await waiting(sql) < n:
            pass  # each look is a round trip, in which the others go on


async def waiting(sql: SqlPlanted) -> int:
    held_up = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"

    async def body(conn: AsyncConnection) -> int:
        found = await conn.exec_driver_sql(f"{held_up} AND wait_event_type = 'Lock'")
        return int(found.scalar_one())

    return await sql.db.read(body)


@asynccontextmanager
async def loaded(sql: SqlPlanted, task: Task) -> AsyncIterator[asyncio.Task[Work]]:
    """A transaction that has read all that a mark reads, and commits after the block."""
    read, go = asyncio.Event(), asyncio.Event()

    async def body(conn: AsyncConnection) -> Work:
        work, _ = await load_work(sql.db, conn, task, Need(starts=True))
        read.set()
        await go.wait()
        return work

    marking = asyncio.create_task(sql.db.write(body))
    await read.wait()
    yield marking
    go.set()
    await marking


@pytest.mark.rule("I29")
@pytest.mark.parametrize(("agent", "to"), [("inbox", Pause()), ("inbox", Practice(on=True)), (None, Pause())])
async def test_a_switch_waits_for_the_mark_that_has_not_seen_it(
    sql: SqlPlanted, agent: str | None, to: SwitchTo
) -> None:
    org = await sql.organization("a")
    ada, task = await sql.person(org, Role.OWNER), await sql.task(org)
    async with loaded(sql, task) as marking:
        switching = asyncio.create_task(sql.store.people.switch(ada, org, agent, to))
        await asyncio.wait([switching], timeout=A_MOMENT)
        assert not switching.done()
    assert not marking.result().paused
    assert await switching == 1


@pytest.mark.rule("I29")
@pytest.mark.parametrize("database_kind", ["postgres"])
@pytest.mark.parametrize("first", [True, False], ids=["its first switch", "a later one"])
async def test_a_mark_that_waited_for_a_pause_has_seen_it(
    sql: SqlPlanted, migrated_url: str, first: bool
) -> None:
    """A statement that waits for a lock keeps its snapshot, so the switch is read by another one."""
    onlooker = SqlPlanted(migrated_url)  # those who wait have all of the other's connections
    org = await sql.organization("a")
    ada, task = await sql.person(org, Role.OWNER), await sql.task(org)
    people = sql.store.people
    if not first:
        await people.switch(ada, org, "inbox", Practice(on=True))
    async with loaded(sql, task):
        pausing = asyncio.create_task(people.switch(ada, org, "inbox", Pause()))
        await in_line(onlooker, 1)
        async with loaded_behind(sql, task) as marking:
            await in_line(onlooker, 2)
            assert not marking.done()
    assert await pausing == 1
    assert (await marking).paused
    await onlooker.close()


@asynccontextmanager
async def loaded_behind(sql: SqlPlanted, task: Task) -> AsyncIterator[asyncio.Task[Work]]:
    """A transaction on its way to read what a mark reads."""

    async def body(conn: AsyncConnection) -> Work:
        return (await load_work(sql.db, conn, task, Need(starts=True)))[0]

    yield asyncio.create_task(sql.db.write(body))


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_marks_hold_up_neither_each_other_nor_new_tasks_nor_the_seal(sql: SqlPlanted) -> None:
    org = await sql.organization("a")
    one, two = await sql.task(org), await sql.task(org)
    event = make.event(org=org)
    await sql.save(event)
    await sql.entry(org, 1)
    new = make.new_task(org=org, id="task-new")
    await sql.run("UPDATE organizations SET next_task_no = 50")
    async with asyncio.timeout(60), loaded(sql, one), loaded(sql, two):
        opened = await sql.store.tasks.open(new, make.cause(key=event.key))
        assert isinstance(opened, Task)
        await sql.store.ledger.seal(org, 10)
