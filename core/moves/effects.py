"""Calls from their verdict to their one result: settle, mark, outcome, again.

`mark` is the commit that says "may have gone out". Nothing after it repeats an effect; what a
crash or a timeout leaves is unknown, and only a person may turn that into something else (I7).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from core.agents import Agent
from core.approvers import may_decide
from core.calls import Call, CallState, Outcome
from core.canonical import canonical, dump
from core.errors import IllegalMove
from core.gate import Risk, Verdict, observed_by, words
from core.ids import CallCode, CallId, Run
from core.moves.common import (
    Answer,
    Result,
    ToolFacts,
    cards,
    entry,
    error,
    fenced,
    find_call,
    hash_of,
    moved,
    owner_call_note,
    owns,
    progress,
    riding,
    settled,
    stands,
    withdrawn,
    worker,
)
from core.moves.waits import PATIENCE, approval_park
from core.parks import TOGETHER, UNKNOWN_CHOICES, Choice, DecisionKind, Park, ParkKind, ParkState, Slip
from core.plan import RunState, run_state
from core.ruling import gate
from core.tasks import Json, MessageKind, Taint, Task
from core.work import (
    Change,
    Earlier,
    Fenced,
    Lost,
    Move,
    NewMessage,
    Reach,
    Reached,
    Spend,
    TaskEvent,
    Work,
)

APPROVAL_TTL: Final = timedelta(hours=24)
"""A click older than this no longer runs anything (C14, states.md §5)."""

PURE_TRIES: Final = 3
"""How often a lost read or draft is run again (C20)."""

_WINDOWED: Final = frozenset({Risk.CONTACT.value, Risk.SPEND.value})
"""Risks whose calls ask anew where another task sent the same (C16)."""

WAKE_UNTIL: Final = timedelta(days=14)
"""How long an answer to what was sent wakes its task (I28, states.md §5)."""

_RISKS_UPWARDS: Final[tuple[str, ...]] = tuple(Risk)

UNKNOWN_WORDS: Final = (
    "It is not known whether this happened: it may have gone out. Do not repeat it; the owner is asked."
)


def settle(
    run: Run,
    agent: Agent,
    results: Mapping[CallId, Result],
    *,
    taints: bool = False,
    private: bool = False,
    crashed: bool = False,
    repeats: int = 0,
    reserve: int | None = None,
) -> Move[tuple[RunState, Spend | None] | Fenced]:
    """These calls have their results, none of them marked; their open parks are withdrawn.

    *private*: what is the business's own has been read. A call somebody settled meanwhile keeps its result.
    An executing one is refused (I16, I29). Where they are given up since the process *crashed* at them, the
    count of crashes stays. *repeats*: how often one of them came out just so before, at the most (I25).
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, tuple[RunState, Spend | None] | Fenced]:
        if not owns(work, run):
            return fenced(run)
        open_calls = [c for c in work.round if c.id in results and not c.settled]
        if any(c.state is CallState.EXECUTING for c in open_calls):
            raise IllegalMove("an executing call settles by its outcome alone")
        if not open_calls:
            lost, state = stands(work, agent, at, "all of them are settled")
            return lost, (state, None)
        calls = tuple(settled(c, results[c.id], at) for c in open_calls)
        parks = withdrawn(p for c in calls for p in work.parks_of(c.id))
        facts = {"calls": [{"call": c.number, "outcome": c.outcome} for c in calls]}
        change = Change(
            task=replace(
                _struck(work.task, [c.outcome for c in calls], taints=taints, private=private),
                attempts=work.task.attempts if crashed else 0,
                repeats=max(repeats, _repeats_of_round(work)),
            ),
            calls=calls,
            parks=parks,
            posts=(
                *cards(work, [c for c in calls if any(p.call_id == c.id for p in parks)]),
                *progress(work.task),
            ),
            entry=entry(worker(run), "settle", facts=facts),
            events=tuple(_event(c) for c in calls),
        )
        return riding(work, change, agent, at, reserve)

    return move


def _repeats_of_round(work: Work) -> int:
    """The count so far, if a call of this round has raised it; an earlier round's is over."""
    return work.task.repeats if any(c.settled for c in work.round) else 0


