"""Buttons under a message, and what comes back with a press: a verb, a token, at most two numbers.

Never what was shown or is to run: a button's data has 64 bytes, and lives for as long as its message does.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from core.visible import shortened

MOST_BYTES: Final = 64
"""Of a button's data."""
MOST_BUTTONS: Final = 100
MOST_IN_A_ROW: Final = 8
LONGEST_LABEL: Final = 60
"""Characters of what a button says; a telephone shows about forty of them on a row of its own."""
_DATA: Final = re.compile(r"([a-z][a-z_]{0,19}):([A-Za-z0-9_-]{1,32})((?::[0-9]{1,4}){0,2})")


class Style(StrEnum):
    """A button's colour."""

    SUCCESS = "success"  # green
    DANGER = "danger"  # red
    PRIMARY = "primary"  # blue


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """It has either *data*, which comes back with a press, or a *url*, which it opens."""

    words: str
    data: str | None = None
    url: str | None = None
    style: Style | None = None


Keyboard: TypeAlias = tuple[tuple[Button, ...], ...]
"""Rows of buttons."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """What a button's data says."""

    verb: str
    token: str
    numbers: tuple[int, ...] = ()


def data(verb: str, token: str, *numbers: int) -> str:
    """approve:k3Jd…, answer:k3Jd…:2"""
    made = ":".join((verb, token, *map(str, numbers)))
    assert _DATA.fullmatch(made) and len(made) <= MOST_BYTES, made
    return made


def command_data(words: str) -> str:
    """The data of a button that says a command for whoever presses it: /stop t-12"""
    made = f"/{words}"
    assert made.isascii() and len(made) <= MOST_BYTES, made
    return made


def pressed(said: str) -> Pressed | None:
    """What *said* means; None of a command, and of a button of another release."""
    found = _DATA.fullmatch(said)
    if found is None:
        return None
    verb, token, numbers = found.groups()
    return Pressed(verb=verb, token=token, numbers=tuple(int(n) for n in numbers.split(":")[1:]))


def markup(keyboard: Keyboard) -> InlineKeyboardMarkup | None:
    """As python-telegram-bot sends it; None where there are no buttons."""
    if not keyboard:
        return None
    return InlineKeyboardMarkup([[_button(button) for button in row] for row in keyboard])


def _button(button: Button) -> InlineKeyboardButton:
    return InlineKeyboardButton(
        shortened(button.words, LONGEST_LABEL) or "–",
        callback_data=button.data,
        url=button.url,
        style=None if button.style is None else button.style.value,
    )


def in_rows(buttons: list[Button], wide: int) -> Keyboard:
    """*buttons*, *wide* of them in a row."""
    return tuple(tuple(buttons[n : n + wide]) for n in range(0, len(buttons), wide))
