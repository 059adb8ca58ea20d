"""A conversation in the terminal: a line is a task or joins one, and what an agent asks is answered by a key.

The worker runs in this process. What is parked stays in the database when the conversation ends, and any
other surface or process may answer it meanwhile.
"""

import asyncio
import codecs
import os
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from adapters.console import (
    KEYS,
    Answers,
    ConsoleSurface,
    RowView,
    choices_line,
    progress,
    text,
)
from bot.commands.ask import open_task, say
from bot.commands.decide import decide, decided_line, looked_up, value_of
from bot.commands.session import SURFACE, Session, session, terminal, words
from core.cards import Card, Row, card
from core.errors import BadArguments, DecisionError, GatepostError
from core.intake import find_task
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.plan import RunState, Step
from core.ports import ParkView
from core.poster import Poster
from core.progress import step_words
from core.rendering import editable_by
from core.tasks import Json, Task, TaskState

LOOK_SECONDS = 0.1
"""How often the rows are looked at while nothing is typed."""

ASKED = frozenset({ParkKind.APPROVAL, ParkKind.UNKNOWN, ParkKind.LIMIT, ParkKind.CONNECT, ParkKind.QUESTION})
BUSY = frozenset({TaskState.QUEUED, TaskState.RUNNING})

HELP = "Say what is to be done. /pending asks what waits, /new GOAL opens another task, /quit leaves."


async def chat(as_: str | None) -> None:
    """Talks until the end of the input or /quit."""
    async with session(as_) as here:
        screen = terminal()
        surface = ConsoleSurface(screen, lambda key: here.app.desk.agent(key).name, answers=None)
        poster = Poster(desk=here.app.desk, clock=here.app.clock, name=SURFACE, surface=surface)
        await Talk(here=here, screen=screen, lines=Lines(), poster=poster).go()


