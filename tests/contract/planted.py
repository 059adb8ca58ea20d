"""A store's database in a test's hands: rows put there past every rule, and looked at by SQL.

For what no port says: a lease that ran out, a row somebody tampered with, work that is simply there.
The values are those of factories.py, each with an id of its own.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Executable, Table, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.ids import SystemIds
from adapters.store import rows, tables
from adapters.store.columns import Time
from adapters.store.engine import Database
from core.audit import AuditEntry, mac
from core.calls import Call
from core.ids import CallId, OrgId, ParkId, PersonId, PostId, TaskId, Token
from core.parks import Park
from core.people import Account, OrgState, Person, Role, Switch
from core.tasks import Task, TaskState
from tests.contract import factories
from tests.contract.factories import AUDIT_KEY, save

BORN_AT = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FAR = timedelta(days=365 * 50)


class Planted:
    """Rows of one database. Each method has its row committed, and answers what the row says."""

    def __init__(self, url: str) -> None:
        self.db = Database(url, ids=SystemIds(), audit_key=AUDIT_KEY)
        self._numbers: dict[str, int] = {}

    async def close(self) -> None:
        await self.db.close()

    async def run(self, statement: Executable | str, **values: Any) -> None:
        wanted = text(statement) if isinstance(statement, str) else statement

        async def body(conn: AsyncConnection) -> None:
            await conn.execute(wanted, values)

        await self.db.write(body)

    async def all(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        async def body(conn: AsyncConnection) -> list[tuple[Any, ...]]:
            return [tuple(row) for row in await conn.execute(text(statement), values)]

        return await self.db.read(body)

    async def one(self, statement: str, **values: Any) -> tuple[Any, ...]:
        (row,) = await self.all(statement, **values)
        return row

    async def time(self, query: str) -> datetime:
        """The one time that *query* names, read as tables.py reads them."""

        async def body(conn: AsyncConnection) -> datetime:
            row = (await conn.execute(text(query).columns(at=Time()))).one()
            at: datetime = row.at
            return at

        return await self.db.read(body)

    async def task_row(self, task: Task) -> Task:
        """The task as its row says it now."""
        wanted = select(tables.tasks).where(tables.tasks.c.org == task.org, tables.tasks.c.id == task.id)

        async def body(conn: AsyncConnection) -> Task:
            return rows.task_of((await conn.execute(wanted)).mappings().one())

        return await self.db.read(body)

    async def park_row(self, park: Park) -> Park:
        """The park as its row says it now."""
        wanted = select(tables.parks).where(tables.parks.c.org == park.org, tables.parks.c.id == park.id)

        async def body(conn: AsyncConnection) -> Park:
            return rows.park_of((await conn.execute(wanted)).mappings().one())

        return await self.db.read(body)

    async def now(self) -> datetime:
        """The database's time."""
        return await self.db.read(self.db.now)

    async def insert(self, table: Table, values: dict[str, Any]) -> None:
        await self.run(insert(table).values(values))

    async def organization(self, org: str, state: OrgState = OrgState.ACTIVE) -> OrgId:
        made = factories.organization(id=OrgId(org), name=org.title(), state=state)
        await save(self.db, made)
        return made.id

    async def person(self, org: OrgId, *roles: Role, left: bool = False) -> Person:
        made = factories.person(
            org=org, id=PersonId(self.db.ids.new()), roles=frozenset(roles or {Role.OWNER}), left=left
        )
        await save(self.db, made)
        return made

    async def account(self, person: Person, account: Account) -> None:
        """*account* is linked to *person*."""
        link = {"surface": account.surface, "account_ref": account.ref}
        await self.insert(tables.accounts, {"org": person.org, "person_id": person.id, **link})

    async def pause(self, org: OrgId, agent: str) -> None:
        values = rows.switch_row(org, Switch(agent=agent, paused=True), "p-1", BORN_AT)
        await self.insert(tables.switches, values)

    async def task(self, org: OrgId, **fields: Any) -> Task:
        """A queued, self-started task of the agent *inbox*, unless *fields* say otherwise."""
        self._numbers[org] = self._numbers.get(org, 0) + 1
        usual = {"id": TaskId(self.db.ids.new()), "number": self._numbers[org], "agent": "inbox"}
        made = factories.task(org=org, **{**usual, **fields})
        await save(self.db, made)
        return made

    async def running(self, org: OrgId, worker: str, lease_until: datetime, **fields: Any) -> Task:
        """A task that *worker* runs in its first epoch."""
        given = {"state": TaskState.RUNNING, "epoch": 1, "worker": worker, "started_at": BORN_AT, **fields}
        return await self.task(org, lease_until=lease_until, **given)

    async def call(self, task: Task, **fields: Any) -> Call:
        given = {"org": task.org, "id": CallId(self.db.ids.new()), "task_id": task.id, **fields}
        made = factories.call(**given)
        await save(self.db, made)
        return made

    async def park(self, task: Task, call: Call | None, **fields: Any) -> Park:
        """An open approval of *call*, unless *fields* say otherwise."""
        usual = {
            "org": task.org,
            "id": ParkId(self.db.ids.new()),
            "token": Token(self.db.ids.nonce()),
            "task_id": task.id,
            "call_id": None if call is None else call.id,
        }
        made = factories.park(**{**usual, **fields})
        await save(self.db, made)
        return made

    async def post(self, task: Task, **fields: Any) -> PostId:
        """A card of *task* in the thread C1, due since long, unless *fields* say otherwise."""
        post_id = PostId(self.db.ids.new())
        usual = {
            "org": task.org,
            "id": post_id,
            "dedup_key": f"card:{post_id}",
            "kind": "card",
            "task_id": task.id,
            "round": 1,
            "surface": "slack",
            "route": "C1",
            "due_at": BORN_AT,
        }
        await self.insert(tables.posts, {**usual, **fields})
        return post_id

    async def entry(self, org: OrgId, n: int, *, key: bytes = AUDIT_KEY, **fields: Any) -> AuditEntry:
        """The *n*-th minute's audit entry, with its HMAC under *key*."""
        usual = AuditEntry(
            org=org,
            id=self.db.ids.new(),
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
        await self.insert(tables.audit, rows.audit_row(entry))
        return entry

    async def set_entry_time(self, entry: AuditEntry, *, milliseconds: int) -> None:
        """The entry's time is that much later."""
        later = entry.at + timedelta(milliseconds=milliseconds)
        await self.run(update(tables.audit).where(tables.audit.c.id == entry.id).values(at=later))

    async def defenceless(self) -> None:
        """The database no longer keeps its owner from rewriting the trail."""
        if self.db.is_postgres:
            await self.run("ALTER TABLE audit DISABLE TRIGGER USER")
            return
        kept = await self.all("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'")
        assert kept
        for (name,) in kept:
            await self.run(f"DROP TRIGGER {name}")
