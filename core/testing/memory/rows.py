"""The tables, each a row of core's own value and what a store keeps beside it."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from core.audit import GENESIS, AuditEntry, Head, mac
from core.calls import Call, CallState, Outcome
from core.errors import StoreError
from core.ids import CallId, OrgId, PersonId, TaskId, TaskRef, Token
from core.parks import Park
from core.people import Account, Organization, Person, Roster, Route, Switch
from core.ports import Clock, Ids, Post, Prompt
from core.redact import Redactor
from core.rights import Rights
from core.tasks import Json, Message, Prio, Task, TaskState
from core.testing.memory.table import Journal, Table
from core.work import Event

_START = Head(seq=0, hash=GENESIS)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrganizationRow:
    organization: Organization
    next_task_no: int = 1
    head: Head = _START  # of its audit chain


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountRow:
    org: OrgId
    account: Account
    person_id: PersonId


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalRouteRow:
    """Where cards of *agent* go; of the empty one, those of every agent without a row.

    Past the first *position*: where copies of them go.
    """

    org: OrgId
    agent: str
    position: int = 0
    surface: str
    ref: str

    @property
    def route(self) -> Route:
        return Route(surface=self.surface, ref=self.ref)


@dataclass(frozen=True, kw_only=True, slots=True)
class SwitchRow:
    org: OrgId
    switch: Switch
    paused_by: PersonId | None = None
    paused_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RightsRow:
    """The rights of an agent's folder that hold."""

    org: OrgId
    agent: str
    rights: Rights
    digest: str  # of the folder that brought them
    by_person: PersonId | None  # None: first seen, or narrowed by the folder
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRow:
    task: Task
    queued_at: datetime  # since when it waits for a worker; time held counts
    aged: bool = False  # waited so long that it stands at prio 0 until it is claimed


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageRow:
    org: OrgId
    task_id: TaskId
    message: Message


@dataclass(frozen=True, kw_only=True, slots=True)
class EventRow:
    """A row of the event log."""

    org: OrgId
    id: str
    name: str
    task_id: TaskId
    call_id: CallId | None
    agent: str
    label: str | None
    data: Json
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class InboxRow:
    event: Event
    state: str = "new"  # new, taken, applied, ignored, dead
    due_at: datetime | None  # of a new one: when it is offered (again)
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PostRow:
    post: Post
    dedup_key: str
    sent_rev: int = 0
    prio: int = 1
    due_at: datetime
    state: str = "due"  # due, sending, sent, dead
    error: str | None = None

    @property
    def owed(self) -> bool:
        return self.post.rev > self.sent_rev and self.state != "dead"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachRow:
    org: OrgId
    surface: str
    address: str
    thread_ref: str
    task_id: TaskId
    call_id: CallId | None
    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageRow:
    org: OrgId
    agent: str
    hour: datetime
    reserved: int = 0
    used: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ConnectStateRow:
    """Who connects what a park waits for, once."""

    digest: str
    org: OrgId
    person_id: PersonId
    token: Token
    expires_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JoinCodeRow:
    """Who links an account, once."""

    digest: str
    org: OrgId
    person_id: PersonId
    expires_at: datetime
    used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseRow:
    name: str
    holder: str
    epoch: int
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class RateRow:
    """What went to a chat of a surface lately; of the chat "", to all of them."""

    surface: str
    chat: str
    times: Json = field(default_factory=list)  # microseconds since 1970, oldest first
    held_until: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptRow:
    prompt: Prompt
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretRow:
    org: OrgId
    name: str
    sealed: str  # in memory, the value itself
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorRow:
    prio: int
    floor: int = 0


