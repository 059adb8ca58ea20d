"""What a run does next: one pure function of the rows. There is no second path for a resumed task.

`next_step` is total; it reads no clock and no configuration beyond the RunState. Whoever asks
"can something run?" (rest, decide, expire, incoming) asks `runnable`, under the task's lock.
Source: ports-and-tables.md §4.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

from core.agents import Agent
from core.calls import Call, CallState, Outcome
from core.gate import Risk, Verdict
from core.model import Finish
from core.parks import Park, ParkKind
from core.ruling import gate
from core.tasks import Json, Message, MessageKind, Task
from core.work import Work

FINISH_TOOL: Final = "finish"

# ── what is planned on ───────────────────────────────────────────────────────────────────────


class Missing(StrEnum):
    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""No valid `finish`; None is a result a task may finish with."""


class LimitKind(StrEnum):
    ROUNDS = "rounds"
    TOKENS = "tokens"
    TIME = "time"
    BUDGET = "budget"


@dataclass(frozen=True, kw_only=True, slots=True)
class Breach:
    """A limit is reached. *hard*: not even a closing round is left."""

    kind: LimitKind
    hard: bool = False


class Size(StrEnum):
    FITS = "fits"
    CLEARABLE = "too_big_clearable"  # old tool results can be cleared
    SUMMARISABLE = "too_big_summarisable"  # older messages can be summarised
    TOO_BIG = "too_big"  # nothing new since the last compaction


class NudgeWhy(StrEnum):
    SILENT = "silent"  # neither words nor calls
    CUT = "cut"  # the text was cut or held back
    NO_FINISH = "no_finish"  # a result was asked for, and words came


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """The last model reply, as long as nothing but its own results is newer."""

    text: str | None
    calls: int
    finish: Finish
    wrap: bool
    schema: bool  # the task wants a result in a shape

    @property
    def is_final(self) -> bool:
        """Whole words and nothing else, where words are the result."""
        whole = self.finish in (Finish.STOP, Finish.TOOL_CALLS, Finish.REFUSAL)
        return whole and not self.calls and not self.schema and bool((self.text or "").strip())

    @property
    def refused(self) -> bool:
        held_back = self.finish in (Finish.REFUSAL, Finish.CONTENT_FILTER)
        return held_back and not self.calls and not (self.text or "").strip()

    @property
    def why_not_final(self) -> NudgeWhy:
        if not (self.text or "").strip():
            return NudgeWhy.SILENT
        return NudgeWhy.NO_FINISH if self.schema and self.finish is Finish.STOP else NudgeWhy.CUT


@dataclass(frozen=True, kw_only=True, slots=True)
class Signals:
    """What the rows don't say: the host's refusal, asked before each step, and the prompt's size."""

    refusal: str | None = None
    size: Size = Size.FITS
    overtime: bool = False  # this run has used its time; a task that waits spends none


QUIET: Final = Signals()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunState:
    """Rows and signals, refreshed by every change; no clock and no look-ups inside.

    *calls*: the open owner calls, then all of the current round by ordinal.
    """

    task: Task
    agent: Agent
    calls: tuple[Call, ...]
    reply: Reply | None
    unread: int
    stop: bool
    paused: bool
    refusal: str | None
    finish: Json
    over: Breach | None
    size: Size
    strikes: int
    repeats: int
    connects: bool = (
        False  # a call of this round came to nothing for want of an account, which somebody may connect
    )


def run_state(work: Work, agent: Agent, signals: Signals = QUIET) -> RunState:
    """The state of *work*, with what *signals* add to its rows."""
    task = work.task
    reply = _reply(work.last, task)
    return RunState(
        task=task,
        agent=agent,
        calls=tuple(_as_ruled(work, agent, c) for c in work.round),
        reply=reply,
        unread=task.unread,
        stop=task.stop_by is not None,
        paused=work.paused,
        refusal=signals.refusal,
        finish=MISSING if reply is None else _finish(work.round),
        over=breach(work, agent) or (OVERTIME if signals.overtime else None),
        size=signals.size,
        strikes=task.strikes,
        repeats=task.repeats,
        connects=any(_connects(work, p) for p in work.open_parks),
    )


def _as_ruled(work: Work, agent: Agent, call: Call) -> Call:
    """A draft that was let run, as today's practice has it: it is only recorded then (I10).

    Effects are gated again at their marker; drafts have none.
    """
    if not (call.state is CallState.PROPOSED and call.verdict is Verdict.RUN and call.risk == Risk.DRAFT):
        return call
    today = gate(work, agent, tool=call.tool, risk=call.risk)
    return call if today.verdict is Verdict.RUN else replace(call, verdict=today.verdict, rule=today.rule)


