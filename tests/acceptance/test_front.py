"""What people do in a chat, through the front, over every kind of store: the scenarios without a platform."""

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from core.builtins import ASK_OWNER
from core.canonical import load
from core.cards import Card, Verb, read_back
from core.chat import SILENCE, Answer, Attachment
from core.codes import code_digest
from core.errors import BadArguments, StoreError
from core.forms import Kind
from core.gate import Setting
from core.ids import EventKey, ParkId, Token
from core.intake import Intake
from core.moves.people import amend
from core.parks import ParkKind, ParkState, Slip
from core.people import Account, Role
from core.ports import Inbox, Query
from core.rendering import Notice
from core.roster import Invite
from core.tasks import MessageKind, TaskState
from core.testing import calls, says
from core.testing.chat import Seat, Trouble
from core.work import Event, EventKind, Need
from tests.acceptance.office import CHANNEL, Office
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
    SURFACE,
    U1,
    U2,
    U9,
    agent,
    settings,
)
from tests.conftest import Templates, migrated
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted
from tests.postgres import Server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[Office]:
    """The shop's people at a chat, over a store of each kind in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, and the trail is whole.
    """
    async with AsyncExitStack() as closing:
        planted: MemoryPlanted | SqlPlanted = MemoryPlanted()
        if request.param != "memory":
            where = migrated(request.param, tmp_path, postgres_server, templates)
            planted = SqlPlanted(await closing.enter_async_context(where))
            closing.push_async_callback(planted.close)
        made = Office(planted=planted)
        await made.people()
        yield made
        assert await made.is_whole()
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []


async def parked(office: Office, *script: object) -> Seat:
    """U1 asked for something in a direct chat, and its card is there."""
    office.opens(list(script or REFUND_SCRIPT))  # type: ignore[arg-type]
    ada = office.seat(U1)
    assert await ada.says("refund the mug") == SILENCE
    await office.last.works()
    return ada


# ── messages ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T1", "I21", "K22")
async def test_a_message_opens_one_task_however_often_it_arrives(office: Office) -> None:
    office.opens([says("Hello.")])
    ada = office.seat(U1)
    assert [await ada.says("hello"), await ada.again(), await ada.again()] == [SILENCE] * 3
    await office.last.works()
    assert await ada.again() == SILENCE
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.requester, task.chat, task.state) == ("hello", U1.id, "D1", TaskState.DONE)
    assert [report.words for report in office.chat.reports()] == ["Hello."]


@pytest.mark.rule("T12")
async def test_what_follows_soon_after_the_end_goes_on_with_the_same_task(office: Office) -> None:
    office.opens([says("Hello."), says("Again.")])
    ada = office.seat(U1)
    await ada.says("hello")
    await office.last.works()
    await ada.says("and again")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.episode, task.state) == (2, TaskState.DONE)


async def test_a_thread_of_a_channel_is_a_task_and_chatter_is_none(office: Office) -> None:
    office.opens([says("Hello."), says("Again.")])
    ada, ben = office.seat(U1, CHANNEL), office.seat(U2, replace(CHANNEL, thread="C1:1"))
    assert await ada.says("nice weather") == SILENCE
    await ada.says("hello", addressed=True)
    await office.last.works()
    await ben.says("me too")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.thread_ref, task.episode) == ("hello", "C1:1", 2)
    assert await office.planted.count("inbox") == 2


@pytest.mark.rule("I14")
async def test_nobody_whom_the_organization_does_not_know_opens_anything(office: Office) -> None:
    office.opens([])
    stranger = replace_account(office.seat(U9), "U77")
    answer = await stranger.says("refund everything")
    assert answer.words.startswith("I don't know you here.")
    await office.last.works()
    assert await office.store.ledger.find(ORG, Query()) == []
    assert (await office.planted.row("inbox"))["state"] == "ignored"


@pytest.mark.parametrize("how", [{"edited": True}, {"by_bot": True}])
async def test_an_edited_message_and_a_bots_start_nothing(office: Office, how: dict[str, bool]) -> None:
    office.opens([])
    assert await office.seat(U1).says("refund the mug", **how) == SILENCE  # type: ignore[arg-type]
    assert await office.planted.count("inbox") == 0


async def test_what_is_attached_is_named_and_said_to_be_unread(office: Office) -> None:
    office.opens([says("I see.")])
    ada = office.seat(U1)
    photo = Attachment(name="mug.jpg", size=31_457_280)
    answer = await ada.says("see the photo", attachments=[photo])
    assert answer.words == "I can't read mug.jpg (31,457,280 bytes): say in words what matters."
    alone = await ada.says("  ", attachments=[photo])
    assert alone.words.endswith("Say what is to be done.")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert task.goal == "see the photo\n\n[Attached, not read: mug.jpg (31,457,280 bytes)]"


