"""What a move reads (Work) and what it writes (Change): the two ends of ``change(task, move)``.

A store loads a Work under the task's lock and writes a Change in the same transaction; nothing
else writes tasks, messages, calls or parks. `Work.after` applies a Change to the values alone,
so that a move can ask the plan about the rows it is about to write.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias, TypeVar

from core.calls import Call
from core.ids import CallId, EventKey, OrgId, PersonId, Run, TaskId, TaskRef, Token
from core.parks import Park
from core.people import Organization, OrgState, Roster, Switch
from core.tasks import Json, Message, MessageKind, Mode, Origin, Taint, Task

# ── what comes in ────────────────────────────────────────────────────────────────────────────


class EventKind(StrEnum):
    MESSAGE = "message"  # a person's words, from a surface
    REPLY = "reply"  # an outside answer
    EVENT = "event"  # the app reported something
    FIRE = "fire"  # an occurrence of a trigger
    ENDED = "ended"  # a task ended that another follows


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An inbox row: stored before it is acknowledged, applied once."""

    key: EventKey
    org: OrgId | None = None  # None until it is routed
    kind: EventKind
    body: Json  # for a message: {"text": …, "person": …}
    received_at: datetime | None = None  # the database's; set by receive
    attempts: int = 0
    task_id: TaskId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NewTask:
    """A task to open (T1). The store gives it its number and its place in the queue."""

    org: OrgId
    id: TaskId
    agent: str
    origin: Origin
    goal: Json
    requester: PersonId | None = None
    label: str | None = None
    schema: Json = None
    mode: Mode = Mode.NORMAL
    taint: Taint = Taint.NONE
    prio: int
    surface: str | None = None
    chat: str | None = None  # the channel, group or direct chat that its thread is in
    thread_ref: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """The verified inbox row that opens a task, and who is answerable for it."""

    key: EventKey
    actor: str  # a person's id, or what else it was: schedule, event, …
    surface: str | None = None


# ── what a change writes beside the rows ─────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One audit entry: who did which move by which rule, and the facts. The store adds id, time, HMAC."""

    actor: str  # a person's id, worker:<id>, sweeper, schedule, …
    surface: str | None = None
    move: str
    rule: str | None = None
    call_id: CallId | None = None
    facts: Json = field(default_factory=dict)


class PostKind(StrEnum):
    CARD = "card"
    REPORT = "report"
    PROGRESS = "progress"
    NOTICE = "notice"
    FILE = "file"
    DIGEST = "digest"  # tells of several tasks' cards; no move writes it


