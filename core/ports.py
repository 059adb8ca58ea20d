"""The small Protocols core asks for. Over core's own values only; adapters supply them.

One method of a store's port is one transaction. All times are the database's, aware UTC.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from core.audit import AuditEntry, Head
from core.calls import Call
from core.ids import CallCode, EventKey, OrgId, PostId, Run, TaskId, TaskRef, Token, WorkerId
from core.model import ModelReply, Request
from core.parks import Park
from core.people import Account, Organization, Person, Roster, Route, Switch
from core.rights import Rights
from core.roster import RosterChange
from core.switches import SwitchTo
from core.tasks import Json, Message, Task, TaskState
from core.work import (
    NOTHING,
    Cause,
    Duplicate,
    Event,
    Fenced,
    Move,
    Need,
    NewTask,
    PostKind,
    R,
    Received,
    Work,
)


class Clock(Protocol):
    """Time for those who run things. Rules take the database's time as an argument instead."""

    def now(self) -> datetime:
        """Aware UTC."""
        ...

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """A block that raises TimeoutError after *seconds*; None never does."""
        ...


class Ids(Protocol):
    def new(self) -> str:
        """A UUIDv7, as text."""
        ...

    def nonce(self) -> str:
        """128 unpredictable bits as 22 characters of A-Za-z0-9_-."""
        ...


class Model(Protocol):
    async def reply(self, request: Request) -> ModelReply:
        """The model's whole reply. Raises ModelBusy (try later) or another ModelError (it can't)."""
        ...


