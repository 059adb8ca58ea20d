"""The outbox: due while a revision is newer than the one sent, one at a time on a route."""

import asyncio
from datetime import datetime, timedelta

import pytest

from core.ids import OrgId, PostId, Token
from core.moves.common import CARD_PRIO, PROGRESS_PRIO, REPORT_PRIO, card_key
from core.parks import ParkKind
from core.ports import Dead, Later, Maybe, Post, Sent
from core.tasks import Task
from core.work import PostKind
from tests.contract.planted import BORN_AT, FAR, Planted
from tests.contract.planted_sql import SqlPlanted


@pytest.fixture
async def task(planted: Planted) -> Task:
    return await planted.task(await planted.organization("a"))


async def state(planted: Planted, post: PostId) -> tuple[object, ...]:
    row = await planted.row("posts", id=post)
    return tuple(row[name] for name in ("state", "rev", "sent_rev", "chat_ref", "attempts", "error"))


async def wait_of(planted: Planted, post: PostId) -> timedelta:
    """How long until it is due."""
    due_at: datetime = (await planted.row("posts", id=post))["due_at"]
    return due_at - await planted.now()


def ids(taken: list[Post]) -> list[PostId]:
    return [post.id for post in taken]


@pytest.mark.rule("K17")
async def test_a_due_post_is_taken_whole(planted: Planted, task: Task) -> None:
    post = await planted.post(task, body={"text": "…"}, rev=2, sent_rev=1, chat_ref="1.2", prio=0)
    assert await planted.store.outbox.take(5, "slack") == [
        Post(
            id=post,
            org=task.org,
            task_id=task.id,
            kind=PostKind.CARD,
            episode=1,
            round=1,
            surface="slack",
            route="C1",
            body={"text": "…"},
            rev=2,
            chat_ref="1.2",
            attempts=1,
        )
    ]


async def test_what_is_sent_dead_later_or_of_another_surface_is_not_taken(
    planted: Planted, task: Task
) -> None:
    await planted.post(task, route="C1", sent_rev=1, state="sent")
    await planted.post(task, route="C2", state="dead")
    await planted.post(task, route="C3", due_at=BORN_AT + FAR)
    await planted.post(task, route="C4", surface="telegram")
    assert await planted.store.outbox.take(5, "slack") == []


async def test_posts_are_taken_by_prio_then_by_when_they_were_due(planted: Planted, task: Task) -> None:
    late = await planted.post(task, route="C1", due_at=BORN_AT + timedelta(seconds=2))
    early = await planted.post(task, route="C2", due_at=BORN_AT + timedelta(seconds=1))
    card = await planted.post(task, route="C3", prio=0, due_at=BORN_AT + timedelta(seconds=3))
    assert ids(await planted.store.outbox.take(5, "slack")) == [card, early, late]


@pytest.mark.rule("K39")
async def test_approvals_and_reports_go_before_progress_wherever_they_go(
    planted: Planted, task: Task
) -> None:
    """Also one that waited since its chat was full: what went on meanwhile does not go first."""

    async def post(kind: PostKind, prio: int, route: str, second: int) -> PostId:
        due_at = BORN_AT + timedelta(seconds=second)
        return await planted.post(task, kind=kind, prio=prio, route=route, due_at=due_at)

    async def next_one() -> Post:
        (one,) = await outbox.take(1, "slack")
        return one

    outbox = planted.store.outbox
    card = await post(PostKind.CARD, CARD_PRIO, "C1", 9)
    full = await next_one()
    await outbox.settle(full.id, full.org, 1, Later(seconds=-1, counts=False))  # due since a second
    progress = [await post(PostKind.PROGRESS, PROGRESS_PRIO, route, 0) for route in ("C1", "C2", "C3")]
    notice = await post(PostKind.NOTICE, 1, "C2", 5)
    report = await post(PostKind.REPORT, REPORT_PRIO, "C3", 7)
    taken = []
    for _ in range(6):
        one = await next_one()
        taken.append(one.id)
        await outbox.settle(one.id, one.org, 1, Sent(chat_ref="1.1"))
    assert taken == [report, card, notice, *progress]


@pytest.mark.rule("K38")
async def test_a_taken_post_is_hidden_and_offered_again_if_nobody_settles_it(
    planted: Planted, task: Task
) -> None:
    outbox, post = planted.store.outbox, await planted.post(task)
    await outbox.take(1, "slack", visible_seconds=30)
    assert timedelta(seconds=20) < await wait_of(planted, post) <= timedelta(seconds=30)
    assert await outbox.take(1, "slack") == []
    await planted.update("posts", {"due_at": BORN_AT})
    assert [(p.id, p.attempts) for p in await outbox.take(1, "slack")] == [(post, 2)]


