"""Copies of cards: messages that somebody else than the poster sent, revised with the card they show."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.apply import write_change
from adapters.store.load import find_task, load_work
from core.calls import Call
from core.ids import TaskRef, Token
from core.moves.common import card_key
from core.parks import Park, ParkKind, ParkState
from core.people import Route
from core.ports import ON_REQUEST, Dead, Later, Outbox, Post, Query, Sent
from core.tasks import Task
from core.work import NOTHING, PostIntent, PostKind
from tests.contract import factories as make
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted

CHAT = Route(surface="telegram", ref="@4711")

A_MOMENT = 0.3
"""Long enough for a statement that nothing holds up; one that is held up never comes."""


@pytest.fixture
async def task(planted: Planted) -> Task:
    return await planted.task(await planted.organization("a"))


@pytest.fixture
def outbox(planted: Planted) -> Outbox:
    return planted.store.outbox


def intent(task: Task, round_: int | None = 1, number: int | None = None) -> PostIntent:
    """The card of a round, or of an owner call, a revision more."""
    return PostIntent(
        kind=PostKind.CARD,
        dedup_key=card_key(task, 1, round_, number),
        episode=1,
        round=round_,
        body=None if number is None else {"call": number},
        prio=0,
        asks=True,
    )


async def revised(planted: Planted, task: Task, *intents: PostIntent) -> None:
    """A move has written these cards."""
    await planted.store.tasks.change(
        task.ref, lambda work, at: (make.change(work.task, posts=intents or (intent(task),)), None)
    )


async def asked(planted: Planted, task: Task, **fields: Any) -> tuple[Call, Park]:
    """A call of the task's first round and its park."""
    call = await planted.call(task, **{"round": 1, **fields})
    return call, await planted.park(task, call)


async def copy(planted: Planted, task: Task, ref: str = "4711:77") -> dict[str, Any]:
    return await planted.row("posts", task_id=task.id, chat_ref=ref)


async def due(planted: Planted, surface: str = "telegram") -> list[Post]:
    return await planted.store.outbox.take(9, surface)


