"""A card as a Telegram message: what is asked first, every argument to the character, then how to answer.

What a message has no room for is left out from the end of what matters least, never of the arguments: these
are shown whole, or their call is reviewed (I32). A long argument is a quote that opens when it is tapped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from adapters.telegram.shown.buttons import answers_in_text, card_keyboard, opens, pressable
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import (
    Text,
    bold,
    code,
    cut_to,
    fits,
    folded,
    italic,
    joined,
    plain,
    pre,
    quote,
    safe,
    trimmed,
)
from core.cards import Card, Row, Verb
from core.headlines import (
    NOT_ALL,
    RISK_SIGNS,
    about_task,
    heading,
    is_short,
    reason_of,
    risk_of,
    unread,
    unseen,
    warned,
    was,
)
from core.shown import Field, Room, pages
from core.visible import shortened, units
from core.wording import day

ROOM: Final = Room(alone=2_200, several=1_500)
"""Of the arguments that a card shows: so little that with everything else, at its shortest, they always fit a
message of 4,096 units. What core counts as shown whole is shown whole (I32)."""
LONG: Final = 300
LONG_LINES: Final = 6
"""Characters and lines from which on a value is folded until it is tapped."""
UNBROKEN: Final = 1.1
BROKEN: Final = 20
"""How much longer words may get by what breaks links in them, and units beside: else they are no prose."""
NO_LINK: Final = "Telegram opens no such address: sign in where you run Gatepost, then press the button."


@dataclass(frozen=True, slots=True)
class Space:
    """How much of what stands beside the arguments is shown, in characters of each."""

    heading: int = 300
    told: int = 400  # the task's line, where it has moved, what was read from outside
    aside: int = 600  # what is seen, would be done, was sent before, the agent's own words; 0: none of it
    reason: int = 600  # why each call asks
    came: int = 600  # what came of it
    warnings: int = 1_200  # of each call
    compact: bool = False  # the arguments of a call are one paragraph


_SPACES: Final = (
    Space(),
    Space(compact=True),
    Space(aside=200, told=300, reason=300, came=300, warnings=600),
    Space(aside=0, told=200, reason=200, came=200, warnings=300),
    Space(aside=0, told=200, reason=0, came=100, warnings=100, heading=100, compact=True),
    Space(aside=0, told=100, reason=0, came=50, warnings=40, heading=30, compact=True),
)

Shows = Callable[[Row, Space], list[Text]]
"""The paragraphs of a row that waits."""


def card_message(card: Card) -> Message:
    """The message of *card*, within what Telegram takes: at the tightest, its calls are to be reviewed."""
    for space in _SPACES:
        text = _text(card, space, row_parts)
        if fits(text):
            return Message(text=text, keyboard=card_keyboard(card), tokens=_tokens(card))
    nothing = replace(card, rows=tuple(map(unseen, card.rows)))
    text = folded(cut_to(_text(nothing, _SPACES[-1], _no_room)))
    return Message(text=cut_to(text), keyboard=card_keyboard(nothing), tokens=_tokens(card))


def _tokens(card: Card) -> tuple[str, ...]:
    return tuple(row.token for row in card.rows)


# ── the whole of it ──────────────────────────────────────────────────────────────────────────


def _text(card: Card, space: Space, shows: Shows) -> Text:
    if len(card.rows) == 1:
        row = card.rows[0]
        below = [_ended(row, space)] if row.status is not None else _alone(card, row, space, shows)
    else:
        below = [_one_of(row, space, shows) for row in card.rows]
        below += [_said(card, space), _told(card, space)] if card.open else []
    return trimmed(joined([_top(card, space), *below], "\n\n"))


def _top(card: Card, space: Space) -> Text:
    sign = RISK_SIGNS.get(card.rows[0].risk, "") if len(card.rows) == 1 else ""
    title = joined([plain(sign), shortened(heading(card), space.heading)], " ")
    moved = "" if card.moved is None else f"↪ {card.moved}"
    lines = (about_task(card), moved)
    return joined([bold(title), *(shortened(" ".join(line.split()), space.told) for line in lines)])


def _alone(card: Card, row: Row, space: Space, shows: Shows) -> list[Text]:
    """Its arguments, who says what of it, why it asks and until when."""
    return [
        *shows(row, space),
        _said(card, space),
        joined([_reason(row, space), _told(card, space)]),
        joined([_named(row, row.code), _until(row)]),
    ]


def _ended(row: Row, space: Space) -> Text:
    """What came of the one call of a card, and what it was."""
    kept = [] if row.hidden else [fields_text(row, space)]
    return joined([bold(shortened(row.status or "", space.came)), *kept, _named(row, row.code)], "\n\n")


def _one_of(row: Row, space: Space, shows: Shows) -> Text:
    """One call of several."""
    title = bold(plain(f"{row.code} · "), shortened(row.title, space.heading))
    if row.status is not None:
        what = shortened(was(row), space.came // 4) if space.reason else ""
        return joined([title, what, bold(shortened(row.status, space.came))])
    until = Text() if space.compact else _until(row)
    return joined([title, *shows(row, space), _reason(row, space), joined([_named(row), until], " · ")])


def _named(row: Row, code: str = "") -> Text:
    """💳 spend · t-1.2 · #88b1; its code where no title begins with it."""
    return joined((plain(risk_of(row)), plain(code), safe(f"#{row.short_hash}")), " · ")


