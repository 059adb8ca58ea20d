"""The ledger: what was done, for people who ask; and the audit trail's seal.

Reads, but for `seal`, which one leader calls: it appends to the chain what changes have written
since, under the organization's row.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, bindparam, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.rows import audit_of, call_of, message_of, park_of, task_of
from adapters.store.tables import audit, calls, messages, organizations, parks, posts, tasks, usage
from core.audit import GENESIS, AuditEntry, Head, chained
from core.errors import TaskNotFound
from core.ids import OrgId, TaskRef
from core.ports import Query, Story
from core.tasks import Task

_HEAD = (organizations.c.audit_seq, organizations.c.audit_hash)


class SqlLedger:
    """core.ports.Ledger."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, org: OrgId, query: Query) -> list[Task]:
        wanted = select(tasks).where(tasks.c.org == org)
        if query.number is not None:
            wanted = wanted.where(tasks.c.number == query.number)
        if query.ids is not None:
            wanted = wanted.where(tasks.c.id.in_(sorted(query.ids)))
        if query.states:
            wanted = wanted.where(tasks.c.state.in_(sorted(state.value for state in query.states)))
        if query.agent is not None:
            wanted = wanted.where(tasks.c.agent == query.agent)
        wanted = wanted.where(*_placed(query))

        async def body(conn: AsyncConnection) -> list[Task]:
            rows = await conn.execute(wanted.order_by(tasks.c.number.desc()).limit(query.limit))
            return [task_of(row) for row in rows.mappings()]

        return await self._db.read(body)

    async def story(self, ref: TaskRef) -> Story:
        async def body(conn: AsyncConnection) -> Story:
            named = await conn.execute(select(tasks).where(tasks.c.org == ref.org, tasks.c.id == ref.task_id))
            if (row := named.mappings().one_or_none()) is None:
                raise TaskNotFound
            said = await conn.execute(_of(messages, ref).order_by(messages.c.seq))
            called = await conn.execute(_of(calls, ref).order_by(calls.c.number))
            parked = await conn.execute(_of(parks, ref).order_by(parks.c.created_at, parks.c.id))
            done = await conn.execute(_of(audit, ref).order_by(audit.c.at, audit.c.id))
            return Story(
                task=task_of(row),
                messages=tuple(map(message_of, said.mappings())),
                calls=tuple(map(call_of, called.mappings())),
                parks=tuple(map(park_of, parked.mappings())),
                audit=tuple(map(audit_of, done.mappings())),
            )

        return await self._db.read(body)

    async def audit(self, org: OrgId, after_seq: int, n: int) -> list[AuditEntry]:
        sealed = select(audit).where(audit.c.org == org, audit.c.seq > after_seq).order_by(audit.c.seq)
        return await self._db.read(lambda conn: _entries(conn, sealed.limit(n)))

    async def unsealed(self, org: OrgId, n: int) -> list[AuditEntry]:
        return await self._db.read(lambda conn: _entries(conn, _unsealed(org, n)))

    async def newest(self, org: OrgId, n: int) -> list[AuditEntry]:
        last_first = (audit.c.seq.desc().nulls_first(), audit.c.at.desc(), audit.c.id.desc())
        wanted = select(audit).where(audit.c.org == org).order_by(*last_first).limit(n)
        return (await self._db.read(lambda conn: _entries(conn, wanted)))[::-1]

    async def seal(self, org: OrgId, n: int) -> Head:
        """Raises LookupError if there is no such organization."""

        async def body(conn: AsyncConnection) -> Head:
            locked = select(*_HEAD).where(organizations.c.id == org).with_for_update()
            if (row := (await conn.execute(locked)).one_or_none()) is None:
                raise LookupError("no such organization")
            before = Head(seq=row.audit_seq, hash=row.audit_hash)
            sealed, head = chained(before, await _entries(conn, _unsealed(org, n)))
            if sealed:
                await _write(conn, org, sealed)
                moved = update(organizations).where(organizations.c.id == org)
                await conn.execute(moved.values(audit_seq=head.seq, audit_hash=head.hash))
            return head

        return await self._db.write(body)

    async def head(self, org: OrgId) -> Head:
        async def body(conn: AsyncConnection) -> Head:
            row = (await conn.execute(select(*_HEAD).where(organizations.c.id == org))).one_or_none()
            return Head(seq=0, hash=GENESIS) if row is None else Head(seq=row.audit_seq, hash=row.audit_hash)

        return await self._db.read(body)

    async def organizations(self) -> list[OrgId]:
        async def body(conn: AsyncConnection) -> list[OrgId]:
            ids = (await conn.execute(select(organizations.c.id))).scalars()
            return sorted(OrgId(org) for org in ids)

        return await self._db.read(body)

    async def usage(self, org: OrgId) -> dict[str, int]:
        spent = func.sum(usage.c.reserved + usage.c.used)

        async def body(conn: AsyncConnection) -> dict[str, int]:
            since = await self._db.now(conn) - timedelta(hours=24)
            wanted = select(usage.c.agent, spent).where(usage.c.org == org, usage.c.hour > since)
            rows = await conn.execute(wanted.group_by(usage.c.agent).order_by(usage.c.agent))
            return {agent: int(tokens) for agent, tokens in rows}

        return await self._db.read(body)


def _placed(query: Query) -> Iterator[ColumnElement[bool]]:
    """Where the tasks speak."""
    if query.surface is not None and query.message is None:
        yield tasks.c.surface == query.surface
    if query.chat is not None:
        yield tasks.c.chat == query.chat
    if query.thread is not None:
        yield tasks.c.thread_ref == query.thread
    if query.message is not None:  # a card may stand elsewhere than its task speaks
        said = select(posts.c.task_id).where(posts.c.org == tasks.c.org, posts.c.chat_ref == query.message)
        yield tasks.c.id.in_(said.where(posts.c.surface == query.surface))


def _of(table: Table, ref: TaskRef) -> Select[Any]:
    return select(table).where(table.c.org == ref.org, table.c.task_id == ref.task_id)


def _unsealed(org: OrgId, n: int) -> Select[Any]:
    loose = select(audit).where(audit.c.org == org, audit.c.seq.is_(None))
    return loose.order_by(audit.c.at, audit.c.id).limit(n)


async def _entries(conn: AsyncConnection, wanted: Select[Any]) -> list[AuditEntry]:
    return [audit_of(row) for row in (await conn.execute(wanted)).mappings()]


async def _write(conn: AsyncConnection, org: OrgId, sealed: Sequence[AuditEntry]) -> None:
    this = (audit.c.org == org, audit.c.id == bindparam("entry_id"))
    numbered = (
        update(audit)
        .where(*this)
        .values(seq=bindparam("number"), prev_hash=bindparam("before"), hash=bindparam("after"))
    )
    rows = [{"entry_id": e.id, "number": e.seq, "before": e.prev_hash, "after": e.hash} for e in sealed]
    await conn.execute(numbered, rows)
