"""What persons decide about a task: each park once, by somebody who may, on the version they saw."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

from core.agents import Agent
from core.approvers import lets_run, why_not
from core.calls import Call, CallState, Outcome
from core.errors import (
    AlreadyDecided,
    DecisionError,
    IllegalMove,
    NotShown,
    NotYourDecision,
    OutOfDate,
    ParkExpired,
    ParkNotFound,
    ParkWithdrawn,
)
from core.gate import Verdict
from core.ids import CallId, PersonId, Token
from core.moves.common import (
    Result,
    can_stop_at_once,
    cards,
    cards_of,
    entry,
    error,
    hash_of,
    new_episode,
    owner_call_note,
    report_again,
    roster_of,
    settled,
    stopped_at_once,
    woken,
)
from core.moves.effects import found_note
from core.moves.past import did, said, since
from core.parks import OUTSIDE, Choice, DecisionKind, Park, ParkKind, ParkState, Slip
from core.people import Person
from core.plan import over_budget
from core.shown import Room, shown_whole
from core.tasks import Json, MessageKind, Prio, Task
from core.work import Change, Lost, Move, NewMessage, PostIntent, TaskEvent, Work

MORE_ROUNDS: Final = 20
MORE_TOKENS: Final = 50_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a person says to a park.

    *args*: the whole arguments after an edit, checked against the tool's schema and its editable
    fields already. *reason*: the words that go with it; of an answer, the answer. *found*: of a look-up,
    whether it went out. *and_stop*: decline, and stop the task.
    """

    kind: DecisionKind
    args: Json = None
    reason: str | None = None
    choice: Choice | None = None
    found: bool | None = None
    and_stop: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Click:
    """A decision as it came in: who, from where, on exactly which version of what.

    *room*: how much of the arguments its surface shows; None: all.
    """

    who: Person
    surface: str
    event_id: str  # the platform's, unique on the park
    token: Token
    version: int
    shown_hash: str
    room: Room | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spare:
    """Names for rows a decision may write, drawn beforehand: an edit's new park, a call sent again."""

    slip: Slip
    call_id: CallId


@dataclass(frozen=True, kw_only=True, slots=True)
class Decided:
    """The park as it is decided now, its call, and the task."""

    park: Park
    call: Call | None
    task: Task


def decide(click: Click, decision: Decision, agent: Agent, spare: Spare) -> Move[Decided]:
    """The park is decided, once, by somebody who may, on the version they saw (C6-C12, C21-C23).

    Needs: token, event_id and roster; usage, where more of a budget is asked for. The waiting task is
    queued once something can run. Raises ParkNotFound, NotYourDecision, AlreadyDecided, ParkExpired,
    ParkWithdrawn, OutOfDate, NotShown, or DecisionError where this park can't be decided so, or the
    event decided another one.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Decided]:
        again = work.repeated
        if again is not None and _same_matter(again, work.park(click.token)):
            said = Decided(park=again, call=work.call(again.call_id), task=work.task)
            return Lost(why="this very click is recorded already"), said
        park = _open_park(work, click)
        call = work.call(park.call_id)
        _check_person(work, park, click.who, decision)
        _check_shown(park, call, decision, click)
        if again is not None:
            raise DecisionError("this click decided something else already: press the button once more")
        decided = replace(
            park,
            state=ParkState.DECIDED,
            decision=decision.kind,
            choice=decision.choice,
            by_person=click.who.id,
            surface=click.surface,
            event_id=click.event_id,
            reason=decision.reason,
            decided_at=at,
        )
        change = _decide(work, decided, call, decision, agent, spare, at)
        change = _finished(work, change, click, decision, agent, at)
        newest = next((p for p in change.parks if p.state is ParkState.DECIDED), decided)
        final = {c.id: c for c in change.calls}.get(park.call_id) if park.call_id else None
        return change, Decided(park=newest, call=final or call, task=change.task)

    return move


def _same_matter(one: Park, other: Park | None) -> bool:
    """Both are one park, or versions of it: an edit's click is recorded on the version it made."""
    if other is None or one.id == other.id:
        return other is not None
    own = one.call_id is not None and one.task_id == other.task_id
    return own and (one.call_id, one.kind) == (other.call_id, other.kind)


