"""A model's raw calls, looked up and cleaned before they are recorded, and the words for those refused.

Both are functions of what the model wrote and of the tools as they are, so that a process that
recorded a call and one that settles it days later say the same.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.agents import Agent
from core.builtins import BUILTINS
from core.calls import Call, Outcome, ParksAs
from core.canonical import digest
from core.errors import BadArguments, ConfigError
from core.gate import Risk, Ruling, Verdict, observed_by, words
from core.host import BaseHost
from core.ids import CallId
from core.model import ToolSpec, WireCall
from core.moves.common import Result, error
from core.moves.rounds import RECEIVED_AT, Proposal
from core.plan import FINISH_TOOL
from core.ports import Ids
from core.skills import READ_SKILL, read_skill
from core.tasks import Message, MessageKind, Mode, Task
from core.tools import Tool, clean, find, finish

NAME_CAP = 100
TEXT_CAP = 20_000
"""What is kept of a call that will never run; enough to see what was meant."""


RESERVED = frozenset({*BUILTINS, FINISH_TOOL})
"""Names that mean something to a run: a call of `finish` ends its task, whoever's tool it was."""


def reserved(tools: Mapping[str, Tool]) -> list[ConfigError]:
    """What is wrong where an app's *tools* have names of built-in ones."""
    names = sorted({name for key, tool in tools.items() for name in (key, tool.name)} & RESERVED)
    words = 'the host\'s tool {0} has the name of a built-in one: give it another, as in @tool(name="my_{0}")'
    return [ConfigError(words.format(name)) for name in names]


def tools_of(host: BaseHost, task: Task, agent: Agent) -> dict[str, Tool]:
    """The tools *agent* may name in *task*, by name; none of the app's has a built-in one's name.

    `finish` is among them where the task's result has a shape, `read_skill` where the agent has skills.
    """
    apps = {name: tool for name, tool in host.tools.items() if not {name, tool.name} & RESERVED}
    known = {**apps, **BUILTINS, READ_SKILL: read_skill(agent.skills)}
    named = (*agent.tools, READ_SKILL) if agent.skills else agent.tools
    own = {name: known[name] for name in named if name in known}
    return own if task.schema is None else {**own, FINISH_TOOL: finish(task.schema)}


def offered(tools: Mapping[str, Tool], task: Task) -> tuple[ToolSpec, ...]:
    """What the model is told of: in a task that only looks, its reads and how it ends (I9)."""
    looks = task.mode is Mode.WATCH
    shown = [t for t in tools.values() if not looks or t.risk is Risk.READ or t.name == FINISH_TOOL]
    return tuple(t.spec() for t in shown)


@dataclass(frozen=True, kw_only=True, slots=True)
class Declined:
    """What the owner declined since they last wrote: the same calls are refused until then (C9)."""

    calls: frozenset[str]

    def __contains__(self, key: str) -> bool:
        return key in self.calls


def declined(messages: Sequence[Message], calls: Sequence[Call]) -> Declined:
    """The calls declined after the owner's newest words: a message, or the answer to a question.

    As the model proposed them, and as they were when they were declined. Words count from when they were
    written: those that were there already when the card was declined allow nothing.
    """
    said = [_Said(at=_written_at(m), place=(m.episode, m.round)) for m in messages if m.kind in _OWNERS]
    said += [_Said(at=c.settled_at, place=_place(c)) for c in calls if _is_answered(c)]
    keys = {
        _same(c.tool, args)
        for c in calls
        if c.outcome is Outcome.DECLINED and not any(_allows(words, c) for words in said)
        for args in (c.proposed_args, c.args)
    }
    return Declined(calls=frozenset(keys))


_OWNERS = frozenset({MessageKind.GOAL, MessageKind.OWNER})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Said:
    at: datetime | None
    place: tuple[int, int]


def _written_at(message: Message) -> datetime:
    received = message.body.get(RECEIVED_AT) if isinstance(message.body, dict) else None
    return message.at if received is None else datetime.fromisoformat(received)


def _is_answered(call: Call) -> bool:
    return call.parks_as is ParksAs.QUESTION and call.outcome is Outcome.ANSWERED


