"""Where posts are due: first by their task and its organization's routes, then wherever they are moved."""

from dataclasses import replace

import pytest

from core.moves.common import card_key
from core.people import Account, Role, Route
from core.ports import Post, Sent, Tried
from core.tasks import Task
from core.work import PostIntent, PostKind
from tests.contract import factories as make
from tests.contract.planted import Planted

OPS = Route(surface="slack", ref="C9")
ADA = Account(surface="slack", ref="U1")


@pytest.fixture
async def task(planted: Planted) -> Task:
    return await planted.task(await planted.organization("a"))


async def routed(planted: Planted, task: Task, agent: str, route: Route) -> None:
    """Cards of *agent* go to *route*."""
    await planted.insert("approval_routes", org=task.org, agent=agent, surface=route.surface, ref=route.ref)


async def written(planted: Planted, task: Task, **fields: object) -> list[Route]:
    """Where a card of *task* is due first, once a change has written it; or what *fields* make of it."""
    usual: dict[str, object] = {"kind": PostKind.CARD, "dedup_key": card_key(task, 1, 1), "asks": True}
    intent = PostIntent(episode=1, round=1, **{**usual, **fields})  # type: ignore[arg-type]
    await planted.store.tasks.change(
        task.ref, lambda work, at: (make.change(work.task, posts=(intent,)), None)
    )
    rows = await planted.table("posts", task_id=task.id)
    return [Route(surface=row["surface"], ref=row["route"]) for row in rows]


async def taken(planted: Planted, surface: str = "slack") -> Post:
    (post,) = await planted.store.outbox.take(1, surface)
    return post


# ── first ────────────────────────────────────────────────────────────────────────────────────


async def test_a_card_goes_to_the_thread_of_its_task(planted: Planted, task: Task) -> None:
    assert await written(planted, task) == [Route(surface="slack", ref="C1:123.4")]


async def test_a_card_goes_where_its_organizations_cards_go(planted: Planted, task: Task) -> None:
    await routed(planted, task, "", OPS)
    await routed(
        planted, await planted.task(await planted.organization("b")), "", Route(surface="x", ref="y")
    )
    assert await written(planted, task) == [OPS]


async def test_a_card_goes_where_its_agents_cards_go(planted: Planted, task: Task) -> None:
    await routed(planted, task, "", Route(surface="slack", ref="C2"))
    await routed(planted, task, task.agent, OPS)
    await routed(planted, task, "another", Route(surface="slack", ref="C3"))
    assert await written(planted, task) == [OPS]


async def test_what_wants_no_decision_stays_in_its_tasks_thread(planted: Planted, task: Task) -> None:
    await routed(planted, task, "", OPS)
    assert await written(planted, task, asks=False, kind=PostKind.REPORT) == [
        Route(surface="slack", ref="C1:123.4")
    ]


async def test_a_card_of_a_task_without_a_thread_goes_to_an_owners_direct_messages(planted: Planted) -> None:
    org = await planted.organization("a")
    await planted.account(await planted.person(org, Role.MEMBER), replace(ADA, ref="U0"))
    await planted.account(await planted.person(org, Role.OWNER), ADA)
    task = await planted.task(org, surface=None, chat=None, thread_ref=None)
    assert await written(planted, task) == [Route(surface="slack", ref="@U1")]


async def test_a_card_that_nobody_could_see_is_not_written(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), surface=None, chat=None, thread_ref=None)
    assert await written(planted, task) == []


async def test_a_card_that_is_revised_stays_where_it_is(planted: Planted, task: Task) -> None:
    await written(planted, task)
    await routed(planted, task, "", OPS)
    assert await written(planted, task) == [Route(surface="slack", ref="C1:123.4")]
    assert (await planted.row("posts", task_id=task.id))["rev"] == 2


# ── elsewhere ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K40")
async def test_a_post_that_is_rerouted_is_due_there_as_if_it_were_new(planted: Planted, task: Task) -> None:
    post_id = await planted.post(task, rev=3, sent_rev=2, chat_ref="1.1")
    outbox, gone = planted.store.outbox, await taken(planted)
    await outbox.reroute(gone, OPS, "archived")
    again = await taken(planted)
    assert again == replace(
        gone,
        id=post_id,
        route="C9",
        chat_ref=None,
        attempts=1,
        tried=(Tried(route=Route(surface="slack", ref="C1"), error="archived"),),
    )
    await outbox.reroute(again, Route(surface="telegram", ref="@7"), "blocked")
    assert [t.route.ref for t in (await taken(planted, "telegram")).tried] == ["C1", "C9"]