def _struck(
    task: Task, outcomes: list[Outcome | None], *, taints: bool = False, private: bool = False
) -> Task:
    """The count of rounds gone wrong in a row: any success clears it (ports-and-tables.md §4.8)."""
    strikes = task.strikes
    if Outcome.SUCCEEDED in outcomes:
        strikes = 0
    elif Outcome.FAILED in outcomes or Outcome.REFUSED in outcomes:
        strikes += 1
    return replace(
        task,
        strikes=strikes,
        attempts=0,
        taint=Taint.OUTSIDE if taints else task.taint,
        read_private=task.read_private or private,
    )


def _event(call: Call) -> TaskEvent:
    return TaskEvent(
        name=f"call_{call.outcome}", call_id=call.id, data={"tool": call.tool, "call": call.number}
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Marked:
    """The call is executing under this run: its handler may start, once."""

    call: Call
    state: RunState


def mark(
    run: Run,
    agent: Agent,
    call_id: CallId,
    *,
    tool: ToolFacts | None,
    sent_key: str | None = None,
    slip: Slip,
    reached: Reached | None = None,
    problem: str | None = None,
    seen: Json = None,
    preview: Json = None,
) -> Move[Marked | Answer]:
    """That it may have gone out is on disk, or the call has another end and is not run (C14-C16).

    Needs: the call, effect_key, sent_key, roster and starts. *tool* is the tool as it is today, None if
    it is gone; *sent_key* what the host says makes two sends the same one, *problem* what its check says
    against it, *seen* what its precondition answers, *preview* what a card that asks anew shows of it,
    *reached* whom it writes to. Looked at under the lock, in this order: stop and pause, the approval and
    its hash, the check, what the approver saw, the gate with today's taint and settings, the key in this
    task, and what other tasks of the organization sent.
    """

    shown = {k: v for k, v in (("seen", seen), ("preview", preview)) if v is not None}

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Marked | Answer]:
        if not owns(work, run):
            return fenced(run)
        if work.task.stop_by is not None or work.paused:
            return stands(work, agent, at, "stopped or paused")
        call = find_call(work, call_id)
        if call.settled:
            return stands(work, agent, at, "settled already")
        if call.state not in (CallState.PROPOSED, CallState.APPROVED) or call.asks_person:
            raise IllegalMove(f"a {call.state} call can't be marked")
        if (why := _void(work, call, tool, at)) is not None:
            return _ended(work, call, error(Outcome.VOID, why), agent, run, at)
        if problem is not None:
            return _objected(work, call, problem, agent, run, at, slip, shown)
        if (difference := _seen_otherwise(work, call, seen)) is not None:
            return _parked_anew(work, call, agent, run, at, slip, shown, difference)
        ruling = gate(work, agent, tool=call.tool, risk=tool.risk if tool else call.risk)
        if ruling.verdict is Verdict.OBSERVE:
            why = f"Recorded, not run ({observed_by(ruling.rule)}). Go on as if it were done."
            return _ended(work, call, error(Outcome.OBSERVED, why), agent, run, at)
        if ruling.verdict is Verdict.REFUSE:
            return _ended(work, call, error(Outcome.REFUSED, f"Not run: {words(ruling)}."), agent, run, at)
        if ruling.verdict is Verdict.ASK and call.state is CallState.PROPOSED:
            asks = replace(call, verdict=ruling.verdict, rule=ruling.rule)
            return _parked_anew(work, asks, agent, run, at, slip, shown)
        key = call.effect_key or sent_key or call.id
        if any(h.id != call.id and h.effect_key == key for h in work.holders):
            why = "Not run: the same thing already went out, or may have, in this task."
            return _ended(work, call, error(Outcome.DUPLICATE, why), agent, run, at)
        if _not_displayed(work, call):
            return _parked_anew(work, call, agent, run, at, slip, shown)
        keys = _Keys(effect=key, sent=call.sent_key or sent_key)
        return _marked(work, call, keys, reached, agent, run, at)

    return move


def _not_displayed(work: Work, call: Call) -> bool:
    """Another task sent the same inside the window, and no click on this call displayed that (C16, I6)."""
    if call.risk not in _WINDOWED:
        return False
    park = _decided(work, call) if call.state is CallState.APPROVED else None
    displayed = set() if park is None else {e["call"] for e in park.shown.get("earlier", ())}
    return any(e.call.id not in displayed for e in work.elsewhere)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Keys:
    """By which a send is single in its task, and known in its organization."""

    effect: str
    sent: str | None


