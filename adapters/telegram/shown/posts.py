"""What should exist in Telegram, as messages: cards, reports, notices, how a task goes, digests."""

from collections.abc import Sequence
from typing import Final, assert_never

from adapters.telegram.shown.cards import card_message
from adapters.telegram.shown.keyboards import Button, Keyboard, Style, command_data, in_rows
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import (
    LONGEST,
    Text,
    bold,
    code,
    cut_to,
    folded,
    italic,
    joined,
    plain,
    quote,
    safe,
    trimmed,
)
from core.cards import Card, Row, pages
from core.headlines import (
    NOTHING_DONE,
    RISK_SIGNS,
    answered_with,
    card_in_words,
    digest_heading,
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

LONGEST_WORDS: Final = 1_400
"""Units of an agent's own words in its report; the file beside it has them whole."""
FOLDED_WORDS: Final = 400
LONGEST_NOTICE: Final = 3_400
LONGEST_MOVED: Final = 400
MOST_LINES: Final = 20
"""Of what was done, not done, is unknown or waits; the task's story has all of them."""
RESERVED: Final = 300
"""Units of a report for the names of its lists, and for what they leave out."""
BUTTONS_IN_A_ROW: Final = 3
COMMAND: Final = "/"
"""What a command begins with."""


def message_of(view: View, agent: str = "") -> Message:
    """*view* as a message. *agent*: the name of the one whose report it is."""
    match view:
        case Card():
            return card_message(view)
        case Report():
            return Message(text=_fitted(_report(view, agent)))
        case Notice():
            return Message(text=_fitted(joined([_moved(view.moved), _notice(view)])))
        case Progress():
            return _progress(view)
        case Digest():
            return _digest(view)
        case never:
            assert_never(never)


def file_of(view: View) -> tuple[str, str] | None:
    """The name and the words of what a message of *view* shows the beginning of alone; None: nothing.

    A card's has all of its calls that are too long for it: in a chat of many each message counts.
    """
    match view:
        case Card():
            long = [row for row in view.rows if row.whole and row.status is None]
            return _calls_whole(long) if long else None
        case Report() if _own_words(view) != safe(report_words(view).strip()):
            return f"{view.task.code} report", report_words(view)
        case Notice() if _notice(view) != safe(view.text):
            return f"{view.task_code} notice", view.text
    return None


def _calls_whole(rows: Sequence[Row]) -> tuple[str, str]:
    """All that each of *rows* is asked for; of several, each under its code."""
    first, *others = rows
    if not others:
        return first.code, "".join(pages(first))
    whole = (f"{row.code} · {row.title}\n\n{''.join(pages(row))}" for row in rows)
    return f"{first.code} and {len(others)} more", "\n\n".join(whole)


def in_words(view: View) -> Message:
    """The same without entities and buttons, for where Telegram does not take them; commands answer."""
    match view:
        case Card():
            return Message(text=_fitted(_card_in_words(view)))
        case Report():
            return Message(text=_fitted(safe(report_text(view))))
    return Message(text=message_of(view).text.plain)


def _card_in_words(card: Card) -> Text:
    """A line for each thing; the commands in them are ours, and can be sent as they stand."""
    ours = {answered_with(row, COMMAND) for row in card.rows}
    lines = card_in_words(card, COMMAND).split("\n")
    made = [plain(line) if line in ours else safe(line) for line in lines]
    return Text(tuple(run for text in made for run in (*text.runs, *plain("\n").runs)))


def _fitted(text: Text) -> Text:
    return cut_to(folded(trimmed(text)), LONGEST) or plain("…")


def _moved(why: str | None) -> Text:
    return Text() if why is None else italic(shortened(f"↪ {why}", LONGEST_MOVED))


def _notice(view: Notice) -> Text:
    return cut_to(safe(view.text), LONGEST_NOTICE)


# ── the report ───────────────────────────────────────────────────────────────────────────────


def _report(report: Report, agent: str) -> Text:
    """The ledger's lists first, then the agent's own words, marked as its own."""
    top = joined([bold(report_heading(report)), safe(report_goal(report)), _moved(report.moved)])
    words = _own_words(report)
    speaks = joined([report_speaker(report, agent), quote(words, expandable=words.units > FOLDED_WORDS)])
    own = speaks if words else Text()
    room = LONGEST - top.units - own.units - RESERVED
    return joined([top, _record(report, room), own], "\n\n")


def _own_words(report: Report) -> Text:
    """As many of them as there is room for."""
    return cut_to(safe(report_words(report).strip()), LONGEST_WORDS) if report.words else Text()


def _record(report: Report, room: int) -> Text:
    """What was done, in *room* units: the lines that have none are counted."""
    parts: list[Text] = []
    lines = MOST_LINES
    for name, all_of_them in report_lists(report):
        shown: list[Text] = []
        for one in all_of_them[: max(lines, 0)]:
            line = _line(one)
            room -= line.units + 1
            if room < 0:
                break
            shown.append(line)
        if more := len(all_of_them) - len(shown):
            shown.append(plain(f"and {more} more: ") + code(f"/show {report.task.code}"))
        parts.append(joined([bold(plain(name)), *shown]))
        lines -= len(shown)
    if not parts:
        parts.append(plain(NOTHING_DONE))
    return joined([*parts, plain(looked_up(report))], "\n\n")


def _line(done: Line) -> Text:
    """A call: its tool, its arguments, those that matter first, and what is to be said of it."""
    words = told(done)
    note = italic(f" · {words.note}") if words.note else Text()
    return plain("• ") + bold(words.tool) + safe(f" {words.args}") + note


# ── the small ones ───────────────────────────────────────────────────────────────────────────


def _progress(view: Progress) -> Message:
    """How it goes, and a button that stops it while it does."""
    words = safe(f" · {view.text}")
    if view.over:
        return Message(text=_fitted(plain(view.task_code) + words))
    stop = Button(words="⏹ Stop", data=command_data(f"stop {view.task_code}"))
    return Message(text=_fitted(plain(f"⏳ {view.task_code}") + words), keyboard=((stop,),))


def _digest(view: Digest) -> Message:
    """A line for each call that is no message of its own; what waits can be shown."""
    top = joined([bold(plain(digest_heading(view))), _moved(view.moved)])
    made: list[Text] = []
    buttons: list[Button] = []
    more = view.more
    room = LONGEST - top.units - 100
    for n, one in enumerate(view.lines):
        line = _digest_line(one)
        room -= line.units + 1
        if room < 0:
            more += len(view.lines) - n
            break
        made.append(line)
        if one.status is None:
            buttons.append(Button(words=f"🔎 {one.code}", data=command_data(one.how), style=Style.PRIMARY))
    rest = plain(f"and {more} more: /pending") if more else Text()  # a command of ours: it is tapped
    keyboard: Keyboard = in_rows(buttons, BUTTONS_IN_A_ROW)
    return Message(text=_fitted(joined([top, joined(made), rest], "\n\n")), keyboard=keyboard)


def _digest_line(one: DigestLine) -> Text:
    sign = RISK_SIGNS.get(one.risk, "•")
    if one.status is not None:
        return plain(f"• {one.code} · ") + safe(shortened(f"{one.title}: {one.status}", 300))
    return plain(f"{sign} {one.code} · ") + safe(shortened(one.title, 200))
