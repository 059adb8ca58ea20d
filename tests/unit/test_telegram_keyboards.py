"""Buttons carry a verb and a token within 64 bytes; menus swap them; what is asked is answered by a reply."""

import string
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telegram import User

from adapters.telegram.shown.keyboards import (
    LONGEST_LABEL,
    MOST_BYTES,
    Button,
    Pressed,
    Style,
    command_data,
    data,
    markup,
    pressed,
)
from adapters.telegram.shown.menus import (
    LONGEST_PLACEHOLDER,
    MOST_FIELDS,
    Menu,
    Question,
    choices,
    declining,
    fields,
    is_question,
    question_for,
    question_for_field,
    sure,
    value_of,
    values,
)
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import plain, unbroken
from core.canonical import dump
from core.cards import Verb
from core.forms import Form, form
from core.parks import Choice
from core.tasks import Json
from core.visible import units
from tests.samples.extremes import LONG
from tests.samples.shop import TOOLS, token
from tests.samples.telegram_reading import pieces, takes

TOKEN: Final = token("a park")
SHIPMENT: Final[dict[str, Json]] = {
    "order_id": "A7",
    "address": "Rosenweg 3\n12345 Mugtown",
    "weight_kg": 2,
    "insured": True,
    "carrier": "Courier",
    "contents": ["mug", "lid"],
    "extras": ["Fragile"],
    "note": "x" * 9_000,
}


def shipment() -> Form:
    return form(TOOLS["book_shipment"], SHIPMENT)


def number_of(made: Form, name: str) -> int:
    return next(n for n, asked in enumerate(made.inputs) if asked.name == name)


# ── data ─────────────────────────────────────────────────────────────────────────────────────


@given(
    verb=st.sampled_from([*Verb, *Choice, *Menu]),
    token=st.text(st.sampled_from(string.ascii_letters + string.digits + "-_"), min_size=22, max_size=22),
    numbers=st.lists(st.integers(0, 9_999), max_size=2),
)
def test_what_a_button_carries_comes_back_within_64_bytes(verb: str, token: str, numbers: list[int]) -> None:
    made = data(verb, token, *numbers)
    assert len(made.encode()) <= MOST_BYTES
    assert pressed(made) == Pressed(verb=verb, token=token, numbers=tuple(numbers))


UNSAID: Final = (
    *("", "approve", "approve:", ":x", "APPROVE:x", "approve:x:", "approve:x:1:2:3", "approve:x:-1", "a b:x"),
    *("/stop t-1", "approve:é", "approve:x\n", "approve:x:99999", "approve:" + "x" * 33),
)


@pytest.mark.parametrize("said", UNSAID)
def test_what_is_no_button_of_this_release_means_nothing(said: str) -> None:
    assert pressed(said) is None


def test_the_longest_command_fits_a_button() -> None:
    assert command_data("show t-999999999.999999999v999999") == "/show t-999999999.999999999v999999"


def test_a_keyboard_is_what_python_telegram_bot_sends() -> None:
    rows = (
        (Button(words="x" * 99, data="a:b", style=Style.DANGER), Button(words="", url="https://a.example")),
    )
    made = markup(rows)
    assert made is not None
    assert made.to_dict() == {
        "inline_keyboard": [
            [
                {"text": "x" * (LONGEST_LABEL - 1) + "…", "callback_data": "a:b", "style": "danger"},
                {"text": "–", "url": "https://a.example"},
            ]
        ]
    }
    assert markup(()) is None


# ── menus ────────────────────────────────────────────────────────────────────────────────────


def verbs(rows: tuple[tuple[Button, ...], ...]) -> list[str]:
    return [found.verb for row in rows for button in row if (found := pressed(button.data or ""))]


def test_declining_offers_to_stop_the_task_and_to_say_why_and_leads_back() -> None:
    made = declining(TOKEN)
    assert verbs(made) == [Menu.DECLINE_NOW, Menu.WHY, Verb.DECLINE_STOP, Menu.BACK]
    assert made[0][0].style is Style.DANGER
    takes(Message(text=plain("x"), keyboard=made))


@pytest.mark.parametrize(
    ("verb", "yes"), [(Verb.APPROVE, "Yes, approve"), (Choice.SEND_AGAIN, "Yes, send again")]
)
def test_what_is_asked_twice_can_be_taken_back(verb: str, yes: str) -> None:
    made = sure(TOKEN, verb)
    assert verbs(made) == [verb, Menu.BACK] and yes in made[0][0].words
    takes(Message(text=plain("x"), keyboard=made))


def test_each_field_that_may_be_changed_has_a_button() -> None:
    made = fields(shipment(), TOKEN)
    names = [button.words for row in made[:-1] for button in row]
    assert "✏️ Where to" in names and not any("order" in name for name in names)
    assert verbs(made)[-1] == Menu.BACK
    takes(Message(text=plain("x"), keyboard=made))


def test_of_very_many_fields_the_first_have_buttons() -> None:
    many = {f"n{i}": {"type": "string", "title": LONG} for i in range(300)}
    tool = replace(
        TOOLS["send_note"], parameters={"type": "object", "properties": many}, editable=frozenset(many)
    )
    made = fields(form(tool, {}), TOKEN)
    assert len(verbs(made)) == MOST_FIELDS + 1
    takes(Message(text=plain("x"), keyboard=made))


