"""Rates: what went to the chats of a surface, a row a chat, locked in one order by whoever sends."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import case, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.chats import rates
from adapters.store.engine import Database, Undo
from adapters.store.rows import Row
from core.ports import Rate
from core.rates import counted, wait


class SqlRates:
    """core.ports.Rates."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def take(self, surface: str, limits: Mapping[str, Sequence[Rate]], keep: int = 0) -> float:
        async def body(conn: AsyncConnection) -> float | Undo[float]:
            rows = await self._locked(conn, surface, limits)
            now = await self._db.now(conn)
            waits = (wait(limits[c], r["times"], r["held_until"], now, keep) for c, r in rows.items())
            if (seconds := max(waits, default=0.0)) > 0:
                return Undo(seconds)
            for chat, row in rows.items():
                await self._write(conn, surface, chat, counted(limits[chat], row["times"], now))
            return 0.0

        return await self._db.write(body)

    async def hold(self, surface: str, chat: str, seconds: float) -> None:
        async def body(conn: AsyncConnection) -> None:
            until = await self._db.now(conn) + timedelta(seconds=seconds)
            values = {"surface": surface, "chat": chat, "times": [], "held_until": until}
            new = self._db.insert(rates).values(values)
            longer = or_(rates.c.held_until.is_(None), rates.c.held_until < new.excluded.held_until)
            key = list(rates.primary_key.columns)
            held = {"held_until": case((longer, new.excluded.held_until), else_=rates.c.held_until)}
            await conn.execute(new.on_conflict_do_update(index_elements=key, set_=held))

        await self._db.write(body)

    async def _locked(self, conn: AsyncConnection, surface: str, chats: Iterable[str]) -> dict[str, Row]:
        """The rows of *chats*, each there and this transaction's, by chat."""
        names = sorted(set(chats))
        wanted = select(rates).where(rates.c.surface == surface, rates.c.chat.in_(names))
        ours = wanted.order_by(rates.c.chat).with_for_update()
        while True:
            found = {row["chat"]: row for row in (await conn.execute(ours)).mappings()}
            missing = [chat for chat in names if chat not in found]
            if not missing:
                return found
            new = [{"surface": surface, "chat": chat, "times": []} for chat in missing]
            await conn.execute(self._db.insert(rates).on_conflict_do_nothing(), new)

    async def _write(self, conn: AsyncConnection, surface: str, chat: str, times: list[int]) -> None:
        this = (rates.c.surface == surface, rates.c.chat == chat)
        await conn.execute(update(rates).where(*this).values(times=times))


async def moved(db: Database, conn: AsyncConnection, surface: str, old: str, new: str) -> None:
    """The chat *old* of *surface* is called *new*: what went to it is forgotten, a hold is not."""
    this = (rates.c.surface == surface, rates.c.chat == old)
    row = (await conn.execute(delete(rates).where(*this).returning(rates.c.held_until))).one_or_none()
    if row is not None:
        values: dict[str, Any] = {"surface": surface, "chat": new, "times": [], "held_until": row.held_until}
        await conn.execute(db.insert(rates).values(values).on_conflict_do_nothing())
