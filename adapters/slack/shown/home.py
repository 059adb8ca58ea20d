"""The bot's own page in Slack: what waits for its reader, what goes on, what was done today."""

from collections.abc import Sequence
from typing import Final

from adapters.slack.shown.cards import about_task, buttons, row_parts, when, why
from adapters.slack.shown.kit import (
    DIVIDER,
    MOST_BLOCKS_IN_VIEW,
    MOST_TEXT,
    Block,
    button,
    context,
    extent,
    header,
    paragraph,
    rich,
    said,
    section,
)
from adapters.slack.shown.posts import SHOW, STOP
from core.cards import Card, Row
from core.home import Home, TaskLine

RESERVED: Final = 3_000
"""Characters that are kept for what goes on and was done."""


def home_view(home: Home) -> Block:
    """The page of *home*: of what has no room the codes are there, each with a button that shows it."""
    return {"type": "home", "blocks": _blocks(home)[:MOST_BLOCKS_IN_VIEW]}


def stranger_view(words: str) -> Block:
    """The page of somebody whom no organization knows."""
    return {"type": "home", "blocks": [header("Gatepost"), section(words)]}


def _blocks(home: Home) -> list[Block]:
    waiting = len(home.waiting) + len(home.more)
    title = f"{waiting} waiting for you" if waiting else "Nothing waits for you"
    blocks = [header(title), context(home.name)]
    for card in home.waiting:
        for row in card.rows:
            whole = _row(card, row)
            short = [section(f"{row.code} · {row.title}", button("Show", SHOW, row.code))]
            fits = extent([*blocks, *whole]) <= MOST_TEXT - RESERVED
            blocks += whole if fits else short
    blocks += [context(f"and {', '.join(home.more[:20])}: /gatepost pending")] if home.more else []
    blocks += [DIVIDER, header("Going on"), *_lines(home.going_on, "Nothing goes on.")]
    return [*blocks, DIVIDER, header("Done today"), *_lines(home.done, "Nothing ended today.")]


def _row(card: Card, row: Row) -> list[Block]:
    """What waits, with all that its card says but the agent's own words."""
    outside = [context(card.outside)] if card.outside is not None else []
    shown = rich(paragraph(said(row.title, "bold")), *row_parts(row))
    return [DIVIDER, shown, about_task(card), *outside, *why(row), when(row), *buttons(row)]


def _lines(lines: Sequence[TaskLine], none: str) -> list[Block]:
    if not lines:
        return [context(none)]
    return [_line(line) for line in lines]


def _line(line: TaskLine) -> Block:
    stop = button("Stop", STOP, line.code) if line.stoppable else None
    return section(f"{line.code} · {line.agent} · {line.state}: {line.goal}", stop)
