"""Cards that were too many for an hour: folded into one post a route and hour, and what brings them back."""

from dataclasses import replace
from datetime import timedelta

import pytest

from core.ids import OrgId, PostId, Token
from core.moves.common import card_key
from core.people import Route
from core.ports import ON_REQUEST, Outbox, Post, Sent
from core.routes import DIGEST_SECONDS, hour_of
from core.tasks import Task
from core.work import PostKind
from tests.contract.planted import BORN_AT, Planted

C1 = Route(surface="slack", ref="C1")


@pytest.fixture
async def task(planted: Planted) -> Task:
    return await planted.task(await planted.organization("a"))


@pytest.fixture
def outbox(planted: Planted) -> Outbox:
    return planted.store.outbox


async def a_card(planted: Planted, task: Task, n: int = 1) -> Token:
    """A due card of round *n*, and its button."""
    park = await planted.park(task, await planted.call(task, round=n, number=n, ordinal=0))
    await planted.post(task, dedup_key=card_key(task, 1, n), round=n)
    return park.token


async def folded(planted: Planted) -> Post:
    """The next due card, folded."""
    (post,) = await planted.store.outbox.take(1, "slack")
    await planted.store.outbox.fold(post)
    return post


async def digest(planted: Planted) -> Post:
    """The one digest, taken, and sent as the message m9."""
    await planted.update("posts", {"due_at": BORN_AT}, kind=PostKind.DIGEST.value)
    (post,) = await planted.store.outbox.take(1, "slack")
    assert post.kind is PostKind.DIGEST
    await planted.store.outbox.settle(post.id, post.org, post.rev, Sent(chat_ref="m9"))
    return post


async def told_of(planted: Planted) -> list[PostId]:
    return [post.id for post in await planted.store.outbox.folded(await digest(planted))]


