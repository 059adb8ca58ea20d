"""Text that hides, reorders or pretends: spelled out, read back, and named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.lookalikes import ascii_host, hosts, mixed
from core.visible import cut, hidden, line, raw, visible

SPELLED = [
    ("\u202e", "⟨U+202E⟩"),  # right-to-left override
    ("\u202a", "⟨U+202A⟩"),
    ("\u2066", "⟨U+2066⟩"),  # isolates
    ("\u2069", "⟨U+2069⟩"),
    ("\u200e", "⟨U+200E⟩"),
    ("\u061c", "⟨U+061C⟩"),
    ("\u200b", "⟨U+200B⟩"),  # zero width
    ("\u200c", "⟨U+200C⟩"),
    ("\u200d", "⟨U+200D⟩"),
    ("\u2060", "⟨U+2060⟩"),
    ("\ufeff", "⟨U+FEFF⟩"),
    ("\u00ad", "⟨U+00AD⟩"),  # soft hyphen
    ("\u034f", "⟨U+034F⟩"),
    ("\u115f", "⟨U+115F⟩"),  # fillers
    ("\u3164", "⟨U+3164⟩"),
    ("\uffa0", "⟨U+FFA0⟩"),
    ("\u2800", "⟨U+2800⟩"),
    ("\u17b4", "⟨U+17B4⟩"),
    ("\U00016fe4", "⟨U+16FE4⟩"),
    ("\U0001d159", "⟨U+1D159⟩"),
    ("\U000e0041", "⟨U+E0041⟩"),  # tags
    ("\U000e0001", "⟨U+E0001⟩"),
    ("\U000e007f", "⟨U+E007F⟩"),
    ("\ufe0f", "⟨U+FE0F⟩"),  # variation selectors
    ("\ufe00", "⟨U+FE00⟩"),
    ("\U000e0100", "⟨U+E0100⟩"),
    ("\u180b", "⟨U+180B⟩"),
    ("\u180f", "⟨U+180F⟩"),
    ("\x00", "⟨U+0000⟩"),  # controls
    ("\x07", "⟨U+0007⟩"),
    ("\x1b[31m", "⟨U+001B⟩[31m"),
    ("\x7f", "⟨U+007F⟩"),
    ("\x85", "⟨U+0085⟩"),
    ("\r", "⟨U+000D⟩"),
    ("\t", "⟨U+0009⟩"),
    ("\u2028", "⟨U+2028⟩"),
    ("\u2029", "⟨U+2029⟩"),
    ("\ue000", "⟨U+E000⟩"),  # private use
    ("\U0010ffff", "⟨U+10FFFF⟩"),  # no character
    ("\ud800", "⟨U+D800⟩"),  # half of one
    ("⟨", "⟨U+27E8⟩"),  # what spelling out begins with
    ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟩"),
]


@pytest.mark.rule("I27")
@pytest.mark.parametrize(("text", "seen"), SPELLED, ids=[seen for _, seen in SPELLED])
def test_what_hides_or_reorders_is_spelled_out_and_read_back(text: str, seen: str) -> None:
    assert len(SPELLED) >= 40
    assert visible(text) == seen == visible(text, lines=True)
    assert visible(f"a{text}b") == f"a{seen}b"
    assert raw(seen) == text


def test_what_shows_is_left_alone() -> None:
    for text in ("plain", "Grüße, 日本, עברית", "a⟩b", "→ · €", "e\u0301", "\u00a0"):
        assert visible(text) == raw(text) == text
    assert (visible("a\nb"), visible("a\nb", lines=True)) == ("a⟨U+000A⟩b", "a\nb")


@settings(max_examples=1_000, deadline=None)
@given(text=st.text(st.characters() | st.sampled_from("⟨⟩U+0123456789ABCDEF\n\u202e"), max_size=30))
def test_no_two_texts_are_shown_alike(text: str) -> None:
    assert raw(visible(text)) == raw(visible(text, lines=True)) == text


def test_what_is_cut_ends_before_a_character_that_is_spelled_out() -> None:
    seen = visible("ab\u202ecd")
    assert [cut(seen, n) for n in (0, 2, 3, 9, 10, 11, 99)] == [
        *("", "ab", "ab", "ab", "ab⟨U+202E⟩", "ab⟨U+202E⟩c", seen)
    ]
    assert line("ab\u202ecd", 6) == "ab…"


def test_a_person_who_types_what_is_no_spelling_typed_just_that() -> None:
    for typed in ("⟨", "⟨U+⟩", "⟨U+20⟩", "⟨U+110000⟩", "⟨U+202e⟩"):
        assert raw(typed) == typed


def test_an_emoji_hides_nothing_though_it_is_spelled_out() -> None:
    assert hidden("👩\u200d💻 ❤\ufe0f") is None
    assert hidden("a\u200db") == "\u200d"


# ── look-alikes ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\u0430pple", "\u0430pple mixes Cyrillic and Latin letters"),
        ("pay g\u03bfogle now", "g\u03bfogle mixes Greek and Latin letters"),
        ("\u13aapple", "\u13aapple mixes Cherokee and Latin letters"),
        ("a\uff50ple", "a\uff50ple mixes Fullwidth and Latin letters"),
        ("\U0001d5baple", "\U0001d5baple mixes Latin and Mathematical letters"),
    ],
)
def test_a_word_of_two_alphabets_is_named(text: str, words: str) -> None:
    assert mixed(text) == (words,)


@pytest.mark.parametrize(
    "text", ["apple", "\u044f\u0431\u043b\u043e\u043a\u043e apple", "日本ひらカナabc", "Ünïcode", "a1_\u0431"]
)
def test_words_of_one_alphabet_each_are_not(text: str) -> None:
    assert mixed(text) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\u0430pple.example", "\u0430pple.example is xn--pple-43d.example"),
        ("see https://b\u00fccher.example/x?y", "b\u00fccher.example is xn--bcher-kva.example"),
        (
            "ada@\u043f\u043e\u0447\u0442\u0430.\u0440\u0444",
            "\u043f\u043e\u0447\u0442\u0430.\u0440\u0444 is xn--80a1acny.xn--p1ai",
        ),
        ("http://u:p@ex\u0430mple.test:80/", "ex\u0430mple.test is xn--exmple-4nf.test"),
        ("a\u3002\u0441om", ""),
    ],
)
def test_a_host_that_is_not_ascii_is_shown_as_it_is_looked_up(text: str, words: str) -> None:
    assert hosts(text) == ((words,) if words else ())


def test_a_host_is_folded_as_its_readers_do() -> None:
    assert ascii_host("B\u00dcCHER\u3002example") == "xn--bcher-kva.example"
    assert ascii_host("\uff45xample.test") == "example.test"


def test_a_huge_text_is_searched_in_no_time_and_says_little() -> None:
    assert len(mixed("\u0430b " * 50_000)) == 1
    assert len(hosts("".join(f"\u0430{n}.example " for n in range(9_000)))) == 3
    assert hosts("\u0430." * 100_000) == ()
