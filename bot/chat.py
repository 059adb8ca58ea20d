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
    field_view,
    keys_table,
    progress,
    text,
)
from bot.commands.decide import decide, decided_line, form_of, looked_up
from bot.commands.session import SURFACE, Session, session, terminal, words
from bot.commands.table import print_answer
from core.answers import as_it_was, code_of, shown_input
from core.cards import Card, Row, Verb
from core.chat import ChatMessage, Place, Typed
from core.errors import BadArguments, DecisionError, GatepostError
from core.forms import Input, Kind, filled
from core.front import Front
from core.intake import Intake
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.people import Account
from core.plan import RunState, Step
from core.ports import ParkView, Query
from core.poster import Poster
from core.progress import step_words
from core.rendering import card_with, place
from core.route import ChatKind, is_new
from core.tasks import Json, Task, TaskState
from core.visible import raw

LOOK_SECONDS = 0.1
"""How often the rows are looked at while nothing is typed."""

ASKED = frozenset({ParkKind.APPROVAL, ParkKind.UNKNOWN, ParkKind.LIMIT, ParkKind.CONNECT, ParkKind.QUESTION})
BUSY = frozenset({TaskState.QUEUED, TaskState.RUNNING})

HELP = (
    "Say what is to be done. /pending asks what waits, /new GOAL opens another task, /help lists the rest, "
    "/quit leaves."
)


async def chat(as_: str | None) -> None:
    """Talks until the end of the input or /quit."""
    async with session(as_) as here:
        screen = terminal()
        surface = ConsoleSurface(screen, lambda key: here.app.desk.agent(key).name, answers=None)
        poster = Poster(desk=here.app.desk, clock=here.app.clock, name=SURFACE, surface=surface)
        front = Front(desk=here.app.desk, clock=here.app.clock, surface=SURFACE, room=None)
        talk = Talk(here=here, screen=screen, lines=Lines(), poster=poster, surface=surface, front=front)
        await talk.go()


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


def _choice(shown: Card, row: Row, key: str) -> str | None:
    """The choice that *key*, or its whole name, means at *row*; None: none of them."""
    several = shown.choices if Verb.APPROVE in row.choices else ()
    offered = (*row.choices, *several)
    return next((one for one in offered if key == one or (one in KEYS and key == KEYS[one][0])), None)


