"""People: who is in an organization and whose an account is, how they get there, switches and rights."""

from datetime import timedelta

from sqlalchemy import exists, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database, Undo
from adapters.store.roster import read_roster, write_roster
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
from adapters.store.tables import accounts, audit, join_codes, organizations, people, rights, switches
from core.audit import of_organization
from core.errors import ConfigError, NotYourDecision
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster, Switch
from core.ports import BadCode
from core.rights import Rights, rights_facts
from core.roster import Invite, Issue, RosterChange, changed, check_founding, joined, only, roster_facts
from core.switches import SwitchTo, check_owner, turn_facts, turned, turned_for_all
from core.tasks import Json


class SqlPeople:
    """core.ports.People."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def by_account(self, account: Account, org: OrgId | None = None) -> Person | None:
        """Raises InSeveral."""
        return only(p for p in await self.everywhere(account) if org is None or p.org == org)

    async def everywhere(self, account: Account) -> tuple[Person, ...]:
        linked = (accounts.c.org == people.c.org) & (accounts.c.person_id == people.c.id)
        wanted = (
            select(people)
            .join(accounts, linked)
            .where(accounts.c.surface == account.surface, accounts.c.account_ref == account.ref)
            .where(people.c.left_at.is_(None))
            .order_by(people.c.org, people.c.id)
        )

        async def body(conn: AsyncConnection) -> tuple[Person, ...]:
            return tuple(map(person_of, (await conn.execute(wanted)).mappings()))

        return await self._db.read(body)

    async def of(self, org: OrgId) -> Roster:
        """Raises LookupError if there is no such organization."""
        return await self._db.read(lambda conn: read_roster(conn, org))

    # ── who is who ───────────────────────────────────────────────────────────────────────────

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        person = Person(org=org, id=PersonId(self._db.ids.new()), name=owner, roles=frozenset({Role.OWNER}))
        organization = Organization(id=org, name=name)
        link = {"org": org, "surface": account.surface, "account_ref": account.ref, "person_id": person.id}

        async def body(conn: AsyncConnection) -> Person:
            await self._alone(conn)
            if (await conn.execute(select(exists(select(organizations.c.id))))).scalar_one():
                raise ConfigError("the database has an organization already")
            await self._open(conn, organization, person)
            await conn.execute(accounts.insert().values(link))
            facts = {"organization": name, "owner": owner, "account": account.ref}
            await self._audit(conn, org, person.id, "found", facts, account.surface)
            return person

        return await self._db.write(body)

    async def create(
        self, organization: Organization, owner: str, code_digest: str, seconds: float, *, actor: str
    ) -> Person:
        """Raises RosterError."""
        org = organization.id
        person = Person(org=org, id=PersonId(self._db.ids.new()), name=owner, roles=frozenset({Role.OWNER}))

        async def body(conn: AsyncConnection) -> Person:
            await self._alone(conn)
            names = (await conn.execute(select(organizations.c.name))).scalars().all()
            check_founding(organization, owner, names)
            await self._open(conn, organization, person)
            await self._issue(conn, org, person.id, code_digest, seconds)
            facts = {"organization": organization.name, "owner": owner, "seconds": seconds}
            await self._audit(conn, org, actor, "create", facts)
            return person

        return await self._db.write(body)

    async def save(
        self, by: Person, org: OrgId, change: RosterChange, *, surface: str | None = None
    ) -> Roster:
        """Raises NotYourDecision, also to others (I18), and RosterError."""
        new = PersonId(self._db.ids.new())

        async def body(conn: AsyncConnection) -> Roster | Undo[Roster]:
            await alone(self._db, conn, org)
            try:
                before = await read_roster(conn, org)
            except LookupError:
                raise NotYourDecision from None
            after = changed(before, by, change, new)
            if after == before and not isinstance(change, Issue):
                return Undo(before)
            await write_roster(conn, before, after, await self._db.now(conn))
            if isinstance(change, Invite | Issue):
                whom = new if isinstance(change, Invite) else change.person
                await self._issue(conn, org, whom, change.code_digest, change.seconds)
            await self._audit(conn, org, by.id, "roster", roster_facts(before, after, change), surface)
            return after

        return await self._db.write(body)

    async def join(self, code_digest: str, account: Account) -> Person | BadCode:
        """Raises RosterError."""

        async def body(conn: AsyncConnection) -> Person | BadCode | Undo[Person | BadCode]:
            at = await self._db.now(conn)
            good = (join_codes.c.used_at.is_(None), join_codes.c.expires_at > at)
            use = update(join_codes).where(join_codes.c.digest == code_digest, *good).values(used_at=at)
            code = (await conn.execute(use.returning(join_codes.c.org, join_codes.c.person_id))).one_or_none()
            if code is None:
                return Undo(BadCode())
            await alone(self._db, conn, code.org)
            before = await read_roster(conn, code.org)
            person = before.person(code.person_id)
            if person is None or person.left:
                return Undo(BadCode())
            after = joined(before, person.id, account)
            await write_roster(conn, before, after, at)
            told = {"account": f"{account.surface}:{account.ref}"}
            await self._audit(conn, code.org, person.id, "join", told, account.surface)
            return person

        return await self._db.write(body)

    async def _open(self, conn: AsyncConnection, organization: Organization, owner: Person) -> None:
        at = await self._db.now(conn)
        await conn.execute(organizations.insert().values(organization_row(organization, at)))
        await conn.execute(people.insert().values(person_row(owner)))

    async def _issue(
        self, conn: AsyncConnection, org: OrgId, person: PersonId, digest: str, seconds: float
    ) -> None:
        """A code of *digest* links an account to *person*, once, for *seconds*; no earlier one does."""
        at = await self._db.now(conn)
        own = (join_codes.c.org == org, join_codes.c.person_id == person, join_codes.c.used_at.is_(None))
        await conn.execute(update(join_codes).where(*own).values(used_at=at))
        until = at + timedelta(seconds=seconds)
        code = {"digest": digest, "org": org, "person_id": person, "expires_at": until}
        await conn.execute(join_codes.insert().values(code))

    # ── switches ─────────────────────────────────────────────────────────────────────────────

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
        new, at = self._db.ids.new(), await self._db.now(conn)
        entry = of_organization(org, new, at, actor=actor, move=move, facts=facts, surface=surface, rule=rule)
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
