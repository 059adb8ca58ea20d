"""Cards, reports and progress in a terminal. It can't edit what it has printed: an update prints a line.

Whatever a model or a person wrote goes to the terminal as Text, never as markup, with what hides or reorders
spelled out: an argument can neither colour the screen nor move its cursor. Colour is never the only sign.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from core.calls import Call, CallState, Outcome
from core.cards import Card, Row, Verb
from core.errors import ChatError
from core.forms import Input, Kind
from core.parks import Choice, ParkKind
from core.rendering import Digest, Notice, Progress, View
from core.report import Line, Report
from core.shown import NOT_SET, Field, on_one_line
from core.tasks import TaskState
from core.visible import visible
from core.wording import MORE

RISK_STYLES = {
    "read": "dim",
    "draft": "dim",
    "routine": "blue",
    "contact": "cyan",
    "spend": "yellow",
    "change": "magenta",
    "remove": "bold red",
    "profile": "bold red",
}
STATE_STYLES = {
    TaskState.DONE: "green",
    TaskState.FAILED: "red",
    TaskState.STOPPED: "red",
    TaskState.WAITING: "yellow",
    TaskState.RUNNING: "cyan",
}


class Answers(StrEnum):
    """How a card's choices are offered."""

    KEYS = "keys"  # one key each, where a prompt follows
    COMMANDS = "commands"  # a command each


def text(words: str, style: str | Style = "", *, lines: bool = False) -> Text:
    """*words* of anybody, as they are: nothing in them is markup or hidden."""
    return Text(visible(words, lines=lines), style=style, overflow="fold")


def led(words: str, style: str) -> Text:
    """A line that begins with *words* of anybody in *style*; what is appended has its own."""
    return Text(overflow="fold").append(visible(words), style)


# ── cards ────────────────────────────────────────────────────────────────────────────────────


class CardView:
    """*card*: a panel for each row that waits, a line for each that was decided.

    What is about the task itself stands in the first panel alone.
    """

    def __init__(self, card: Card, answers: Answers = Answers.KEYS) -> None:
        self.card = card
        self.answers = answers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        waiting = [row for row in self.card.rows if row.status is None]
        for row in self.card.rows:
            first = row in waiting[:1]
            yield RowView(self.card, row, self.answers, first=first) if row in waiting else status_line(row)


class RowView:
    """One park that waits. *first*: of its card, so that it says what is about the task."""

    def __init__(self, card: Card, row: Row, answers: Answers = Answers.KEYS, *, first: bool = True) -> None:
        self.card = card
        self.row = row
        self.answers = answers
        self.first = first

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title = _title(self.row)
        fits = title.cell_len + 8 <= options.max_width  # a border cuts what is longer
        body = _body(self.card, self.row, self.answers, first=self.first)
        yield Panel(
            Group(*(body if fits else (title, *body))),
            title=title if fits else None,
            title_align="left",
            border_style=_border(self.row),
            padding=(0, 1),
        )


def _title(row: Row) -> Text:
    said = Text(row.title, style="bold")
    style = RISK_STYLES.get(row.risk, "bold red")
    return said.append(" · ", "dim").append(row.risk, style) if row.risk else said


def _border(row: Row) -> str:
    return "red" if row.kind is ParkKind.UNKNOWN else "yellow"


def _body(card: Card, row: Row, answers: Answers, *, first: bool) -> Sequence[RenderableType]:
    """Paragraphs: the task, what is asked, what speaks about it, how it is answered."""
    about = [_task_line(card)] if first else []
    paragraphs: list[list[RenderableType]] = [
        list(about),
        _asked(row),
        _said(card) if first else [],
        [warning(words) for words in (*row.warnings, *row.repeats)],
        _reasons(card, row, first=first),
        _beside("As it is now", row.seen),
        _beside("It would do this", row.preview),
        [Text(f"Connect it at {row.url}", overflow="fold")] if row.url is not None else [],
        _sent_before(row),
        [Text(_when(row), style="dim")],
        [choices_line(row, answers, card)],
    ]
    parts: list[RenderableType] = []
    for paragraph in paragraphs:
        if paragraph:
            parts += [*([Text()] if parts else []), *paragraph]
    return parts


def _task_line(card: Card) -> Text:
    """t-1, asked by ada: refund the mug that arrived broken"""
    asked = f", {card.asked}" if card.asked else ""
    return Text(f"{card.task_code}{asked}: {card.goal}", style="dim", overflow="fold")


def _asked(row: Row) -> list[RenderableType]:
    """The arguments; of a question its words, and the answers it suggests by number."""
    parts: list[RenderableType] = []
    if row.question is not None:
        parts.append(Text(row.question, style="bold", overflow="fold"))
        parts += [Text(f"  {n}  {said}", overflow="fold") for n, said in enumerate(row.suggestions, start=1)]
    if row.fields:
        parts.append(fields_table(row.fields))
    if row.hidden:
        parts.append(Text(f"{row.hidden:,} more characters are hidden here.", style="bold"))
    return parts


