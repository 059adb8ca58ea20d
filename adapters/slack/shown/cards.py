"""A card as a Slack message: what is asked first, every argument to the character, then how to answer.

A card of one call has a heading and its buttons under it; of several, each has a part of its own with its
buttons, between two lines, or where that takes too many blocks a paragraph.
What a message has no room for is left out from the end of what matters least, never of the arguments: these
are shown whole, or their call is reviewed (I32).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adapters.slack.shown.kit import (
    DIVIDER,
    LONGEST_BUTTON,
    LONGEST_SECTION,
    MOST_BLOCKS,
    MOST_TEXT,
    Block,
    actions,
    bullets,
    button,
    context,
    context_at,
    extent,
    header,
    moment,
    paragraph,
    quoted,
    rich,
    said,
    sure,
    verbatim,
)
from core.cards import Card, Row, Verb
from core.headlines import (
    AGAIN_TITLE,
    AGAIN_WORDS,
    NOT_ALL,
    SURE_TITLE,
    asked_twice,
    heading,
    is_short,
    label,
    offered,
    reason_of,
    risk_of,
    stands_out,
    sure_words,
    unread,
    unseen,
    warned,
    was,
)
from core.headlines import about_task as task_line
from core.parks import Choice
from core.shown import Field, share
from core.visible import shortened

STYLES: Final[dict[str, str]] = {
    Verb.APPROVE: "primary",
    Verb.CONNECTED: "primary",
    Verb.REVIEW: "primary",
    Verb.APPROVE_REST: "primary",
    Verb.DECLINE_STOP: "danger",
    Choice.LOOK_UP: "primary",
    Choice.STOP: "danger",
}
"""Of `Verb.DECLINE`, see `_style`."""
CONNECT: Final = "connect_open"
"""The button that opens a sign-in; its press tells us nothing."""
LONGEST_CAME: Final = 160
"""Of the arguments of a decided call among several."""
MOST_SUGGESTED: Final = 10
ANSWER_WITH: Final = "answer:"
"""Before the number of a suggested answer, in the name of its button."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much of what stands beside the arguments is shown."""

    apart: bool = True  # of several calls each has lines of its own, and one between it and the next
    asides: bool = True  # what is seen, would be done, was sent before, the agent's own words
    reasons: bool = True  # why it asks, what was read from outside
    warnings: int = LONGEST_SECTION  # characters, of each call
    words: int = 700  # characters, of why each call asks, and of what came of it


_ROOMS: Final = (
    Room(),
    Room(apart=False),
    Room(apart=False, asides=False, warnings=600, words=300),
    Room(apart=False, asides=False, reasons=False, warnings=100, words=150),
)


def card_blocks(card: Card) -> list[Block]:
    """The message of *card*, within what Slack takes: at the tightest, long calls are to be reviewed."""
    for room in _ROOMS:
        made = _blocks(card, room, row_parts)
        if fits(made):
            return made
    nothing = replace(card, rows=tuple(map(unseen, card.rows)))
    return _blocks(nothing, _ROOMS[-1], _named)[:MOST_BLOCKS]


def fits(blocks: Sequence[Block], most_blocks: int = MOST_BLOCKS) -> bool:
    """Whether a message takes them."""
    return len(blocks) <= most_blocks and extent(blocks) <= MOST_TEXT


# ── a card ───────────────────────────────────────────────────────────────────────────────────

Parts = Callable[[Row, Room], list[Block]]
"""The paragraphs of a row that waits."""


def _blocks(card: Card, room: Room, parts: Parts) -> list[Block]:
    alone = card.rows[0] if len(card.rows) == 1 else None
    blocks = [header(heading(card)), about_task(card)]
    if card.moved is not None:
        blocks.append(context(shortened(f"↪ {card.moved}", 400)))
    if alone is not None:
        return [
            *blocks,
            *(_ended(alone, room) if alone.status is not None else _alone(card, alone, room, parts)),
        ]
    for row in card.rows:
        blocks += [DIVIDER, *_apart(row, room, parts)] if room.apart else _close(row, room, parts)
    below = [*_said(card, room), *_told(card, room), *_rest(card)] if card.open else []
    return [*blocks, *([DIVIDER] if room.apart and below else []), *below]