def _connects(work: Work, park: Park) -> bool:
    call = work.call(park.call_id)
    return park.kind is ParkKind.CONNECT and call is not None and call.settled


def _reply(last: Message | None, task: Task) -> Reply | None:
    here = last is not None and (last.episode, last.round) == (task.episode, task.round)
    if last is None or not here or last.kind is not MessageKind.ASSISTANT:
        return None
    body = last.body
    return Reply(
        text=body["text"],
        calls=body["calls"],
        finish=Finish(body["finish"]),
        wrap=body["wrap"],
        schema=task.schema is not None,
    )


def _finish(calls: Sequence[Call]) -> Json:
    for call in calls:
        if call.round is not None and call.tool == FINISH_TOOL and call.outcome is Outcome.SUCCEEDED:
            return call.result["value"]
    return MISSING


OVERTIME: Final = Breach(kind=LimitKind.TIME, hard=True)


def breach(work: Work, agent: Agent) -> Breach | None:
    """The first limit reached by the rows: daily tokens, rounds of this episode, the task's tokens.

    The daily tokens are looked at only where the Work has them (Need.usage); what is over by then is
    at most one reservation (I23).
    """
    task, limits = work.task, agent.limits
    daily = None if limits.daily_tokens is None else limits.daily_tokens + task.extra_tokens
    if daily is not None and work.daily_tokens is not None and work.daily_tokens >= daily:
        return Breach(kind=LimitKind.BUDGET, hard=True)
    if task.round >= limits.rounds + task.extra_rounds:
        return Breach(kind=LimitKind.ROUNDS)
    if limits.tokens is not None and task.tokens_in + task.tokens_out >= limits.tokens + task.extra_tokens:
        return Breach(kind=LimitKind.TOKENS)
    return None


def over_budget(work: Work, agent: Agent) -> int:
    """How many tokens of the day are beyond the agent's budget, whichever task used them.

    From there on counts what an owner gives more, or it might be used up before it is given. 0 where the
    Work has no usage.
    """
    if agent.limits.daily_tokens is None or work.daily_tokens is None:
        return 0
    return max(0, work.daily_tokens - agent.limits.daily_tokens)


# ── the steps ────────────────────────────────────────────────────────────────────────────────


class EndKind(StrEnum):
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    REFUSED = "refused"  # by the host's refuse_run


class HoldKind(StrEnum):
    MESSAGE = "message"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Recover:
    """A dead run left these executing: effects are unknown, pure ones run again."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Settle:
    """These get a result without running; *outcome* None: by the verdict of each."""

    calls: tuple[Call, ...]
    outcome: Outcome | None


@dataclass(frozen=True, slots=True)
class RunReads:
    """Together, at most ten at once."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class RunEffect:
    call: Call


@dataclass(frozen=True, slots=True)
class Ask:
    """All asks of the round at once."""

    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """Sleep until something can run."""


@dataclass(frozen=True, slots=True)
class Take:
    """The unread messages join the transcript."""


@dataclass(frozen=True, slots=True)
class AskModel:
    wrap: bool


@dataclass(frozen=True, slots=True)
class Nudge:
    why: NudgeWhy


@dataclass(frozen=True, slots=True)
class Compact:
    size: Size


