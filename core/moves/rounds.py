"""The model's replies, and what joins the transcript between them: reserve, record_reply, take, note."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from core.agents import Agent, may_reach
from core.calls import MODEL_PURE_RISKS, Call, ParksAs
from core.fence import FENCE, mark_of
from core.gate import Ruling, Verdict
from core.ids import CallId, Run
from core.model import ModelReply
from core.moves.common import Answer, entry, fenced, moved, owns, progress, reservation, stands, worker
from core.parks import shown_hash
from core.plan import QUIET, AskModel, Reply, RunState, Signals, next_step, run_state
from core.ruling import gate
from core.tasks import Json, MessageKind, Taint, Task
from core.work import Change, Event, EventKind, Fenced, Lost, Move, NewMessage, Spend, TaskEvent, Work

CALLS_A_ROUND: Final = 16
"""More calls than this in one reply are refused, each with its result (bad-inputs.md 9)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A call as the model wrote it, looked up and cleaned outside the transaction.

    *refused_by*: the rule that refuses it whatever the gate says (tool, arguments, declined), or None.
    """

    id: CallId
    provider_call_id: str
    tool: str
    tool_digest: str = ""
    risk: str = ""
    account: str | None = None
    parks_as: ParksAs | None = None
    proposed_args: Json
    args: Json
    refused_by: str | None = None
    destination: str | None = None  # the host it goes to; None: nowhere
    repaired: str | None = None  # the name as the model wrote it, where it is another than the tool's
    dropped: tuple[str, ...] = ()  # server-owned arguments the model had set (I36)


def reserve(
    run: Run, agent: Agent, tokens: int, signals: Signals = QUIET
) -> Move[tuple[RunState, Spend | None] | Fenced]:
    """The next request's *tokens* are reserved before it is made, or the budget is over (I24).

    Needs: usage. Answers the state, and what was reserved in which hour, if the model may be asked.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, tuple[RunState, Spend | None] | Fenced]:
        if not owns(work, run):
            return fenced(run)
        state = run_state(work, agent, signals)
        if not isinstance(next_step(state), AskModel):
            return Lost(why="the model is not to be asked now"), (state, None)
        spend, facts = reservation(tokens, at), {"tokens": tokens}
        change = Change(task=work.task, spend=(spend,), entry=entry(worker(run), "reserve", facts=facts))
        return change, (state, spend)

    return move


def record_reply(
    run: Run,
    agent: Agent,
    reply: ModelReply,
    proposals: Sequence[Proposal],
    spend: tuple[Spend, ...] = (),
    *,
    wrap: bool = False,
) -> Move[Answer]:
    """The reply and all its calls exist, each with verdict, rule and hash, before any of them runs (T4)."""

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        before = work.task
        if any(not c.settled for c in work.round if c.round is not None):
            raise AssertionError("a model reply while a call of the round is open")
        calls = tuple(_call(work, agent, n, p, wrap=wrap) for n, p in enumerate(proposals))
        silent = _is_silent(before, reply, wrap=wrap)
        task = replace(
            before,
            round=before.round + 1,
            next_call_no=before.next_call_no + len(calls),
            tokens_in=before.tokens_in + reply.usage.tokens_in,
            tokens_out=before.tokens_out + reply.usage.tokens_out,
            strikes=before.strikes + silent,
            attempts=0,
            not_before=None,
            wrap=wrap,
        )
        body = {
            "text": reply.text,
            "calls": len(calls),
            "finish": reply.finish,
            "wrap": wrap,
            "model": reply.model,
        }
        rulings = [{"call": c.number, "tool": c.tool, "rule": c.rule, "hash": c.args_hash} for c in calls]
        facts: dict[str, Json] = {"round": task.round, "calls": rulings, "model": reply.model}
        if dropped := {p.tool: list(p.dropped) for p in proposals if p.dropped}:
            facts["dropped"] = dropped
        change = Change(
            task=task,
            calls=calls,
            messages=(NewMessage(kind=MessageKind.ASSISTANT, body=body, tokens=reply.usage.tokens_out),),
            posts=progress(task),
            spend=spend,
            entry=entry(worker(run), "record_reply", facts=facts),
            events=(
                TaskEvent(name="reply_recorded", data={"round": task.round, "calls": len(calls)}),
                *(_repaired(p) for p in proposals if p.repaired is not None),
            ),
        )
        return moved(work, change, agent, at)

    return move


def _repaired(p: Proposal) -> TaskEvent:
    return TaskEvent(name="call_repaired", call_id=p.id, data={"tool": p.tool, "wrote": p.repaired})


