"""What every chat says of a card, a report or a digest beside its arguments: headings, lines, labels.

Words alone, made visible already; how they are set, and how much of them has room, is the surface's business.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.canonical import dump
from core.cards import LABELS, Card, Row, Verb
from core.parks import Choice, ParkKind
from core.rendering import Digest
from core.report import Line, Report
from core.shown import on_one_line, rank
from core.tasks import TaskState
from core.visible import line, shortened, visible

RISK_SIGNS: Final = {
    "contact": "✉️",
    "spend": "💳",
    "change": "✏️",
    "remove": "🗑️",
    "profile": "🔑",
}
STATE_SIGNS: Final = {TaskState.DONE: "✅", TaskState.FAILED: "❌", TaskState.STOPPED: "⏹️"}
SURE: Final = frozenset({"remove", "profile"})
"""Risks of which an approval is asked twice (threats S7)."""
SHORT: Final = 60
"""Characters of a value that stands beside its name, on one line."""
LONGEST_GOAL: Final = 160
LONGEST_LINE: Final = 240
LONGEST_VALUE: Final = 60
"""Of one argument in a line: what matters of the others shall stand there, too."""
SURE_TITLE: Final = "Are you sure?"
AGAIN_TITLE: Final = "Send it again?"
AGAIN_WORDS: Final = "It may have gone out already: then it is there twice."
NOT_ALL: Final = "Not all of it is shown here: Review shows it to its end."
NOTHING_DONE: Final = "Nothing was done in the world."


# ── a card ───────────────────────────────────────────────────────────────────────────────────


def heading(card: Card) -> str:
    """Sam wants to refund to mara@example.test; Sam asks about 3 calls."""
    if len(card.rows) == 1:
        return card.rows[0].title
    return f"{card.agent} asks about {len(card.rows)} calls"


def about_task(card: Card) -> str:
    """t-1, asked by Ada: refund the mug"""
    asked = f", {card.asked}" if card.asked else ""
    return f"{card.task_code}{asked}: {card.goal}"


def card_text(card: Card) -> str:
    """What a notification says of it."""
    waiting = [row for row in card.rows if row.status is None]
    if not waiting:
        return "; ".join(f"{row.code}: {row.status}" for row in card.rows)
    if len(waiting) > 1:
        return f"{card.agent} asks about {len(waiting)} calls of {card.task_code}"
    return f"{waiting[0].title} ({waiting[0].code})"


def card_in_words(card: Card, leads: str = "") -> str:
    """The whole of it as a text, for where nothing else is taken: what is asked is shown, commands answer.

    *leads*: what a command begins with there.
    """
    lines = [about_task(card)]
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
        lines.append(answered_with(row, leads))
    return "\n".join(lines)


def answered_with(row: Row, leads: str = "") -> str:
    """How *row* is answered where there are no buttons."""
    return f"Answer it with a command: {leads}show {row.code}, or {leads}help."


def unread(card: Card) -> str:
    """That messages came since it was asked; empty where none did."""
    if not card.unread:
        return ""
    came = "A message came" if card.unread == 1 else f"{card.unread} messages came"
    return f"{came} meanwhile; the agent reads on after this."


# ── a call on it ─────────────────────────────────────────────────────────────────────────────


def risk_of(row: Row) -> str:
    """Its risk, with its sign; empty where it has none."""
    return f"{RISK_SIGNS.get(row.risk, '')} {row.risk}".strip()


def reason_of(row: Row) -> str:
    """Why it asks; nothing of what only waits."""
    return row.why if row.choices else ""


def was(row: Row) -> str:
    """to mara@example.test, amount 24.00: the arguments of a decided call, on one line."""
    return ", ".join(f"{field.name} {field.value}" for field in row.fields).replace("\n", " ⏎ ")


def is_short(text: str) -> bool:
    """It has room beside its name."""
    return len(text) <= SHORT and "\n" not in text


def warned(row: Row) -> list[str]:
    """A line for each thing of it that is not what it looks like, or was read from outside."""
    return [f"⚠️ {words}" for words in (*row.warnings, *row.repeats)]


def offered(row: Row) -> tuple[str, ...]:
    """The choices that have a button of their own: stopping the task only where it is offered first."""
    return tuple(c for c in row.choices if c != Verb.DECLINE_STOP or c == row.choices[0])


def label(row: Row, choice: str) -> str:
    """What the button of *choice* says."""
    if choice == Verb.ANSWER and row.suggestions:
        return "Answer…"
    if choice == Verb.DECLINE and row.kind is ParkKind.CONNECT:
        return "Not now"
    return LABELS[choice]


def asked_twice(row: Row, choice: str) -> bool:
    """Whether *choice* counts only once it was said again (threats S7)."""
    return choice == Choice.SEND_AGAIN or (choice == Verb.APPROVE and row.risk in SURE)


def sure_words(row: Row) -> str:
    """What is said before an approval is asked again."""
    return f"This can't be taken back: {row.title}"


def stands_out(row: Row) -> bool:
    """Whether its Decline is what keeps it from running, and no other button is."""
    return row.kind is ParkKind.APPROVAL and row.choices[0] != Verb.DECLINE_STOP


def unseen(row: Row) -> Row:
    """*row* where nothing of its arguments is shown: it is reviewed before any of it may run (I32)."""
    hasty = {Verb.APPROVE, Verb.EDIT, Choice.SEND_AGAIN} & set(row.choices)
    others = tuple(choice for choice in row.choices if choice not in hasty)
    return replace(row, choices=(Verb.REVIEW, *others) if hasty else others, suggestions=())


def reviewed(row: Row) -> Row:
    """*row* as it may be answered by who has read it whole."""
    if row.status is not None:
        return row
    more = {
        ParkKind.APPROVAL: (Verb.APPROVE, Verb.EDIT),
        ParkKind.UNKNOWN: (Choice.SEND_AGAIN,),
    }.get(row.kind, ())
    there = {Verb.REVIEW, *more}
    return replace(row, choices=(*more, *(choice for choice in row.choices if choice not in there)))


# ── a report ─────────────────────────────────────────────────────────────────────────────────


def report_heading(report: Report) -> str:
    """✅ t-1 done"""
    return f"{STATE_SIGNS.get(report.task.state, '⏳')} {report.task.code} {report.task.state}"


def report_text(report: Report) -> str:
    """t-1 done: Refunded."""
    return f"{report.task.code} {report.task.state}: {visible(report.words)}".removesuffix(": ")


def report_goal(report: Report) -> str:
    goal = report.task.goal
    return line(" ".join((goal if isinstance(goal, str) else dump(goal)).split()), LONGEST_GOAL) or "…"


def report_lists(report: Report) -> Sequence[tuple[str, tuple[Line, ...]]]:
    """By name, the calls of each list, in the order told; none that is empty."""
    lists = (
        ("Done", report.done),
        ("Not done", report.not_done),
        ("Unknown", report.unknown),
        ("Waiting", report.waiting),
    )
    return [(name, calls) for name, calls in lists if calls]


def report_words(report: Report) -> str:
    """The agent's own words, or how it ended without any; all of them."""
    return visible(report.words, lines=True)