def _open_park(work: Work, click: Click) -> Park:
    """The park that was clicked, still the newest version, and open. Raises what became of it instead."""
    park = work.park(click.token)
    if park is None:
        raise ParkNotFound
    _raise_ended(work, park)
    newer = [p for p in _versions(work, park) if p.version > park.version]
    latest = max(newer, key=lambda p: p.version, default=park)
    _raise_ended(work, latest)
    if work.task.stop_by is not None and park.kind is not ParkKind.UNKNOWN:
        raise ParkWithdrawn("the task is being stopped")
    if not park.open or newer or (park.version, park.shown_hash) != (click.version, click.shown_hash):
        raise OutOfDate(version=latest.version)
    return park


def _raise_ended(work: Work, park: Park) -> None:
    """Raises AlreadyDecided, ParkExpired or ParkWithdrawn where that is what became of *park*."""
    if park.state is ParkState.DECIDED:
        assert park.decided_at is not None
        by = work.roster.name(park.by_person) if work.roster else "somebody"
        came = since(park, work.call(park.call_id))
        raise AlreadyDecided(decision=said(park), did=did(park), by=by, at=park.decided_at, since=came)
    if park.state is ParkState.EXPIRED:
        raise ParkExpired
    if park.state is ParkState.WITHDRAWN:
        raise ParkWithdrawn


def _versions(work: Work, park: Park) -> list[Park]:
    """All versions of *park*: what one call waited for in one way."""
    own = () if park.call_id is None else work.parks_of(park.call_id)
    return [p for p in own if p.kind is park.kind]


def _check_shown(park: Park, call: Call | None, decision: Decision, click: Click) -> None:
    """Nothing runs by a click where its arguments were neither shown whole nor opened (I32)."""
    runs = lets_run(decision.kind, decision.choice)
    room = None if click.room is None else click.room.of_each(park.together)
    if call is None or not runs or shown_whole(call.args, call.proposed_args, room):
        return
    if not any(v["person"] == click.who.id and v["digest"] == park.shown_hash for v in park.viewed or ()):
        raise NotShown


def _check_person(work: Work, park: Park, who: Person, decision: Decision) -> None:
    """The roster as it is now decides, not the one the surface knew (I14). Raises NotYourDecision."""
    to_run = lets_run(decision.kind, decision.choice)
    call = work.call(park.call_id)
    if (why := why_not(roster_of(work), who.id, work.task, park, call, to_run=to_run)) is not None:
        raise NotYourDecision(why)


def _decide(
    work: Work,
    park: Park,
    call: Call | None,
    decision: Decision,
    agent: Agent,
    spare: Spare,
    at: datetime,
) -> Change:
    """What the decision writes beside the park, by the park's kind."""
    if park.kind is ParkKind.LIMIT:
        return _limit(work, park, decision, agent)
    if call is None:
        raise DecisionError("this waits for a message, not for a decision")
    if park.kind is ParkKind.UNKNOWN:
        return _unknown(work, park, call, decision, spare, at)
    if park.kind is ParkKind.CONNECT:
        return _connect(work, park, call, decision, at)
    if call.state is not CallState.PARKED:
        raise IllegalMove(f"an open park on a {call.state} call")
    match decision.kind:
        case DecisionKind.APPROVE if park.kind is ParkKind.APPROVAL:
            return _change(work, (park,), replace(call, state=CallState.APPROVED), "approve")
        case DecisionKind.EDIT if park.kind is ParkKind.APPROVAL:
            return _edit(work, park, call, decision, spare)
        case DecisionKind.DECLINE:
            reason = f": {decision.reason}" if decision.reason else ""
            words = f"Declined by the owner, not run{reason}. Do not propose it again unchanged."
            return _change(work, (park,), settled(call, error(Outcome.DECLINED, words), at), "decline")
        case DecisionKind.REVISE if park.kind is ParkKind.APPROVAL:
            words = f"Not run. The owner says, change it: {decision.reason or 'propose something else'}"
            return _change(work, (park,), settled(call, error(Outcome.REVISED, words), at), "revise")
        case DecisionKind.ANSWER if park.kind is ParkKind.QUESTION:
            if not (decision.reason or "").strip():
                raise DecisionError("say the answer")
            told = Result(outcome=Outcome.ANSWERED, result={"value": decision.reason})
            return _change(work, (park,), settled(call, told, at), "answer")
        case (
            DecisionKind.APPROVE
            | DecisionKind.EDIT
            | DecisionKind.REVISE
            | DecisionKind.ANSWER
            | DecisionKind.CONNECTED
            | DecisionKind.CHOICE
        ):
            article = "an" if park.kind is ParkKind.APPROVAL else "a"
            raise DecisionError(f"{article} {park.kind} can't be decided with {decision.kind}")
        case _:
            assert_never(decision.kind)


