"""What one person is told in Telegram: messages that each fit, the whole of a call, words that go by."""

from dataclasses import replace
from typing import Final

import pytest

from adapters.telegram.shown.answers import (
    LONGEST_TOAST,
    MORE,
    MOST_MESSAGES,
    TOO_LONG,
    fits_toast,
    messages_of,
    shows_whole,
    toast,
)
from adapters.telegram.shown.cards import ROOM, card_message
from adapters.telegram.shown.keyboards import pressed
from adapters.telegram.shown.menus import Menu
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import LONGEST as LONGEST_MESSAGE
from adapters.telegram.shown.text import pre, unbroken
from core.cards import Card, Verb, pages
from core.chat import Answer, Table
from core.parks import UNKNOWN_CHOICES, Choice, ParkKind
from core.visible import units
from tests.samples import views as samples
from tests.samples.extremes import LONG, crowd
from tests.samples.shop import asks, call, park, shown
from tests.samples.telegram_reading import pieces, takes


def verbs(message: Message) -> list[str]:
    return [found.verb for row in message.keyboard for b in row if (found := pressed(b.data or ""))]


def test_words_a_table_and_cards_are_messages_of_their_own() -> None:
    table = Table(headings=("Task", "State"), rows=(("t-1", "done"), ("t-2", "waiting")))
    made = messages_of(Answer(words="See t-1.", table=table, views=(samples.refund(), samples.note())))
    for message in made:
        takes(message)
    words, *cards = made
    assert words.text.words == "See t-1.\n\nTask  State\nt-1   done\nt-2   waiting"
    assert [card.token for card in cards] == [samples.refund().rows[0].token, samples.note().rows[0].token]
    assert cards[0] == card_message(samples.refund())
    assert messages_of(Answer()) == ()


def test_long_words_are_several_messages_and_all_of_them() -> None:
    words = "".join(f"line {n} of many\n" for n in range(900))
    made = messages_of(Answer(words=words))
    assert 2 <= len(made) <= MOST_MESSAGES
    for message in made:
        takes(message)
    assert "\n".join(message.text.words for message in made) == words.strip()


def test_an_answer_of_more_than_ten_messages_says_that_there_is_more() -> None:
    made = messages_of(Answer(words="word " * 20_000))
    assert (len(made), made[-1].text.words) == (MOST_MESSAGES, MORE)
    made = messages_of(Answer(views=(samples.refund(),) * 12))
    assert (len(made), made[-1].text.words) == (MOST_MESSAGES, MORE)
    assert len(messages_of(Answer(views=(samples.refund(),) * 10))) == MOST_MESSAGES


TABLES: Final = {
    "50 rows of 5": Table(headings=("When", "Task", "Who", "Move", "Rule"), rows=((LONG * 9,) * 5,) * 50),
    "cells of nothing": Table(headings=("A", "B"), rows=(("", ""),) * 50),
    "wide cells of nothing": Table(headings=("A" * 60, "B" * 60), rows=(("", ""), (" \n", "b"))),
    "no rows": Table(headings=("A",), rows=()),
    "commands": samples.commands().table,
}


@pytest.mark.parametrize("name", TABLES)
def test_telegram_takes_every_table(name: str) -> None:
    for message in messages_of(Answer(words="x" * 3_000, table=TABLES[name])):
        takes(message)


def test_a_table_too_wide_for_a_telephone_is_a_line_a_row() -> None:
    narrow = Table(headings=("A", "B"), rows=(("x" * 18, "y" * 18),))
    wide = replace(narrow, rows=(("x" * 19, "y" * 18),))
    (made,) = messages_of(Answer(table=narrow))
    assert {kind for piece in pieces(made.text) for kind in piece.kinds} == {"pre"}
    (made,) = messages_of(Answer(table=wide))
    assert made.text.words == f"{'x' * 19}  {'y' * 18}"


# ── the whole of a call ──────────────────────────────────────────────────────────────────────


def review(card: Card) -> Answer:
    return Answer(views=(card,), pages=tuple(page for row in card.rows for page in pages(row)))


