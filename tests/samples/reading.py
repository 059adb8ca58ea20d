"""Blocks as their reader sees them: walked, and a call's arguments read back from what a card shows.

By whoever knows Slack's format and how a card lays out its arguments, and none of the code that makes one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from core.shown import NOT_SET, value_shown
from core.tasks import Json
from core.visible import raw

Object = Mapping[str, Any]

OF_CODE: Final = frozenset({"type", "action_id", "block_id", "callback_id", "private_metadata", "value"})
"""Keys whose texts nobody reads: they come back with a press."""


def objects(shown: Any) -> Iterator[Object]:
    """Every object within *shown*, outermost first."""
    if isinstance(shown, Mapping):
        yield shown
        for inner in shown.values():
            yield from objects(inner)
    elif isinstance(shown, list):
        for inner in shown:
            yield from objects(inner)


def texts(shown: Any) -> Iterator[str]:
    """Every text within *shown* that somebody reads."""
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, Mapping):
        for key, inner in shown.items():
            if key not in OF_CODE:
                yield from texts(inner)
    elif isinstance(shown, list):
        for inner in shown:
            yield from texts(inner)


def buttons(shown: Any) -> Iterator[Object]:
    return (one for one in objects(shown) if one.get("type") == "button")


# ── arguments ────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Reading:
    """Lines of one rich text, as they are read one after the other."""

    args: dict[str, Json] = field(default_factory=dict)
    named: str | None = None  # an argument whose value is to follow in a box of its own

    def line(self, parts: Sequence[Object]) -> None:
        """*name*  value; what it was, struck through, before it. A name alone: its value follows."""
        self.named = None
        styles = [frozenset(part.get("style") or ()) for part in parts]
        if not parts or styles[0] != {"bold"}:
            return
        name = raw(parts[0]["text"])
        values = [part["text"] for part, style in zip(parts, styles, strict=True) if style == {"code"}]
        if len(parts) == 1:
            self.named = name
        elif values and len(values) == 1:
            self._take(name, values[0])

    def box(self, text: str) -> None:
        if self.named is not None:
            self._take(self.named, text)
            self.named = None

    def _take(self, name: str, seen: str) -> None:
        if name in self.args:
            raise ValueError(f"{name} is there twice")
        if seen != NOT_SET:
            self.args[name] = value_shown(seen)


def arguments(rich_text: Object) -> dict[str, Json]:
    """The arguments that the rich text of one call shows. Raises ValueError where one is there twice."""
    reading = _Reading()
    for part in rich_text["elements"]:
        match part["type"]:
            case "rich_text_section":
                for line in _lines(part["elements"]):
                    reading.line(line)
            case "rich_text_preformatted":
                (only,) = part["elements"]
                reading.box(only["text"])
    return reading.args


def _lines(parts: Sequence[Object]) -> list[list[Object]]:
    """A section's elements, by the breaks between its lines: an element that is a line's end and no more."""
    made: list[list[Object]] = [[]]
    for part in parts:
        if part["type"] == "text" and part["text"] == "\n":
            made.append([])
        else:
            made[-1].append(part)
    return made
