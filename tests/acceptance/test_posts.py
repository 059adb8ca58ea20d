"""What stands in a task's thread: cards and reports keep to their place, and one bad post holds nobody up."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import update

from adapters.clock import SystemClock
from adapters.store import tables
from core.agents import Limits
from core.calls import Outcome
from core.cards import Card, Row
from core.errors import ToolFailed
from core.ids import WorkerId
from core.parks import Choice, ParkKind, ParkState
from core.poster import TRIES
from core.rendering import View
from core.tasks import Json, Task, TaskState
from core.testing import Line, calls, says
from core.tools import ToolContext
from core.work import PostKind
from core.worker import Pace, Worker
from tests.acceptance.shop import (
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    PAST,
    REFUND,
    REFUND_SCRIPT,
    Shop,
    Street,
    Turnstile,
    agent,
)
from tests.acceptance.wall import Wall


def row(card: Card, kind: ParkKind) -> Row:
    """The one row of this kind on *card*."""
    (found,) = [r for r in card.rows if r.kind is kind]
    return found


def not_open(card: Card) -> bool:
    """Everything on *card* has a status, and it offers nothing to press."""
    return not card.open and all(r.choices == () for r in card.rows)


async def with_an_unknown(street: Street, script: Sequence[Line]) -> tuple[Shop, Task]:
    """A task whose first call, a note, was approved and broke off in a way that says nothing."""
    shop = street.open(script)
    task = await shop.parked()
    street.world.raises["send_note"] = ConnectionResetError("reset")
    await shop.approve(await shop.view(task))
    await shop.run()
    del street.world.raises["send_note"]
    assert (await shop.call(task)).outcome is Outcome.UNKNOWN
    return shop, task


UNCLEAR: tuple[Line, ...] = (calls(("send_note", NOTE)), says("Unclear."))


# ── cards and reports of an episode that is over ─────────────────────────────────────────────


@pytest.mark.rule("C23", "T12", "K20")
async def test_after_a_send_again_the_ended_tasks_card_and_report_say_so(street: Street) -> None:
    shop, task = await with_an_unknown(street, [*UNCLEAR, says("It is sent now.")])
    wall = Wall(shop)
    (card,), (report,) = await wall.cards(), await wall.reports()
    assert row(card, ParkKind.UNKNOWN).choices == ("went_out", "did_not", "send_again")
    assert [line.note for line in report.unknown] == ["may have gone out; nobody has said"]

    decided = await shop.choose(await shop.view(task, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
    assert decided.task.episode == 2
    (card,), (report,) = await wall.cards(), await wall.reports()
    assert not_open(card)
    assert (row(card, ParkKind.UNKNOWN).status or "").startswith("✔ Sent again by U1, ")
    assert [line.note for line in report.unknown] == ["may have gone out; U1 had it sent again"]
    assert (report.task.state, report.words) == (TaskState.DONE, "Unclear.")

    await shop.run()
    (card,), (first, second) = await wall.cards(), await wall.reports()
    assert not_open(card)
    assert [line.call.number for line in first.unknown] == [1]
    assert first.done == ()
    assert [line.call.number for line in second.done] == [2]
    assert second.words == "It is sent now."
    assert shop.effects == [NOTED]


@pytest.mark.rule("C19", "C23")
async def test_what_was_sent_again_and_is_unknown_too_has_a_card_of_its_own(street: Street) -> None:
    shop, task = await with_an_unknown(street, [*UNCLEAR, says("Unclear again."), says("And again.")])
    wall = Wall(shop)
    street.world.raises["send_note"] = ConnectionResetError("reset")
    for number in (1, 2):
        await wall.cards()
        await shop.choose(await shop.view(task, number, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
        await shop.run()

    first, second, third = await wall.cards()
    assert not_open(first)
    assert {r.code for r in first.rows} == {f"{task.code}.1"}
    assert [r.code for r in second.rows] == [f"{task.code}.2"]
    assert (second.rows[0].status or "").startswith("✔ Sent again by U1, ")
    assert [(r.code, r.kind, r.status) for r in third.rows] == [(f"{task.code}.3", ParkKind.UNKNOWN, None)]

    await shop.choose(await shop.view(task, 3, kind=ParkKind.UNKNOWN), Choice.DID_NOT)
    assert all(not_open(card) for card in await wall.cards())


@pytest.mark.rule("T12", "K8")
async def test_a_report_sent_once_a_new_episode_has_begun_still_tells_of_the_old_one(street: Street) -> None:
    shop = street.open([says("All is well."), calls(("refund", REFUND))])
    task = await shop.ask()
    await shop.run()
    reopened = await shop.say(task, "Then refund A1.")
    assert (reopened.state, reopened.episode) == (TaskState.QUEUED, 2)

    wall = Wall(shop)
    (report,) = await wall.reports()
    assert (report.task.state, report.task.reason) == (TaskState.DONE, "answered")
    assert report.words == "All is well."

    await shop.run()
    await shop.stop(task)
    first, second = await wall.reports()
    assert (first.task.state, first.words) == (TaskState.DONE, "All is well.")
    assert (second.task.state, second.words) == (TaskState.STOPPED, "It was stopped.")
    assert [line.call.tool for line in second.not_done] == ["refund"]


@pytest.mark.rule("C21", "T12")
async def test_an_unknown_of_an_earlier_episode_that_is_settled_changes_that_episodes_report(
    street: Street,
) -> None:
    shop, task = await with_an_unknown(street, [*UNCLEAR, calls(("refund", REFUND)), says("Both done.")])
    wall = Wall(shop)
    await shop.say(task, "And refund A1.")
    await shop.run()
    assert (await shop.task(task)).state is TaskState.WAITING
    (before,) = await wall.reports()
    assert [line.call.number for line in before.unknown] == [1]

    await shop.choose(await shop.view(task, 1, kind=ParkKind.UNKNOWN), Choice.WENT_OUT)
    (after,) = await wall.reports()
    assert after.unknown == ()
    assert [(line.call.number, line.note) for line in after.done] == [(1, "U1 says it went out")]
    assert (after.task.state, after.words) == (TaskState.DONE, "Unclear.")

    await shop.approve(await shop.view(task, 2))
    await shop.run()
    _, second = await wall.reports()
    assert [line.call.number for line in second.done] == [2]


# ── the card of a limit ──────────────────────────────────────────────────────────────────────


async def limits_open(shop: Shop, task: Task) -> int:
    """How many limit parks of the task are open."""
    parks = (await shop.story(task)).parks
    return sum(p.kind is ParkKind.LIMIT and p.state is ParkState.OPEN for p in parks)


@pytest.mark.rule("T7", "C21", "I19")
async def test_an_unknown_settled_at_a_limit_leaves_one_open_limit_and_ends_the_old_ones_card(
    street: Street,
) -> None:
    script = [calls(("send_note", NOTE)), says("So far."), says("It went out."), says("Read.")]
    shop = street.open(script, sam=agent(limits=Limits(rounds=1)))
    task = await shop.parked()
    street.world.raises["send_note"] = ConnectionResetError("reset")
    await shop.approve(await shop.view(task))
    await shop.run()
    wall = Wall(shop)
    old = row((await wall.cards())[-1], ParkKind.LIMIT)
    assert (await limits_open(shop, task), old.status) == (1, None)

    await shop.choose(await shop.view(task, kind=ParkKind.UNKNOWN), Choice.WENT_OUT)
    assert await limits_open(shop, task) == 0
    ended = row((await wall.cards())[-1], ParkKind.LIMIT)
    assert (ended.token, ended.status, ended.choices) == (old.token, "Withdrawn: not run", ())

    await shop.run()
    assert await limits_open(shop, task) == 1
    *_, before, now = await wall.cards()
    assert not_open(before)
    assert row(now, ParkKind.LIMIT).status is None
    await shop.choose(await shop.view(task, kind=ParkKind.LIMIT), Choice.MORE_ROUNDS)
    assert await limits_open(shop, task) == 0
    assert all(not_open(card) for card in await wall.cards())
    await shop.run()
    assert (await shop.task(task)).result == {"value": "Read."}


@pytest.mark.rule("T11", "C13")
@pytest.mark.parametrize("how", ["on the card", "elsewhere", "by its expiry"])
async def test_a_task_stopped_at_its_limit_ends_the_limits_card(street: Street, how: str) -> None:
    read = calls(("read_order", {"id": "A1"}))
    shop = street.open([read, says("So far.")], sam=agent(limits=Limits(rounds=1)))
    task = await shop.parked()
    wall = Wall(shop)
    (card,) = await wall.cards()
    assert card.open

    view = await shop.view(task, kind=ParkKind.LIMIT)
    if how == "on the card":
        await shop.choose(view, Choice.STOP)
    elif how == "elsewhere":
        await shop.stop(task)
    else:
        await street.sql.change_park(view.park, expires_at=PAST)
        await shop.worker.sweep()

    assert (await shop.task(task)).state is TaskState.STOPPED
    (card,) = await wall.cards()
    assert not_open(card)
    assert row(card, ParkKind.LIMIT).status is not None
    assert len(await wall.reports()) == 1


# ── why a card asks ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8", "C14")
async def test_the_card_of_an_edit_its_check_spoke_against_says_the_problem(street: Street) -> None:
    async def check(args: Json, context: ToolContext) -> None:
        if args["amount"] > 50:
            raise ToolFailed("at most 50 is left")

    tool = street.open([]).host.tools["refund"]
    shop = street.open(REFUND_SCRIPT, tools=[replace(tool, check=check)])
    wall = Wall(shop)
    task = await shop.parked()
    (card,) = await wall.cards()
    asked = row(card, ParkKind.APPROVAL)
    assert "at most" not in asked.why

    await shop.edit(await shop.view(task), {"amount": 80})
    await shop.run()
    (card,) = await wall.cards()
    again = row(card, ParkKind.APPROVAL)
    assert (again.status, again.why) == (None, "It asks again: at most 50 is left")
    assert again.code == f"{task.code}.1v3"
    assert next((f.name, f.before, f.value) for f in again.fields) == ("amount", "10", "80")


# ── a post that can't be shown ───────────────────────────────────────────────────────────────


async def state_of(street: Street, task: Task, kind: PostKind = PostKind.CARD) -> tuple[str, int]:
    """The state of the task's one post of that kind, and how often it was tried."""
    state, attempts = await street.sql.one(
        "SELECT state, attempts FROM posts WHERE task_id = :task AND kind = :kind",
        task=task.id,
        kind=kind.value,
    )
    return str(state), int(attempts)