@dataclass(frozen=True, slots=True)
class Hold:
    """Wait for a message, or for more of a limit; the park is opened by `rest` itself."""

    kind: HoldKind


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Nothing may run now; the queue holds it until it may."""


@dataclass(frozen=True, slots=True)
class End:
    outcome: EndKind
    reason: str


Step: TypeAlias = (
    Recover
    | Settle
    | RunReads
    | RunEffect
    | Ask
    | Rest
    | Take
    | AskModel
    | Nudge
    | Compact
    | Hold
    | GiveBack
    | End
)

ATTEMPTS = 5
"""Leases lost in a row before a task counts as one that kills its process."""
READ_ATTEMPTS = 3
"""Leases lost in a row before its reads are given up (C20)."""
REFUSAL = "refusal"
"""Why an episode ends whose model, or its service, held the whole answer back."""
TOO_LONG = "size"
"""Why an episode ends whose conversation no longer fits its model."""
REPEATS = 2
"""The same call with the same result for the third time ends in a closing round (I25)."""
_WENT_THROUGH = frozenset({Outcome.SUCCEEDED, Outcome.OBSERVED, Outcome.DUPLICATE})


def next_step(s: RunState) -> Step:
    """What a run of this task does now."""
    todo = tuple(c for c in s.calls if not c.settled)
    # what a dead run left: perform never returns with a call of its own epoch executing
    if lost := tuple(c for c in todo if c.state is CallState.EXECUTING):
        return Recover(lost)
    if s.task.attempts >= ATTEMPTS:
        return Settle(todo, Outcome.FAILED) if todo else End(EndKind.FAILED, "crashes")
    # stop: results for all, approved ones too; then the end
    if s.stop:
        return Settle(todo, Outcome.WITHDRAWN) if todo else End(EndKind.STOPPED, "stopped")
    if s.paused:
        return GiveBack()
    if todo:
        return _next_call(s, todo)
    return _next_round(s)


def _next_call(s: RunState, todo: tuple[Call, ...]) -> Step:
    """A round with open calls: results that need no running, reads, effects, asks, or rest."""
    if told := tuple(c for c in todo if _is_told(c)):
        return Settle(told, None)
    if reads := tuple(c for c in todo if _is_read(c)):
        return RunReads(reads) if s.task.attempts < READ_ATTEMPTS else Settle(reads, Outcome.FAILED)
    if (effect := _next_effect(s.calls)) is not None:
        return effect
    if asks := tuple(c for c in todo if c.asks_person):
        return Ask(asks)
    return Rest()


def _is_told(call: Call) -> bool:
    return call.state is CallState.PROPOSED and call.verdict in (Verdict.OBSERVE, Verdict.REFUSE)


def _is_read(call: Call) -> bool:
    runs = call.state is CallState.PROPOSED and call.verdict is Verdict.RUN
    return call.pure and runs and call.parks_as is None


def _next_effect(calls: Sequence[Call]) -> Step | None:
    """By ordinal: a click is its own order; an unclicked one waits behind asks, is skipped behind a miss."""
    held = broken = False
    for call in calls:
        if call.state is CallState.SETTLED:
            broken |= call.round is not None and not call.pure and call.outcome not in _WENT_THROUGH
        elif call.state is CallState.APPROVED:
            return RunEffect(call)
        elif call.state is CallState.PARKED or call.asks_person:
            held = True
        elif broken:
            return Settle((call,), Outcome.SKIPPED)
        elif not held:
            return RunEffect(call)
    return None


def _next_round(s: RunState) -> Step:
    """A whole round (I3): news before any ending, then what the last reply says, then the limits."""
    if s.unread:
        return Take()
    if s.finish is not MISSING:
        return End(EndKind.DONE, "finished")
    if s.refusal:
        return End(EndKind.REFUSED, s.refusal)
    if s.reply is not None and (step := _after_reply(s, s.reply)) is not None:
        return step
    if s.connects and s.reply is not None:
        return Rest()
    if s.strikes >= s.agent.limits.strikes:
        return End(EndKind.FAILED, "strikes")
    if s.reply is not None and not s.reply.calls:
        return Nudge(s.reply.why_not_final)
    if s.over is not None or s.repeats >= REPEATS:
        if s.agent.limits.wrap_up and not (s.over is not None and s.over.hard):
            return _ask_model(s, wrap=True)
        return _at_limit(s)
    return _ask_model(s, wrap=False)


def _ask_model(s: RunState, *, wrap: bool) -> Step:
    """The request, where it fits: a closing round that does not would be asked for again for ever."""
    if s.size is Size.TOO_BIG:
        return End(EndKind.FAILED, TOO_LONG)
    return AskModel(wrap=wrap) if s.size is Size.FITS else Compact(s.size)


def _after_reply(s: RunState, reply: Reply) -> Step | None:
    if reply.wrap:
        return _at_limit(s)
    if reply.is_final:
        return Hold(HoldKind.MESSAGE) if s.agent.interactive else End(EndKind.DONE, "answered")
    if reply.refused:
        return End(EndKind.FAILED, REFUSAL)
    return None


def _at_limit(s: RunState) -> Step:
    return Hold(HoldKind.LIMIT) if s.task.has_owner else End(EndKind.FAILED, "limit")


def runnable(s: RunState) -> bool:
    """Something can run or be said, a pause left out: the one question behind every wake-up."""
    return not isinstance(next_step(replace(s, paused=False)), Rest | Hold)