def _said(card: Card) -> list[RenderableType]:
    """The agent's own words, marked as its own on each line."""
    if card.said is None:
        return []
    words = Text(card.said, style="italic", overflow="fold")
    return [Text(f"{card.agent} says:", style="dim"), Padding(words, (0, 0, 0, 2))]


def warning(words: str) -> Text:
    """A line that is not to be overlooked; *words* are visible already."""
    return Text("! ", style="bold yellow", overflow="fold").append(words, "yellow")


def _reasons(card: Card, row: Row, *, first: bool) -> list[RenderableType]:
    parts = [Text(row.why, overflow="fold")] if row.why else []
    if first and card.outside is not None:
        parts.append(Text(card.outside, overflow="fold"))
    if first and card.unread:
        came = "A message came" if card.unread == 1 else f"{card.unread} messages came"
        parts.append(Text(f"{came} meanwhile; the agent reads on after this.", style="cyan"))
    return list(parts)


def _beside(label: str, words: str | None) -> list[RenderableType]:
    return [] if words is None else [Text(f"{label}: {words}", overflow="fold")]


def _sent_before(row: Row) -> list[RenderableType]:
    if not row.earlier:
        return []
    return [Text("Sent before:", style="bold"), *(Text(line, overflow="fold") for line in row.earlier)]


def fields_table(fields: Iterable[Field]) -> RenderableType:
    """Every argument, the names aligned; an edit shows what it was."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", style="cyan", max_width=24)
    table.add_column(overflow="fold", ratio=1)
    for field in fields:
        value = Text(overflow="fold")
        if field.before is not None:
            value.append(field.before, "strike dim").append(" → ")
        value.append(field.value, "bold")
        if field.hidden:
            value.append(f" … {field.hidden:,} more characters", "dim")
        table.add_row(Text(field.name, overflow="fold"), value)
    return Padding(table, (0, 0, 0, 2))


def _when(row: Row) -> str:
    expires = [] if row.expires_at is None else [f"expires {moment(row.expires_at)}"]
    return " · ".join([row.code, *expires, f"#{row.short_hash}"])


def moment(at: datetime) -> str:
    """Sun 6 Dec, 13:04 UTC"""
    at = at.astimezone(UTC)
    return f"{at:%a} {at.day} {at:%b, %H:%M} UTC"


KEYS: dict[str, tuple[str, str, str]] = {
    Verb.APPROVE: ("a", "[a]pprove", "it runs as it is shown"),
    Verb.EDIT: ("e", "[e]dit", "it runs with other values, which you are asked for"),
    Verb.DECLINE: ("d", "[d]ecline", "it does not run; the agent is told why"),
    Verb.REVISE: (
        "c",
        "[c]hange it",
        "it does not run; you say what is to be other, and the agent tries anew",
    ),
    Verb.DECLINE_STOP: (
        "s",
        "[s]top the task",
        "it does not run, and neither does anything more of its task",
    ),
    Verb.APPROVE_REST: ("r", "[r] approve all", "every call of this card that waits runs as it is shown"),
    Verb.CONNECTED: ("c", "[c]onnected", "the account is connected: the agent may try again"),
    Verb.ANSWER: ("w", "[w]rite an answer", "or just type it"),
    Choice.WENT_OUT: ("o", "[o] it went out", "it counts as done"),
    Choice.DID_NOT: ("n", "[n] it did not", "it counts as not done"),
    Choice.SEND_AGAIN: ("s", "[s]end again", "it runs once more, perhaps for the second time"),
    Choice.LOOK_UP: ("u", "look it [u]p", "its destination is asked whether it arrived"),
    Choice.MORE_ROUNDS: ("r", f"[r] {MORE[Choice.MORE_ROUNDS]}", "the task goes on"),
    Choice.MORE_TOKENS: ("t", f"[t] {MORE[Choice.MORE_TOKENS]}", "the task goes on"),
    Choice.STOP: ("s", "[s]top here", "the task ends with what it has done"),
}
"""The key of each choice, its words, and what it does."""

_BRACKETS = str.maketrans("", "", "[]")

LATER = ("l", "[l]ater", "it goes on waiting; /pending asks again")

COMMANDS: dict[str, str] = {
    Verb.APPROVE: "approve {code}",
    Verb.EDIT: "edit {code} {field}=…",
    Verb.DECLINE: 'decline {code} "why"',
    Verb.REVISE: 'revise {code} "how"',
    Verb.DECLINE_STOP: "decline {code} --stop",
    Verb.ANSWER: 'answer {code} "…"',
    Verb.CONNECTED: "connected {code}",
    Choice.WENT_OUT: "settle {code} went-out",
    Choice.DID_NOT: "settle {code} did-not",
    Choice.SEND_AGAIN: "settle {code} send-again",
    Choice.LOOK_UP: "settle {code} look-up",
    Choice.MORE_ROUNDS: "settle {code} more-rounds",
    Choice.MORE_TOKENS: "settle {code} more-tokens",
    Choice.STOP: "settle {code} stop",
}
"""The command that says each choice."""


def keys(row: Row, card: Card) -> list[tuple[str, str, str]]:
    """The keys that answer *row*, in its order, leaving it for later last."""
    several = card.choices if Verb.APPROVE in row.choices else ()
    known = [KEYS[choice] for choice in row.choices if choice in KEYS]
    all_of_them = [("r", f"[r] {card.rest_label.lower()}", KEYS[choice][2]) for choice in several]
    return [*known, *all_of_them, LATER]


def choices_line(row: Row, answers: Answers, card: Card) -> RenderableType:
    """What may be answered, in the row's order: keys, leaving it for later among them, or commands."""
    if answers is Answers.KEYS:
        said = [words for _, words, _ in keys(row, card)]
    else:
        field = next((f.name for f in row.fields if f.editable), "field")
        known = (COMMANDS[choice] for choice in row.choices if choice in COMMANDS)
        said = [command.format(code=row.code, field=field) for command in known]
    return Flow(said)