class Rows:
    """Every table, and what each port needs beside them: time, ids, the audit trail's key, a redactor."""

    def __init__(self, *, clock: Clock, ids: Ids, audit_key: bytes, redactor: Redactor) -> None:
        self.ids, self.redactor = ids, redactor
        self._clock, self._audit_key = clock, audit_key
        self.journal = journal = Journal()
        self.transaction = journal.transaction
        self.organizations: Table[OrganizationRow] = Table(
            "organization", journal, lambda row: (row.organization.id,)
        )
        self.people: Table[Person] = Table(
            "person", journal, lambda row: (row.org, row.id), filed=lambda row: [("org", row.org)]
        )
        self.accounts: Table[AccountRow] = Table(
            "account",
            journal,
            lambda row: (row.account, row.org),
            filed=lambda row: [("account", row.account)],
        )
        self.approval_routes: Table[ApprovalRouteRow] = Table(
            "approval route", journal, lambda row: (row.org, row.agent, row.position)
        )
        self.switches: Table[SwitchRow] = Table("switch", journal, lambda row: (row.org, row.switch.agent))
        self.secrets: Table[SecretRow] = Table("secret", journal, lambda row: (row.org, row.name))
        self.rights: Table[RightsRow] = Table("rights", journal, lambda row: (row.org, row.agent))
        self.tasks: Table[TaskRow] = Table(
            "task",
            journal,
            lambda row: (row.task.org, row.task.id),
            filed=lambda row: [("state", row.task.state)],
            unique=lambda row: [("number", row.task.org, row.task.number)],
        )
        self.messages: Table[MessageRow] = Table(
            "message",
            journal,
            lambda row: (row.org, row.task_id, row.message.seq),
            filed=lambda row: [("task", row.org, row.task_id)],
        )
        self.calls: Table[Call] = Table(
            "call",
            journal,
            lambda row: (row.org, row.id),
            filed=lambda row: [("task", row.org, row.task_id), ("sent", row.org, row.sent_key)],
            unique=_unique_of_call,
        )
        self.parks: Table[Park] = Table(
            "park",
            journal,
            lambda row: (row.org, row.id),
            filed=lambda row: [("task", row.org, row.task_id), ("open", row.open)],
            unique=_unique_of_park,
        )
        self.connect_states: Table[ConnectStateRow] = Table(
            "connect state", journal, lambda row: (row.digest,)
        )
        self.join_codes: Table[JoinCodeRow] = Table("join code", journal, lambda row: (row.digest,))
        self.posts: Table[PostRow] = Table(
            "post",
            journal,
            lambda row: (row.post.org, row.post.id),
            filed=_filed_of_post,
            unique=lambda row: [("dedup", row.post.org, row.dedup_key)],
        )
        self.inbox: Table[InboxRow] = Table(
            "inbox row",
            journal,
            lambda row: (row.event.key,),
            filed=lambda row: [("state", row.state), ("task", row.event.org, row.event.task_id)],
        )
        self.reach_keys: Table[ReachRow] = Table(
            "reach key", journal, lambda row: (row.org, row.surface, row.address, row.thread_ref, row.task_id)
        )
        self.usage: Table[UsageRow] = Table("usage", journal, lambda row: (row.org, row.agent, row.hour))
        self.leases: Table[LeaseRow] = Table("lease", journal, lambda row: (row.name,))
        self.rates: Table[RateRow] = Table("rate", journal, lambda row: (row.surface, row.chat))
        self.prompts: Table[PromptRow] = Table(
            "prompt",
            journal,
            lambda row: (row.prompt.surface, row.prompt.chat, row.prompt.account),
            unique=lambda row: [("message", row.prompt.surface, row.prompt.chat_ref)],
        )
        self.queue_floor: Table[FloorRow] = Table("queue floor", journal, lambda row: (row.prio,))
        self.events: Table[EventRow] = Table("event", journal, lambda row: (row.org, row.id))
        self.audit: Table[AuditEntry] = Table(
            "audit entry",
            journal,
            lambda row: (row.org, row.id),
            filed=lambda row: [("task", row.org, row.task_id), ("sealed", row.org, row.seq is not None)],
            unique=lambda row: [] if row.seq is None else [("seq", row.org, row.seq)],
        )
        for prio in (Prio.PERSON, Prio.SELF_STARTED):
            self.queue_floor.insert(FloorRow(prio=prio))

    def now(self) -> datetime:
        """The store's time: exactly the clock's, so that a manual one governs all that runs out."""
        return self._clock.now()

    def write_entry(self, entry: AuditEntry) -> None:
        """*entry* is in the trail without secrets (I33), under its HMAC."""
        entry = self.redactor.clean(entry)
        self.audit.insert(replace(entry, mac=mac(self._audit_key, entry)))

    def tasks_of(self, org: OrgId) -> list[Task]:
        """The organization's tasks, oldest first."""
        return [row.task for row in self.tasks if row.task.org == org]

    def task(self, ref: TaskRef) -> Task | None:
        row = self.tasks.get(ref.org, ref.task_id)
        return None if row is None else row.task

    def people_of(self, organization: Organization) -> Roster:
        """Who is in it, which is all that a decision asks; neither accounts nor routes."""
        people = sorted(self.people.under("org", organization.id), key=lambda person: person.id)
        return Roster(organization=organization, people=tuple(people))

    def roster(self, organization: Organization) -> Roster:
        own = organization.id
        links = [(row.person_id, row.account) for row in self.accounts if row.org == own]
        routes = [row for row in self.approval_routes if row.org == own]
        return replace(
            self.people_of(organization),
            accounts=tuple(sorted(links, key=lambda link: (link[1].surface, link[1].ref))),
            routes=tuple(
                (row.agent, row.route) for row in sorted(routes, key=lambda row: (row.agent, row.position))
            ),
        )

    def place(self, org: OrgId, prio: int) -> int:
        """Where a task of *org* queued now stands: behind its others of that prio, never below the floor.

        Source: storage.md §3; adapters/store/order.py says the same in SQL.
        """
        queued = [row.task for row in self.tasks.under("state", TaskState.QUEUED)]
        taken = [task.vrt for task in queued if (task.org, task.prio) == (org, prio)]
        return max(max(taken, default=-1) + 1, 0, self.floor(prio))

    def floor(self, prio: int) -> int:
        row = self.queue_floor.get(prio)
        return 0 if row is None else row.floor


def holds_key(call: Call) -> bool:
    """It went, or may have gone, out: its effect key is taken (I6)."""
    return call.state is CallState.EXECUTING or call.outcome in (Outcome.SUCCEEDED, Outcome.UNKNOWN)


def _unique_of_call(call: Call) -> Iterator[Hashable]:
    if (call.state is CallState.SETTLED) != (call.outcome is not None and call.result is not None):
        raise StoreError(f"call {call.id} is settled without a result, or has one before")  # I3
    own = (call.org, call.task_id)
    yield ("number", *own, call.number)
    if call.round is not None:
        yield ("place", *own, call.episode, call.round, call.ordinal)
    if call.effect_key is not None and holds_key(call):
        yield ("effect", *own, call.effect_key)  # I6


def _unique_of_park(park: Park) -> Iterator[Hashable]:
    yield ("token", park.token)
    if park.call_id is not None:
        yield ("version", park.org, park.call_id, park.kind, park.version)
    if park.event_id is not None:
        yield ("event", park.org, park.event_id)


def _filed_of_post(row: PostRow) -> Iterator[Hashable]:
    yield ("task", row.post.org, row.post.task_id)
    yield ("place", row.post.org, row.post.place)
    if row.post.copy_of is not None:
        yield ("copies", row.post.org, row.post.copy_of)
    if row.post.chat_ref is not None:
        yield ("message", row.post.surface, row.post.chat_ref)
    if row.owed:
        yield ("owed", row.post.surface)
    if row.state == "sending":
        yield ("sending", row.post.surface)
