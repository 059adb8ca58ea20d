"""A memory store in a test's hands: its rows by the names that their columns have in a database."""

from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, get_type_hints

from core.audit import AuditEntry
from core.calls import Call
from core.ids import OrgId, PersonId
from core.parks import Park
from core.people import Organization, Person, Switch
from core.ports import Ids, Queue
from core.queue import QueueSettings
from core.tasks import Message, Task
from core.testing import ManualClock, MemoryStore
from core.testing.memory import rows as kept
from core.testing.memory.queue import MemoryQueue
from core.testing.memory.table import Table
from core.work import Event
from tests.contract.factories import AUDIT_KEY, NOW, CountingIds
from tests.contract.planted import BORN_AT, FAR, Planted

NAMES = {"account_ref": "ref", "audit_seq": "seq", "audit_hash": "hash"}
"""Columns that core's own values call otherwise."""
ROWS = {
    "posts": kept.PostRow,
    "accounts": kept.AccountRow,
    "approval_routes": kept.ApprovalRouteRow,
    "usage": kept.UsageRow,
    "rates": kept.RateRow,
    "prompts": kept.PromptRow,
}


class Ticking(ManualClock):
    """No two looks at it see the same time, as with a database's."""

    def now(self) -> datetime:
        self.advance(0.001)
        return super().now()


class MemoryPlanted(Planted):
    """The rows of one memory store, whose clock stands long after they were born."""

    def __init__(self, ids: Ids | None = None) -> None:
        super().__init__()
        self.ids = ids or CountingIds()
        self.clock = Ticking(NOW + FAR / 100)
        self.store = self.memory = MemoryStore(clock=self.clock, ids=self.ids, audit_key=AUDIT_KEY)

    async def close(self) -> None:
        await self.memory.close()

    async def now(self) -> datetime:
        return self.clock.now()

    async def save(self, *values: Any) -> None:
        into = self.memory.rows
        with into.transaction():
            for value in values:
                match value:
                    case Organization():
                        into.organizations.insert(kept.OrganizationRow(organization=value))
                    case Person():
                        into.people.insert(value)
                    case Task():
                        into.tasks.insert(kept.TaskRow(task=value, queued_at=into.now()))
                    case Call():
                        into.calls.insert(value)
                    case Park():
                        into.parks.insert(value)
                    case AuditEntry():
                        into.audit.insert(value)
                    case Event():
                        received_at = value.received_at or NOW
                        event = replace(value, received_at=received_at)
                        into.inbox.insert(kept.InboxRow(event=event, due_at=received_at))
                    case _:
                        raise TypeError(f"no table for {type(value).__name__}")

    async def save_messages(self, of: Task, *rows: Message) -> None:
        for row in rows:
            self.memory.rows.messages.insert(kept.MessageRow(org=of.org, task_id=of.id, message=row))

    async def switch(self, org: OrgId, switch: Switch) -> None:
        await self.delete("switches", org=org, agent=switch.agent)
        paused_at = BORN_AT if switch.paused else None
        row = kept.SwitchRow(org=org, switch=switch, paused_by=PersonId("p-1"), paused_at=paused_at)
        self.memory.rows.switches.insert(row)

    async def insert(self, table: str, **values: Any) -> None:
        self._table(table).insert(_built(ROWS[table], _named(values)))

    async def update(self, table: str, values: dict[str, Any], **where: Any) -> None:
        for row in self._having(table, where):
            self._table(table).delete(row)
            self._table(table).insert(_built(type(row), {**_flat(row), **_named(values)}))

    async def delete(self, table: str, **where: Any) -> None:
        for row in self._having(table, where):
            self._table(table).delete(row)

    async def table(self, name: str, **where: Any) -> list[dict[str, Any]]:
        found = [_columns(row) for row in self._having(name, where)]
        return sorted(
            found, key=lambda row: [str(row.get(n)) for n in ("org", "id", "agent", "hour", "prio")]
        )

    def queue(self, settings: QueueSettings) -> Queue:
        return MemoryQueue(self.memory.rows, settings)

    async def next_place(self, org: OrgId, prio: int) -> int:
        return self.memory.rows.place(org, prio)

    async def pass_time(self, time: timedelta) -> None:
        self.clock.advance(time.total_seconds())

    async def defenceless(self) -> None:
        """It always is: nothing in memory is out of its owner's reach."""

    def _table(self, name: str) -> Table[Any]:
        table = getattr(self.memory.rows, name)
        assert isinstance(table, Table)
        return table

    def _having(self, table: str, where: dict[str, Any]) -> list[Any]:
        wanted = _named(where).items()
        return [row for row in self._table(table) if all(_flat(row)[n] == v for n, v in wanted)]


def _named(values: dict[str, Any]) -> dict[str, Any]:
    return {NAMES.get(name, name): value for name, value in values.items()}


def _flat(row: Any) -> dict[str, Any]:
    """The row's columns, those of the values inside it too."""
    flat: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        flat.update(_flat(value) if is_dataclass(value) else {field.name: value})
    return flat


def _columns(row: Any) -> dict[str, Any]:
    """The row as a database has it: what is pairs in core is an object there, and paused is a time."""
    columns = _flat(row)
    if isinstance(row, kept.SwitchRow | kept.RightsRow):
        columns["settings"] = dict(columns["settings"])
        columns.pop("paused", None)
    if isinstance(row, kept.PostRow):
        columns["tried"] = [{**_flat(t.route), "error": t.error} for t in row.post.tried] or None
    return columns


def _built(kind: Any, columns: dict[str, Any]) -> Any:
    """The row of these columns."""
    hints = get_type_hints(kind)
    parts = {name: _built(hint, columns) for name, hint in hints.items() if is_dataclass(hint)}
    own = {name: columns[name] for name in hints if name in columns and name not in parts}
    return kind(**parts, **own)