def report_speaker(report: Report, agent: str) -> str:
    """Sam says: How it ended:"""
    return f"{visible(agent)} says:" if report.own_words else "How it ended:"


def looked_up(report: Report) -> str:
    """It looked something up twice. Empty where it did not."""
    if not report.reads:
        return ""
    times = {1: "once", 2: "twice"}.get(report.reads, f"{report.reads:,} times")
    return f"It looked something up {times}."


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """A call in a report: its tool, its arguments, those that matter first, and what is to be said of it."""

    tool: str
    args: str
    note: str


def told(done: Line) -> Told:
    args = done.call.args if isinstance(done.call.args, dict) else {}
    each = ((visible(name), on_one_line(args[name])) for name in sorted(args, key=rank))
    all_of_them = ", ".join(" ".join(shortened(words, LONGEST_VALUE) for words in pair) for pair in each)
    return Told(
        tool=shortened(visible(done.call.tool), LONGEST_VALUE),
        args=shortened(all_of_them, LONGEST_LINE),
        note=shortened(visible(done.note), LONGEST_LINE),
    )


# ── a digest ─────────────────────────────────────────────────────────────────────────────────


def digest_heading(digest: Digest) -> str:
    return "Too many cards for this hour" if digest.waiting else "Nothing of this waits any more"


def digest_text(digest: Digest) -> str:
    """What a notification says of it."""
    if not digest.waiting:
        return "Nothing of this digest waits any more"
    return f"{len(digest.waiting)} more calls wait"
