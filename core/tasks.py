"""A task: one goal an agent works on, and the values of its row. Frozen; moves make the next one."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from core.ids import OrgId, PersonId, TaskId, TaskRef, WorkerId, task_code

Json: TypeAlias = Any
"""A value JSON can say; numbers are int or Decimal where a model or a person wrote them."""


class TaskState(StrEnum):
    QUEUED = "queued"  # a worker may claim it
    DELAYED = "delayed"  # queued again once not_before has passed
    HELD = "held"  # queued work of a paused agent, a paused or a full organization
    RUNNING = "running"  # a worker's run holds it
    WAITING = "waiting"  # an open holding park keeps it
    DONE = "done"  # ended: the goal was reached
    FAILED = "failed"  # ended: it can't go on
    STOPPED = "stopped"  # ended: somebody or a deadline stopped it


ENDED = frozenset({TaskState.DONE, TaskState.FAILED, TaskState.STOPPED})


class Origin(StrEnum):
    OWNER = "owner"  # somebody who may approve asked for it
    MEMBER = "member"  # somebody who may only ask did, or wrote in it
    SCHEDULE = "schedule"  # an occurrence of a schedule
    EVENT = "event"  # the app reported something
    DONE = "done"  # a teammate finished
    REPLY = "reply"  # an outside answer
    DELEGATE = "delegate"  # a teammate handed it on
    PROGRAM = "program"  # a program asked for it


class Mode(StrEnum):
    NORMAL = "normal"  # acts within the gate
    OBSERVE = "observe"  # practice: reads run, the rest is only recorded
    WATCH = "watch"  # only looks


class Taint(StrEnum):
    NONE = "none"  # has read nothing from outside
    OUTSIDE = "outside"  # has read words a stranger may have written; sticky


class Prio:
    """Queue classes; lower first. Permission is never derived from it (that is the origin's job)."""

    PERSON = 0
    SELF_STARTED = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """The row of a task. Times are aware UTC; counts start afresh with each episode where said."""

    org: OrgId
    id: TaskId
    number: int
    agent: str
    label: str | None = None
    origin: Origin
    requester: PersonId | None = None
    mode: Mode = Mode.NORMAL
    parent_id: TaskId | None = None
    parent_call_id: str | None = None
    depth: int = 0
    surface: str | None = None  # where it speaks; None: nowhere, only the ledger
    chat: str | None = None  # the channel, group or direct chat that its thread is in
    thread_ref: str | None = None
    goal: Json
    schema: Json = None
    taint: Taint = Taint.NONE
    read_private: bool = False
    state: TaskState = TaskState.QUEUED
    reason: str | None = None  # why it ended: limit, model, declined, expired, …
    episode: int = 1
    epoch: int = 0
    worker: WorkerId | None = None
    lease_until: datetime | None = None
    attempts: int = 0  # leases lost in a row without anything recorded
    not_before: datetime | None = None
    prio: int = Prio.SELF_STARTED
    vrt: int = 0
    round: int = 0  # model replies of this episode
    next_seq: int = 1
    next_call_no: int = 1
    unread: int = 0
    strikes: int = 0
    repeats: int = 0
    stop_by: str | None = None
    wrap: bool = False
    extra_rounds: int = 0
    extra_tokens: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    result: Json = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def ref(self) -> TaskRef:
        return TaskRef(org=self.org, task_id=self.id)

    @property
    def code(self) -> str:
        return task_code(self.number)

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def has_owner(self) -> bool:
        """Somebody can be reached with a card about it."""
        return self.surface is not None


class MessageKind(StrEnum):
    GOAL = "goal"  # what the task is for
    OWNER = "owner"  # words of a person of the organization
    EXTERNAL = "external"  # words from outside, always fenced
    REPLY = "reply"  # an outside answer to something the task wrote, always fenced
    ASSISTANT = "assistant"  # the model's reply; its calls are rows of their own
    NUDGE = "nudge"  # our words to a model that went silent or broke a schema
    COMPACT = "compact"  # covers from_seq..to_seq from here on
    NOTE = "note"  # our words about something decided meanwhile


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A row of the transcript: only ever appended. Tool results are not here but on their calls."""

    seq: int
    episode: int
    round: int
    kind: MessageKind
    body: Json
    tokens: int = 0
    from_seq: int | None = None
    to_seq: int | None = None
    epoch: int = 0
    at: datetime