async def test_a_message_that_may_mean_two_tasks_is_asked_about(office: Office) -> None:
    ada = await parked(office, *REFUND_SCRIPT, *REFUND_SCRIPT)
    await ada.says("/new refund the plate")
    await office.last.works()
    answer = await ada.says("hurry")
    assert (
        answer.words
        == "Which one? t-2: refund the plate; t-1: refund the mug. Begin with its code, or with /new."
    )
    assert await ada.says("t-2: hurry") == SILENCE
    await office.last.works()
    assert [(await office.task(n)).unread for n in (1, 2)] == [0, 1]


@pytest.mark.rule("I21")
async def test_a_message_that_nothing_comes_of_is_done_with_whoever_looks_first(office: Office) -> None:
    office.opens([])
    body = {"text": "hurry", "person": U1.id, "chat": "D1", "kind": "direct", "nothing": "two tasks"}
    event = Event(key=EventKey(source=SURFACE, event_id="e1"), org=ORG, kind=EventKind.MESSAGE, body=body)
    await office.store.inbox.receive(event)
    await office.last.worker.sweep()
    assert (await office.planted.row("inbox"))["state"] == "ignored"
    assert await office.store.ledger.find(ORG, Query()) == []


@pytest.mark.rule("I21", "I29")
async def test_words_are_of_the_task_they_were_told_to_be_of_whatever_begins_meanwhile(
    office: Office,
) -> None:
    ada = await parked(office, *REFUND_SCRIPT, *REFUND_SCRIPT)
    await ada.says("half of it")
    assert (await ada.says("stop")).words == "t-1 stops."
    await ada.types("new refund the plate")  # is there before anybody has looked into the inbox
    await office.last.worker.sweep()
    assert [(await office.task(n)).unread for n in (1, 2)] == [1, 0]
    assert [(await office.task(n)).stop_by for n in (1, 2)] == [U1.id, None]


@pytest.mark.rule("I21")
async def test_words_to_a_task_that_is_long_in_stopping_are_kept_until_it_has_ended(office: Office) -> None:
    ada = await parked(office)
    await office.planted.update("tasks", {"state": TaskState.RUNNING, "stop_by": U1.id})
    await ada.says("t-1: and again")
    for _ in range(12):
        await Intake(desk=office.last.desk).sweep()
        await office.planted.update("inbox", {"due_at": PAST}, event_id=ada.done[-1].event_id)
    assert (await office.planted.row("inbox", event_id=ada.done[-1].event_id))["state"] == "new"


async def test_what_is_said_in_a_thread_that_is_not_ours_is_answered_with_silence(office: Office) -> None:
    office.opens([])
    theirs = replace(CHANNEL, thread="C1:77")
    photo = Attachment(name="mug.jpg", size=1)
    assert await office.seat(U1, theirs).says("look", attachments=[photo]) == SILENCE
    stranger = replace_account(office.seat(U9, theirs), "U77")
    assert await stranger.says("nice") == SILENCE
    assert (await stranger.says("nice", addressed=True)).words.startswith("I don't know you here.")


async def test_who_asks_for_work_is_told_that_all_of_it_is_paused(office: Office) -> None:
    office.opens([])
    ada = office.seat(U1)
    await ada.types("pause sam")
    told = "Sam is paused: it starts once an owner says `resume sam`."
    assert (await ada.says("refund the mug")).words == told
    await ada.types("pause")
    told = "Everything is paused: it starts once an owner says `resume`."
    assert (await ada.types("new refund the plate")).words.splitlines()[1] == told
    await ada.types("resume")
    await ada.types("resume sam")
    assert await ada.says("/new refund the bowl") == SILENCE


@pytest.mark.rule("I21", "K22")
async def test_what_was_stored_before_a_process_died_is_told_and_done_when_it_arrives_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = await parked(office, *REFUND_SCRIPT, *REFUND_SCRIPT)
    await ada.types("new refund the plate")
    await office.last.works()
    inbox = type(office.store.inbox)
    receive = inbox.receive

    async def dies(self: Inbox, event: Event) -> None:
        await receive(self, event)
        raise StoreError("the process is gone")

    async def arrives(doing: Awaitable[Answer]) -> str:
        with monkeypatch.context() as patch, pytest.raises(StoreError):
            patch.setattr(inbox, "receive", dies)
            await doing
        return (await ada.again()).words

    assert (await arrives(ada.says("hurry"))).startswith("Which one?")
    assert await arrives(ada.types("new refund the bowl")) == "t-3 opened for Sam: refund the bowl"
    assert (await ada.again()).words == "t-3 opened for Sam: refund the bowl"
    assert len(await office.store.ledger.find(ORG, Query())) == 3