class Flow:
    """*items* one after the other, a line broken only between two of them."""

    def __init__(self, items: Sequence[str]) -> None:
        self.items = items

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines: list[str] = []
        for item in self.items:
            longer = f"{lines[-1]}   {item}" if lines else item
            if lines and cell_len(longer) <= options.max_width:
                lines[-1] = longer
            else:
                lines.append(item)
        yield from (Text(line, style="bold", overflow="fold") for line in lines)


def keys_table(row: Row, card: Card) -> RenderableType:
    """Each key with what it does."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for key, words, does in keys(row, card):
        table.add_row(key, f"{words.translate(_BRACKETS).removeprefix(f'{key} ')}: {does}")
    return Padding(table, (0, 0, 0, 2))


def field_view(asked: Input) -> RenderableType:
    """One field of a form: its name and what it takes, its value below, line for line."""
    takes = " · ".join(part for part in (_takes(asked), asked.limits, asked.description) if part)
    head = led(asked.name, "bold cyan").append(f"  {takes}", "dim")
    value = asked.value if asked.present else NOT_SET
    lines = [Text(f"  {line}", overflow="fold") for line in (value or '""').split("\n")]
    return Group(head, *lines)


def _takes(asked: Input) -> str:
    if asked.choices:
        return f"{'any' if asked.kind is Kind.LIST else 'one'} of {', '.join(asked.choices)}"
    return _TAKES[asked.kind]


_TAKES = {
    Kind.TEXT: "text",
    Kind.NUMBER: "a number",
    Kind.BOOLEAN: "yes or no",
    Kind.CHOICE: "a choice",
    Kind.DATE: "a date",
    Kind.LIST: "one a line",
    Kind.JSON: "JSON",
}


def status_line(row: Row) -> Text:
    """t-1.2  ✔ Approved with changes by ada, 10:04 UTC · done"""
    status = row.status or "waits"
    style = "red" if status.startswith("✖") else "green" if status.startswith("✔") else "dim"
    line = led(f"{row.code}  ", "bold")
    return line.append(status, style)


# ── the report ───────────────────────────────────────────────────────────────────────────────


class ReportView:
    """*report*: the ledger's lists, and the agent's words beside them."""

    def __init__(self, report: Report, agent: str) -> None:
        self.report = report
        self.agent = agent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, task = self.report, self.report.task
        style = STATE_STYLES.get(task.state, "dim")
        title = Text(f"{task.code} {task.state}", style=f"bold {style}")
        record = self._record()
        words = text(report.words or "(no words)", lines=True)
        who = f"{visible(self.agent)} says" if report.own_words else "Ended"
        said = Group(Text(who, style="dim"), words)
        body: RenderableType
        if options.max_width >= 100:
            beside = Table.grid(padding=(0, 4), expand=True)
            beside.add_column(ratio=3, overflow="fold")
            beside.add_column(ratio=2, overflow="fold")
            beside.add_row(Group(Text("On record", style="dim"), record), said)
            body = beside
        else:
            body = Group(Text("On record", style="dim"), record, Text(), said)
        yield Panel(body, title=title, title_align="left", border_style=style, padding=(0, 1))

    def _record(self) -> RenderableType:
        report = self.report
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold", ratio=1)
        lists = (
            ("Done", "bold green", report.done),
            ("Not done", "bold red", report.not_done),
            ("Unknown", "bold yellow", report.unknown),
            ("Waiting", "bold cyan", report.waiting),
        )
        for name, style, lines in lists:
            for n, line in enumerate(lines):
                table.add_row(Text(name if n == 0 else "", style=style), _line(line))
        if not table.row_count:
            table.add_row(Text("Nothing", style="bold"), Text("no action was taken"))
        if report.reads:
            table.add_row(Text("Read", style="dim"), Text(f"{report.reads} ×", style="dim"))
        return table


def _line(line: Line) -> Text:
    said = led(f"{line.call.tool} ", "bold").append_text(arguments(line.call.args))
    return said if not line.note else said.append(" · ", "dim").append(visible(line.note), "dim")


def arguments(args: object) -> Text:
    """order_id A7, amount 18.50"""
    if not isinstance(args, dict):
        return text(str(args))
    if not args:
        return Text("(none)", style="dim")
    line = Text(overflow="fold")
    for n, (name, value) in enumerate(args.items()):
        line.append(", " if n else "").append(visible(str(name)), "cyan").append(" ")
        line.append(on_one_line(value))
    return line


# ── progress ─────────────────────────────────────────────────────────────────────────────────


def progress(words: str) -> Text:
    """A line of progress."""
    return text(words, "dim italic")


CALL_WORDS = {
    CallState.PROPOSED: "proposed",
    CallState.PARKED: "waits for a decision",
    CallState.APPROVED: "approved, not run yet",
    CallState.EXECUTING: "under way",
}
OUTCOME_STYLES = {
    Outcome.SUCCEEDED: "green",
    Outcome.ANSWERED: "green",
    Outcome.UNKNOWN: "yellow",
}


def outcome_text(call: Call) -> Text:
    """A call's state in a word: succeeded, declined, waits for a decision, …"""
    if call.outcome is not None:
        return Text(str(call.outcome), style=OUTCOME_STYLES.get(call.outcome, "red"))
    return Text(CALL_WORDS.get(call.state, str(call.state)), style="yellow")


