"""What a card's buttons give way to while something is chosen, and what somebody is asked to write.

A menu changes nothing, and needs no row: each of its buttons says all that it means. What is to be written is
asked by a message of its own, which is answered by a reply.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from telegram import User

from adapters.telegram.shown.keyboards import Button, Keyboard, Style, data, in_rows
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import (
    Text,
    bold,
    code,
    cut_to,
    italic,
    joined,
    mention,
    plain,
    pre,
    safe,
    trimmed,
)
from core.cards import LABELS, Verb
from core.forms import Form, Input, Kind
from core.headlines import is_short
from core.parks import Choice
from core.shown import NOT_SET
from core.visible import cut, shortened, units, visible

MOST_FIELDS: Final = 40
"""That a menu names; a command changes the others."""
MOST_VALUES: Final = 8
LONGEST_VALUE: Final = 30
LONGEST_SHOWN: Final = 2_900
"""Units of a value as it is now, where its new one is asked; the file beside it has a longer one whole."""
LONGEST_HINT: Final = 500
"""Units of what may be written."""
LONGEST_NAME: Final = 100
LONGEST_PLACEHOLDER: Final = 64
ENDS: Final = "Reply to this message. /cancel leaves it as it is."
"""How each question ends; `is_question` knows it by that."""


class Menu(StrEnum):
    """What the buttons of a card and of its menus do beside deciding: they change what can be pressed."""

    DECLINE = "decline"  # asks how
    DECLINE_NOW = "decline_now"  # declines, nothing more
    WHY = "decline_why"  # asks why, first
    SURE = "sure"  # asks once more before it is approved
    SURE_AGAIN = "sure_again"  # before it is sent again
    EDIT = "edit"  # asks which field
    FIELD = "field"  # the n-th one is to be changed
    VALUE = "value"  # to its m-th choice
    BACK = "back"  # the card's own buttons


def _back(token: str) -> tuple[Button, ...]:
    return (Button(words="◀ Back", data=data(Menu.BACK, token)),)


def declining(token: str) -> Keyboard:
    """How a call is declined."""
    return (
        (Button(words="✖ Decline", data=data(Menu.DECLINE_NOW, token), style=Style.DANGER),),
        (Button(words="💬 Say why…", data=data(Menu.WHY, token)),),
        (Button(words="⏹ Decline and stop the task", data=data(Verb.DECLINE_STOP, token)),),
        _back(token),
    )


def sure(token: str, verb: str) -> Keyboard:
    """*verb*, approve or send_again, is asked once more."""
    words = "It may go out twice." if verb == Choice.SEND_AGAIN else "It can't be taken back."
    yes = Button(words=f"{words} Yes, {LABELS[verb].lower()}", data=data(verb, token), style=Style.DANGER)
    return ((yes,), _back(token))


# ── an edit ──────────────────────────────────────────────────────────────────────────────────


def fields(form: Form, token: str) -> Keyboard:
    """A button for each field that may be changed, the first ones of very many."""
    named = [
        Button(words=f"✏️ {asked.label or visible(asked.name)}", data=data(Menu.FIELD, token, n))
        for n, asked in enumerate(form.inputs[:MOST_FIELDS])
    ]
    return (*in_rows(named, 2), _back(token))


def values(form: Form, token: str, n: int) -> Keyboard | None:
    """A button for each value that the n-th field may have; None where it is to be written."""
    there = choices(form, n)
    if not there:
        return None
    now = form.inputs[n]
    named = [
        Button(words=f"{'• ' if value == now.value else ''}{value}", data=data(Menu.VALUE, token, n, m))
        for m, value in enumerate(there)
    ]
    return (*in_rows(named, 2), _back(token))


def choices(form: Form, n: int) -> tuple[str, ...]:
    """The few short values that the n-th field may have; none where it is to be written, or is not there."""
    if not 0 <= n < len(form.inputs):
        return ()
    asked = form.inputs[n]
    there = ("yes", "no") if asked.kind is Kind.BOOLEAN else asked.choices
    short = all(0 < len(value) <= LONGEST_VALUE for value in there)
    of_one = asked.kind in (Kind.BOOLEAN, Kind.CHOICE)
    return there if of_one and short and len(there) <= MOST_VALUES else ()


def value_of(form: Form, n: int = -1, m: int = -1) -> str | None:
    """The m-th value of the n-th field, as its text; None where there is none any more."""
    there = choices(form, n)
    return there[m] if 0 <= m < len(there) else None


# ── questions ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is to be answered by a reply. *placeholder*: what stands where the reply is written.

    *file*: by its name, what is asked about, where the text has its beginning alone.
    """

    text: Text
    placeholder: str
    file: tuple[str, str] | None = None

    @classmethod
    def again(cls, why: str) -> "Question":
        """The same once more, since what was said does not do: *why*."""
        return cls(text=cut_to(safe(why), LONGEST_SHOWN), placeholder="Reply once more")

    def to(self, user: User | None) -> Message:
        """As a message; in a chat of many to *user*, who is told of it."""
        name = Text() if user is None else mention(visible(user.first_name), user.id) + plain(":")
        return Message(text=trimmed(joined([joined([name, self.text], " "), plain(ENDS)], "\n\n")))