def _until(row: Row) -> Text:
    """expires 6 Dec, 13:04 UTC"""
    return Text() if row.expires_at is None else plain(f"expires {day(row.expires_at)}")


def _reason(row: Row, space: Space) -> Text:
    """Why it asks; nothing of what only waits."""
    return italic(shortened(reason_of(row), space.reason)) if space.reason else Text()


def _said(card: Card, space: Space) -> Text:
    """The agent's own words, marked as its own."""
    if not space.aside or card.said is None:
        return Text()
    words = italic(shortened(card.said.strip(), space.aside))
    return joined([f"{card.agent} says:", quote(words, expandable=_is_long(card.said))])


def _told(card: Card, space: Space) -> Text:
    """What is to be known of the task as a whole."""
    outside = card.outside if card.outside is not None and space.reason else ""
    return joined([shortened(outside, space.told), plain(unread(card))])


# ── a call ───────────────────────────────────────────────────────────────────────────────────


def row_parts(row: Row, space: Space = _SPACES[0]) -> list[Text]:
    """What is asked, and what speaks about it. Never empty of a call's arguments."""
    parts = [*_question(row), fields_text(row, space)]
    if row.hidden and space.reason:  # else what is hidden is counted, and no more is said of it
        parts.append(bold(plain(NOT_ALL)))
    parts.append(safe(shortened("\n".join(warned(row)), space.warnings)))
    if space.aside:
        parts += _beside("As it is now", row.seen, space)
        parts += _beside("It would do this", row.preview, space)
        if row.earlier:
            before = (shortened(words, space.aside) for words in row.earlier)
            parts.append(joined([bold(plain("Sent before:")), *(safe(f"• {words}") for words in before)]))
    if row.url is not None and row.choices and not opens(row.url):
        parts.append(plain(NO_LINK))
    return [part for part in parts if part]


def _no_room(row: Row, space: Space) -> list[Text]:
    """Of a row for which there is no room at all."""
    where = plain("Review") if Verb.REVIEW in row.choices else code(f"/show {row.code}")
    return [bold(plain("It has no room here: "), where, plain(" shows it to its end."))]


def _question(row: Row) -> list[Text]:
    """What an agent asks, and the answers that it suggests and no button can show."""
    if row.question is None:
        return []
    listed = [plain(f"{n}. ") + safe(words or "(nothing)") for n, words in enumerate(answers_in_text(row), 1)]
    more = len(row.suggestions) - len(pressable(row))
    left = plain(f"{more} more suggested, too long or too many for a button.") if more else Text()
    asked = bold(row.question or "(nothing)")
    return [_unless_longer(asked, row.question), joined(listed), left]


def _beside(label: str, words: str | None, space: Space) -> list[Text]:
    if words is None:
        return []
    shown = shortened(words, space.aside) or "(nothing)"
    if "\n" in shown:
        return [joined([bold(plain(f"{label}:")), quote(shown, expandable=_is_long(shown))])]
    return [bold(plain(f"{label}: ")) + safe(shown)]


# ── its arguments ────────────────────────────────────────────────────────────────────────────


def fields_text(row: Row, space: Space = _SPACES[0]) -> Text:
    """Every argument, in the order that matters; where there is little room as one paragraph."""
    if space.compact:
        return pre("".join(pages(row.fields)) + _more(row.hidden)) if row.fields else Text()
    return joined([part for field in row.fields for part in _field(field)])


def _field(field: Field) -> Iterator[Text]:
    """name: value; of an edit what it was, before it."""
    name = safe(field.name)
    value = field.value.rstrip("\n") if field.hidden else field.value  # what is left out follows at once
    more = _more(field.hidden + len(field.value) - len(value))
    if all(_on_the_line(text) for text in (value, field.before or "")):
        before = Text() if field.before is None else code(field.before) + plain(" → ")
        yield name + plain(": ") + before + code(value) + plain(more)
        return
    if field.before is not None:
        yield name + plain(", as it was proposed:")
        yield _paragraph(field.before)
    yield name + plain(":")
    yield _paragraph(value)
    yield plain(more.strip())


def _more(hidden: int) -> str:
    return f"  … {hidden:,} more characters" if hidden else ""


def _on_the_line(value: str) -> bool:
    return is_short(value) or (len(value) <= LONG and "\n" not in value)


def _paragraph(value: str) -> Text:
    """*value* by itself: folded where it is long, unless it were then much longer."""
    return _unless_longer(quote(value, expandable=True), value) if _is_long(value) else pre(value)


def _unless_longer(made: Text, words: str) -> Text:
    """*made* of *words*, or these to the character, where what breaks links in them makes it much longer."""
    return made if made.units <= UNBROKEN * units(words) + BROKEN else pre(words)


def _is_long(value: str) -> bool:
    return len(value) > LONG or value.count("\n") >= LONG_LINES