@dataclass(kw_only=True, slots=True)
class Talk:
    """One conversation, by the same front as every chat's. *later*: what is not asked again by itself.

    *shown*: the rows of the card that was shown last.
    """

    here: Session
    screen: Console
    lines: Lines
    poster: Poster
    surface: ConsoleSurface
    front: Front
    later: set[str] = field(default_factory=set)
    shown: list[Row] = field(default_factory=list)
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
        if views := [v for v in await self._waiting() if v.park.token not in self.later]:
            await self._ask(views)
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
                self._complain(error)

    async def _said(self, line: str) -> None:
        said = words(line)
        if not said:
            return
        if said == "/pending":
            self.later.clear()
            self.shown.clear()
        elif said.startswith("/") and not is_new(said):
            typed = Typed(account=self._account, event_id=self._event_id(), text=said, place=self._place)
            print_answer(await self.front.typed_by(self.here.who, typed), self.screen)
        else:
            await self._wrote(said)

    async def _wrote(self, said: str) -> None:
        """The words are in the inbox and applied; what their writer should know is printed."""
        message = ChatMessage(
            account=self._account, event_id=self._event_id(), place=self._place, text=said, addressed=True
        )
        print_answer(await self.front.said_by(self.here.who, message), self.screen)
        await Intake(desk=self.here.app.desk).sweep()

    @property
    def _account(self) -> Account:
        return Account(surface=SURFACE, ref=self.here.user)

    @property
    def _place(self) -> Place:
        """Between the bot and this person, whoever else speaks at this terminal with --as."""
        return Place(chat=self.here.who.id, kind=ChatKind.DIRECT)

    def _event_id(self) -> str:
        return f"{self.here.user}:{self.here.app.desk.ids.new()}"

    async def _task(self) -> Task | None:
        """The newest task of this person's conversation that goes on."""
        going_on = frozenset(TaskState) - {TaskState.DONE, TaskState.FAILED, TaskState.STOPPED}
        query = Query(surface=SURFACE, chat=self._place.chat, states=going_on, limit=1)
        found = await self.here.app.store.ledger.find(self.here.who.org, query)
        return found[0] if found else None

    async def _waiting(self) -> list[ParkView]:
        found = await self.here.app.store.parks.waiting_for(self.here.who, 200)
        return [view for view in found if view.park.kind in ASKED]

    async def _on_step(self, step: Step, state: RunState) -> None:
        if (said := step_words(step, state)) is not None:
            self._fresh_line()
            self.screen.print(progress(said))

    # ── asking ───────────────────────────────────────────────────────────────────────────────

    async def _ask(self, views: Sequence[ParkView]) -> None:
        """The first of *views* is answered, put off, or was answered by somebody else meanwhile.

        What waits on the same card is shown along with it, so that all of it can be approved at once.
        """
        view = views[0]
        together = [v for v in views if place(v) == place(view)]
        shown = await self._card(together)
        self._fresh_line()
        self._show(shown)
        row = next(row for row in shown.rows if row.token == view.park.token)
        while True:
            said = (await self._answer(f"{row.code}> ")).strip()
            key = said.lower()
            if key in ("l", "later"):
                self.later.add(view.park.token)
                return
            choice = _choice(shown, row, key)
            if choice is None and row.kind is ParkKind.QUESTION and said:
                choice = Verb.ANSWER  # whatever is typed at a question is its answer
            if choice is None:
                self._explain(shown, row, said)
                continue
            try:
                if await self._chosen(together, row, choice, said):
                    return
            except BadArguments as error:
                self._complain(error)
            except DecisionError as error:
                self._complain(error)
                return

    async def _card(self, views: Sequence[ParkView]) -> Card:
        """The card of *views*, all of one task."""
        app, tokens = self.here.app, {view.park.token for view in views}
        return app.desk.redactor.clean(await card_with(app.desk, views[0].task.ref, tokens))

    def _show(self, shown: Card) -> None:
        """Every row of the card, those that stand above already left out."""
        new = [row for row in shown.rows if row not in self.shown]
        for row in new:
            self.screen.print(RowView(shown, row, Answers.KEYS, first=row is shown.rows[0]))
        self.shown = list(shown.rows)

    def _explain(self, shown: Card, row: Row, said: str) -> None:
        """What each key does, after something that is none of them: prose decides nothing."""
        if said:
            self.screen.print(text(f"“{said}” is none of the keys, so nothing is decided by it:", "yellow"))
        self.screen.print(keys_table(row, shown))

    async def _chosen(self, views: Sequence[ParkView], row: Row, choice: str, said: str) -> bool:
        """Whether *choice* ended the question. Raises what deciding raises."""
        view = next(v for v in views if v.park.token == row.token)
        changes: Mapping[str, Json] | None = None
        match choice:
            case Verb.EDIT:
                if not (changes := await self._edits(view)):
                    self.screen.print(text("Nothing was changed.", "dim"))
                    return False
                decision = Decision(kind=DecisionKind.EDIT)
            case Verb.DECLINE | Verb.DECLINE_STOP:
                reason = words(await self._answer("why (may be empty): ")) or None
                stops = choice == Verb.DECLINE_STOP
                decision = Decision(kind=DecisionKind.DECLINE, reason=reason, and_stop=stops)
            case Verb.REVISE:
                if not (how := words(await self._answer("how is it to be changed: "))):
                    self.screen.print(text("Nothing was said, so nothing is decided.", "dim"))
                    return False
                decision = Decision(kind=DecisionKind.REVISE, reason=how)
            case Verb.ANSWER:
                decision = Decision(kind=DecisionKind.ANSWER, reason=await self._answer_to(row, said))
            case Verb.APPROVE_REST:
                return await self._approve_all(views)
            case Verb.APPROVE | Verb.CONNECTED:
                decision = Decision(kind=DecisionKind(choice))
            case Choice.LOOK_UP:
                self.screen.print(await looked_up(self.here, view), soft_wrap=True)
                return True
            case _:
                decision = Decision(kind=DecisionKind.CHOICE, choice=Choice(choice))
        await self._decided(view, decision, changes)
        return True

    async def _approve_all(self, views: Sequence[ParkView]) -> bool:
        """Each call of the card that waits is approved, by itself: one that can't be keeps no other back."""
        for view in (one for one in views if one.park.kind is ParkKind.APPROVAL):
            try:
                await self._decided(view, Decision(kind=DecisionKind.APPROVE))
            except DecisionError as error:
                self.screen.print(text(f"{code_of(view)}: {error}", "red"))
        return True

    async def _decided(
        self, view: ParkView, decision: Decision, changes: Mapping[str, Json] | None = None
    ) -> None:
        """*view* is decided, and told so here, once. Raises what deciding raises."""
        decided = await decide(self.here, view, decision, changes)
        for token in (view.park.token, decided.park.token):
            self.surface.told(token)
        view, decided = self.here.app.desk.redactor.clean((view, decided))
        self.screen.print(decided_line(self.here.who.name, view, decided), soft_wrap=True)

    async def _answer_to(self, row: Row, said: str) -> str:
        """The answer's words: what was typed, the suggestion it numbers, or what is typed next."""
        if said.lower() in (KEYS[Verb.ANSWER][0], Verb.ANSWER):
            said = await self._answer("answer: ")
        numbered = said.isascii() and said.isdigit() and 1 <= int(said) <= len(row.suggestions)
        return words(raw(row.suggestions[int(said) - 1]) if numbered else said)

    async def _edits(self, view: ParkView) -> dict[str, Json]:
        """What the person typed for each field that may be changed; an empty line leaves it."""
        changes: dict[str, Json] = {}
        if (made := form_of(self.here, view)) is None:
            return changes
        desk = self.here.app.desk
        for asked in made.inputs:
            self.screen.print(field_view(shown_input(desk, asked)))
            while typed := await self._typed(asked):
                try:
                    changes |= filled(made, {asked.name: as_it_was(desk, made, asked.name, typed)})
                    break
                except BadArguments as error:
                    self._complain(error)
        return changes

    async def _typed(self, asked: Input) -> str:
        """The new text of one field; empty: it stays. Several lines end with one of a dot alone."""
        if "\n" not in asked.value and asked.kind is not Kind.LIST:
            return await self._answer("  new value (empty: as it is): ")
        lines: list[str] = []
        line = await self._answer("  new lines, the last a dot alone (empty: as it is): ")
        while line != "." and (line or lines):
            lines.append(line)
            line = await self._answer("  ")
        return "\n".join(lines)

    # ── the terminal ─────────────────────────────────────────────────────────────────────────

    async def _answer(self, prompt: str) -> str:
        self._prompt(prompt)
        return await self._line()

    async def _line(self) -> str:
        """The next line. Raises Over at the input's end and for /quit."""
        line = await self.lines.next()
        self.prompted = False
        if not self.lines.is_terminal:
            echo = self.here.app.desk.redactor.redact(line or "")  # as a terminal would have shown it
            self.screen.print(text(echo))
        if line is None or line.strip() in ("/quit", "/exit"):
            raise Over
        return line

    def _prompt(self, words: str) -> None:
        self.screen.print(Text(words, style="bold"), end="")

    def _complain(self, error: GatepostError) -> None:
        self.screen.print(text(self.here.app.desk.redactor.redact(str(error)), "red"))

    def _fresh_line(self) -> None:
        """Whatever is printed next does not stand behind a prompt."""
        if self.prompted:
            self.screen.print()
            self.prompted = False
