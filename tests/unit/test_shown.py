"""What a card shows of arguments is what would run: in the order that matters, and read back exactly."""

from decimal import Decimal
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from core.canonical import dump, load
from core.shown import (
    LINE,
    NOT_SET,
    Field,
    beginnings,
    extent,
    fields_of,
    pages,
    rank,
    read_back,
    shown_value,
    shown_whole,
    value_shown,
)
from core.tasks import Json

HOSTILE = "⟨⟩U+202E\u202e\u200b\U000e0041\ufe0f\x1b\r\n\t \u00a0\\\"'{}[]:,0.1eE-\u0430é漢\u2028"
DECEPTIVE = (
    *("", " ", "\n", "24", "24.0", "-1", "1e5", "true", "false", "null", "NaN", "Infinity", "-Infinity"),
    *(
        '"24"',
        '"',
        "{}",
        '{"a":1}',
        "[1]",
        "[" * 500,
        " 24",
        "24 ",
        "a\n",
        NOT_SET,
        "⟨U+202E⟩",
        "⟨",
        "9" * 5000,
    ),
)


def text_of(rng: Random) -> str:
    if rng.random() < 0.4:
        return rng.choice(DECEPTIVE)
    letters = HOSTILE if rng.random() < 0.7 else "".join(map(chr, rng.sample(range(1, 0xD800), 20)))
    return "".join(rng.choices(letters, k=rng.randrange(9)))


def number_of(rng: Random) -> Json:
    digits = str(rng.choice((rng.randrange(10), rng.getrandbits(200)))) + "0" * rng.randrange(3)
    digits = digits.lstrip("0") or "0"
    point = rng.choice(
        ("", f".{rng.randrange(100):02}", f".{rng.getrandbits(90)}00", "e5", "E-7", "1.50e+20")
    )
    return load(f"{rng.choice(('', '-'))}{digits if point[:1] != '1' else ''}{point}")


def value_of(rng: Random, depth: int = 0) -> Json:
    """Anything JSON says, mostly what could be taken for something else."""
    kind = rng.randrange(9 if depth < 3 else 7)
    if kind < 4:
        return text_of(rng)
    if kind < 6:
        return number_of(rng)
    if kind == 6:
        return rng.choice((None, True, False))
    inner = [value_of(rng, depth + 1) for _ in range(rng.randrange(4))]
    return inner if kind == 7 else {text_of(rng): one for one in inner}


seeds = st.integers(0, 2**63)
"""Values are drawn from a seed: hypothesis itself would take minutes for as many."""


@pytest.mark.rule("I32", "I5")
@settings(max_examples=10_000, deadline=None, phases=[Phase.generate])
@given(seed=seeds)
def test_from_what_a_card_shows_the_arguments_can_be_read_back_exactly(seed: int) -> None:
    rng = Random(seed)
    args = {text_of(rng): value_of(rng) for _ in range(rng.randrange(1, 4))}
    back = read_back(fields_of(args))
    assert {k: dump(v) for k, v in back.items()} == {k: dump(v) for k, v in args.items()}


@settings(max_examples=1_000, deadline=None, phases=[Phase.generate])
@given(seed=seeds)
def test_no_two_values_are_shown_alike(seed: int) -> None:
    rng = Random(seed)
    one, other = value_of(rng), value_of(rng)
    assert (shown_value(one) == shown_value(other)) == (dump(one) == dump(other))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("A7", "A7"),
        ("24", '"24"'),
        (24, "24"),
        (Decimal("24.00"), "24.00"),
        ("", '""'),
        (" blank", '" blank"'),
        ("ends\n", '"ends\\n"'),
        ("two\nlines", "two\nlines"),
        ("true", '"true"'),
        (True, "true"),
        (NOT_SET, f'"{NOT_SET}"'),
        ('say "hi"', 'say "hi"'),
        ("{not json", "{not json"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        (["a", "b"], '["a","b"]'),
    ],
)
def test_a_text_is_shown_bare_unless_it_would_be_read_as_something_else(value: Json, shown: str) -> None:
    assert shown_value(value) == shown
    assert dump(value_shown(shown)) == dump(value)