# ── counting ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I39")
async def test_the_cards_of_a_place_and_hour_are_counted(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    now = await planted.now()
    recent, old = now - timedelta(minutes=59), now - timedelta(minutes=61)
    shown = {"sent_rev": 1, "state": "sent", "chat_ref": "1.1"}
    await planted.post(task, shown_at=recent, **shown)
    await planted.post(task, shown_at=recent, **shown)
    await planted.post(task, shown_at=old, **shown)
    await planted.post(task, shown_at=ON_REQUEST, **shown)
    await planted.post(task, shown_at=recent, **{**shown, "chat_ref": None})  # folded
    await planted.post(task, shown_at=recent, **shown, kind=PostKind.REPORT)
    await planted.post(task, shown_at=recent, **shown, route="C2")
    await planted.post(task)
    assert await outbox.cards_shown(task.org, C1) == 2
    assert await outbox.cards_shown(OrgId("b"), C1) == 0


@pytest.mark.rule("I39")
async def test_a_card_counts_from_when_it_was_first_there(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await planted.post(task)
    (post,) = await outbox.take(1, "slack")
    assert await outbox.cards_shown(task.org, C1) == 0
    await outbox.settle(post.id, task.org, 1, Sent(chat_ref="1.1"))
    assert await outbox.cards_shown(task.org, C1) == 1
    first = (await planted.row("posts"))["shown_at"]
    await planted.update("posts", {"rev": 2, "state": "due", "due_at": BORN_AT})
    (post,) = await outbox.take(1, "slack")
    await outbox.settle(post.id, task.org, 2, Sent(chat_ref="1.1"))
    assert (await planted.row("posts"))["shown_at"] == first


async def test_a_post_that_shows_nothing_was_never_there(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await planted.post(task)
    (post,) = await outbox.take(1, "slack")
    await outbox.settle(post.id, task.org, 1, Sent(chat_ref=""))
    assert (await planted.row("posts"))["shown_at"] is None


# ── folding ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I39")
async def test_a_folded_card_is_told_of_by_the_digest_of_its_place_and_hour(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await a_card(planted, task)
    card = await folded(planted)
    row = await planted.row("posts", id=card.id)
    assert (row["state"], row["sent_rev"], row["chat_ref"]) == ("sent", 1, None)
    made = await planted.row("posts", kind=PostKind.DIGEST.value)
    assert (made["org"], made["task_id"], made["surface"], made["route"], made["prio"]) == (
        task.org,
        None,
        "slack",
        "C1",
        0,
    )
    assert made["body"] == {"hour": hour_of(row["shown_at"]).isoformat()}
    assert timedelta(0) < made["due_at"] - await planted.now() <= timedelta(seconds=DIGEST_SECONDS)
    assert await told_of(planted) == [card.id]


@pytest.mark.rule("I39")
async def test_the_next_ones_are_told_of_by_the_same_digest_revised(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    for n in (1, 2, 3):
        await a_card(planted, task, n)
    first, second = await folded(planted), await folded(planted)
    assert (await planted.row("posts", kind=PostKind.DIGEST.value))["rev"] == 2
    assert await told_of(planted) == [first.id, second.id]
    third = await folded(planted)
    again = await digest(planted)
    assert (again.rev, again.chat_ref) == (3, "m9")
    assert [post.id for post in await outbox.folded(again)] == [first.id, second.id, third.id]


@pytest.mark.rule("I39")
async def test_each_place_and_each_organization_has_a_digest_of_its_own(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    other = await planted.task(await planted.organization("b"))
    for one, route in ((task, "C1"), (task, "C2"), (other, "C3")):
        await planted.post(one, route=route)
        await folded(planted)
    await planted.update("posts", {"due_at": BORN_AT}, kind=PostKind.DIGEST.value)
    digests = await outbox.take(5, "slack")
    assert sorted(d.route for d in digests) == ["C1", "C2", "C3"]
    assert [[p.route for p in await outbox.folded(d)] for d in digests] == [[d.route] for d in digests]


@pytest.mark.rule("I39")
async def test_an_hour_later_there_is_another_digest(planted: Planted, task: Task, outbox: Outbox) -> None:
    await planted.post(task)
    early = await folded(planted)
    hour_ago = (await planted.row("posts", id=early.id))["shown_at"] - timedelta(hours=1)
    await planted.update("posts", {"shown_at": hour_ago}, id=early.id)
    assert await told_of(planted) == []
    await planted.post(task)
    late = await folded(planted)
    assert await told_of(planted) == [late.id]


async def test_what_is_folded_twice_is_told_of_once(planted: Planted, task: Task, outbox: Outbox) -> None:
    await a_card(planted, task)
    card = await folded(planted)
    at = (await planted.row("posts", id=card.id))["shown_at"]
    await outbox.fold(card)
    assert (await planted.row("posts", id=card.id))["shown_at"] == at
    assert await told_of(planted) == [card.id]


@pytest.mark.rule("K20")
async def test_a_revision_written_while_a_card_is_folded_stays_due(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await a_card(planted, task)
    (post,) = await outbox.take(1, "slack")
    await planted.update("posts", {"rev": 2}, id=post.id)
    await outbox.fold(post)
    (again,) = await outbox.take(1, "slack")
    assert (again.id, again.rev, again.folded) == (post.id, 2, True)


@pytest.mark.rule("K19")
async def test_a_card_that_a_click_was_heard_from_is_not_folded(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    token = await a_card(planted, task)
    (post,) = await outbox.take(1, "slack")
    await outbox.learn(token, "slack", "7.7")
    await outbox.fold(post)
    (again,) = await outbox.take(1, "slack")
    assert (again.id, again.chat_ref, again.folded) == (post.id, "7.7", False)


async def test_a_folded_card_that_was_moved_meanwhile_is_left_alone(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await a_card(planted, task)
    (post,) = await outbox.take(1, "slack")
    await outbox.reroute(post, Route(surface="slack", ref="C2"), "archived")
    await outbox.fold(post)
    assert [p.route for p in await outbox.take(5, "slack")] == ["C2"]


async def test_a_folded_card_that_is_rerouted_leaves_its_digest(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    await a_card(planted, task)
    card = await folded(planted)
    (told,) = await outbox.folded(await digest(planted))
    await outbox.reroute(told, Route(surface="slack", ref="C2"), "archived")
    (moved,) = await outbox.take(5, "slack")
    assert (moved.id, moved.route, moved.shown_at) == (card.id, "C2", None)
    assert await told_of(planted) == []


# ── bringing back ────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I39")
async def test_a_folded_card_that_is_asked_for_is_a_message_of_its_own_and_counts_in_no_hour(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    token = await a_card(planted, task)
    card = await folded(planted)
    await digest(planted)
    assert await outbox.show(token)
    (asked,) = await outbox.take(1, "slack")
    assert (asked.id, asked.folded, asked.chat_ref) == (card.id, False, None)
    await outbox.fold(asked)  # whoever took it before it was asked for
    (asked,) = await outbox.take(1, "slack")
    await outbox.settle(asked.id, task.org, asked.rev, Sent(chat_ref="1.1"))
    assert await outbox.cards_shown(task.org, C1) == 0
    assert await told_of(planted) == []
    assert not await outbox.show(token)


async def test_only_what_is_folded_can_be_brought_back_or_recalled(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    token = await a_card(planted, task)
    for unknown in (token, Token("guessed")):
        assert not await outbox.show(unknown)
        assert not await outbox.recall(unknown)
    assert await planted.count("posts") == 1


@pytest.mark.rule("I39")
async def test_a_folded_card_is_recalled_by_its_digest(planted: Planted, task: Task, outbox: Outbox) -> None:
    token = await a_card(planted, task)
    card = await folded(planted)
    before = await digest(planted)
    assert await outbox.recall(token)
    after = await digest(planted)
    assert after.rev == before.rev + 1
    assert [p.id for p in await outbox.folded(after)] == [card.id]


async def test_a_digest_that_is_being_sent_is_due_again_by_what_comes_meanwhile(
    planted: Planted, task: Task, outbox: Outbox
) -> None:
    token = await a_card(planted, task)
    await folded(planted)
    await planted.update("posts", {"due_at": BORN_AT}, kind=PostKind.DIGEST.value)
    (sending,) = await outbox.take(1, "slack")
    await outbox.recall(token)
    assert await outbox.take(1, "slack") == []
    await outbox.settle(sending.id, task.org, sending.rev, Sent(chat_ref="m9"))
    (again,) = await outbox.take(1, "slack")
    assert again == replace(sending, rev=2, chat_ref="m9", shown_at=again.shown_at)
