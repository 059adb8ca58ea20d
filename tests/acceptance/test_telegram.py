"""What is decided in Telegram, over both databases: the scenarios, by webhook, within Telegram's limits."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest

from adapters.telegram.client import SURFACE
from adapters.telegram.shown.commands import typed_here
from core.agents import Limits
from core.builtins import ASK_OWNER
from core.front import GONE, UNKNOWN
from core.ids import OrgId, PersonId
from core.parks import ParkState
from core.people import Account, Organization, Person, Role, Route
from core.ports import Query
from core.roster import SetRoute
from core.tasks import TaskState
from core.testing import Line, calls, says
from core.tools import tool
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
    U2,
    U9,
    decisions,
)
from tests.acceptance.telegram_office import TelegramOffice, office_over
from tests.acceptance.test_connect import READ, URL, Mailbox
from tests.conftest import Templates
from tests.fakes.telegram import Message, User, hangs, lost, refusal
from tests.postgres import Server

on_sqlite = pytest.mark.parametrize("office", ["sqlite"], indirect=True)
"""Of what no database has a say in."""
NOT_YOURS = "This is not yours to decide: only owners and approvers decide."
STRANGER = typed_here(UNKNOWN)
APPROVED = "t-1.1 approved by U1. A worker runs it."
LONG = "x" * 9_980 + "\nand cc everyone"
LONG_SCRIPT: tuple[Line, ...] = (
    calls(("send_note", {"to": "x@example.test", "text": LONG})),
    says("Sent."),
)
TAG_SCRIPT: tuple[Line, ...] = (calls(("delete_tag", {"tag": "old"})), says("Deleted."))


@pytest.fixture(params=["sqlite", "postgres"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[TelegramOffice]:
    async with office_over(request.param, tmp_path, postgres_server, templates, caplog) as made:
        yield made


async def states(office: TelegramOffice) -> list[ParkState]:
    return [park.state for park in (await office.story()).parks]


async def token(office: TelegramOffice, call: int = 1) -> str:
    """What the newest button of that call of the first task carries."""
    story = await office.story()
    (of,) = [c.id for c in story.calls if c.number == call]
    return str(max((p for p in story.parks if p.call_id == of), key=lambda p: p.version).token)


async def refusals(office: TelegramOffice) -> list[str]:
    """Who was refused, oldest first."""
    return [entry.actor for entry in (await office.story()).audit if entry.move == "refused"]


async def comes_due(office: TelegramOffice, kind: str) -> None:
    """What was to be shown later is shown now."""
    await office.planted.update("posts", {"due_at": PAST}, kind=kind)
    await office.last.works()


def looks(card: Message) -> tuple[Any, ...]:
    return card.text, card.entities, card.markup, len(card.versions)


# ── messages ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T1", "I21")
async def test_a_private_message_starts_a_task_that_speaks_there(office: TelegramOffice) -> None:
    office.opens([says("Hello.")])
    await office.asks(office.ada, "hello <there> & you")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.requester, task.thread_ref) == ("hello <there> & you", U1.id, str(office.ada.id))
    assert task.state is TaskState.DONE
    assert "Hello." in office.told(office.ada)[-1]


@on_sqlite
async def test_in_a_group_a_task_speaks_in_replies_to_the_message_that_began_it(
    office: TelegramOffice,
) -> None:
    card = await office.parked()
    assert card.chat is office.ops
    assert card.reply_to is not None
    assert card.reply_to.text == "@gatepost_bot refund the mug"


# ── a call is approved ───────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "C7")
async def test_a_call_that_is_approved_runs_once_and_its_card_ends_by_an_edit(office: TelegramOffice) -> None:
    card = await office.parked()
    pressed = await office.presses(office.ada, "Approve")
    assert (pressed.text, pressed.alert) == (APPROVED, False)
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert card.labels == []
    assert "✔ Approved by U1, " in card.text


@pytest.mark.rule("C6", "C7", "I1")
async def test_s01_a_double_press_is_one_decision_and_the_second_is_told(office: TelegramOffice) -> None:
    card = await office.parked()
    office.opens(list(REFUND_SCRIPT))
    office.all_answer = True
    before = len(office.told(office.ops))
    pressed = await asyncio.gather(*(office.presses(office.ada, "Approve", on=card) for _ in range(2)))
    first, second = sorted(pressed, key=lambda one: one.alert)
    assert (first.text, first.alert) == (APPROVED, False)
    assert second.alert
    assert "U1 approved it at " in second.text
    assert len(office.told(office.ops)) == before
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert len(decisions(await office.story())) == 1
    assert office.cards() == []


@pytest.mark.rule("C6", "I1")
async def test_s02_of_an_approval_and_a_decline_at_once_one_counts_and_the_other_hears_which(
    office: TelegramOffice,
) -> None:
    batch = [("refund", {"order_id": f"A{n}", "amount": n}) for n in range(1, 9)]
    card = await office.parked(calls(*batch), says("Done."))
    office.opens([calls(*batch), says("Done.")])
    office.all_answer = True
    tokens = [await token(office, n) for n in range(1, 9)]
    both = [
        (u, f"{v}:{t}") for t in tokens for u, v in ((office.ada, "approve"), (office.ben, "decline_now"))
    ]
    Random(2).shuffle(both)
    pressed = await asyncio.gather(*(office.telegram.presses(u, card, d, stale=True) for u, d in both))
    await office.last.works()
    decided = {park.token: str(park.decision) for park in (await office.story()).parks}
    for (_, said), one in zip(both, pressed, strict=True):
        verb, _, of = said.partition(":")
        won = decided[of] == verb.removesuffix("_now")  # type: ignore[index]
        who = "U1 approved" if decided[of] == "approve" else "U2 declined"  # type: ignore[index]
        assert (one.alert, f"{who} it at " in one.text) == (not won, not won)
    approved = [n for n, of in enumerate(tokens, 1) if decided[of] == "approve"]  # type: ignore[index]
    assert sorted(args for _, _, args in office.world.effects) == approved


@pytest.mark.rule("K27", "K20")
async def test_s07_a_press_on_an_old_card_reaches_a_new_process(office: TelegramOffice) -> None:
    card = await office.parked()
    office.opens(list(REFUND_SCRIPT))
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "✔ Approved by U1" in card.text


@pytest.mark.rule("C18", "C19")
async def test_s12_a_tool_that_raises_is_failed_on_its_card(office: TelegramOffice) -> None:
    office.world.raises["refund"] = ValueError("unknown field")
    card = await office.parked()
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert "failed" in card.text


@pytest.mark.rule("C6", "C7")
async def test_all_of_a_card_is_approved_by_one_button(office: TelegramOffice) -> None:
    batch = calls(*(("refund", {"order_id": f"A{n}", "amount": n}) for n in (1, 2, 3)))
    card = await office.parked(batch, says("Done."))
    await office.telegram.presses(office.eve, card, "Approve all 3")
    assert office.world.effects == []
    await office.presses(office.ada, "Approve all 3")
    await office.last.works()
    assert len(office.world.effects) == 3
    assert card.labels == []


@pytest.mark.rule("I3", "C6")
async def test_s04_each_row_of_a_card_is_decided_on_its_own(office: TelegramOffice) -> None:
    card = await office.parked(MIXED_BATCH, says("Done."))
    assert office.world.effects == [("read_order", "A1")]
    await office.presses(office.ada, "✅ t-1.3")
    await office.last.works()
    await office.presses(office.ada, f"decline:{await token(office, 2)}", "✖ Decline", on=card)
    await office.last.works()
    assert office.world.effects == [("read_order", "A1"), ("refund", "A2", Decimal(7))]
    assert len(office.last.model.requests) == 2


# ── a call is declined, sent back ────────────────────────────────────────────────────────────


@pytest.mark.rule("C9", "C4")
async def test_s03_a_declined_call_never_runs_and_is_not_asked_again(office: TelegramOffice) -> None:
    card = await office.parked(calls(("send_note", NOTE)), calls(("send_note", NOTE)), says("I did not."))
    await office.presses(office.ada, "Decline", "Say why…")
    await office.telegram.replies(office.ada, office.asked(office.ops), "wrong person")
    await office.last.works()
    assert (office.world.effects, office.cards()) == ([], [])
    assert "✖ Declined by U1" in card.text
    assert "declined: wrong person" in office.told(office.ops)[-1]


@pytest.mark.rule("C9")
async def test_a_menu_changes_nothing_and_back_restores_the_cards_own_buttons(office: TelegramOffice) -> None:
    card = await office.parked()
    text, labels = card.text, card.labels
    pressed = await office.presses(office.ada, "Decline")
    assert (pressed.text, card.text) == ("", text)
    menu = ["✖ Decline", "💬 Say why…", "⏹ Decline and stop the task", "◀ Back"]
    assert (card.labels, await states(office)) == (menu, [ParkState.OPEN])
    await office.presses(office.ben, "Back")
    assert (card.text, card.labels) == (text, labels)
    await office.presses(office.ada, "Edit", "Back", "Decline", "✖ Decline")
    await office.last.works()
    assert "✖ Declined by U1" in card.text
    assert (card.labels, office.world.effects) == ([], [])


@pytest.mark.rule("T11", "C9")
async def test_a_decline_may_stop_the_task_too(office: TelegramOffice) -> None:
    await office.parked()
    await office.presses(office.ada, "Decline", "stop the task")
    await office.last.works()
    assert (await office.task()).state is TaskState.STOPPED


@pytest.mark.rule("C10")
async def test_a_call_is_sent_back_to_be_changed(office: TelegramOffice) -> None:
    card = await office.parked(calls(("send_note", NOTE)), says("I leave it."))
    await office.presses(office.ada, "Change it…")
    await office.telegram.replies(office.ada, office.asked(office.ops), "kinder")
    await office.last.works()
    assert office.world.effects == []
    assert "Sent back by U1" in card.text


@tool(risk="profile")
async def set_owner(name: str) -> str:
    """Change who owns the shop."""
    raise AssertionError("nobody has approved it")


@on_sqlite
@pytest.mark.rule("I12", "C6")
@pytest.mark.parametrize("call", [("delete_tag", {"tag": "old"}), ("set_owner", {"name": "Eve"})])
async def test_what_cannot_be_taken_back_is_asked_twice(
    office: TelegramOffice, call: tuple[str, Any]
) -> None:
    sam = replace(SAM, tools=(*SAM.tools, "set_owner"))
    card = await office.parked(calls(call), says("Done."), sam=sam, tools=(set_owner,))
    labels = card.labels
    await office.presses(office.ada, "Approve")
    assert card.labels == ["It can't be taken back. Yes, approve", "◀ Back"]
    await office.last.works()
    assert await states(office) == [ParkState.OPEN]
    await office.presses(office.ada, "Back")
    assert card.labels == labels


@pytest.mark.rule("I12")
async def test_what_cannot_be_taken_back_runs_once_it_was_said_twice(office: TelegramOffice) -> None:
    await office.parked(*TAG_SCRIPT)
    await office.presses(office.ada, "Approve", "Yes, approve")
    await office.last.works()
    assert office.world.effects == [("delete_tag", "old")]


@pytest.mark.rule("C19", "C21", "C23", "I7")
@pytest.mark.parametrize("place", ["before send_note", "after send_note"])
async def test_s08_a_send_cut_in_the_middle_is_settled_by_a_person(
    office: TelegramOffice, place: str
) -> None:
    await office.parked(*NOTE_SCRIPT)
    turnstile = office.world.hold(place)
    await office.presses(office.ada, "Approve")
    run = asyncio.create_task(office.last.worker.until_idle())
    await turnstile.reached.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    office.world.turnstiles.clear()
    office.opens([*NOTE_SCRIPT, says("Sent, the second time.")])
    await office.planted.update("tasks", {"lease_until": PAST}, number=1)
    await office.last.works()
    there = list(office.world.effects)
    if place.startswith("after"):
        await office.presses(office.ada, "It went out")
    else:
        await office.presses(office.ada, "Send again")
        await office.last.works()
        assert office.world.effects == there
        await office.presses(office.ada, "Yes, send again")
    await office.last.works()
    assert (office.world.effects, office.cards()) == ([NOTED], [])


# ── who may not ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14", "I15")
async def test_s13_a_wrong_person_is_refused_in_an_alert_alone_and_on_record(office: TelegramOffice) -> None:
    card = await office.parked()
    before, told = looks(card), len(office.told(office.ops))
    pressed = [await office.presses(office.eve, "Approve"), await office.presses(office.zoe, "Edit")]
    await office.leaves(U2)
    pressed.append(await office.presses(office.ben, "Approve"))
    assert [(one.text, one.alert) for one in pressed] == [
        (NOT_YOURS, True),
        (STRANGER, True),
        (STRANGER, True),
    ]
    assert await refusals(office) == [U9.id, f"{SURFACE}:{office.zoe.id}", f"{SURFACE}:{office.ben.id}"]
    assert (looks(card), len(office.told(office.ops))) == (before, told)
    assert await states(office) == [ParkState.OPEN]
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@on_sqlite
@pytest.mark.rule("I14")
async def test_who_may_not_decide_opens_no_menu_and_is_asked_nothing(office: TelegramOffice) -> None:
    card = await office.parked(*TAG_SCRIPT)
    before = looks(card)
    verbs = ("decline", "sure", "edit", "field:{}:0", "value:{}:0:0", "decline_why", "revise", "sure_again")
    of = await token(office)
    for user, words in ((office.eve, NOT_YOURS), (office.zoe, STRANGER)):
        for verb in verbs:
            data = verb.format(of) if ":" in verb else f"{verb}:{of}"
            pressed = await office.telegram.presses(user, card, data, stale=True)
            assert (verb, pressed.text, pressed.alert) == (verb, words, True)
    assert looks(card) == before
    assert office.telegram.said(office.ops) == [card]
    assert len(await refusals(office)) == 2 * len(verbs)


@pytest.mark.rule("I14")
async def test_bare_words_of_nobody_decide(office: TelegramOffice) -> None:
    card = await office.parked()
    for user in (office.eve, office.zoe, office.ada):
        await office.telegram.replies(user, card, "approve")
    await office.last.works()
    assert (await states(office), office.world.effects) == ([ParkState.OPEN], [])


@on_sqlite
@pytest.mark.rule("I14", "I18")
@pytest.mark.parametrize(
    "data",
    [
        "approve:AAAAAAAAAAAAAAAAAAAAAA",
        "approve",
        "approve:" + "A" * 40,
        "become_owner:{token}",
        "approve:{token}:99999",
        "answer:{token}:7",
        "field:{token}",
        "field:{token}:99",
        "value:{token}:0:99",
        "APPROVE:{token}",
        "",
    ],
)
async def test_s13_forged_data_does_nothing_and_is_answered(office: TelegramOffice, data: str) -> None:
    card = await office.parked()
    before = looks(card)
    said = data.format(token=await token(office))
    pressed = await office.telegram.presses(office.ada, card, said, stale=True)
    assert pressed.alert
    assert pressed.text
    assert (looks(card), await states(office)) == (before, [ParkState.OPEN])


@pytest.mark.rule("I14", "I18")
async def test_s13_another_organizations_button_is_as_unknown_as_any(office: TelegramOffice) -> None:
    other = OrgId("other")
    olga = Person(org=other, id=PersonId("p-olga"), name="Olga", roles=frozenset({Role.OWNER}))
    user = office.telegram.add_user("olga", started=True)
    await office.planted.save(Organization(id=other, name="Other"), olga)
    await office.planted.account(olga, Account(surface=SURFACE, ref=str(user.id)))
    card = await office.parked()
    pressed = await office.telegram.presses(user, joined(office, user, card), "Approve")
    assert (pressed.text, pressed.alert) == (typed_here(GONE), True)
    assert (await refusals(office), await states(office)) == ([olga.id], [ParkState.OPEN])


def joined(office: TelegramOffice, user: User, card: Message) -> Message:
    """*card*, where *user* reads it too."""
    card.chat.members[user.id] = "member"
    return card


@on_sqlite
@pytest.mark.rule("I14", "C6")
async def test_a_button_that_is_over_tells_who_decided_and_opens_nothing(office: TelegramOffice) -> None:
    card = await office.parked()
    of = await token(office)
    await office.presses(office.ben, "Approve")
    await office.last.works()
    before = looks(card)
    for verb in ("approve", "decline", "decline_now", "decline_why", "edit", "revise", "sure", "field:{}:0"):
        data = verb.format(of) if ":" in verb else f"{verb}:{of}"
        pressed = await office.telegram.presses(office.ada, card, data, stale=True)
        assert (verb, pressed.alert, "U2 approved it at " in pressed.text) == (verb, True, True)
    assert looks(card) == before
    assert office.world.effects == [REFUNDED]


# ── words, questions, accounts, limits ───────────────────────────────────────────────────────


@pytest.mark.rule("C11", "I15", "I3")
async def test_s11_words_while_a_call_waits_are_kept_and_decide_nothing(office: TelegramOffice) -> None:
    card = await office.parked()
    await office.telegram.replies(office.ada, card, "approve")
    assert office.told(office.ops)[-1].startswith("Words decide nothing. Press a button on the card")
    await office.telegram.replies(office.ada, card, "also check A7")
    await office.last.works()
    assert office.world.effects == []
    assert "2 messages came meanwhile" in card.text
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert "also check A7" in str(office.last.model.requests[-1].turns[-1].text)


@pytest.mark.rule("C11")
async def test_a_question_is_answered_by_a_suggestion_a_prompt_or_a_reply(office: TelegramOffice) -> None:
    asked = [
        calls(("ask_owner", {"question": f"Which {n}?", "suggestions": ["the red one", "the blue one"]}))
        for n in range(3)
    ]
    sam = replace(SAM, tools=(*SAM.tools, "ask_owner"))
    await office.parked(*asked, says("Done."), sam=sam, tools=(ASK_OWNER,))
    await office.presses(office.ada, "the blue one")
    await office.last.works()
    await office.presses(office.ada, "Answer…")
    await office.telegram.replies(office.ada, office.asked(office.ops), "a green one")
    await office.last.works()
    await office.telegram.replies(office.ada, office.card, "none")
    await office.last.works()
    results = [call.result for call in (await office.story()).calls]
    assert results == [{"value": "the blue one"}, {"value": "a green one"}, {"value": "none"}]
    assert office.cards() == []


@pytest.mark.rule("C12")
async def test_an_account_is_connected_by_a_link_and_the_agent_told_by_a_button(
    office: TelegramOffice,
) -> None:
    mailbox = Mailbox()
    tools = tuple(mailbox.tools().values())
    sam = replace(SAM, tools=("read_mail",))
    card = await office.parked(calls(READ), calls(READ), says("Read."), sam=sam, tools=tools)
    assert office.telegram.button(card, "Connect…")["url"] == URL
    mailbox.connected = True
    await office.presses(office.ada, "It is connected")
    await office.last.works()
    assert mailbox.done == ["read"]
    assert (await office.task()).state is TaskState.DONE


@on_sqlite
@pytest.mark.rule("C9", "C12")
async def test_an_account_may_be_left_unconnected(office: TelegramOffice) -> None:
    mailbox = Mailbox()
    tools = tuple(mailbox.tools().values())
    sam = replace(SAM, tools=("read_mail",))
    card = await office.parked(calls(READ), says("Then not."), sam=sam, tools=tools)
    await office.presses(office.ada, "Not now", "✖ Decline")
    await office.last.works()
    assert (mailbox.done, card.labels) == ([], [])
    assert (await office.task()).state is TaskState.DONE


@pytest.mark.rule("C7")
async def test_a_task_at_its_limit_goes_on_by_a_button(office: TelegramOffice) -> None:
    look = calls(("read_order", {"id": "A1"}))
    script = (look, says("So far."), look, says("Read."))
    card = await office.parked(*script, sam=replace(SAM, limits=Limits(rounds=1)))
    await office.presses(office.ada, "more rounds")
    await office.last.works()
    assert (await office.task()).state is TaskState.DONE
    assert card.labels == []


# ── what is long ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I32")
async def test_s16_what_a_card_has_no_room_for_is_approved_under_all_of_it_by_who_has_read_it(
    office: TelegramOffice,
) -> None:
    card = await office.parked(*LONG_SCRIPT)
    assert "more characters" in card.text
    assert not any("Approve" in label or "Edit" in label for label in card.labels)
    (file,) = [m.file for m in office.telegram.said(office.ops) if m.file]
    assert file.content.decode().endswith("and cc everyone")
    hasty = await office.telegram.presses(office.ada, card, f"approve:{await token(office)}", stale=True)
    assert (hasty.alert, hasty.text.startswith("The card shows only its beginning")) == (True, True)
    before = office.told(office.ops)
    pressed = await office.presses(office.ada, "Review", on=card)
    assert (pressed.text, pressed.alert) == ("I sent it to you alone.", False)
    shown = office.telegram.said(office.ada)
    assert "".join(m.text for m in shown[1:-1]).count("x") >= 9_980
    assert [m.labels != [] for m in shown] == [False] * (len(shown) - 1) + [True]
    assert office.told(office.ops) == before
    await office.presses(office.ada, "Approve", on=shown[-1])
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", LONG)]
    assert (card.labels, shown[-1].labels) == ([], [])


@on_sqlite
@pytest.mark.rule("I32", "I14")
async def test_who_was_not_shown_the_last_page_may_not_approve(office: TelegramOffice) -> None:
    card = await office.parked(*LONG_SCRIPT)
    of = await token(office)
    office.telegram.breaks("sendMessage", refusal(400, "Bad Request: chat not found"), chat=office.ben)
    await office.presses(office.ben, "Review", on=card)
    assert office.told(office.ops)[-1].startswith("This is for you alone: ")
    await office.presses(office.ada, "Review", on=card)
    pressed = await office.telegram.presses(office.ben, card, f"approve:{of}", stale=True)
    assert pressed.text.startswith("The card shows only its beginning")
    eve = await office.presses(office.eve, "Review", on=card)
    assert (eve.text, office.told(office.eve)) == (NOT_YOURS, [])
    assert await states(office) == [ParkState.OPEN]


@on_sqlite
@pytest.mark.rule("I32")
async def test_a_review_that_breaks_off_lets_nobody_approve(office: TelegramOffice) -> None:
    card = await office.parked(*LONG_SCRIPT)
    office.telegram.breaks("sendMessage", hangs(done := asyncio.Event()), chat=office.ada)
    office.telegram.breaks("sendMessage", refusal(500, "Internal Server Error"), chat=office.ada)
    done.set()
    await office.presses(office.ada, "Review", on=card)
    assert len(office.told(office.ada)) == 1
    pressed = await office.telegram.presses(office.ada, card, f"approve:{await token(office)}", stale=True)
    assert pressed.text.startswith("The card shows only its beginning")


@pytest.mark.rule("I32")
async def test_s17_whatever_the_names_each_buttons_data_has_64_bytes(office: TelegramOffice) -> None:
    name = "ж" * 50
    sam = replace(SAM, name=name, key=name)
    card = await office.parked(calls(("send_note", {"to": name, "text": "й" * 700})), says("Да."), sam=sam)
    await office.presses(office.ada, "Edit")
    await office.presses(office.ada, "Back", "Approve")
    assert office.telegram.faults == []
    await office.last.works()
    assert office.world.effects == [("send_note", name, "й" * 700)]
    assert card.labels == []


# ── how who pressed is answered ──────────────────────────────────────────────────────────────


@on_sqlite
@pytest.mark.rule("C6")
async def test_s17_who_pressed_is_answered_before_anything_else_is_sent(office: TelegramOffice) -> None:
    card = await office.parked()
    paths = (
        ("Decline", "Say why…"),
        ("Back", "Edit", "amount"),
        ("Back", "Change it…", "Edit", "order id"),
        ("Back", "Approve"),
    )
    for what in (one for path in paths for one in path):
        before = len(office.telegram.calls)
        await office.telegram.presses(office.ada, card, what)
        methods = [call.method for call in office.telegram.calls[before:]]
        assert methods[0] == "answerCallbackQuery"
        assert methods.count("answerCallbackQuery") == 1


@pytest.mark.rule("C6")
async def test_s17_a_press_that_is_too_old_to_be_answered_counts_and_is_told_of(
    office: TelegramOffice,
) -> None:
    card = await office.parked()
    office.telegram.query_age = 0
    pressed = await office.presses(office.ada, "Approve", on=card)
    assert (pressed.answer, office.told(office.ops)[-1]) == (None, APPROVED)
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@on_sqlite
@pytest.mark.rule("C6", "I21")
async def test_who_would_wait_too_long_hears_that_it_goes_on_and_then_how_it_went(
    office: TelegramOffice,
) -> None:
    office.answered_seconds = 0
    card = await office.parked()
    pressed = await office.presses(office.ada, "Approve", on=card)
    assert pressed.text == "Still at it: you will be told."
    assert office.told(office.ops)[-1] == APPROVED


@on_sqlite
@pytest.mark.rule("C6", "I21")
async def test_a_press_counts_though_telegram_takes_nothing_from_us(office: TelegramOffice) -> None:
    card = await office.parked()
    office.telegram.breaks("*", refusal(500, "Internal Server Error"), times=None)
    await office.presses(office.ada, "Approve", on=card)
    office.telegram.mends()
    await office.last.works()
    assert (office.world.effects, card.labels) == ([REFUNDED], [])


@pytest.mark.rule("K22", "I1")
async def test_a_press_that_is_delivered_again_is_one_decision(office: TelegramOffice) -> None:
    card = await office.parked()
    pressed = await office.presses(office.ada, "Approve")
    await office.telegram.delivers_again(pressed.deliveries[0].update)
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.delivers_again(pressed.deliveries[0].update)
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert len(decisions(await office.story())) == 1
    assert card.labels == []


# ── which message was pressed ────────────────────────────────────────────────────────────────


@on_sqlite
@pytest.mark.rule("C6")
async def test_a_press_on_a_message_that_telegram_says_little_of_counts(office: TelegramOffice) -> None:
    card = await office.parked()
    await office.telegram.presses(office.ada, card, "Decline", inaccessible=True)
    assert "💬 Say why…" in card.labels
    await office.telegram.presses(office.ada, card, "Back", inaccessible=True)
    pressed = await office.telegram.presses(office.ada, card, "Approve", inaccessible=True)
    assert pressed.text == APPROVED
    await office.last.works()
    assert (office.world.effects, card.labels) == ([REFUNDED], [])


@on_sqlite
@pytest.mark.rule("C6")
async def test_a_press_on_a_message_that_telegram_says_nothing_of_goes_on_in_private(
    office: TelegramOffice,
) -> None:
    card = await office.parked()
    await office.telegram.presses(office.ada, card, "Decline", without_message=True)
    menu = office.telegram.said(office.ada)[-1]
    await office.presses(office.ada, "Say why…", on=menu)
    await office.telegram.replies(office.ada, office.asked(office.ada), "too much")
    await office.last.works()
    assert "✖ Declined by U1" in card.text
    assert "too much" in card.text


@pytest.mark.rule("K18", "K19")
@pytest.mark.parametrize("pressed", [0, 1])
async def test_a_card_that_is_there_twice_ends_twice(office: TelegramOffice, pressed: int) -> None:
    """Whichever is pressed first; who presses the other one is told what became of it."""
    office.opens(list(REFUND_SCRIPT))
    office.telegram.breaks("sendMessage", lost(), chat=office.ops)
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    await comes_due(office, "card")
    cards = sorted(office.cards(), key=lambda card: card.id)
    assert len(cards) == 2
    await office.presses(office.ada, "Approve", on=cards[pressed])
    await office.last.works()
    if cards[1 - pressed].labels:
        told = await office.presses(office.ben, "Approve", on=cards[1 - pressed])
        assert "U1 approved it at " in told.text
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert ["✔ Approved by U1, " in card.text for card in cards] == [True, True]
    assert office.cards() == []


@pytest.mark.rule("K19")
async def test_a_press_tells_which_message_its_card_is_so_that_it_is_there_once(
    office: TelegramOffice,
) -> None:
    office.opens(list(REFUND_SCRIPT))
    office.telegram.breaks("sendMessage", lost(), chat=office.ops)
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    card = office.card
    await office.presses(office.ada, "Decline", "Back")
    await comes_due(office, "card")
    assert office.cards() == [card]
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert (office.world.effects, office.cards()) == ([REFUNDED], [])


async def test_a_card_that_people_deleted_is_there_anew(office: TelegramOffice) -> None:
    card = await office.parked()
    await office.telegram.deletes(card)
    await office.asks(office.ada, "t-1 also check A7", office.ops)
    await office.last.works()
    assert office.card is not card
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert (office.world.effects, office.cards()) == ([REFUNDED], [])


# ── what is shown ────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I32", "C5")
async def test_s18_hostile_text_pings_nobody_and_goes_out_as_it_was(office: TelegramOffice) -> None:
    text = (
        "`*_[x](http://y) <b>&amp; <!channel> @here @ben /start #tag x@y.example tg://user?id=1 "
        "\u202e\u200b\u0430pple.example"
    )
    script = (calls(("send_note", {"to": "@ben", "text": text})), says(text))
    office.opens(list(script))
    await office.asks(office.ada, text)
    await office.last.works()
    card = office.card
    assert "⟨U+202E⟩⟨U+200B⟩" in card.text
    assert "mixes Cyrillic and Latin letters" in card.text
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [("send_note", "@ben", text)]
    for message in office.telegram.said(office.ada):
        assert (message.text, [f.text for f in message.found]) == (message.text, [])
    for version in card.versions:
        assert not {e["type"] for e in version.entities} & {"text_link", "text_mention"}


@pytest.mark.rule("I32")
async def test_s18_what_telegram_does_not_take_is_shown_in_plain_words_once(office: TelegramOffice) -> None:
    office.opens(list(REFUND_SCRIPT))
    office.telegram.breaks("sendMessage", refusal(400, "Bad Request: can't parse entities: byte offset 3"))
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    (shown,) = office.telegram.said(office.ops)
    assert "amount: 10" in shown.text
    assert "Answer it with a command: /show t-1.1" in shown.text
    assert (shown.entities, shown.labels) == ([], [])
    await office.asks(office.ada, "/approve t-1.1")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I39", "C6")
async def test_what_is_too_much_for_an_hour_is_shown_by_its_button_and_decided_there(
    office: TelegramOffice,
) -> None:
    place = Route(surface=SURFACE, ref=str(office.ops.id))
    await office.store.people.save(U1, ORG, SetRoute("", place))
    first = await office.parked()
    office.last.poster.most = 1
    await office.asks(office.ada, "refund the mug")
    await office.last.works()
    await comes_due(office, "digest")
    (digest,) = [m for m in office.telegram.said(office.ops) if "Too many cards" in m.text]
    pressed = await office.presses(office.ada, "t-2.1", on=digest)
    assert pressed.text == "t-2.1 stands in a digest: its card is on its way there."
    await office.last.works()
    (shown,) = [card for card in office.cards() if card is not first]
    await office.presses(office.ada, "Approve", on=shown)
    await office.last.works()
    await comes_due(office, "digest")
    assert office.world.effects == [REFUNDED]
    assert (shown.labels, digest.labels) == ([], [])
    assert "Nothing of this waits any more" in digest.text
    assert first.labels


@pytest.mark.rule("T11")
async def test_a_task_is_stopped_by_the_button_beside_how_it_goes(office: TelegramOffice) -> None:
    card = await office.parked()
    await comes_due(office, "progress")
    (going,) = [m for m in office.telegram.said(office.ops) if "waits for your click" in m.text]
    eve = await office.presses(office.eve, "Stop", on=going)
    assert (eve.alert, "not yours to stop" in eve.text) == (True, True)
    await office.presses(office.ada, "Stop", on=going)
    await office.last.works()
    await comes_due(office, "progress")
    assert (await office.task()).state is TaskState.STOPPED
    assert (card.labels, going.labels) == ([], [])
