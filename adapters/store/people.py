"""People: whose an account is, who is in an organization, how the first one gets there, and switches."""

from sqlalchemy import exists, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database, Undo
from adapters.store.roster import roster_of
from adapters.store.rows import (
    audit_row,
    organization_of,
    organization_row,
    person_of,
    person_row,
    rights_of,
    rights_row,
    switch_of,
    switch_row,
)
from adapters.store.still import alone
from adapters.store.tables import accounts, audit, organizations, people, rights, switches
from core.audit import AuditEntry
from core.canonical import dump
from core.errors import ConfigError
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster, Switch
from core.rights import Rights, rights_facts
from core.switches import SwitchTo, check_owner, turn_facts, turned, turned_for_all
from core.tasks import Json


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
            return await roster_of(conn, organization_of(row))

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
            facts = {"organization": name, "owner": owner, "account": account.ref}
            await self._audit(conn, org, person.id, "found", facts, account.surface)
            return person

        return await self._db.write(body)

    async def switch(
        self, by: Person, org: OrgId, agent: str | None, to: SwitchTo, *, surface: str | None = None
    ) -> int:
        """Raises NotYourDecision, SwitchError where *to* is nothing that the agent, or all, can have."""

        async def body(conn: AsyncConnection) -> int | Undo[int]:
            await alone(self._db, conn, org)
            await _check_owner(conn, by, org)
            if agent is None:
                told = await _turn_organization(conn, org, to)
            else:
                told = await self._turn_agent(conn, by, org, agent, to)
            if told is None:
                return Undo(0)
            await self._audit(conn, org, by.id, "switch", told, surface)
            return 1

        return await self._db.write(body)

    async def switches(self, org: OrgId) -> tuple[Switch, ...]:
        wanted = select(switches).where(switches.c.org == org).order_by(switches.c.agent)

        async def body(conn: AsyncConnection) -> tuple[Switch, ...]:
            return tuple(map(switch_of, (await conn.execute(wanted)).mappings()))

        return await self._db.read(body)

    async def rights(self, org: OrgId, agent: str) -> Rights | None:
        return await self._db.read(lambda conn: _rights(conn, org, agent))

    async def keep_rights(
        self, org: OrgId, agent: str, was: Rights | None, now: Rights, *, digest: str, actor: str
    ) -> bool:
        async def body(conn: AsyncConnection) -> bool | Undo[bool]:
            await alone(self._db, conn, org)
            if not await self._kept(conn, org, agent, was, now, digest, None):
                return Undo(False)
            told = rights_facts(agent, was, now, folder=digest)
            await self._audit(conn, org, actor, "rights", told, rule="first" if was is None else "less")
            return True

        return await self._db.write(body)

    async def accept(
        self,
        by: Person,
        org: OrgId,
        agent: str,
        was: Rights,
        now: Rights,
        *,
        digest: str,
        surface: str | None = None,
    ) -> bool:
        """Raises NotYourDecision."""

        async def body(conn: AsyncConnection) -> bool | Undo[bool]:
            await alone(self._db, conn, org)
            await _check_owner(conn, by, org)
            if not await self._kept(conn, org, agent, was, now, digest, by):
                return Undo(False)
            told = rights_facts(agent, was, now, folder=digest)
            await self._audit(conn, org, by.id, "accept", told, surface)
            return True

        return await self._db.write(body)

    async def _kept(
        self,
        conn: AsyncConnection,
        org: OrgId,
        agent: str,
        was: Rights | None,
        now: Rights,
        digest: str,
        by: Person | None,
    ) -> bool:
        """The agent's rights are *now* if they still were *was*."""
        if await _rights(conn, org, agent) != was:
            return False
        values = {
            **rights_row(org, agent, now),
            "digest": digest,
            "by_person": None if by is None else by.id,
            "at": await self._db.now(conn),
        }
        written = self._db.insert(rights).values(values)
        key = [rights.c.org, rights.c.agent]
        await conn.execute(written.on_conflict_do_update(index_elements=key, set_=values))
        return True

    async def _turn_agent(
        self, conn: AsyncConnection, by: Person, org: OrgId, agent: str, to: SwitchTo
    ) -> Json:
        """What the agent's switch was, as its row says now, and is; None where that is the same."""
        query = select(switches).where(switches.c.org == org, switches.c.agent == agent)
        row = (await conn.execute(query)).mappings().one_or_none()
        before = Switch(agent=agent) if row is None else switch_of(row)
        after = turned(before, to)
        if after == before:
            return None
        since = (None, None) if row is None else (row["paused_by"], row["paused_at"])
        if not after.paused:
            since = (None, None)
        elif not before.paused:
            since = (by.id, await self._db.now(conn))
        values = switch_row(org, after, *since)
        written = self._db.insert(switches).values(values)
        key = [switches.c.org, switches.c.agent]
        await conn.execute(written.on_conflict_do_update(index_elements=key, set_=values))
        return turn_facts(agent, before, after)

    async def _audit(
        self,
        conn: AsyncConnection,
        org: OrgId,
        actor: str,
        move: str,
        facts: Json,
        surface: str | None = None,
        rule: str | None = None,
    ) -> None:
        entry = AuditEntry(
            org=org,
            id=self._db.ids.new(),
            at=await self._db.now(conn),
            actor=actor,
            surface=surface,
            move=move,
            rule=rule,
            task_id=None,
            call_id=None,
            entry=dump(facts),
        )
        await conn.execute(audit.insert().values(audit_row(self._db.signed(entry))))

    async def _alone(self, conn: AsyncConnection) -> None:
        """Nobody else founds until this transaction ends; on SQLite a writer is alone anyway."""
        if self._db.is_postgres:
            await conn.execute(text("LOCK TABLE organizations IN SHARE ROW EXCLUSIVE MODE"))


async def _check_owner(conn: AsyncConnection, by: Person, org: OrgId) -> None:
    """*by* is an owner of *org* as their row says now. Raises NotYourDecision, also to others (I18)."""
    query = select(people).where(people.c.org == org, people.c.id == by.id)
    row = (await conn.execute(query)).mappings().one_or_none()
    check_owner(by, org, None if row is None else person_of(row))


async def _turn_organization(conn: AsyncConnection, org: OrgId, to: SwitchTo) -> Json:
    """What the organization was and is; None where that is the same. Raises SwitchError."""
    this = organizations.c.id == org
    before = organization_of((await conn.execute(select(organizations).where(this))).mappings().one())
    after = turned_for_all(before, to)
    if after == before:
        return None
    values = {"state": after.state.value, "max_running": after.max_running}
    await conn.execute(update(organizations).where(this).values(values))
    return turn_facts(None, before, after)


async def _rights(conn: AsyncConnection, org: OrgId, agent: str) -> Rights | None:
    query = select(rights).where(rights.c.org == org, rights.c.agent == agent)
    row = (await conn.execute(query)).mappings().one_or_none()
    return None if row is None else rights_of(row)