def _rest(card: Card) -> list[Block]:
    """The button for all that wait and were shown."""
    return [
        actions("rest", [button(card.rest_label, Verb.APPROVE_REST, card.rest_token, style="primary")])
        for _ in card.choices
    ]


def about_task(card: Card) -> Block:
    """t-1, asked by Ada: refund the mug"""
    return context(shortened(task_line(card), 400))


def _said(card: Card, room: Room) -> list[Block]:
    """The agent's own words, marked as its own."""
    if not room.asides or card.said is None:
        return []
    return [rich(paragraph(said(f"{card.agent} says:")), quoted(said(card.said, "italic")))]


def _told(card: Card, room: Room) -> list[Block]:
    """What is to be known of the task as a whole."""
    blocks: list[Block] = []
    if room.reasons and card.outside is not None:
        blocks.append(context(shortened(card.outside, 600)))
    if came := unread(card):
        blocks.append(context(came))
    return blocks


def _alone(card: Card, row: Row, room: Room, parts: Parts) -> list[Block]:
    """The one call of a card: its arguments, who says what of it, why it asks and until when, its buttons."""
    shown = parts(row, room)
    return [
        *([rich(*shown)] if shown else []),
        *_said(card, room),
        *why(row, room),
        *_told(card, room),
        when(row),
        *buttons(row),
    ]


def _ended(row: Row, room: Room) -> list[Block]:
    """What came of the one call of a card, and what it was."""
    kept = [] if row.hidden else _fields(row)
    return [
        rich(paragraph(said(shortened(row.status or "", room.words), "bold"))),
        *([rich(*kept)] if kept else []),
        context(f"{row.code} · #{row.short_hash}"),
    ]


def _apart(row: Row, room: Room, parts: Parts) -> list[Block]:
    """One call of several, with lines of its own."""
    if row.status is not None:
        return [rich(_title(row, room), *_came(row, room)), context(f"{row.code} · #{row.short_hash}")]
    return [rich(_title(row, room), *parts(row, room)), *why(row, room), when(row), *buttons(row)]


def _close(row: Row, room: Room, parts: Parts) -> list[Block]:
    """The same in as few blocks as there can be."""
    if row.status is not None:
        return [rich(_title(row, room), *_came(row, room), paragraph(*_moments(row)))]
    reason = [paragraph(said(words, "italic")) for words in _reasons(row, room)]
    return [rich(_title(row, room), *parts(row, room), *reason, paragraph(*_moments(row))), *buttons(row)]


def _title(row: Row, room: Room) -> Block:
    return paragraph(said(shortened(row.title, room.words), "bold"))


def _came(row: Row, room: Room) -> list[Block]:
    """Of a call among several: what it was, on one line, and what came of it."""
    told = was(row)
    what = [paragraph(said(shortened(told, LONGEST_CAME)))] if told and room.reasons else []
    return [*what, paragraph(said(shortened(row.status or "", room.words)))]


def why(row: Row, room: Room = _ROOMS[0]) -> list[Block]:
    """Why it asks; nothing of what only waits."""
    return [context(words) for words in _reasons(row, room)]


def _reasons(row: Row, room: Room) -> list[str]:
    reason = reason_of(row)
    return [shortened(reason, room.words)] if room.reasons and reason else []


def row_parts(row: Row, room: Room = _ROOMS[0]) -> list[Block]:
    """Paragraphs: what is asked, what speaks about it. Never empty of a call's arguments."""
    parts: list[Block] = []
    if row.question is not None:
        parts.append(paragraph(said(row.question, "bold")))
        if more := len(row.suggestions) - len(_pressable(row)):
            parts.append(paragraph(said(f"{more} more suggested, too long or too many for a button.")))
    parts += _fields(row)
    if row.hidden:
        parts.append(paragraph(said(NOT_ALL, "bold")))
    parts += _warnings(row, room)
    if room.asides:
        parts += _beside("As it is now", row.seen)
        parts += _beside("It would do this", row.preview)
        if row.earlier:
            parts += [paragraph(said("Sent before:", "bold")), bullets([[said(e)] for e in row.earlier])]
    return parts


