"""What a dead process left, as text: two deaths that left the same are one to whoever goes on.

A second process knows of the first one only what is outside of it: the rows, what the provider, the model's
service and the chat remember, and what the owner holds in hand. Where all of that is the same, so is what it
does. Times count only as there or not (`World.wait` ends all that anybody waits for), ids and hashes only
by which are the same.
"""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.tables import leases, metadata
from tests.crash.world import World

OF_AN_ORG = tuple(table for table in metadata.sorted_tables if "org" in table.c)
ACROSS_WORLDS = frozenset({"vrt"})
"""Columns that go up from world to world: only their order within one would count, and each has one task."""
TIMES = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?")
IDS = re.compile(
    r"00000000-0000-7000-8000-[0-9a-f]{12}"  # CountingIds
    r"|nonce\d{17}"
    r"|\b[0-9a-f]{64}\b"  # hashes, also of ids and times
    r"|\b(?:org|owner|other|message|worker)-\d+(?:-\d+)?\b"  # World's own
)


async def footprint(world: World) -> str:
    """All that the next process of *world* finds."""

    async def read(conn: AsyncConnection) -> list[str]:
        rows = [row for table in OF_AN_ORG for row in await _rows(conn, table, world)]
        held = select(leases.c.name, leases.c.holder).order_by(leases.c.name)
        return [*rows, *(repr(tuple(row)) for row in await conn.execute(held))]

    rows = await world.ground.store.db.read(read)
    return _anonymous("\n".join([*rows, *world.journal.told(), world.hand.holds]))


async def _rows(conn: AsyncConnection, table: Table, world: World) -> list[str]:
    columns = [column for column in table.c if column.name not in ACROSS_WORLDS]
    query = select(*columns).where(table.c.org == world.org).order_by(*table.primary_key.columns)
    return [f"{table.name} {[_plain(value) for value in row]}" for row in await conn.execute(query)]


def _plain(value: Any) -> Any:
    return "a time" if isinstance(value, datetime) else value


def _anonymous(text: str) -> str:
    """*text* with its ids numbered as they come, and without the times in it."""
    known: dict[str, str] = {}
    return IDS.sub(lambda found: known.setdefault(found[0], f"#{len(known)}"), TIMES.sub("a time", text))
