"""Between a pause and an effect that starts, one comes first: what missed a pause was marked before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.ledger import SqlLedger
from adapters.store.load import load_work
from adapters.store.people import SqlPeople
from adapters.store.tasks import SqlTasks
from core.people import Role
from core.switches import Pause, Practice, SwitchTo
from core.tasks import Task
from core.work import Need, Work
from tests.contract import factories as make
from tests.contract.planted import Planted

A_MOMENT = 0.3
"""Long enough for a statement that nothing holds up; one that is held up never comes."""


@asynccontextmanager
async def loaded(planted: Planted, task: Task) -> AsyncIterator[asyncio.Task[Work]]:
    """A transaction that has read all that a mark reads, and commits after the block."""
    read, go = asyncio.Event(), asyncio.Event()

    async def body(conn: AsyncConnection) -> Work:
        work, _ = await load_work(planted.db, conn, task, Need(starts=True))
        read.set()
        await go.wait()
        return work

    marking = asyncio.create_task(planted.db.write(body))
    await read.wait()
    yield marking
    go.set()
    await marking


@pytest.mark.rule("I29")
@pytest.mark.parametrize(("agent", "to"), [("inbox", Pause()), ("inbox", Practice(on=True)), (None, Pause())])
async def test_a_switch_waits_for_the_mark_that_has_not_seen_it(
    planted: Planted, agent: str | None, to: SwitchTo
) -> None:
    org = await planted.organization("a")
    ada, task = await planted.person(org, Role.OWNER), await planted.task(org)
    async with loaded(planted, task) as marking:
        switching = asyncio.create_task(SqlPeople(planted.db).switch(ada, org, agent, to))
        await asyncio.wait([switching], timeout=A_MOMENT)
        assert not switching.done()
    assert not marking.result().paused
    assert await switching == 1


@pytest.mark.rule("I29")
@pytest.mark.parametrize("database_kind", ["postgres"])
@pytest.mark.parametrize("first", [True, False], ids=["its first switch", "a later one"])
async def test_a_mark_that_waited_for_a_pause_has_seen_it(planted: Planted, first: bool) -> None:
    """A statement that waits for a lock keeps its snapshot, so the switch is read by another one."""
    org = await planted.organization("a")
    ada, task = await planted.person(org, Role.OWNER), await planted.task(org)
    people = SqlPeople(planted.db)
    if not first:
        await people.switch(ada, org, "inbox", Practice(on=True))
    async with loaded(planted, task):
        pausing = asyncio.create_task(people.switch(ada, org, "inbox", Pause()))
        await asyncio.wait([pausing], timeout=A_MOMENT)  # it stands in line now, and the next behind it
        async with loaded_behind(planted, task) as marking:
            await asyncio.wait([marking], timeout=A_MOMENT)
            assert not marking.done()
    assert await pausing == 1
    assert (await marking).paused


@asynccontextmanager
async def loaded_behind(planted: Planted, task: Task) -> AsyncIterator[asyncio.Task[Work]]:
    """A transaction on its way to read what a mark reads."""

    async def body(conn: AsyncConnection) -> Work:
        return (await load_work(planted.db, conn, task, Need(starts=True)))[0]

    yield asyncio.create_task(planted.db.write(body))


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_marks_hold_up_neither_each_other_nor_new_tasks_nor_the_seal(planted: Planted) -> None:
    org = await planted.organization("a")
    one, two = await planted.task(org), await planted.task(org)
    event = make.event(org=org)
    await make.save(planted.db, event)
    await planted.entry(org, 1)
    new = make.new_task(org=org, id="task-new")
    await planted.run("UPDATE organizations SET next_task_no = 50")
    async with asyncio.timeout(10), loaded(planted, one), loaded(planted, two):
        opened = await SqlTasks(planted.db).open(new, make.cause(key=event.key))
        assert isinstance(opened, Task)
        await SqlLedger(planted.db).seal(org, 10)