# ── while something waits ────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I3", "K37")
async def test_s11_words_while_a_call_waits_are_kept_answered_and_read_after_it(office: Office) -> None:
    ada = await parked(office)
    await ada.says("also check A7")
    await office.last.works()
    (notice,) = [v for v in office.chat.room("D1") if isinstance(v, Notice)]
    assert notice.text == "I wait for your click on t-1.1. What you wrote is kept, and read after it."
    await ada.says("and A8")
    await office.last.works()
    assert len([v for v in office.chat.room("D1") if isinstance(v, Notice)]) == 1
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    said = [
        m.kind
        for m in (await office.story()).messages
        if m.kind in (MessageKind.OWNER, MessageKind.ASSISTANT)
    ]
    assert said == [MessageKind.ASSISTANT, MessageKind.OWNER, MessageKind.OWNER, MessageKind.ASSISTANT]


async def test_nobody_is_told_to_click_what_was_clicked_before_the_words_came(office: Office) -> None:
    ada = await parked(office)
    await ada.says("also check A7")
    await office.last.worker.sweep()
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert [v for v in office.chat.room("D1") if isinstance(v, Notice)] == []


@pytest.mark.rule("I15")
@pytest.mark.parametrize("words", ["approve", "Yes!", "OK", "decline", "approve t-1.1", "/decline t-1.1 no"])
async def test_words_that_look_like_a_decision_are_pointed_at_the_buttons(office: Office, words: str) -> None:
    ada = await parked(office)
    answer = await ada.says(words)
    assert (
        answer.words
        == "Words decide nothing. Press a button on the card, or give the command `approve t-1.1`."
    )
    await office.last.works()
    assert office.world.effects == []
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]


@pytest.mark.rule("I15")
async def test_who_may_not_decide_is_not_sent_to_the_buttons(office: Office) -> None:
    await parked(office)
    told = "Words decide nothing. This is not yours to decide: only owners and approvers decide."
    assert (await office.seat(U9).says("approve")).words.startswith(told[:-1])


@pytest.mark.rule("C11", "I15")
async def test_a_word_that_answers_a_question_is_not_said_to_decide_nothing(office: Office) -> None:
    tools = (ASK_OWNER,)
    both = calls(("refund", {"order_id": "A1", "amount": 1}), ("ask_owner", {"question": "Really?"}))
    office.opens([both, says("Done.")], sam=replace(SAM, tools=(*SAM.tools, "ask_owner")), tools=tools)
    ada = office.seat(U1)
    await ada.says("refund the mug")
    await office.last.works()
    assert await ada.says("yes") == SILENCE
    await office.last.worker.sweep()
    states = [(p.kind, p.state) for p in (await office.story()).parks]
    assert sorted(states) == [(ParkKind.APPROVAL, ParkState.OPEN), (ParkKind.QUESTION, ParkState.DECIDED)]


@pytest.mark.rule("C11", "I15")
async def test_a_suggested_answer_is_said_as_the_agent_wrote_it(office: Office) -> None:
    asked = calls(("ask_owner", {"question": "Which one?", "suggestions": ["the red one", "the blue one"]}))
    sam = replace(SAM, tools=(*SAM.tools, "ask_owner"))
    office.opens([asked, says("Done.")], sam=sam, tools=(ASK_OWNER,))
    ada = office.seat(U1)
    await ada.says("order a mug")
    await office.last.works()
    row = office.chat.row("t-1.1")
    gone = await ada.brings(replace(ada.press(row, Verb.ANSWER), suggestion=2))
    assert gone.words == "This answer is no longer there; write it in your own words."
    assert (await ada.brings(replace(ada.press(row, Verb.ANSWER), suggestion=1))).done
    await office.last.works()
    (call,) = (await office.story()).calls
    assert call.result == {"value": "the blue one"}