async def test_one_post_is_under_way_on_a_route(planted: Planted, task: Task) -> None:
    outbox = planted.store.outbox
    first = await planted.post(task, due_at=BORN_AT)
    second = await planted.post(task, due_at=BORN_AT + timedelta(seconds=1))
    other = await planted.post(task, route="C2", due_at=BORN_AT + timedelta(seconds=2))
    assert ids(await outbox.take(5, "slack")) == [first, other]
    assert await outbox.take(5, "slack") == []
    await outbox.settle(first, task.org, 1, Sent(chat_ref="1.1"))
    assert ids(await outbox.take(5, "slack")) == [second]


async def test_those_who_take_at_once_share_neither_post_nor_route(planted: Planted, task: Task) -> None:
    for n in range(24):
        await planted.post(task, route=f"C{n % 6}")
    outbox = planted.store.outbox
    taken = [p for share in await asyncio.gather(*(outbox.take(3, "slack") for _ in range(8))) for p in share]
    assert sorted(p.route for p in taken) == [f"C{n}" for n in range(6)]


async def test_a_sent_post_is_done(planted: Planted, task: Task) -> None:
    outbox, post = planted.store.outbox, await planted.post(task, error="maybe")
    await outbox.take(1, "slack")
    await outbox.settle(post, task.org, 1, Sent(chat_ref="1.1"))
    assert await state(planted, post) == ("sent", 1, 1, "1.1", 0, None)


@pytest.mark.rule("K20")
@pytest.mark.parametrize("outcome", [Sent(chat_ref="1.1"), Dead(error="too long")])
async def test_a_revision_written_while_another_is_sent_stays_due(
    planted: Planted, task: Task, outcome: Sent | Dead
) -> None:
    outbox, post = planted.store.outbox, await planted.post(task)
    await outbox.take(1, "slack")
    await planted.update("posts", {"rev": 2})
    assert await outbox.take(1, "slack") == []  # the first one is still under way
    await outbox.settle(post, task.org, 1, outcome)
    assert [(p.id, p.rev) for p in await outbox.take(1, "slack")] == [(post, 2)]


@pytest.mark.rule("K18")
async def test_a_post_that_may_be_there_is_sent_again(planted: Planted, task: Task) -> None:
    outbox, post = planted.store.outbox, await planted.post(task)
    await outbox.take(1, "slack")
    await outbox.settle(post, task.org, 1, Maybe())
    assert await state(planted, post) == ("due", 1, 0, None, 1, "maybe")
    assert timedelta(0) < await wait_of(planted, post) <= timedelta(seconds=5)


@pytest.mark.rule("K39")
@pytest.mark.parametrize(("asked", "waits"), [(90, 90), (90_000, 3600)])
async def test_a_surface_that_asks_to_wait_is_left_alone_for_an_hour_at_most(
    planted: Planted, task: Task, asked: float, waits: float
) -> None:
    outbox, post = planted.store.outbox, await planted.post(task)
    await outbox.take(1, "slack")
    await outbox.settle(post, task.org, 1, Later(seconds=asked, error="ratelimited"))
    assert await state(planted, post) == ("due", 1, 0, None, 1, "ratelimited")
    left = await wait_of(planted, post)
    assert timedelta(seconds=waits - 10) < left <= timedelta(seconds=waits)


@pytest.mark.rule("K39")
async def test_waiting_where_a_surface_asks_for_it_wears_no_post_out(planted: Planted, task: Task) -> None:
    outbox, post = planted.store.outbox, await planted.post(task, attempts=3)
    await outbox.take(1, "slack")
    await outbox.settle(post, task.org, 1, Later(seconds=-1, counts=False))
    assert (await state(planted, post))[4] == 3
    await planted.update("posts", {"attempts": 0})  # as a revision does
    await outbox.settle(post, task.org, 1, Later(seconds=-1, counts=False))
    assert (await state(planted, post))[4] == 0


@pytest.mark.rule("K40")
async def test_a_post_that_will_never_work_is_out_of_the_way(planted: Planted, task: Task) -> None:
    outbox = planted.store.outbox
    poison = await planted.post(task, due_at=BORN_AT)
    after = await planted.post(task, due_at=BORN_AT + timedelta(seconds=1))
    await outbox.take(1, "slack")
    await outbox.settle(poison, task.org, 1, Dead(error="channel_not_found"))
    assert await state(planted, poison) == ("dead", 1, 0, None, 1, "channel_not_found")
    assert ids(await outbox.take(5, "slack")) == [after]