class Tasks(Protocol):
    async def open(self, new: NewTask, cause: Cause) -> Task | Duplicate:
        """The task exists, queued, its goal first in the transcript, its cause applied (T1)."""
        ...

    async def change(self, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
        """What *move* decided on the locked rows is written with its one audit entry, or nothing is.

        Retried whole on a serialization failure or deadlock. A cancellation inside never leaves half
        a change: the transaction is either wholly committed or wholly not. Raises TaskNotFound.
        """
        ...

    async def load(self, run: Run) -> Work | Fenced:
        """The task's usual rows, read without the lock, if *run* still has it."""
        ...

    async def transcript(self, ref: TaskRef, after_seq: int = 0) -> "Transcript":
        """The transcript's rows past *after_seq*, by seq, and every call of the task, by number."""
        ...


class Queue(Protocol):
    async def claim(self, worker: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        """Up to *n* tasks are this worker's, epoch raised (T2); blocked heads became held."""
        ...

    async def heartbeat(self, worker: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[TaskRef]:
        """The leases of *runs* last *lease_seconds* from now; the tasks *worker* still holds of them.

        A task of this worker that is none of *runs* broke off: its lease is left to run out.
        """
        ...

    async def recover(self, limit: int) -> list[TaskRef]:
        """Queued again (T3): expired leases (attempts+1), due delays, held that nothing blocks now."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Ignored:
    """Nothing is to be done with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """Offered again after *seconds*."""

    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Dead:
    """It will never work; kept for people to see."""

    error: str


class Inbox(Protocol):
    async def receive(self, event: Event) -> Received | Duplicate:
        """The event is stored, once, before anybody is told so."""
        ...

    async def take(self, n: int, visible_seconds: float = 30) -> list[Event]:
        """Up to *n* new events, oldest first, hidden from others for *visible_seconds*."""
        ...

    async def settle(self, key: EventKey, outcome: Ignored | Retry | Dead) -> None:
        """A new event is done with; `applied` is set by open() and change() themselves."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """A place where a post should have been, and why it is not there."""

    route: Route
    error: str


ON_REQUEST = datetime(1970, 1, 1, tzinfo=UTC)
"""When a card was shown that somebody asked to see: it counts in no hour, and no digest tells of it (I39)."""


SHOWN_AGAIN = ""
"""What a message copies, that was sent on request, once there is a newer one like it in its chat: nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Post:
    """A message that should exist on a surface; *chat_ref* once it does.

    *tried*: where it should have been before. *shown_at*: when it first got to its route, by itself or in
    the digest of that hour. *copy_of*: the key of the card that it shows once more, elsewhere.
    """

    id: PostId
    org: OrgId
    task_id: TaskId | None  # None: about several, a digest
    kind: PostKind
    episode: int
    round: int | None
    surface: str
    route: str
    body: Json
    rev: int
    chat_ref: str | None
    attempts: int
    tried: tuple[Tried, ...] = ()
    shown_at: datetime | None = None
    copy_of: str | None = None

    @property
    def place(self) -> Route:
        return Route(surface=self.surface, ref=self.route)

    @property
    def on_request(self) -> bool:
        """Somebody else than the poster has sent it: it is edited while it is there, and never posted."""
        return self.copy_of is not None and self.shown_at == ON_REQUEST

    @property
    def shown_again(self) -> bool:
        """It was sent on request, and so was a newer one; it says so once, and is no post from then on."""
        return self.copy_of == SHOWN_AGAIN and self.on_request

    @property
    def folded(self) -> bool:
        """It is no message of its own: its digest tells of it."""
        return self.chat_ref is None and self.shown_at not in (None, ON_REQUEST)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """Revision *rev* is there; *chat_ref* names the message on its surface."""

    chat_ref: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Maybe:
    """It may be there: the answer was lost."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Later:
    """Due again in *seconds*. It *counts* as a try, unless the surface only asked to wait."""

    seconds: float
    error: str | None = None
    counts: bool = True


class Outbox(Protocol):
    async def take(self, n: int, surface: str, visible_seconds: float = 30) -> list[Post]:
        """Up to *n* due posts of *surface*, one a route, hidden for *visible_seconds* (K38)."""
        ...

    async def settle(
        self, post_id: PostId, org: OrgId, rev: int, outcome: Sent | Maybe | Later | Dead
    ) -> None:
        """What became of revision *rev*; a newer revision written meanwhile stays due."""
        ...

    async def learn(self, park_token: Token, surface: str, chat_ref: str) -> None:
        """The card with this park's button is the message *chat_ref*, if it belongs on *surface* (K19).

        Nothing is learnt of a message that some post is known to be.
        """
        ...

    async def copied(self, park_token: Token, to: Route, chat_ref: str) -> None:
        """The message *chat_ref*, which somebody else than the poster sent to *to*, shows this park's card.

        It alone of the card's parks, by the number of its call, whatever version; or, of a park without a
        call, the card of its round. It is revised whenever the card is, and due at once where the park is
        open no more. A copy counts in no hour, is never folded, posted, or shown elsewhere (I39).

        Of a call there is one such copy at *to*: the message that was it is due once more, as `shown_again`.
        Nothing is written of a message that some post is known to be.
        """
        ...

    async def reroute(self, post: Post, to: Route | None, error: str) -> None:
        """*post* is due at *to* instead, as if it were new; None: nowhere, so it is dead.

        Where it was taken is among `tried`, with *error*. Nothing is written where it was moved meanwhile.
        """
        ...

    async def move(self, surface: str, old: str, new: str, around: Callable[[str], str] = str) -> None:
        """The chat that was called *old* is *new*: for posts, the threads of tasks, and where cards go.

        Messages of the old one can't be edited any more: what is revised is posted anew. *around*: what of a
        place's name is one in the new chat, too; its messages may be counted afresh there.
        """
        ...

    async def at(self, surface: str, chat_ref: str) -> Post | None:
        """The post that is the message *chat_ref*, if one is."""
        ...

    async def cards_shown(self, org: OrgId, route: Route) -> int:
        """How many cards came to *route* by themselves within the last hour (I39)."""
        ...

    async def fold(self, post: Post) -> None:
        """The digest of the card's route and hour tells of it as *post* has it, and is due (I39).

        One whose message is known by now, or that was asked to be shown, stays a message of its own.
        """
        ...

    async def folded(self, digest: Post) -> list[Post]:
        """The cards that *digest* tells of, in the order they were folded in."""
        ...

    async def show(self, park_token: Token) -> bool:
        """The folded card of this park is due as a message of its own; False where it is not folded."""
        ...

    async def recall(self, park_token: Token) -> bool:
        """Whether the card of this park is folded; its digest is due again then."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ParkView:
    """A park with what it is about."""

    park: Park
    task: Task
    call: Call | None


@dataclass(frozen=True, kw_only=True, slots=True)
class NotFound:
    """Nothing of that name in this organization; a foreign id answers the same (I18)."""


class Due(StrEnum):
    EXPIRE = "expire"
    REMIND = "remind"


class Parks(Protocol):
    async def find(self, who: Person, key: Token | CallCode) -> ParkView | NotFound:
        """The park of a token; or the newest park of a call's code, an open one first."""
        ...

    async def waiting_for(self, who: Person, limit: int) -> list[ParkView]:
        """Open parks of the person's organization, oldest first."""
        ...

    async def due(self, kind: Due, n: int) -> list[TaskRef]:
        """Tasks with a park past its expiry (unknown parks have none), or past its reminder."""
        ...

    async def viewed(self, who: Person, token: Token, digest: str) -> None:
        """It is recorded that *who* opened the whole of what has *digest* (I32)."""
        ...

    async def refused(self, token: Token, actor: str, surface: str | None, why: str) -> None:
        """An audit entry says that *actor* tried to decide the park of *token* and why they might not.

        Nothing is written where there is no such park. *actor*: a person's id, or else their account.
        """
        ...

    async def link(self, who: Person, token: Token, digest: str, seconds: float) -> None:
        """For *seconds*, *digest* stands for *who* connecting what the park of *token* waits for (C12).

        Raises ParkNotFound.
        """
        ...

    async def linked(self, who: Person, digest: str) -> Token | NotFound:
        """The token that *digest* stands for; used up, so that the next look finds nothing.

        Nothing is found of one that ran out, and of one that is another person's, which stays theirs.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class BadCode:
    """No such code, or it was used, or it ran out, or who it was for has left: the answer is one."""


class People(Protocol):
    async def by_account(self, account: Account, org: OrgId | None = None) -> Person | None:
        """The one of *org* who is linked to *account*; None if nobody, or if they left.

        Without *org*, of whatever organization they are; raises InSeveral where it is linked in several.
        """
        ...

    async def everywhere(self, account: Account) -> tuple[Person, ...]:
        """Who is linked to *account* in each organization, by organization; nobody who left."""
        ...

    async def of(self, org: OrgId) -> Roster:
        """The organization with its rules, its people, their accounts, and where cards go.

        Raises LookupError if there is no such organization.
        """
        ...

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        """On a database without organizations: *org* exists with *owner*, linked to *account*.

        With organizations there, nothing is written and ConfigError is raised.
        """
        ...

    async def create(
        self, organization: Organization, owner: str, code_digest: str, seconds: float, *, actor: str
    ) -> Person:
        """*organization* exists, its *owner* to be linked by a code of *code_digest*, for *seconds*.

        *actor*: the operator who says so. Raises RosterError for a name that is taken, or can't be.
        """
        ...

    async def save(
        self, by: Person, org: OrgId, change: RosterChange, *, surface: str | None = None
    ) -> Roster:
        """The roster of *org* as *change* left it, written with its audit entry if anything is another now.

        Everything is looked at as the rows say it today; no effect is marked between that and the commit.
        Raises NotYourDecision where *by* is no owner of *org*, RosterError where it can't be so.
        """
        ...

    async def join(self, code_digest: str, account: Account) -> Person | BadCode:
        """Who the code is for, linked to *account* from now on; a code is good once, by database time.

        Raises RosterError where *account* is somebody else's there; the code is still good then.
        """
        ...

    async def switch(
        self, by: Person, org: OrgId, agent: str | None, to: SwitchTo, *, surface: str | None = None
    ) -> int:
        """*agent*'s switch is turned *to*; None: the organization is paused, resumed or limited.

        How many switches it turned: 0 where it was so already, which writes nothing. Written with its
        audit entry (what it was, what it is); no effect is marked between a pause and its commit (I29).
        Raises NotYourDecision where *by* is no owner of *org*, whatever *by* says of themselves.
        """
        ...

    async def switches(self, org: OrgId) -> tuple[Switch, ...]:
        """What was turned about the organization's agents, by agent; one of whom nothing was is not there."""
        ...

    async def rights(self, org: OrgId, agent: str) -> Rights | None:
        """What the agent's folder may let it do here; None: its folder was not seen here yet."""
        ...

    async def keep_rights(
        self, org: OrgId, agent: str, was: Rights | None, now: Rights, *, digest: str, actor: str
    ) -> bool:
        """The rights are *now*, with an audit entry, if they still were *was*: first seen, or less.

        *digest*: of the folder that says so. Never more than *was*: that is `accept`.
        """
        ...

    async def accept(
        self,
        by: Person,
        org: OrgId,
        agent: str,
        was: Rights,
        now: Rights,
        *,
        digest: str,
        surface: str | None = None,
    ) -> bool:
        """An owner lets the agent have *now*, with an audit entry, if its rights still were *was*.

        Raises NotYourDecision.
        """
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """Which tasks: all that fit every given field, newest first."""

    number: int | None = None
    ids: frozenset[TaskId] | None = None
    states: frozenset[TaskState] = frozenset()
    agent: str | None = None
    surface: str | None = None  # where it speaks, for the three below
    chat: str | None = None
    thread: str | None = None
    message: str | None = None  # one of its posts, by the surface's name of it
    limit: int = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Transcript:
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """Everything one task did."""

    task: Task
    messages: tuple[Message, ...]
    calls: tuple[Call, ...]
    parks: tuple[Park, ...]
    audit: tuple[AuditEntry, ...]


class Ledger(Protocol):
    async def find(self, org: OrgId, query: Query) -> list[Task]: ...

    async def story(self, ref: TaskRef) -> Story:
        """Raises TaskNotFound."""
        ...

    async def audit(self, org: OrgId, after_seq: int, n: int) -> list[AuditEntry]:
        """Sealed entries past *after_seq*, by seq."""
        ...

    async def unsealed(self, org: OrgId, n: int) -> list[AuditEntry]:
        """Entries not yet in the chain, oldest first."""
        ...

    async def newest(self, org: OrgId, n: int) -> list[AuditEntry]:
        """The last *n* entries, sealed or not, the newest last."""
        ...

    async def seal(self, org: OrgId, n: int) -> Head:
        """Up to *n* more entries are in the organization's chain; its head afterwards."""
        ...

    async def head(self, org: OrgId) -> Head:
        """The chain's head as the organization's row says it."""
        ...

    async def organizations(self) -> list[OrgId]: ...

    async def usage(self, org: OrgId) -> dict[str, int]:
        """The tokens each agent reserved and used in the last 24 hours, by its key."""
        ...


class Leases(Protocol):
    async def take(self, name: str, holder: str, seconds: float) -> int | None:
        """The lease's epoch if *holder* has it now (anew or renewed), else None."""
        ...

    async def drop(self, name: str, epoch: int) -> None:
        """Free, if it still is of this epoch."""
        ...


MOST_COUNTED = 1000
LONGEST_COUNTED_SECONDS = 120.0
"""Every answer writes its chat's times anew: the limits of chats are of a minute at the most."""


@dataclass(frozen=True, slots=True)
class Rate:
    """No more than *count* messages in any *seconds*."""

    count: int
    seconds: float

    def __post_init__(self) -> None:
        """Raises ValueError for one of which no store would keep enough."""
        if not (1 <= self.count <= MOST_COUNTED and 0 < self.seconds <= LONGEST_COUNTED_SECONDS):
            raise ValueError(f"no store keeps enough for {self.count} in {self.seconds} seconds")


class Rates(Protocol):
    """What went to the chats of a surface, by database time, so that its limits hold for all processes."""

    async def take(self, surface: str, limits: Mapping[str, Sequence[Rate]], keep: int = 0) -> float:
        """0.0, and one message more counts under every key of *limits*; or the seconds until one may go.

        A key is a chat's name, or "" for all of the surface; where one of them is full or held, nothing
        counts; one without rates is never full. *keep*: of each Rate so many, but at most half, are left to
        what is more urgent.
        """
        ...

    async def hold(self, surface: str, chat: str, seconds: float) -> None:
        """Nothing goes to *chat* for *seconds*, or as long as it was held already: the surface said so."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question of a surface's own, the message *chat_ref*, whose answer decides on the park of *token*.

    *account*: who is asked, by the surface's name of them. *verb*: what their answer does; *field*: which
    argument it is for, if for one.
    """

    surface: str
    chat_ref: str
    account: str
    token: Token
    verb: str
    field: str | None

    @property
    def chat(self) -> str:
        return self.chat_ref.partition(":")[0]


class Prompts(Protocol):
    """What surfaces have asked and wait for, by database time; one of an account in a chat at a time."""

    async def ask(self, prompt: Prompt, seconds: float) -> None:
        """An answer is taken for *seconds*; what else the account was asked in this chat is over."""
        ...

    async def asked(self, surface: str, chat_ref: str) -> Prompt | None:
        """The one of this message, if it is open."""
        ...

    async def open_in(self, surface: str, chat: str, account: str) -> Prompt | None:
        """What *account* is asked in *chat*."""
        ...

    async def close(self, surface: str, chat_ref: str) -> bool:
        """It is over; whether it was open, which is so for one alone of several who close it at once."""
        ...


class Sealer(Protocol):
    """Seals a secret for its place: what is sealed for one organization and name opens for no other."""

    def seal(self, org: OrgId, name: str, value: str) -> str: ...

    def unseal(self, org: OrgId, name: str, sealed: str) -> str:
        """Raises SecretError where *sealed* was not sealed for this place, under a key of ours."""
        ...


class Secrets(Protocol):
    """An organization's secrets at rest. *by*: a person's id, or what else it was, for the audit."""

    async def put(self, org: OrgId, name: str, value: str, *, by: str, surface: str | None = None) -> None:
        """*value* is kept as *name*, in place of what was, with an audit entry. Raises SecretError."""
        ...

    async def get(self, org: OrgId, name: str) -> str | None:
        """What is kept as *name*; from here on nobody is shown it. Raises SecretError."""
        ...

    async def names(self, org: OrgId) -> Sequence[str]:
        """Sorted."""
        ...

    async def remove(self, org: OrgId, name: str, *, by: str, surface: str | None = None) -> bool:
        """Nothing is kept as *name*; whether something was, which an audit entry says then."""
        ...


class Store(Protocol):
    """The ports of one database."""

    @property
    def tasks(self) -> Tasks: ...
    @property
    def queue(self) -> Queue: ...
    @property
    def inbox(self) -> Inbox: ...
    @property
    def outbox(self) -> Outbox: ...
    @property
    def parks(self) -> Parks: ...
    @property
    def people(self) -> People: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def leases(self) -> Leases: ...
    @property
    def secrets(self) -> Secrets: ...
    @property
    def rates(self) -> Rates: ...
    @property
    def prompts(self) -> Prompts: ...

    async def close(self) -> None: ...