class Lines:
    """Standard input, line by line, read by a thread so that the event loop goes on.

    The thread reads the descriptor itself: one that is still waiting inside ``sys.stdin`` when the process
    ends would hold the lock its end needs.
    """

    def __init__(self) -> None:
        self.is_terminal = sys.stdin.isatty()
        self._found: deque[str | None] = deque()
        self._there = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        rest = ""
        while chunk := os.read(sys.stdin.fileno(), 65536):
            *lines, rest = (rest + decode(chunk)).split("\n")
            self._tell(lines)
        self._tell([rest, None] if rest else [None])

    def _tell(self, lines: Sequence[str | None]) -> None:
        with suppress(RuntimeError):  # the conversation is over, and its loop closed
            self._loop.call_soon_threadsafe(self._add, lines)

    def _add(self, lines: Sequence[str | None]) -> None:
        self._found.extend(lines)
        self._there.set()

    async def ready(self, seconds: float) -> bool:
        """Whether a line, or the end, is there, waiting up to *seconds* for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._there.wait()
        return bool(self._found)

    async def next(self) -> str | None:
        """The next line; None at the end, however often."""
        await self._there.wait()
        line = self._found[0]
        if line is not None:
            self._found.popleft()
        if not self._found:
            self._there.clear()
        return line


class Over(Exception):
    """The person has left, or the input has ended."""


@dataclass(kw_only=True, slots=True)
class Talk:
    """One conversation. *current* is the task that lines join; *later* what is not asked again by itself."""

    here: Session
    screen: Console
    lines: Lines
    poster: Poster
    current: int | None = None
    later: set[str] = field(default_factory=set)
    prompted: bool = False

    async def go(self) -> None:
        """Talks and works until the person leaves; then what is in hand is finished or given back."""
        stop = asyncio.Event()
        working = asyncio.create_task(self.here.app.worker(self._on_step).work(stop))
        try:
            await self._greet()
            with suppress(Over):
                while True:
                    await self._turn()
        finally:
            stop.set()
            await working
            await self.poster.deliver_all()

    async def _greet(self) -> None:
        self.screen.print(text(HELP, "dim"))
        waiting = await self._waiting()
        self.later = {view.park.token for view in waiting}
        if waiting:
            calls = "1 call waits" if len(waiting) == 1 else f"{len(waiting)} calls wait"
            self.screen.print(text(f"{calls} from before; /pending asks you about it.", "yellow"))

    async def _turn(self) -> None:
        """What is to be shown is; then a question is asked, or a line taken. Raises Over."""
        await self.poster.deliver_all()
        task = await self._task()
        if task is not None and task.ended:
            self.current = None
        if views := [v for v in await self._waiting() if v.park.token not in self.later]:
            await self._ask(views[0])
        elif task is None or task.state not in BUSY:
            await self._take(prompt=True)
        elif self.lines.is_terminal:
            await self._take(prompt=False)
        else:
            await asyncio.sleep(LOOK_SECONDS)  # a piped line may be the answer to what is asked next

    async def _take(self, *, prompt: bool) -> None:
        """A line, if one comes, is a command, a task or words for the current one."""
        if prompt and not self.prompted:
            self._prompt("> ")
            self.prompted = True
        if await self.lines.ready(LOOK_SECONDS):
            line = await self._line()
            try:
                await self._said(line)
            except GatepostError as error:
                self.screen.print(text(str(error), "red"))

    async def _said(self, line: str) -> None:
        said = words(line)
        command, _, rest = said.partition(" ")
        if not said:
            return
        if command == "/pending":
            self.later.clear()
        elif command == "/new":
            self.current = (await open_task(self.here, rest)).number
        elif command.startswith("/"):
            self.screen.print(text(HELP, "dim"))
        elif self.current is None:
            self.current = (await open_task(self.here, said)).number
        else:
            await say(self.here, said, {"task": self.current})

    async def _task(self) -> Task | None:
        if self.current is None:
            return None
        return await find_task(self.here.app.store.ledger, self.here.who.org, self.current)

    async def _waiting(self) -> list[ParkView]:
        found = await self.here.app.store.parks.waiting_for(self.here.who, 200)
        return [view for view in found if view.park.kind in ASKED]

    async def _on_step(self, step: Step, state: RunState) -> None:
        if (said := step_words(step, state)) is not None:
            self._fresh_line()
            self.screen.print(progress(said))

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    async def _ask(self, view: ParkView) -> None:
        """The park's card is shown and answered, put off, or answered by somebody else meanwhile."""
        shown = await self._card(view)
        row = shown.rows[0]
        self._fresh_line()
        self.screen.print(RowView(shown, row, Answers.KEYS))
        by_key = {KEYS[choice][0]: choice for choice in row.choices if choice in KEYS}
        while True:
            key = (await self._answer(f"{row.code}> ")).strip().lower()
            if key in ("l", "later"):
                self.later.add(view.park.token)
                return
            choice = by_key.get(key) or (key if key in row.choices else None)
            if choice is None:
                self.screen.print(choices_line(row, Answers.KEYS))
                continue
            try:
                if await self._chosen(view, row, choice):
                    return
            except BadArguments as error:
                self.screen.print(text(str(error), "red"))
            except DecisionError as error:
                self.screen.print(text(str(error), "red"))
                return

    async def _card(self, view: ParkView) -> Card:
        desk = self.here.app.desk
        roster = await self.here.app.store.people.of(self.here.who.org)
        pairs = [(view.park, view.call)]
        return card(view.task, desk.agent(view.task.agent), pairs, roster, editable_by(desk.host))

    async def _chosen(self, view: ParkView, row: Row, choice: str) -> bool:
        """Whether *choice* ended the question. Raises what deciding raises."""
        changes: Mapping[str, Json] | None = None
        match choice:
            case "edit":
                if not (changes := await self._edits(view, row)):
                    self.screen.print(text("Nothing was changed.", "dim"))
                    return False
                decision = Decision(kind=DecisionKind.EDIT)
            case "decline":
                reason = words(await self._answer("why (may be empty): "))
                decision = Decision(kind=DecisionKind.DECLINE, reason=reason or None)
            case "answer":
                said = words(await self._answer("answer: "))
                await say(self.here, said, {"task": view.task.number})
                return True
            case "approve" | "connected":
                decision = Decision(kind=DecisionKind(choice))
            case Choice.LOOK_UP:
                self.screen.print(await looked_up(self.here, view), soft_wrap=True)
                return True
            case _:
                decision = Decision(kind=DecisionKind.CHOICE, choice=Choice(choice))
        decided = await decide(self.here, view, decision, changes)
        self.screen.print(decided_line(self.here.who.name, view, decided), soft_wrap=True)
        return True

    async def _edits(self, view: ParkView, row: Row) -> dict[str, Json]:
        """What the person typed for each field that may be changed; an empty line leaves it."""
        changes: dict[str, Json] = {}
        for shown in (f for f in row.fields if f.editable):
            while typed := await self._answer(f"{shown.name} [{shown.value}]: "):
                try:
                    changes[shown.name] = value_of(self.here, view, shown.name, typed)
                    break
                except BadArguments as error:
                    self.screen.print(text(str(error), "red"))
        return changes

    # ── the terminal ─────────────────────────────────────────────────────────────────────────

    async def _answer(self, prompt: str) -> str:
        self._prompt(prompt)
        return await self._line()

    async def _line(self) -> str:
        """The next line. Raises Over at the input's end and for /quit."""
        line = await self.lines.next()
        self.prompted = False
        if not self.lines.is_terminal:
            self.screen.print(text(line or ""))  # as a terminal would have echoed it
        if line is None or line.strip() in ("/quit", "/exit"):
            raise Over
        return line

    def _prompt(self, words: str) -> None:
        self.screen.print(Text(words, style="bold"), end="")

    def _fresh_line(self) -> None:
        """Whatever is printed next does not stand behind a prompt."""
        if self.prompted:
            self.screen.print()
            self.prompted = False