@pytest.mark.rule("I32")
async def test_what_asks_along_with_many_others_has_its_share_of_the_room(office: Office) -> None:
    notes = [("send_note", {"to": f"x{n}@example.test", "text": "x" * 700}) for n in range(8)]
    ada = await parked(office, calls(*notes, ("send_note", NOTE)), says("Sent."))
    long, short = office.chat.row("t-1.1"), office.chat.row("t-1.9")
    assert (Verb.APPROVE in long.choices, Verb.APPROVE in short.choices) == (False, True)
    await ada.presses("t-1.9", Verb.APPROVE)
    assert (await ada.types("approve t-1.1")).words.startswith("The card shows only its beginning")
    await ada.presses("t-1.1", Verb.REVIEW)
    assert (await ada.types("approve t-1.1")).done is False
    await office.last.works()
    assert sorted(effect[1] for effect in office.world.effects) == ["x0@example.test", "x@example.test"]


@pytest.mark.rule("T11", "I29")
async def test_stop_ends_the_task_it_is_said_in(office: Office) -> None:
    ada = await parked(office)
    assert (await office.seat(U9).says("stop")).words == "t-1 is not yours to stop."
    assert (await ada.says("Stop")).words == "t-1 stops."
    await office.last.worker.sweep()
    assert (await office.task()).state is TaskState.STOPPED
    assert (await ada.says("stop")).words == "t-1 has ended already."
    await office.last.worker.sweep()
    assert (await office.task()).episode == 1


# ── clicks ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "I1")
async def test_s01_a_double_click_in_two_processes_is_one_decision(office: Office) -> None:
    ada = await parked(office)
    office.opens(list(REFUND_SCRIPT))
    other = office.seat(U1)
    chat_ref, row = office.chat.button("t-1.1")
    both = (ada.press(row, "approve", chat_ref=chat_ref), other.press(row, "approve", chat_ref=chat_ref))
    second = replace(both[1], event_id="another click")
    answers = await asyncio.gather(ada.brings(both[0]), other.brings(second))
    told = sorted(answer.words for answer in answers)
    assert told[0].startswith("U1 approved it at ")
    assert told[1] == "t-1.1 approved by U1. A worker runs it."
    await office.processes[0].works()
    assert office.world.effects == [REFUNDED]
    assert [e.move for e in (await office.story()).audit].count("decide") == 1


@pytest.mark.rule("C6", "I1")
async def test_s02_of_approve_and_decline_one_holds_and_the_other_is_told(office: Office) -> None:
    ada = await parked(office)
    ben = office.seat(U2)
    pressed = [seat.presses("t-1.1", verb) for seat, verb in ((ada, "approve"), (ben, "decline"))]
    answers = await asyncio.gather(*pressed)
    (park,) = (await office.story()).parks
    lost = [a.words for a in answers if " it at " in a.words]
    assert len(lost) == 1
    await office.last.works()
    assert (office.world.effects == [REFUNDED]) == (park.decision == "approve")


@pytest.mark.rule("C9", "C4")
async def test_s03_a_declined_call_never_runs_and_is_not_asked_again(office: Office) -> None:
    ada = await parked(office, calls(("send_note", NOTE)), calls(("send_note", NOTE)), says("I did not."))
    answer = await ada.presses("t-1.1", "decline", words="wrong person")
    assert answer.words == "t-1.1 declined by U1: wrong person. It is not run; the agent is told."
    await office.last.works()
    assert office.world.effects == []
    assert [len(view.not_done) for view in office.chat.reports()] == [2]
    with pytest.raises(LookupError):
        office.chat.row("t-1.2")


@pytest.mark.rule("I3", "C6")
async def test_s04_each_row_of_a_card_is_decided_on_its_own(office: Office) -> None:
    ada = await parked(office, MIXED_BATCH, says("Done."))
    assert office.world.effects == [("read_order", "A1")]
    assert office.chat.button("t-1.2")[0] == office.chat.button("t-1.3")[0]
    await ada.presses("t-1.3", "approve")
    await ada.presses("t-1.2", "decline")
    await office.last.works()
    assert office.world.effects == [("read_order", "A1"), ("refund", "A2", Decimal(7))]
    assert (await office.task()).state is TaskState.DONE


@pytest.mark.rule("K27", "K20")
async def test_s07_a_click_on_an_old_card_reaches_a_new_process(office: Office) -> None:
    await parked(office)
    chat_ref, _ = office.chat.button("t-1.1")
    office.opens(list(REFUND_SCRIPT))
    ada = office.seat(U1)
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert office.chat.button("t-1.1")[0] == chat_ref
    assert (office.chat.row("t-1.1").status or "").startswith("✔ Approved by U1")


