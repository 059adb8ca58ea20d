"""A card as a Slack message: what is asked first, every argument to the character, then how to answer.

A card of one call has a heading and its buttons under it; of several, a paragraph and the buttons of each.
What a message has no room for is left out from the end of what matters least, never of the arguments: these
are shown whole, or their call is reviewed (I32).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from adapters.slack.kit import (
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
    shortened,
    sure,
    verbatim,
)
from core.cards import LABELS, Card, Row, Verb
from core.parks import Choice, ParkKind
from core.shown import Field

SHORT: Final = 60
"""Characters of a value that stands beside its name, on one line."""
SURE: Final = frozenset({"remove", "profile"})
"""Risks of which an approval is asked twice (threats S7)."""
STYLES: Final[dict[str, str]] = {
    Verb.APPROVE: "primary",
    Verb.CONNECTED: "primary",
    Verb.REVIEW: "primary",
    Verb.APPROVE_REST: "primary",
    Verb.DECLINE: "danger",
    Verb.DECLINE_STOP: "danger",
    Choice.STOP: "danger",
}
CONNECT: Final = "connect_open"
"""The button that opens a sign-in; its press tells us nothing."""
ANSWER_WITH: Final = "answer:"
"""Before the number of a suggested answer, in the name of its button."""
RISK_SIGNS: Final = {
    "contact": "✉️",
    "spend": "💳",
    "change": "✏️",
    "remove": "🗑️",
    "profile": "🔑",
}


@dataclass(frozen=True, slots=True)
class Room:
    """How much of what stands beside the arguments is shown."""

    asides: bool = True  # what is seen, would be done, was sent before, the agent's own words
    reasons: bool = True  # why it asks, what was read from outside
    warnings: int = LONGEST_SECTION  # characters, of each call


_ROOMS: Final = (Room(), Room(asides=False, warnings=600), Room(asides=False, reasons=False, warnings=100))


def card_blocks(card: Card) -> list[Block]:
    """The message of *card*, within what Slack takes: at the tightest, long calls are to be reviewed."""
    for room in _ROOMS:
        made = _blocks(card, room, row_parts)
        if fits(made):
            return made
    return _blocks(card, _ROOMS[-1], _named)[:MOST_BLOCKS]


def fits(blocks: Sequence[Block], most_blocks: int = MOST_BLOCKS) -> bool:
    """Whether a message takes them."""
    return len(blocks) <= most_blocks and extent(blocks) <= MOST_TEXT


def card_text(card: Card) -> str:
    """What a notification says of it."""
    waiting = [row for row in card.rows if row.status is None]
    if not waiting:
        return "; ".join(f"{row.code}: {row.status}" for row in card.rows)
    if len(waiting) > 1:
        return f"{card.agent} asks about {len(waiting)} calls of {card.task_code}"
    return f"{waiting[0].title} ({waiting[0].code})"


def card_in_words(card: Card) -> str:
    """The whole of it without blocks, for where Slack takes none: what is asked is shown, commands answer."""
    lines = [_task(card)]
    for row in card.rows:
        lines += ["", f"{row.code} · {row.title}{f' · {row.risk}' if row.risk else ''}"]
        if row.status is not None:
            lines.append(row.status)
            continue
        lines += [f"{field.name}: {field.value}" for field in row.fields]
        lines += [f"! {words}" for words in (*row.warnings, *row.repeats)]
        if row.hidden:
            lines.append(f"{row.hidden:,} more characters are hidden here.")
        if row.question is not None:
            lines.append(row.question)
        lines.append(f"Answer it with a command: show {row.code}, or help.")
    return "\n".join(lines)


# ── a card ───────────────────────────────────────────────────────────────────────────────────

Parts = Callable[[Row, Room], list[Block]]
"""The paragraphs of a row that waits."""


def _blocks(card: Card, room: Room, parts: Parts) -> list[Block]:
    alone = card.rows[0] if len(card.rows) == 1 else None
    blocks = [header(_heading(card)), context(shortened(_task(card), 400))]
    if card.moved is not None:
        blocks.append(context(shortened(f"↪ {card.moved}", 400)))
    for row in card.rows:
        blocks += _row(row, room, parts, alone=row is alone)
        if row is alone and row.status is None:
            blocks += [*_about(card, room), _when(row), *buttons(row)]
    if alone is None:
        blocks += _about(card, room) if card.open else []
        blocks += [
            actions("rest", [button(card.rest_label, Verb.APPROVE_REST, card.rest_token, style="primary")])
            for _ in card.choices
        ]
    return blocks


def _heading(card: Card) -> str:
    if len(card.rows) == 1:
        return card.rows[0].title
    return f"{card.agent} asks about {len(card.rows)} calls"


def _task(card: Card) -> str:
    asked = f", {card.asked}" if card.asked else ""
    return f"{card.task_code}{asked}: {card.goal}"


def _about(card: Card, room: Room) -> list[Block]:
    """What is about the task as a whole."""
    blocks: list[Block] = []
    if room.asides and card.said is not None:
        blocks.append(rich(paragraph(said(f"{card.agent} says:")), quoted(said(card.said, "italic"))))
    if room.reasons and card.outside is not None:
        blocks.append(context(shortened(card.outside, 600)))
    if card.unread:
        came = "A message came" if card.unread == 1 else f"{card.unread} messages came"
        blocks.append(context(f"{came} meanwhile; the agent reads on after this."))
    return blocks


def _row(row: Row, room: Room, parts: Parts, *, alone: bool) -> list[Block]:
    title = [] if alone else [paragraph(said(row.title, "bold"), said(_kind(row)))]
    if row.status is not None:
        status = paragraph(said(shortened(row.status, 700), *(["bold"] if alone else [])))
        kept = _fields(row) if alone and not row.hidden else []
        return [rich(*title, *kept, status), *([context(f"{row.code} · #{row.short_hash}")] if alone else [])]
    shown = parts(row, room)
    if alone:
        return [rich(*shown)] if shown else []
    return [rich(*title, *shown, paragraph(*_moments(row))), *buttons(row)]


def _kind(row: Row) -> str:
    return f" · {RISK_SIGNS.get(row.risk, '')} {row.risk}".replace("  ", " ") if row.risk else ""


def row_parts(row: Row, room: Room = _ROOMS[0]) -> list[Block]:
    """Paragraphs: what is asked, what speaks about it. Never empty of a call's arguments."""
    parts: list[Block] = []
    if row.question is not None:
        parts.append(paragraph(said(row.question, "bold")))
    parts += _fields(row)
    if row.hidden:
        parts.append(
            paragraph(said(f"{row.hidden:,} more characters are not shown here: Review shows all.", "bold"))
        )
    parts += _warnings(row, room)
    if room.reasons and row.why:
        parts.append(paragraph(said(row.why)))
    if room.asides:
        parts += _beside("As it is now", row.seen)
        parts += _beside("It would do this", row.preview)
        if row.earlier:
            parts += [paragraph(said("Sent before:", "bold")), bullets([[said(e)] for e in row.earlier])]
    return parts


