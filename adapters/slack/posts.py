"""What should exist in Slack, as messages: cards, reports, notices, how a task goes, digests."""

from dataclasses import dataclass
from typing import Final, assert_never

from adapters.slack.cards import card_blocks, card_text
from adapters.slack.kit import (
    LONGEST_NOTICE,
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
    shortened,
)
from adapters.slack.words import escaped
from core.cards import Card
from core.rendering import Digest, DigestLine, Notice, Progress, View
from core.report import Line, Report
from core.shown import on_one_line
from core.tasks import TaskState
from core.visible import visible

STOP: Final = "command:stop"
SHOW: Final = "command:show"
"""Buttons that say a command for whoever presses them; their value is what it is about."""

LONGEST_WORDS: Final = 6_000
"""Of an agent's own words in its report; the file beside it has them whole."""
LONGEST_LINE: Final = 240
MOST_LINES: Final = 24
"""Of what was done, not done, is unknown or waits; the task's story has all of them."""

_SIGNS: Final = {TaskState.DONE: "✅", TaskState.FAILED: "❌", TaskState.STOPPED: "⏹️"}


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
            return Message(text=_notice(view.text), blocks=[*_moved(view.moved), section(view.text)])
        case Progress():
            return Message(text=_notice(view.text), blocks=_progress(view))
        case Digest():
            return Message(text=_notice(_digest_text(view)), blocks=digest_blocks(view))
        case never:
            assert_never(never)


def _notice(words: str) -> str:
    return escaped(shortened(words, LONGEST_NOTICE))


def _moved(why: str | None) -> list[Block]:
    return [] if why is None else [context(shortened(f"↪ {why}", 400))]


# ── the report ───────────────────────────────────────────────────────────────────────────────


def report_text(report: Report) -> str:
    """t-1 done: Refunded."""
    return f"{report.task.code} {report.task.state}: {visible(report.words)}".removesuffix(": ")


def report_blocks(report: Report, agent: str) -> list[Block]:
    """The ledger's lists first, then the agent's own words, marked as its own."""
    task = report.task
    sign = _SIGNS.get(task.state, "⏳")
    return [
        header(f"{sign} {task.code} {task.state}"),
        *_moved(report.moved),
        rich(*_record(report)),
        *_own_words(report, agent),
    ]


def _record(report: Report) -> list[Block]:
    lists = (
        ("Done", report.done),
        ("Not done", report.not_done),
        ("Unknown", report.unknown),
        ("Waiting", report.waiting),
    )
    parts: list[Block] = []
    left = MOST_LINES
    for name, lines in lists:
        if lines:
            parts.append(paragraph(said(name, "bold")))
            if shown := lines[: max(left, 0)]:
                parts.append(bullets([_line(line) for line in shown]))
            if more := len(lines) - len(shown):
                parts.append(paragraph(said(f"and {more} more: show {report.task.code}")))
            left -= len(shown)
    if not parts:
        parts.append(paragraph(said("Nothing was done in the world.")))
    if report.reads:
        parts.append(paragraph(said(f"Read {report.reads} ×")))
    return parts


def _line(line: Line) -> list[Block]:
    args = line.call.args if isinstance(line.call.args, dict) else {}
    told = ", ".join(f"{visible(name)} {on_one_line(value)}" for name, value in args.items())
    parts = [
        said(visible(line.call.tool), "bold"),
        said(f" {shortened(told, LONGEST_LINE)}" if told else " "),
    ]
    return [*parts, said(f" · {shortened(visible(line.note), LONGEST_LINE)}")] if line.note else parts


def _own_words(report: Report, agent: str) -> list[Block]:
    if not report.words:
        return []
    words = shortened(visible(report.words, lines=True), LONGEST_WORDS)
    who = f"{visible(agent)} says:" if report.own_words else "How it ended:"
    return [rich(paragraph(said(who)), quoted(said(words)))]


# ── the small ones ───────────────────────────────────────────────────────────────────────────


def _progress(view: Progress) -> list[Block]:
    """How it goes, and a button that stops it while it does."""
    if view.over:
        return [context(f"{view.task_code} · {view.text}")]
    return [
        context(f"⏳ {view.task_code} · {view.text}"),
        actions(f"task:{view.task_code}", [button("Stop", STOP, view.task_code)]),
    ]


def _digest_text(view: Digest) -> str:
    return f"{len(view.waiting)} more calls wait" if view.waiting else "Nothing of this digest waits any more"


def digest_blocks(view: Digest) -> list[Block]:
    """A line for each call that is no message of its own; what waits can be shown."""
    title = "Too many cards for this hour" if view.waiting else "Nothing of this waits any more"
    made = [header(title), *_moved(view.moved)]
    more = view.more
    for n, line in enumerate(view.lines):
        block = _digest_line(line)
        if extent([*made, block]) > MOST_TEXT - 200:
            more += len(view.lines) - n
            break
        made.append(block)
    return [*made, context(f"and {more} more: pending shows what waits")] if more else made


def _digest_line(line: DigestLine) -> Block:
    risk = f" · {line.risk}" if line.risk else ""
    if line.status is not None:
        return section(shortened(f"{line.code} · {line.title}: {line.status}", 500))
    return section(shortened(f"{line.code} · {line.title}{risk}", 300), button("Show", SHOW, line.code))
