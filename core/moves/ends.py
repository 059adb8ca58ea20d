"""How a run or an episode is over: end, stop, give_back."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from core.agents import Agent
from core.ids import Run
from core.moves.common import (
    Answer,
    can_stop_at_once,
    cards,
    entry,
    fenced,
    owns,
    released,
    report,
    stopped_at_once,
    withdrawn,
    worker,
)
from core.parks import ParkKind
from core.plan import QUIET, End, EndKind, Signals, next_step, run_state
from core.tasks import Json, TaskState
from core.work import Change, Lost, Move, PostIntent, PostKind, Spend, TaskEvent, Work

_STATE_OF: Final = {
    EndKind.DONE: TaskState.DONE,
    EndKind.FAILED: TaskState.FAILED,
    EndKind.REFUSED: TaskState.FAILED,
    EndKind.STOPPED: TaskState.STOPPED,
}


def end(run: Run, agent: Agent, step: End, result: Json, *, signals: Signals = QUIET) -> Move[Answer | None]:
    """The episode is over, with its report to come (T9, T10, T11); answers None then.

    Only if under the lock the plan still says so: a message, a stop or a note that came meanwhile
    is seen to first. Open parks but the unknown ones are withdrawn. Needs: usage.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer | None]:
        if not owns(work, run):
            return fenced(run)
        state = run_state(work, agent, at, signals)
        if next_step(state) != step:
            return Lost(why="something came meanwhile"), state
        return _ended(work, run, step.outcome, step.reason, result, at), None

    return move


def fail(run: Run, agent: Agent, reason: str, words: str) -> Move[Answer | None]:
    """The episode has failed for a *reason* outside the rows: the model's service can't do it (T10).

    Only between rounds, when every call has its result; otherwise the answer says go on.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer | None]:
        if not owns(work, run):
            return fenced(run)
        if any(not c.settled for c in work.round) or work.task.stop_by is not None:
            return Lost(why="something is still to be done"), run_state(work, agent, at)
        return _ended(work, run, EndKind.FAILED, reason, {"error": words}, at), None

    return move


def _ended(work: Work, run: Run, kind: EndKind, reason: str, result: Json, at: datetime) -> Change:
    parks = withdrawn(p for p in work.open_parks if p.kind is not ParkKind.UNKNOWN)
    said = work.task.stop_by if kind is EndKind.STOPPED else reason
    task = released(work.task, _STATE_OF[kind], reason=said, result=result, ended_at=at)
    return Change(
        task=task,
        parks=parks,
        posts=(*cards(work, [work.call(p.call_id) for p in parks]), report(task)),
        entry=entry(worker(run), "end", rule=kind, facts={"reason": said, "episode": task.episode}),
        events=(TaskEvent(name=f"task_{task.state}", data={"reason": said}),),
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


def give_back(
    run: Run, *, delay: timedelta | None = None, notice: str | None = None, release: Spend | None = None
) -> Move[None]:
    """The task is queued again, or delayed by *delay*, with at most one notice a round of why (T8).

    *release* gives back a reservation of which nothing was used.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, None]:
        if not owns(work, run):
            return Lost(why="the run lost its task"), None
        task = released(
            work.task,
            TaskState.QUEUED if delay is None else TaskState.DELAYED,
            not_before=None if delay is None else at + delay,
            attempts=0,
        )
        posts: tuple[PostIntent, ...] = ()
        if notice is not None:
            key = f"notice:{task.id}:{task.episode}.{task.round}"
            posts = (PostIntent(kind=PostKind.NOTICE, dedup_key=key, body={"text": notice}),)
        change = Change(
            task=task,
            posts=posts,
            spend=() if release is None else (release,),
            entry=entry(worker(run), "give_back", facts={"delayed": delay is not None}),
        )
        return change, None

    return move
