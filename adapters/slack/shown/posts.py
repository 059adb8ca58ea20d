"""What should exist in Slack, as messages: cards, reports, notices, how a task goes, digests."""

from dataclasses import dataclass
from typing import Final, assert_never

from adapters.slack.shown.cards import card_blocks
from adapters.slack.shown.kit import (
    LONGEST_NOTICE,
    LONGEST_SECTION,
    MOST_TEXT,
    Block,
    actions,
    bullets,
    button,
    context,
    extent,
    header,
    paragraph,
    quoted,
    rich,
    said,
    section,
)
from adapters.slack.words import escaped
from core.cards import Card
from core.headlines import (
    NOTHING_DONE,
    card_text,
    digest_heading,
    digest_text,
    looked_up,
    report_goal,
    report_heading,
    report_lists,
    report_speaker,
    report_text,
    report_words,
    told,
)
from core.rendering import Digest, DigestLine, Notice, Progress, View
from core.report import Line, Report
from core.visible import shortened

STOP: Final = "command:stop"
SHOW: Final = "command:show"
"""Buttons that say a command for whoever presses them; their value is what it is about."""

LONGEST_WORDS: Final = 6_000
"""Of an agent's own words in its report; the file beside it has them whole."""
RESERVED: Final = 400
"""Characters of a report for the names of its lists, and for what they leave out."""
MOST_LINES: Final = 24
"""Of what was done, not done, is unknown or waits; the task's story has all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """*text*: what a notification says, already escaped; *blocks*: what is to be seen."""

    text: str
    blocks: list[Block]


def message_of(view: View, agent: str = "") -> Message:
    """*view* as a message. *agent*: the name of the one whose report it is."""
    match view:
        case Card():
            return Message(text=_notice(card_text(view)), blocks=card_blocks(view))
        case Report():
            return Message(text=_notice(report_text(view)), blocks=report_blocks(view, agent))
        case Notice():
            return Message(text=_notice(view.text), blocks=[*_moved(view.moved), *sections(view.text)])
        case Progress():
            return Message(text=_notice(view.text), blocks=_progress(view))
        case Digest():
            return Message(text=_notice(digest_text(view)), blocks=digest_blocks(view))
        case never:
            assert_never(never)


def _notice(words: str) -> str:
    return escaped(shortened(words, LONGEST_NOTICE))


def sections(words: str) -> list[Block]:
    """*words* whole where a message takes them, else their beginning."""
    told = shortened(words, LONGEST_WORDS)
    return [section(told[n : n + LONGEST_SECTION]) for n in range(0, len(told), LONGEST_SECTION)]


def _moved(why: str | None) -> list[Block]:
    return [] if why is None else [context(shortened(f"↪ {why}", 400))]


# ── the report ───────────────────────────────────────────────────────────────────────────────


def report_blocks(report: Report, agent: str) -> list[Block]:
    """The ledger's lists first, then the agent's own words, marked as its own."""
    top = [header(report_heading(report)), context(report_goal(report)), *_moved(report.moved)]
    words = _own_words(report, agent)
    room = MOST_TEXT - extent([*top, *words]) - RESERVED
    return [*top, rich(*_record(report, room)), *words]


def _record(report: Report, room: int) -> list[Block]:
    """What was done, in *room* characters: the lines that have none are counted."""
    parts: list[Block] = []
    lines = MOST_LINES
    for name, all_of_them in report_lists(report):
        shown = [_line(one) for one in all_of_them[: max(lines, 0)]]
        while shown and extent(shown_in := [bullets(shown)]) > room:
            shown.pop()
        parts.append(paragraph(said(name, "bold")))
        if shown:
            parts.append(bullets(shown))
            room -= extent(shown_in)
        if more := len(all_of_them) - len(shown):
            parts.append(paragraph(said(f"and {more} more: /gatepost show {report.task.code}")))
        lines -= len(shown)
    if not parts:
        parts.append(paragraph(said(NOTHING_DONE)))
    if times := looked_up(report):
        parts.append(paragraph(said(times)))
    return parts


def _line(done: Line) -> list[Block]:
    """A call: its tool, its arguments, those that matter first, and what is to be said of it."""
    words = told(done)
    note = [said(f" · {words.note}", "italic")] if words.note else []
    return [said(words.tool, "bold"), said(f" {words.args}"), *note]


def _own_words(report: Report, agent: str) -> list[Block]:
    if not report.words:
        return []
    words = shortened(report_words(report), LONGEST_WORDS)
    return [rich(paragraph(said(report_speaker(report, agent))), quoted(said(words)))]


# ── the small ones ───────────────────────────────────────────────────────────────────────────


def _progress(view: Progress) -> list[Block]:
    """How it goes, and a button that stops it while it does."""
    if view.over:
        return [context(f"{view.task_code} · {view.text}")]
    return [
        context(f"⏳ {view.task_code} · {view.text}"),
        actions(f"task:{view.task_code}", [button("Stop", STOP, view.task_code)]),
    ]


def digest_blocks(view: Digest) -> list[Block]:
    """A line for each call that is no message of its own; what waits can be shown."""
    made = [header(digest_heading(view)), *_moved(view.moved)]
    more = view.more
    for n, one in enumerate(view.lines):
        block = _digest_line(one)
        if extent([*made, block]) > MOST_TEXT - 200:
            more += len(view.lines) - n
            break
        made.append(block)
    return [*made, context(f"and {more} more: /gatepost pending")] if more else made


def _digest_line(one: DigestLine) -> Block:
    risk = f" · {one.risk}" if one.risk else ""
    if one.status is not None:
        return section(shortened(f"{one.code} · {one.title}: {one.status}", 500))
    return section(shortened(f"{one.code} · {one.title}{risk}", 300), button("Show", SHOW, one.code))