def is_question(text: str | None) -> bool:
    """Whether a message of ours with that *text* asked for a reply."""
    return text is not None and text.endswith(ENDS)


def question_for(verb: str, asks: str, call: str = "") -> Question:
    """What is to be said with *verb*, in words of ours: *asks*. *call*: the code of what it is about."""
    about = f" of {call}" if call else ""
    placeholders: dict[str, str] = {
        Verb.DECLINE: f"Reply with the reason{about}",
        Verb.REVISE: f"Reply with the change{about}",
        Verb.ANSWER: f"Reply with your answer{about}",
    }
    placeholder = placeholders.get(verb, f"Reply here{about}")
    text = joined([plain(f"{call}:") if call else Text(), asks], " ")
    return Question(text=cut_to(text, LONGEST_SHOWN), placeholder=_placeholder(placeholder))


def question_for_field(asked: Input, call: str = "") -> Question:
    """The new value of a field, what it is now, and what may be written. *call*: the code of whose it is."""
    name, of = visible(asked.name), f" of {call}" if call else ""
    hint = " · ".join(part for part in (_takes(asked), asked.limits, asked.description) if part)
    asks = bold(plain("The new "), shortened(name, LONGEST_NAME), plain(f"{of}?"))
    top = joined([asks, cut_to(italic(hint), LONGEST_HINT)])
    now = asked.value if asked.present else ""
    whole = pre(now)
    shown = cut_to(whole, LONGEST_SHOWN)
    if shown.plain.units > LONGEST_SHOWN:  # it is to fit without its entities, too
        shown = cut_to(whole, LONGEST_SHOWN // 2)
    file = None if shown == whole else (f"{call} {name}".strip(), now)
    if not now:
        is_now = plain(f"Now: {'nothing' if asked.present else NOT_SET}")
    elif is_short(now):
        is_now = plain("Now: ") + code(now)
    else:
        label = "Now:" if file is None else "Now, its beginning; the file has it whole:"
        is_now = joined([plain(label), shown])
    text = joined([top, is_now], "\n\n")
    placeholder = f"Reply with the new {name}{of}, now {' '.join(now.split()) or NOT_SET}"
    return Question(text=text, placeholder=_placeholder(placeholder), file=file)


_TAKES: Final = {
    Kind.NUMBER: "a number",
    Kind.DATE: "a date, such as 2025-01-31",
    Kind.LIST: "one a line",
    Kind.JSON: "JSON",
}


def _takes(asked: Input) -> str:
    """What may be written."""
    if asked.choices:
        some = "some of these, one a line" if asked.kind is Kind.LIST else "one of these"
        return f"{some}: {', '.join(asked.choices)}"
    return _TAKES.get(asked.kind, "")


def _placeholder(words: str) -> str:
    """*words* within what Telegram takes."""
    made = shortened(words, LONGEST_PLACEHOLDER)
    while units(made) > LONGEST_PLACEHOLDER:
        made = f"{cut(made, len(made) - 2)}…"
    return made
