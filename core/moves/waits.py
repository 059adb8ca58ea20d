"""Waiting: calls that ask a person, a task that rests, and waits that nobody ended in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from core.agents import Agent
from core.calls import Call, CallState, Outcome, ParksAs
from core.errors import IllegalMove
from core.gate import Verdict
from core.ids import CallId, Run
from core.moves.common import (
    Answer,
    cards,
    cards_of,
    ended_event,
    entry,
    error,
    fenced,
    find_call,
    moved,
    owner_call_note,
    owns,
    progress,
    released,
    report,
    settled,
    stands,
    stopped_at_once,
    woken,
    worker,
)
from core.parks import TOGETHER, Choice, Park, ParkKind, ParkState, Slip, shown_hash
from core.plan import QUIET, Hold, HoldKind, LimitKind, Rest, RunState, Signals, next_step, run_state
from core.tasks import Json, TaskState
from core.work import Change, Lost, Move, PostIntent, PostKind, Spend, TaskEvent, Work

_KIND_OF: Final = {
    ParksAs.QUESTION: ParkKind.QUESTION,
    ParksAs.REPLY: ParkKind.REPLY,
    ParksAs.CHILD: ParkKind.CHILD,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long a park waits for a person: states.md §5."""

    expires_in: timedelta = timedelta(days=7)
    remind_in: timedelta = timedelta(days=1)


LAST_CALL: Final = timedelta(hours=4)
"""Before a park expires, it is recalled once more."""

PATIENCE: Final = Patience()


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """One call to park, with what was found outside the transaction.

    *problem*: what the tool's check said against it; then it is not asked but refused. *account*:
    the account that is missing; then the park asks to connect it, also of a call that no click is needed for.
    """

    call_id: CallId
    slip: Slip
    shown: Json = None
    problem: str | None = None
    account: str | None = None
    patience: Patience = PATIENCE


def approval_park(
    call: Call,
    slip: Slip,
    at: datetime,
    *,
    version: int = 1,
    shown: Json = None,
    patience: Patience = PATIENCE,
    kind: ParkKind = ParkKind.APPROVAL,
) -> Park:
    """The park of *call* as it stands: what is shown and decided is its args under its hash."""
    return Park(
        org=call.org,
        id=slip.park_id,
        token=slip.token,
        task_id=call.task_id,
        call_id=call.id,
        version=version,
        kind=kind,
        holds=True,
        shown=shown or {},
        shown_hash=call.args_hash,
        created_at=at,
        remind_at=at + patience.remind_in,
        expires_at=at + patience.expires_in,
    )


def ask(run: Run, agent: Agent, asks: Sequence[Asking]) -> Move[Answer]:
    """All asks of the round are parked at once, each with its card to come (C5, T5).

    A call whose check spoke against it is settled as refused, in the check's words.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        if work.task.stop_by is not None:
            return stands(work, agent, at, "stopped")
        pairs = [(find_call(work, a.call_id), a) for a in asks]
        if any(not _may_park(c, a) for c, a in pairs):
            raise IllegalMove("only a proposed call that asks, or that wants an account, can be parked")
        refused = [
            settled(c, error(Outcome.REFUSED, a.problem), at) for c, a in pairs if a.problem is not None
        ]
        parked = [replace(c, state=CallState.PARKED) for c, a in pairs if a.problem is None]
        parks = tuple(_park(c, a, at, len(parked)) for c, a in pairs if a.problem is None)
        facts = {
            "parked": [{"call": c.number, "hash": c.args_hash} for c in parked],
            "refused": [c.number for c in refused],
        }
        strikes = work.task.strikes + (1 if refused and not parked else 0)
        change = Change(
            task=replace(work.task, strikes=strikes, attempts=0),
            calls=(*parked, *refused),
            parks=parks,
            posts=(*cards(work, parked), *progress(work.task)),
            entry=entry(worker(run), "ask", facts=facts),
            events=tuple(
                TaskEvent(name="call_parked", call_id=c.id, data={"tool": c.tool, "call": c.number})
                for c in parked
            ),
        )
        return moved(work, change, agent, at)

    return move


def _may_park(call: Call, a: Asking) -> bool:
    wants = a.account is not None and call.state is CallState.PROPOSED and call.verdict is Verdict.RUN
    return call.asks_person or wants


def _park(call: Call, a: Asking, at: datetime, together: int) -> Park:
    kind = ParkKind.APPROVAL if call.parks_as is None else _KIND_OF[call.parks_as]
    shown = {**(a.shown or {}), **({TOGETHER: together} if together > 1 else {})}
    if a.account is not None:
        kind, shown = ParkKind.CONNECT, {**shown, "account": a.account}
    return approval_park(call, a.slip, at, shown=shown, patience=a.patience, kind=kind)


def rest(
    run: Run,
    agent: Agent,
    *,
    hold: HoldKind | None = None,
    slip: Slip | None = None,
    signals: Signals = QUIET,
    patience: Patience = PATIENCE,
    release: Spend | None = None,
) -> Move[Answer | None]:
    """The task waits, if under the lock there still is nothing to do but that (T6); answers None then.

    Otherwise nothing is written and the answer says go on: a click or message between the plan and
    the lock is not lost. A Hold's park is opened in the same change. *release* gives back a reservation
    of which nothing was used. Needs: usage, for a limit.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer | None]:
        if not owns(work, run):
            return fenced(run)
        state = run_state(work, agent, signals)
        planned = Rest() if hold is None else Hold(hold)
        if next_step(state) != planned:
            return Lost(why="something came meanwhile"), state
        parks: tuple[Park, ...] = ()
        if hold is not None:
            if slip is None:
                raise IllegalMove("a hold opens a park, which needs a slip")
            parks = (_hold_park(work, state, hold, slip, at, patience),)
        elif not any(p.holds for p in work.open_parks):
            raise IllegalMove("nothing holds this task, so it can't wait (I19)")
        change = Change(
            task=released(work.task, TaskState.WAITING),
            parks=parks,
            posts=(*cards_of(work, parks), *_words_of(work, state, hold), *progress(work.task)),
            spend=() if release is None else (release,),
            entry=entry(worker(run), "rest", facts={"hold": hold}),
        )
        return change, None

    return move


