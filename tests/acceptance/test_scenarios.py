"""The scenarios of tests/cases/scenarios.md at the level of desk and worker, each clause of each outcome."""

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest

from core.calls import CallState, Outcome
from core.errors import AlreadyDecided, BadArguments
from core.ids import OrgId, TaskId, TaskRef
from core.moves.effects import UNKNOWN_WORDS
from core.moves.people import Decided, Decision
from core.parks import Choice, DecisionKind, ParkKind, ParkState
from core.ports import ParkView
from core.report import Report
from core.tasks import Json, Task, TaskState
from core.testing import calls, says
from core.tools import tool, typed
from core.work import PostKind
from tests.acceptance.child import remote, started
from tests.acceptance.shop import (
    MIXED_BATCH,
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    PAST,
    REFUND_SCRIPT,
    REFUNDED,
    U1,
    U2,
    Shop,
    Street,
    audited,
    decisions,
    results,
)


def numbers(report: Report) -> dict[str, list[int]]:
    """The call numbers in each list of the report."""
    lists = {"done": report.done, "not_done": report.not_done}
    lists |= {"unknown": report.unknown, "waiting": report.waiting}
    return {name: [line.call.number for line in lines] for name, lines in lists.items() if lines}


# ── S01, S02 ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "C7", "I1", "I2")
async def test_s01_a_double_click_on_two_workers_runs_the_call_once(street: Street) -> None:
    one, other = street.open(REFUND_SCRIPT), street.open(REFUND_SCRIPT)
    task = await one.parked()
    clicks = [shop.approve(await shop.view(task)) for shop in (one, other)]

    answers = await asyncio.gather(*clicks, return_exceptions=True)

    (told,) = [a for a in answers if not isinstance(a, Decided)]
    assert isinstance(told, AlreadyDecided)
    await asyncio.gather(one.run(), other.run())
    story = await one.story(task)
    (park,) = story.parks
    assert str(told) == f"U1 approved it at {park.decided_at:%H:%M} UTC; it has not run yet"
    assert street.world.effects == [REFUNDED]
    assert [(actor, facts["decision"]) for actor, facts in decisions(story)] == [(U1.id, "approve")]
    assert await street.sql.posts(task) == {"card": 1, "report": 1}
    assert story.task.result == {"value": "Refunded."}


