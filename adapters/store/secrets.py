"""Secrets at rest: rows that hold them sealed, and open for their organization and name alone."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Select, delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database, Undo
from adapters.store.rows import audit_row
from adapters.store.tables import audit, secrets
from core.audit import of_organization
from core.errors import ConfigError
from core.ids import OrgId
from core.ports import Sealer
from core.vault import check_secret, secret_facts


class SqlSecrets:
    """core.ports.Secrets. Without a *sealer* nothing is put or opened: ConfigError, naming SECRET_KEY."""

    def __init__(self, db: Database, sealer: Sealer | None) -> None:
        self._db = db
        self._sealer = sealer

    async def put(self, org: OrgId, name: str, value: str, *, by: str, surface: str | None = None) -> None:
        check_secret(name, value)
        sealed = self._key.seal(org, name, value)
        self._db.redactor.register(name, value)

        async def body(conn: AsyncConnection) -> None:
            was = (await conn.execute(_row(org, name).with_for_update())).one_or_none() is not None
            values = {"org": org, "name": name, "sealed": sealed, "at": await self._db.now(conn)}
            written = self._db.insert(secrets).values(values)
            key = [secrets.c.org, secrets.c.name]
            await conn.execute(written.on_conflict_do_update(index_elements=key, set_=values))
            await self._audit(conn, org, by, "put_secret", name, surface, was=was)

        await self._db.write(body)

    async def get(self, org: OrgId, name: str) -> str | None:
        async def body(conn: AsyncConnection) -> str | None:
            row = (await conn.execute(_row(org, name))).one_or_none()
            return None if row is None else str(row.sealed)

        sealed = await self._db.read(body)
        if sealed is None:
            return None
        value = self._key.unseal(org, name, sealed)
        self._db.redactor.register(name, value)
        return value

    async def names(self, org: OrgId) -> Sequence[str]:
        wanted = select(secrets.c.name).where(secrets.c.org == org)

        async def body(conn: AsyncConnection) -> Sequence[str]:
            return sorted((await conn.execute(wanted)).scalars())  # not by the database's own collation

        return await self._db.read(body)

    async def remove(self, org: OrgId, name: str, *, by: str, surface: str | None = None) -> bool:
        this = delete(secrets).where(secrets.c.org == org, secrets.c.name == name)

        async def body(conn: AsyncConnection) -> bool | Undo[bool]:
            if (await conn.execute(this)).rowcount == 0:
                return Undo(False)
            await self._audit(conn, org, by, "remove_secret", name, surface, was=True)
            return True

        return await self._db.write(body)

    @property
    def _key(self) -> Sealer:
        if self._sealer is None:
            raise ConfigError("SECRET_KEY: it is not set, and secrets at rest are sealed under it")
        return self._sealer

    async def _audit(
        self,
        conn: AsyncConnection,
        org: OrgId,
        by: str,
        move: str,
        name: str,
        surface: str | None,
        *,
        was: bool,
    ) -> None:
        new, at, facts = self._db.ids.new(), await self._db.now(conn), secret_facts(name, was=was)
        entry = of_organization(org, new, at, actor=by, move=move, facts=facts, surface=surface)
        await conn.execute(audit.insert().values(audit_row(self._db.signed(entry))))


def _row(org: OrgId, name: str) -> Select[Any]:
    return select(secrets.c.sealed).where(secrets.c.org == org, secrets.c.name == name)