def _words_of(work: Work, state: RunState, hold: HoldKind | None) -> tuple[PostIntent, ...]:
    """What an interactive agent said, in its task's thread: no report does, since nothing has ended."""
    if hold is not HoldKind.MESSAGE or state.reply is None:
        return ()
    task = work.task
    said = PostIntent(
        kind=PostKind.NOTICE,
        dedup_key=f"said:{task.id}:{task.episode}.{task.round}",
        episode=task.episode,
        round=task.round,
        body={"text": state.reply.text},
    )
    return (said,)


def _hold_park(
    work: Work, state: RunState, hold: HoldKind, slip: Slip, at: datetime, patience: Patience
) -> Park:
    task = work.task
    limit = hold is HoldKind.LIMIT
    reached = "repeats" if state.over is None else state.over.kind
    shown = {"limit": reached, "episode": task.episode, "round": task.round} if limit else {}
    return Park(
        org=task.org,
        id=slip.park_id,
        token=slip.token,
        task_id=task.id,
        call_id=None,
        kind=ParkKind.LIMIT if limit else ParkKind.MESSAGE,
        holds=True,
        shown=shown,
        shown_hash=shown_hash(
            org=task.org, agent=task.agent, tool="", tool_digest="", risk="", account=None, args=shown
        ),
        choices=_limit_choices(state) if limit else (),
        created_at=at,
        remind_at=at + patience.remind_in if limit else None,
        expires_at=at + patience.expires_in,
    )


def _limit_choices(state: RunState) -> tuple[Choice, ...]:
    """What lifts the limit that was reached, and the stop."""
    of_tokens = state.over is not None and state.over.kind in (LimitKind.TOKENS, LimitKind.BUDGET)
    return (Choice.MORE_TOKENS if of_tokens else Choice.MORE_ROUNDS, Choice.STOP)


def expire(agent: Agent) -> Move[tuple[Park, ...]]:
    """Parks past their time are expired, their calls "expired, not run"; the agent goes on (C13, T7).

    A limit park stops its task, a message park ends it as done. Answers the parks that expired; a
    click that came first has taken its park already (I31).
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, tuple[Park, ...]]:
        due = tuple(p for p in work.open_parks if p.expires_at is not None and p.expires_at <= at)
        if not due:
            return Lost(why="nothing is due"), ()
        parks = tuple(replace(p, state=ParkState.EXPIRED) for p in due)
        calls = tuple(
            settled(c, error(Outcome.EXPIRED, "Expired, not run: nobody decided in time."), at)
            for p in due
            if (c := work.call(p.call_id)) is not None and c.state is CallState.PARKED
        )
        change = Change(
            task=work.task,
            calls=calls,
            parks=parks,
            posts=cards_of(work, parks),
            messages=tuple(note for c in calls for note in owner_call_note(c)),
            entry=entry("sweeper", "expire", facts={"parks": [p.id for p in parks]}),
            events=tuple(TaskEvent(name="call_expired", call_id=c.id, data={"tool": c.tool}) for c in calls),
        )
        kinds = {p.kind for p in parks}
        if ParkKind.LIMIT in kinds and work.task.state is TaskState.WAITING:
            return stopped_at_once(work, change, "expired", at), parks
        if ParkKind.MESSAGE in kinds and work.task.state is TaskState.WAITING:
            task = released(work.task, TaskState.DONE, reason="idle", ended_at=at)
            events = (*change.events, ended_event(task))
            posts = (*change.posts, report(task), *progress(task))
            return replace(change, task=task, posts=posts, events=events), parks
        return woken(work, change, agent, at), parks

    return move


def remind() -> Move[tuple[Park, ...]]:
    """Open parks past their reminder have a post that says so; answers those parks.

    Each is recalled once, and once more shortly before it expires. One that is decided before the post is
    sent is not spoken of any more.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, tuple[Park, ...]]:
        due = tuple(p for p in work.open_parks if p.remind_at is not None and p.remind_at <= at)
        if not due:
            return Lost(why="nothing is due"), ()
        parks = tuple(replace(p, remind_at=_last_call(p, at)) for p in due)
        change = Change(
            task=work.task,
            parks=parks,
            posts=tuple(_reminder(work, p) for p in parks),
            entry=entry("sweeper", "remind", facts={"parks": [p.id for p in parks]}),
        )
        return change, parks

    return move


def _last_call(park: Park, at: datetime) -> datetime | None:
    """When *park*, recalled *at* this time, is recalled once more; None: this was the last."""
    if park.expires_at is None:
        return None
    last = park.expires_at - LAST_CALL
    return last if at < last else None


def _reminder(work: Work, park: Park) -> PostIntent:
    """That *park* still waits; the last one is a message of its own, so that it is seen."""
    last = "" if park.remind_at is not None else ":last"
    return PostIntent(
        kind=PostKind.NOTICE,
        dedup_key=f"reminder:{park.id}{last}",
        episode=work.task.episode,
        round=work.task.round,
        body={"park": park.id},
        asks=True,
    )
