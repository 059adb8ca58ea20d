"""Whatever a card holds, Telegram takes it, and what can be approved there is shown to the character."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adapters.telegram.shown.cards import ROOM, card_message
from adapters.telegram.shown.keyboards import Button, Style, pressed
from adapters.telegram.shown.menus import Menu
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import JOINER, Kind, fits
from core.canonical import dump
from core.cards import Card, Row, Verb
from core.parks import UNKNOWN_CHOICES, Choice, ParkKind
from core.shown import Field, Room, shown_whole
from core.tasks import Json
from tests.samples import views as samples
from tests.samples.extremes import CARDS, LONG, TOOL_NAME, card_of, question
from tests.samples.shop import AT, asks, call, park, said, shown, token
from tests.samples.telegram_reading import arguments, calls, pieces, quoted, takes

RUNS: Final = frozenset({Verb.APPROVE, Menu.SURE})
"""What lets a call run, or asks once more before."""


def buttons(message: Message) -> list[Button]:
    return [button for row in message.keyboard for button in row]


def verbs(message: Message) -> list[str]:
    """What its buttons do, in their order."""
    found = [pressed(button.data) for button in buttons(message) if button.data is not None]
    return [one.verb for one in found if one is not None]


def labels(message: Message) -> list[list[str]]:
    return [[button.words for button in row] for row in message.keyboard]


def words(message: Message) -> str:
    return message.text.words.replace(JOINER, "")


def may_run(message: Message) -> set[str]:
    """The tokens of what may be approved as it is shown."""
    found = (pressed(button.data) for button in buttons(message) if button.data is not None)
    return {one.token for one in found if one is not None and one.verb in RUNS}


# ── whatever it holds ────────────────────────────────────────────────────────────────────────


@cache
def made_of(name: str) -> Card:
    return CARDS[name](ROOM)


@pytest.mark.rule("I32")
@pytest.mark.parametrize("name", CARDS)
def test_telegram_takes_a_card_whatever_is_on_it(name: str) -> None:
    made = made_of(name)
    message = card_message(made)
    takes(message)
    assert buttons(message) or not made.open  # whatever had to go, it can be answered
    for row in made.rows:
        if row.status is None:
            assert row.code in message.text.words


@pytest.mark.rule("I32")
@pytest.mark.parametrize("name", CARDS)
def test_what_hides_something_is_not_approved(name: str) -> None:
    made = made_of(name)
    message = card_message(made)
    for row in made.rows:
        if row.hidden or row.status is not None:
            assert row.token not in may_run(message)


SHAPES: Final[Mapping[str, Callable[[int], tuple[dict[str, Json], dict[str, Json]]]]] = {
    "letters": lambda n: ({"to": "x" * n}, {"to": "x" * n}),
    "signs of two units": lambda n: ({"to": "\U0001f600" * n}, {"to": "\U0001f600" * n}),
    "addresses": lambda n: ({"text": ".a@b/c" * n}, {"text": ".a@b/c" * n}),
    "rings": lambda n: ({"text": "a\u030a" * n}, {"text": "a\u030a" * n}),
    "lines": lambda n: ({"text": "\n".join("ab" * n)}, {"text": "\n".join("ab" * n)}),
    "two alphabets": lambda n: ({"to": "\u0430b " * n}, {"to": "\u0430b " * n}),
    "very many": lambda n: (_many(n), _many(n)),
    "very many that were edited": lambda n: (_many(n), dict.fromkeys(_many(n), "other")),
    "edited": lambda n: ({"text": "x" * n}, {"text": "y" * n}),
}


def _many(n: int) -> dict[str, Json]:
    return {chr(0x4E00 + i): i % 10 for i in range(n)}


def longest(shape: str, together: int) -> tuple[dict[str, Json], dict[str, Json]]:
    """The most of *shape* that core counts as shown whole on a card of so many calls."""
    low, high = 0, 5_000
    while low < high:
        middle = (low + high + 1) // 2
        args, proposed = SHAPES[shape](middle)
        if shown_whole(args, proposed, ROOM.of_each(together)):
            low = middle
        else:
            high = middle - 1
    return SHAPES[shape](low)


def as_long_as_can_be(shape: str, together: int) -> Card:
    """So many calls of it, with all that stands beside arguments."""
    args, proposed = longest(shape, together)
    pairs = []
    for n in range(1, together + 1):
        made = replace(call(TOOL_NAME, args, n, risk="profile"), proposed_args=proposed)
        pairs.append((park(made, shown={"seen": LONG, "preview": LONG}), made))
    card = shown(*pairs, messages=(said(LONG),), room=ROOM)
    rows = tuple(replace(row, title=row.title.replace("Sam", "n" * 80)) for row in card.rows)
    return replace(card, agent="n" * 80, moved="m" * 600, outside="o" * 600, unread=99, rows=rows)


@pytest.mark.rule("I32")
@pytest.mark.parametrize("together", [1, 2, 3, 5, 9, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_core_counts_as_shown_whole_is_shown_whole(shape: str, together: int) -> None:
    """Or a command would approve what no message showed."""
    card = as_long_as_can_be(shape, together)
    assert all(Verb.APPROVE in row.choices for row in card.rows)
    message = card_message(card)
    takes(message)
    assert may_run(message) == {row.token for row in card.rows}
    assert Verb.APPROVE_REST in verbs(message) or together == 1


@pytest.mark.rule("I32")
@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_so_beside_calls_that_are_to_be_reviewed(shape: str) -> None:
    card = as_long_as_can_be(shape, 16)
    cut = shown(
        *[(park(c), c) for c in [call(TOOL_NAME, {"text": "\u202e" * 1_000})]],
        room=Room(alone=ROOM.of_each(16), several=ROOM.of_each(16)),
    )
    others = (replace(cut.rows[0], code=f"t-41.{n}", token=token(str(n))) for n in range(2, 17))
    message = card_message(replace(card, rows=(card.rows[0], *others)))
    takes(message)
    assert may_run(message) == {card.rows[0].token}


# ── what is shown is what would run ──────────────────────────────────────────────────────────


def dumped(args: Mapping[str, Json]) -> dict[str, str]:
    """By name; a letter and its ring are drawn as they are as one sign."""
    return {unicodedata.normalize("NFC", k): unicodedata.normalize("NFC", dump(v)) for k, v in args.items()}


def shown_of(card: Card, message: Message) -> Iterator[tuple[Row, dict[str, Json]]]:
    """Each row that may be approved, and the arguments that its part of the message shows."""
    there = calls(message.text) if len(card.rows) > 1 else {card.rows[0].code: pieces(message.text)}
    for row in card.rows:
        if row.token in may_run(message):
            yield row, arguments(there[row.code])


@settings(max_examples=250, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**63))
@pytest.mark.rule("I32")
def test_every_argument_of_what_may_be_approved_is_read_back_from_the_text(seed: int) -> None:
    made, runs = card_of(Random(seed), ROOM)
    message = card_message(made)
    takes(message)
    found = list(shown_of(made, message))
    assert {row.token for row, _ in found} == {row.token for row in made.rows if Verb.APPROVE in row.choices}
    for row, args in found:
        assert dumped(args) == dumped(runs[row.code])


@pytest.mark.rule("I32")
@pytest.mark.parametrize("together", [1, 2, 16])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_longest_that_may_be_approved_is_read_back_too(shape: str, together: int) -> None:
    card = as_long_as_can_be(shape, together)
    wanted, _ = longest(shape, together)
    found = list(shown_of(card, card_message(card)))
    assert len(found) == together
    for _, args in found:
        assert dumped(args) == dumped(wanted)


_CHOICES: Final[tuple[tuple[str, ...], ...]] = (
    (Verb.APPROVE, Verb.EDIT, Verb.DECLINE, Verb.REVISE, Verb.DECLINE_STOP),
    (Verb.DECLINE_STOP, Verb.APPROVE, Verb.EDIT, Verb.DECLINE, Verb.REVISE),
    (Verb.REVIEW, Verb.DECLINE, Verb.REVISE),
    (*UNKNOWN_CHOICES, Choice.LOOK_UP),
    (Choice.MORE_ROUNDS, Choice.MORE_TOKENS, Choice.STOP),
    (Verb.ANSWER, Verb.DECLINE),
    (Verb.CONNECTED, Verb.DECLINE),
    (),
)
_TEXTS: Final = (
    *("", "x" * 60, "x" * 301, "a\nb", "漢" * 400, ".a" * 900, "\U0001f600" * 600, "\n" * 50),
    *("word " * 80, "@ada_b #tag /help evil.com", "4111 1111 1111 1111"),
)


def any_text(rng: Random, most: int = 10**6) -> str:
    if rng.random() < 0.5:
        return rng.choice(_TEXTS)[:most]
    return "".join(rng.choices("ab .@/#\n漢\U0001f600", k=rng.randrange(300)))[:most]


def any_of(rng: Random, most: int) -> tuple[str, ...]:
    return tuple(any_text(rng) for _ in range(rng.randrange(most + 1)))


def maybe(rng: Random) -> str | None:
    return None if rng.random() < 0.5 else any_text(rng)


def any_row(rng: Random, n: int) -> Row:
    """Anything that a row may hold, more of it than core would ever put there."""
    fields = tuple(
        Field(
            name="".join(rng.choices("abc_.@", k=rng.randrange(60))),
            value=any_text(rng) or '""',
            before=maybe(rng),
            hidden=rng.choice((0, 0, 0, 0, 7)),
        )
        for _ in range(rng.randrange(rng.choice((2, 3, 6, 140))))
    )
    choices = rng.choice(_CHOICES)
    if any(field.hidden for field in fields):  # as core has it
        choices = tuple(c for c in choices if c not in (Verb.APPROVE, Verb.EDIT, Choice.SEND_AGAIN))
    asked = Verb.ANSWER in choices
    return Row(
        code=f"t-{rng.randrange(1, 10**6)}.{n}",
        token=token(str(n)),
        kind=rng.choice((ParkKind.APPROVAL, ParkKind.QUESTION, ParkKind.UNKNOWN, ParkKind.CONNECT)),
        title=any_text(rng),
        risk=rng.choice(("", "read", "spend", "remove", "profile", "contact")),
        why=any_text(rng),
        fields=fields,
        choices=choices,
        status=None if choices else any_text(rng),
        expires_at=rng.choice((None, AT)),
        short_hash="ab12",
        together=rng.choice((1, 2, 16)),
        question=any_text(rng) if asked else None,
        suggestions=any_of(rng, 14) if asked else (),
        seen=maybe(rng),
        preview=maybe(rng),
        url=rng.choice((None, "https://accounts.example.com/?state=s", "http://localhost/")),
        earlier=any_of(rng, 5),
        repeats=any_of(rng, 3),
        warnings=any_of(rng, 7),
    )


def any_card(rng: Random) -> Card:
    return Card(
        task_code="t-1",
        agent=any_text(rng, 80),
        goal=any_text(rng, 160),
        rows=tuple(any_row(rng, n) for n in range(1, rng.choice((1, 1, 2, 5, 16)) + 1)),
        unread=rng.randrange(3),
        asked=any_text(rng, 60),
        said=maybe(rng),
        outside=maybe(rng),
        moved=maybe(rng),
    )


@pytest.mark.rule("I32")
@settings(max_examples=100, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**63))
def test_any_card_fits_and_what_is_approved_there_is_shown(seed: int) -> None:
    card = any_card(Random(seed))
    message = card_message(card)
    assert fits(message.text)
    takes(message)
    shows, alike = words(message), may_run(message)
    for row in card.rows:
        assert row.status is None or not any(row.token in (b.data or "") for b in buttons(message))
        if row.token in alike:
            assert not row.hidden
            for field in row.fields:
                for line in field.value.split("\n"):
                    assert line in shows
                    assert (field.before or "").split("\n")[0] in shows


@pytest.mark.rule("I32")
def test_a_call_that_has_no_room_at_all_is_reviewed_and_not_approved() -> None:
    """Shown as on a terminal, where there is any room: no message takes that."""
    pairs = [(park(one), one) for one in (call("send_note", {"text": "x" * 9_000}, n) for n in (1, 2))]
    card = shown(*pairs, room=None)
    assert card.choices == (Verb.APPROVE_REST,)
    message = card_message(card)
    takes(message)
    assert verbs(message) == [Verb.REVIEW, Verb.DECLINE, Verb.REVISE] * 2
    assert words(message).count("It has no room here: Review shows it to its end.") == 2


# ── how it looks ─────────────────────────────────────────────────────────────────────────────


def refund(**over: Any) -> Card:
    return replace(samples.refund(), **over)


def test_a_card_of_one_call_says_who_wants_what_of_whom_and_shows_each_argument() -> None:
    message = card_message(refund())
    assert words(message).split("\n\n") == [
        "💳 Sam wants to refund to mara.lind@example.com\n"
        "t-41, asked by Ada: Refund the mug that arrived broken",
        "customer_email: mara.lind@example.com\namount: 24.00\ncurrency: USD\norder_id: A7\n"
        "reason: The mug arrived broken",
        "spend asks first in a task you asked for (setting: ask)",
        f"💳 spend · t-41.1 · #{refund().rows[0].short_hash}\nexpires 7 Dec, 13:58 UTC",
    ]
    assert labels(message) == [["✅ Approve", "✏️ Edit"], ["✖ Decline", "💬 Change it…"]]
    assert verbs(message) == [Verb.APPROVE, Verb.EDIT, Verb.DECLINE, Verb.REVISE]
    assert [button.style for button in buttons(message)] == [Style.SUCCESS, None, Style.DANGER, None]
    assert message.token == refund().rows[0].token


def test_a_short_value_is_code_one_of_lines_a_paragraph_and_a_long_one_is_folded() -> None:
    card = asks("send_note", {"to": "a@b.com", "subject": "a\nb", "text": "word " * 99 + "end"}, room=ROOM)
    kinds = {one.kind for one in card_message(card).text.stretches}
    assert kinds >= {Kind.CODE, Kind.PRE, Kind.FOLDED}
    assert quoted(card_message(card).text) == ["word " * 99 + "end"]


def test_how_much_is_left_out_stands_under_what_is_shown() -> None:
    long = Field(name="text", value=f"{'word ' * 99}end\n\n", hidden=7)
    made = card_message(refund(rows=(replace(refund().rows[0], fields=(long,)),)))
    assert "word end\n… 9 more characters\n\nNot all of it is shown here" in words(made)
    short = replace(long, value="Hello")
    made = card_message(refund(rows=(replace(refund().rows[0], fields=(short,)),)))
    assert "text: Hello  … 7 more characters\n\nNot all of it is shown here" in words(made)


def test_a_value_that_is_no_prose_is_not_folded_and_so_not_broken() -> None:
    card = asks("send_note", {"to": "a@b.com", "subject": "s", "text": ".a@b/c" * 60}, room=ROOM)
    made = card_message(card)
    assert ".a@b/c" * 60 in made.text.words
    takes(made)


def test_what_a_person_changed_is_shown_as_it_was_and_as_it_is() -> None:
    made = words(card_message(samples.asks_again()))
    assert "amount: 24.00 → 18.50" in made
    long = replace(samples.note().rows[0].fields[2], before="Hello,\n\nas it was.")
    row = replace(samples.note().rows[0], fields=(long,))
    made = words(card_message(replace(samples.note(), rows=(row,))))
    assert "text, as it was proposed:\nHello,\n\nas it was.\ntext:\nHello Mara," in made


@pytest.mark.parametrize(("risk", "verb"), [("remove", "sure"), ("profile", "sure"), ("spend", "approve")])
def test_what_can_not_be_taken_back_is_asked_twice(risk: str, verb: str) -> None:
    row = replace(samples.refund().rows[0], risk=risk)
    assert verbs(card_message(refund(rows=(row,))))[0] == verb


def test_sending_again_is_asked_twice() -> None:
    made = card_message(samples.unknown())
    assert verbs(made) == [Choice.WENT_OUT, Choice.DID_NOT, Menu.SURE_AGAIN, Choice.LOOK_UP]
    assert labels(made)[0] == ["It went out", "It did not"]


def test_stopping_the_task_has_a_button_of_its_own_where_it_is_offered_first() -> None:
    made = card_message(samples.stop_first())
    assert labels(made)[0] == ["⏹ Decline and stop the task"]
    assert [button.style for button in buttons(made) if button.style is Style.DANGER] == [Style.DANGER]


def test_each_call_of_several_has_a_row_of_buttons_named_by_its_code() -> None:
    made = card_message(samples.group())
    assert labels(made)[0] == ["✅ t-41.1", "✏️", "✖", "💬"]
    assert labels(made)[4] == ["✅ t-41.5", "✏️", "✖", "💬"] and verbs(made)[16] == Menu.SURE
    assert labels(made)[5:] == [["✅ Approve all 5"]]
    assert made.token is None and len(made.tokens) == 5


def test_what_is_decided_among_several_says_so_and_has_no_buttons() -> None:
    made = card_message(samples.group_decided())
    assert labels(made) == [["✅ t-41.3", "✏️", "✖", "💬"]]
    bold = {piece.words.replace(JOINER, "") for piece in pieces(made.text) if "bold" in piece.kinds}
    assert {"✔ Approved by Ben, 14:02 UTC · done"} <= bold


@pytest.mark.parametrize("name", ["approved", "edited", "declined", "expired"])
def test_a_card_that_has_ended_keeps_what_was_decided_and_who_did(name: str) -> None:
    card = getattr(samples, name)()
    made = card_message(card)
    assert made.keyboard == ()
    (row,) = card.rows
    assert row.status in words(made).split("\n")
    assert all(field.value in words(made) for field in row.fields)


def test_the_address_of_a_sign_in_is_in_the_button_alone() -> None:
    made = card_message(samples.connect())
    (row,) = samples.connect().rows
    links = [button for button in buttons(made) if button.url is not None]
    assert [link.url for link in links] == [row.url]
    assert row.url is not None and "accounts" not in words(made)
    assert labels(made)[1] == ["✔ It is connected", "✖ Not now"]


@pytest.mark.parametrize(
    "url", ["http://localhost:8000/x", "https://a.example/ x", "ftp://a.b", "https://é.example/"]
)
def test_an_address_that_telegram_opens_not_has_no_button_and_says_so(url: str) -> None:
    row = replace(samples.connect().rows[0], url=url)
    made = card_message(replace(samples.connect(), rows=(row,)))
    takes(made)
    assert [button for button in buttons(made) if button.url is not None] == []
    assert "Telegram opens no such address" in words(made) and url not in words(made)


def test_a_sign_in_that_has_ended_has_no_button() -> None:
    row = replace(samples.connect().rows[0], choices=(), status="✔ Connected by Ben, 14:02 UTC")
    assert card_message(replace(samples.connect(), rows=(row,))).keyboard == ()
    assert card_message(replace(samples.connect(), rows=(row, row))).keyboard == ()


def test_each_answer_that_is_suggested_has_a_row_whole() -> None:
    made = card_message(samples.question())
    assert labels(made) == [["Nothing"], ["10 %"], ["15 %"], ["💬 Answer…", "✖ Decline"]]
    assert [pressed(b.data or "") for b in buttons(made)][1].numbers == (1,)  # type: ignore[union-attr]


def test_answers_too_long_for_a_button_stand_in_the_text_by_their_numbers() -> None:
    long = ["the blue one, with a lid and a saucer, as last time", "none"]
    made = card_message(question(long, ROOM, asked="Which?"))
    takes(made)
    assert "1. the blue one, with a lid and a saucer, as last time\n2. none" in words(made)
    assert labels(made)[0] == ["1", "2"]


def test_answers_that_have_no_room_are_counted() -> None:
    made = card_message(question([f"{n} " + "long " * 90 for n in range(30)], ROOM, asked="Which?"))
    takes(made)
    numbers = [b.words for b in buttons(made) if b.words.isdigit()]
    assert f"{30 - len(numbers)} more suggested" in words(made)


def test_the_agents_own_words_are_a_quote_behind_its_name() -> None:
    made = card_message(samples.note())
    (own,) = quoted(made.text)
    assert own.replace(JOINER, "") == samples.note().said
    assert "Sam says:\n" in words(made)


def test_a_card_of_many_says_more_of_each_where_it_is_alone() -> None:
    """What stands beside the arguments gives way to them, and not they to it."""
    args = {"to": "a@b.com", "subject": "s", "text": "word " * 330}
    card = asks("send_note", args, room=ROOM)
    beside = replace(card.rows[0], seen="now " * 140, preview="then " * 110, earlier=("before " * 25,) * 5)
    made = card_message(replace(card, rows=(beside,), said="own " * 150))
    takes(made)
    assert len(may_run(made)) == 1
    assert len(words(made)) > 2_000
