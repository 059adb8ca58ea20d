"""What the memory store promises beyond its ports: its clock's time to the second, and rows that hold."""

from datetime import UTC, timedelta, timezone
from typing import Any

import pytest

from core.errors import StoreError
from core.ids import EventKey, OrgId, PersonId, TaskId, WorkerId
from core.people import Account
from core.ports import Retry, Store
from core.tasks import Origin, Task
from core.testing import MORNING, CountingIds, ManualClock, MemoryStore
from core.testing.memory.rows import LeaseRow
from core.testing.memory.table import Journal, Table
from core.work import Cause, Event, EventKind, NewTask

ORG, ADA = OrgId("shop"), Account(surface="console", ref="ada")
KEY = EventKey(source="console", event_id="1")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(clock: ManualClock) -> Store:
    made = MemoryStore(clock=clock, ids=CountingIds())
    await made.people.found(ORG, "Shop", "Ada", ADA)
    return made


async def opened(store: Store) -> Task:
    await store.inbox.receive(Event(key=KEY, kind=EventKind.MESSAGE, body={"text": "go"}))
    new = NewTask(org=ORG, id=TaskId("t"), agent="lead", origin=Origin.OWNER, goal="go", prio=0)
    task = await store.tasks.open(new, Cause(key=KEY, actor=PersonId("ada")))
    assert isinstance(task, Task)
    return task


async def test_its_time_is_exactly_the_clocks(store: Store) -> None:
    assert (await opened(store)).created_at == MORNING


@pytest.mark.rule("T3")
async def test_a_lease_runs_out_when_the_clock_says_so(store: Store, clock: ManualClock) -> None:
    task = await opened(store)
    await store.queue.claim(WorkerId("w"), 1, 60)
    clock.advance(60)
    assert await store.queue.recover(9) == []
    clock.advance(1)
    assert await store.queue.recover(9) == [task.ref]


async def test_an_event_to_retry_is_offered_when_the_clock_says_so(store: Store, clock: ManualClock) -> None:
    await store.inbox.receive(Event(key=KEY, kind=EventKind.MESSAGE, body={}))
    await store.inbox.settle(KEY, Retry(seconds=5))
    assert await store.inbox.take(1) == []
    clock.advance(5)
    assert [event.key for event in await store.inbox.take(1)] == [KEY]


async def test_the_same_acts_leave_the_same_rows() -> None:
    async def entries() -> list[Any]:
        store = MemoryStore(clock=ManualClock(), ids=CountingIds())
        await store.people.found(ORG, "Shop", "Ada", ADA)
        await opened(store)
        return await store.ledger.unsealed(ORG, 9)

    first = await entries()
    assert len(first) == 2
    assert first == await entries()


def lease(**over: Any) -> LeaseRow:
    return LeaseRow(**{"name": "leader", "holder": "a", "epoch": 1, "expires_at": MORNING, **over})


def leases(journal: Journal) -> Table[LeaseRow]:
    return Table(
        "lease",
        journal,
        lambda row: (row.name,),
        filed=lambda row: [("epoch", row.epoch)],
        unique=lambda row: [("holder", row.holder)],
    )


def test_a_transaction_that_raises_leaves_every_row_as_it_was() -> None:
    journal = Journal()
    table = leases(journal)
    kept, gone = table.insert(lease()), table.insert(lease(name="gone", holder="b"))
    with pytest.raises(ZeroDivisionError), journal.transaction():
        table.update(lease(epoch=2))
        table.insert(lease(name="new", holder="c"))
        table.delete(gone)
        raise ZeroDivisionError
    assert sorted(table, key=lambda row: row.name) == [gone, kept]
    assert (len(table.under("epoch", 1)), table.under("epoch", 2)) == (2, [])
    assert (table.one("holder", "b"), table.one("holder", "c")) == (gone, None)


def test_who_watches_is_told_of_each_row_once_it_is_committed() -> None:
    journal, told = Journal(), []
    table = leases(journal)
    journal.watch = lambda wrote: told.append([(w.table, w.before, w.after) for w in wrote])
    with journal.transaction():
        first = table.insert(lease())
        second = table.update(lease(epoch=2))
        assert told == []
    with pytest.raises(ZeroDivisionError), journal.transaction():
        table.delete(second)
        raise ZeroDivisionError
    with journal.transaction():
        pass
    assert told == [[("lease", None, first), ("lease", first, second)]]


def test_a_key_and_a_unique_name_are_taken_once() -> None:
    table = leases(Journal())
    table.insert(lease())
    for taken in (lease(holder="b"), lease(name="other")):
        with pytest.raises(StoreError, match="lease"):
            table.insert(taken)
    with pytest.raises(StoreError):
        table.update(lease(name="nobody", holder="b"))
    assert list(table) == [lease()]


@pytest.mark.parametrize(
    "wrong", [{"holder": None}, {"expires_at": None}, {"expires_at": MORNING.replace(tzinfo=None)}]
)
def test_what_no_column_takes_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(StoreError):
        leases(Journal()).insert(lease(**wrong))


def test_times_are_kept_in_utc() -> None:
    elsewhere = MORNING.astimezone(timezone(timedelta(hours=5)))
    stored = leases(Journal()).insert(lease(expires_at=elsewhere))
    assert (stored.expires_at, stored.expires_at.tzinfo) == (elsewhere, UTC)