def _marked(
    work: Work, call: Call, keys: _Keys, reached: Reached | None, agent: Agent, run: Run, at: datetime
) -> tuple[Change, Marked]:
    executing = replace(
        call,
        state=CallState.EXECUTING,
        epoch=run.epoch,
        marked_at=at,
        effect_key=None if call.pure else keys.effect,
        sent_key=None if call.pure else keys.sent,
        attempts=call.attempts + 1,
    )
    facts = {"hash": call.args_hash, "key": executing.effect_key, "args": call.args}  # what takes effect
    change = Change(
        task=work.task,
        calls=(executing,),
        posts=(*(cards(work, [call]) if call.state is CallState.APPROVED else ()), *progress(work.task)),
        entry=entry(worker(run), "mark", rule=call.rule, call_id=call.id, facts=facts),
        events=(TaskEvent(name="call_marked", call_id=call.id, data={"tool": call.tool}),),
        reach=() if reached is None else (Reach(to=reached, call_id=call.id, until=at + WAKE_UNTIL),),
    )
    return change, Marked(call=executing, state=run_state(work.after(change, at), agent))


def _void(work: Work, call: Call, tool: ToolFacts | None, at: datetime) -> str | None:
    """Why what would run is not what was allowed (C14, I4, I30); None where it is."""
    if tool is None:
        return "Void, not run: the tool is gone."
    if tool.digest != call.tool_digest:
        return "Void, not run: the tool has changed since this was proposed."
    if _is_raised(tool.risk, call.risk):
        return "Void, not run: the tool's risk was raised."
    if call.args_hash != hash_of(work.task, call, call.args):
        return "Void, not run: the arguments are not the ones that were recorded."
    if call.state is not CallState.APPROVED:
        return None
    park = _decided(work, call)
    if park is None or park.shown_hash != call.args_hash:
        return "Void, not run: what would run is not what was approved."
    if not _may_still(work, park, call):
        return "Void, not run: who approved it may no longer approve it."
    if park.decided_at is None or at - park.decided_at > APPROVAL_TTL:
        return "Void, not run: the approval is older than a day."
    return None


def _may_still(work: Work, park: Park, call: Call) -> bool:
    """Whoever approved *call* by *park* may do so by the roster and the rules of today (I14)."""
    if work.roster is None or park.by_person is None:
        return False
    return may_decide(work.roster, park.by_person, work.task, park, call, to_run=True)


def _is_raised(now: str, before: str) -> bool:
    """*now* stands above *before*, or one of them is no risk at all (I13)."""
    known = now in _RISKS_UPWARDS and before in _RISKS_UPWARDS
    return not known or _RISKS_UPWARDS.index(now) > _RISKS_UPWARDS.index(before)


def _decided(work: Work, call: Call) -> Park | None:
    """The park whose decision lets *call* run: its own newest, or the unknown card that sends it again."""
    kinds = (DecisionKind.APPROVE, DecisionKind.EDIT)
    said = [p for p in work.parks_of(call.id) if p.state is ParkState.DECIDED and p.decision in kinds]
    if call.resend_of is not None and not said:
        said = [p for p in work.parks_of(call.resend_of) if p.choice is Choice.SEND_AGAIN]
    return max(said, key=lambda p: p.version, default=None)


def _ended(
    work: Work, call: Call, result: Result, agent: Agent, run: Run, at: datetime
) -> tuple[Change, RunState]:
    done = settled(call, result, at)
    change = Change(
        task=_struck(work.task, [done.outcome]),
        calls=(done,),
        posts=cards(work, [call]) if call.state is CallState.APPROVED else (),
        messages=owner_call_note(done),
        entry=entry(worker(run), "mark", rule=str(done.outcome), call_id=call.id, facts=result.result),
        events=(_event(done),),
    )
    return moved(work, change, agent, at)


def _objected(
    work: Work, call: Call, problem: str, agent: Agent, run: Run, at: datetime, slip: Slip, shown: Json
) -> tuple[Change, RunState]:
    """The check speaks against it now: an edit asks again, an approval is void (I30), the rest failed."""
    if call.state is CallState.PROPOSED:
        return _ended(work, call, error(Outcome.FAILED, problem), agent, run, at)
    park = _decided(work, call)
    if park is not None and park.decision is DecisionKind.EDIT:
        return _parked_anew(work, call, agent, run, at, slip, shown, problem)
    return _ended(work, call, error(Outcome.VOID, f"Void, not run: {problem}"), agent, run, at)