@pytest.mark.rule("K20")
async def test_a_message_that_was_sent_on_request_is_a_post_and_nothing_is_due_while_it_is_so(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    call, park = await asked(planted, task, number=3)
    await revised(planted, task)
    await outbox.copied(park.token, CHAT, "4711:77")
    made = await copy(planted, task)
    shown = {name: made[name] for name in ("kind", "route", "body", "state", "rev", "sent_rev", "copy_of")}
    assert shown == {
        "kind": "card",
        "route": "@4711",
        "body": {"call": call.number},
        "state": "sent",
        "rev": 1,
        "sent_rev": 1,
        "copy_of": card_key(task, 1, 1),
    }
    assert await due(planted) == []
    assert await outbox.cards_shown(task.org, CHAT) == 0


@pytest.mark.rule("K20")
async def test_whatever_revises_a_card_revises_its_copies_and_no_other_cards(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    _, other = await asked(planted, task, number=2, round=2, ordinal=0)
    await revised(planted, task, intent(task, 1), intent(task, 2))
    await outbox.copied(park.token, CHAT, "4711:77")
    await outbox.copied(other.token, CHAT, "4711:78")
    await revised(planted, task, intent(task, 1))
    (post,) = await due(planted)
    assert (post.chat_ref, post.rev, post.body, post.on_request) == ("4711:77", 2, {"call": 1}, True)
    await outbox.settle(post.id, post.org, post.rev, Sent(chat_ref="4711:77"))
    assert (await copy(planted, task))["shown_at"] == ON_REQUEST
    await outbox.copied(park.token, replace(CHAT, ref="5"), "5:1")
    await revised(planted, task, intent(task, 1))
    assert sorted(str(post.chat_ref) for post in await due(planted)) == ["4711:77", "5:1"]
    assert (await planted.row("posts", dedup_key=card_key(task, 1, 1)))["rev"] == 3


@pytest.mark.rule("K20")
async def test_a_copy_of_what_was_decided_meanwhile_is_due_at_once(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await planted.update("parks", {"state": ParkState.DECIDED.value}, id=park.id)
    await outbox.copied(park.token, CHAT, "4711:77")
    (post,) = await due(planted)
    assert (post.chat_ref, post.rev) == ("4711:77", 1)


@pytest.mark.rule("K20")
async def test_a_copy_that_is_being_sent_is_due_again_by_a_revision(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, CHAT, "4711:77")
    await revised(planted, task)
    (post,) = await due(planted)
    await revised(planted, task)
    assert await due(planted) == []
    await outbox.settle(post.id, post.org, post.rev, Sent(chat_ref="4711:77"))
    assert [p.rev for p in await due(planted)] == [3]


async def test_an_owner_call_and_what_is_about_the_task_itself_have_copies_too(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, again = await asked(planted, task, number=4, round=None)
    limit = await planted.park(task, None, kind=ParkKind.LIMIT, shown={"episode": 1, "round": 2})
    await outbox.copied(again.token, CHAT, "4711:4")
    await outbox.copied(limit.token, CHAT, "4711:2")
    await revised(planted, task, intent(task, None, 4))
    assert [(p.chat_ref, p.body, p.round) for p in await due(planted)] == [("4711:4", {"call": 4}, None)]
    await revised(planted, task, intent(task, 2))
    await planted.update("posts", {"state": "sent", "sent_rev": 2}, chat_ref="4711:4")
    assert [(p.chat_ref, p.body, p.round) for p in await due(planted)] == [("4711:2", None, 2)]


async def test_a_card_that_nobody_could_be_shown_revises_its_copies_all_the_same(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), surface=None, chat=None, thread_ref=None)
    _, park = await asked(planted, task)
    await revised(planted, task)
    await planted.store.outbox.copied(park.token, CHAT, "4711:77")
    await revised(planted, task)
    (post,) = await due(planted)
    await planted.store.outbox.settle(post.id, post.org, post.rev, Sent(chat_ref="4711:77"))
    await planted.insert("approval_routes", org=task.org, agent="", surface="slack", ref="C9")
    await revised(planted, task)  # now it is, for the first time
    assert [post.rev for post in await due(planted)] == [3]
    assert [post.rev for post in await due(planted, "slack")] == [1]


def placed(post: Post) -> tuple[str | None, bool]:
    return post.chat_ref, post.shown_again


@pytest.mark.rule("K20")
async def test_of_a_call_there_is_one_copy_in_a_chat_and_an_older_message_says_so_once(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task, number=3)
    await revised(planted, task)
    for n in range(1, 4):
        await outbox.copied(park.token, CHAT, f"4711:{n}")
    await outbox.copied(park.token, replace(CHAT, ref="@5"), "5:1")
    await revised(planted, task)
    posts = [post for _ in range(3) for post in await due(planted)]
    assert [placed(post) for post in posts] == [("4711:3", False), ("5:1", False)]  # one a route at a time
    for post in posts:
        await outbox.settle(post.id, post.org, post.rev, Sent(chat_ref=str(post.chat_ref)))
    for n in (1, 2):
        (post,) = await due(planted)
        assert placed(post) == (f"4711:{n}", True)
        await outbox.settle(post.id, post.org, post.rev, Sent(chat_ref=""))
    await revised(planted, task)
    assert [placed(post) for post in await due(planted)] == [("4711:3", False), ("5:1", False)]
    assert await planted.count("posts") == 3  # the card, and what is shown of it in two chats


async def test_another_call_another_topic_and_the_whole_of_a_round_are_other_copies(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, first = await asked(planted, task)
    _, second = await asked(planted, task, number=2, ordinal=1)
    limit = await planted.park(task, None, kind=ParkKind.LIMIT, shown={"episode": 1, "round": 1})
    there = Route(surface="telegram", ref="-5")
    for n, park in enumerate((first, second, limit)):
        await outbox.copied(park.token, there, f"-5:{n}")
        await outbox.copied(park.token, replace(there, ref="-5:t4"), f"-5:4{n}")
    assert await due(planted) == []
    assert await planted.count("posts") == 6


async def test_an_older_message_that_is_being_sent_says_afterwards_that_it_is_shown_again(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, CHAT, "4711:1")
    await revised(planted, task)
    (post,) = await due(planted)
    await outbox.copied(park.token, CHAT, "4711:2")
    assert await due(planted) == []
    await outbox.settle(post.id, post.org, post.rev, Sent(chat_ref="4711:1"))
    (again,) = await due(planted)
    assert (again.id, placed(again)) == (post.id, ("4711:1", True))


async def test_a_copy_without_a_message_leaves_nothing_when_there_is_a_new_one(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, CHAT, "4711:1")
    await planted.update("posts", {"chat_ref": ""}, chat_ref="4711:1")
    await outbox.copied(park.token, CHAT, "4711:2")
    assert await due(planted) == []
    assert await planted.count("posts") == 2


@pytest.mark.rule("K38")
async def test_cards_outrank_what_was_asked_for(planted: Planted, outbox: Outbox) -> None:
    org = await planted.organization("a")
    task = await planted.task(org, surface="telegram", chat="-5", thread_ref="-5")
    _, park = await asked(planted, task)
    await outbox.copied(park.token, Route(surface="telegram", ref="-5"), "-5:1")
    await revised(planted, task)
    (card,) = await due(planted)
    assert card.copy_of is None
    await outbox.settle(card.id, card.org, card.rev, Sent(chat_ref="-5:2"))
    (copied,) = await due(planted)
    assert copied.on_request


async def test_one_message_is_one_copy_and_what_nobody_is_asked_has_none(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    bare = await planted.park(task, None, kind=ParkKind.MESSAGE)  # no card shows it
    await outbox.copied(park.token, CHAT, "4711:77")
    await outbox.copied(park.token, CHAT, "4711:77")
    await outbox.copied(bare.token, CHAT, "4711:78")
    await outbox.copied(Token("guessed"), CHAT, "4711:79")
    assert await planted.count("posts") == 1


@pytest.mark.rule("K19")
async def test_a_click_on_a_copy_teaches_nothing_of_the_card(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, Route(surface="slack", ref="C5"), "C5:77")
    await outbox.learn(park.token, "slack", "C5:77")
    card = await planted.row("posts", dedup_key=card_key(task, 1, 1))
    assert card["chat_ref"] is None
    await outbox.learn(park.token, "slack", "C1:1")
    assert (await planted.row("posts", dedup_key=card_key(task, 1, 1)))["chat_ref"] == "C1:1"


@pytest.mark.rule("K19")
async def test_a_message_in_a_private_chat_is_never_the_card_of_a_group(planted: Planted) -> None:
    """Somebody asked for it there, and whoever answered died before it said so."""
    org = await planted.organization("a")
    for thread, message in (("-5:t4:7", "-5:9"), ("@4711", "4711:9")):
        task = await planted.task(org, surface="telegram", chat=None, thread_ref=thread)
        _, park = await asked(planted, task)
        await revised(planted, task)
        for elsewhere in ("4712:9", "-51:9", message, "4712:10"):
            await planted.store.outbox.learn(park.token, "telegram", elsewhere)
        assert (await planted.row("posts", task_id=task.id))["chat_ref"] == message


@pytest.mark.rule("K19")
async def test_the_newest_card_of_a_task_is_none_of_its_copies(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    limit = await planted.park(task, None, kind=ParkKind.LIMIT, shown={"episode": 1, "round": 2})
    await revised(planted, task, intent(task, 2))
    await outbox.copied(limit.token, Route(surface="slack", ref="C5"), "C5:77")
    await outbox.learn(limit.token, "slack", "C1:1")
    assert (await planted.row("posts", dedup_key=card_key(task, 1, 2)))["chat_ref"] == "C1:1"


async def test_a_task_is_found_by_a_copy_of_its_card(planted: Planted, task: Task, outbox: Outbox) -> None:
    _, park = await asked(planted, task)
    await outbox.copied(park.token, CHAT, "4711:77")
    for surface, found in (("telegram", [task.id]), ("slack", [])):
        query = Query(surface=surface, message="4711:77")
        assert [t.id for t in await planted.store.ledger.find(task.org, query)] == found


async def test_the_messages_of_a_chat_that_moved_are_no_copies_any_more_and_count_in_no_hour(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, Route(surface="telegram", ref="-5:t4"), "-5:77")
    await outbox.move("telegram", "-5", "-1005")
    await revised(planted, task)
    (post,) = await due(planted)
    assert (post.route, post.chat_ref, post.on_request) == ("-1005:t4", None, True)


async def test_what_a_copy_could_not_show_yet_is_tried_again(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    _, park = await asked(planted, task)
    await revised(planted, task)
    await outbox.copied(park.token, CHAT, "4711:77")
    await revised(planted, task)
    (post,) = await due(planted)
    await outbox.settle(post.id, post.org, post.rev, Later(seconds=-1, counts=False))
    assert [p.id for p in await due(planted)] == [post.id]


# ── where else cards go ──────────────────────────────────────────────────────────────────────


OPS, GROUP = Route(surface="slack", ref="C9"), Route(surface="telegram", ref="-5")


async def routed(planted: Planted, task: Task, agent: str, *places: Route) -> None:
    """Cards of *agent* go to the first of *places*, copies to the others."""
    for n, route in enumerate(places):
        there = {"surface": route.surface, "ref": route.ref}
        await planted.insert("approval_routes", org=task.org, agent=agent, position=n, **there)


@pytest.mark.rule("K17")
async def test_a_card_that_goes_to_several_places_is_due_in_each_as_a_whole(
    planted: Planted, task: Task
) -> None:
    await routed(planted, task, "", GROUP, OPS)
    await routed(planted, task, task.agent, OPS, GROUP, CHAT)
    await revised(planted, task)
    (card,), copies = await due(planted, "slack"), await due(planted)
    assert (card.place, card.copy_of) == (OPS, None)
    key = card_key(task, 1, 1)
    assert [(c.place, c.copy_of, c.body, c.on_request) for c in copies] == [
        (GROUP, key, None, False),
        (CHAT, key, None, False),
    ]
    for post in (card, *copies):
        await planted.store.outbox.settle(post.id, post.org, 1, Sent(chat_ref=f"{post.route}:1"))
    await revised(planted, task)
    assert [p.rev for p in [*await due(planted, "slack"), *await due(planted)]] == [2, 2, 2]
    assert await planted.count("posts") == 3


async def test_a_card_that_is_there_already_goes_nowhere_else(planted: Planted, task: Task) -> None:
    await revised(planted, task)
    await routed(planted, task, "", OPS, GROUP)
    await revised(planted, task)
    assert await planted.count("posts") == 1
    await revised(planted, task, intent(task, 2))
    assert await planted.count("posts") == 3


async def test_what_is_no_card_has_no_copies(planted: Planted, task: Task) -> None:
    await routed(planted, task, "", OPS, GROUP)
    report = PostIntent(kind=PostKind.REPORT, dedup_key="report:1", episode=1)
    notice = PostIntent(kind=PostKind.NOTICE, dedup_key="notice:1", episode=1, asks=True)
    await revised(planted, task, notice, report)
    assert await planted.count("posts") == 2


async def test_an_owner_calls_copies_show_it_alone(planted: Planted, task: Task) -> None:
    await routed(planted, task, "", OPS, GROUP)
    await revised(planted, task, intent(task, None, 4))
    assert [(p.body, p.copy_of) for p in await due(planted)] == [({"call": 4}, card_key(task, 1, None, 4))]


@pytest.mark.rule("K40")
async def test_a_copy_that_cant_be_shown_is_dead_with_its_error_until_the_card_is_revised(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await routed(planted, task, "", OPS, GROUP)
    await revised(planted, task)
    (post,) = await due(planted)
    await outbox.settle(post.id, post.org, 1, Dead(error="kicked"))
    row = await planted.row("posts", id=post.id)
    assert (row["state"], row["error"]) == ("dead", "kicked")
    assert [p.place for p in await due(planted, "slack")] == [OPS]
    await revised(planted, task)
    assert [p.id for p in await due(planted)] == [post.id]


@pytest.mark.rule("K19")
async def test_a_click_says_which_of_the_places_has_the_message(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await routed(planted, task, "", OPS, GROUP, replace(OPS, ref="C8"))
    _, park = await asked(planted, task)
    await revised(planted, task)
    for surface, message in (("telegram", "-5:1"), ("slack", "C8:1"), ("slack", "C8:2"), ("x", "y")):
        await outbox.learn(park.token, surface, message)
    rows = await planted.table("posts")
    assert {row["route"]: row["chat_ref"] for row in rows} == {"C9": None, "-5": "-5:1", "C8": "C8:1"}


async def test_a_copy_in_a_chat_that_moved_is_posted_there_anew(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await routed(planted, task, "", OPS, GROUP)
    await revised(planted, task)
    (post,) = await due(planted)
    await outbox.settle(post.id, post.org, 1, Sent(chat_ref="-5:1"))
    await outbox.move("telegram", "-5", "-1005")
    await revised(planted, task)
    (post,) = await due(planted)
    assert (post.route, post.chat_ref, post.on_request) == ("-1005", None, False)
    await revised(planted, task, intent(task, 2))
    assert [row["ref"] for row in await planted.table("approval_routes")] == ["C9", "-1005"]


# ── what it costs ────────────────────────────────────────────────────────────────────────────


async def test_a_card_without_copies_costs_a_change_no_statement_more(sql: SqlPlanted) -> None:
    task = await sql.task(await sql.organization("a"))
    _, park = await asked(sql, task)
    await revised(sql, task)
    said: list[str] = []

    def saying(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        said.append(statement)

    async def posts_written(ref: TaskRef) -> list[str]:
        said.clear()
        event.listen(sql.db.engine.sync_engine, "before_cursor_execute", saying)
        await revised(sql, task)
        event.remove(sql.db.engine.sync_engine, "before_cursor_execute", saying)
        return [one.split()[0] for one in said if "posts" in one]

    assert await posts_written(task.ref) == ["INSERT"]
    await sql.store.outbox.copied(park.token, CHAT, "4711:77")
    assert await posts_written(task.ref) == ["INSERT", "UPDATE"]


async def test_a_copy_made_while_its_card_is_revised_is_revised_too(sql: SqlPlanted) -> None:
    """It waits for the task, and finds its park decided then."""
    task = await sql.task(await sql.organization("a"))
    _, park = await asked(sql, task)
    await revised(sql, task)

    async def body(conn: AsyncConnection) -> "asyncio.Task[None]":
        there = await find_task(conn, task.ref, lock=True)
        assert there is not None
        work, at = await load_work(sql.db, conn, there, NOTHING)
        copying = asyncio.create_task(sql.store.outbox.copied(park.token, CHAT, "4711:77"))
        await asyncio.wait([copying], timeout=A_MOMENT)
        assert not copying.done()
        decided = replace(park, state=ParkState.DECIDED)
        change = make.change(work.task, parks=(decided,), posts=(intent(task),))
        await write_change(sql.db, conn, work, change, at)
        return copying

    await (await sql.db.write(body))
    assert [post.chat_ref for post in await due(sql)] == ["4711:77"]
