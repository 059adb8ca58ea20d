"""The inbox: stored once before anybody is told so, and offered until somebody is done with it."""

import asyncio
from datetime import timedelta

import pytest

from core.ids import EventKey, TaskRef
from core.ports import Dead, Ignored, Retry
from core.work import Duplicate, Event, Received
from tests.contract.factories import event
from tests.contract.planted import BORN_AT, Planted
from tests.contract.planted_sql import SqlPlanted


def slack(n: int) -> Event:
    return event(key=EventKey(source="slack", event_id=f"e-{n}"), received_at=None)


async def offered_again(planted: Planted) -> None:
    """As if every visibility timeout had passed."""
    await planted.update("inbox", {"due_at": BORN_AT})


@pytest.mark.rule("I21", "K22")
async def test_an_event_is_stored_once_however_often_it_is_delivered(planted: Planted) -> None:
    inbox = planted.store.inbox
    answers = await asyncio.gather(*(inbox.receive(slack(1)) for _ in range(8)))
    assert sorted(type(answer).__name__ for answer in answers) == ["Duplicate"] * 7 + ["Received"]
    assert len(await inbox.take(10)) == 1


async def test_what_is_received_is_named_and_keeps_what_was_sent(planted: Planted) -> None:
    inbox, sent = planted.store.inbox, slack(1)
    assert await inbox.receive(sent) == Received(key=sent.key)
    (taken,) = await inbox.take(10)
    assert (taken.key, taken.org, taken.kind, taken.body) == (sent.key, sent.org, sent.kind, sent.body)
    assert (taken.attempts, taken.task_id) == (1, None)
    assert taken.received_at is not None
    assert timedelta(0) <= await planted.now() - taken.received_at < timedelta(seconds=10)


async def test_a_duplicate_names_the_task_it_belongs_to(planted: Planted) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    assert await inbox.receive(slack(1)) == Duplicate(ref=None)
    task = await planted.task(await planted.organization("org-a"))
    await planted.update("inbox", {"state": "applied", "task_id": task.id})
    assert await inbox.receive(slack(1)) == Duplicate(ref=TaskRef(org=task.org, task_id=task.id))


async def test_the_same_id_of_another_source_is_another_event(planted: Planted) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    other = event(key=EventKey(source="telegram", event_id="e-1"))
    assert await inbox.receive(other) == Received(key=other.key)


@pytest.mark.rule("K23")
async def test_events_are_offered_oldest_first_and_hidden_while_somebody_has_them(planted: Planted) -> None:
    inbox = planted.store.inbox
    for n in (2, 1, 3):
        await inbox.receive(slack(n))
    assert [e.key.event_id for e in await inbox.take(2)] == ["e-2", "e-1"]
    assert [e.key.event_id for e in await inbox.take(2)] == ["e-3"]
    assert await inbox.take(2) == []

    await offered_again(planted)
    assert [(e.key.event_id, e.attempts) for e in await inbox.take(9)] == [("e-2", 2), ("e-1", 2), ("e-3", 2)]


async def test_an_event_is_hidden_for_as_long_as_was_said(planted: Planted) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    await inbox.take(1, visible_seconds=30)
    left = (await planted.row("inbox"))["due_at"] - await planted.now()
    assert timedelta(seconds=20) < left <= timedelta(seconds=30)
    await planted.update("inbox", {"due_at": BORN_AT})
    await inbox.take(1, visible_seconds=-1)
    assert len(await inbox.take(1)) == 1


async def test_those_who_take_at_once_never_share_an_event(planted: Planted) -> None:
    inbox = planted.store.inbox
    for n in range(20):
        await inbox.receive(slack(n))

    async def work() -> list[str]:
        mine: list[str] = []
        while taken := await inbox.take(3):
            mine += [e.key.event_id for e in taken]
        return mine

    shares = await asyncio.gather(*(work() for _ in range(8)))
    assert sorted(e for share in shares for e in share) == sorted(f"e-{n}" for n in range(20))


@pytest.mark.parametrize(
    ("outcome", "state", "error"),
    [(Ignored(), "ignored", None), (Dead(error="no such thread"), "dead", "no such thread")],
)
async def test_an_event_that_is_done_with_is_offered_no_more(
    planted: Planted, outcome: Ignored | Dead, state: str, error: str | None
) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    await inbox.settle(slack(1).key, outcome)
    row = await planted.row("inbox")
    assert (row["state"], row["error"]) == (state, error)
    await offered_again(planted)
    assert await inbox.take(1) == []


async def test_an_event_to_retry_is_offered_when_its_time_has_come(planted: Planted) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    await inbox.settle(slack(1).key, Retry(seconds=60))
    assert await inbox.take(1) == []
    left = (await planted.row("inbox"))["due_at"] - await planted.now()
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
    await offered_again(planted)
    assert len(await inbox.take(1)) == 1


@pytest.mark.rule("I21")
@pytest.mark.parametrize("state", ["taken", "applied", "ignored", "dead"])
async def test_only_a_new_event_is_settled(planted: Planted, state: str) -> None:
    inbox = planted.store.inbox
    await inbox.receive(slack(1))
    await planted.update("inbox", {"state": state})
    for outcome in (Ignored(), Dead(error="late"), Retry(seconds=0)):
        await inbox.settle(slack(1).key, outcome)
    row = await planted.row("inbox")
    assert (row["state"], row["error"]) == (state, None)
    assert await inbox.take(1) == []


@pytest.mark.rule("K40")
async def test_an_event_that_cant_be_read_is_dead_with_its_error_and_the_next_is_taken(
    sql: SqlPlanted,
) -> None:
    inbox = sql.store.inbox
    for n in (1, 2, 3):
        await inbox.receive(slack(n))
    await sql.update("inbox", {"kind": "of a newer version"}, event_id="e-1")
    assert [taken.key.event_id for taken in await inbox.take(1)] == ["e-2"]
    broken = await sql.row("inbox", event_id="e-1")
    assert (broken["state"], broken["attempts"]) == ("dead", 1)
    assert "inbox e-1 can't be read" in broken["error"]
    assert [taken.key.event_id for taken in await inbox.take(1)] == ["e-3"]


@pytest.mark.rule("K40")
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_an_event_whose_body_is_no_json_keeps_no_other_back(sql: SqlPlanted) -> None:
    for n in (1, 2):
        await sql.store.inbox.receive(slack(n))
    await sql.run("UPDATE inbox SET body = '{' WHERE event_id = 'e-1'")
    assert [taken.key.event_id for taken in await sql.store.inbox.take(5)] == ["e-2"]
