"""People: who is in an organization and whose an account is, how they get there, switches and rights."""

from dataclasses import replace
from datetime import datetime, timedelta

from core.audit import of_organization
from core.errors import ConfigError, NotYourDecision
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster, Switch
from core.ports import BadCode
from core.rights import Rights, rights_facts
from core.roster import Invite, Issue, RosterChange, changed, check_founding, joined, only, roster_facts
from core.switches import SwitchTo, check_owner, turn_facts, turned, turned_for_all
from core.tasks import Json
from core.testing.memory.rows import (
    AccountRow,
    ApprovalRouteRow,
    JoinCodeRow,
    OrganizationRow,
    RightsRow,
    Rows,
    SwitchRow,
)


class MemoryPeople:
    """core.ports.People. Nothing is awaited inside, so nothing comes between a look and what it leads to."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def by_account(self, account: Account, org: OrgId | None = None) -> Person | None:
        """Raises InSeveral."""
        return only(p for p in await self.everywhere(account) if org is None or p.org == org)

    async def everywhere(self, account: Account) -> tuple[Person, ...]:
        links = self._rows.accounts.under("account", account)
        people = (self._rows.people.get(link.org, link.person_id) for link in links)
        there = [person for person in people if person is not None and not person.left]
        return tuple(sorted(there, key=lambda person: (person.org, person.id)))

    async def of(self, org: OrgId) -> Roster:
        return self._rows.roster(self._organization(org).organization)

    # ── who is who ───────────────────────────────────────────────────────────────────────────

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        if list(self._rows.organizations):
            raise ConfigError("the database has an organization already")
        with self._rows.transaction():
            person = self._open(Organization(id=org, name=name), owner)
            self._rows.accounts.insert(AccountRow(org=org, account=account, person_id=person.id))
            told = {"organization": name, "owner": owner, "account": account.ref}
            self._audit(org, person.id, "found", told, account.surface)
            return person

    async def create(
        self, organization: Organization, owner: str, code_digest: str, seconds: float, *, actor: str
    ) -> Person:
        """Raises RosterError."""
        check_founding(organization, owner, [row.organization.name for row in self._rows.organizations])
        with self._rows.transaction():
            person = self._open(organization, owner)
            self._issue(organization.id, person.id, code_digest, seconds)
            told = {"organization": organization.name, "owner": owner, "seconds": seconds}
            self._audit(organization.id, actor, "create", told)
            return person

    async def save(
        self, by: Person, org: OrgId, change: RosterChange, *, surface: str | None = None
    ) -> Roster:
        """Raises NotYourDecision, also to others (I18), and RosterError."""
        if (row := self._rows.organizations.get(org)) is None:
            raise NotYourDecision
        with self._rows.transaction():
            new = PersonId(self._rows.ids.new())
            before = self._rows.roster(row.organization)
            after = changed(before, by, change, new)
            if after == before and not isinstance(change, Issue):
                return before
            self._write(before, after)
            if isinstance(change, Invite | Issue):
                whom = new if isinstance(change, Invite) else change.person
                self._issue(org, whom, change.code_digest, change.seconds)
            self._audit(org, by.id, "roster", roster_facts(before, after, change), surface)
            return after

    async def join(self, code_digest: str, account: Account) -> Person | BadCode:
        """Raises RosterError."""
        code = self._rows.join_codes.get(code_digest)
        if code is None or code.used_at is not None or code.expires_at <= self._rows.now():
            return BadCode()
        before = self._rows.roster(self._organization(code.org).organization)
        person = before.person(code.person_id)
        if person is None or person.left:
            return BadCode()
        with self._rows.transaction():
            self._rows.join_codes.update(replace(code, used_at=self._rows.now()))
            self._write(before, joined(before, person.id, account))
            told = {"account": f"{account.surface}:{account.ref}"}
            self._audit(code.org, person.id, "join", told, account.surface)
            return person

    def _open(self, organization: Organization, owner: str) -> Person:
        new = PersonId(self._rows.ids.new())
        self._rows.organizations.insert(OrganizationRow(organization=organization))
        roles = frozenset({Role.OWNER})
        return self._rows.people.insert(Person(org=organization.id, id=new, name=owner, roles=roles))

    def _issue(self, org: OrgId, person: PersonId, digest: str, seconds: float) -> None:
        """A code of *digest* links an account to *person*, once, for *seconds*; no earlier one does."""
        at = self._rows.now()
        for row in self._rows.join_codes:
            if (row.org, row.person_id, row.used_at) == (org, person, None):
                self._rows.join_codes.update(replace(row, used_at=at))
        until = at + timedelta(seconds=seconds)
        self._rows.join_codes.insert(JoinCodeRow(digest=digest, org=org, person_id=person, expires_at=until))

    def _write(self, before: Roster, after: Roster) -> None:
        """The rows that said *before* say *after*."""
        org, rows = after.organization.id, self._rows
        if before.organization != after.organization:
            rows.organizations.update(replace(self._organization(org), organization=after.organization))
        for person in after.people:
            if (was := before.person(person.id)) != person:
                (rows.people.insert if was is None else rows.people.update)(person)
        for link in (row for row in rows.accounts if row.org == org):
            if (link.person_id, link.account) not in after.accounts:
                rows.accounts.delete(link)
        for holder, account in after.accounts:
            if (holder, account) not in before.accounts:
                rows.accounts.insert(AccountRow(org=org, account=account, person_id=holder))
        if before.routes != after.routes:
            self._write_routes(after)

    def _write_routes(self, after: Roster) -> None:
        org, kept = after.organization.id, self._rows.approval_routes
        for row in (row for row in kept if row.org == org):
            kept.delete(row)
        for agent in {agent for agent, _ in after.routes}:
            for n, route in enumerate(after.places(agent)):
                row = ApprovalRouteRow(org=org, agent=agent, position=n, surface=route.surface, ref=route.ref)
                kept.insert(row)

    # ── switches ─────────────────────────────────────────────────────────────────────────────

    async def switch(
        self, by: Person, org: OrgId, agent: str | None, to: SwitchTo, *, surface: str | None = None
    ) -> int:
        """Raises NotYourDecision, SwitchError where *to* is nothing that the agent, or all, can have."""
        check_owner(by, org, self._rows.people.get(org, by.id))
        with self._rows.transaction():
            if agent is None:
                told = self._turn_organization(org, to)
            else:
                told = self._turn_agent(by, org, agent, to)
            if told is None:
                return 0
            self._audit(org, by.id, "switch", told, surface)
            return 1

    async def switches(self, org: OrgId) -> tuple[Switch, ...]:
        own = [row.switch for row in self._rows.switches if row.org == org]
        return tuple(sorted(own, key=lambda switch: switch.agent))

    def _turn_organization(self, org: OrgId, to: SwitchTo) -> Json:
        """What the organization was and is; None where that is the same."""
        row = self._organization(org)
        after = turned_for_all(row.organization, to)
        if after == row.organization:
            return None
        self._rows.organizations.update(replace(row, organization=after))
        return turn_facts(None, row.organization, after)

    def _turn_agent(self, by: Person, org: OrgId, agent: str, to: SwitchTo) -> Json:
        """What the agent's switch was and is; None where that is the same."""
        was = self._rows.switches.get(org, agent)
        row = was or SwitchRow(org=org, switch=Switch(agent=agent))
        after = turned(row.switch, to)
        if after == row.switch:
            return None
        paused_by, paused_at = self._since(by, row, after)
        now = replace(row, switch=after, paused_by=paused_by, paused_at=paused_at)
        (self._rows.switches.insert if was is None else self._rows.switches.update)(now)
        return turn_facts(agent, row.switch, after)

    def _since(self, by: Person, before: SwitchRow, after: Switch) -> tuple[PersonId | None, datetime | None]:
        """Who paused it and when, until it is resumed."""
        if not after.paused:
            return None, None
        if before.switch.paused:
            return before.paused_by, before.paused_at
        return by.id, self._rows.now()

    # ── rights ───────────────────────────────────────────────────────────────────────────────

    async def rights(self, org: OrgId, agent: str) -> Rights | None:
        row = self._rows.rights.get(org, agent)
        return None if row is None else row.rights

    async def keep_rights(
        self, org: OrgId, agent: str, was: Rights | None, now: Rights, *, digest: str, actor: str
    ) -> bool:
        with self._rows.transaction():
            if not self._kept(org, agent, was, now, digest, None):
                return False
            told = rights_facts(agent, was, now, folder=digest)
            self._audit(org, actor, "rights", told, rule="first" if was is None else "less")
            return True

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
        check_owner(by, org, self._rows.people.get(org, by.id))
        with self._rows.transaction():
            if not self._kept(org, agent, was, now, digest, by):
                return False
            self._audit(org, by.id, "accept", rights_facts(agent, was, now, folder=digest), surface)
            return True

    def _kept(
        self, org: OrgId, agent: str, was: Rights | None, now: Rights, digest: str, by: Person | None
    ) -> bool:
        """The agent's rights are *now* if they still were *was*."""
        before = self._rows.rights.get(org, agent)
        if (None if before is None else before.rights) != was:
            return False
        row = RightsRow(
            org=org,
            agent=agent,
            rights=now,
            digest=digest,
            by_person=None if by is None else by.id,
            at=self._rows.now(),
        )
        (self._rows.rights.insert if before is None else self._rows.rights.update)(row)
        return True

    # ── both ─────────────────────────────────────────────────────────────────────────────────

    def _organization(self, org: OrgId) -> OrganizationRow:
        if (row := self._rows.organizations.get(org)) is None:
            raise LookupError("no such organization")
        return row

    def _audit(
        self,
        org: OrgId,
        actor: str,
        move: str,
        told: Json,
        surface: str | None = None,
        rule: str | None = None,
    ) -> None:
        new, at = self._rows.ids.new(), self._rows.now()
        self._rows.write_entry(
            of_organization(org, new, at, actor=actor, move=move, facts=told, surface=surface, rule=rule)
        )
