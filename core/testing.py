"""What tests need in place of the world: a model by script, time by hand, ids by count.

Shipped, since everyone who writes agents or tools needs them too.

The model checks what it is asked: a request whose history breaks I3 raises InvalidHistory, so that a
loop can't pass its tests by a history no real service takes.
"""

from asyncio import Timeout
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from core.canonical import dump
from core.model import Finish, ModelReply, Request, Turn, Usage, WireCall
from core.tasks import Json

USAGE = Usage(tokens_in=100, tokens_out=20)
"""What a scripted reply costs where nothing else is said."""


# ── replies ──────────────────────────────────────────────────────────────────────────────────

_MADE = "made-"
"""What ids that nobody chose begin with; the scripted model keeps those unique in their history."""


def says(text: str | None, *, finish: Finish = Finish.STOP, usage: Usage = USAGE) -> ModelReply:
    """A reply of words alone; ``says(None)`` is silence."""
    return ModelReply(text=text, finish=finish, usage=usage, model="script")


def calls(*asked: tuple[str, Json], text: str | None = None, usage: Usage = USAGE) -> ModelReply:
    """A reply that calls tools: ``calls(("refund", {"order_id": "A7"}))``.

    Arguments given as a string are the raw text, so that broken JSON can be scripted too.
    """
    made = tuple(
        WireCall(
            id=f"{_MADE}{number}",
            name=name,
            arguments=arguments if isinstance(arguments, str) else dump(arguments),
        )
        for number, (name, arguments) in enumerate(asked, start=1)
    )
    return ModelReply(text=text, calls=made, finish=Finish.TOOL_CALLS, usage=usage, model="script")


# ── the model ────────────────────────────────────────────────────────────────────────────────

Line: TypeAlias = ModelReply | Exception | Callable[[Request], ModelReply]
"""One line of a script: what is answered, what is raised, or what decides that from the request."""


class InvalidHistory(AssertionError):
    """A request breaks I3: no service would take its history."""


class ScriptOver(AssertionError):
    """The model was asked more often than its script has lines."""


class ScriptedModel:
    """A Model that answers line by line, whoever asks. *requests* and *broken* are what it was asked.

    A loop may swallow what is raised here as any model's fault; *broken* still has it.
    """

    def __init__(self, script: Iterable[Line]) -> None:
        self.script: Sequence[Line] = tuple(script)
        self.requests: list[Request] = []
        self.broken: list[AssertionError] = []
        self._said = 0

    async def reply(self, request: Request) -> ModelReply:
        """The next line's reply. Raises InvalidHistory, ScriptOver, or what the line says."""
        self.requests.append(request)
        try:
            check_history(request.turns)
            line = self._line(request)
        except AssertionError as error:
            self.broken.append(error)
            raise
        if isinstance(line, Exception):
            raise line
        reply = line if isinstance(line, ModelReply) else line(request)
        return _with_unused_ids(reply, request)

    def _line(self, request: Request) -> Line:
        place = self._place(request)
        if place >= len(self.script):
            raise ScriptOver(f"asked for reply {place + 1} of a script of {len(self.script)}")
        return self.script[place]

    def _place(self, request: Request) -> int:
        self._said += 1
        return self._said - 1


class ByHistory(ScriptedModel):
    """Answers by how many assistant turns the request already holds, not by how often it was asked.

    So a new process goes on where the transcript stands, and several tasks may play one script. A line
    that raises does so each time, since nothing is added to the history; let a function decide instead.
    """

    def _place(self, request: Request) -> int:
        return sum(turn.role == "assistant" for turn in request.turns)


def script_from(turns: Iterable[Line]) -> ByHistory:
    """A model that plays *turns* from wherever the transcript stands."""
    return ByHistory(turns)


