"""The ledger: what was done, for people who ask; and the audit trail's seal."""

from dataclasses import replace
from datetime import timedelta

from core.audit import GENESIS, AuditEntry, Head, chained
from core.errors import TaskNotFound
from core.ids import OrgId, TaskId, TaskRef
from core.ports import Query, Story
from core.tasks import Task
from core.testing.memory.load import calls_of
from core.testing.memory.rows import Rows


class MemoryLedger:
    """core.ports.Ledger."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def find(self, org: OrgId, query: Query) -> list[Task]:
        own = [row.task for row in self._rows.tasks if row.task.org == org]
        said = self._saying(org, query)
        found = [task for task in own if _fits(task, query) and (said is None or task.id in said)]
        return sorted(found, key=lambda task: -task.number)[: query.limit]

    async def story(self, ref: TaskRef) -> Story:
        if (task := self._rows.task(ref)) is None:
            raise TaskNotFound
        named = ("task", ref.org, ref.task_id)
        said = [row.message for row in self._rows.messages.under(*named)]
        return Story(
            task=task,
            messages=tuple(sorted(said, key=lambda message: message.seq)),
            calls=tuple(calls_of(self._rows, task)),
            parks=tuple(sorted(self._rows.parks.under(*named), key=lambda p: (p.created_at, p.id))),
            audit=tuple(_by_age(self._rows.audit.under(*named))),
        )

    async def audit(self, org: OrgId, after_seq: int, n: int) -> list[AuditEntry]:
        return [entry for entry in self._sealed(org) if (entry.seq or 0) > after_seq][:n]

    async def unsealed(self, org: OrgId, n: int) -> list[AuditEntry]:
        return self._loose(org)[:n]

    async def newest(self, org: OrgId, n: int) -> list[AuditEntry]:
        return [*self._sealed(org), *self._loose(org)][::-1][:n][::-1]

    def _sealed(self, org: OrgId) -> list[AuditEntry]:
        return sorted(self._rows.audit.under("sealed", org, True), key=lambda entry: entry.seq or 0)

    def _loose(self, org: OrgId) -> list[AuditEntry]:
        return _by_age(self._rows.audit.under("sealed", org, False))

    async def seal(self, org: OrgId, n: int) -> Head:
        if (row := self._rows.organizations.get(org)) is None:
            raise LookupError("no such organization")
        sealed, head = chained(row.head, await self.unsealed(org, n))
        with self._rows.transaction():
            for entry in sealed:
                self._rows.audit.update(entry)
            self._rows.organizations.update(replace(row, head=head))
        return head

    async def head(self, org: OrgId) -> Head:
        row = self._rows.organizations.get(org)
        return Head(seq=0, hash=GENESIS) if row is None else row.head

    async def organizations(self) -> list[OrgId]:
        return sorted(row.organization.id for row in self._rows.organizations)

    async def usage(self, org: OrgId) -> dict[str, int]:
        since = self._rows.now() - timedelta(hours=24)
        spent: dict[str, int] = {}
        for row in self._rows.usage:
            if row.org == org and row.hour > since:
                spent[row.agent] = spent.get(row.agent, 0) + row.reserved + row.used
        return dict(sorted(spent.items()))

    def _saying(self, org: OrgId, query: Query) -> set[TaskId | None] | None:
        """The tasks with the message that *query* names; None where it names none."""
        if query.message is None:
            return None
        meant = (org, query.surface, query.message)
        return {
            row.post.task_id
            for row in self._rows.posts
            if (row.post.org, row.post.surface, row.post.chat_ref) == meant
        }


def _fits(task: Task, query: Query) -> bool:
    return (
        query.number in (None, task.number)
        and (query.ids is None or task.id in query.ids)
        and (not query.states or task.state in query.states)
        and query.agent in (None, task.agent)
        and (query.message is not None or query.surface in (None, task.surface))
        and query.chat in (None, task.chat)
        and query.thread in (None, task.thread_ref)
    )


def _by_age(entries: list[AuditEntry]) -> list[AuditEntry]:
    return sorted(entries, key=lambda entry: (entry.at, entry.id))
