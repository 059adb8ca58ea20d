"""Hostile words on a Slack card: they name nobody, lead nowhere, hide nothing, and are kept to the byte."""

import json
import re
import unicodedata
from functools import cache
from typing import Final

import pytest

from adapters.slack.shown.posts import Message, message_of
from core.canonical import dump
from core.cards import LABELS, Verb
from core.parks import Choice
from core.proposals import storable
from tests.fakes.slack.limits import check_message
from tests.golden.hostile import FILE, PLACES, STRINGS, args_of, rendered
from tests.samples.reading import arguments, buttons, objects, texts

SIGNS: Final = ("✉️", "⚠️", "✏️", "🗑️", "💳", "🔑")
"""Of our own; two characters some of them, the second of which is no sign of itself."""
SPELLED: Final = re.compile("⟨U\\+[0-9A-F]{4,6}⟩")
EVERY: Final = [(name, place) for name in STRINGS for place in PLACES]

IGNORED: Final = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Unicode's Default_Ignorable_Code_Point, and the blank of Braille: what is drawn as nothing."""


@cache
def message(name: str, place: str) -> Message:
    return message_of(PLACES[place](STRINGS[name]))


def hides(c: str) -> bool:
    """*c* is drawn as nothing, moves its neighbours, or is no character; said by the tables of Unicode."""
    if c == "\n":
        return False
    return unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or any(
        first <= ord(c) <= last for first, last in IGNORED
    )


def test_what_hostile_words_become_is_what_was_looked_at() -> None:
    assert len(STRINGS) >= 60
    kept = FILE.read_text("utf-8")
    assert kept.isascii()
    assert kept == rendered(), "look at the difference, then: python -m tests.golden --write"


def test_the_checks_find_what_they_look_for() -> None:
    """Each string is hostile somehow: markup, hidden, long, or pretending; many of them in the raw."""
    assert sum(any(map(hides, text)) for text in STRINGS.values()) > 15
    assert sum("<" in text for text in STRINGS.values()) > 15
    assert {place for _, place in EVERY} == {"argument", "words", "recipient", "reason"}


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_slack_takes_hostile_words_wherever_they_stand(name: str, place: str) -> None:
    made = message(name, place)
    check_message(made.text, made.blocks)
    json.dumps(made.blocks).encode("ascii")


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_no_hostile_words_are_read_as_markup(name: str, place: str) -> None:
    made = message(name, place)
    for one in objects(made.blocks):
        kind = one.get("type")
        assert kind not in ("user", "usergroup", "team", "channel", "broadcast", "link", "emoji", "markdown")
        if kind == "plain_text":
            assert one["emoji"] is False
        if kind == "mrkdwn":  # a code, a moment and a hash of ours
            assert re.fullmatch(
                r"\S+ contact · t-41\.1 · expires <!date\^\d+\^[^<>]+> · #[0-9a-f]{4}", one["text"]
            )
    assert not set(re.sub("&(?:amp|lt|gt);", "", made.text)) & set("<>&")


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_nothing_that_hides_is_left_in_hostile_words(name: str, place: str) -> None:
    made = message(name, place)
    for text in (made.text, *texts(made.blocks)):
        for sign in SIGNS:
            text = text.replace(sign, "")
        assert not [f"U+{ord(c):04X}" for c in text if hides(c)]


@pytest.mark.parametrize(("name", "place"), EVERY)
def test_no_hostile_words_make_a_button(name: str, place: str) -> None:
    made = list(buttons(message(name, place).blocks))
    assert (len(made) == 0) == (place == "reason")
    for one in made:
        assert one["action_id"] in {*Verb, *Choice} and one["text"]["text"] == LABELS[one["action_id"]]
        assert "url" not in one


@pytest.mark.rule("I32")
@pytest.mark.parametrize("name", STRINGS)
def test_hostile_words_are_approved_as_they_would_run_or_not_at_all(name: str) -> None:
    for place, args in (
        ("argument", args_of("text", STRINGS[name])),
        ("recipient", args_of("to", STRINGS[name])),
    ):
        blocks = message(name, place).blocks
        offered = {one["action_id"] for one in buttons(blocks)}
        assert len(offered & {Verb.APPROVE, Verb.REVIEW}) == 1
        if Verb.APPROVE in offered:
            shows = arguments(next(block for block in blocks if block["type"] == "rich_text"))
            assert {k: dump(v) for k, v in shows.items()} == {k: dump(v) for k, v in args.items()}
        else:
            assert len(STRINGS[name]) > 1_000 or STRINGS[name].count("\n") > 20


@pytest.mark.parametrize("name", STRINGS)
def test_the_agents_words_stand_in_a_quote_and_nowhere_else(name: str) -> None:
    """Behind its name, capped: however they look, they are no part of what the card says itself."""
    blocks = message(name, "words").blocks
    plain = message_of(PLACES["words"]("")).blocks
    own = [block for block in blocks if block not in plain]
    if not storable(STRINGS[name], 20_000).strip():
        assert own == []
        return
    (only,) = own
    intro, quote = only["elements"]
    assert intro["elements"] == [{"type": "text", "text": "Sam says:"}]
    (words,) = quote["elements"]
    assert (quote["type"], words["style"]) == ("rich_text_quote", {"italic": True})
    assert len(words["text"]) < 700 and words["text"].count("\n") <= 13


def test_what_pretends_to_be_spelled_out_is_spelled_out_itself() -> None:
    made = message("a forged spelling", "argument")
    (shows,) = [text for text in texts(made.blocks) if "202E" in text and "holds" not in text]
    assert SPELLED.findall(shows) == ["⟨U+27E8⟩"] * 3


def test_a_payload_at_the_end_is_not_approved_unread() -> None:
    for name in ("a payload at the end", "a flood of lines", "50,000 characters"):
        made = message(name, "argument")
        assert "approve" not in {one["action_id"] for one in buttons(made.blocks)}
        assert "Review shows it to its end" in "\n".join(texts(made.blocks))
