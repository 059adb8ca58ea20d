"""One task's rows in memory, changed by the real moves alone: what the store does, without a database."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from core.calls import Call, CallState, Outcome
from core.ids import CallId, Run, TaskRef
from core.parks import Park, ParkState
from core.people import Organization, Person, Roster, Switch
from core.ports import Transcript
from core.tasks import Message, MessageKind, Task, TaskState
from core.work import NOTHING, Change, Entry, Event, Fenced, Lost, Move, Need, R, Work, message_rows

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(kw_only=True, slots=True)
class Rows:
    """The rows, and the port `Tasks` over them. *before* and *after* let the world act around a change."""

    task: Task
    organization: Organization
    people: tuple[Person, ...]
    switch: Switch | None = None
    calls: dict[CallId, Call] = field(default_factory=dict)
    parks: dict[str, Park] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    new: list[Event] = field(default_factory=list)
    unread: list[Event] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    now: datetime = START
    before: Callable[[str], None] = lambda name: None
    after: Callable[[str], None] = lambda name: None

    # ── the port ─────────────────────────────────────────────────────────────────────────────

    async def change(self, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
        name = move.__qualname__.split(".", 1)[0]
        self.before(name)
        answer = self.apply(move, need)
        self.after(name)
        return answer

    @property
    def written(self) -> int:
        """How many changes were written; what lost a race is none."""
        return len(self.entries)

    async def load(self, run: Run) -> Work | Fenced:
        self.before("load")
        if self.task.state is not TaskState.RUNNING or self.task.epoch != run.epoch:
            return Fenced(run=run)
        return self.work(NOTHING)

    async def transcript(self, ref: TaskRef, after_seq: int = 0) -> Transcript:
        self.before("transcript")
        return Transcript(messages=tuple(self.messages), calls=tuple(self.calls.values()))

    # ── the rows ─────────────────────────────────────────────────────────────────────────────

    def apply(self, move: Move[R], need: Need = NOTHING) -> R:
        """The move's change is written, or nothing is; its answer."""
        change, answer = move(self.work(need), self.now)
        if not isinstance(change, Lost):
            self._write(change)
        return answer

    def _write(self, change: Change) -> None:
        rows = message_rows(self.task, change, self.now)
        self.messages.extend(rows)
        self.task = replace(change.task, next_seq=change.task.next_seq + len(rows))
        self.calls |= {c.id: c for c in change.calls}
        self.parks |= {p.id: p for p in change.parks}
        self.unread += [e for e in self.new if e.key in change.assigned]
        self.unread = [e for e in self.unread if e.key not in change.applied]
        self.new = [e for e in self.new if e.key not in (*change.assigned, *change.applied)]
        self.entries.append(change.entry)
        self.now += timedelta(seconds=1)

    def work(self, need: Need) -> Work:
        """Exactly the rows the docstring of Work promises, no more."""
        calls = self._calls(need)
        held = CallState.EXECUTING
        kept = (Outcome.SUCCEEDED, Outcome.UNKNOWN)
        return Work(
            task=self.task,
            organization=self.organization,
            switch=self.switch,
            calls=calls,
            parks=self._parks(need, calls),
            last=next((m for m in reversed(self.messages) if m.kind is not MessageKind.COMPACT), None),
            event=next((e for e in self.new if e.key == need.event), None),
            unread=tuple(self.unread) if need.unread else (),
            roster=Roster(organization=self.organization, people=self.people) if need.roster else None,
            daily_tokens=0 if need.usage else None,
            holders=tuple(
                c
                for c in self.calls.values()
                if c.effect_key == need.effect_key and (c.state is held or c.outcome in kept)
            )
            if need.effect_key is not None
            else (),
            repeated=next((p for p in self.parks.values() if p.event_id == need.event_id), None)
            if need.event_id is not None
            else None,
        )

    def _calls(self, need: Need) -> tuple[Call, ...]:
        here = (self.task.episode, self.task.round)
        named = {need.call}
        if need.token is not None:
            named |= {p.call_id for p in self.parks.values() if p.token == need.token}
        return tuple(
            c
            for c in self.calls.values()
            if (c.episode, c.round) == here or (c.round is None and not c.settled) or c.id in named
        )

    def _parks(self, need: Need, calls: tuple[Call, ...]) -> tuple[Park, ...]:
        approved = {c.id for c in calls if c.state is CallState.APPROVED}
        approved |= {c.resend_of for c in calls if c.state is CallState.APPROVED and c.resend_of}
        token_call = {p.call_id for p in self.parks.values() if p.token == need.token and p.call_id}
        return tuple(
            p
            for p in self.parks.values()
            if p.open
            or (p.state is ParkState.DECIDED and p.call_id in approved)
            or (p.token == need.token and need.token is not None)
            or p.call_id in token_call
            or (need.call is not None and p.call_id == need.call)
        )