def _connect(work: Work, park: Park, call: Call, decision: Decision, at: datetime) -> Change:
    """The account is connected, for every call of the task that waits for it; or it will not be (C12).

    A call that was started already keeps its result, and the model reads a note. The account's name is left
    out of both where it came from outside (I27).
    """
    if decision.kind not in (DecisionKind.CONNECTED, DecisionKind.DECLINE):
        raise DecisionError("say that it is connected, or decline it")
    if decision.kind is DecisionKind.DECLINE:
        reason = f": {decision.reason}" if decision.reason else ""
        name = _named(park, f"the account of {call.tool}")
        words = f"Not run: the owner does not connect {name}{reason}. Go on without it."
        told = error(Outcome.DECLINED, words)
        others: tuple[Park, ...] = ()
    else:
        name = _named(park, f"The account of {call.tool}")
        words = f"{name} is connected now. This call has not run: make it again."
        told = Result(outcome=Outcome.ANSWERED, result={"value": words})
        others = tuple(_along(park, p) for p in work.open_parks if p.id != park.id and _same_account(p, park))
    parks = (park, *others)
    waiting = [c for p in parks if (c := work.call(p.call_id)) is not None and c.state is CallState.PARKED]
    return replace(
        _change(work, (park,), call, str(decision.kind), account=_account(park), along=len(others)),
        calls=tuple(settled(c, told, at) for c in waiting),
        parks=parks,
        messages=(_words(words),) if len(waiting) < len(parks) else (),
        posts=cards_of(work, parks),
    )


def _account(park: Park) -> str:
    return str(park.shown.get("account", "the account"))


def _named(park: Park, unnamed: str) -> str:
    return unnamed if park.shown.get(OUTSIDE) else _account(park)


def _same_account(one: Park, other: Park) -> bool:
    return one.kind is other.kind and _account(one) == _account(other)


def _along(decided: Park, other: Park) -> Park:
    """*other*, connected by the decision on *decided*."""
    return replace(
        other,
        state=decided.state,
        decision=decided.decision,
        by_person=decided.by_person,
        surface=decided.surface,
        decided_at=decided.decided_at,
    )


def _change(work: Work, parks: tuple[Park, ...], call: Call, name: str, **facts: Json) -> Change:
    park = parks[-1]
    told = {
        "call": call.number,
        "version": park.version,
        "hash": park.shown_hash,
        "decision": name,
        "choice": park.choice,
        "reason": park.reason,
        **facts,
    }
    return Change(
        task=work.task,
        calls=(call,),
        parks=parks,
        posts=cards(work, [call]),
        messages=owner_call_note(call),
        entry=entry(park.by_person or "", "decide", rule=call.rule, call_id=call.id, facts=told),
        events=(TaskEvent(name="call_decided", call_id=call.id, data={"decision": name}),),
    )


