"""People: whose an account is, who is in an organization, how the first one gets there, and switches."""

from dataclasses import replace
from datetime import datetime

from core.audit import AuditEntry
from core.canonical import dump
from core.errors import ConfigError
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster, Switch
from core.rights import Rights, rights_facts
from core.switches import SwitchTo, check_owner, turn_facts, turned, turned_for_all
from core.tasks import Json
from core.testing.memory.rows import AccountRow, OrganizationRow, RightsRow, Rows, SwitchRow


class MemoryPeople:
    """core.ports.People. Nothing is awaited inside, so nothing comes between a look and what it leads to."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def by_account(self, account: Account) -> Person | None:
        links = self._rows.accounts.under("account", account)
        people = (self._rows.people.get(link.org, link.person_id) for link in links)
        there = [person for person in people if person is not None and not person.left]
        return min(there, key=lambda person: (person.org, person.id), default=None)

    async def of(self, org: OrgId) -> Roster:
        return self._rows.roster(self._organization(org).organization)

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        if list(self._rows.organizations):
            raise ConfigError("the database has an organization already")
        with self._rows.transaction():
            new = PersonId(self._rows.ids.new())
            person = Person(org=org, id=new, name=owner, roles=frozenset({Role.OWNER}))
            self._rows.organizations.insert(OrganizationRow(organization=Organization(id=org, name=name)))
            self._rows.people.insert(person)
            self._rows.accounts.insert(AccountRow(org=org, account=account, person_id=person.id))
            told = {"organization": name, "owner": owner, "account": account.ref}
            self._audit(org, person.id, "found", told, account.surface)
            return person

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
        entry = AuditEntry(
            org=org,
            id=self._rows.ids.new(),
            at=self._rows.now(),
            actor=actor,
            surface=surface,
            move=move,
            rule=rule,
            task_id=None,
            call_id=None,
            entry=dump(told),
        )
        self._rows.write_entry(entry)
