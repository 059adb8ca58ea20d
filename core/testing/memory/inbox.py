"""The inbox: what came in, stored before it is acknowledged, offered until somebody is done with it."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from core.ids import EventKey, TaskRef
from core.ports import Dead, Ignored, Retry
from core.testing.memory.apply import receive
from core.testing.memory.load import in_turn
from core.testing.memory.rows import InboxRow, Rows
from core.work import Duplicate, Event, Received


class MemoryInbox:
    """core.ports.Inbox."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def receive(self, event: Event) -> Received | Duplicate:
        with self._rows.transaction():
            if receive(self._rows, event, self._rows.now()):
                return Received(key=event.key)
        return Duplicate(ref=self._belongs_to(event.key))

    async def take(self, n: int, visible_seconds: float = 30) -> list[Event]:
        now = self._rows.now()
        new = self._rows.inbox.under("state", "new")
        offered = sorted((r for r in new if r.due_at and r.due_at <= now), key=lambda row: in_turn(row.event))
        until = now + timedelta(seconds=visible_seconds)
        with self._rows.transaction():
            return [self._hidden(row, until).event for row in offered[:n]]

    async def settle(self, key: EventKey, outcome: Ignored | Retry | Dead) -> None:
        row = self._rows.inbox.get(key)
        if row is not None and row.state == "new":
            with self._rows.transaction():
                self._rows.inbox.update(_settled(row, outcome, self._rows.now()))

    def _hidden(self, row: InboxRow, until: datetime) -> InboxRow:
        event = replace(row.event, attempts=row.event.attempts + 1)
        return self._rows.inbox.update(replace(row, event=event, due_at=until))

    def _belongs_to(self, key: EventKey) -> TaskRef | None:
        row = self._rows.inbox.get(key)
        if row is None or row.event.org is None or row.event.task_id is None:
            return None
        return TaskRef(org=row.event.org, task_id=row.event.task_id)


def _settled(row: InboxRow, outcome: Ignored | Retry | Dead, now: datetime) -> InboxRow:
    match outcome:
        case Ignored():
            return replace(row, state="ignored")
        case Retry(seconds=seconds):
            return replace(row, due_at=now + timedelta(seconds=seconds))
        case Dead(error=error):
            return replace(row, state="dead", error=error)
        case never:
            assert_never(never)
