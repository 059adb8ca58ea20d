"""Leases: which process leads. An epoch grows with each new holder, for whoever must fence the last one."""

from datetime import UTC, datetime

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.tables import leases
from adapters.store.words import said

# A row is never deleted, so that its epoch never starts again.
_TAKE = """
INSERT INTO leases (name, holder, epoch, expires_at) VALUES (:name, :holder, 1, {later})
ON CONFLICT (name) DO UPDATE SET
    holder = excluded.holder,
    expires_at = excluded.expires_at,
    epoch = leases.epoch + CASE
        WHEN leases.holder = excluded.holder AND leases.expires_at > {now} THEN 0 ELSE 1
    END
WHERE leases.holder = excluded.holder OR leases.expires_at <= {now}
RETURNING epoch
"""

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class SqlLeases:
    """core.ports.Leases."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def take(self, name: str, holder: str, seconds: float) -> int | None:
        async def body(conn: AsyncConnection) -> int | None:
            wanted = {"name": name, "holder": holder, "seconds": seconds}
            epoch = (await conn.execute(said(_TAKE, self._db.dialect), wanted)).scalar_one_or_none()
            return None if epoch is None else int(epoch)

        return await self._db.write(body)

    async def drop(self, name: str, epoch: int) -> None:
        async def body(conn: AsyncConnection) -> None:
            ours = (leases.c.name == name, leases.c.epoch == epoch)
            await conn.execute(update(leases).where(*ours).values(expires_at=_LONG_AGO))

        await self._db.write(body)
