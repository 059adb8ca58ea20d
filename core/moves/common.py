"""What the moves share: whose run it is, how a call settles, how a task wakes and ends."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from core.agents import Agent
from core.calls import Call, CallState, Outcome
from core.ids import CallId, Run
from core.parks import Park, ParkKind, ParkState, shown_hash
from core.people import Person, Roster, Route
from core.plan import AskModel, RunState, next_step, run_state, runnable
from core.tasks import Json, MessageKind, Origin, Prio, Task, TaskState
from core.work import Change, Entry, Fenced, Lost, NewMessage, PostIntent, PostKind, Spend, TaskEvent, Work

CARD_PRIO: Final = 0
COPY_PRIO: Final = 1
"""Of what was sent on request: whoever asked has seen it."""
SHOWN_AGAIN_PRIO: Final = 2
REPORT_PRIO: Final = 0
PROGRESS_PRIO: Final = 2

PROGRESS_SECONDS: Final = 3.0
"""Between two edits of what tells how a task goes; one that is over by then needs none."""

Answer: TypeAlias = RunState | Fenced


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """How a call ended, and the one thing the model reads of it."""

    outcome: Outcome
    result: Json


def error(outcome: Outcome, words: str) -> Result:
    return Result(outcome=outcome, result={"error": words})


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolFacts:
    """A tool as it is today, for what has waited."""

    digest: str
    risk: str


def owns(work: Work, run: Run) -> bool:
    """The run still has its task (rule 3): what an older epoch writes changes nothing."""
    return work.task.state is TaskState.RUNNING and work.task.epoch == run.epoch


def fenced(run: Run) -> tuple[Lost, Fenced]:
    return Lost(why="the run lost its task"), Fenced(run=run)


def worker(run: Run) -> str:
    return f"worker:{run.worker}"


def stands(work: Work, agent: Agent, at: datetime, why: str) -> tuple[Lost, RunState]:
    """Nothing is written; the plan is made again on the rows as they are."""
    return Lost(why=why), run_state(work, agent)


def moved(work: Work, change: Change, agent: Agent, at: datetime) -> tuple[Change, RunState]:
    return change, run_state(work.after(change, at), agent)


def reservation(tokens: int, at: datetime) -> Spend:
    """*tokens* reserved in the hour of the database's time *at*, in which the window counts them."""
    return Spend(hour=at.replace(minute=0, second=0, microsecond=0), reserved=tokens)


def riding(
    work: Work, change: Change, agent: Agent, at: datetime, reserve: int | None
) -> tuple[Change, tuple[RunState, Spend | None]]:
    """*change*, with the next request's *reserve* tokens aboard where the model is asked next (I24)."""
    state = run_state(work.after(change, at), agent)
    if reserve is None or not isinstance(next_step(state), AskModel):
        return change, (state, None)
    spend = reservation(reserve, at)
    return replace(change, spend=(*change.spend, spend)), (state, spend)


def hash_of(task: Task, call: Call, args: Json) -> str:
    """The shown hash (I5) *call* has with *args*."""
    return shown_hash(
        org=call.org,
        agent=task.agent,
        tool=call.tool,
        tool_digest=call.tool_digest,
        risk=call.risk,
        account=call.account,
        args=args,
    )


def settled(call: Call, result: Result, at: datetime) -> Call:
    """*call* with its one result (I3)."""
    if call.settled:
        raise AssertionError(f"call {call.number} has its result already")
    return replace(call, state=CallState.SETTLED, outcome=result.outcome, result=result.result, settled_at=at)


def owner_call_note(call: Call) -> tuple[NewMessage, ...]:
    """An owner call answers no tool call of the model's, so its result joins as words of ours."""
    if call.round is not None or not call.settled:
        return ()
    body = {"text": f"The owner had {call.tool} sent again.", "result": call.result, "outcome": call.outcome}
    return (NewMessage(kind=MessageKind.NOTE, body=body),)


def withdrawn(parks: Iterable[Park]) -> tuple[Park, ...]:
    return tuple(replace(p, state=ParkState.WITHDRAWN) for p in parks if p.open)


