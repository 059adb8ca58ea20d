"""People: who an account belongs to, who is in an organization, and how the first one gets there."""

from sqlalchemy import exists, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.rows import audit_row, organization_of, organization_row, person_of, person_row
from adapters.store.tables import accounts, audit, organizations, people
from core.audit import AuditEntry
from core.canonical import dump
from core.errors import ConfigError
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster


class SqlPeople:
    """core.ports.People."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def by_account(self, account: Account) -> Person | None:
        linked = (accounts.c.org == people.c.org) & (accounts.c.person_id == people.c.id)
        wanted = (
            select(people)
            .join(accounts, linked)
            .where(accounts.c.surface == account.surface, accounts.c.account_ref == account.ref)
            .where(people.c.left_at.is_(None))
            .order_by(people.c.org, people.c.id)
            .limit(1)
        )

        async def body(conn: AsyncConnection) -> Person | None:
            row = (await conn.execute(wanted)).mappings().one_or_none()
            return None if row is None else person_of(row)

        return await self._db.read(body)

    async def of(self, org: OrgId) -> Roster:
        """Raises LookupError if there is no such organization."""

        async def body(conn: AsyncConnection) -> Roster:
            named = await conn.execute(select(organizations).where(organizations.c.id == org))
            if (row := named.mappings().one_or_none()) is None:
                raise LookupError("no such organization")
            found = await conn.execute(select(people).where(people.c.org == org).order_by(people.c.id))
            return Roster(organization=organization_of(row), people=tuple(map(person_of, found.mappings())))

        return await self._db.read(body)

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        person = Person(org=org, id=PersonId(self._db.ids.new()), name=owner, roles=frozenset({Role.OWNER}))
        organization = Organization(id=org, name=name)
        link = {"org": org, "surface": account.surface, "account_ref": account.ref, "person_id": person.id}

        async def body(conn: AsyncConnection) -> Person:
            await self._alone(conn)
            if (await conn.execute(select(exists(select(organizations.c.id))))).scalar_one():
                raise ConfigError("the database has an organization already")
            at = await self._db.now(conn)
            await conn.execute(organizations.insert().values(organization_row(organization, at)))
            await conn.execute(people.insert().values(person_row(person)))
            await conn.execute(accounts.insert().values(link))
            entry = AuditEntry(
                org=org,
                id=self._db.ids.new(),
                at=at,
                actor=person.id,
                surface=account.surface,
                move="found",
                rule=None,
                task_id=None,
                call_id=None,
                entry=dump({"organization": name, "owner": owner, "account": account.ref}),
            )
            await conn.execute(audit.insert().values(audit_row(self._db.signed(entry))))
            return person

        return await self._db.write(body)

    async def _alone(self, conn: AsyncConnection) -> None:
        """Nobody else founds until this transaction ends; on SQLite a writer is alone anyway."""
        if self._db.is_postgres:
            await conn.execute(text("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE"))