def _named(row: Row, room: Room) -> list[Block]:
    """Of a row for which there is no room at all."""
    where = "Review" if Verb.REVIEW in row.choices else f"/gatepost show {row.code}"
    return [paragraph(said(f"It has no room here: {where} shows it to its end.", "bold"))]


def _fields(row: Row) -> list[Block]:
    return [part for field in row.fields for part in field_parts(field)]


def field_parts(field: Field) -> list[Block]:
    """One argument; of an edit what it was, struck through, before it."""
    more = [said(f"  … {field.hidden:,} more characters")] if field.hidden else []
    short = all(is_short(text) for text in (field.value, field.before or ""))
    if short:
        before = [] if field.before is None else [said(field.before, "strike"), said(" → ")]
        return [paragraph(said(field.name, "bold"), said("  "), *before, said(field.value, "code"), *more)]
    parts: list[Block] = []
    if field.before is not None:
        parts += [paragraph(said(field.name, "bold"), said(", as it was proposed")), verbatim(field.before)]
    return [*parts, paragraph(said(field.name, "bold"), *more), verbatim(field.value)]


def _warnings(row: Row, room: Room) -> list[Block]:
    lines = warned(row)
    if not lines:
        return []
    return [paragraph(said(shortened("\n".join(lines), room.warnings)))]


def _beside(label: str, words: str | None) -> list[Block]:
    return [] if words is None else [paragraph(said(f"{label}: ", "bold"), said(words or "(nothing)"))]


def when(row: Row) -> Block:
    """spend · t-1.2 · expires in the reader's own time · #88b1"""
    before = _named_by(row)
    after = f"#{row.short_hash}"
    return (
        context(f"{before} · {after}")
        if row.expires_at is None
        else context_at(f"{before} · expires", row.expires_at, f" · {after}")
    )


def _named_by(row: Row) -> str:
    """💳 spend · t-1.2"""
    return " · ".join(part for part in (risk_of(row), row.code) if part)


def _moments(row: Row) -> list[Block]:
    """spend · t-1.2 · expires in the reader's own time · #88b1"""
    waits = row.expires_at is not None and row.status is None
    expires = [said(" · expires "), moment(row.expires_at)] if waits and row.expires_at else []
    return [said(_named_by(row)), *expires, said(f" · #{row.short_hash}")]


# ── its buttons ──────────────────────────────────────────────────────────────────────────────


def buttons(row: Row) -> list[Block]:
    """The choices of *row*, and the answers it suggests; none where nothing may be answered."""
    made = [_suggested(row, n, words) for n, words in _pressable(row)]
    if row.url is not None:
        made.append(button("Connect…", CONNECT, row.token, style="primary", url=row.url))
    made += [_button(row, choice) for choice in offered(row)]
    return [actions(f"park:{row.token}", made)] if made else []


def _pressable(row: Row) -> list[tuple[int, str]]:
    """The suggested answers that a button shows whole, each with its number: what is pressed was read."""
    found: list[tuple[int, str]] = []
    left = share(MOST_SUGGESTED * LONGEST_BUTTON, row.together)
    for n, words in enumerate(row.suggestions):
        if len(words) <= min(LONGEST_BUTTON, left) and len(found) < MOST_SUGGESTED:
            found.append((n, words))
            left -= len(words)
    return found


def _suggested(row: Row, n: int, words: str) -> Block:
    return button(words or "(nothing)", f"{ANSWER_WITH}{n}", row.token)


def _button(row: Row, choice: str) -> Block:
    words, asked = label(row, choice), None
    if asked_twice(row, choice):
        again = choice == Choice.SEND_AGAIN
        title, told = (AGAIN_TITLE, AGAIN_WORDS) if again else (SURE_TITLE, sure_words(row))
        asked = sure(title, told, words, danger=not again)
    return button(words, choice, row.token, style=_style(row, choice), confirm=asked)


def _style(row: Row, choice: str) -> str | None:
    """Red is what keeps a call from running, once on a card; green what lets it go on."""
    if choice == Verb.DECLINE:
        return "danger" if stands_out(row) else None
    return None if choice == Verb.CONNECTED and row.url is not None else STYLES.get(choice)