def _seen_otherwise(work: Work, call: Call, seen: Json) -> str | None:
    """How what the approver saw of the world differs from what is so now; None where it doesn't."""
    park = _decided(work, call) if call.state is CallState.APPROVED else None
    if park is None or call.resend_of is not None:
        return None
    before = park.shown.get("seen")
    return None if canonical(before) == canonical(seen) else f"it was {dump(before)}, and is {dump(seen)} now"


def _parked_anew(
    work: Work,
    call: Call,
    agent: Agent,
    run: Run,
    at: datetime,
    slip: Slip,
    shown: Json,
    problem: str | None = None,
) -> tuple[Change, RunState]:
    """What was about to run asks (again): parked as one version more, saying why, and what went before."""
    parked = replace(call, state=CallState.PARKED)
    versions = [p for p in work.parks_of(call.id) if p.kind is ParkKind.APPROVAL]
    earlier = [_displayed(e) for e in work.elsewhere] if call.risk in _WINDOWED else None
    together = max((p.together for p in versions), default=1)  # it stays on the card it was on
    said = (
        ("problem", problem),
        ("earlier", earlier or None),
        (TOGETHER, together if together > 1 else None),
    )
    found = {k: v for k, v in said if v is not None}
    version = max((p.version for p in versions), default=0) + 1
    park = approval_park(parked, slip, at, version=version, shown=shown | found)
    change = Change(
        task=work.task,
        calls=(parked,),
        parks=(park,),
        posts=cards(work, [call]),
        entry=entry(worker(run), "mark", rule=call.rule, call_id=call.id, facts={"parked": park.version}),
        events=(TaskEvent(name="call_parked", call_id=call.id, data={"tool": call.tool}),),
    )
    return moved(work, change, agent, at)


def _displayed(earlier: Earlier) -> Json:
    """Who sent what, when and in which task, as a card shows it."""
    call = earlier.call
    return {
        "call": call.id,
        "code": str(CallCode(task_number=earlier.task_number, call_number=call.number)),
        "agent": earlier.agent,
        "at": None if call.marked_at is None else call.marked_at.isoformat(),
        "tool": call.tool,
        "args": call.args,
        "state": call.outcome or call.state,
    }