def _named(row: Row, room: Room) -> list[Block]:
    """Of a row for which there is no room at all."""
    return [paragraph(said("It has no room here: Review shows all.", "bold"))]


def _fields(row: Row) -> list[Block]:
    return [part for field in row.fields for part in field_parts(field)]


def field_parts(field: Field) -> list[Block]:
    """One argument; of an edit what it was, struck through, before it."""
    more = [said(f"  … {field.hidden:,} more characters")] if field.hidden else []
    short = all(_is_short(text) for text in (field.value, field.before or ""))
    if short:
        before = [] if field.before is None else [said(field.before, "strike"), said(" → ")]
        return [paragraph(said(field.name, "bold"), said("  "), *before, said(field.value, "code"), *more)]
    parts: list[Block] = []
    if field.before is not None:
        parts += [paragraph(said(field.name, "bold"), said(", as it was proposed")), verbatim(field.before)]
    return [*parts, paragraph(said(field.name, "bold"), *more), verbatim(field.value)]


def _is_short(text: str) -> bool:
    return len(text) <= SHORT and "\n" not in text


def _warnings(row: Row, room: Room) -> list[Block]:
    lines = [f"⚠️ {words}" for words in (*row.warnings, *row.repeats)]
    if not lines:
        return []
    return [paragraph(said(shortened("\n".join(lines), room.warnings)))]


def _beside(label: str, words: str | None) -> list[Block]:
    return [] if words is None else [paragraph(said(f"{label}: ", "bold"), said(words))]


def _when(row: Row) -> Block:
    """spend · t-1.2 · expires in the reader's own time · #88b1"""
    before = " · ".join([*([_kind(row).removeprefix(" · ")] if row.risk else []), row.code])
    after = f"#{row.short_hash}"
    return (
        context(f"{before} · {after}")
        if row.expires_at is None
        else context_at(f"{before} · expires", row.expires_at, f" · {after}")
    )


def _moments(row: Row) -> list[Block]:
    """t-1.2 · expires in the reader's own time · #88b1"""
    expires = [] if row.expires_at is None else [said(" · expires "), moment(row.expires_at)]
    return [said(row.code), *expires, said(f" · #{row.short_hash}")]


# ── its buttons ──────────────────────────────────────────────────────────────────────────────


def buttons(row: Row) -> list[Block]:
    """The choices of *row*, and the answers it suggests; none where nothing may be answered."""
    made = [_suggested(row, n, words) for n, words in enumerate(row.suggestions)]
    if row.url is not None:
        made.append(button("Connect…", CONNECT, row.token, style="primary", url=row.url))
    offered = [choice for choice in row.choices if choice != Verb.DECLINE_STOP or choice == row.choices[0]]
    made += [_button(row, choice) for choice in offered]
    return [actions(f"park:{row.token}", made)] if made else []


def _suggested(row: Row, n: int, words: str) -> Block:
    return button(words or "(nothing)", f"{ANSWER_WITH}{n}", row.token)


def _button(row: Row, choice: str) -> Block:
    asked = None
    if choice == Verb.APPROVE and row.risk in SURE:
        asked = sure("Are you sure?", f"This can't be taken back: {row.title}", "Approve")
    elif choice == Choice.SEND_AGAIN:
        asked = sure("Send it again?", "It may have gone out already: then it is there twice.", "Send again")
    style = None if choice == Verb.CONNECTED and row.url is not None else STYLES.get(choice)
    words = "Answer…" if choice == Verb.ANSWER and row.suggestions else _label(row, choice)
    return button(words, choice, row.token, style=style, confirm=asked)


def _label(row: Row, choice: str) -> str:
    if choice == Verb.DECLINE and row.kind is ParkKind.CONNECT:
        return "Not now"
    return LABELS[choice]
