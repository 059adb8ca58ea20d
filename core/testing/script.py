"""A model by script: what it says, line by line, and a look at what it is asked.

A request whose history breaks I3 raises InvalidHistory, so that a loop can't pass its tests by a
history no real service takes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
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
