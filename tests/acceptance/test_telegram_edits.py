"""An edit in Telegram: a field is chosen, its new value said, and what comes of it decided on afresh.

What somebody was asked is a row: a reply counts in whatever process, once, for a quarter of an hour, and of
whom it was asked alone. What is said to a question never starts or joins a task.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from adapters.telegram.heard.prompting import (
    CANCELLED,
    IN_WORDS,
    NOT_YOURS,
    NOTHING,
    OVER,
    STILL_OPEN,
)
from core.parks import DecisionKind, ParkState
from core.ports import Query
from core.testing import Line, calls, says
from core.tools import tool
from tests.acceptance.shop import ORG, PAST, REFUND, REFUND_SCRIPT, REFUNDED, SAM, U2, decisions, results
from tests.acceptance.telegram_office import TelegramOffice, office_over
from tests.conftest import Templates
from tests.fakes.telegram import Message, refusal
from tests.postgres import Server

on_both = pytest.mark.parametrize("office", ["sqlite", "postgres"], indirect=True)
CHEAPER: Final = ("refund", "A1", Decimal("7.5"))
LONG: Final = "x" * 9_980 + "\nand cc everyone"
LONG_SCRIPT: Final[tuple[Line, ...]] = (
    calls(("send_note", {"to": "x@example.test", "text": LONG})),
    says("Sent."),
)


@pytest.fixture(params=["sqlite"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[TelegramOffice]:
    async with office_over(request.param, tmp_path, postgres_server, templates, caplog) as made:
        yield made


@tool(risk="contact")
async def post_card(to: str, colour: Literal["red", "blue"], gift: bool) -> str:
    """Send a card by mail."""
    return f"A {colour} card went to {to}{' with a gift' if gift else ''}."


CARD: Final[Mapping[str, Any]] = {"to": "Mara", "colour": "red", "gift": False}


async def choosing(office: TelegramOffice) -> Message:
    """The card of a call that has fields of which the values are few."""
    sam = replace(SAM, tools=(*SAM.tools, "post_card"))
    script = (calls(("post_card", CARD)), says("Sent."))
    return await office.parked(*script, sam=sam, tools=(post_card,))


async def asked(office: TelegramOffice, field: str = "amount") -> Message:
    """Ada was asked for the new value of *field* of the call that waits."""
    await office.parked()
    await office.presses(office.ada, "Edit", field)
    return office.asked(office.ops)


async def args(office: TelegramOffice) -> Any:
    (call,) = (await office.story()).calls
    return call.args


async def tasks(office: TelegramOffice) -> int:
    return len(await office.store.ledger.find(ORG, Query()))


# ── a field is changed ───────────────────────────────────────────────────────────────────────


@on_both
@pytest.mark.rule("C8", "C5", "I4", "I1")
async def test_an_edited_field_is_looked_at_once_more_before_it_runs(office: TelegramOffice) -> None:
    question = await asked(office)
    card = office.card
    before = card.markup
    assert (question.forces_reply, question.reply_to) == (True, card)
    assert question.marked("text_mention") == ["u1"]
    await office.telegram.replies(office.ada, question, "7.50")
    again = office.card
    assert again is not card
    assert "amount: 10 → 7.50" in again.text
    await office.last.works()
    assert office.world.effects == []
    assert "amount: 10 → 7.50" in card.text
    assert (card.labels, card.markup != before) == (again.labels, True)
    await office.presses(office.ada, "Approve", on=card)
    await office.last.works()
    assert office.world.effects == [CHEAPER]
    assert (card.labels, again.labels) == ([], [])
    parks = (await office.story()).parks
    assert [(p.version, p.state) for p in parks] == [(1, ParkState.SUPERSEDED), (2, ParkState.DECIDED)]


@on_both
@pytest.mark.rule("C8")
async def test_s09_what_breaks_the_schema_is_refused_at_its_field_and_asked_once_more(
    office: TelegramOffice,
) -> None:
    question = await asked(office)
    for wrong, why in (("ten", "number"), ("-3", "0"), ("250", "100")):
        await office.telegram.replies(office.ada, question, wrong)
        again = office.asked(office.ops)
        assert again is not question
        assert "amount" in again.text
        assert why in again.text
        question = again
    (park,) = (await office.story()).parks
    assert (park.state, await args(office)) == (ParkState.OPEN, REFUND)
    await office.telegram.replies(office.ada, question, "12.5")
    assert "amount: 10 → 12.5" in office.card.text
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("12.5"))]
    story = await office.story()
    (call,) = story.calls
    assert (call.proposed_args["amount"], call.args["amount"]) == (10, Decimal("12.5"))
    assert len(decisions(story)) == 1
    ((_, told),) = results(office.last.model.requests[-1])
    assert "12.5" in str(told)


@pytest.mark.rule("C8", "I4")
async def test_a_field_of_few_values_is_changed_by_a_button_and_the_card_asks_anew(
    office: TelegramOffice,
) -> None:
    card = await choosing(office)
    before = office.telegram.button(card, "Approve")["callback_data"]
    await office.presses(office.ada, "Edit")
    assert [label.removeprefix("✏️ ") for label in card.labels] == ["to", "colour", "gift", "◀ Back"]
    await office.presses(office.ada, "colour")
    assert card.labels == ["• red", "blue", "◀ Back"]
    pressed = await office.presses(office.ada, "blue")
    assert (pressed.text, pressed.alert) == ("Changed. Look at it once more, and decide.", False)
    assert "colour: red → blue" in card.text
    await office.presses(office.ada, "Edit", "gift", "yes")
    assert "gift: false → true" in card.text
    assert await args(office) == {**CARD, "colour": "blue", "gift": True}
    old = await office.telegram.presses(office.ada, card, before, stale=True)
    assert (old.alert, old.text) == (True, "The card is out of date: version 3 waits now.")
    await office.presses(office.ada, "Approve", on=card)
    await office.last.works()
    (call,) = (await office.story()).calls
    assert call.result == {"value": "A blue card went to Mara with a gift."}


@on_both
@pytest.mark.rule("C6", "C8", "I4")
async def test_the_button_of_what_was_edited_since_is_out_of_date(office: TelegramOffice) -> None:
    question = await asked(office)
    card = office.card
    await office.presses(office.ada, "Back")
    await office.telegram.replies(office.ada, question, "7.50")
    pressed = await office.presses(office.ben, "Approve", on=card)
    assert (pressed.alert, pressed.text) == (True, "The card is out of date: version 2 waits now.")
    await office.last.works()
    assert office.world.effects == []
    await office.presses(office.ben, "Approve", on=card)
    await office.last.works()
    assert office.world.effects == [CHEAPER]


@pytest.mark.rule("C8", "I1")
async def test_an_edit_of_what_somebody_else_has_edited_since_is_refused(office: TelegramOffice) -> None:
    first = await asked(office)
    await office.presses(office.ada, "Back")
    await office.presses(office.ben, "Edit", "amount")
    await office.telegram.replies(office.ben, office.asked(office.ops), "8")
    await office.telegram.replies(office.ada, first, "7.50")
    assert office.told(office.ops)[-1] == "The card is out of date: version 2 waits now."
    assert (await args(office))["amount"] == 8


@on_both
@pytest.mark.rule("C6", "I1")
async def test_an_edit_of_what_was_decided_meanwhile_changes_nothing_and_tells_who_did(
    office: TelegramOffice,
) -> None:
    question = await asked(office)
    await office.presses(office.ben, "Back", "Approve")
    await office.last.works()
    await office.telegram.replies(office.ada, question, "7.50")
    assert "U2 approved it at " in office.told(office.ops)[-1]
    await office.last.works()
    assert (office.world.effects, office.cards()) == ([REFUNDED], [])


@pytest.mark.rule("I14")
async def test_who_may_not_decide_any_more_changes_nothing(office: TelegramOffice) -> None:
    await office.parked()
    await office.presses(office.ben, "Edit", "amount")
    await office.leaves(U2)
    await office.telegram.replies(office.ben, office.asked(office.ops), "7.50")
    assert office.told(office.ops)[-1].startswith("I don't know you here.")
    assert await args(office) == REFUND


@pytest.mark.rule("C8", "I32")
async def test_a_long_value_is_edited_by_who_has_read_it_and_stands_whole_in_a_file(
    office: TelegramOffice,
) -> None:
    card = await office.parked(*LONG_SCRIPT)
    await office.presses(office.ada, "Review")
    shown = office.telegram.said(office.ada)[-1]
    await office.presses(office.ada, "Edit", "text", on=shown)
    question = office.asked(office.ada)
    assert "its beginning; the file has it whole" in question.text
    (file,) = [m for m in office.telegram.said(office.ada) if m.file]
    assert file.file is not None
    assert (file.file.content.decode(), file.reply_to) == (LONG, question)
    await office.telegram.replies(office.ada, question, "shorter")
    await office.last.works()
    assert (await args(office))["text"] == "shorter"
    await office.presses(office.ada, "Review", on=card)  # what it was has no room on a card
    await office.presses(office.ada, "Approve", on=office.telegram.said(office.ada)[-1])
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", "shorter")]


@pytest.mark.rule("C8", "I32")
async def test_what_an_edit_made_too_long_to_show_is_reviewed_anew(office: TelegramOffice) -> None:
    note = {"to": "x@example.test", "text": "hi"}
    card = await office.parked(calls(("send_note", note)), says("Sent."), chat=office.ada)
    await office.presses(office.ada, "Edit", "text")
    long = "y" * 4_000
    await office.telegram.replies(office.ada, office.asked(office.ada), long)
    await office.last.works()
    for shown in (card, office.card):
        assert any("Review" in label for label in shown.labels)
        assert not any("Approve" in label for label in shown.labels)
    await office.presses(office.ada, "Review", on=card)
    await office.presses(office.ada, "Approve", on=office.telegram.said(office.ada)[-1])
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", long)]
    assert office.cards() == []


async def test_a_field_is_changed_in_a_topic_where_its_card_is(office: TelegramOffice) -> None:
    topic = office.telegram.add_topic(office.ops, "Refunds")
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.says(office.ada, office.ops, "refund the mug", mention=True, topic=topic)
    await office.last.works()
    await office.presses(office.ada, "Edit", "amount")
    await office.telegram.replies(office.ada, office.asked(office.ops), "7.50")
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [CHEAPER]
    assert {m.topic for m in office.telegram.said(office.ops)} == {topic}


@pytest.mark.rule("C8")
async def test_a_value_that_is_so_already_changes_nothing(office: TelegramOffice) -> None:
    card = await choosing(office)
    text, labels = card.text, card.labels
    pressed = await office.presses(office.ada, "Edit", "colour", "• red")
    assert (pressed.text, card.text, card.labels) == ("", text, labels)
    assert [p.version for p in (await office.story()).parks] == [1]


# ── whose question, how long, how often ──────────────────────────────────────────────────────


@on_both
@pytest.mark.rule("K27")
async def test_a_reply_to_a_question_counts_in_a_new_process(office: TelegramOffice) -> None:
    question = await asked(office)
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.replies(office.ada, question, "7.50")
    await office.presses(office.ada, "Approve")
    await office.last.works()
    assert office.world.effects == [CHEAPER]


@pytest.mark.rule("I14")
async def test_a_question_is_one_persons_alone(office: TelegramOffice) -> None:
    question = await asked(office)
    for user in (office.ben, office.eve, office.zoe):
        await office.telegram.replies(user, question, "1")
        assert office.told(office.ops)[-1] == NOT_YOURS
    assert (await args(office), await tasks(office)) == (REFUND, 1)
    await office.telegram.replies(office.ada, question, "7.50")
    assert (await args(office))["amount"] == Decimal("7.50")


@on_both
async def test_a_question_is_over_after_a_quarter_of_an_hour_and_its_reply_starts_nothing(
    office: TelegramOffice,
) -> None:
    question = await asked(office)
    (row,) = await office.planted.table("prompts")
    assert 890 < (row["expires_at"] - await office.planted.now()).total_seconds() <= 900
    await office.planted.update("prompts", {"expires_at": PAST})
    stored = await office.planted.count("inbox")
    await office.telegram.replies(office.ada, question, "7.50")
    assert office.told(office.ops)[-1] == OVER
    await office.last.works()
    assert (await args(office), await tasks(office)) == (REFUND, 1)
    assert await office.planted.count("inbox") == stored


async def test_a_question_that_is_cancelled_takes_no_reply(office: TelegramOffice) -> None:
    question = await asked(office)
    await office.telegram.says(office.ben, office.ops, "/cancel")
    assert office.told(office.ops)[-1] == NOTHING
    await office.telegram.says(office.ada, office.ops, "/cancel")
    assert office.told(office.ops)[-1] == CANCELLED
    await office.telegram.says(office.ada, office.ops, "/cancel")
    assert office.told(office.ops)[-1] == NOTHING
    await office.telegram.replies(office.ada, question, "7.50")
    assert office.told(office.ops)[-1] == OVER
    assert (await args(office), await tasks(office)) == (REFUND, 1)


async def test_a_cancel_said_as_a_reply_to_its_question_is_no_value(office: TelegramOffice) -> None:
    question = await asked(office, "order id")
    await office.telegram.replies(office.ada, question, "/cancel")
    assert office.told(office.ops)[-1] == CANCELLED
    assert await args(office) == REFUND


@pytest.mark.rule("I21")
async def test_a_question_takes_one_reply(office: TelegramOffice) -> None:
    question = await asked(office)
    said = await office.telegram.replies(office.ada, question, "7.50")
    await office.telegram.delivers_again(said.answered.update)
    await office.telegram.replies(office.ada, question, "9")
    assert office.told(office.ops)[-1] == OVER
    assert (await args(office))["amount"] == Decimal("7.50")
    assert [p.version for p in (await office.story()).parks] == [1, 2]


@pytest.mark.rule("I21", "K22")
async def test_a_reply_that_comes_again_to_a_new_process_changes_nothing_more(office: TelegramOffice) -> None:
    said = await office.telegram.replies(office.ada, await asked(office), "7.50")
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.delivers_again(said.answered.update)
    await office.last.works()
    assert (await args(office))["amount"] == Decimal("7.50")
    assert ([p.version for p in (await office.story()).parks], await tasks(office)) == ([1, 2], 1)


@pytest.mark.rule("I15")
async def test_a_reply_whose_words_are_changed_afterwards_says_nothing_more(office: TelegramOffice) -> None:
    said = await office.telegram.replies(office.ada, await asked(office), "7.50")
    await office.telegram.edits(said.message, "100")
    await office.last.works()
    assert ((await args(office))["amount"], await tasks(office)) == (Decimal("7.50"), 1)


async def test_who_is_asked_something_else_has_one_question_open(office: TelegramOffice) -> None:
    first = await asked(office)
    await office.presses(office.ada, "order id")
    await office.telegram.replies(office.ada, first, "7.50")
    assert office.told(office.ops)[-1] == OVER
    await office.telegram.replies(office.ada, office.asked(office.ops), "A2")
    assert await args(office) == {**REFUND, "order_id": "A2"}


async def test_a_reply_without_words_is_none(office: TelegramOffice) -> None:
    question = await asked(office)
    photo = b"\xff\xd8"
    await office.telegram.says(office.ada, office.ops, "", reply_to=question, photo=photo)
    assert office.told(office.ops)[-1] == IN_WORDS
    await office.telegram.replies(office.ada, question, "7.50")
    assert (await args(office))["amount"] == Decimal("7.50")


async def test_words_beside_an_open_question_start_nothing_unless_they_say_so(office: TelegramOffice) -> None:
    card = await office.parked(chat=office.ada)
    await office.presses(office.ada, "Edit", "amount")
    await office.asks(office.ada, "7.50")
    assert office.told(office.ada)[-1] == STILL_OPEN
    await office.last.works()
    assert (await tasks(office), await args(office)) == (1, REFUND)
    office.opens([*REFUND_SCRIPT, says("Hello.")])
    await office.asks(office.ada, "/new say hello")
    await office.last.works()
    assert await tasks(office) == 2
    assert card.labels


async def test_who_cannot_be_asked_is_told_to_press_again(office: TelegramOffice) -> None:
    await office.parked()
    await office.presses(office.ada, "Edit")
    office.telegram.breaks("sendMessage", refusal(500, "Internal Server Error"))
    await office.presses(office.ada, "amount")
    assert office.told(office.ops)[-1].startswith("I could not ask you just now.")
    assert await office.planted.count("prompts") == 0


# ── a reason is said ─────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C9", "I1")
async def test_a_reason_that_comes_after_somebody_elses_decision_decides_nothing(
    office: TelegramOffice,
) -> None:
    await office.parked()
    await office.presses(office.ben, "Decline", "Say why…")
    await office.presses(office.ada, "Back", "Approve")
    await office.telegram.replies(office.ben, office.asked(office.ops), "wrong person")
    assert "U1 approved it at " in office.told(office.ops)[-1]
    await office.last.works()
    (decided,) = [p.decision for p in (await office.story()).parks]
    assert (decided, office.world.effects) == (DecisionKind.APPROVE, [REFUNDED])


async def test_a_reason_is_asked_of_who_pressed_alone_and_is_the_agents_to_read(
    office: TelegramOffice,
) -> None:
    await office.parked(calls(("refund", REFUND)), says("I leave it."))
    await office.presses(office.ada, "Decline", "Say why…")
    question = office.asked(office.ops)
    await office.telegram.replies(office.ben, question, "because")
    assert office.told(office.ops)[-1] == NOT_YOURS
    await office.telegram.replies(office.ada, question, "wrong person")
    await office.last.works()
    ((_, told),) = results(office.last.model.requests[-1])
    assert "wrong person" in str(told)