@pytest.mark.rule("C19", "C21", "C23", "I7")
@pytest.mark.parametrize("place", ["before send_note", "after send_note"])
async def test_s08_a_send_cut_in_the_middle_is_settled_by_a_person(office: Office, place: str) -> None:
    ada = await parked(office, *NOTE_SCRIPT)
    turnstile = office.world.hold(place)
    await ada.presses("t-1.1", "approve")
    run = asyncio.create_task(office.last.worker.until_idle())
    await turnstile.reached.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    office.world.turnstiles.clear()

    office.opens([*NOTE_SCRIPT, says("Sent, the second time.")])
    await office.planted.update("tasks", {"lease_until": PAST}, number=1)
    await office.last.works()
    sent = [NOTED] if place.startswith("after") else []
    assert office.world.effects == sent
    row = office.chat.row("t-1.1")
    assert set(row.choices) >= {"went_out", "did_not", "send_again"}
    ada = office.seat(U1)
    if sent:
        answer = await ada.presses("t-1.1", "went_out")
        assert answer.words == "t-1.1 settled as gone out by U1. It counts as done."
    else:
        answer = await ada.presses("t-1.1", "send_again")
        assert answer.words == "t-1.1 sent again by U1. A worker runs it once more."
    await office.last.works()
    assert office.world.effects == [NOTED]


@pytest.mark.rule("C8")
async def test_s09_an_edit_that_breaks_the_schema_stays_at_its_field(office: Office) -> None:
    ada = await parked(office)
    for wrong in ("ten", "-3", "250"):
        with pytest.raises(BadArguments) as raised:
            await ada.presses("t-1.1", "edit", fields={"amount": wrong})
        assert list(raised.value.problems) == ["amount"]
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]
    await ada.presses("t-1.1", "edit", fields={"amount": "12.5"})
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("12.5"))]


@pytest.mark.rule("C18", "C19")
async def test_s12_a_tool_that_raises_is_failed_on_its_card(office: Office) -> None:
    office.world.raises["refund"] = ValueError("unknown field")
    ada = await parked(office)
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert "failed" in (office.chat.row("t-1.1").status or "")


@pytest.mark.rule("I14", "I15")
async def test_s13_a_wrong_person_is_refused_privately_and_on_record(office: Office) -> None:
    ada = await parked(office)
    eve, gone = office.seat(U9), replace_account(office.seat(U9), "U77")
    chat_ref, row = office.chat.button("t-1.1")
    before = list(office.chat.shown.values())
    assert (
        await eve.presses("t-1.1", "approve")
    ).words == "This is not yours to decide: only owners and approvers decide."
    assert (await gone.presses("t-1.1", "approve")).words.startswith("I don't know you here.")
    forged = replace(eve.press(row, "approve", chat_ref=chat_ref), token=Token("forged"))
    assert (await eve.brings(forged)).words.startswith("This button is no longer valid.")
    await eve.says("approve")
    story = await office.story()
    refused = [(e.actor, load(e.entry)["why"]) for e in story.audit if e.move == "refused"]
    assert refused == [
        (U9.id, "This is not yours to decide: only owners and approvers decide."),
        ("chat:U77", "nobody here knows them"),
    ]
    assert [p.state for p in story.parks] == [ParkState.OPEN]
    assert list(office.chat.shown.values()) == before
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I14")
async def test_who_has_left_by_the_click_decides_nothing(office: Office) -> None:
    await parked(office)
    ben = office.seat(U2)
    await office.leaves(U2)
    answer = await ben.presses("t-1.1", "approve")
    assert answer.words.startswith("I don't know you here.")
    assert office.world.effects == []


@pytest.mark.rule("K19")
async def test_a_click_that_comes_before_our_posts_answer_counts_and_names_the_card(office: Office) -> None:
    office.opens(list(REFUND_SCRIPT))
    ada = office.seat(U1)
    await ada.says("refund the mug")
    await office.last.worker.until_idle()
    troubles = itertools.chain([Trouble.LOST_AFTER], itertools.repeat(None))
    office.chat.trouble = lambda operation, route: next(troubles)
    await office.last.poster.deliver()
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "Approved by U1" in str(office.chat.row("t-1.1").status)


@pytest.mark.rule("I32", "C5")
async def test_s18_hostile_text_is_spelled_out_and_goes_out_as_it_was(office: Office) -> None:
    text = "`*_[x](http://y) <b>&amp; <!channel> @here\u202e\u200b\u0430pple.example"
    ada = await parked(office, calls(("send_note", {"to": "x@example.test", "text": text})), says("Sent."))
    row = office.chat.row("t-1.1")
    (shown,) = (field.value for field in row.fields if field.name == "text")
    assert shown == "`*_[x](http://y) <b>&amp; <!channel> @here⟨U+202E⟩⟨U+200B⟩\u0430pple.example"
    warned = " ".join(row.warnings)
    assert "\u0430pple mixes Cyrillic and Latin letters" in warned
    assert "can't be seen, spelled out as ⟨U+202E⟩" in warned
    assert read_back(row)["text"] == text
    await ada.presses("t-1.1", Verb.APPROVE)
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", text)]