@pytest.mark.rule("I32")
def test_a_review_shows_all_and_then_offers_to_approve() -> None:
    answer = review(asks("publish_post", samples.post_args(), room=ROOM))
    made = messages_of(answer)
    for message in made:
        takes(message)
    first, *parts, last = made
    assert unbroken(first.text.words) == "The whole of t-41.1: Sam wants to publish_post"
    shows = "".join(part.text.words for part in parts)
    assert "".join(shows.split()) == "".join("".join(answer.pages).split())
    assert verbs(last) == [Verb.APPROVE, Verb.EDIT, Verb.DECLINE, Verb.REVISE]
    assert "this is all of it" in last.text.words
    assert last.token == answer.views[0].rows[0].token  # type: ignore[union-attr]
    assert [message.keyboard for message in made[:-1]] == [()] * (len(made) - 1)
    assert shows_whole(answer)


@pytest.mark.rule("I32")
@pytest.mark.parametrize("text", ["漢" * 30_000, "\U0001f600" * 30_000, "a\n" * 30_000])
def test_what_no_ten_messages_show_is_not_approved(text: str) -> None:
    long = review(asks("send_note", {"text": text}, room=ROOM))
    made = messages_of(long)
    assert (len(made) == 1) == (not shows_whole(long))
    if not shows_whole(long):
        assert made[0].text.words == TOO_LONG and verbs(made[0]) == []
    else:
        assert unbroken("".join(m.text.words for m in made)).count(text[0]) >= 30_000
    assert not shows_whole(review(asks("send_note", {"text": text * 2}, room=ROOM)))


def test_each_line_of_a_review_is_there() -> None:
    text = "\n".join(f"line {n}" for n in range(2_000))
    made = messages_of(review(asks("send_note", {"text": text, "to": "a@b.com"}, room=ROOM)))
    shown_lines = "\n".join(message.text.words for message in made).split("\n")
    assert [line for line in shown_lines if line.startswith("| ")] == [
        f"| {line}" for line in text.split("\n")
    ]


def test_what_is_asked_twice_is_so_after_a_review_too() -> None:
    row = replace(samples.removal().rows[0], choices=(Verb.REVIEW, Verb.DECLINE))
    made = messages_of(review(replace(samples.removal(), rows=(row,))))
    assert verbs(made[-1]) == [Menu.SURE, Verb.EDIT, Verb.DECLINE]


def test_an_unknown_that_was_read_whole_can_be_sent_again() -> None:
    about = call("send_note", {"text": "x" * 5_000})
    card = shown((park(about, kind=ParkKind.UNKNOWN, choices=UNKNOWN_CHOICES), about), room=ROOM)
    assert Choice.SEND_AGAIN not in card.rows[0].choices
    assert Menu.SURE_AGAIN in verbs(messages_of(review(card))[-1])


def test_a_call_that_was_decided_meanwhile_is_shown_and_not_asked() -> None:
    made = messages_of(review(samples.approved()))
    assert verbs(made[-1]) == []


@pytest.mark.rule("I32")
def test_a_review_says_all_of_it_without_entities_too() -> None:
    text = "/a.b@c" * 1_500  # each sign breaks something where it is no code
    made = messages_of(review(asks("send_note", {"text": text}, room=ROOM)))
    assert any(message.text.plain.units > message.text.units for message in made)
    said = "".join(unbroken(message.in_words.text.words) for message in made)
    assert "".join(said.replace("| ", "").split()).count("/a.b@c") == 1_500
    assert all(message.in_words.text.units <= LONGEST_MESSAGE for message in made)
    assert verbs(made[-1].in_words) == verbs(made[-1]) != []


@pytest.mark.rule("I32")
def test_what_is_cut_where_entities_are_not_taken_has_no_buttons() -> None:
    short = card_message(samples.refund())
    assert short.in_words == replace(short, text=short.text.plain)
    long = replace(short, text=pre("/a.b" * 1_000))
    assert long.text.units <= LONGEST_MESSAGE < long.text.plain.units
    assert (long.in_words.keyboard, long.in_words.text.words[-1]) == ((), "…")
    assert long.in_words.text.units <= LONGEST_MESSAGE and long.in_words.token == short.token


def test_telegram_takes_an_answer_of_the_longest_cards() -> None:
    for message in messages_of(Answer(words=LONG * 99, views=(crowd(16, ROOM), crowd(1, ROOM)))):
        takes(message)


# ── what goes by ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "words", ["", "t-1.2 approved by Ada.", "x" * 200, "x" * 201, "\U0001f600" * 101, LONG * 9]
)
def test_words_that_go_by_are_at_most_200(words: str) -> None:
    made = toast(words)
    assert units(made) <= LONGEST_TOAST
    assert (made == words) == fits_toast(words)
    assert fits_toast(words) or made.endswith("…")