def _edit(work: Work, park: Park, call: Call, decision: Decision, spare: Spare) -> Change:
    """Amend and approve in one: a park version more, with the final arguments, decided (C8).

    Without a difference it is an approval (bad-inputs.md 32).
    """
    changed_hash = hash_of(work.task, call, decision.args)
    if changed_hash == call.args_hash:
        same = replace(park, decision=DecisionKind.APPROVE)
        return _change(work, (same,), replace(call, state=CallState.APPROVED), "approve")
    old, new = amended(park, call, decision.args, changed_hash, spare.slip)
    decided = replace(
        new,
        state=ParkState.DECIDED,
        decision=DecisionKind.EDIT,
        by_person=park.by_person,
        surface=park.surface,
        event_id=park.event_id,
        reason=park.reason,
        decided_at=park.decided_at,
    )
    approved = replace(call, state=CallState.APPROVED, args=decision.args, args_hash=changed_hash)
    return _change(
        work,
        (old, decided),
        approved,
        "edit",
        proposed=call.proposed_args,
        decided=decision.args,
    )


def amended(park: Park, call: Call, args: Json, changed_hash: str, slip: Slip) -> tuple[Park, Park]:
    """The park superseded, and the version that shows *args* instead, open.

    The old version's decision fields are cleared: only one version of a call is decided (I1).
    """
    patch = {k: v for k, v in args.items() if k not in call.args or call.args[k] != v}
    patch |= {k: None for k in call.args if k not in args}
    old = replace(
        park,
        state=ParkState.SUPERSEDED,
        decision=None,
        choice=None,
        by_person=None,
        surface=None,
        event_id=None,
        reason=None,
        decided_at=None,
    )
    new = replace(
        old,
        id=slip.park_id,
        token=slip.token,
        version=park.version + 1,
        state=ParkState.OPEN,
        shown={k: v for k, v in park.shown.items() if k != "preview"},  # of other arguments
        shown_hash=changed_hash,
        patch=patch,
        viewed=None,
    )
    return old, new


def amend(token: Token, args: Json, slip: Slip, *, by: PersonId, surface: str) -> Move[Park]:
    """The call asks with *args* from now on: its park is superseded by one version more, still open.

    Needs: token and roster. For surfaces where an edit is looked at again before it is approved. *args* are
    checked against the schema and the editable fields already. Raises ParkNotFound, NotYourDecision or
    OutOfDate.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Park]:
        park = work.park(token)
        if park is None:
            raise ParkNotFound
        call = work.call(park.call_id)
        if (why := why_not(roster_of(work), by, work.task, park, call)) is not None:
            raise NotYourDecision(why)
        if not park.open or call is None or call.state is not CallState.PARKED:
            raise OutOfDate(version=park.version)
        changed_hash = hash_of(work.task, call, args)
        old, new = amended(park, call, args, changed_hash, slip)
        new = replace(new, created_at=at)  # who pressed a button that is older has not seen it
        change = Change(
            task=work.task,
            calls=(replace(call, args=args, args_hash=changed_hash),),
            parks=(old, new),
            posts=cards(work, [call]),
            entry=entry(by, "amend", surface=surface, call_id=call.id, facts={"version": new.version}),
        )
        return change, new

    return move


def _unknown(work: Work, park: Park, call: Call, decision: Decision, spare: Spare, at: datetime) -> Change:
    """Only a person turns an unknown into something else (I7, C21, C23)."""
    if decision.kind is not DecisionKind.CHOICE or decision.choice not in park.choices:
        raise DecisionError("say whether it went out, did not, or is to be sent again")
    if call.outcome is not Outcome.UNKNOWN:
        raise IllegalMove(f"an unknown card on a call that is {call.outcome}")
    if decision.choice is Choice.SEND_AGAIN:
        return _send_again(work, park, call, spare)
    looked = decision.choice is Choice.LOOK_UP
    if looked and decision.found is None:
        raise DecisionError("it has to be looked up first")
    went = bool(decision.found) if looked else decision.choice is Choice.WENT_OUT
    known = replace(call, outcome=Outcome.SUCCEEDED if went else Outcome.FAILED)
    change = _change(work, (park,), known, str(decision.choice))
    change = replace(change, posts=(*change.posts, *_reported(work, call)))
    note = found_note(call, "A look at the destination says" if looked else "The owner says", went=went)
    return replace(change, messages=(note,))


def _reported(work: Work, call: Call) -> tuple[PostIntent, ...]:
    """The report in which *call* stands, if its episode has ended and so has one."""
    task = work.task
    over = call.episode < task.episode or task.ended
    return (report_again(task, call.episode),) if over else ()


def _send_again(work: Work, park: Park, call: Call, spare: Spare) -> Change:
    """A new owner call, approved by this very click; the first attempt stays unknown (C23)."""
    task = replace(work.task, next_call_no=work.task.next_call_no + 1)
    if task.ended:
        task = new_episode(task)
    resend = owner_call(call, spare.call_id, number=work.task.next_call_no, episode=task.episode)
    change = _change(work, (park,), resend, "send_again", resend_of=call.number)
    posts = (*cards(work, [call, resend]), *_reported(work, call))
    return replace(change, task=task, calls=(resend,), posts=posts)


def owner_call(first: Call, call_id: CallId, *, number: int, episode: int) -> Call:
    """*first* once more, as the owner's own act: no model reply holds it, its key is a new one."""
    return replace(
        first,
        id=call_id,
        number=number,
        episode=episode,
        round=None,
        ordinal=0,
        provider_call_id=None,
        verdict=Verdict.ASK,
        rule="owner_call",
        state=CallState.APPROVED,
        outcome=None,
        result=None,
        effect_key=f"{first.effect_key or first.id}!{number}",
        sent_key=None,  # the host says it of what will run: it may be edited first
        epoch=None,
        attempts=0,
        marked_at=None,
        settled_at=None,
        resend_of=first.id,
        late_note=None,
    )


