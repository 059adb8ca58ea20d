"""What one person alone is told, as Slack messages that each fit, or as a modal where there is no channel."""

from collections.abc import Sequence
from typing import Final

from adapters.slack.cards import fits
from adapters.slack.kit import MOST_BLOCKS, Block, modal, rich, section, verbatim
from adapters.slack.modals import TOLD
from adapters.slack.posts import Message, message_of
from adapters.slack.words import escaped
from core.chat import Answer, Table

LONGEST_PART: Final = 2_900
WIDEST_CELL: Final = 60
MOST_MESSAGES: Final = 5
"""That one click or command is answered with: a response URL takes no more."""


def messages_of(answer: Answer) -> tuple[Message, ...]:
    """*answer* as messages, none where it says nothing; views that fit together stand in one."""
    groups = [
        _worded(answer.words),
        _tabled(answer.table),
        *(message_of(view).blocks for view in answer.views),
    ]
    made: list[list[Block]] = []
    for blocks in (group for group in groups if group):
        for part in _parts(blocks):
            if made and fits([*made[-1], *part]) and _differ(made[-1], part):
                made[-1] += part
            else:
                made.append(list(part))
    text = escaped(answer.words[:LONGEST_PART]) or "See below."
    return tuple(Message(text=text, blocks=blocks) for blocks in made[:MOST_MESSAGES])


def modal_of(answer: Answer) -> Block | None:
    """*answer* as a modal, for who pressed something outside of any channel; None where it says nothing."""
    messages = messages_of(answer)
    if not messages:
        return None
    return modal("Gatepost", messages[0].blocks, callback_id=TOLD)


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
    """Its columns aligned, in letters of one width, in pieces of whole lines."""
    if table is None:
        return []
    rows = [table.headings, *table.rows]
    cells = [[_cell(words) for words in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    pieces: list[str] = []
    for line in lines:
        if pieces and len(pieces[-1]) + len(line) < LONGEST_PART:
            pieces[-1] += f"\n{line}"
        else:
            pieces.append(line)
    return [rich(verbatim(piece)) for piece in pieces]


def _cell(words: str) -> str:
    flat = " ".join(words.split())
    return flat if len(flat) <= WIDEST_CELL else f"{flat[: WIDEST_CELL - 1]}…"
