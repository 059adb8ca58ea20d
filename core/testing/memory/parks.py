"""Parks as people meet them: by a button's token, by a code they type, by what is due."""

from dataclasses import replace
from datetime import datetime, timedelta

from core.audit import refusal
from core.errors import ParkNotFound
from core.ids import CallCode, TaskRef, Token
from core.parks import Park, ParkKind
from core.people import Person
from core.ports import Due, NotFound, ParkView
from core.testing.memory.rows import ConnectStateRow, Rows


class MemoryParks:
    """core.ports.Parks."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def find(self, who: Person, key: Token | CallCode) -> ParkView | NotFound:
        park = self._by_code(who, key) if isinstance(key, CallCode) else self._by_token(who, key)
        return NotFound() if park is None else self._view(park)

    async def waiting_for(self, who: Person, limit: int) -> list[ParkView]:
        waiting = [park for park in self._rows.parks.under("open", True) if park.org == who.org]
        waiting.sort(key=lambda park: (park.created_at, park.id))
        return [self._view(park) for park in waiting[:limit]]

    async def due(self, kind: Due, n: int) -> list[TaskRef]:
        now = self._rows.now()
        first: dict[TaskRef, datetime] = {}
        for park in self._rows.parks.under("open", True):
            due_at = park.expires_at if kind is Due.EXPIRE else park.remind_at
            if due_at is not None and due_at <= now:
                ref = TaskRef(org=park.org, task_id=park.task_id)
                first[ref] = min(due_at, first.get(ref, due_at))
        return sorted(first, key=lambda ref: (first[ref], ref.org, ref.task_id))[:n]

    async def viewed(self, who: Person, token: Token, digest: str) -> None:
        if (park := self._by_token(who, token)) is None:
            raise ParkNotFound
        view = {"person": who.id, "digest": digest, "at": self._rows.now().isoformat()}
        with self._rows.transaction():
            self._rows.parks.update(replace(park, viewed=[*(park.viewed or ()), view]))

    async def refused(self, token: Token, actor: str, surface: str | None, why: str) -> None:
        park = self._rows.parks.one("token", token)
        if park is not None:
            at, entry_id = self._rows.now(), self._rows.ids.new()
            with self._rows.transaction():
                self._rows.write_entry(refusal(park, entry_id, at, actor=actor, surface=surface, why=why))

    async def link(self, who: Person, token: Token, digest: str, seconds: float) -> None:
        if (park := self._by_token(who, token)) is None:
            raise ParkNotFound
        row = ConnectStateRow(
            digest=digest,
            org=who.org,
            person_id=who.id,
            token=park.token,
            expires_at=self._rows.now() + timedelta(seconds=seconds),
        )
        with self._rows.transaction():
            self._rows.connect_states.insert(row)

    async def linked(self, who: Person, digest: str) -> Token | NotFound:
        row, now = self._rows.connect_states.get(digest), self._rows.now()
        theirs = row is not None and (row.org, row.person_id) == (who.org, who.id)
        if row is None or not theirs or row.used_at is not None or row.expires_at <= now:
            return NotFound()
        with self._rows.transaction():
            self._rows.connect_states.update(replace(row, used_at=now))
        return row.token

    def _by_token(self, who: Person, token: Token) -> Park | None:
        park = self._rows.parks.one("token", token)
        return park if park is not None and park.org == who.org else None

    def _by_code(self, who: Person, code: CallCode) -> Park | None:
        """The park a person means by *code*: an open approval, another open one, or the newest."""
        if (row := self._rows.tasks.one("number", who.org, code.task_number)) is None:
            return None
        task = row.task
        if (call := self._rows.calls.one("number", task.org, task.id, code.call_number)) is None:
            return None
        own = [park for park in self._rows.parks.under("task", task.org, task.id) if park.call_id == call.id]
        meant = [park for park in own if code.version in (None, park.version)]
        return max(meant, key=_rank, default=None)

    def _view(self, park: Park) -> ParkView:
        task = self._rows.task(TaskRef(org=park.org, task_id=park.task_id))
        assert task is not None
        call = None if park.call_id is None else self._rows.calls.get(park.org, park.call_id)
        return ParkView(park=park, task=task, call=call)


def _rank(park: Park) -> tuple[bool, bool, datetime, str]:
    return park.open and park.kind is ParkKind.APPROVAL, park.open, park.created_at, park.id