def _limit(work: Work, park: Park, decision: Decision, agent: Agent) -> Change:
    if decision.kind is not DecisionKind.CHOICE or decision.choice not in park.choices:
        raise DecisionError("say how much more, or stop")
    task = work.task
    messages: tuple[NewMessage, ...] = ()
    match decision.choice:
        case Choice.MORE_ROUNDS:
            task = replace(task, extra_rounds=task.extra_rounds + MORE_ROUNDS, repeats=0)
            messages = (_words(f"The owner allows {MORE_ROUNDS} more rounds. Go on."),)
        case Choice.MORE_TOKENS:
            extra = max(task.extra_tokens, over_budget(work, agent)) + MORE_TOKENS
            task = replace(task, extra_tokens=extra, repeats=0)
            messages = (_words(f"The owner allows {MORE_TOKENS} more tokens. Go on."),)
        case _:
            task = replace(task, stop_by=park.by_person)
    facts = {"limit": park.shown, "choice": decision.choice}
    return Change(
        task=task,
        parks=(park,),
        messages=messages,
        posts=cards_of(work, [park]),
        entry=entry(park.by_person or "", "decide", facts=facts),
    )


def _words(text: str) -> NewMessage:
    return NewMessage(kind=MessageKind.NOTE, body={"text": text})


def _finished(
    work: Work, change: Change, click: Click, decision: Decision, agent: Agent, at: datetime
) -> Change:
    """Who did it where; a stop said along with it; the task woken, at a person's priority (T7)."""
    change = replace(change, entry=replace(change.entry, surface=click.surface))
    if change.task.ended:
        return change
    if decision.and_stop and change.task.stop_by is None:
        stops = replace(change.entry, facts={**change.entry.facts, "stop": True})
        change = replace(change, task=replace(change.task, stop_by=click.who.id), entry=stops)
    if change.task.stop_by is not None and can_stop_at_once(work):
        return stopped_at_once(work, change, change.task.stop_by, at)
    change = replace(change, task=replace(change.task, prio=Prio.PERSON))
    return woken(work, change, agent, at)