@pytest.mark.rule("K40")
async def test_a_post_with_nowhere_left_to_go_is_dead_until_it_is_revised(
    planted: Planted, task: Task
) -> None:
    await written(planted, task)
    outbox, gone = planted.store.outbox, await taken(planted)
    await outbox.reroute(gone, None, "archived")
    row = await planted.row("posts", id=gone.id)
    assert (row["state"], row["error"], len(row["tried"])) == ("dead", "archived", 1)
    assert await outbox.take(1, "slack") == []
    await written(planted, task)
    again = await taken(planted)
    await outbox.reroute(again, None, "archived")
    assert [t.route.ref for t in again.tried] == ["C1:123.4"]
    assert len((await planted.row("posts", id=gone.id))["tried"]) == 1  # a place is told of once


async def test_a_reroute_said_twice_moves_a_post_once(planted: Planted, task: Task) -> None:
    await planted.post(task)
    outbox, gone = planted.store.outbox, await taken(planted)
    await outbox.reroute(gone, OPS, "archived")
    await outbox.settle(gone.id, task.org, 1, Sent(chat_ref="9.9"))
    await outbox.reroute(gone, Route(surface="slack", ref="C3"), "archived")
    row = await planted.row("posts", id=gone.id)
    assert (row["route"], row["chat_ref"], row["sent_rev"]) == ("C9", "9.9", 1)


@pytest.mark.rule("I18")
async def test_nobody_reroutes_another_organizations_post(planted: Planted, task: Task) -> None:
    await planted.post(task)
    foreign = replace(await taken(planted), org=await planted.organization("b"))
    await planted.store.outbox.reroute(foreign, OPS, "archived")
    assert (await planted.row("posts"))["route"] == "C1"


# ── a chat that is called otherwise now ──────────────────────────────────────────────────────


async def test_a_chat_that_moved_is_known_by_its_new_name_everywhere(planted: Planted) -> None:
    org = await planted.organization("a")
    there = await planted.task(org, surface="telegram", chat="-5", thread_ref="-5:7")
    near = await planted.task(org, surface="telegram", chat="-51", thread_ref="-51:7")
    other = await planted.task(org, surface="slack", chat="-5", thread_ref="-5")
    await routed(planted, there, "", Route(surface="telegram", ref="-5"))
    for task, route in ((there, "-5:7"), (near, "-51:7"), (other, "-5")):
        await planted.post(task, surface=task.surface, route=route, sent_rev=1, chat_ref="9", state="sent")
    await planted.store.outbox.move("telegram", "-5", "-1005")

    now = [await planted.task_row(task) for task in (there, near, other)]
    assert [(t.chat, t.thread_ref) for t in now] == [("-1005", "-1005:7"), ("-51", "-51:7"), ("-5", "-5")]
    assert (await planted.row("approval_routes"))["ref"] == "-1005"
    posts = [await planted.row("posts", task_id=task.id) for task in (there, near, other)]
    assert [(p["route"], p["chat_ref"]) for p in posts] == [("-1005:7", None), ("-51:7", "9"), ("-5", "9")]


async def test_where_messages_are_counted_afresh_none_is_answered_any_more(planted: Planted) -> None:
    org = await planted.organization("a")
    places = ["-5", "-5:t4", "-5:7", "-5:t4:7", "-5:t4:8"]
    for place in places:
        task = await planted.task(org, surface="telegram", chat="-5", thread_ref=place)
        await planted.post(task, surface="telegram", route=place)
    await planted.store.outbox.move("telegram", "-5", "-1005", lambda name: name.removesuffix(":7"))
    now = ["-1005", "-1005:t4", "-1005", "-1005:t4", "-1005:t4:8"]
    assert [row["thread_ref"] for row in await planted.table("tasks")] == now
    assert [row["route"] for row in await planted.table("posts")] == now


async def test_what_a_chat_that_moved_showed_is_posted_anew_once_it_changes(
    planted: Planted, task: Task
) -> None:
    await written(planted, task)
    outbox = planted.store.outbox
    post = await taken(planted)
    await outbox.settle(post.id, task.org, 1, Sent(chat_ref="9"))
    await outbox.move("slack", "C1", "C7")
    assert await outbox.take(1, "slack") == []
    await written(planted, task)
    again = await taken(planted)
    assert (again.route, again.chat_ref, again.folded) == ("C7:123.4", None, False)