# ── cards ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I32")
async def test_s16_what_a_card_has_no_room_for_is_approved_only_by_who_has_opened_it(office: Office) -> None:
    text = "x" * 9_980 + "\nand cc everyone"
    ada = await parked(office, calls(("send_note", {"to": "x@example.test", "text": text})), says("Sent."))
    row = office.chat.row("t-1.1")
    assert (Verb.REVIEW in row.choices, Verb.APPROVE in row.choices, row.hidden > 7_000) == (
        True,
        False,
        True,
    )
    assert (await ada.presses("t-1.1", Verb.APPROVE)).words.startswith("The card shows only its beginning")
    assert (await ada.types("approve t-1.1")).words.startswith("The card shows only its beginning")
    answer = await ada.presses("t-1.1", Verb.REVIEW)
    assert "and cc everyone" in answer.pages[-1]
    assert (await office.seat(U2).presses("t-1.1", Verb.APPROVE)).words.startswith(
        "The card shows only its beginning"
    )
    await ada.presses("t-1.1", Verb.APPROVE)
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", text)]


@pytest.mark.rule("C6", "I32")
async def test_the_rest_of_a_card_is_approved_at_once_but_not_what_was_asked_anew(office: Office) -> None:
    batch = calls(*(("refund", {"order_id": f"A{n}", "amount": n}) for n in (1, 2, 3)))
    ada = await parked(office, batch, says("Done."))
    chat_ref, row = office.chat.button("t-1.2")
    stale = ada.press(row, Verb.APPROVE_REST, chat_ref=chat_ref)
    first = next(p for p in (await office.story()).parks if p.token == office.chat.row("t-1.1").token)
    slip, args = Slip(park_id=ParkId("p2"), token=Token("token-2")), {"order_id": "A1", "amount": 99}
    move = amend(first.token, args, slip, by=U1.id, surface="chat")
    await office.store.tasks.change((await office.task()).ref, move, Need(token=first.token, roster=True))
    answer = await ada.brings(stale)
    told = [f"t-1.{n} approved by U1. A worker runs it." for n in (2, 3)]
    assert answer.words.splitlines() == told
    assert (await ada.again()).words.splitlines() == told
    await office.last.works()
    assert office.world.effects == [("refund", "A2", Decimal(2)), ("refund", "A3", Decimal(3))]


@pytest.mark.rule("C6")
async def test_the_rest_of_a_card_is_what_still_waits_and_who_is_late_is_told_who_was_first(
    office: Office,
) -> None:
    batch = calls(*(("refund", {"order_id": f"A{n}", "amount": n}) for n in (1, 2)))
    ada = await parked(office, batch, says("Done."))
    chat_ref, row = office.chat.button("t-1.1")
    stale = [ada.press(row, Verb.APPROVE_REST, chat_ref=chat_ref) for _ in range(2)]
    await office.seat(U2).presses("t-1.1", Verb.APPROVE)
    assert (await ada.brings(stale[0])).words == "t-1.2 approved by U1. A worker runs it."
    assert (await ada.brings(stale[1])).words.startswith("U2 approved it at ")
    await office.last.works()
    assert sorted(office.world.effects) == [("refund", "A1", Decimal(1)), ("refund", "A2", Decimal(2))]


@pytest.mark.rule("C6", "I14")
@pytest.mark.parametrize("verb", [Verb.EDIT, Verb.REVISE])
async def test_who_comes_too_late_or_may_not_is_told_so_before_anything_is_asked(
    office: Office, verb: Verb
) -> None:
    ada = await parked(office)
    refused = await office.seat(U9).presses("t-1.1", verb)
    assert (refused.asks, refused.form) == (None, None)
    assert refused.words.startswith("This is not yours to decide")
    chat_ref, row = office.chat.button("t-1.1")
    stale = ada.press(row, verb, chat_ref=chat_ref)
    await office.seat(U2).presses("t-1.1", Verb.APPROVE)
    assert (await ada.brings(stale)).words.startswith("U2 approved it at ")