# ── what was too much ────────────────────────────────────────────────────────────────────────


class DigestView:
    """*digest*: a line for each card that is none of its own, and how to see it."""

    def __init__(self, digest: Digest) -> None:
        self.digest = digest

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"Cards that were too many for this hour, {len(self.digest.waiting)} undecided:", "yellow")
        for line in self.digest.lines:
            said = led(f"{line.code} ", "bold").append(visible(line.title))
            if line.status is None:
                said.append(f" · {visible(line.risk)} · since {moment(line.since)} · say {line.how}", "dim")
            else:
                said.append(f" · {visible(line.status)}", "dim")
            yield Padding(said, (0, 0, 0, 2))
        if self.digest.more:
            yield Padding(Text(f"… and {self.digest.more} more: say pending", style="dim"), (0, 0, 0, 2))


# ── the surface ──────────────────────────────────────────────────────────────────────────────


class Terminal(Console):
    """A console whose reader may leave without the process leaving too: rich would end it at once."""

    def on_broken_pipe(self) -> None:
        raise ChatError("the terminal does not take it any more")


class ConsoleSurface:
    """core.poster.Surface over a terminal: prints what is new in a view. Raises ChatError if nobody reads."""

    def __init__(
        self, console: Terminal, agents: Callable[[str], str], answers: Answers | None = Answers.COMMANDS
    ) -> None:
        """*agents* gives the name of a key. *answers* None: rows that wait are somebody else's to show."""
        self._console = console
        self._agents = agents
        self._answers = answers
        self._printed: dict[str, Row] = {}
        self._told: set[str] = set()

    async def post(self, view: View, route: str) -> str:
        self._print(view)
        return "console"

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        self._print(view)
        return chat_ref

    def told(self, token: str) -> None:
        """Whoever reads knows already how the row of *token* was decided; the report says what came of it."""
        self._told.add(token)

    def _print(self, view: View) -> None:
        if not isinstance(view, Progress) and view.moved is not None:
            self._console.print(text(view.moved, "yellow"))
        if isinstance(view, Card):
            self._print_card(view)
        elif isinstance(view, Report):
            self._console.print(ReportView(view, self._agents(view.task.agent)))
        elif isinstance(view, Notice):
            self._console.print(text(f"{view.task_code}: {view.text}", "dim", lines=True))
        elif isinstance(view, Digest):
            self._console.print(DigestView(view))

    def _print_card(self, card: Card) -> None:
        """Only the rows that changed since this process printed them; a decision once all is known of it."""
        waiting = [row for row in card.rows if row.status is None]
        for row in card.rows:
            if self._printed.get(row.token) == row:
                continue
            self._printed[row.token] = row
            if row.status is None and self._answers is not None:
                self._console.print(RowView(card, row, self._answers, first=row in waiting[:1]))
            elif row.status is not None and row.final and row.token not in self._told:
                self._console.print(status_line(row))
