"""Texts with entities: what Telegram takes as they are, and in which nobody's words mean anything to it."""

from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telegram import MessageEntity

from adapters.telegram.shown.text import (
    JOINER,
    LONGEST,
    MOST_ENTITIES,
    NOTHING,
    Entity,
    Kind,
    Text,
    bold,
    code,
    cut_to,
    fits,
    folded,
    italic,
    joined,
    mention,
    plain,
    pre,
    quote,
    safe,
    split,
    trimmed,
    unbroken,
)
from core.visible import units, visible
from tests.fakes.telegram.found import detect
from tests.samples.telegram_reading import kept, pieces

FAMILY: Final = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
"""One sign of five characters, eight units."""
FLAG: Final = "\U0001f1eb\U0001f1f7"

LEADS: Final = (
    *("@ada_lovelace", "look @ada_lovelace!", "(@durov)", "/start", "/stop@other_bot", "a\n/approve"),
    *("#general", "#été", "$USD", "$1INCH", "https://evil.example", "http://evil.com/a/b?c=d#e"),
    *("evil.com", "EVIL.COM/path", "www.evil.co.uk", "https://bank.com@evil.com/login"),
    *("eve@evil.com", "mailto:eve@evil.com", "ftp://evil.com", "tg://-evil", "tg://resolve?domain=evil"),
    *("TON://evil", "t.me/evil", "1.2.3.4", "http://10.0.0.1/", "README.md", "b\u0430nk.com"),
    *("https://пример.рф", "4111 1111 1111 1111", "4111111111111111", "evil.com.", "x.evil.com:8080"),
    *("evil.com:443/a", "a@b.co,c@d.com", "evil.xn--p1ai", "//evil.com", "....evil.com", "24.com"),
    *("a.1.com", "user:pass@evil.com", "/a/b/c", "see:/help", "@a_b@c_d_e", "#a#b#c", "$USD$EUR"),
    *("https://a.b/https://evil.com", "evil.com)(evil.com"),
)
"""What Telegram finds by itself, somewhere in each; or finds once it is cut or put beside something."""


# ── words that mean nothing ──────────────────────────────────────────────────────────────────


def test_the_check_finds_what_it_looks_for() -> None:
    assert sum(bool(detect(words)) for words in LEADS) >= 35


@pytest.mark.parametrize("words", LEADS)
def test_safe_words_lead_nowhere_and_name_nobody(words: str) -> None:
    for around in (
        words,
        f"a {words} b",
        f"({words})",
        f"{words}.{words}",
        f"{words}{words}",
        f"x\n{words}\ny",
    ):
        made = kept(safe(around))
        assert made.found == [], made.found
        assert unbroken(made.text) == around


TOKENS: Final = (
    *("@", "/", "#", "$", ".", ":", "//", "://", "http", "https", "tg", "ton", "ftp", "mailto:"),
    *("evil", "com", "рф", "USD", "1INCH", "ada", "4111", "1111", " ", "\n", "-", "_", "(", ")", "1"),
    *("10", "[", "?", "é", "😀", "<", ">"),
)


@settings(max_examples=1_000, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=30).map("".join))
def test_no_words_whatever_are_found_to_be_anything(words: str) -> None:
    made = safe(words)
    assert detect(made.words) == []
    assert unbroken(made.words) == words
    assert detect(joined([bold(words), code(words), safe(words)]).plain.words) == []


def test_a_sum_and_a_date_are_not_broken() -> None:
    for words in ("24.00 USD", "1,000.50", "30 Nov, 13:58 UTC", "Sam says: yes... no.", "and/", "t-1.2"):
        assert safe(words).words == words


def test_digits_enough_for_a_telephone_are_broken() -> None:
    for words in ("+1-212-555-0123", "+49 30 1234567", "02125550123", "(212) 555-0123"):
        assert JOINER in safe(words).words
        assert unbroken(safe(words).words) == words


def test_what_is_code_is_shown_to_the_character_and_leads_nowhere() -> None:
    for words in LEADS:
        for made in (code(words), pre(words)):
            assert made.words == words
            assert kept(made).found == []


def test_what_telegram_takes_out_is_spelled_out_as_what_hides_is() -> None:
    for c in "\x00\t\r\x1f\u2028\u202e\ud800\udfff\u0333\u033f\u030a":
        for make in (plain, safe, code, pre, bold, quote):
            made = make(f"x{c}b")
            assert made.words.replace(JOINER, "") == f"x⟨U+{ord(c):04X}⟩b"
            kept(made)


def test_a_letter_with_its_ring_is_the_same_letter_as_one_sign() -> None:
    assert code("A\u030angstro\u030am, hu\u030al").words == "Ångstro⟨U+030A⟩m, hůl"


def test_a_joiner_of_somebody_elses_is_seen() -> None:
    assert safe("evil.\u2060com").words == f"evil.{JOINER}⟨U+2060⟩com"


# ── how they are set ─────────────────────────────────────────────────────────────────────────


def test_offsets_and_lengths_are_in_units_of_utf_16() -> None:
    made = plain("😀 ") + bold("漢😀") + plain(" ") + code("x😀")
    assert made.stretches == (Entity(Kind.BOLD, 3, 3), Entity(Kind.CODE, 7, 3))
    assert made.units == units(made.words) == 10
    bold_one, code_one = made.entities()
    theirs = MessageEntity.adjust_message_entities_to_utf_16(
        made.words, [MessageEntity("bold", 2, 2), MessageEntity("code", 5, 2)]
    )
    assert [one.to_dict() for one in theirs] == [bold_one.to_dict(), code_one.to_dict()]


