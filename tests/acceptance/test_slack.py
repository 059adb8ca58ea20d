"""What people do in Slack, over both databases: the scenarios, signed, within Slack's own limits."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from core.agents import Limits
from core.builtins import ASK_OWNER
from core.canonical import load
from core.parks import ParkState
from core.people import Route
from core.ports import Query
from core.roster import SetRoute
from core.tasks import TaskState
from core.testing import calls, says
from tests.acceptance.shop import (
    MIXED_BATCH,
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    ORG,
    PAST,
    REFUND_SCRIPT,
    REFUNDED,
    SAM,
    U1,
    U9,
)
from tests.acceptance.slack_office import SlackOffice, answered, slack_office, words_of
from tests.acceptance.test_connect import READ, URL, Mailbox
from tests.conftest import Templates, migrated
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import Message, hangs, refusal
from tests.postgres import Server


@pytest.fixture(params=["sqlite", "postgres"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[SlackOffice]:
    """The shop's people in Slack, over each database, in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, the trail is whole, and Slack
    had nothing to refuse.
    """
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated(request.param, tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(slack_office(planted))
        yield made
        assert await made.is_whole()
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []


async def parked(office: SlackOffice, *script: object) -> Message:
    """Ada asked for something in a channel, and its card is in the thread."""
    office.opens(list(script or REFUND_SCRIPT))  # type: ignore[arg-type]
    await office.slack.says(office.ada, office.ops, "refund the mug", mention=True)
    await office.last.works()
    return office.card


# ── messages ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T1", "I21")
async def test_a_mention_is_one_task_in_its_thread_though_it_comes_as_two_events(office: SlackOffice) -> None:
    office.opens([says("Hello."), says("Again.")])
    said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
    assert [d.status for d in said.deliveries] == [200, 200]
    await office.last.works()
    await office.slack.says(office.ben, office.ops, "me too", thread_ts=said.message.ts)
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.requester, task.episode, task.state) == ("hello", U1.id, 2, TaskState.DONE)
    assert {m.thread_ts for m in office.slack.said(office.ops)} == {said.message.ts}


async def test_chatter_in_a_channel_is_left_alone(office: SlackOffice) -> None:
    office.opens([])
    await office.slack.says(office.ada, office.ops, "nice weather")
    assert await office.planted.count("inbox") == 0


async def test_a_direct_message_starts_a_task_in_its_thread(office: SlackOffice) -> None:
    office.opens([says("Hello.")])
    chat = office.slack.dm(office.ada)
    said = await office.slack.says(office.ada, chat, "hello <there> & you")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.thread_ref) == (
        "hello <there> & you",
        f"{office.slack.team.id}/{chat.id}/{said.message.ts}",
    )
    assert [m.thread_ts for m in office.slack.said(chat)] == [said.message.ts]


async def test_what_people_say_to_each_other_in_a_thread_is_not_kept(office: SlackOffice) -> None:
    office.opens([])
    root = await office.slack.says(office.zoe, office.ops, "nice weather")
    for user in (office.ada, office.zoe):
        await office.slack.says(user, office.ops, "very private", thread_ts=root.message.ts)
    await office.last.works()
    bodies = [str(row["body"]) for row in await office.planted.table("inbox")]
    assert [("private" in body, "nothing" in body) for body in bodies] == [(False, True)] * 2


@pytest.mark.rule("I15")
async def test_a_reply_under_a_card_joins_its_task_wherever_cards_go(office: SlackOffice) -> None:
    desk = office.slack.add_channel("approvals", office.ada, office.ben)
    route = Route(surface="slack", ref=f"{office.slack.team.id}/{desk.id}")
    await office.store.people.save(U1, ORG, SetRoute("", route))
    card = await parked(office)
    assert card.channel == desk.id
    await office.slack.says(office.ben, desk, "only half of it", thread_ts=card.ts)
    await office.last.works()
    assert "A message came meanwhile" in words_of(card.blocks)
    assert len(await office.store.ledger.find(ORG, Query())) == 1


@pytest.mark.rule("I14")
async def test_who_is_not_known_is_told_so_alone_and_starts_nothing(office: SlackOffice) -> None:
    office.opens([])
    await office.slack.says(office.zoe, office.ops, "refund everything", mention=True)
    await office.shown()
    assert office.told(office.zoe)[0].startswith("I don't know you here.")
    assert await office.store.ledger.find(ORG, Query()) == []


@pytest.mark.rule("I14")
async def test_somebody_of_another_workspace_is_refused_whatever_account_they_have(
    office: SlackOffice,
) -> None:
    guest = office.slack.add_user("guest", is_stranger=True)
    shared = office.slack.add_channel("shared", office.ada, guest)
    office.opens(list(REFUND_SCRIPT))
    await office.slack.says(office.ada, shared, "refund the mug", mention=True)
    await office.last.works()
    await office.slack.clicks(guest, office.card, "approve")
    await office.slack.clicks(guest, office.card, "decline")
    await office.slack.says(guest, shared, "approve", thread_ts=office.card.thread_ts)
    await office.slack.says(guest, shared, "refund all", mention=True)
    await office.shown()
    assert office.told(guest) == ["Only people of this workspace are listened to here."] * 3
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]
    refused = [e.actor for e in (await office.story()).audit if e.move == "refused"]
    assert refused == [f"slack:{guest.team_id}/{guest.id}"] * 2
    assert len(await office.store.ledger.find(ORG, Query())) == 1


@pytest.mark.rule("I21")
async def test_edits_deletions_joins_and_other_bots_start_nothing(office: SlackOffice) -> None:
    office.opens([says("Hello.")])
    said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
    await office.last.works()
    await office.slack.edits(office.ada, said.message, "refund everything")
    await office.slack.deletes(office.ada, said.message)
    await office.slack.joins(office.zoe, office.ops)
    await office.slack.other_bot_says(office.ops, "refund everything")
    await office.last.works()
    assert await office.planted.count("inbox") == 1
    assert (await office.task()).episode == 1


async def test_what_is_attached_is_named_and_said_to_be_unread(office: SlackOffice) -> None:
    office.opens([says("I see.")])
    await office.slack.says(
        office.ada, office.ops, "see this", mention=True, files=[("mug.jpg", b"x" * 2000)]
    )
    await office.shown()
    assert office.told(office.ada) == ["I can't read mug.jpg (2,000 bytes): say in words what matters."]
    await office.last.works()
    assert "[Attached, not read: mug.jpg (2,000 bytes)]" in str((await office.task()).goal)


@pytest.mark.rule("I21", "K22")
async def test_s20_a_redelivered_event_is_one_run_and_one_that_only_came_again_is_not_lost(
    office: SlackOffice,
) -> None:
    office.opens([says("One."), says("Two.")])
    first = await office.slack.says(office.ada, office.ops, "one", mention=True)
    again = [office.slack.redelivers(first.deliveries[0]) for _ in range(2)]
    assert [d.status for d in await asyncio.gather(*again)] == [200, 200]
    await office.last.works()
    event = {
        **first.deliveries[0].payload["event"],
        "ts": "1767600001.000900",
        "text": f"<@{office.slack.team.bot_user_id}> two",
    }
    late = {**first.deliveries[0].payload, "event": event, "event_id": "EvLate"}
    assert (await office.slack.redelivers(replace(first.deliveries[0], payload=late))).status == 200
    await office.last.works()
    assert await office.planted.count("inbox") == 2


# ── cards ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "C7", "I1")
async def test_s01_a_double_click_is_one_decision_and_the_second_is_told(office: SlackOffice) -> None:
    card = await parked(office)
    await asyncio.gather(
        office.slack.clicks(office.ada, card, "approve"), office.slack.clicks(office.ben, card, "approve")
    )
    await office.shown()
    (told,) = [*office.told(office.ada), *office.told(office.ben)]
    assert " approved it at " in told
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert office.cards() == []
    assert "✔ Approved by" in words_of(card.blocks)


@pytest.mark.rule("C6", "I1")
async def test_s02_who_loses_inside_a_form_is_told_in_that_form(office: SlackOffice) -> None:
    card = await parked(office)
    await office.slack.clicks(office.ben, card, "decline")
    await office.slack.clicks(office.ada, card, "approve")
    said = answered(await office.slack.submits(office.ben, {"words": "wrong person"}))
    assert said["response_action"] == "update"
    assert "U1 approved it at" in words_of(office.slack.modal(office.ben).blocks)
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C9", "C4")
async def test_s03_a_declined_call_never_runs_and_is_not_asked_again(office: SlackOffice) -> None:
    card = await parked(office, calls(("send_note", NOTE)), calls(("send_note", NOTE)), says("I did not."))
    await office.slack.clicks(office.ada, card, "decline")
    assert answered(await office.slack.submits(office.ada, {"words": "wrong person"})) == {
        "response_action": "clear"
    }
    await office.last.works()
    assert office.world.effects == []
    assert office.cards() == []
    assert "declined: wrong person" in words_of(office.slack.said(office.ops)[-1].blocks)


@pytest.mark.rule("T11", "C9")
async def test_a_decline_may_stop_the_task_too(office: SlackOffice) -> None:
    card = await parked(office)
    await office.slack.clicks(office.ada, card, "decline")
    await office.slack.submits(office.ada, {"stop_too": ["stop_too"]})
    await office.last.works()
    assert (await office.task()).state is TaskState.STOPPED


@pytest.mark.rule("I3", "C6")
async def test_s04_each_row_of_a_card_is_decided_on_its_own(office: SlackOffice) -> None:
    card = await parked(office, MIXED_BATCH, says("Done."))
    tokens = [b["block_id"] for b in card.blocks if b.get("block_id", "").startswith("park:")]
    await office.slack.clicks(office.ada, card, "approve", block_id=tokens[1])
    await office.slack.clicks(office.ada, card, "decline", block_id=tokens[0])
    await office.slack.submits(office.ada, {})
    await office.last.works()
    assert office.world.effects == [("read_order", "A1"), ("refund", "A2", Decimal(7))]


@pytest.mark.rule("C6", "C7")
async def test_all_of_a_card_is_approved_by_one_button(office: SlackOffice) -> None:
    batch = calls(*(("refund", {"order_id": f"A{n}", "amount": n}) for n in (1, 2, 3)))
    card = await parked(office, batch, says("Done."))
    await office.slack.clicks(office.ada, card, "approve_rest")
    await office.last.works()
    assert len(office.world.effects) == 3


@pytest.mark.rule("K27", "K20")
async def test_s07_a_click_on_an_old_card_reaches_a_new_process(office: SlackOffice) -> None:
    card = await parked(office)
    office.opens(list(REFUND_SCRIPT))
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "✔ Approved by U1" in words_of(card.blocks)


@pytest.mark.rule("C19", "C21", "C23", "I7")
@pytest.mark.parametrize("place", ["before send_note", "after send_note"])
async def test_s08_a_send_cut_in_the_middle_is_settled_by_a_person(office: SlackOffice, place: str) -> None:
    card = await parked(office, *NOTE_SCRIPT)
    turnstile = office.world.hold(place)
    await office.slack.clicks(office.ada, card, "approve")
    run = asyncio.create_task(office.last.worker.until_idle())
    await turnstile.reached.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    office.world.turnstiles.clear()
    office.opens([*NOTE_SCRIPT, says("Sent, the second time.")])
    await office.planted.update("tasks", {"lease_until": PAST}, number=1)
    await office.last.works()
    verb = "went_out" if place.startswith("after") else "send_again"
    await office.slack.clicks(office.ada, office.card, verb)
    await office.last.works()
    assert office.world.effects == [NOTED]


@pytest.mark.rule("C8")
async def test_s09_an_edit_that_breaks_the_schema_stays_at_its_field(office: SlackOffice) -> None:
    card = await parked(office)
    await office.slack.clicks(office.ada, card, "edit")
    for wrong in ("ten", "-3", "250"):
        said = answered(await office.slack.submits(office.ada, {"amount": wrong}))
        assert said["response_action"] == "errors"
        assert list(said["errors"]) == ["field:1"]
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]
    await office.slack.submits(office.ada, {"amount": "12.5"})
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("12.5"))]


@pytest.mark.rule("C10")
async def test_a_call_is_sent_back_to_be_changed(office: SlackOffice) -> None:
    card = await parked(office, calls(("send_note", NOTE)), says("I leave it."))
    await office.slack.clicks(office.ada, card, "revise")
    await office.slack.submits(office.ada, {"words": "kinder"})
    await office.last.works()
    assert office.world.effects == []
    assert "Sent back by U1" in words_of(card.blocks)


@pytest.mark.rule("C11", "I15")
async def test_s11_words_while_a_call_waits_are_kept_and_decide_nothing(office: SlackOffice) -> None:
    card = await parked(office)
    await office.slack.says(office.ada, office.ops, "approve", thread_ts=card.thread_ts)
    await office.shown()
    assert office.told(office.ada)[-1].startswith("Words decide nothing. Press a button on the card")
    await office.last.works()
    assert office.world.effects == []
    assert "A message came meanwhile" in words_of(card.blocks)
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C11")
async def test_a_question_is_answered_by_a_suggestion_a_form_or_a_reply(office: SlackOffice) -> None:
    asked = [
        calls(("ask_owner", {"question": f"Which {n}?", "suggestions": ["the red one", "the blue one"]}))
        for n in range(3)
    ]
    sam = replace(SAM, tools=(*SAM.tools, "ask_owner"))
    office.opens([*asked, says("Done.")], sam=sam, tools=(ASK_OWNER,))
    await office.slack.says(office.ada, office.ops, "order a mug", mention=True)
    await office.last.works()
    await office.slack.clicks(office.ada, office.card, "answer:1")
    await office.last.works()
    await office.slack.clicks(office.ada, office.card, "answer")
    await office.slack.submits(office.ada, {"words": "a green one"})
    await office.last.works()
    await office.slack.says(office.ada, office.ops, "none", thread_ts=office.card.thread_ts)
    await office.last.works()
    results = [call.result for call in (await office.story()).calls]
    assert results == [{"value": "the blue one"}, {"value": "a green one"}, {"value": "none"}]


@pytest.mark.rule("C12")
async def test_an_account_is_connected_by_a_link_and_the_agent_told_by_a_button(office: SlackOffice) -> None:
    mailbox = Mailbox()
    office.opens(
        [calls(READ), calls(READ), says("Read.")],
        sam=replace(SAM, tools=("read_mail",)),
        tools=tuple(mailbox.tools().values()),
    )
    await office.slack.says(office.ada, office.ops, "read my mail", mention=True)
    await office.last.works()
    card = office.card
    link = next(e for b in card.blocks for e in b.get("elements", ()) if e.get("url"))
    assert link["url"] == URL
    await office.slack.clicks(office.ada, card, link["action_id"])
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]
    mailbox.connected = True
    await office.slack.clicks(office.ada, card, "connected")
    await office.last.works()
    assert mailbox.done == ["read"]
    assert (await office.task()).state is TaskState.DONE


@pytest.mark.rule("C7")
async def test_a_task_at_its_limit_goes_on_by_a_button(office: SlackOffice) -> None:
    look = calls(("read_order", {"id": "A1"}))
    office.opens([look, says("So far."), look, says("Read.")], sam=replace(SAM, limits=Limits(rounds=1)))
    await office.slack.says(office.ada, office.ops, "read A1", mention=True)
    await office.last.works()
    await office.slack.clicks(office.ada, office.card, "more_rounds")
    await office.last.works()
    assert (await office.task()).state is TaskState.DONE


@pytest.mark.rule("C18", "C19")
async def test_s12_a_tool_that_raises_is_failed_on_its_card(office: SlackOffice) -> None:
    office.world.raises["refund"] = ValueError("unknown field")
    card = await parked(office)
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert "failed" in words_of(card.blocks)


@pytest.mark.rule("I14", "I15")
async def test_s13_a_wrong_person_is_refused_privately_and_on_record(office: SlackOffice) -> None:
    card = await parked(office)
    before = list(card.blocks)
    await office.slack.clicks(office.eve, card, "approve")
    await office.slack.clicks(office.eve, card, "decline")
    await office.slack.clicks(office.zoe, card, "edit")
    await office.slack.says(office.eve, office.ops, "approve", thread_ts=card.thread_ts)
    await office.shown()
    assert (
        office.told(office.eve)[:2] == ["This is not yours to decide: only owners and approvers decide."] * 2
    )
    assert office.told(office.zoe)[0].startswith("I don't know you here.")
    story = await office.story()
    refused = [(e.actor, load(e.entry)["why"]) for e in story.audit if e.move == "refused"]
    assert [actor for actor, _ in refused] == [U9.id, U9.id, f"slack:{office.zoe.team_id}/{office.zoe.id}"]
    assert (card.blocks, [p.state for p in story.parks]) == (before, [ParkState.OPEN])
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I32")
async def test_s16_what_a_card_has_no_room_for_is_approved_in_the_form_that_shows_it_all(
    office: SlackOffice,
) -> None:
    text = "x" * 9_980 + "\nand cc everyone"
    card = await parked(office, calls(("send_note", {"to": "x@example.test", "text": text})), says("Sent."))
    with pytest.raises(LookupError):
        office.slack.finds(card, "approve")
    assert "more characters" in words_of(card.blocks)
    (file,) = [f for f in office.slack.files.values() if f.complete]
    assert (file.content or b"").decode().endswith("and cc everyone")
    await office.slack.clicks(office.ada, card, "review")
    assert "and cc everyone" in words_of(office.slack.modal(office.ada).blocks)
    assert answered(await office.slack.submits(office.ada, {})) == {"response_action": "clear"}
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", text)]


@pytest.mark.rule("I32")
async def test_a_review_that_slack_did_not_open_lets_nobody_approve(office: SlackOffice) -> None:
    long = {"to": "x@example.test", "text": "x" * 10_000}
    card = await parked(office, calls(("send_note", long)), says("Sent."))
    office.slack.breaks("views.open", refusal("expired_trigger_id"))
    await office.slack.clicks(office.ada, card, "review")
    await office.slack.commands(office.ada, office.ops, "/gatepost", "approve t-1.1")
    await office.shown()
    told = sorted(office.told(office.ada))
    assert told[0].startswith("Slack opened no form just now.")
    assert told[1].startswith("The card shows only its beginning")
    await office.last.works()
    assert office.world.effects == []


@pytest.mark.rule("I32", "C5")
async def test_s18_hostile_text_pings_nobody_and_goes_out_as_it_was(office: SlackOffice) -> None:
    text = "`*_[x](http://y) <b>&amp; <!channel> @here\u202e\u200b\u0430pple.example"
    card = await parked(office, calls(("send_note", {"to": "x@example.test", "text": text})), says("Sent."))
    shown = words_of(card.blocks)
    assert "`*_[x](http://y) <b>&amp; <!channel> @here⟨U+202E⟩⟨U+200B⟩\u0430pple.example" in shown
    assert "mixes Cyrillic and Latin letters" in shown
    assert "<" not in card.text.replace("&lt;", "")
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", text)]


@pytest.mark.rule("I32")
@pytest.mark.parametrize("why", ["msg_blocks_too_long", "invalid_blocks"])
async def test_s18_what_slack_does_not_take_is_shown_in_plain_words_once(
    office: SlackOffice, why: str
) -> None:
    office.opens(list(REFUND_SCRIPT))
    office.slack.breaks("chat.postMessage", refusal(why))
    await office.slack.says(office.ada, office.ops, "refund the mug", mention=True)
    await office.last.worker.until_idle()
    await office.last.poster.deliver_all()
    (shown,) = [m for m in office.slack.said(office.ops) if "Answer it with a command" in m.text]
    assert "amount: 10" in shown.text


@pytest.mark.rule("I21")
async def test_s20_a_form_is_decided_though_slack_itself_hangs(office: SlackOffice) -> None:
    card = await parked(office)
    await office.slack.clicks(office.ada, card, "edit")
    release = asyncio.Event()
    office.slack.breaks("*", hangs(release), times=None)
    said = answered(await office.slack.submits(office.ada, {"amount": "3"}))
    assert said == {"response_action": "clear"}
    release.set()
    office.slack.mends()
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal(3))]


# ── commands, the home page, shortcuts ───────────────────────────────────────────────────────


async def test_commands_are_answered_to_who_typed_them_alone(office: SlackOffice) -> None:
    await parked(office)
    await office.slack.commands(office.ada, office.ops, "/gatepost", "tasks")
    assert "refund the mug" in office.told(office.ada)[-1]
    await office.slack.commands(office.ada, office.ops, "/gatepost", "")
    assert "approve CALL" in office.told(office.ada)[-1]
    await office.slack.commands(office.eve, office.ops, "/gatepost", "approve t-1.1")
    assert office.told(office.eve)[-1] == "Only an owner or approver may approve."
    await office.slack.commands(office.ada, office.ops, "/gatepost", "approve t-1.1")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C6")
async def test_what_waits_is_shown_by_a_command_and_decided_there(office: SlackOffice) -> None:
    await parked(office)
    await office.slack.commands(office.ada, office.ops, "/gatepost", "pending")
    shown = office.slack.shown_to(office.ada)[-1]
    await office.slack.clicks(office.ada, shown, "approve")
    await office.shown()
    assert office.told(office.ada)[-1] == "t-1.1 approved by U1. A worker runs it."
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "✔ Approved by U1" in words_of(office.slack.said(office.ops)[-2].blocks)


@pytest.mark.rule("C6", "I18")
async def test_the_home_page_shows_what_waits_for_its_reader_and_decides_it(office: SlackOffice) -> None:
    await parked(office)
    await office.slack.opens_home(office.ada)
    await office.slack.opens_home(office.eve)
    await office.slack.opens_home(office.zoe)
    await office.shown()
    page = office.slack.home(office.ada)
    assert words_of(page.blocks).startswith("1 waiting for you")
    assert words_of(office.slack.home(office.eve).blocks).startswith("Nothing waits for you")
    assert "I don't know you here." in words_of(office.slack.home(office.zoe).blocks)
    await office.slack.clicks(office.ada, page, "approve")
    await office.last.works()
    office.clock.set((await office.task()).ended_at or PAST)  # it is the day on which it ended
    await office.slack.opens_home(office.ada)
    await office.shown()
    assert office.world.effects == [REFUNDED]
    assert "done: refund the mug" in words_of(office.slack.home(office.ada).blocks)


@pytest.mark.rule("C6")
async def test_what_is_decided_in_a_form_of_the_home_page_waits_there_no_more(office: SlackOffice) -> None:
    await parked(office, calls(("send_note", {"to": "x@example.test", "text": "x" * 9_000})), says("Sent."))
    await office.slack.opens_home(office.ada)
    await office.shown()
    await office.slack.clicks(office.ada, office.slack.home(office.ada), "review")
    await office.slack.clicks(office.ada, office.slack.modal(office.ada), "revise")
    await office.slack.submits(office.ada, {"words": "shorter"})
    await office.shown()
    assert words_of(office.slack.home(office.ada).blocks).startswith("Nothing waits for you")


@pytest.mark.rule("I32")
async def test_what_stands_among_many_long_questions_is_still_shown_whole_or_reviewed(
    office: SlackOffice,
) -> None:
    asked = [("ask_owner", {"question": f"{n}? {'why ' * 480}"}) for n in range(7)]
    sam = replace(SAM, tools=(*SAM.tools, "ask_owner"))
    note = {"to": "x@example.test", "text": "x" * 300}
    office.opens([calls(*asked, ("send_note", note)), says("Done.")], sam=sam, tools=(ASK_OWNER,))
    await office.slack.says(office.ada, office.ops, "write to x", mention=True)
    await office.last.works()
    card = office.card
    assert "x" * 300 in words_of(card.blocks)
    tokens = [b["block_id"] for b in card.blocks if b.get("block_id", "").startswith("park:")]
    await office.slack.clicks(office.ada, card, "review", block_id=tokens[0])
    assert "why " * 480 in words_of(office.slack.modal(office.ada).blocks)
    await office.slack.clicks(office.ada, card, "approve", block_id=tokens[-1])
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", "x" * 300)]


@pytest.mark.rule("T11")
async def test_a_task_is_stopped_by_the_button_beside_how_it_goes(office: SlackOffice) -> None:
    await parked(office)
    await office.planted.update("posts", {"due_at": PAST}, kind="progress")
    await office.last.poster.deliver_all()
    going = next(m for m in office.slack.said(office.ops) if "waits for your click" in m.text)
    await office.slack.clicks(office.eve, going, "command:stop")
    await office.shown()
    assert (
        office.told(office.eve) == ["T-1 is not yours to stop."]
        or "not yours to stop" in office.told(office.eve)[0]
    )
    await office.slack.clicks(office.ada, going, "command:stop")
    await office.last.works()
    assert (await office.task()).state is TaskState.STOPPED


@pytest.mark.rule("T1")
async def test_a_message_is_made_a_task_once_its_words_were_seen_and_sent(office: SlackOffice) -> None:
    office.opens([says("Done.")])
    said = await office.slack.says(office.zoe, office.ops, "the mug of A7 arrived broken")
    await office.slack.uses_shortcut(office.ada, said.message, "make_a_task")
    assert await office.store.ledger.find(ORG, Query()) == []
    await office.slack.submits(office.ada, {"words": "look into A7"})
    await office.last.works()
    task = await office.task()
    assert (task.goal, task.requester) == ("look into A7", U1.id)
    assert office.slack.said(office.ops)[-1].thread_ts == said.message.ts


# ── what is forged, old or unreadable ────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
@pytest.mark.parametrize(
    "how", ["flipped", "unsigned", "old", "future", "a word for a time", "another secret"]
)
async def test_a_request_that_slack_did_not_sign_now_is_refused_unread(office: SlackOffice, how: str) -> None:
    office.opens([])
    body = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
    headers = dict(office.slack.signed(body))
    at = int(headers["X-Slack-Request-Timestamp"])
    if how == "flipped":
        body = body.replace(b'"c"', b'"d"')
    elif how == "unsigned":
        del headers["X-Slack-Signature"]
    elif how == "another secret":
        headers = dict(office.slack.signed(body, secret="another"))
    elif how == "a word for a time":
        headers["X-Slack-Request-Timestamp"] = "now"
    else:
        moved = at + (301 if how == "future" else -301)
        headers = office.slack.signed(body, at=moved)
    assert (await office.slack.delivers(body, headers)).status == 401
    signed = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
    answer = await office.slack.delivers(signed, office.slack.signed(signed))
    assert (answer.status, "c" in answer.body) == (200, True)


async def test_an_old_button_and_an_old_form_are_answered(office: SlackOffice) -> None:
    card = await parked(office)
    for element in office.slack.finds(card, "approve")[0]["elements"]:
        if element["action_id"] == "approve":
            element["action_id"] = "approve_v1"
    await office.slack.clicks(office.ada, card, "approve_v1")
    await office.shown()
    assert office.told(office.ada) == ["This button is no longer valid; `pending` shows what waits."]
    await office.slack.clicks(office.ada, card, "edit")
    office.slack.modal(office.ada).body["private_metadata"] = '{"park": "p1"}'
    await office.slack.submits(office.ada, {"amount": "3"})
    assert "older version" in words_of(office.slack.modal(office.ada).blocks)
    assert office.world.effects == []