def test_what_was_taken_away_is_not_an_argument_and_what_was_there_is_shown_beside() -> None:
    fields = fields_of({"amount": 5}, {"amount": 10, "note": "x"})
    assert [(f.name, f.value, f.before) for f in fields] == [("amount", "5", "10"), ("note", NOT_SET, "x")]
    assert read_back(fields) == {"amount": 5}


# ── order ────────────────────────────────────────────────────────────────────────────────────


def test_whom_it_reaches_how_much_and_what_it_touches_come_first() -> None:
    args = {"note": "n", "path": "/x", "amount": 1, "subject": "s", "customer_email": "m", "to": "t"}
    names = [f.name for f in fields_of(args)]
    assert names == ["customer_email", "to", "amount", "path", "note", "subject"]


@pytest.mark.parametrize(
    ("name", "place"),
    [("to", 0), ("toAddress", 0), ("IBAN", 0), ("total_amount", 1), ("file-name", 2), ("tone", 3), ("x", 3)],
)
def test_a_word_of_its_name_says_what_an_argument_is(name: str, place: int) -> None:
    assert rank(name) == place


# ── room ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I32")
def test_forty_thousand_characters_do_not_fit_nor_do_as_many_lines_as_push_the_rest_out_of_sight() -> None:
    assert shown_whole({"text": "x" * 2000}, None, 2400)
    assert not shown_whole({"text": "x" * 40_000 + "and cc everyone"}, None, 2400)
    assert not shown_whole({"text": "x" + "\n" * 60 + "and cc everyone"}, None, 2400)
    assert not shown_whole({"text": "\u200b" * 400}, None, 2400)  # each is spelled out
    assert not shown_whole({"x" * 2400: 1}, None, 2400)
    assert not shown_whole({"text": "new"}, {"text": "old" * 1000}, 2400)
    assert shown_whole({"text": "x" * 40_000}, None, None)


@pytest.mark.rule("I32")
@pytest.mark.parametrize("room", [60, 200, 2400])
def test_the_beginnings_fit_their_room_and_say_how_much_is_hidden(room: int) -> None:
    fields = fields_of({f"name{n}": f"{n}⟨\n" * 400 for n in range(99)} | {"to": "ada@x", "n" * 3000: ""})
    shown = beginnings(fields, room)
    assert extent(shown) <= room
    whole = sum(len(f.name) + len(f.value) for f in fields)
    seen = sum(len(f.name) + len(f.value) for f in shown)
    assert sum(f.hidden for f in shown) == whole - seen > 0
    assert all("⟨" not in f.value[-7:] or f.value.endswith("⟩") for f in shown)
    with pytest.raises(ValueError, match="beginning alone"):
        read_back(shown)


def test_what_is_short_is_whole_beside_what_is_long() -> None:
    shown = beginnings(fields_of({"text": "x" * 9000, "to": "ada@example.test", "amount": 5}), 300)
    assert [(f.name, f.value, f.hidden > 0) for f in shown][:2] == [
        ("to", "ada@example.test", False),
        ("amount", "5", False),
    ]
    assert shown[2].hidden == 9000 - len(shown[2].value)
    assert len(shown[2].value) > 200


@pytest.mark.rule("I32")
@pytest.mark.parametrize("most", [20, 2800])
def test_the_pages_of_a_review_hold_all_of_it_and_break_no_escape(most: int) -> None:
    text = "begins\n" + "Sorry \u202efor ⟨ the delay.\n" * 300 + "and cc everyone"
    made = pages(fields_of({"text": text, "to": "ada"}, {"text": "old", "to": "ada"}), most)
    assert all(0 < len(page) <= most for page in made)
    assert all(page.count("⟨") == page.count("⟩") for page in made)
    whole = "".join(made).split("\n")
    assert whole[0] == "to: ada"
    assert whole[1] == "text:" and whole[-2] == "| and cc everyone" and whole[-1] == "text, as proposed: old"


def test_a_value_can_not_pass_for_another_argument_in_a_review() -> None:
    (page,) = pages(fields_of({"text": "hi\namount: 1.00", "amount": 900}))
    assert page == "amount: 900\ntext:\n| hi\n| amount: 1.00"


def test_a_line_break_takes_the_room_of_a_line() -> None:
    assert extent([Field(name="a", value="b\nc")]) == 1 + 3 + LINE
