"""The invariants of docs/states.md §6 that one task's rows can break, looked at after every change."""

from dataclasses import dataclass, field

from core.calls import Call, CallState, Outcome
from core.gate import Verdict
from core.ids import CallId, Run
from core.moves.common import hash_of
from core.parks import Park, ParkKind, ParkState
from core.tasks import MessageKind, Task, TaskState
from tests.explorer.rows import Rows

_BY_PERSON: dict[Outcome, frozenset[Outcome | None]] = {
    Outcome.UNKNOWN: frozenset({Outcome.SUCCEEDED, Outcome.FAILED})
}
"""What only a person may turn an outcome into (C21)."""


def demand(holds: bool, rule: str) -> None:
    """Raises AssertionError naming the rule."""
    if not holds:
        raise AssertionError(rule)


@dataclass(kw_only=True, slots=True)
class Checks:
    """What is compared: the rows now, the rows as they were, and what arrived outside."""

    rows: Rows
    calls: dict[CallId, Call] = field(default_factory=dict)
    task: Task | None = None
    sent: list[Call] = field(default_factory=list)
    marked_before_stop: frozenset[str] = frozenset()
    broken: AssertionError | None = None

    # ── outside ──────────────────────────────────────────────────────────────────────────────

    def arrived(self, call: Call, n: int, digest: str) -> None:
        """A handler runs *call* with n: only as the rows allow.

        What is raised in a handler becomes a result, so a finding is kept until the next look.
        """
        try:
            self._arrived(call, n, digest)
        except AssertionError as found:
            self.broken = self.broken or found

    def _arrived(self, call: Call, n: int, digest: str) -> None:
        demand(call.args == {"n": n}, "I4: what runs is not what the row says")
        if call.state is CallState.PROPOSED:
            demand(call.pure and call.verdict is Verdict.RUN, "I2: an effect started without its marker")
            return
        ours = call.epoch is not None and call.epoch <= self.rows.task.epoch
        # a zombie may be between its marker and its handler when another run finds the call unknown (K13)
        late = call.outcome in (Outcome.UNKNOWN, Outcome.SUCCEEDED, Outcome.FAILED)
        demand(ours and (call.state is CallState.EXECUTING or late), "I2: an effect started unmarked")
        demand(call.args_hash == hash_of(self.rows.task, call, call.args), "I4: the hash does not fit")
        demand(call.tool_digest == digest, "I30: the tool is no longer the one that was asked about")
        if call.pure:
            return
        stopped = self.rows.task.stop_by is not None
        demand(not stopped or call.id in self.marked_before_stop, "I29: an effect started after the stop")
        demand(all(c.id != call.id for c in self.sent), "I7: one call was sent twice")
        demand(all(c.effect_key != call.effect_key for c in self.sent), "I6: one key went out twice")
        self._allowed(call)
        self.sent.append(call)

    def _allowed(self, call: Call) -> None:
        """A decision on exactly this hash, or a verdict that lets it run and no ask before it."""
        parks = [p for p in self.rows.parks.values() if p.call_id in (call.id, call.resend_of)]
        decided = [p for p in parks if p.state is ParkState.DECIDED]
        if call.verdict is not Verdict.RUN:
            demand(any(p.shown_hash == call.args_hash for p in decided), "I4: no decision on what runs")
            return
        before = [c for c in self._round(call) if c.ordinal < call.ordinal]
        waits = any(c.state is CallState.PARKED or c.asks_person for c in before)
        demand(not waits or call.state is CallState.SETTLED, "§5: an effect ran behind an open ask")

    def _round(self, call: Call) -> list[Call]:
        if call.round is None:
            return []
        return [c for c in self.rows.calls.values() if (c.episode, c.round) == (call.episode, call.round)]

    def asked_model(self) -> None:
        for call in self.rows.calls.values():
            if call.round is not None:
                demand(call.settled or call.epoch is not None, "I3: the model was asked with an open call")

    def left(self, run: Run) -> None:
        """A run returned by itself: it does not leave the task running under its own epoch."""
        task = self.rows.task
        demand(
            task.state is not TaskState.RUNNING or task.epoch != run.epoch, "T6: a run left without a word"
        )

    # ── the rows ─────────────────────────────────────────────────────────────────────────────

    def after(self) -> None:
        if self.broken is not None:
            raise self.broken
        task = self.rows.task
        self._settled_stay()
        self._grow(task)
        open_parks = [p for p in self.rows.parks.values() if p.open]
        if task.state is TaskState.WAITING:
            demand(any(p.holds for p in open_parks), "I19: it waits, and nothing holds it")
        if task.ended:
            demand(all(not p.holds for p in open_parks), "T9: it ended with a park that holds it")
        ends_now = task.ended and (self.task is None or not self.task.ended)
        if ends_now and task.state is TaskState.DONE and task.reason != "idle":
            newest = self.rows.messages[-1].kind
            demand(newest is MessageKind.ASSISTANT, "T9: it ended on words the model has not seen")
        self._parks()
        self._outside()
        if task.stop_by is None:
            self.marked_before_stop = frozenset(c.id for c in self.rows.calls.values() if c.marked_at)
        self.task, self.calls = task, dict(self.rows.calls)

    def _settled_stay(self) -> None:
        for before in self.calls.values():
            now = self.rows.calls[before.id]
            if before.outcome is not None and (now.outcome, now.result) != (before.outcome, before.result):
                allowed = _BY_PERSON.get(before.outcome, frozenset())
                demand(now.outcome in allowed and now.result == before.result, "I16: a settled call changed")

    def _grow(self, task: Task) -> None:
        if self.task is not None:
            demand(task.epoch >= self.task.epoch, "I16: an epoch shrank")
            demand(task.episode >= self.task.episode, "I16: an episode shrank")
            over = self.task.ended and task.episode == self.task.episode
            demand(not over or task.state is self.task.state, "T13: an ended episode moved")

    def _parks(self) -> None:
        decided: dict[tuple[str | None, str], Park] = {}
        for park in self.rows.parks.values():
            if park.call_id is None:
                continue
            if park.state is ParkState.DECIDED and park.decision is not None:
                call = self.rows.calls[park.call_id]
                demand(call.state is not CallState.PARKED, "I1: decided, and still parked")
                key = (park.call_id, f"{park.kind}{park.version}")
                demand(key not in decided, "I1: one version decided twice")
                decided[key] = park
            if park.open and park.holds:
                call = self.rows.calls[park.call_id]
                wants = park.kind is ParkKind.CONNECT and call.outcome is Outcome.FAILED
                demand(
                    wants or call.state is CallState.PARKED, "C5: an open park on a call that is not parked"
                )
        for call in self.rows.calls.values():
            if call.state is CallState.PARKED:
                own = [p for p in self.rows.parks.values() if p.call_id == call.id and p.open]
                demand(len(own) == 1, "C5: a parked call has not exactly one open park")

    def _outside(self) -> None:
        sent = {c.id for c in self.sent}
        for call in self.rows.calls.values():
            if call.id in sent and call.settled:
                quiet = (Outcome.WITHDRAWN, Outcome.SKIPPED, Outcome.DECLINED, Outcome.VOID, Outcome.OBSERVED)
                demand(call.outcome not in quiet, f"I8: it went out and is recorded as {call.outcome}")
