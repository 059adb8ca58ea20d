"""Cards, reports and progress in a terminal. It can't edit what it has printed: an update prints a line.

Whatever a model or a person wrote goes to the terminal as Text, never as markup, with what hides or reorders
spelled out: an argument can neither colour the screen nor move its cursor. Colour is never the only sign.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from core.calls import Call, CallState, Outcome
from core.cards import Card, Field, Row, shown_value
from core.errors import ChatError
from core.parks import Choice, ParkKind
from core.rendering import Digest, Notice, Progress, View
from core.report import Line, Report
from core.tasks import TaskState
from core.visible import visible

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
LONGEST_GOAL = 120
"""Of the goal above a card; the card is about the call, whose arguments are always whole."""


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
    """*card*: a panel for each row that waits, a line for each that was decided."""

    def __init__(self, card: Card, answers: Answers = Answers.KEYS) -> None:
        self.card = card
        self.answers = answers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for row in self.card.rows:
            yield RowView(self.card, row, self.answers) if row.status is None else status_line(row)


class RowView:
    """One park that waits."""

    def __init__(self, card: Card, row: Row, answers: Answers = Answers.KEYS) -> None:
        self.card = card
        self.row = row
        self.answers = answers

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        title = _title(self.row)
        fits = title.cell_len + 8 <= options.max_width  # a border cuts what is longer
        body = _body(self.card, self.row, self.answers)
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


def _body(card: Card, row: Row, answers: Answers) -> Sequence[RenderableType]:
    parts: list[RenderableType] = [Text(f"{card.task_code}: {_cut(card.goal)}", style="dim", overflow="fold")]
    if row.fields:
        parts += [Text(), fields_table(row.fields)]
    parts += [Text(), Text(row.why, overflow="fold")]
    if card.unread:
        came = "A message came" if card.unread == 1 else f"{card.unread} messages came"
        parts.append(Text(f"{came} meanwhile; the agent reads on after this.", style="cyan"))
    if row.seen is not None:
        parts += [text(f"As it is now: {row.seen}"), Text()]
    if row.preview is not None:
        parts += [text(f"It would do this: {row.preview}", lines=True), Text()]
    if row.url is not None:
        parts += [Text(f"Connect it at {row.url}", overflow="fold"), Text()]
    if row.earlier:
        parts += [Text("Sent before:", style="bold"), *(text(line) for line in row.earlier), Text()]
    parts += [Text(_when(row), style="dim"), Text(), choices_line(row, answers)]
    return parts


def _cut(goal: str) -> str:
    return goal if len(goal) <= LONGEST_GOAL else f"{goal[:LONGEST_GOAL]}…"


def fields_table(fields: Iterable[Field]) -> RenderableType:
    """Every argument whole, the names aligned; an edit shows what it was."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", style="cyan", max_width=24)
    table.add_column(overflow="fold", ratio=1)
    for field in fields:
        value = Text(overflow="fold")
        if field.before is not None:
            value.append(field.before, "strike dim").append(" → ")
        value.append(field.value, "bold")
        table.add_row(Text(field.name, overflow="fold"), value)
    return Padding(table, (0, 0, 0, 2))


def _when(row: Row) -> str:
    expires = [] if row.expires_at is None else [f"expires {moment(row.expires_at)}"]
    return " · ".join([row.code, *expires, f"#{row.short_hash}"])


def moment(at: datetime) -> str:
    """Sun 6 Dec, 13:04 UTC"""
    at = at.astimezone(UTC)
    return f"{at:%a} {at.day} {at:%b, %H:%M} UTC"


KEYS: dict[str, tuple[str, str]] = {
    "approve": ("a", "[a]pprove"),
    "edit": ("e", "[e]dit"),
    "decline": ("d", "[d]ecline"),
    "connected": ("c", "[c]onnected"),
    "answer": ("w", "[w]rite an answer"),
    Choice.WENT_OUT: ("o", "[o] it went out"),
    Choice.DID_NOT: ("n", "[n] it did not"),
    Choice.SEND_AGAIN: ("s", "[s]end again"),
    Choice.LOOK_UP: ("u", "look it [u]p"),
    Choice.MORE_ROUNDS: ("r", "more [r]ounds"),
    Choice.MORE_TOKENS: ("t", "more [t]okens"),
    Choice.STOP: ("s", "[s]top"),
}
"""The key of each choice, and its words."""

COMMANDS: dict[str, str] = {
    "approve": "approve {code}",
    "edit": "edit {code} {field}=…",
    "decline": 'decline {code} "why"',
    "answer": 'answer {code} "…"',
    "connected": "connected {code}",
    Choice.WENT_OUT: "settle {code} went-out",
    Choice.DID_NOT: "settle {code} did-not",
    Choice.SEND_AGAIN: "settle {code} send-again",
    Choice.LOOK_UP: "settle {code} look-up",
    Choice.MORE_ROUNDS: "settle {code} more-rounds",
    Choice.MORE_TOKENS: "settle {code} more-tokens",
    Choice.STOP: "settle {code} stop",
}
"""The command that says each choice."""


def choices_line(row: Row, answers: Answers) -> RenderableType:
    """What may be answered, in the row's order: keys, leaving it for later among them, or commands."""
    if answers is Answers.KEYS:
        said = [KEYS[choice][1] for choice in row.choices if choice in KEYS] + ["[l]ater"]
    else:
        field = next((f.name for f in row.fields if f.editable), "field")
        known = (COMMANDS[choice] for choice in row.choices if choice in COMMANDS)
        said = [command.format(code=row.code, field=field) for command in known]
    return Columns([Text(words, style="bold", overflow="fold") for words in said], padding=(0, 3))


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
        line.append(shown_value(value))
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

    async def post(self, view: View, route: str) -> str:
        self._print(view)
        return "console"

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        self._print(view)
        return chat_ref

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
        """Only the rows that changed since this process printed them."""
        for row in card.rows:
            if self._printed.get(row.token) == row:
                continue
            self._printed[row.token] = row
            if row.status is not None:
                self._console.print(status_line(row))
            elif self._answers is not None:
                self._console.print(RowView(card, row, self._answers))
