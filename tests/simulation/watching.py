"""Who watches: told of each transaction, request and arrival, and keeps the first rule that was broken."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from core.agents import Limits
from core.calls import Call, Outcome
from core.ids import CallId, ParkId, PersonId, Run, Token
from core.model import Request
from core.tasks import Json, MessageKind, Task
from core.testing import InvalidHistory, check_history
from core.testing.memory.rows import Rows
from core.testing.memory.table import Wrote
from core.tools import ToolContext
from core.transcript import result_words, wire_id
from tests.simulation import arrivals, transactions
from tests.simulation.outside import CANARY, INJECTED, Arrival, Provider
from tests.simulation.process import Process
from tests.simulation.rules import Violation, demand, unread


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """A click that a person of the world made: who, on which token, having been shown which arguments.

    *whole*: all of them were on the screen.
    """

    by: PersonId
    token: Token
    args: Json  # what would run by it: as shown, or as edited
    approves: bool
    whole: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A message that a person of the world sent; no two have the same text."""

    by: PersonId
    text: str


@dataclass(kw_only=True)
class Watch:
    """*broken* is the first violation; *over* is set with it, so that the simulation ends at once."""

    rows: Rows
    provider: Provider
    now: Callable[[], datetime]
    limits: Limits
    pressed: dict[str, Pressed] = field(default_factory=dict)  # by event id
    read: set[tuple[PersonId, Token]] = field(default_factory=set)  # who opened the whole of which card
    written: dict[str, Written] = field(default_factory=dict)  # messages, by event id
    tampered: set[CallId] = field(default_factory=set)
    broken: Violation | None = None
    over: asyncio.Event = field(default_factory=asyncio.Event)
    seen: Counter[str] = field(default_factory=Counter)  # what was reached, for the coverage test
    told: set[ParkId] = field(default_factory=set)  # the app was, since no chat shows them
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)  # served, by organization and agent
    texts: set[str] = field(default_factory=set)  # of people, in transcripts
    writer: Run | None = None  # whose change is being written
    transactions: int = 0

    @contextmanager
    def writing(self, run: Run | None) -> Iterator[None]:
        before, self.writer = self.writer, run
        try:
            yield
        finally:
            self.writer = before

    def committed(self, wrote: Sequence[Wrote]) -> None:
        self.transactions += 1
        self._look(lambda: transactions.check(self, wrote))

    def asked(self, task: Task, request: Request) -> None:
        self._look(lambda: self._asked(task, request))

    def served(self, task: Task, tokens: int) -> None:
        self.tokens[task.org, task.agent] += tokens

    def arrived(self, process: Process, tool: str, args: Mapping[str, Json], context: ToolContext) -> None:
        """The provider takes a call now."""
        call = self.rows.calls.get(context.org, context.call_id)
        if call is None:
            self._break(Violation("I2: a call arrived that is no row"))
            return
        arrival = Arrival(call=call, at=self.now(), tool=tool, args=args, process=process.number)
        self._look(lambda: arrivals.check(self, process, arrival, context))
        if not call.pure:
            self.provider.accepted.append(arrival)

    def shown(self, view: object) -> None:
        """The chat is about to show *view*."""
        self._look(lambda: unread(view, f"a {type(view).__name__}"))

    def _asked(self, task: Task, request: Request) -> None:
        self.seen["model asked"] += 1
        unread(request, "a request")
        try:
            check_history(request.turns)
        except InvalidHistory as words:
            raise Violation(f"I3: {words}") from None
        said = "".join(turn.text or "" for turn in request.turns)
        demand("Traceback (most recent" not in said, "I38: an app's own error reached the model raw")
        for turn in request.turns:
            for line in (turn.text or "").split("\n"):
                outside = INJECTED in line
                demand(
                    not outside or line.startswith("| "), f"I27: words from outside are read as {turn.role}"
                )
        said_rows = self.rows.messages.under("task", task.org, task.id)
        if any(row.message.kind is MessageKind.COMPACT for row in said_rows):
            self._cleared(task, request)
        now = self.rows.task(task.ref)
        if now is not None and now.epoch == task.epoch and now.worker == task.worker:
            held = [u.reserved for u in self.rows.usage if (u.org, u.agent) == (task.org, task.agent)]
            demand(sum(held) > 0, "I24: the model was asked, and nothing is reserved")

    def _cleared(self, task: Task, request: Request) -> None:
        """I26: what a compaction took away is what tools returned, and nothing else."""
        self.seen["asked after a compaction"] += 1
        demand(request.turns[0].role == "system", "I26: the system text is gone")
        told = {turn.call_id: turn.text for turn in request.turns if turn.role == "tool"}
        for call in self.rows.calls.under("task", task.org, task.id):
            words = told.get(wire_id(call))
            if (
                words is None
                or not call.settled
                or words in (as_it_was := result_words(call), _hidden(as_it_was))
            ):
                continue
            returned = call.outcome is Outcome.SUCCEEDED and call.parks_as is None
            still_unknown = call.outcome in (Outcome.SUCCEEDED, Outcome.FAILED) and "unknown" in words
            demand(returned or still_unknown, f"I26: the result of a {call.outcome} {call.tool} was cleared")

    def call(self, org: str, call_id: CallId | None) -> Call | None:
        return None if call_id is None else self.rows.calls.get(org, call_id)

    def look(self, check: Callable[[], None]) -> None:
        self._look(check)

    def _look(self, check: Callable[[], None]) -> None:
        """A violation is kept, not raised: who is watched would take it for an error of its own."""
        try:
            check()
        except Violation as found:
            self._break(found)

    def _break(self, found: Violation) -> None:
        self.broken = self.broken or found
        self.over.set()


def _hidden(words: str) -> str:
    """*words* as a model reads them, without the world's secret."""
    return words.replace(CANARY, "[secret SHOP_KEY]")