@pytest.mark.rule("C6", "I1", "I21")
async def test_s01_the_same_click_delivered_twice_is_one_decision_and_no_error(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    view = await shop.view(task)
    yes = Decision(kind=DecisionKind.APPROVE)

    first = await shop.decide(view, yes, event_id="click-1")
    again = await shop.decide(view, yes, event_id="click-1")

    assert again.park == first.park
    await shop.run()
    assert shop.effects == [REFUNDED]
    assert len(decisions(await shop.story(task))) == 1


@pytest.mark.rule("C6", "I1")
@pytest.mark.parametrize("first", [DecisionKind.APPROVE, DecisionKind.DECLINE])
async def test_s02_who_comes_second_out_of_an_edit_form_hears_who_was_first(
    street: Street, first: DecisionKind
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    form = await shop.view(task, who=U2)
    await shop.decide(form, Decision(kind=first), U1)

    with pytest.raises(AlreadyDecided) as told:
        await shop.edit(form, {"amount": 7}, who=U2)

    decided = {DecisionKind.APPROVE: "approved", DecisionKind.DECLINE: "declined"}[first]
    assert (told.value.decision, told.value.by) == (decided, "U1")
    await shop.run()
    assert shop.effects == ([REFUNDED] if first is DecisionKind.APPROVE else [])


@pytest.mark.rule("C6", "C8", "I1")
@pytest.mark.parametrize("ran", [False, True], ids=["before it ran", "after it ran"])
async def test_s02_who_clicks_a_card_that_somebody_edited_and_approved_hears_of_it(
    street: Street, ran: bool
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    old = await shop.view(task)
    await shop.edit(old, {"amount": 7}, who=U2)
    if ran:
        await shop.run()

    with pytest.raises(AlreadyDecided) as told:
        await shop.approve(old)

    assert (told.value.decision, told.value.by) == ("approved with changes", "U2")
    await shop.run()
    assert shop.effects == [("refund", "A1", Decimal(7))]


# ── S03, S04 ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C9", "C4", "I3")
async def test_s03_a_declined_call_never_runs_and_is_not_asked_again(street: Street) -> None:
    shop = street.open([calls(("send_note", NOTE)), calls(("send_note", NOTE)), says("Not sent.")])
    task = await shop.parked()
    await shop.decline(await shop.view(task), "wrong person")
    await shop.run()

    story = await shop.story(task)
    first, second = story.calls
    assert shop.effects == []
    assert (first.outcome, second.outcome) == (Outcome.DECLINED, Outcome.REFUSED)
    assert "wrong person" in first.result["error"]
    assert second.result == {"error": "Not run: the owner declined this very call. Propose something else."}
    assert [r for _, r in results(shop.model.requests[1])] == [f"Error: {first.result['error']}"]
    assert [r for _, r in results(shop.model.requests[2])] == [f"Error: {second.result['error']}"]
    assert len(story.parks) == 1
    assert await street.sql.posts(task) == {"card": 1, "report": 1}
    report = await shop.report(task)
    assert numbers(report) == {"not_done": [1, 2]}
    assert [line.call.args for line in report.not_done] == [NOTE, NOTE]
    assert report.not_done[0].note == "declined: wrong person"


@pytest.mark.rule("C9")
async def test_a_declined_call_may_be_asked_again_once_the_owner_wrote_again(street: Street) -> None:
    shop = street.open(
        [calls(("send_note", NOTE)), says("Not sent."), calls(("send_note", NOTE)), says("Sent.")]
    )
    task = await shop.parked()
    await shop.decline(await shop.view(task))
    await shop.run()

    await shop.say(task, "I was wrong, do send it.")
    await shop.run()
    await shop.approve(await shop.view(task, 2))
    await shop.run()

    assert shop.effects == [NOTED]


@pytest.mark.rule("T4", "T5", "C2", "C7", "C9", "I3")
async def test_s04_a_mixed_batch_is_settled_call_by_call_before_the_model_is_asked_again(
    street: Street,
) -> None:
    shop = street.open([MIXED_BATCH, says("Done.")])
    task = await shop.parked()
    read = ("read_order", "A1")
    assert shop.effects == [read]
    assert [p.state for p in (await shop.story(task)).parks] == [ParkState.OPEN, ParkState.OPEN]

    await shop.approve(await shop.view(task, 3))
    await shop.run()
    assert shop.effects == [read, ("refund", "A2", Decimal(7))]
    assert len(shop.model.requests) == 1
    assert (await shop.task(task)).state is TaskState.WAITING

    await shop.decline(await shop.view(task, 2))
    await shop.run()

    assert shop.effects == [read, ("refund", "A2", Decimal(7))]
    assert len(shop.model.requests) == 2
    ids, said = zip(*results(shop.model.requests[1]), strict=True)
    assert len(set(ids)) == 3
    assert said[0] == "Order A1: 30.00 EUR."
    assert str(said[1]).startswith("Error: Declined by the owner, not run")
    assert said[2] == "Refunded A2."
    report = await shop.report(task)
    assert (numbers(report), report.reads) == ({"done": [3], "not_done": [2]}, 1)
    assert report.words == "Done."


# ── S07, S08 ─────────────────────────────────────────────────────────────────────────────────


async def sent_card(shop: Shop) -> tuple[str, str]:
    """The one card is in the chat: its post, its message."""
    (post,) = await shop.send()
    assert post.kind is PostKind.CARD
    return post.id, f"message of {post.id}"


async def assert_the_old_click_goes_on(shop: Shop, task: Task, view: ParkView, card: tuple[str, str]) -> None:
    """A new process: nothing was decided without a person, and the old message's button still works."""
    await shop.run()
    story = await shop.story(task)
    assert (story.task.state, story.parks[0].state) == (TaskState.WAITING, ParkState.OPEN)
    assert decisions(story) == []

    await shop.approve(view)
    (due,) = await shop.send()
    assert (due.id, due.chat_ref, due.rev) == (*card, 2)
    await shop.run()

    story = await shop.story(task)
    assert (story.task.state, story.task.result) == (TaskState.DONE, {"value": "Refunded."})
    assert story.calls[0].outcome is Outcome.SUCCEEDED
    posts = await shop.send()
    assert {p.kind for p in posts} == {PostKind.CARD, PostKind.REPORT}
    assert [(p.id, p.chat_ref) for p in posts if p.kind is PostKind.CARD] == [card]


@pytest.mark.rule("T6", "T7", "C7", "K27")
async def test_s07_a_card_outlives_the_process_that_posted_it(street: Street) -> None:
    before = street.open(REFUND_SCRIPT)
    task = await before.parked()
    token = (await before.view(task)).park.token
    card = await sent_card(before)
    await before.close()

    after = street.open(REFUND_SCRIPT)
    await assert_the_old_click_goes_on(after, task, await after.find(token), card)
    assert after.effects == [REFUNDED]
    assert len(after.model.requests) == 1


@pytest.mark.rule("T6", "T7", "C7")
async def test_s07_a_card_outlives_the_process_that_posted_it_and_was_killed(
    street: Street, tmp_path: Path
) -> None:
    log = tmp_path / "remote.log"
    async with started("worker") as child:
        await child.tell({"url": street.url, "tool": "refund", "remote": str(log), "die": None})
        said = await child.hear()
        await child.kill()
    ((post_id, rev),) = said["cards"]
    assert rev == 1
    assert remote(log) == []

    after = street.open(REFUND_SCRIPT)
    story = await after.story(TaskRef(org=OrgId(said["org"]), task_id=TaskId(said["task"])))
    card = (post_id, f"message of {post_id}")
    await assert_the_old_click_goes_on(after, story.task, await after.find(story.parks[0].token), card)
    assert after.effects == [REFUNDED]


async def assert_it_may_have_gone_out(shop: Shop, task: Task) -> None:
    """A new process finds the call in the middle, tells the model and the owner, and leaves it alone."""
    await assert_somebody_goes_on_with_it(shop, task)
    story = await shop.story(task)
    (call,) = story.calls
    assert (call.state, call.outcome) == (CallState.SETTLED, Outcome.UNKNOWN)
    assert [r for _, r in results(shop.model.requests[-1])] == [f"Error: {UNKNOWN_WORDS}"]
    view = await shop.view(task, kind=ParkKind.UNKNOWN)
    assert view.park.choices == (Choice.WENT_OUT, Choice.DID_NOT, Choice.SEND_AGAIN)
    assert not view.park.holds
    assert story.task.state is TaskState.DONE
    assert numbers(await shop.report(task)) == {"unknown": [1]}
    assert PostKind.CARD in {post.kind for post in await shop.send()}


async def assert_somebody_goes_on_with_it(shop: Shop, task: Task) -> None:
    """The dead process's task is somebody's again, who goes on with it."""
    assert (await shop.task(task)).state is TaskState.RUNNING
    await shop.run()
    assert (await shop.task(task)).state is not TaskState.RUNNING


@pytest.mark.rule("T3", "C15", "C19", "I7", "I3", "K10", "K11")
@pytest.mark.parametrize("place", ["before send_note", "after send_note"])
async def test_s08_a_send_that_was_cut_in_the_middle_may_have_gone_out(street: Street, place: str) -> None:
    before = street.open(NOTE_SCRIPT)
    task = await before.parked()
    turnstile = street.world.hold(place)
    await before.approve(await before.view(task))
    run = asyncio.create_task(before.run())
    await turnstile.reached.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    await before.close()
    assert (await street.open([]).call(task)).state is CallState.EXECUTING

    await street.sql.change_task(task, lease_until=PAST)
    after = street.open(NOTE_SCRIPT)
    await assert_it_may_have_gone_out(after, task)
    await after.run()
    assert after.effects == ([NOTED] if place.startswith("after") else [])


@pytest.mark.rule("T3", "C15", "C19", "I7", "I3", "K10", "K11")
@pytest.mark.parametrize("place", ["before send_note", "after send_note"])
async def test_s08_a_send_whose_process_was_killed_in_the_middle_may_have_gone_out(
    street: Street, tmp_path: Path, place: str
) -> None:
    log = tmp_path / "remote.log"
    async with started("worker") as child:
        await child.tell({"url": street.url, "tool": "send_note", "remote": str(log), "die": place})
        said = await child.hear()
        assert await child.hear() == "in the middle"
        await child.kill()
    accepted = [list(NOTED)] if place.startswith("after") else []
    assert remote(log) == accepted

    after = street.open(NOTE_SCRIPT)
    ref = TaskRef(org=OrgId(said["org"]), task_id=TaskId(said["task"]))
    task = (await after.story(ref)).task
    await street.sql.change_task(task, lease_until=PAST)
    await assert_it_may_have_gone_out(after, task)
    assert (remote(log), after.effects) == (accepted, [])


# ── S09 ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8", "I4")
async def test_s09_an_edit_that_breaks_the_schema_is_refused_at_its_field_until_it_fits(
    street: Street,
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    view = await shop.view(task)
    refund = shop.host.tools["refund"]
    for value in ("ten", -3, 250):
        with pytest.raises(BadArguments) as in_the_form:
            typed(refund, "amount", str(value))
        with pytest.raises(BadArguments) as at_the_desk:
            await shop.edit(view, {"amount": value})
        assert list(in_the_form.value.problems) == list(at_the_desk.value.problems) == ["amount"]
    await shop.run()
    story = await shop.story(task)
    assert (story.calls[0].state, story.parks[0].state) == (CallState.PARKED, ParkState.OPEN)
    assert shop.effects == []
    assert decisions(story) == []

    await shop.edit(view, {"amount": typed(refund, "amount", "12.5")})
    await shop.run()

    assert shop.effects == [("refund", "A1", Decimal("12.5"))]
    story = await shop.story(task)
    proposed: Json = {"order_id": "A1", "amount": 10}
    effective: Json = {"order_id": "A1", "amount": Decimal("12.5")}
    (call,) = story.calls
    assert (call.proposed_args, call.args) == (proposed, effective)
    ((actor, facts),) = decisions(story)
    assert (actor, facts["decision"], facts["version"]) == (U1.id, "edit", 2)
    assert (facts["proposed"], facts["decided"]) == (proposed, effective)
    ((_, marked),) = audited(story, "mark")
    assert marked["args"] == effective
    assert marked["hash"] == facts["hash"] == call.args_hash
    assert [(p.version, p.state, p.decision) for p in story.parks] == [
        (1, ParkState.SUPERSEDED, None),
        (2, ParkState.DECIDED, DecisionKind.EDIT),
    ]
    ((_, told),) = results(shop.model.requests[1])
    assert told == "The owner changed it before it ran: amount 10 → 12.5. Refunded A1."
    assert await shop.card(task) == (
        f"✔ Approved with changes by U1, {story.parks[1].decided_at:%H:%M} UTC"
        " · The owner changed it before it ran: amount 10 → 12.5 · done",
    )


# ── S12 ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C18", "I3", "I38")
async def test_s12_an_approved_tool_that_raises_has_failed_and_its_card_says_so(street: Street) -> None:
    shop = street.open(NOTE_SCRIPT)
    street.world.raises["send_note"] = ValueError("unknown field")
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()

    story = await shop.story(task)
    (call,) = story.calls
    assert (call.outcome, call.result) == (Outcome.FAILED, {"error": "ValueError: unknown field"})
    assert [r for _, r in results(shop.model.requests[1])] == ["Error: ValueError: unknown field"]
    at = f"{story.parks[0].decided_at:%H:%M} UTC"
    assert await shop.card(task) == (f"✔ Approved by U1, {at} · failed: ValueError: unknown field",)
    assert shop.effects == []
    assert numbers(await shop.report(task)) == {"not_done": [1]}
    assert story.task.state is TaskState.DONE


@pytest.mark.rule("C19", "I3", "I7")
async def test_s12_an_approved_tool_that_is_late_may_have_gone_out_and_its_card_says_so(
    street: Street,
) -> None:
    @tool(risk="contact", timeout=30)
    async def send_note(to: str, text: str) -> None:
        """Send a note to a customer."""
        street.world.effects.append(("send_note", to, text))
        shop.clock.advance(31)
        await asyncio.Event().wait()  # for ever, but for the time-out

    shop = street.open(NOTE_SCRIPT, tools=[send_note])
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()

    story = await shop.story(task)
    (call,) = story.calls
    words = "no answer within 30 s; it may have gone out: do not repeat it"
    assert (call.outcome, call.result) == (Outcome.UNKNOWN, {"error": words})
    assert [r for _, r in results(shop.model.requests[1])] == [f"Error: {words}"]
    at = f"{story.parks[0].decided_at:%H:%M} UTC"
    assert await shop.card(task) == (f"✔ Approved by U1, {at} · may have gone out", None)
    assert numbers(await shop.report(task)) == {"unknown": [1]}
    await shop.run()
    assert shop.effects == [NOTED]
