"""What one person alone is told, as Slack messages that each fit, or as a modal where there is no channel."""

from collections.abc import Sequence
from typing import Final, TypeVar

from adapters.slack.shown.cards import fits
from adapters.slack.shown.kit import (
    MOST_BLOCKS,
    Block,
    bullets,
    modal,
    rich,
    said,
    section,
    verbatim,
)
from adapters.slack.shown.modals import TOLD
from adapters.slack.shown.posts import Message, message_of
from adapters.slack.words import escaped
from core.chat import Answer, Table
from core.visible import shortened

Line = TypeVar("Line", str, list[Block])
"""One row of a table: a text, or the parts of a paragraph."""

LONGEST_PART: Final = 2_900
WIDEST_CELL: Final = 60
WIDEST_TABLE: Final = 80
"""Characters of a line that a window of Slack shows without breaking it."""
GAP: Final = 2
LONGEST_CELL: Final = 120
"""Where each row has a line of its own."""
TOO_LONG: Final = (
    "Slack has no room to show all of it. It stands in the file beside its card; the command line shows it "
    "whole, and approves it."
)
"""Of what was to be reviewed, and no modal takes."""
MORE: Final = "There is more than Slack takes at once: ask for less, or for one by its code."
MOST_MESSAGES: Final = 5
"""That one click or command is answered with: a response URL takes no more."""


def messages_of(answer: Answer) -> tuple[Message, ...]:
    """*answer* as messages, none where it says nothing; views that fit together stand in one."""
    groups = [
        _worded(answer.words),
        _tabled(answer.table),
        *(message_of(view).blocks for view in answer.views),
        _worded(TOO_LONG if answer.pages else ""),
    ]
    made: list[list[Block]] = []
    for blocks in (group for group in groups if group):
        for part in _parts(blocks):
            if made and fits([*made[-1], *part]) and _differ(made[-1], part):
                made[-1] += part
            else:
                made.append(list(part))
    if len(made) > MOST_MESSAGES:
        made[MOST_MESSAGES - 1 :] = [[section(MORE)]]
    text = escaped(answer.words[:LONGEST_PART]) or "See below."
    return tuple(Message(text=text, blocks=blocks) for blocks in made[:MOST_MESSAGES])


def modal_of(answer: Answer) -> Block | None:
    """*answer* as a modal, for who pressed something outside of any channel; None where it says nothing."""
    messages = messages_of(answer)
    if not messages:
        return None
    more = [section(MORE)] if len(messages) > 1 else []
    return modal("Gatepost", [*messages[0].blocks, *more], callback_id=TOLD)


def _differ(before: Sequence[Block], after: Sequence[Block]) -> bool:
    """No two blocks would have one id."""
    ids = [block["block_id"] for block in (*before, *after) if "block_id" in block]
    return len(ids) == len(set(ids))


def _parts(blocks: Sequence[Block]) -> list[Sequence[Block]]:
    """*blocks* in pieces that a message takes each."""
    parts: list[list[Block]] = []
    for block in blocks:
        if parts and fits([*parts[-1], block]):
            parts[-1].append(block)
        else:
            parts.append([block])
    return [part[:MOST_BLOCKS] for part in parts]


def _worded(words: str) -> list[Block]:
    return [section(words[n : n + LONGEST_PART]) for n in range(0, len(words), LONGEST_PART)]


def _tabled(table: Table | None) -> list[Block]:
    """Its columns aligned, in letters of one width; a line a row where that would be too wide to read."""
    if table is None:
        return []
    rows = [[_cell(words) for words in row] for row in (table.headings, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + GAP * (len(widths) - 1) > WIDEST_TABLE:
        return [rich(bullets(piece)) for piece in _pieces([_listed(row) for row in table.rows])]
    lines = [
        (" " * GAP).join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [rich(verbatim("\n".join(piece))) for piece in _pieces(lines)]


def _listed(row: Sequence[str]) -> list[Block]:
    """Its first cell, then the others."""
    first, *others = (shortened(_flat(words), LONGEST_CELL) for words in row)
    rest = " · ".join(words for words in others if words)
    return [said(first or "–", "bold"), *([said(f"  {rest}")] if rest else [])]


def _pieces(lines: Sequence[Line]) -> list[list[Line]]:
    """*lines* in pieces of at most `LONGEST_PART` characters, each whole."""
    made: list[list[Line]] = []
    room = 0
    for line in lines:
        size = _size(line)
        if not made or room + size > LONGEST_PART:
            made.append([])
            room = 0
        made[-1].append(line)
        room += size
    return made


def _size(line: str | Sequence[Block]) -> int:
    return 1 + (len(line) if isinstance(line, str) else sum(len(part["text"]) for part in line))


def _flat(words: str) -> str:
    return " ".join(words.split())


def _cell(words: str) -> str:
    return shortened(_flat(words), WIDEST_CELL)
