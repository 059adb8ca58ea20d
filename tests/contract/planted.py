"""A store in a test's hands: rows put there past every rule, and looked at as they are.

For what no port says: a lease that ran out, a row somebody tampered with, work that is simply there.
The values are those of factories.py, each with an id of its own. Tables and columns are called as in
adapters/store/tables.py, in memory too.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from core.audit import AuditEntry, mac
from core.calls import Call
from core.ids import CallId, OrgId, ParkId, PersonId, PostId, TaskId, TaskRef, Token
from core.parks import Park
from core.people import Account, OrgState, Person, Role, Switch
from core.ports import Ids, Queue, Store
from core.queue import QueueSettings
from core.tasks import Message, Task, TaskState
from core.work import PostKind
from tests.contract import factories
from tests.contract.factories import AUDIT_KEY

BORN_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FAR = timedelta(days=365 * 50)


class Planted(ABC):
    """The rows behind *store*. Each method has its row committed, and answers what the row says."""

    store: Store
    ids: Ids

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    # ── what each kind of store has its own way to do ────────────────────────────────────────

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def now(self) -> datetime:
        """The database's time."""

    @abstractmethod
    async def save(self, *values: Any) -> None:
        """Each value is a row: organizations, people, tasks, calls, parks, audit entries, events (new)."""

    @abstractmethod
    async def save_messages(self, of: Task, *rows: Message) -> None:
        """*rows* are the transcript of *of*."""

    @abstractmethod
    async def switch(self, org: OrgId, switch: Switch) -> None:
        """*switch* is the agent's, in place of any other."""

    @abstractmethod
    async def insert(self, table: str, **values: Any) -> None: ...

    @abstractmethod
    async def update(self, table: str, values: dict[str, Any], **where: Any) -> None:
        """The rows of *table* that have *where* have *values*."""

    @abstractmethod
    async def delete(self, table: str, **where: Any) -> None: ...

    @abstractmethod
    async def table(self, name: str, **where: Any) -> list[dict[str, Any]]:
        """The rows of the table *name* that have *where*, by their key."""

    @abstractmethod
    def queue(self, settings: QueueSettings) -> Queue:
        """The store's queue, as *settings* say."""

    @abstractmethod
    async def next_place(self, org: OrgId, prio: int) -> int:
        """Where a task of *org* that is queued now stands."""

    @abstractmethod
    async def pass_time(self, time: timedelta) -> None:
        """What the queue waits for is that much nearer."""

    @abstractmethod
    async def defenceless(self) -> None:
        """Nothing keeps the store's owner from rewriting the trail any more."""

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    async def row(self, table: str, **where: Any) -> dict[str, Any]:
        """The one row of *table* that has *where*."""
        (found,) = await self.table(table, **where)
        return found

    async def count(self, table: str) -> int:
        return len(await self.table(table))

    async def task_row(self, task: Task) -> Task:
        """The task as its row says it now."""
        return (await self.store.ledger.story(task.ref)).task

    async def park_row(self, park: Park) -> Park:
        """The park as its row says it now."""
        story = await self.store.ledger.story(TaskRef(org=park.org, task_id=park.task_id))
        return next(p for p in story.parks if p.id == park.id)

    # ── planting ─────────────────────────────────────────────────────────────────────────────

    async def organization(self, org: str, state: OrgState = OrgState.ACTIVE) -> OrgId:
        made = factories.organization(id=OrgId(org), name=org.title(), state=state)
        await self.save(made)
        return made.id

    async def person(self, org: OrgId, *roles: Role, left: bool = False) -> Person:
        made = factories.person(
            org=org, id=PersonId(self.ids.new()), roles=frozenset(roles or {Role.OWNER}), left=left
        )
        await self.save(made)
        return made

    async def account(self, person: Person, account: Account) -> None:
        """*account* is linked to *person*."""
        link = {"surface": account.surface, "account_ref": account.ref}
        await self.insert("accounts", org=person.org, person_id=person.id, **link)

    async def pause(self, org: OrgId, agent: str, *, paused: bool = True) -> None:
        await self.switch(org, Switch(agent=agent, paused=paused))

    async def task(self, org: OrgId, **fields: Any) -> Task:
        """A queued, self-started task of the agent *inbox*, unless *fields* say otherwise."""
        self._numbers[org] = self._numbers.get(org, 0) + 1
        usual = {"id": TaskId(self.ids.new()), "number": self._numbers[org], "agent": "inbox"}
        made = factories.task(org=org, **{**usual, **fields})
        await self.save(made)
        return made

    async def running(self, org: OrgId, worker: str, lease_until: datetime, **fields: Any) -> Task:
        """A task that *worker* runs in its first epoch."""
        given = {"state": TaskState.RUNNING, "epoch": 1, "worker": worker, "started_at": BORN_AT, **fields}
        return await self.task(org, lease_until=lease_until, **given)

    async def call(self, task: Task, **fields: Any) -> Call:
        given = {"org": task.org, "id": CallId(self.ids.new()), "task_id": task.id, **fields}
        made = factories.call(**given)
        await self.save(made)
        return made

    async def park(self, task: Task, call: Call | None, **fields: Any) -> Park:
        """An open approval of *call*, unless *fields* say otherwise."""
        usual = {
            "org": task.org,
            "id": ParkId(self.ids.new()),
            "token": Token(self.ids.nonce()),
            "task_id": task.id,
            "call_id": None if call is None else call.id,
        }
        made = factories.park(**{**usual, **fields})
        await self.save(made)
        return made

    async def post(self, task: Task, **fields: Any) -> PostId:
        """A card of *task* in the thread C1, due since long, unless *fields* say otherwise."""
        post_id = PostId(self.ids.new())
        usual = {
            "org": task.org,
            "id": post_id,
            "dedup_key": f"card:{post_id}",
            "kind": PostKind.CARD,
            "task_id": task.id,
            "episode": 1,
            "round": 1,
            "surface": "slack",
            "route": "C1",
            "body": None,
            "rev": 1,
            "chat_ref": None,
            "attempts": 0,
            "due_at": BORN_AT,
        }
        await self.insert("posts", **{**usual, **fields})
        return post_id

    async def entry(self, org: OrgId, n: int, *, key: bytes = AUDIT_KEY, **fields: Any) -> AuditEntry:
        """The *n*-th minute's audit entry, with its HMAC under *key*."""
        usual = AuditEntry(
            org=org,
            id=self.ids.new(),
            at=BORN_AT + timedelta(minutes=n),
            actor="worker:1",
            surface="slack",
            move="mark",
            rule="contact.ask",
            task_id=TaskId("task-1"),
            call_id=CallId("call-1"),
            entry=f'{{"args_hash":"h{n}"}}',
        )
        entry = replace(usual, **fields)
        entry = replace(entry, mac=mac(key, entry))
        await self.save(entry)
        return entry
