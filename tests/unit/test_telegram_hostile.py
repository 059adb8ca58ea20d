"""Hostile words in Telegram: they name nobody, lead nowhere, hide nothing, and are kept to the byte."""

import unicodedata
from functools import cache
from typing import Final

import pytest

from adapters.telegram.shown.answers import messages_of
from adapters.telegram.shown.keyboards import pressed
from adapters.telegram.shown.menus import Menu, Question, fields, question_for, question_for_field
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.posts import file_of, in_words, message_of
from adapters.telegram.shown.text import JOINER, LONGEST, unbroken
from core.canonical import dump
from core.cards import LABELS, Card, Verb
from core.chat import Answer, Table
from core.forms import form
from core.parks import Choice
from core.proposals import storable
from core.rendering import Notice, Progress
from core.visible import raw
from tests.fakes.telegram.found import detect
from tests.golden.hostile import STRINGS, args_of
from tests.golden.telegram import AGENT, FILE, VIEWS, rendered
from tests.samples.shop import TOOLS
from tests.samples.telegram_reading import arguments, pieces, quoted, takes

SIGNS: Final = ("✉️", "⚠️", "✏️", "🗑️", "💳", "🔑", "⏹️")
"""Of our own; two characters some of them, the second of which is no sign of itself."""
EVERY: Final = [(name, place) for name in STRINGS for place in VIEWS]
IGNORED: Final = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2061, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Unicode's Default_Ignorable_Code_Point but the joiner, and the blank of Braille: drawn as nothing."""


@cache
def message(name: str, place: str) -> Message:
    return message_of(VIEWS[place](STRINGS[name]), AGENT)


def hides(c: str) -> bool:
    """*c* is drawn as nothing, moves its neighbours, or is no character; said by the tables of Unicode."""
    if c in ("\n", JOINER):
        return False
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or any(
        first <= ord(c) <= last for first, last in IGNORED
    )


def test_what_hostile_words_become_in_telegram_is_what_was_looked_at() -> None:
    kept = FILE.read_text("utf-8")
    assert kept.isascii()
    assert kept == rendered(), "look at the difference, then: python -m tests.golden --write"


def test_the_checks_find_what_they_look_for() -> None:
    assert sum(bool(detect(text)) for text in STRINGS.values()) > 10
    assert {place for _, place in EVERY} == {"argument", "words", "recipient", "reason", "report"}


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_telegram_takes_hostile_words_and_finds_nothing_in_them(name: str, place: str) -> None:
    takes(message(name, place))


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_nothing_that_hides_is_left_in_hostile_words(name: str, place: str) -> None:
    text = message(name, place).text.words
    for sign in SIGNS:
        text = text.replace(sign, "")
    assert not [f"U+{ord(c):04X}" for c in text if hides(c)]


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_no_hostile_words_make_a_button(name: str, place: str) -> None:
    made = [button for row in message(name, place).keyboard for button in row]
    assert (len(made) == 0) == (place in ("reason", "report"))
    for one in made:
        assert one.url is None and one.data is not None
        found = pressed(one.data)
        assert found is not None and found.verb in {*Verb, *Choice, *Menu}
        assert any(label in one.words for label in LABELS.values())


@pytest.mark.rule("I32")
@pytest.mark.parametrize("name", STRINGS)
def test_hostile_words_are_approved_as_they_would_run_or_not_at_all(name: str) -> None:
    for place, args in (
        ("argument", args_of("text", STRINGS[name])),
        ("recipient", args_of("to", STRINGS[name])),
    ):
        made = message(name, place)
        offered = {found.verb for row in made.keyboard for b in row if (found := pressed(b.data or ""))}
        assert len(offered & {Verb.APPROVE, Verb.REVIEW}) == 1
        if Verb.APPROVE in offered:
            shows = arguments(pieces(made.text))
            assert {k: dump(v) for k, v in shows.items()} == {k: dump(v) for k, v in args.items()}
        else:
            assert len(STRINGS[name]) > 1_000 or STRINGS[name].count("\n") > 20


@pytest.mark.parametrize("name", STRINGS)
def test_the_agents_words_stand_in_a_quote_and_nowhere_else(name: str) -> None:
    """Behind its name, capped: however they look, they are no part of what the card says itself."""
    with_words, without = message(name, "words"), message_of(VIEWS["words"](""))
    if not storable(STRINGS[name], 20_000).strip():
        assert with_words == without
        return
    (own,) = quoted(with_words.text)
    assert unbroken(with_words.text.words).replace(f"Sam says:\n{unbroken(own)}\n\n", "") == unbroken(
        without.text.words
    )
    assert len(unbroken(own)) < 700 and own.count("\n") <= 13


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_in_plain_words_it_is_the_same(name: str, place: str) -> None:
    """What is sent once where Telegram takes no entities: no entity, no button, and nothing is found."""
    made = in_words(VIEWS[place](STRINGS[name]))
    takes(made, "/show", "/help")
    assert made.keyboard == () and made.text.stretches == ()
    if place in ("argument", "words", "recipient") and made.text.units < LONGEST - 9:
        assert "Answer it with a command: /show t-41.1, or /help." in made.text.words


@pytest.mark.parametrize("name", STRINGS)
def test_hostile_words_do_nothing_wherever_else_they_are_shown(name: str) -> None:
    words = storable(STRINGS[name], 20_000)
    tool = TOOLS["send_note"]
    made = form(tool, {"subject": words, "text": words})
    answers = messages_of(Answer(words=words, table=Table(headings=("A", words), rows=((words, "b"),))))
    questions = [
        *(question_for_field(asked, "t-1.2").to(None) for asked in made.inputs),
        question_for(Verb.REVISE, words, "t-1.2").to(None),
        Question.again(words).to(None),
    ]
    for question in questions:
        takes(question, "/cancel")
    shown = [
        *answers,
        message_of(Notice(task_code="t-1", text=raw(words), moved=words)),
        message_of(Progress(task_code="t-1", text=words, over=False)),
    ]
    for one in shown:
        takes(one)
    assert [b.url for row in fields(made, "t" * 22) for b in row if b.url] == []


def test_a_payload_at_the_end_is_not_approved_unread() -> None:
    for name in ("a payload at the end", "a flood of lines", "50,000 characters"):
        made = message(name, "argument")
        assert "Review shows it to its end" in made.text.words
        file = file_of(VIEWS["argument"](STRINGS[name]))
        assert file is not None
        _, whole = file
        assert STRINGS[name][-20:].strip() in whole[-30:]


def test_what_pretends_to_be_a_card_is_an_argument_of_one() -> None:
    for name in ("a decision", "what the card says itself", "another argument", "buttons"):
        made = message(name, "argument")
        card = VIEWS["argument"](STRINGS[name])
        assert isinstance(card, Card)
        around = [piece for piece in pieces(made.text) if STRINGS[name] in piece.words]
        assert len(around) == 1 and around[0].kinds <= {"code", "pre"} and around[0].kinds