def check_history(turns: Sequence[Turn]) -> None:
    """Each call has its one result, adjacent and in order, and ids are unique (I3); else InvalidHistory."""
    owed: list[str] = []
    seen: set[str] = set()
    for place, turn in enumerate(turns):
        if turn.role == "tool":
            if not owed or turn.call_id != owed[0]:
                due = f"the result of {owed[0]} is due" if owed else "no call is open"
                raise InvalidHistory(f"turn {place} is a result of {turn.call_id}, where {due}")
            owed.pop(0)
            continue
        if owed:
            raise InvalidHistory(f"turn {place} ({turn.role}) comes before the results of {', '.join(owed)}")
        _check_turn(place, turn, seen)
        owed = [call.id for call in turn.calls]
    if owed:
        raise InvalidHistory(f"the history ends before the results of {', '.join(owed)}")


def _check_turn(place: int, turn: Turn, seen: set[str]) -> None:
    if turn.role not in ("system", "user", "assistant"):
        raise InvalidHistory(f"turn {place} has no known role: {turn.role}")
    if turn.role == "system" and place:
        raise InvalidHistory(f"turn {place} is a system text; only the first may be")
    if turn.calls and turn.role != "assistant":
        raise InvalidHistory(f"turn {place} ({turn.role}) has calls")
    for call in turn.calls:
        if not call.id or call.id in seen:
            raise InvalidHistory(
                f"turn {place} has a call whose id is {'used before' if call.id else 'empty'}"
            )
        seen.add(call.id)


def _with_unused_ids(reply: ModelReply, request: Request) -> ModelReply:
    """Ids that `calls` made become ones the history doesn't hold; others stay, clash or not."""
    used = {call.id for turn in request.turns for call in turn.calls}
    place = sum(turn.role == "assistant" for turn in request.turns)
    renamed = []
    for call in reply.calls:
        name, round_ = call.id, place
        while call.id.startswith(_MADE) and (name == call.id or name in used):
            round_ += 1
            name = f"call-{round_}-{call.id.removeprefix(_MADE)}"
        used.add(name)
        renamed.append(replace(call, id=name))
    return replace(reply, calls=tuple(renamed))


# ── time and ids ─────────────────────────────────────────────────────────────────────────────

MORNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where a manual clock starts: a Monday."""


class _Pass(Awaitable[None]):
    """Lets the event loop run everything else once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class ManualClock:
    """A Clock that only moves when told to, or when somebody sleeps: a sleep takes no real time.

    Sleeps of several tasks add up rather than overlap; a test that needs them to overlap should not
    sleep. *slept* are the seconds of each sleep, in order.
    """

    def __init__(self, at: datetime = MORNING) -> None:
        self.slept: list[float] = []
        self._now = at
        self._deadlines: dict[Timeout, datetime] = {}
        self.set(at)

    def now(self) -> datetime:
        return self._now

    def set(self, at: datetime) -> None:
        """It is *at*, aware, forwards or backwards; time-outs that this passes end."""
        if at.tzinfo is None:
            raise ValueError("a clock's time is aware; say its time zone")
        self._now = at.astimezone(UTC)
        for scope, deadline in list(self._deadlines.items()):
            if deadline <= self._now:
                del self._deadlines[scope]
                scope.reschedule(0)  # long past on the loop's own clock: ends at its next turn

    def advance(self, seconds: float) -> None:
        """It is *seconds* later."""
        self.set(self._now + timedelta(seconds=seconds))

    async def sleep(self, seconds: float) -> None:
        """Everybody else had a turn, then it is *seconds* later, unless a time-out ends this before."""
        self.slept.append(seconds)
        until = self._now + timedelta(seconds=seconds)
        await _Pass()
        while self._now < until:
            self.set(min([until, *self._deadlines.values()]))
            await _Pass()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[Timeout]:
        """A block that raises TimeoutError once this clock is *seconds* later; None never does."""
        async with Timeout(None) as scope:
            if seconds is not None:
                self._deadlines[scope] = self._now + timedelta(seconds=seconds)
                self.set(self._now)
            try:
                yield scope
            finally:
                self._deadlines.pop(scope, None)


class CountingIds:
    """Ids that count up: UUIDv7 in form, in order, the same in every run. *first* sets two sources apart."""

    def __init__(self, first: int = 1) -> None:
        self._next = first

    def new(self) -> str:
        return f"00000000-0000-7000-8000-{self._take():012x}"

    def nonce(self) -> str:
        return f"nonce{self._take():017d}"

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