def test_words_set_alike_side_by_side_are_one_stretch() -> None:
    made = bold("a") + bold("b") + italic(bold("c"))
    assert made.stretches == (Entity(Kind.BOLD, 0, 3), Entity(Kind.ITALIC, 2, 1))


def test_nothing_lies_about_code_and_quotes_are_not_within_quotes() -> None:
    inner = joined([safe("a"), code("b@c.com"), quote("d"), pre("e")])
    for made in (bold(inner), italic(inner), quote(inner), quote(quote(inner), expandable=True)):
        kept(made)
    assert [e.kind for e in bold(inner).stretches if e.kind in (Kind.CODE, Kind.PRE)] == [Kind.CODE, Kind.PRE]
    whole = quote(inner, expandable=True)
    assert whole.stretches == (Entity(Kind.FOLDED, 0, whole.units),)
    assert kept(whole).found == []


def test_a_mention_names_a_person_by_number_alone() -> None:
    made = mention("Ada @evil_one", 4711) + plain(": why?")
    (only,) = made.entities()
    assert (only.type, only.offset, only.user and only.user.id) == ("text_mention", 0, 4711)
    assert kept(made).found == []


def test_nothing_at_all_is_a_dash_where_there_has_to_be_something() -> None:
    assert (code("").words, pre("").words, mention("", 1).words) == (NOTHING, NOTHING, NOTHING)
    assert not plain("") and not safe("") and not joined(["", plain(""), Text()])
    assert joined(["a", "", plain("b")], ", ").words == "a, b"


def test_trimmed_is_what_telegram_would_keep() -> None:
    made = trimmed(plain("\n ") + bold(" a ") + pre("\nb\n") + safe(" \n"))
    assert made.words == "a \nb"
    kept(made)
    kept(trimmed(plain("\n") + pre(" a\n") + plain(" ")))
    assert trimmed(plain("\n") + pre(" a\n") + plain(" ")).words == " a"
    assert not trimmed(plain(" \n "))


def test_more_entities_than_telegram_takes_are_folded_and_no_word_is_lost() -> None:
    made = joined([safe(f"n{n}: ") + code(f"a{n}@b.com") for n in range(130)])
    assert len(made.stretches) == 130 and not fits(made)
    fewer = folded(made)
    assert len(fewer.stretches) == MOST_ENTITIES
    assert unbroken(fewer.words) == unbroken(made.words)
    assert kept(fewer).found == []
    assert folded(fewer) == fewer


# ── split and cut ────────────────────────────────────────────────────────────────────────────

_WORDS = st.text(st.sampled_from("ab \n\n\U0001f600漢é\u0301" + FAMILY + FLAG), max_size=120)
_SET = st.sampled_from((plain, safe, code, pre, bold, italic, quote, lambda w: bold(italic(w))))
TEXTS: Final = st.lists(st.tuples(_WORDS, _SET), max_size=12).map(
    lambda parts: Text(tuple(run for words, make in parts for run in make(words).runs))
)


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, most=st.integers(16, 200))
def test_pieces_are_the_whole_again_and_each_fits(text: Text, most: int) -> None:
    made = split(text, most)
    assert "".join(piece.words for piece in made) == text.words
    assert [(c, run.kinds) for piece in made for run in piece.runs for c in run.words] == [
        (c, run.kinds) for run in text.runs for c in run.words
    ]
    for piece in made:
        assert 0 < piece.units <= most
        piece.words.encode("utf-16-le")  # no half of a sign
        if trimmed(piece):
            kept(trimmed(piece))


@settings(max_examples=400, deadline=None)
@given(text=TEXTS, most=st.integers(3, 200))
def test_what_is_cut_is_the_beginning_and_says_so(text: Text, most: int) -> None:
    made = cut_to(text, most)
    assert made.units <= most
    if text.units <= most:
        assert made == text
    else:
        assert made.words.endswith("…") and text.words.startswith(made.words[:-1])


def test_a_text_is_split_after_a_line_where_one_ends() -> None:
    text = pre("\n".join("x" * 30 for _ in range(20)))
    first, *others = split(text, 100)
    assert first.words == ("x" * 30 + "\n") * 3
    assert all(one.stretches[0].kind is Kind.PRE for one in (first, *others))


def test_a_sign_that_is_joined_or_has_marks_is_not_cut_in_two() -> None:
    for sign in (FAMILY, FLAG, "e\u0301", "👍🏽", "1\ufe0f\u20e3", visible("\u202e")):
        for before in range(1, 12):
            words = "x" * before + sign * 9
            for piece in split(plain(words), 17):
                left = piece.words.lstrip("x").replace(sign, "")
                assert left == "", (sign, piece.words)


def test_what_has_no_end_is_cut_all_the_same() -> None:
    for words in ("a" + "\u0301" * 500, "\u200d" * 300, FLAG[0] * 301, "\ufe0f" * 100):
        made = split(plain(words), 50)
        assert "".join(piece.words for piece in made) == words
        assert all(0 < piece.units <= 50 for piece in made)


def test_no_piece_has_more_entities_than_telegram_takes() -> None:
    text = joined([code(str(n)) for n in range(500)], " ")
    made = split(text, LONGEST)
    assert len(made) == 5
    for piece in made:
        assert fits(piece)
        kept(trimmed(piece))
    assert "".join(piece.words for piece in made) == text.words


def test_the_reading_finds_how_words_are_set() -> None:
    assert [(p.words, p.kinds) for p in pieces(plain("a") + bold("😀") + code("c"))] == [
        ("a", frozenset()),
        ("😀", frozenset({"bold"})),
        ("c", frozenset({"code"})),
    ]
