"""How a run or an episode is over: end, stop, give_back."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from core.agents import Agent
from core.ids import Run
from core.moves.common import (
    Answer,
    can_stop_at_once,
    cards_of,
    ended_event,
    entry,
    fenced,
    owns,
    progress,
    released,
    report,
    stopped_at_once,
    withdrawn,
    worker,
)
from core.parks import ParkKind
from core.plan import QUIET, End, EndKind, Signals, next_step, run_state
from core.tasks import Json, Task, TaskState
from core.work import Change, Lost, Move, PostIntent, PostKind, Spend, TaskEvent, Work

FIRST_DELAY: Final = timedelta(seconds=30)
LONGEST_DELAY: Final = timedelta(minutes=15)

_STATE_OF: Final = {
    EndKind.DONE: TaskState.DONE,
    EndKind.FAILED: TaskState.FAILED,
    EndKind.REFUSED: TaskState.FAILED,
    EndKind.STOPPED: TaskState.STOPPED,
}


def end(
    run: Run,
    agent: Agent,
    step: End,
    result: Json,
    *,
    signals: Signals = QUIET,
    release: Spend | None = None,
) -> Move[Answer | None]:
    """The episode is over, with its report to come (T9, T10, T11); answers None then.

    Only if under the lock the plan still says so: a message, a stop or a note that came meanwhile
    is seen to first. Open parks but the unknown ones are withdrawn. *release* gives back a reservation
    of which nothing was used. Needs: usage.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer | None]:
        if not owns(work, run):
            return fenced(run)
        state = run_state(work, agent, signals)
        if next_step(state) != step:
            return Lost(why="something came meanwhile"), state
        return _ended(work, run, step.outcome, step.reason, result, at, release), None

    return move


def fail(
    run: Run, agent: Agent, reason: str, words: str, *, release: Spend | None = None
) -> Move[Answer | None]:
    """The episode has failed for a *reason* outside the rows: the model's service can't do it (T10).

    Only between rounds, when every call has its result and nothing is unread; otherwise the answer
    says go on.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer | None]:
        if not owns(work, run):
            return fenced(run)
        task = work.task
        if any(not c.settled for c in work.round) or task.stop_by is not None or task.unread:
            return Lost(why="something is still to be done"), run_state(work, agent)
        return _ended(work, run, EndKind.FAILED, reason, {"error": words}, at, release), None

    return move


def _ended(
    work: Work, run: Run, kind: EndKind, reason: str, result: Json, at: datetime, release: Spend | None
) -> Change:
    parks = withdrawn(p for p in work.open_parks if p.kind is not ParkKind.UNKNOWN)
    said = work.task.stop_by if kind is EndKind.STOPPED else reason
    task = released(work.task, _STATE_OF[kind], reason=said, result=result, ended_at=at)
    return Change(
        task=task,
        parks=parks,
        posts=(*cards_of(work, parks), report(task), *progress(task)),
        spend=() if release is None else (release,),
        entry=entry(worker(run), "end", rule=kind, facts={"reason": said, "episode": task.episode}),
        events=(ended_event(task),),
    )


def stop(by: str, *, surface: str | None = None) -> Move[TaskState]:
    """Nothing of the task starts from now on (I29); answers the state it is in.

    At once where nobody runs it and nothing of it is under way; otherwise the worker first records
    what is in flight (T11).
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, TaskState]:
        task = work.task
        if task.ended or task.stop_by is not None:
            return Lost(why="ended or stopping already"), task.state
        change = Change(
            task=replace(task, stop_by=by),
            entry=entry(by, "stop", surface=surface),
            events=(TaskEvent(name="stop_asked", data={}),),
        )
        if can_stop_at_once(work):
            change = stopped_at_once(work, change, by, at)
        return change, change.task.state

    return move


WHY: Final = "why"
"""In the facts of a delay: the words of its notice."""


def give_back(run: Run, *, release: Spend | None = None) -> Move[None]:
    """The task is queued again (T8). *release* gives back a reservation of which nothing was used."""
    return _given_back(run, lambda work, at: None, None, release)


def delay(run: Run, *, seconds: float | None = None, notice: str, release: Spend | None = None) -> Move[None]:
    """The task is delayed by *seconds*, with one notice a round of why (T8).

    Without *seconds* for as long as it has got nowhere so far, between half a minute and a quarter
    of an hour: each wait about doubles the last.
    """

    def until(work: Work, at: datetime) -> datetime:
        if seconds is not None:
            return at + timedelta(seconds=seconds)
        return at + min(max(at - _moved_at(work, at), FIRST_DELAY), LONGEST_DELAY)

    return _given_back(run, until, notice, release)


def _moved_at(work: Work, at: datetime) -> datetime:
    """When the task last got anywhere: the newest of its words and results."""
    settled = (c.settled_at for c in work.round if c.settled_at is not None)
    return max(settled, default=at) if work.last is None else max((work.last.at, *settled))


def _given_back(
    run: Run,
    until: Callable[[Work, datetime], datetime | None],
    notice: str | None,
    release: Spend | None,
) -> Move[None]:

    def move(work: Work, at: datetime) -> tuple[Change | Lost, None]:
        if not owns(work, run):
            return Lost(why="the run lost its task"), None
        not_before = until(work, at)
        task = released(
            work.task,
            TaskState.QUEUED if not_before is None else TaskState.DELAYED,
            not_before=not_before,
            attempts=0,
        )
        facts: dict[str, Json] = {"delayed": not_before is not None}
        posts: tuple[PostIntent, ...] = ()
        if notice is not None:
            posts, facts = (_notice(task, notice),), {**facts, WHY: notice}
        change = Change(
            task=task,
            posts=posts,
            spend=() if release is None else (release,),
            entry=entry(worker(run), "give_back", facts=facts),
        )
        return change, None

    return move


def _notice(task: Task, text: str) -> PostIntent:
    key = f"notice:{task.id}:{task.episode}.{task.round}"
    return PostIntent(
        kind=PostKind.NOTICE,
        dedup_key=key,
        episode=task.episode,
        round=task.round,
        body={"text": text},
        once=True,  # an outage is told of once, not at every try
    )
