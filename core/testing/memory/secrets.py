"""Secrets in memory: nothing is at rest there, so they are kept as they are."""

from collections.abc import Sequence

from core.audit import of_organization
from core.ids import OrgId
from core.testing.memory.rows import Rows, SecretRow
from core.vault import check_secret, secret_facts


class MemorySecrets:
    """core.ports.Secrets."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def put(self, org: OrgId, name: str, value: str, *, by: str, surface: str | None = None) -> None:
        check_secret(name, value)
        self._rows.redactor.register(name, value)
        row = SecretRow(org=org, name=name, sealed=value, at=self._rows.now())
        was = self._rows.secrets.get(org, name) is not None
        with self._rows.transaction():
            (self._rows.secrets.update if was else self._rows.secrets.insert)(row)
            self._audit(org, by, "put_secret", name, surface, was=was)

    async def get(self, org: OrgId, name: str) -> str | None:
        row = self._rows.secrets.get(org, name)
        if row is None:
            return None
        self._rows.redactor.register(name, row.sealed)
        return row.sealed

    async def names(self, org: OrgId) -> Sequence[str]:
        return sorted(row.name for row in self._rows.secrets if row.org == org)

    async def remove(self, org: OrgId, name: str, *, by: str, surface: str | None = None) -> bool:
        row = self._rows.secrets.get(org, name)
        if row is None:
            return False
        with self._rows.transaction():
            self._rows.secrets.delete(row)
            self._audit(org, by, "remove_secret", name, surface, was=True)
        return True

    def _audit(self, org: OrgId, by: str, move: str, name: str, surface: str | None, *, was: bool) -> None:
        new, at, facts = self._rows.ids.new(), self._rows.now(), secret_facts(name, was=was)
        self._rows.write_entry(
            of_organization(org, new, at, actor=by, move=move, facts=facts, surface=surface)
        )
