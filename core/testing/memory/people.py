"""People: who an account belongs to, who is in an organization, and how the first one gets there."""

from core.audit import AuditEntry
from core.canonical import dump
from core.errors import ConfigError
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Role, Roster
from core.testing.memory.rows import AccountRow, OrganizationRow, Rows


class MemoryPeople:
    """core.ports.People."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def by_account(self, account: Account) -> Person | None:
        links = self._rows.accounts.under("account", account)
        people = (self._rows.people.get(link.org, link.person_id) for link in links)
        there = [person for person in people if person is not None and not person.left]
        return min(there, key=lambda person: (person.org, person.id), default=None)

    async def of(self, org: OrgId) -> Roster:
        if (row := self._rows.organizations.get(org)) is None:
            raise LookupError("no such organization")
        return self._rows.roster(row.organization)

    async def found(self, org: OrgId, name: str, owner: str, account: Account) -> Person:
        if list(self._rows.organizations):
            raise ConfigError("the database has an organization already")
        with self._rows.transaction():
            ids = self._rows.ids
            person = Person(org=org, id=PersonId(ids.new()), name=owner, roles=frozenset({Role.OWNER}))
            self._rows.organizations.insert(OrganizationRow(organization=Organization(id=org, name=name)))
            self._rows.people.insert(person)
            self._rows.accounts.insert(AccountRow(org=org, account=account, person_id=person.id))
            entry = AuditEntry(
                org=org,
                id=ids.new(),
                at=self._rows.now(),
                actor=person.id,
                surface=account.surface,
                move="found",
                rule=None,
                task_id=None,
                call_id=None,
                entry=dump({"organization": name, "owner": owner, "account": account.ref}),
            )
            self._rows.write_entry(entry)
            return person