@pytest.mark.parametrize("late", [Maybe(), Later(seconds=1), Dead(error="late")])
async def test_a_late_word_does_not_undo_what_was_sent(
    planted: Planted, task: Task, late: Maybe | Later | Dead
) -> None:
    outbox, post = planted.store.outbox, await planted.post(task)
    await outbox.settle(post, task.org, 1, Sent(chat_ref="1.1"))
    await outbox.settle(post, task.org, 1, late)
    assert await state(planted, post) == ("sent", 1, 1, "1.1", 0, None)


@pytest.mark.rule("K20")
async def test_where_an_old_revision_was_sent_last_the_newer_one_is_sent_again(
    planted: Planted, task: Task
) -> None:
    outbox, post = planted.store.outbox, await planted.post(task, rev=2)
    await outbox.settle(post, task.org, 2, Sent(chat_ref="1.1"))
    await outbox.settle(post, task.org, 1, Sent(chat_ref="1.1"))  # by one that was held up
    assert await state(planted, post) == ("due", 2, 1, "1.1", 0, None)


@pytest.mark.rule("I18")
async def test_nobody_settles_another_organizations_post(planted: Planted, task: Task) -> None:
    post = await planted.post(task)
    before = await state(planted, post)
    await planted.store.outbox.settle(post, OrgId("b"), 1, Sent(chat_ref="1.1"))
    assert await state(planted, post) == before


async def test_a_post_is_found_by_its_message(planted: Planted, task: Task) -> None:
    post = await planted.post(task, chat_ref="C1:1")
    await planted.post(task, chat_ref="C1:2")
    found = await planted.store.outbox.at("slack", "C1:1")
    assert found is not None and found.id == post
    assert await planted.store.outbox.at("telegram", "C1:1") is None
    assert await planted.store.outbox.at("slack", "C1:3") is None


@pytest.mark.rule("K19")
async def test_the_card_of_a_park_is_learnt_from_a_click(planted: Planted, task: Task) -> None:
    park = await planted.park(task, await planted.call(task, round=2))
    other = await planted.post(task, dedup_key=card_key(task, 1, 1))
    card = await planted.post(task, dedup_key=card_key(task, 1, 2), round=2)
    outbox = planted.store.outbox
    await outbox.learn(park.token, "telegram", "7")  # of a card that has moved on, or of a list of them
    assert (await state(planted, card))[3] is None
    await outbox.learn(park.token, "slack", "9.9")
    assert [(await state(planted, post))[3] for post in (other, card)] == [None, "9.9"]
    await outbox.learn(park.token, "slack", "8.8")  # a second card of the same park only answers clicks
    assert (await state(planted, card))[3] == "9.9"


@pytest.mark.rule("K19")
async def test_the_cards_of_owner_calls_are_told_apart(planted: Planted, task: Task) -> None:
    calls = [await planted.call(task, number=n, round=None, ordinal=n) for n in (4, 5)]
    parks = [await planted.park(task, call) for call in calls]
    cards = [await planted.post(task, dedup_key=card_key(task, 1, None, n), round=None) for n in (4, 5)]
    await planted.store.outbox.learn(parks[1].token, "slack", "9.9")
    assert [(await state(planted, card))[3] for card in cards] == [None, "9.9"]


@pytest.mark.rule("K19")
async def test_a_park_about_the_task_itself_is_on_its_newest_card(planted: Planted, task: Task) -> None:
    park = await planted.park(task, None, kind=ParkKind.LIMIT)
    cards = [await planted.post(task, dedup_key=card_key(task, 1, n), round=n) for n in (1, 2)]
    await planted.post(task, kind=PostKind.REPORT)
    await planted.store.outbox.learn(park.token, "slack", "9.9")
    assert [(await state(planted, card))[3] for card in cards] == [None, "9.9"]


async def test_a_token_nobody_has_teaches_nothing(planted: Planted, task: Task) -> None:
    card = await planted.post(task)
    await planted.store.outbox.learn(Token("guessed"), "slack", "9.9")
    assert (await state(planted, card))[3] is None


@pytest.mark.rule("K40")
async def test_a_post_that_cant_be_read_is_dead_with_its_error_and_the_next_is_taken(
    sql: SqlPlanted,
) -> None:
    task = await sql.task(await sql.organization("a"))
    broken, fine = await sql.post(task), await sql.post(task)
    await sql.update("posts", {"kind": "of a newer version"}, id=broken)
    assert ids(await sql.store.outbox.take(1, "slack")) == [fine]
    row = await sql.row("posts", id=broken)
    assert (row["state"], row["attempts"]) == ("dead", 1)
    assert f"posts {broken} can't be read" in row["error"]
