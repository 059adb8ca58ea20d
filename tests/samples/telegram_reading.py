"""A Telegram message as its reader sees it: taken by the fake's rules, its arguments read back.

By whoever knows how a card lays out its arguments, and none of the code that makes one.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from telegram import MessageEntity

from adapters.telegram.shown.keyboards import markup
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import Text
from core.shown import NOT_SET, value_shown
from core.tasks import Json
from core.visible import raw
from tests.fakes.telegram.entities import Formatted, formatted
from tests.fakes.telegram.markup import markups

JOINER: Final = "\u2060"
QUOTES: Final = ("blockquote", "expandable_blockquote")


def blamed(what: str, why: str) -> None:
    """Telegram would drop something without a word."""
    raise AssertionError(f"{what}: {why}")


def kept(text: Text, limit: int = 4096) -> Formatted:
    """*text* as Telegram keeps it. Raises Refused where it does not take it, AssertionError where not all."""
    given = [entity.to_dict() for entity in text.entities()]
    made = formatted(text.words, given, limit=limit, too_long="message is too long", blame=blamed)
    assert made.text == text.words, "it is kept as it is"
    assert [_named(one) for one in made.entities] == [_named(one) for one in given]
    return made


def _named(entity: dict[str, Any]) -> tuple[str, int, int]:
    return entity["type"], entity["offset"], entity["length"]


def takes(message: Message, *ours: str) -> None:
    """Telegram takes *message* as it is, and finds nothing in it but *ours*, commands to be sent."""
    made = kept(message.text)
    assert [one for one in made.found if (one.type, one.text) not in {("bot_command", c) for c in ours}] == []
    for row in message.keyboard:
        for button in row:
            assert (button.data is None) != (button.url is None)
            assert button.data is None or (button.data.isascii() and 1 <= len(button.data) <= 64)
    shown = markup(message.keyboard)
    if shown is not None:
        markups(shown.to_dict(), blamed)


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that are set in one way."""

    words: str
    kinds: frozenset[str]


def pieces(text: Text) -> list[Piece]:
    """*text* between the borders of its entities."""
    units, entities = text.words.encode("utf-16-le"), text.entities()
    borders = sorted({0, len(units) // 2, *(e for one in entities for e in (one.offset, _end(one)))})
    return [
        Piece(
            units[2 * begin : 2 * end].decode("utf-16-le"),
            frozenset(str(one.type) for one in entities if one.offset <= begin and end <= _end(one)),
        )
        for begin, end in pairwise(borders)
    ]


def _end(entity: MessageEntity) -> int:
    return entity.offset + entity.length


def quoted(text: Text) -> list[str]:
    """What stands in quotes."""
    return [piece.words for piece in pieces(text) if piece.kinds & set(QUOTES)]


# ── arguments ────────────────────────────────────────────────────────────────────────────────

_CALL: Final = re.compile(r"(t-\d+\.\d+(?:v\d+)?) · ")
_STYLED: Final = "\0"
_CODE: Final = "\1"
"""What stands for words that are set in some way, in a line that is read for a name."""


def calls(text: Text) -> dict[str, list[Piece]]:
    """The parts of *text*, of several calls, by the codes that begin their titles."""
    found: dict[str, list[Piece]] = {}
    own: list[Piece] = []
    for part in pieces(text):
        if "bold" in part.kinds and (title := _CALL.match(part.words)):
            own = found.setdefault(title[1], [])
        own.append(part)
    return found


def arguments(parts: Iterable[Piece]) -> dict[str, Json]:
    """The arguments that *parts*, of one call, show. Raises ValueError where one is there twice."""
    reading = _Reading()
    for part in parts:
        reading.read(part)
    return {raw(name): value_shown(seen) for name, seen in reading.found.items() if seen != NOT_SET}


@dataclass(slots=True)
class _Reading:
    found: dict[str, str] = field(default_factory=dict)
    name: str = ""
    line: str = ""
    before: str = ""  # the line above

    def read(self, part: Piece) -> None:
        if "code" in part.kinds:
            self._beside(part.words)
            self.line += _CODE
        elif "pre" in part.kinds or part.kinds & set(QUOTES):
            self._below(part)
            self.line = _STYLED
        else:
            first, *others = part.words.replace(JOINER, "").split("\n")
            self._plain(first, others, styled=bool(part.kinds))

    def _plain(self, first: str, others: list[str], *, styled: bool) -> None:
        mark = _STYLED if styled else ""
        self.line += mark + first
        for words in others:
            self.before, self.line = self.line, mark + words

    def _beside(self, seen: str) -> None:
        """name: value, or name: what it was → value"""
        if self.line.endswith(f"{_CODE} → "):
            self.found[self.name] = seen
        elif self.line.endswith(": ") and _STYLED not in self.line:
            self.name = self.line.removesuffix(": ")
            self._take(self.name, seen)

    def _below(self, part: Piece) -> None:
        """The name on the line above; or all of them in one paragraph."""
        label = self.before
        if "pre" in part.kinds and (not label or label.startswith(_STYLED)):
            for name, seen in _paragraph(part.words):
                self._take(name, seen)
        elif label.endswith(":") and _STYLED not in label:
            name = label.removesuffix(":")
            if not name.endswith((", as it was proposed", " says")):
                self._take(name, part.words.replace(JOINER, "") if "pre" not in part.kinds else part.words)

    def _take(self, name: str, seen: str) -> None:
        if name in self.found:
            raise ValueError(f"{name} is there twice")
        self.found[name] = seen


def _paragraph(words: str) -> Iterator[tuple[str, str]]:
    """All the arguments in one: a line each, of several lines each after a bar."""
    lines = words.split("\n")
    while lines:
        line = lines.pop(0)
        if line.endswith(":") and lines and lines[0].startswith("| "):
            several = []
            while lines and lines[0].startswith("| "):
                several.append(lines.pop(0).removeprefix("| "))
            name, value = line.removesuffix(":"), "\n".join(several)
        else:
            name, _, value = line.partition(": ")
        if not name.endswith(", as proposed"):
            yield name, value
