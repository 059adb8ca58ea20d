"""A call's arguments as a card shows them: in the order that matters, whole, and to be read back exactly.

The move that takes a decision asks the same functions as the card whether all was shown (I32), so that the
two can't differ. Knows nothing of surfaces, parks and people.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.arguments import nested_too_deep
from core.canonical import dump, load
from core.tasks import Json
from core.visible import cut, raw, units, visible


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """How much of the arguments a card shows: *alone* of one call, *several* of all its calls together.

    In UTF-16 units, as chats count; what is longer is reviewed (threats S4, I32).
    """

    alone: int
    several: int

    def of_each(self, together: int) -> int:
        """What each of so many calls that asked at once has of it.

        By how many asked at once, not by how many wait still: what a card showed of a call stays true.
        """
        return self.alone if together == 1 else min(self.alone, self.several // together)


ROOM: Final = Room(alone=2400, several=4800)
"""In a chat whose messages hold some 12,000 characters."""

LINE: Final = 60
"""What a line break takes of the room: a value of empty lines pushes the others out of sight as well."""

PAGE: Final = 2800
"""Characters of one page of a review, which fits a block of any chat."""

NOT_SET: Final = "(not set)"
"""An argument that is not given; a text of these very words is shown in quotes."""

_LEAST: Final = 40
"""Of the room for each argument, where there are many."""
_EACH: Final = 10
_EACH_EDITED: Final = 40
"""That an argument takes at the least: a name, a sign and a line take room, however short they are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One argument: its name, its value as text, and what it was before an edit.

    *hidden*: how many characters of it, of its name and of what it was are not shown.
    """

    name: str
    value: str
    before: str | None = None
    editable: bool = True
    hidden: int = 0


# ── one value ────────────────────────────────────────────────────────────────────────────────


def shown_value(value: Json) -> str:
    """An argument as a card shows it: text as it is, other values as JSON to the digit, both visible.

    A text that would be read as something else (a number, JSON, nothing, blanks at an end) is JSON too, in
    its quotes: `value_shown` says which value it is, always.
    """
    if isinstance(value, str) and not _reads_otherwise(value):
        return visible(value, lines=True)
    return visible(dump(value))


def on_one_line(value: Json) -> str:
    """The same within a sentence: its line breaks as a sign."""
    return shown_value(value).replace("\n", " ⏎ ")


def value_shown(seen: str) -> Json:
    """The one value that `shown_value` shows as *seen*."""
    text = raw(seen)
    return load(text) if _is_json(text) else text


def _reads_otherwise(text: str) -> bool:
    return not text or text != text.strip() or text == NOT_SET or _is_json(text)


def _is_json(text: str) -> bool:
    if nested_too_deep(text):
        return False
    try:
        json.loads(text, parse_float=str)
    except ValueError:  # also a whole number past what Python reads
        return False
    return True


# ── all of them ──────────────────────────────────────────────────────────────────────────────

_MATTERS: Final = tuple(
    frozenset(words.split())
    for words in (
        "to recipient recipients payee beneficiary email mail phone channel iban address cc bcc",
        "amount total price sum cost fee quantity currency",
        "url uri host path file filename folder command cmd query",
    )
)
"""What a person looks for first: whom it reaches, how much, what it touches; a word of the name says it."""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def rank(name: str) -> int:
    """0 for an argument that names a recipient, 1 an amount, 2 a place or command, 3 for all others.

    Any of the words of a name says so: ``customer_email``, ``toAddress``.
    """
    words = {word.lower() for word in _WORDS.findall(name)}
    return next((n for n, group in enumerate(_MATTERS) if words & group), len(_MATTERS))


def fields_of(
    args: Mapping[str, Json], proposed: Json = None, editable: Collection[str] | None = None
) -> tuple[Field, ...]:
    """Every argument whole, those that matter first, the others in the order given.

    *proposed*: what the model wrote; another value than it is shown with what it was. *editable*: names a
    person may change; None: all.
    """
    before = proposed if isinstance(proposed, dict) else {}
    names = (*args, *(k for k in before if k not in args))
    made = (_field(name, args, before, editable is None or name in editable) for name in names)
    return tuple(sorted(made, key=lambda field: rank(field.name)))


def _field(name: str, args: Mapping[str, Json], before: Mapping[str, Json], editable: bool) -> Field:
    now, was = _shown(args, name), _shown(before, name) if before else None
    return Field(name=visible(name), value=now, before=None if was == now else was, editable=editable)


def _shown(args: Mapping[str, Json], name: str) -> str:
    return shown_value(args[name]) if name in args else NOT_SET


def read_back(fields: Sequence[Field]) -> dict[str, Json]:
    """The arguments that *fields* show, exactly. Raises ValueError where not all of them is shown."""
    if any(field.hidden for field in fields):
        raise ValueError("the beginning alone of some argument is shown")
    return {raw(f.name): value_shown(f.value) for f in fields if f.value != NOT_SET}


# ── room ─────────────────────────────────────────────────────────────────────────────────────


def share(room: int, together: int) -> int:
    """What each of *together* calls has of *room*, which is that of one or two."""
    return room if together <= 2 else room * 2 // together


def shown_whole(args: Mapping[str, Json], proposed: Json, room: int | None) -> bool:
    """Whether a card with *room* for them shows these arguments whole; None: it has any room (I32)."""
    if room is None:
        return True
    fields = fields_of(args, proposed)
    least = sum(_EACH if field.before is None else _EACH_EDITED for field in fields)
    return max(extent(fields), least) <= room


def extent(fields: Sequence[Field]) -> int:
    """The room that *fields* take."""
    return sum(_extent(text) for f in fields for text in (f.name, f.value, f.before or ""))


def _extent(text: str) -> int:
    return units(text) + LINE * text.count("\n")


def beginnings(fields: Sequence[Field], room: int) -> tuple[Field, ...]:
    """The beginning of each of *fields*, all in *room*: what the short ones leave is the long ones'.

    Each says how many of its characters are hidden. Of very many the last are left out, and counted too.
    """
    some = fields[: max(room // _LEAST, 1)]
    made: list[Field] = []
    left = room
    for n, field in enumerate(some):
        made.append(_beginning(field, left // (len(some) - n)))
        left -= extent(made[-1:])
    if rest := sum(map(_characters, fields[len(some) :])):
        made[-1] = replace(made[-1], hidden=made[-1].hidden + rest)
    return tuple(made)


def _beginning(field: Field, room: int) -> Field:
    """*field* within *room*: at most half of it for the name, the rest for its value and what it was."""
    if extent([field]) <= room:
        return field
    name = _start(field.name, room // 2)
    each = (room - _extent(name)) // (1 if field.before is None else 2)
    before = None if field.before is None else _start(field.before, each)
    shorter = replace(field, name=name, value=_start(field.value, each), before=before)
    return replace(shorter, hidden=_characters(field) - _characters(shorter))


def _start(seen: str, room: int) -> str:
    taken = 0
    for n, c in enumerate(seen):
        taken += _extent(c)
        if taken > room:
            return cut(seen, n)
    return seen


def _characters(field: Field) -> int:
    return len(field.name) + len(field.value) + len(field.before or "")


def pages(fields: Sequence[Field], most: int = PAGE) -> tuple[str, ...]:
    """*fields* whole, as pages of at most *most* characters; joined they are the one text.

    Cut at a line's end where one is near, never inside a character that is spelled out. Of a value of several
    lines each begins with ``| ``: none of them can pass for another argument.
    """
    text, made = "\n".join(map(_paragraph, fields)), []
    while text:
        part = cut(text, most)
        if len(part) < len(text) and (end := part.rfind("\n", most * 3 // 4)) >= 0:
            part = part[: end + 1]
        made.append(part)
        text = text[len(part) :]
    return tuple(made)


def _paragraph(field: Field) -> str:
    was = "" if field.before is None else f"\n{_stated(f'{field.name}, as proposed', field.before)}"
    return f"{_stated(field.name, field.value)}{was}"


def _stated(name: str, value: str) -> str:
    if "\n" not in value:
        return f"{name}: {value}"
    return "\n".join([f"{name}:", *(f"| {line}" for line in value.split("\n"))])