@pytest.mark.rule("C8", "I1", "I32")
async def test_an_edit_that_is_looked_at_once_more_runs_as_it_was_shown_then(office: Office) -> None:
    ada = await parked(office)
    chat_ref, row = office.chat.button("t-1.1")
    change = ada.press(row, Verb.EDIT, fields={"amount": "7.50"})
    answer = await ada.front.amended(change)
    (card,) = answer.views
    assert isinstance(card, Card)
    (shown,) = card.rows
    amount = next(field for field in shown.fields if field.name == "amount")
    assert (shown.code, amount.value, amount.before) == ("t-1.1v2", "7.50", "10")
    await office.last.works()
    assert office.world.effects == []  # nothing is decided by it
    old = await ada.brings(ada.press(row, Verb.APPROVE, chat_ref=chat_ref))
    assert old.words == "The card is out of date: version 2 waits now."
    await ada.presses("t-1.1", Verb.APPROVE)
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("7.5"))]


@pytest.mark.rule("C8", "I14")
async def test_an_amendment_is_checked_as_an_edit_is_and_changes_nothing_where_it_may_not(
    office: Office,
) -> None:
    ada = await parked(office)
    _, row = office.chat.button("t-1.1")
    for text in ("ten", "-3", "250"):
        with pytest.raises(BadArguments) as wrong:
            await ada.front.amended(ada.press(row, Verb.EDIT, fields={"amount": text}))
        assert set(wrong.value.problems) == {"amount"}
    eve = office.seat(U9)
    refused = await eve.front.amended(eve.press(row, Verb.EDIT, fields={"amount": "7"}))
    assert refused.words.startswith("This is not yours to decide")
    same = await ada.front.amended(ada.press(row, Verb.EDIT, fields={"amount": "10"}))
    assert [r.code for view in same.views if isinstance(view, Card) for r in view.rows] == ["t-1.1"]
    (park,) = (await office.story()).parks
    assert (park.version, park.open) == (1, True)


async def test_an_edit_that_comes_too_late_is_told_so_whatever_is_wrong_with_it(office: Office) -> None:
    ada = await parked(office)
    chat_ref, row = office.chat.button("t-1.1")
    late = ada.press(row, Verb.EDIT, chat_ref=chat_ref, fields={"amount": "ten"})
    await office.seat(U2).presses("t-1.1", Verb.APPROVE)
    assert (await ada.brings(late)).words.startswith("U2 approved it at ")
    assert (await ada.types("edit t-1.1 amount=ten")).words.startswith("U2 approved it at ")


@pytest.mark.rule("I32", "I39")
@pytest.mark.parametrize("command", ["approve {}", "edit {} amount=3"])
async def test_what_stands_in_a_digest_alone_is_shown_before_a_command_lets_it_run(
    office: Office, command: str
) -> None:
    ada = await parked(office, *REFUND_SCRIPT[:1] * 13, says("Done."))
    for n in range(12):
        await ada.says(f"/new refund plate {n}")
    await office.last.works()
    (code,) = {f"t-{n}.1" for n in range(1, 14)} - {row.code for _, row in office.chat.cards()}
    answer = await ada.types(command.format(code))
    assert answer.words == f"{code} stands in a digest: its card is on its way, decide when you have seen it."
    await office.last.works()
    assert office.chat.row(code).status is None
    assert f"{code} approved" in (await ada.types(command.format(code))).words


async def test_editing_begins_with_a_form_of_what_may_be_changed(office: Office) -> None:
    ada = await parked(office)
    form = (await ada.presses("t-1.1", Verb.EDIT)).form
    assert form is not None
    assert [(one.name, one.kind, one.value) for one in form.inputs] == [
        ("order_id", Kind.TEXT, "A1"),
        ("amount", Kind.NUMBER, "10"),
    ]
    assert (await office.seat(U9).presses("t-1.1", Verb.EDIT)).form is None


@pytest.mark.rule("C10")
async def test_what_is_to_be_changed_has_to_be_said(office: Office) -> None:
    ada = await parked(office, *REFUND_SCRIPT[:1], says("I see."))
    assert (await ada.presses("t-1.1", Verb.REVISE)).asks == "How should it be changed?"
    answer = await ada.presses("t-1.1", Verb.REVISE, words="half of it")
    assert (
        answer.words == "t-1.1 sent back by U1: half of it. It is not run; the agent proposes something else."
    )
    await office.last.works()
    assert office.world.effects == []


@pytest.mark.rule("I33")
async def test_a_secret_in_a_form_is_a_mark_and_goes_out_as_it_was(office: Office) -> None:
    note = {"to": "x@example.test", "text": "the key is hunter2-of-the-shop"}
    ada = await parked(office, calls(("send_note", note)), says("Sent."))
    office.last.desk.redactor.register("SHOP_KEY", "hunter2-of-the-shop")
    form = (await ada.presses("t-1.1", Verb.EDIT)).form
    assert form is not None
    shown = {one.name: one.value for one in form.inputs}
    assert shown["text"] == "the key is [secret SHOP_KEY]"
    answer = await ada.presses("t-1.1", Verb.EDIT, fields={**shown, "to": "y@example.test"})
    assert "hunter2" not in answer.words
    await office.last.works()
    assert office.world.effects == [("send_note", "y@example.test", note["text"])]