def _place(call: Call) -> tuple[int, int]:
    return call.episode, call.round or 0


def _allows(said: _Said, call: Call) -> bool:
    """Whether *call*, declined before the owner's words *said*, may be asked again."""
    if said.at is None or call.settled_at is None or said.at == call.settled_at:
        return said.place >= _place(call)
    return said.at > call.settled_at


def _same(tool: str, args: object) -> str:
    return digest([tool, args])


def propose(
    wires: Sequence[WireCall], tools: Mapping[str, Tool], before: Declined, ids: Ids
) -> tuple[Proposal, ...]:
    """What is recorded of each call, in order; nothing here has run."""
    return tuple(_propose(wire, tools, before, CallId(ids.new())) for wire in wires)


def _propose(wire: WireCall, tools: Mapping[str, Tool], before: Declined, call_id: CallId) -> Proposal:
    tool = find(tools, wire.name)
    if tool is None:
        return _refused(wire, call_id, name=storable(wire.name, NAME_CAP), rule="tool", tool=None)
    try:
        cleaned = clean(tool, wire.arguments)
    except BadArguments:
        return _refused(wire, call_id, name=tool.name, rule="arguments", tool=tool)
    repeated = _same(tool.name, cleaned.args) in before
    return Proposal(
        id=call_id,
        provider_call_id=storable(wire.id, NAME_CAP),
        tool=tool.name,
        tool_digest=tool.digest,
        risk=tool.risk,
        parks_as=tool.parks_as,
        proposed_args=cleaned.args,
        args=cleaned.args,
        refused_by="declined" if repeated else None,
        destination=tool.destination(cleaned.args),
        repaired=None if wire.name == tool.name else storable(wire.name, NAME_CAP),
        dropped=cleaned.dropped,
    )


def _refused(wire: WireCall, call_id: CallId, *, name: str, rule: str, tool: Tool | None) -> Proposal:
    return Proposal(
        id=call_id,
        provider_call_id=storable(wire.id, NAME_CAP),
        tool=name,
        tool_digest=tool.digest if tool else "",
        risk=tool.risk if tool else "",
        proposed_args=storable(wire.arguments, TEXT_CAP),
        args={},
        refused_by=rule,
    )


def storable(text: str, cap: int) -> str:
    """*text* as any database takes it: no NUL, no half characters; cut at *cap*, the whole then named."""
    whole = text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\u0000")
    if len(whole) <= cap:
        return whole
    return f"{whole[:cap]}… ({len(whole)} characters, sha256 {hashlib.sha256(whole.encode()).hexdigest()})"


def told(call: Call, tools: Mapping[str, Tool]) -> Result:
    """The result of a call that the gate observes or refuses, in words the model can act on."""
    if call.verdict is Verdict.OBSERVE:
        why = observed_by(call.rule)
        return error(Outcome.OBSERVED, f"Recorded, not run ({why}). Go on as if it were done.")
    match call.rule:
        case "tool":
            return error(Outcome.REFUSED, f"There is no tool {call.tool}. Tools: {', '.join(sorted(tools))}.")
        case "arguments":
            return error(Outcome.REFUSED, f"Not run: {_problem(call, tools)}")
        case "declined":
            return error(
                Outcome.REFUSED, "Not run: the owner declined this very call. Propose something else."
            )
        case "too_many":
            return error(Outcome.REFUSED, "Not run: too many calls in one reply. Make fewer at a time.")
        case "wrap_up":
            return error(Outcome.REFUSED, "Not run: this was the closing round.")
        case _:
            ruling = Ruling(verdict=call.verdict, rule=call.rule)
            return error(Outcome.REFUSED, f"Not run: {words(ruling)}.")


def _problem(call: Call, tools: Mapping[str, Tool]) -> str:
    tool = tools.get(call.tool)
    if tool is None or not isinstance(call.proposed_args, str):
        return "the arguments are not what the tool takes."
    try:
        clean(tool, call.proposed_args)
    except BadArguments as problem:
        return str(problem)
    return "the arguments were not what the tool took then."
