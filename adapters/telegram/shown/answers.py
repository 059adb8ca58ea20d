"""What one person is told, as Telegram messages that each fit, or as words over the chat that go by."""

from collections.abc import Iterator, Sequence
from typing import Final

from adapters.telegram.shown.buttons import row_alone
from adapters.telegram.shown.commands import typed_here, with_commands
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.posts import message_of
from adapters.telegram.shown.text import (
    LONGEST,
    Text,
    bold,
    joined,
    plain,
    pre,
    safe,
    split,
    trimmed,
)
from core.cards import Card, Row
from core.chat import Answer, Table
from core.headlines import reviewed
from core.visible import shortened, units

LONGEST_TOAST: Final = 200
MOST_MESSAGES: Final = 10
"""That one press or command is answered with."""
PIECE: Final = 3_800
"""Units of a message that is one of several."""
WIDEST_TABLE: Final = 38
"""Characters of a line that a telephone shows without breaking it."""
GAP: Final = 2
WIDEST_CELL: Final = 24
LONGEST_CELL: Final = 200
"""Where each row has a line of its own."""
MORE: Final = "There is more than one answer takes: ask for less, or for one by its code."
TOO_LONG: Final = "Telegram has no room to show all of it. The command line shows it whole, and approves it."
"""Of what was to be reviewed, and is too long even for several messages."""


def messages_of(answer: Answer) -> tuple[Message, ...]:
    """*answer* as messages, none where it says nothing; each card is one of its own."""
    if answer.pages:
        return _reviewed(answer)
    words = joined([with_commands(answer.words), _tabled(answer.table)], "\n\n")
    made = [*_pieces(words), *(message_of(view) for view in answer.views)]
    if len(made) > MOST_MESSAGES:
        made[MOST_MESSAGES - 1 :] = [Message(text=plain(MORE))]
    return tuple(made)


def shows_whole(answer: Answer) -> bool:
    """Whether the messages of *answer* show all of its pages: who is sent them may approve (I32)."""
    return bool(answer.pages) and len(_review(answer)) <= MOST_MESSAGES


def _pieces(text: Text) -> list[Message]:
    """All of *text*; each fits without its entities, too, so that nothing of it is cut (I32)."""
    pieces = (trimmed(part) for piece in split(text, PIECE) for part in _in_plain_words(piece))
    return [Message(text=piece) for piece in pieces if piece]


def _in_plain_words(piece: Text) -> tuple[Text, ...]:
    """*piece* itself, or in halves where its words are too long without entities."""
    return (piece,) if piece.plain.units <= LONGEST else split(piece, PIECE // 2)


# ── the whole of a call ──────────────────────────────────────────────────────────────────────


def _reviewed(answer: Answer) -> tuple[Message, ...]:
    """All of its arguments, then how to answer; where even several have no room for it, that alone."""
    made = _review(answer)
    return tuple(made) if len(made) <= MOST_MESSAGES else (Message(text=plain(TOO_LONG)),)


def _review(answer: Answer) -> list[Message]:
    card = answer.views[0]
    assert isinstance(card, Card)
    row = card.rows[0]
    title = Message(text=bold(plain("The whole of "), row.code, plain(": "), row.title))
    return [title, *_pieces(pre("".join(answer.pages))), _end(row)]


def _end(row: Row) -> Message:
    """What is said and may be answered where the whole was read."""
    facts = (plain(row.code), plain(row.risk), safe(f"#{row.short_hash}"), plain("this is all of it"))
    text = joined([safe(row.why), joined(facts, " · ")], "\n")
    return Message(text=text, keyboard=row_alone(reviewed(row)), tokens=(row.token,))


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def _tabled(table: Table | None) -> Text:
    """Its columns aligned, in letters of one width; a line a row where that would be too wide to read."""
    if table is None:
        return Text()
    rows = [[shortened(_flat(words), WIDEST_CELL) for words in row] for row in (table.headings, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) > WIDEST_TABLE:
        return joined(_listed(row) for row in table.rows)
    return pre("\n".join(_lines(rows, widths)))


def _lines(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    for row in rows:
        yield (" " * GAP).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _listed(row: Sequence[str]) -> Text:
    """Its first cell, then the others."""
    first, *others = (shortened(_flat(words), LONGEST_CELL) for words in row)
    rest = " · ".join(words for words in others if words)
    return bold(first or "–") + (safe(f"  {rest}") if rest else Text())


def _flat(words: str) -> str:
    return " ".join(words.split())


# ── what goes by ─────────────────────────────────────────────────────────────────────────────


def fits_toast(words: str) -> bool:
    """Whether the answer to a press, which goes by, says all of *words*."""
    return units(typed_here(words)) <= LONGEST_TOAST


def toast(words: str) -> str:
    """*words* as the answer to a press, an ellipsis for what it can't say."""
    made = shortened(typed_here(words), LONGEST_TOAST)
    while units(made) > LONGEST_TOAST:
        made = f"{made[:-2]}…"
    return made