def outcome(
    run: Run,
    agent: Agent,
    call_id: CallId,
    result: Result,
    *,
    slip: Slip,
    taints: bool = False,
    private: bool = False,
    needs: Json = None,
    looks: bool = False,
    reserve: int | None = None,
) -> Move[tuple[RunState, Spend | None] | Fenced]:
    """What became of an executing call is recorded; an unknown opens a card that holds nothing up (C17-C19).

    Needs: the call. A run that has lost its task only leaves a note, on a call it marked (I17). *needs*: the
    account it failed for want of, as a connect card shows it; the card opens with it, and holds the task.
    *looks*: the tool can look at the destination, so that the owner may have it do so (C22).
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, tuple[RunState, Spend | None] | Fenced]:
        call = find_call(work, call_id)
        if not owns(work, run):
            return _late(work, call, result, run)
        if call.state is not CallState.EXECUTING:
            raise IllegalMove(f"a {call.state} call has no outcome to record")
        if call.epoch != run.epoch and not call.pure and result.outcome is not Outcome.UNKNOWN:
            raise IllegalMove("an effect that a dead run left is unknown")
        done = settled(call, result, at)
        unknown = done.outcome is Outcome.UNKNOWN
        went = not done.pure and done.outcome is Outcome.SUCCEEDED
        task = _struck(work.task, [done.outcome], taints=taints, private=private)
        parks = (_unknown_park(done, slip, at, looks=looks),) if unknown else ()
        if needs is not None and done.outcome is Outcome.FAILED:
            parks = (approval_park(done, slip, at, shown=needs, kind=ParkKind.CONNECT),)
        change = Change(
            task=replace(task, repeats=0) if went else task,
            calls=(done,),
            parks=parks,
            posts=(
                *(cards(work, [call]) if parks or work.parks_of(call.id) else ()),
                *progress(work.task),
            ),
            messages=owner_call_note(done),
            entry=entry(worker(run), "outcome", rule=str(done.outcome), call_id=call.id, facts=_facts(done)),
            events=(_event(done),),
        )
        return riding(work, change, agent, at, reserve)

    return move


def _facts(call: Call) -> Json:
    return {"outcome": call.outcome, "hash": call.args_hash, "key": call.effect_key}


def _unknown_park(call: Call, slip: Slip, at: datetime, *, looks: bool) -> Park:
    return Park(
        org=call.org,
        id=slip.park_id,
        token=slip.token,
        task_id=call.task_id,
        call_id=call.id,
        kind=ParkKind.UNKNOWN,
        holds=False,
        shown={"marked_at": None if call.marked_at is None else call.marked_at.isoformat()},
        shown_hash=call.args_hash,
        choices=(*UNKNOWN_CHOICES, Choice.LOOK_UP) if looks else UNKNOWN_CHOICES,
        created_at=at,
        remind_at=at + PATIENCE.remind_in,
    )


def _late(
    work: Work, call: Call, result: Result, run: Run
) -> tuple[Change | Lost, tuple[RunState, Spend | None] | Fenced]:
    lost = Fenced(run=run)
    if call.epoch != run.epoch or call.late_note is not None:
        return Lost(why="not marked by this run"), lost
    note = f"{result.outcome}: reported after its run had lost the task"
    change = Change(
        task=work.task,
        calls=(replace(call, late_note=note),),
        posts=cards(work, [call]),
        entry=entry(worker(run), "outcome", rule="late", call_id=call.id, facts={"outcome": result.outcome}),
    )
    return change, lost


def found_out(run: Run, agent: Agent, call_id: CallId) -> Move[Answer]:
    """The destination says of an unknown call that it went out: its card is over (C22, K11).

    Needs: the call. A person who said so first is left alone; what somebody meanwhile had sent again, not
    knowing this, is void while it has not started. The model, told that it is unknown, reads it as a note.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        call = find_call(work, call_id)
        if call.outcome is not Outcome.UNKNOWN:
            return stands(work, agent, at, "no longer unknown")
        known = replace(call, outcome=Outcome.SUCCEEDED)
        again = tuple(
            settled(c, error(Outcome.VOID, "Void, not run: the first one did go out."), at)
            for c in work.calls
            if c.resend_of == call.id and c.state in (CallState.APPROVED, CallState.PARKED)
        )
        over = (*(p for c in again for p in work.parks_of(c.id)), *_unknown_cards(work, call))
        notes = (
            found_note(call, "A look at the destination says", went=True),
            *(note for c in again for note in owner_call_note(c)),
        )
        change = Change(
            task=work.task,
            calls=(known, *again),
            parks=withdrawn(over),
            messages=notes,
            posts=cards(work, [call, *again]),
            entry=entry(worker(run), "found_out", rule=str(known.outcome), call_id=call.id),
            events=(_event(known),),
        )
        return moved(work, change, agent, at)

    return move


def _unknown_cards(work: Work, call: Call) -> tuple[Park, ...]:
    return tuple(p for p in work.parks_of(call.id) if p.kind is ParkKind.UNKNOWN)


def repeating(run: Run, agent: Agent, repeats: int) -> Move[Answer]:
    """A call that was not let run had come out just so *repeats* times before (I25)."""

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        if work.task.repeats >= repeats:
            return stands(work, agent, at, "counted already")
        change = Change(
            task=replace(work.task, repeats=repeats),
            entry=entry(worker(run), "repeating", facts={"repeats": repeats}),
        )
        return moved(work, change, agent, at)

    return move


def found_note(call: Call, who: str, *, went: bool) -> NewMessage:
    """What *who* found of an unknown call, in words of ours."""
    words_ = f"{who} of {call.tool} (call {call.number}): it {'went out' if went else 'did not go out'}."
    return NewMessage(kind=MessageKind.NOTE, body={"text": words_})


def again(run: Run, agent: Agent, call_id: CallId) -> Move[Answer]:
    """A pure call that a dead run left is approved as it was, to run once more (C20). Needs: the call."""

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Answer]:
        if not owns(work, run):
            return fenced(run)
        call = find_call(work, call_id)
        if not call.pure or call.state is not CallState.EXECUTING or call.epoch == run.epoch:
            raise IllegalMove("only a pure call that a dead run left may run again")
        change = Change(
            task=work.task,
            calls=(replace(call, state=CallState.APPROVED, epoch=None, marked_at=None),),
            entry=entry(worker(run), "again", call_id=call.id, facts={"attempts": call.attempts}),
        )
        return moved(work, change, agent, at)

    return move


def lost_result(call: Call) -> Result | None:
    """What a dead run's executing call settles with; None where it may run again."""
    if not call.pure:
        return error(Outcome.UNKNOWN, UNKNOWN_WORDS)
    if call.attempts < PURE_TRIES:
        return None
    return error(Outcome.FAILED, "It was started three times and never came back.")
