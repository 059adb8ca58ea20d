"""A database in a test's hands."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from sqlalchemy import Executable, Table, bindparam, insert, select, text, update
from sqlalchemy import delete as delete_from
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store import rows
from adapters.store.apply import next_place
from adapters.store.bundle import sql_store
from adapters.store.engine import Database
from adapters.store.queue import SqlQueue
from adapters.store.tables import metadata, switches, tasks
from core.ids import OrgId
from core.people import Switch
from core.ports import Ids, Queue
from core.queue import QueueSettings
from core.tasks import Message, Task
from tests.contract import factories
from tests.contract.factories import AUDIT_KEY, CountingIds
from tests.contract.planted import BORN_AT, Planted


class SqlPlanted(Planted):
    """The rows of one database, and a hand for its SQL."""

    def __init__(self, url: str, ids: Ids | None = None) -> None:
        super().__init__()
        self.ids = ids or CountingIds()
        self.db = Database(url, ids=self.ids, audit_key=AUDIT_KEY)
        self.store = sql_store(self.db)

    async def close(self) -> None:
        await self.db.close()

    async def now(self) -> datetime:
        return await self.db.read(self.db.now)

    async def save(self, *values: Any) -> None:
        await factories.save(self.db, *values)

    async def save_messages(self, of: Task, *rows: Message) -> None:
        await factories.save_messages(self.db, of, *rows)

    async def switch(self, org: OrgId, switch: Switch) -> None:
        values = rows.switch_row(org, switch, "p-1", BORN_AT if switch.paused else None)
        dialect = postgresql if self.db.is_postgres else sqlite
        statement = dialect.insert(switches).values(values)
        key = [switches.c.org, switches.c.agent]
        await self.run(statement.on_conflict_do_update(index_elements=key, set_=values))

    async def insert(self, table: str, **values: Any) -> None:
        await self.run(insert(_table(table)).values(_plain(values)))

    async def update(self, table: str, values: dict[str, Any], **where: Any) -> None:
        await self.run(update(_table(table)).filter_by(**where).values(_plain(values)))

    async def delete(self, table: str, **where: Any) -> None:
        await self.run(delete_from(_table(table)).filter_by(**where))

    async def table(self, name: str, **where: Any) -> list[dict[str, Any]]:
        wanted = select(_table(name)).filter_by(**where).order_by(*_table(name).primary_key.columns)

        async def body(conn: AsyncConnection) -> list[dict[str, Any]]:
            return [dict(row) for row in (await conn.execute(wanted)).mappings()]

        return await self.db.read(body)

    def queue(self, settings: QueueSettings) -> Queue:
        return SqlQueue(self.db, settings)

    async def next_place(self, org: OrgId, prio: int) -> int:
        async def body(conn: AsyncConnection) -> int:
            return int((await conn.execute(select(next_place(self.db, org, prio)))).scalar_one())

        return await self.db.read(body)

    async def pass_time(self, time: timedelta) -> None:
        """Every time of every task is that much longer ago."""
        c = tasks.c
        times = ("queued_at", "not_before", "lease_until")
        earlier = (
            update(tasks)
            .where(c.org == bindparam("its_org"), c.id == bindparam("its_id"))
            .values({name: bindparam(f"{name}_then") for name in times})
        )

        async def body(conn: AsyncConnection) -> None:
            found = (await conn.execute(select(c.org, c.id, *(c[name] for name in times)))).all()
            if found:
                await conn.execute(earlier, [_earlier(row, times, time) for row in found])

        await self.db.write(body)

    async def defenceless(self) -> None:
        if self.db.is_postgres:
            await self.run("ALTER TABLE audit DISABLE TRIGGER USER")
            return
        kept = await self.all("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'")
        assert kept
        for (name,) in kept:
            await self.run(f"DROP TRIGGER {name}")

    # ── SQL ──────────────────────────────────────────────────────────────────────────────────

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


def _table(name: str) -> Table:
    return metadata.tables[name]


def _earlier(row: Any, times: Sequence[str], by: timedelta) -> dict[str, Any]:
    then = {f"{name}_then": at and at - by for name, at in zip(times, row[2:], strict=True)}
    return {"its_org": row.org, "its_id": row.id, **then}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: v.value if isinstance(v, Enum) else v for name, v in values.items()}
