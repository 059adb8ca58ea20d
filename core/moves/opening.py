"""Opening a task (T1): its row, its goal and its audit entry, as every store writes them."""

from datetime import datetime

from core.fence import FENCE
from core.people import OrgState
from core.tasks import Json, Message, MessageKind, Taint, Task, TaskState
from core.work import Cause, Entry, NewTask


def opened(new: NewTask, number: int, state: OrgState, at: datetime) -> Task:
    """The task, queued; held where the organization is paused. Its place in the queue is the store's."""
    return Task(
        org=new.org,
        id=new.id,
        number=number,
        agent=new.agent,
        label=new.label,
        origin=new.origin,
        requester=new.requester,
        mode=new.mode,
        surface=new.surface,
        chat=new.chat,
        thread_ref=new.thread_ref,
        goal=new.goal,
        schema=new.schema,
        taint=new.taint,
        state=TaskState.HELD if state is OrgState.PAUSED else TaskState.QUEUED,
        prio=new.prio,
        next_seq=2,
        created_at=at,
    )


def goal(task: Task, mark: str) -> Message:
    """The transcript's first row; words from outside are read inside a fence of *mark* (I27)."""
    body: dict[str, Json] = {"text": task.goal} if isinstance(task.goal, str) else {"value": task.goal}
    if task.taint is Taint.OUTSIDE:
        body[FENCE] = mark
    return Message(seq=1, episode=1, round=0, kind=MessageKind.GOAL, body=body, at=task.created_at)


def opening(task: Task, cause: Cause) -> Entry:
    """The audit entry of *task*'s opening by *cause*."""
    facts = {
        "source": cause.key.source,
        "event_id": cause.key.event_id,
        "number": task.number,
        "agent": task.agent,
        "origin": task.origin.value,
        "mode": task.mode.value,
        "taint": task.taint.value,
        "state": task.state.value,
    }
    return Entry(actor=cause.actor, surface=cause.surface, move="open", rule="T1", facts=facts)