@pytest.mark.rule("K40", "K38")
async def test_a_post_that_always_breaks_keeps_no_other_from_being_sent_and_is_dead_after_its_tries(
    street: Street, caplog: pytest.LogCaptureFixture
) -> None:
    shop = street.open(REFUND_SCRIPT)
    bad, good = await shop.parked(), await shop.parked()
    await street.sql.change_call(await shop.call(bad), args=["no", "object"])
    wall = Wall(shop)

    for _ in range(TRIES):
        with pytest.raises(TypeError):
            await wall.poster.deliver_all()
        await wall.poster.deliver_all()
        ((_, view),) = wall.messages.items()
        assert isinstance(view, Card)
        assert view.task_code == good.code
        await street.sql.run(update(tables.posts).where(tables.posts.c.task_id == bad.id).values(due_at=PAST))
    assert await state_of(street, bad) == ("sending", TRIES)
    await wall.poster.deliver_all()

    assert await state_of(street, bad) == ("dead", TRIES + 1)
    assert (await state_of(street, good))[0] == "sent"
    assert (wall.handed, await wall.poster.deliver()) == (1, 0)
    (said,) = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert said.startswith(f"nobody is shown the card of {bad.code}: ")
    caplog.clear()  # what this test is about


@pytest.mark.rule("C6")
async def test_nothing_is_handed_over_twice_that_did_not_change(street: Street) -> None:
    shop = street.open(NOTE_SCRIPT)
    task = await shop.parked()
    wall = Wall(shop)
    await wall.cards()
    await wall.cards()
    assert wall.handed == 1
    await shop.approve(await shop.view(task))
    (card,) = await wall.cards()
    assert (wall.handed, not_open(card)) == (2, True)


# ── leaving ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K18")
async def test_what_is_being_posted_when_a_worker_is_told_to_leave_is_there_once(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    await shop.parked()
    wall, turnstile = Wall(shop), Turnstile()

    class Slow(Wall):
        async def post(self, view: View, route: str) -> str:
            ref = await wall.post(view, route)
            await turnstile.cross()  # it is there, and the answer is on its way
            return ref

    slow = Slow(shop)
    slow.poster.clock = SystemClock()
    worker = Worker(
        desk=shop.desk,
        clock=SystemClock(),
        worker_id=WorkerId("leaves"),
        posters=[slow.poster],
        pace=Pace(poll=0.01),
    )
    stop = asyncio.Event()
    working = asyncio.create_task(worker.work(stop))
    await turnstile.reached.wait()
    stop.set()
    await asyncio.wait({working}, timeout=0.5)  # it would be gone by now, and the post cut off
    turnstile.go.set()
    await working
    await street.sql.update("posts", {"due_at": PAST})  # whatever was not settled is due again
    await wall.poster.deliver_all()
    assert len(wall.messages) == 1
