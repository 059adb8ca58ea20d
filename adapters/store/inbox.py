"""The inbox: what came in, stored before it is acknowledged, offered until somebody is done with it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from sqlalchemy import select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.readable import taken
from adapters.store.rows import event_of, event_row
from adapters.store.tables import inbox
from core.ids import EventKey, TaskRef
from core.ports import Dead, Ignored, Retry
from core.work import Duplicate, Event, Received

_KEY = (inbox.c.source, inbox.c.event_id)


class SqlInbox:
    """core.ports.Inbox."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def receive(self, event: Event) -> Received | Duplicate:
        async def body(conn: AsyncConnection) -> Received | Duplicate:
            row = event_row(event, await self._db.now(conn))
            stored = self._db.insert(inbox).values(row).on_conflict_do_nothing(index_elements=_KEY)
            if (await conn.execute(stored.returning(inbox.c.event_id))).first() is not None:
                return Received(key=event.key)
            return Duplicate(ref=await _applied_to(conn, event.key))

        return await self._db.write(body)

    async def take(self, n: int, visible_seconds: float = 30) -> list[Event]:
        async def body(conn: AsyncConnection) -> list[Event]:
            now = await self._db.now(conn)
            offered = (
                select(inbox)
                .where(inbox.c.state == "new", inbox.c.due_at <= now)
                .order_by(inbox.c.received_at, *_KEY)
                .limit(n)
                .with_for_update(skip_locked=True)
            )
            events = await taken(conn, offered, inbox, event_of)
            if events:
                these = tuple_(*_KEY).in_([(event.key.source, event.key.event_id) for event in events])
                hidden_until = now + timedelta(seconds=visible_seconds)
                values = {"due_at": hidden_until, "attempts": inbox.c.attempts + 1}
                await conn.execute(update(inbox).where(these).values(values))
            return [replace(event, attempts=event.attempts + 1) for event in events]

        return await self._db.write(body)

    async def settle(self, key: EventKey, outcome: Ignored | Retry | Dead) -> None:
        async def body(conn: AsyncConnection) -> None:
            new = (*_is(key), inbox.c.state == "new")
            await conn.execute(update(inbox).where(*new).values(_settled(outcome, await self._db.now(conn))))

        await self._db.write(body)


def _is(key: EventKey) -> tuple[Any, ...]:
    return (inbox.c.source == key.source, inbox.c.event_id == key.event_id)


def _settled(outcome: Ignored | Retry | Dead, now: datetime) -> dict[str, Any]:
    match outcome:
        case Ignored():
            return {"state": "ignored"}
        case Retry(seconds=seconds):
            return {"due_at": now + timedelta(seconds=seconds)}
        case Dead(error=error):
            return {"state": "dead", "error": error}
        case never:
            assert_never(never)


async def _applied_to(conn: AsyncConnection, key: EventKey) -> TaskRef | None:
    """The task that the event already belongs to, if it does."""
    row = (await conn.execute(select(inbox.c.org, inbox.c.task_id).where(*_is(key)))).one()
    return None if row.task_id is None else TaskRef(org=row.org, task_id=row.task_id)