@dataclass(frozen=True, kw_only=True, slots=True)
class PostIntent:
    """A message that should exist at the task's thread. Written again, it is the same one, revised.

    *asks*: it wants a decision, and goes where cards go. *once*: written again, it stays as it is: what it
    says was said. *after_seconds*: it is due so long after it was written first, or after it was sent.
    """

    kind: PostKind
    dedup_key: str
    episode: int  # of what it shows, which may be an older one than the task's
    round: int | None = None
    body: Json = None  # what its rows won't say later; None keeps what the post has
    prio: int = 1  # lower first: cards and reports before progress
    once: bool = False
    asks: bool = False
    after_seconds: float = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class NewMessage:
    """A row to append to the transcript; its seq is the task's next, in the order given."""

    kind: MessageKind
    body: Json
    tokens: int = 0
    from_seq: int | None = None
    to_seq: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spend:
    """A change of the agent's usage row of *hour* (aware UTC, whole hours)."""

    hour: datetime
    reserved: int = 0
    used: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """Whom an effect writes to: an answer from *address*, in that thread, finds its task (I28)."""

    surface: str  # mail, sms, …
    address: str
    thread_ref: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """A row of whom the task wrote to; an answer wakes it until *until*."""

    to: Reached
    call_id: CallId
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskEvent:
    """A row of the event log."""

    name: str
    data: Json = field(default_factory=dict)
    call_id: CallId | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """All that one move writes, in one transaction. Calls and parks are inserted or replaced by id."""

    task: Task
    entry: Entry
    calls: tuple[Call, ...] = ()
    parks: tuple[Park, ...] = ()
    messages: tuple[NewMessage, ...] = ()
    posts: tuple[PostIntent, ...] = ()
    news: tuple[Event, ...] = ()  # inbox rows for other tasks
    applied: tuple[EventKey, ...] = ()  # inbox rows that are in the transcript now
    assigned: tuple[EventKey, ...] = ()  # inbox rows that belong to this task, unread
    spend: tuple[Spend, ...] = ()
    events: tuple[TaskEvent, ...] = ()
    reach: tuple[Reach, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """The move writes nothing: another change came first, which is an ordinary answer."""

    why: str


# ── what a move may look at ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """What a move reads beside the task's usual rows (those are in every Work)."""

    call: CallId | None = None  # this call and its parks, whatever their round or state
    token: Token | None = None  # this park, its call and that call's other parks, whatever their state
    event_id: str | None = None  # the park this click decided already, if it did
    effect_key: str | None = None  # this task's calls that hold the key
    sent_key: str | None = None  # other tasks' calls that hold it inside the organization's window, locked
    event: EventKey | None = None  # this inbox row, if nobody has applied it yet
    unread: bool = False  # the task's unread inbox rows
    roster: bool = False
    usage: bool = False  # the agent's tokens of the last 24 hours
    starts: bool = False  # an effect may start: no switch is turned until the commit


NOTHING = Need()


EARLIER: Final = 20
"""How many of them a Work has at the most: the newest, among which any that nobody has seen yet is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Earlier:
    """A call of another task of the organization that went, or may have gone, out."""

    call: Call
    task_number: int
    agent: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """A task's rows as they stand under its lock.

    *calls*: the open owner calls, then all of the current round by ordinal, then what Need named.
    *parks*: all open ones of the task, the decided one of each approved call, then what Need named.
    *last*: the newest row of the transcript that is no compaction. *roster*: without accounts and routes,
    which no move asks for.
    """

    task: Task
    organization: Organization
    switch: Switch | None = None
    calls: tuple[Call, ...] = ()
    parks: tuple[Park, ...] = ()
    last: Message | None = None
    event: Event | None = None  # Need.event, still new
    unread: tuple[Event, ...] = ()
    roster: Roster | None = None
    daily_tokens: int | None = None  # reserved and used over the last 24 hours; None: not asked for
    holders: tuple[Call, ...] = ()  # calls of this task that hold Need.effect_key
    elsewhere: tuple[
        Earlier, ...
    ] = ()  # other tasks' that hold Need.sent_key inside the window, newest first
    repeated: Park | None = None  # the park that Need.event_id decided

    @property
    def paused(self) -> bool:
        """Nothing new may start: the organization or the agent is paused."""
        return self.organization.state is OrgState.PAUSED or (self.switch is not None and self.switch.paused)

    @property
    def round(self) -> tuple[Call, ...]:
        """What the plan looks at: the open owner calls, then the current round's by ordinal."""
        here = (self.task.episode, self.task.round)
        owner = [c for c in self.calls if c.round is None and not c.settled]
        current = [c for c in self.calls if c.round is not None and (c.episode, c.round) == here]
        return (*owner, *sorted(current, key=lambda c: c.ordinal))

    @property
    def open_parks(self) -> tuple[Park, ...]:
        return tuple(p for p in self.parks if p.open)

    def call(self, call_id: CallId | None) -> Call | None:
        return next((c for c in self.calls if c.id == call_id), None)

    def park(self, token: Token | None) -> Park | None:
        return next((p for p in self.parks if p.token == token), None)

    def parks_of(self, call_id: CallId) -> tuple[Park, ...]:
        return tuple(p for p in self.parks if p.call_id == call_id)

    def after(self, change: Change, at: datetime) -> "Work":
        """These rows once *change* is written."""
        calls = {c.id: c for c in (*self.calls, *change.calls)}
        parks = {p.id: p for p in (*self.parks, *change.parks)}
        rows = message_rows(self.task, change, at)
        newest = [m for m in rows if m.kind is not MessageKind.COMPACT]
        return replace(
            self,
            task=replace(change.task, next_seq=change.task.next_seq + len(rows)),
            calls=tuple(calls.values()),
            parks=tuple(parks.values()),
            last=newest[-1] if newest else self.last,
            unread=tuple(e for e in self.unread if e.key not in change.applied),
            daily_tokens=_plus(self.daily_tokens, change.spend),
        )


def _plus(tokens: int | None, spend: tuple[Spend, ...]) -> int | None:
    return None if tokens is None else tokens + sum(s.reserved + s.used for s in spend)


def message_rows(before: Task, change: Change, at: datetime) -> tuple[Message, ...]:
    """The transcript rows *change* appends, numbered from the task's next seq."""
    return tuple(
        Message(
            seq=before.next_seq + n,
            episode=change.task.episode,
            round=change.task.round,
            kind=new.kind,
            body=new.body,
            tokens=new.tokens,
            from_seq=new.from_seq,
            to_seq=new.to_seq,
            epoch=before.epoch,
            at=at,
        )
        for n, new in enumerate(change.messages)
    )


R = TypeVar("R")
Move: TypeAlias = Callable[[Work, datetime], tuple[Change | Lost, R]]
"""A pure function of the locked rows and the database's time: what to write, and the answer."""

# ── what the ports answer ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Duplicate:
    """It was there already; nothing was written."""

    ref: TaskRef | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """It is stored."""

    key: EventKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Fenced:
    """The run lost its task: another one has it, or it ended."""

    run: Run