def _is_silent(task: Task, reply: ModelReply, *, wrap: bool) -> bool:
    said = Reply(
        text=reply.text,
        calls=len(reply.calls),
        finish=reply.finish,
        wrap=wrap,
        schema=task.schema is not None,
    )
    return not (said.calls or said.is_final or said.refused or wrap)


def _call(work: Work, agent: Agent, ordinal: int, p: Proposal, *, wrap: bool) -> Call:
    task = work.task
    ruling = _ruling(work, agent, ordinal, p, wrap=wrap)
    return Call(
        org=task.org,
        id=p.id,
        task_id=task.id,
        number=task.next_call_no + ordinal,
        episode=task.episode,
        round=task.round + 1,
        ordinal=ordinal,
        provider_call_id=p.provider_call_id,
        tool=p.tool,
        tool_digest=p.tool_digest,
        risk=p.risk,
        pure=p.risk in MODEL_PURE_RISKS,
        account=p.account,
        proposed_args=p.proposed_args,
        args=p.args,
        args_hash=shown_hash(
            org=task.org,
            agent=task.agent,
            tool=p.tool,
            tool_digest=p.tool_digest,
            risk=p.risk,
            account=p.account,
            args=p.args,
        ),
        verdict=ruling.verdict,
        rule=ruling.rule,
        parks_as=p.parks_as,
    )


def _ruling(work: Work, agent: Agent, ordinal: int, p: Proposal, *, wrap: bool) -> Ruling:
    if wrap:
        return Ruling(verdict=Verdict.REFUSE, rule="wrap_up")
    if ordinal >= CALLS_A_ROUND:
        return Ruling(verdict=Verdict.REFUSE, rule="too_many")
    if p.refused_by is not None:
        return Ruling(verdict=Verdict.REFUSE, rule=p.refused_by)
    ruling = gate(work, agent, tool=p.tool, risk=p.risk)
    if ruling.verdict is Verdict.RUN and _carries_out(work, agent, p.destination):
        return Ruling(verdict=Verdict.ASK, rule="egress")
    return ruling


def _carries_out(work: Work, agent: Agent, destination: str | None) -> bool:
    """An address that a stranger's words may have chosen could carry out what this task has read (S3)."""
    task = work.task
    both = task.taint is Taint.OUTSIDE and task.read_private
    return both and destination is not None and not may_reach(agent, destination)


_KINDS: Final = {
    EventKind.MESSAGE: MessageKind.OWNER,
    EventKind.REPLY: MessageKind.REPLY,
    EventKind.EVENT: MessageKind.EXTERNAL,
    EventKind.FIRE: MessageKind.EXTERNAL,
    EventKind.ENDED: MessageKind.EXTERNAL,
}


def take(run: Run, agent: Agent, drawn: str) -> Move[Answer]:
    """The unread messages are in the transcript, at a round boundary, in the order they came (K36, K37).

    Words from outside get a fence, whose mark comes of *drawn*, 128 bits nobody has seen (I27).
    Needs: unread.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        if any(not c.settled for c in work.round if c.round is not None):
            return stands(work, agent, at, "a call of the round is open")
        events = work.unread
        outside = any(_KINDS[e.kind] is not MessageKind.OWNER for e in events)
        task = replace(
            work.task,
            unread=0,
            repeats=0,
            taint=Taint.OUTSIDE if outside else work.task.taint,
        )
        change = Change(
            task=task,
            messages=tuple(_message(e, mark_of(drawn, n)) for n, e in enumerate(events)),
            applied=tuple(e.key for e in events),
            entry=entry(worker(run), "take", facts={"events": [e.key.event_id for e in events]}),
        )
        return moved(work, change, agent, at)

    return move


RECEIVED_AT: Final = "received_at"
"""In the body of a person's message: when it came, since it may be read much later."""


def _message(event: Event, mark: str) -> NewMessage:
    body = event.body if _KINDS[event.kind] is MessageKind.OWNER else {**_outside(event.body), FENCE: mark}
    if event.kind is EventKind.MESSAGE and event.received_at is not None:
        body = {**body, RECEIVED_AT: event.received_at.isoformat()}
    return NewMessage(kind=_KINDS[event.kind], body=body)


def _outside(body: Json) -> dict[str, Json]:
    """What came, as a message's body."""
    return body if isinstance(body, dict) and isinstance(body.get("text"), str) else {"value": body}


def note(run: Run, agent: Agent, message: NewMessage) -> Move[Answer]:
    """A row of our own words joins the transcript; older rows stay as they are."""

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        change = Change(
            task=work.task,
            messages=(message,),
            entry=entry(worker(run), "note", facts={"kind": message.kind}),
        )
        return moved(work, change, agent, at)

    return move