@pytest.mark.rule("I11", "C2", "C5")
async def test_what_a_member_asks_for_waits_for_a_click_whatever_is_allowed(office: Office) -> None:
    generous = agent(settings=settings(spend=Setting.ALLOW))
    office.opens([*REFUND_SCRIPT, *REFUND_SCRIPT], sam=generous)
    await office.seat(U1, CHANNEL).says("refund the mug", addressed=True)
    await office.last.works()
    assert office.world.effects == [REFUNDED]  # an owner asked, and lets it run
    await office.seat(U9, replace(CHANNEL, thread="C1:1")).says("once more")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert office.chat.row("t-1.2").why.endswith("asked for, or wrote in, who may not approve it")
    office.opens(list(REFUND_SCRIPT), sam=generous)
    await office.seat(U9).says("refund the mug")
    await office.last.works()
    (card,) = (view for view in office.chat.room("@U1") if isinstance(view, Card))
    assert [(row.code, row.status) for row in card.rows] == [("t-2.1", None)]  # where somebody can answer it
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I33", "C8")
async def test_the_mark_of_a_secret_never_goes_out_in_its_place(office: Office) -> None:
    note = {"to": "x@example.test", "text": "the key is hunter2-of-the-shop"}
    ada = await parked(office, calls(("send_note", note)), says("Sent."))
    office.last.desk.redactor.register("SHOP_KEY", "hunter2-of-the-shop")
    with pytest.raises(BadArguments, match="text: has a secret that is not shown"):
        await ada.presses("t-1.1", Verb.EDIT, fields={"text": "here you are: [secret SHOP_KEY]"})
    assert (await ada.types('edit t-1.1 text="[secret SHOP_KEY]!"')).words.startswith("text: has a secret")
    await ada.presses("t-1.1", Verb.EDIT, fields={"text": "[secret] of mine"})  # ordinary words
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", "[secret] of mine")]


async def test_an_approval_under_a_pause_says_when_it_runs(office: Office) -> None:
    ada = await parked(office)
    await ada.types("pause sam")
    answer = await ada.presses("t-1.1", Verb.APPROVE)
    assert answer.words == "t-1.1 approved by U1. Sam is paused: it starts once an owner says `resume sam`."
    await office.last.works()
    assert office.world.effects == []
    await ada.types("resume sam")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


# ── people ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
async def test_who_joins_by_a_code_is_known_from_then_on_and_the_code_is_used_up(office: Office) -> None:
    office.opens([says("Hello.")])
    invited = Invite(
        name="Cleo", roles=frozenset({Role.MEMBER}), code_digest=code_digest("AAAA-BBBB"), seconds=60
    )
    await office.store.people.save(U1, ORG, invited)
    cleo = replace_account(office.seat(U9), "U77")
    assert (await cleo.types("tasks")).words.startswith("I don't know you here.")
    assert (await cleo.types("join CCCC-DDDD")).words.startswith("This code is wrong")
    assert (await cleo.types("/join aaaa bbbb")).words == "Welcome, Cleo. `help` lists what you may say."
    assert (await replace_account(cleo, "U78").types("join AAAA-BBBB")).words.startswith("This code is wrong")
    assert await cleo.says("hello") == SILENCE
    await office.last.works()
    assert (await office.task()).goal == "hello"


@pytest.mark.rule("I14", "I18")
async def test_who_is_in_two_organizations_decides_in_the_one_that_the_button_is_of(office: Office) -> None:
    await parked(office)
    abroad = await office.planted.person(await office.planted.organization("abroad"))
    account = Account(surface=SURFACE, ref=U2.name)
    await office.planted.account(abroad, account)
    ben = office.seat(U2)
    assert (await ben.says("hello")).words.startswith("This account is linked in several organizations")
    assert (await ben.types("tasks")).words.startswith("This account is linked in several organizations")
    assert (await ben.presses("t-1.1", Verb.APPROVE)).words == "t-1.1 approved by U2. A worker runs it."


# ── helpers ──────────────────────────────────────────────────────────────────────────────────


def replace_account(seat: Seat, ref: str) -> Seat:
    return Seat(chat=seat.chat, front=seat.front, account=Account(surface="chat", ref=ref), place=seat.place)
