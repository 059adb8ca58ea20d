"""Words that come to a task, from a person or from outside: read, or an answer; they decide nothing."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from core.agents import Agent
from core.approvers import may_decide
from core.calls import CallState, Outcome
from core.errors import IllegalMove
from core.ids import PersonId
from core.moves.common import cards, cards_of, entry, new_episode, origin_after, roster_of, woken
from core.parks import DecisionKind, Park, ParkKind, ParkState
from core.people import Person
from core.tasks import Prio, Task
from core.work import Change, Event, EventKind, Lost, Move, PostIntent, PostKind, Work


def incoming(event: Event, agent: Agent) -> Move[Task]:
    """A person's words or an outside answer belong to the task, applied once (T7, T12).

    An open question takes the words of one who may decide it as its answer; else they are unread until
    the next round boundary. They decide nothing (I15). A waiting task is queued where something can be
    said now, an ended one starts an episode. Needs: event and roster.
    """

    def move(work: Work, at: datetime) -> tuple[Change | Lost, Task]:
        if work.event is None:
            return Lost(why="somebody applied it already"), work.task
        if work.task.stop_by is not None and not work.task.ended:
            return Lost(why="it is being stopped: offered again, to start an episode"), work.task
        question = _question_for(work, event)
        if question is not None:
            change = _answered(work, question, event, at)
        else:
            change = _unread(work, event)
        change = woken(work, change, agent, at)
        return change, change.task

    return move


def _question_for(work: Work, event: Event) -> Park | None:
    """The open question that the words of *event* answer: its writer may decide it, and it still counts."""
    if event.kind is not EventKind.MESSAGE:
        return None
    questions = (p for p in work.open_parks if p.kind is ParkKind.QUESTION)
    who, roster = PersonId(_actor(event)), roster_of(work)
    return next((p for p in questions if may_decide(roster, who, work.task, p, work.call(p.call_id))), None)


def _unread(work: Work, event: Event) -> Change:
    task = replace(work.task, unread=work.task.unread + 1)
    if event.kind is EventKind.MESSAGE:
        task = replace(task, prio=Prio.PERSON, origin=origin_after(task.origin, _writer(work, event)))
    if task.ended:
        task = new_episode(task)
    return Change(
        task=task,
        assigned=(event.key,),
        posts=(*cards_of(work, work.open_parks), *_awaiting(work, event)),
        entry=entry(_actor(event), "incoming", facts={"event": event.key.event_id}),
    )


def _awaiting(work: Work, event: Event) -> tuple[PostIntent, ...]:
    """That words are kept until a click, said once of each call that waits for one."""
    waiting = [p for p in work.open_parks if p.holds and p.kind in _CLICKED]
    if event.kind is not EventKind.MESSAGE or not waiting:
        return ()
    calls = [c for p in waiting if (c := work.call(p.call_id)) is not None]
    codes = ", ".join(f"{work.task.code}.{number}" for number in sorted({c.number for c in calls}))
    newest = max(waiting, key=lambda p: (p.created_at, p.id))
    words = f"I wait for your click on {codes or work.task.code}. What you wrote is kept, and read after it."
    return (
        PostIntent(
            kind=PostKind.NOTICE,
            dedup_key=f"awaiting:{newest.id}",
            episode=work.task.episode,
            body={"text": words, "while": [park.id for park in waiting]},
            once=True,
        ),
    )


_CLICKED: Final = frozenset({ParkKind.APPROVAL, ParkKind.CONNECT, ParkKind.LIMIT, ParkKind.QUESTION})


def _answered(work: Work, question: Park, event: Event, at: datetime) -> Change:
    call = work.call(question.call_id)
    if call is None or call.state is not CallState.PARKED:
        raise IllegalMove("a question without a parked call")
    done = replace(
        call,
        state=CallState.SETTLED,
        outcome=Outcome.ANSWERED,
        result={"value": event.body["text"]},
        settled_at=at,
    )
    park = replace(
        question,
        state=ParkState.DECIDED,
        decision=DecisionKind.ANSWER,
        by_person=event.body.get("person"),
        surface=event.key.source,
        event_id=event.key.event_id,
        decided_at=at,
    )
    return Change(
        task=replace(work.task, prio=Prio.PERSON),
        calls=(done,),
        parks=(park,),
        applied=(event.key,),
        posts=cards(work, [call]),
        entry=entry(_actor(event), "incoming", call_id=call.id, facts={"answer": True}),
    )


def _writer(work: Work, event: Event) -> Person | None:
    return roster_of(work).person(PersonId(_actor(event)))


def _actor(event: Event) -> str:
    person = event.body.get("person") if isinstance(event.body, dict) else None
    return str(person or event.key.source)