def cards(work: Work, calls: Iterable[Call | None]) -> tuple[PostIntent, ...]:
    """A card a round where these calls' parks are shown: it should exist, and say what is so now."""
    places = dict.fromkeys((c.episode, c.round, c.number if c.round is None else None) for c in calls if c)
    return tuple(
        PostIntent(
            kind=PostKind.CARD,
            dedup_key=card_key(work.task, episode, round_, number),
            episode=episode,
            round=round_,
            body=None if number is None else {"call": number},
            prio=CARD_PRIO,
            asks=True,
        )
        for episode, round_, number in places
    )


def card_key(task: Task, episode: int, round_: int | None, number: int | None = None) -> str:
    """A card is per (task, round, route); an owner call has one of its own."""
    place = f"{episode}.{round_}" if number is None else f"call.{number}"
    return f"card:{task.id}:{place}"


def card_key_of(task: Task, park: Park, call: Call | None) -> str | None:
    """The key of the card that *park* of *call* is shown on; None: it is on none."""
    if call is not None:
        return card_key(task, call.episode, call.round, call.number if call.round is None else None)
    if "episode" not in park.shown:
        return None
    return card_key(task, park.shown["episode"], park.shown["round"])


def place_key(key: str, to: Route) -> str:
    """The copy at *to* of the card of *key*."""
    return f"{key}@{to.surface}:{to.ref}"


def copy_key(key: str, number: int | None, to: Route) -> str:
    """What was sent to *to* on request of the card of *key*, the call *number* of it alone, is one copy."""
    alone = "" if number is None else f".{number}"
    return f"copy:{key}{alone}@{to.surface}:{to.ref}"


def shown_again_key(key: str, chat_ref: str) -> str:
    """The message *chat_ref*, which was the copy of *key* until a newer one was sent."""
    return f"{key}:{chat_ref}"


def cards_of(work: Work, parks: Iterable[Park]) -> tuple[PostIntent, ...]:
    """The cards on which these parks are shown."""
    shown = list(parks)
    own = (_task_card(work.task, p) for p in shown if p.call_id is None and p.kind is ParkKind.LIMIT)
    return (*cards(work, [work.call(p.call_id) for p in shown if p.call_id is not None]), *own)


def _task_card(task: Task, park: Park) -> PostIntent:
    """The card of a park that is about the task itself: a limit, reached in the round it names."""
    episode, round_ = park.shown["episode"], park.shown["round"]
    return PostIntent(
        kind=PostKind.CARD,
        dedup_key=card_key(task, episode, round_),
        episode=episode,
        round=round_,
        prio=CARD_PRIO,
        asks=True,
    )


def report(ended: Task) -> PostIntent:
    """The closing report of the episode that *ended* has come to the end of.

    How it ended rides along, since a later episode clears it from the task.
    """
    ending = {"state": ended.state, "reason": ended.reason, "result": ended.result}
    return replace(report_again(ended, ended.episode), body=ending)


def report_again(task: Task, episode: int) -> PostIntent:
    """The report of *episode*, a revision more: something it shows has changed."""
    return PostIntent(
        kind=PostKind.REPORT,
        dedup_key=f"report:{task.id}:{episode}",
        episode=episode,
        prio=REPORT_PRIO,
    )


def progress(task: Task) -> tuple[PostIntent, ...]:
    """The message that tells how *task*'s episode goes, a revision more; none where it speaks in no chat."""
    if task.chat is None:
        return ()
    goes = PostIntent(
        kind=PostKind.PROGRESS,
        dedup_key=f"progress:{task.id}:{task.episode}",
        episode=task.episode,
        prio=PROGRESS_PRIO,
        after_seconds=PROGRESS_SECONDS,
    )
    return (goes,)


def released(task: Task, state: TaskState, **changes: object) -> Task:
    """*task*, no longer run by anybody."""
    return replace(task, state=state, worker=None, lease_until=None, **changes)  # type: ignore[arg-type]


