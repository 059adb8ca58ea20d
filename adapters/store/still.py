"""Between a switch and an effect that starts, one comes first.

A lock of its own and not the organization's row, which is locked for the number of each new task: shared
by all whose effect starts, taken alone by who turns a switch. PostgreSQL serves it in line, so that a
pause is not overtaken for ever; SQLite has one writer anyway. A statement of its own, since one that
waited would go on with the switch as it was before.
"""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from core.ids import OrgId

_SHARED = text("SELECT pg_advisory_xact_lock_shared(hashtextextended('switches ' || :org, 0))")
_ALONE = text("SELECT pg_advisory_xact_lock(hashtextextended('switches ' || :org, 0))")


async def still(db: Database, conn: AsyncConnection, org: OrgId) -> None:
    """No switch of *org* is turned until this transaction ends; what is read from here on holds."""
    if db.is_postgres:
        await conn.execute(_SHARED, {"org": org})


async def alone(db: Database, conn: AsyncConnection, org: OrgId) -> None:
    """Nobody else turns a switch of *org*, and no effect of it starts, until this transaction ends."""
    if db.is_postgres:
        await conn.execute(_ALONE, {"org": org})