def test_a_field_with_few_choices_is_chosen_by_a_button() -> None:
    made = shipment()
    carrier = number_of(made, "carrier")
    rows = values(made, TOKEN, carrier)
    assert rows is not None
    assert [button.words for row in rows[:-1] for button in row] == [
        "• Courier",
        "Parcel post",
        "Pick-up point",
    ]
    found = pressed(rows[0][1].data or "")
    assert found is not None and value_of(made, *found.numbers) == "Parcel post"
    assert choices(made, number_of(made, "insured")) == ("yes", "no")
    takes(Message(text=plain("x"), keyboard=rows))


def test_what_is_to_be_written_and_what_is_not_there_has_no_choices() -> None:
    made = shipment()
    for name in ("address", "weight_kg", "extras", "contents", "note", "customs"):
        assert values(made, TOKEN, number_of(made, name)) is None
    assert values(made, TOKEN, 99) is None and values(made, TOKEN, -1) is None
    carrier = number_of(made, "carrier")
    assert value_of(made, carrier, 3) is None and value_of(made, carrier) is None and value_of(made) is None


def test_choices_too_many_or_too_long_for_buttons_are_written() -> None:
    many: dict[str, Json] = {
        "a": {"enum": [f"{n}" for n in range(9)]},
        "b": {"enum": ["x" * 31, "y"]},
        "c": {"enum": []},
    }
    tool = replace(
        TOOLS["send_note"], parameters={"type": "object", "properties": many}, editable=frozenset(many)
    )
    made = form(tool, {})
    assert [choices(made, n) for n in range(3)] == [(), (), ()]


# ── questions ────────────────────────────────────────────────────────────────────────────────


def test_the_new_value_of_a_field_is_asked_with_what_it_is_now() -> None:
    made = shipment()
    question = question_for_field(made.inputs[number_of(made, "weight_kg")], "t-1.2")
    assert question.placeholder == "Reply with the new weight_kg of t-1.2, now 2"
    shown = question.to(None)
    takes(shown, "/cancel")
    assert unbroken(shown.text.words) == (
        "The new weight_kg of t-1.2?\na number · more than 0, at most 30\n\nNow: 2\n\n"
        "Reply to this message. /cancel leaves it as it is."
    )
    assert question.file is None and is_question(shown.text.words)


def test_a_long_value_is_shown_to_its_end_or_in_a_file() -> None:
    made = shipment()
    note = question_for_field(made.inputs[number_of(made, "note")], "t-1.2")
    takes(note.to(None), "/cancel")
    assert note.file == ("t-1.2 note", "x" * 9_000)
    assert "its beginning; the file has it whole" in note.text.words
    short = question_for_field(replace(made.inputs[number_of(made, "note")], value="y" * 2_900))
    assert short.file is None and "y" * 2_900 in short.text.words
    takes(short.to(None), "/cancel")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("see https://a.example/x @ada_b", "code"),
        ("see https://a.example/x\n@ada_b", "pre"),
        ("@a_b" * 20, "pre"),
    ],
)
def test_a_value_that_is_to_be_copied_is_shown_to_the_character(value: str, kind: str) -> None:
    made = shipment()
    asked = replace(made.inputs[number_of(made, "address")], value=value)
    shown = question_for_field(asked).to(None)
    takes(shown, "/cancel")
    assert [piece.words for piece in pieces(shown.text) if kind in piece.kinds] == [value]


@pytest.mark.parametrize("value", ["", LONG * 9, "\U0001f600" * 99, "a\n" * 99])
def test_a_placeholder_is_within_what_telegram_takes(value: str) -> None:
    asked = replace(
        shipment().inputs[0], value=value, name="n" * 60, description=LONG * 9, present=bool(value)
    )
    question = question_for_field(asked, "t-999999999.999999999v2")
    assert 1 <= units(question.placeholder) <= LONGEST_PLACEHOLDER
    assert "\n" not in question.placeholder
    takes(question.to(None), "/cancel")


def test_in_a_chat_of_many_who_is_asked_is_named_by_number() -> None:
    ada = User(id=4711, first_name="Ada /stop", is_bot=False)
    shown = question_for(Verb.REVISE, "How should it be changed?").to(ada)
    takes(shown, "/cancel")
    (named,) = [one for one in shown.text.entities() if one.type == "text_mention"]
    assert named.user is not None and named.user.id == 4711
    assert unbroken(shown.text.words).startswith("Ada /stop: How should it be changed?")


def test_a_question_of_a_long_value_is_known_by_how_it_ends_without_entities_too() -> None:
    asked = replace(shipment().inputs[0], value="/a.b@c" * 1_000, present=True)
    shown = question_for_field(asked, "t-1.2").to(None)
    assert shown.text.units < shown.text.plain.units
    assert is_question(shown.in_words.text.words)


@pytest.mark.parametrize("verb", [Verb.DECLINE, Verb.REVISE, Verb.ANSWER, Verb.EDIT])
def test_each_question_is_known_by_how_it_ends(verb: Verb) -> None:
    question = question_for(verb, "What is to be said?", "t-1.2")
    assert question.placeholder.startswith("Reply") and "t-1.2" in question.placeholder
    assert is_question(question.to(None).text.words)
    assert is_question(Question.again("amount: is no number").to(None).text.words)
    assert not is_question("a card") and not is_question(None)


def test_the_form_of_the_sample_has_a_field_of_every_kind() -> None:
    assert len({asked.kind for asked in shipment().inputs}) == 7
    assert dump(SHIPMENT["weight_kg"]) == "2"