def woken(work: Work, change: Change, agent: Agent, at: datetime) -> Change:
    """*change*, its waiting task queued where something can run or be said now (T7).

    Also where nothing holds it any longer: what comes next may be a limit's park, which a worker
    opens (I19). An open message or limit park is over with it.
    """
    after = work.after(change, at)
    held = any(p.holds for p in after.open_parks)
    if after.task.state is not TaskState.WAITING or (held and not runnable(run_state(after, agent))):
        return change
    over = withdrawn(p for p in after.open_parks if p.kind in (ParkKind.MESSAGE, ParkKind.LIMIT))
    return replace(
        change,
        task=replace(change.task, state=TaskState.QUEUED),
        parks=_newest(change.parks, over),
        posts=_once((*change.posts, *cards_of(work, over))),
    )


def stopped_at_once(work: Work, change: Change, by: str, at: datetime) -> Change:
    """*change*, and the task is stopped: open calls withdrawn, approved ones too; unknown parks stay."""
    after = work.after(change, at)
    calls = tuple(
        settled(c, error(Outcome.WITHDRAWN, "Not run: the task was stopped."), at)
        for c in after.round
        if not c.settled
    )
    parks = withdrawn(p for p in after.open_parks if p.kind is not ParkKind.UNKNOWN)
    task = released(change.task, TaskState.STOPPED, reason=by, stop_by=by, ended_at=at)
    return replace(
        change,
        task=task,
        calls=_newest(change.calls, calls),
        parks=_newest(change.parks, parks),
        posts=_once(
            (*change.posts, *cards(work, calls), *cards_of(work, parks), report(task), *progress(task))
        ),
        events=(*change.events, ended_event(task)),
    )


def new_episode(task: Task) -> Task:
    """An ended task, queued again from the start of its counts; what it knows stays (T12)."""
    return replace(
        task,
        state=TaskState.QUEUED,
        prio=Prio.PERSON,
        episode=task.episode + 1,
        round=0,
        strikes=0,
        repeats=0,
        attempts=0,
        extra_rounds=0,
        stop_by=None,
        wrap=False,
        reason=None,
        result=None,
        ended_at=None,
        not_before=None,
    )


def ended_event(task: Task) -> TaskEvent:
    return TaskEvent(name=f"task_{task.state}", data={"reason": task.reason})


def can_stop_at_once(work: Work) -> bool:
    """Nobody runs it, and nothing of it may be under way."""
    idle = work.task.state in (TaskState.WAITING, TaskState.QUEUED, TaskState.DELAYED, TaskState.HELD)
    return idle and not any(c.state is CallState.EXECUTING for c in work.round)


def _newest(first: tuple[object, ...], then: tuple[object, ...]) -> tuple:  # type: ignore[type-arg]
    rows = {row.id: row for row in (*first, *then)}  # type: ignore[attr-defined]
    return tuple(rows.values())


def _once(posts: tuple[PostIntent, ...]) -> tuple[PostIntent, ...]:
    return tuple({p.dedup_key: p for p in posts}.values())


def origin_after(origin: Origin, who: Person | None) -> Origin:
    """*origin* once *who* has asked for a task or written in it.

    Who may approve nothing can't have anything approved by asking for it: what an owner's setting lets run
    without a click asks from here on (decision 14).
    """
    if origin in (Origin.OWNER, Origin.PROGRAM) and (who is None or not who.may_decide):
        return Origin.MEMBER
    return origin


def roster_of(work: Work) -> Roster:
    if work.roster is None:
        raise LookupError("deciding needs the roster")
    return work.roster


def find_call(work: Work, call_id: CallId) -> Call:
    call = work.call(call_id)
    if call is None:
        raise LookupError(f"no call {call_id} in the rows this move asked for")
    return call


def entry(
    actor: str,
    move: str,
    *,
    facts: Json = None,
    rule: str | None = None,
    surface: str | None = None,
    call_id: CallId | None = None,
) -> Entry:
    return Entry(actor=actor, surface=surface, move=move, rule=rule, call_id=call_id, facts=facts or {})
