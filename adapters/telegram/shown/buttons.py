"""The buttons of a card: what may be answered to each of its calls, and to all of them.

A card of one call has them in words; of several, each has a row of its own, named by its code.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from adapters.telegram.shown.keyboards import (
    MOST_BUTTONS,
    Button,
    Keyboard,
    Style,
    data,
    in_rows,
)
from adapters.telegram.shown.menus import Menu
from core.cards import Card, Row, Verb
from core.headlines import asked_twice, label, offered, stands_out
from core.parks import Choice
from core.shown import share
from core.visible import units

SIGNS: Final[dict[str, str]] = {
    Verb.APPROVE: "✅",
    Verb.EDIT: "✏️",
    Verb.REVIEW: "🔎",
    Verb.DECLINE: "✖",
    Verb.REVISE: "💬",
    Verb.DECLINE_STOP: "⏹",
    Verb.ANSWER: "💬",
    Verb.CONNECTED: "✔",
    Verb.APPROVE_REST: "✅",
    Choice.STOP: "⏹",
}
_STYLES: Final[dict[str, Style]] = {
    Verb.APPROVE: Style.SUCCESS,
    Verb.CONNECTED: Style.PRIMARY,
    Verb.REVIEW: Style.PRIMARY,
    Verb.DECLINE_STOP: Style.DANGER,
    Choice.LOOK_UP: Style.PRIMARY,
    Choice.STOP: Style.DANGER,
}
"""Of `Verb.DECLINE`, see `_style`."""
_TOGETHER: Final[tuple[frozenset[str], ...]] = (
    frozenset({Verb.APPROVE, Verb.EDIT}),
    frozenset({Verb.ANSWER, Verb.CONNECTED, Verb.DECLINE, Verb.REVISE}),
    frozenset({Choice.WENT_OUT, Choice.DID_NOT}),
    frozenset({Choice.SEND_AGAIN, Choice.LOOK_UP}),
    frozenset({Choice.MORE_ROUNDS, Choice.MORE_TOKENS}),
)
"""Choices that share a row; every other has one of its own."""
_AS_SIGNS: Final = frozenset(
    {Verb.APPROVE, Verb.EDIT, Verb.REVIEW, Verb.DECLINE, Verb.REVISE, Verb.DECLINE_STOP}
)
"""Choices whose signs say enough beside each other, where there are several calls."""
LONGEST_ANSWER: Final = 36
"""Units of a suggested answer that its button shows whole."""
MOST_ANSWERS: Final = 10
ROOM_FOR_ANSWERS: Final = 900
"""Units of the suggested answers that stand in the text, of a card of one or two."""
LONGEST_URL: Final = 2_000


def card_keyboard(card: Card) -> Keyboard:
    """What may be answered to *card*; nothing of what is decided."""
    several = len(card.rows) > 1
    rows = [line for row in card.rows for line in (row_of_several(row) if several else row_alone(row))]
    for _ in card.choices:
        rest = data(Verb.APPROVE_REST, card.rest_token)
        words = f"{SIGNS[Verb.APPROVE_REST]} {card.rest_label}"
        rows.append((Button(words=words, data=rest, style=Style.SUCCESS),))
    return _at_most(rows)


def _at_most(rows: Sequence[tuple[Button, ...]]) -> Keyboard:
    """As many of *rows*, whole ones, as a keyboard takes."""
    kept: list[tuple[Button, ...]] = []
    left = MOST_BUTTONS
    for row in rows:
        left -= len(row)
        if left < 0:
            break
        kept.append(row)
    return tuple(kept)


# ── one call ─────────────────────────────────────────────────────────────────────────────────


def row_alone(row: Row) -> Keyboard:
    """[✅ Approve][✏️ Edit], [✖ Decline][💬 Change it…]; answers that are suggested first."""
    return _by_lines(row, "")


def _by_lines(row: Row, before: str) -> Keyboard:
    return (*_answers(row, before), *_link(row, before), *_in_words(row, before))


def row_of_several(row: Row) -> Keyboard:
    """[✅ t-1.2][✏️][✖][💬]; of what is no approval in words, its code before them."""
    if not row.choices:
        return ()
    if _AS_SIGNS.issuperset(row.choices):
        first, *others = offered(row)
        signs = [_button(row, choice, SIGNS[choice]) for choice in others]
        return ((_button(row, first, f"{SIGNS[first]} {row.code}"), *signs),)
    return _by_lines(row, f"{row.code} · ")


def _in_words(row: Row, before: str) -> Keyboard:
    lines: dict[int, list[Button]] = {}
    for n, choice in enumerate(offered(row)):
        place = next((k for k, those in enumerate(_TOGETHER) if choice in those), -1 - n)
        words = f"{SIGNS.get(choice, '')} {label(row, choice)}".strip()
        lines.setdefault(place, []).append(_button(row, choice, words if lines else f"{before}{words}"))
    return tuple(tuple(line) for line in lines.values())


def _button(row: Row, choice: str, words: str) -> Button:
    verb = choice
    if asked_twice(row, choice):
        verb = Menu.SURE_AGAIN if choice == Choice.SEND_AGAIN else Menu.SURE
    return Button(words=words, data=data(verb, row.token), style=_style(row, choice))


def _style(row: Row, choice: str) -> Style | None:
    """Red is what keeps a call from running, once on a card; green what lets it go on."""
    if choice == Verb.DECLINE:
        return Style.DANGER if stands_out(row) else None
    return None if choice == Verb.CONNECTED and row.url is not None else _STYLES.get(choice)


# ── an account ───────────────────────────────────────────────────────────────────────────────


def opens(url: str | None) -> bool:
    """Whether a button can open *url*: Telegram takes what has a host with a dot in it."""
    if url is None or not url.isascii() or len(url) > LONGEST_URL or any(c <= " " for c in url):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and "." in (parts.hostname or "") and parts.port != 0
    except ValueError:
        return False


def _link(row: Row, before: str) -> Keyboard:
    if not row.choices or not opens(row.url):
        return ()
    return ((Button(words=f"{before}🔗 Connect…", url=row.url, style=Style.PRIMARY),),)


# ── a question ───────────────────────────────────────────────────────────────────────────────


def answers_in_text(row: Row) -> tuple[str, ...]:
    """The suggested answers that stand in the text, numbered, since not every button could show its own."""
    if all(units(words) <= LONGEST_ANSWER for words in row.suggestions) and "" not in row.suggestions:
        return ()
    return pressable(row)


def pressable(row: Row) -> tuple[str, ...]:
    """The first suggested answers, that each have a button: what is pressed was read whole."""
    found: list[str] = []
    left = share(ROOM_FOR_ANSWERS, row.together)
    for words in row.suggestions[:MOST_ANSWERS]:
        left -= 2 * units(words) + 4  # as much as its breaks may take
        if left < 0:
            break
        found.append(words)
    return tuple(found)


def _answers(row: Row, before: str) -> Keyboard:
    """A row for each; numbers, where they stand in the text."""
    if Verb.ANSWER not in row.choices:
        return ()
    listed = bool(answers_in_text(row))
    made = [
        Button(
            words=f"{before}{n}" if listed else f"{before}{words}",
            data=data(Verb.ANSWER, row.token, n - 1),
        )
        for n, words in enumerate(pressable(row), 1)
    ]
    return in_rows(made, 5 if listed and not before else 1)
