"""The queue held against a model in plain Python, over whatever sequences hypothesis thinks of.

The model is the rule in words (T2, T3, order.py, ageing) over a handful of objects, one walk at a time; the
store does the same in a few statements. After each step both say the same of each task. When a sequence
ends, everything that blocks is lifted, and each task has to be claimed within its organization's turns.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from core.ids import OrgId, TaskId, WorkerId
from core.people import OrgState
from core.queue import QueueSettings
from core.tasks import Prio, TaskState
from tests.contract.planted import Planted

ORGS = ("a", "b", "c")
AGENTS = ("inbox", "mailer")
WORKER = WorkerId("w")

# In minutes. Time passes in steps of 4, so that no sum of steps is within a minute of any limit.
STEP, LEASE, DELAY, AGE = 4, 5, 3, 10
CAP = 2


@dataclass(kw_only=True)
class Item:
    """A task, as the model has it. Times are minutes since the sequence began."""

    org: str
    id: str
    agent: str
    prio: int
    vrt: int
    state: str = "queued"
    since: int = 0
    aged: bool = False
    epoch: int = 0
    attempts: int = 0
    due: int = 0  # a running one's lease, a delayed one's time

    @property
    def place(self) -> tuple[int, int, str]:
        return self.prio, self.vrt, self.id


class Model:
    """The queue's rules, one task after another."""

    def __init__(self) -> None:
        self.now = 0
        self.items: list[Item] = []
        self.paused: set[str | tuple[str, str]] = set()  # organizations, and agents of one
        self.caps = dict.fromkeys(ORGS, CAP)
        self.floor = {0: 0, 1: 0}

    def of(self, state: str) -> list[Item]:
        return sorted((item for item in self.items if item.state == state), key=lambda item: item.place)

    def next_place(self, org: str, prio: int) -> int:
        taken = [item.vrt + 1 for item in self.of("queued") if (item.org, item.prio) == (org, prio)]
        return max([0, self.floor[prio], *taken])

    def is_paused(self, item: Item) -> bool:
        return item.org in self.paused or (item.org, item.agent) in self.paused

    def room(self, org: str) -> int:
        return self.caps[org] - sum(item.org == org for item in self.of("running"))

    def claim(self, n: int) -> list[str]:
        claimed: list[str] = []
        for item in self.of("queued"):
            if len(claimed) == n:
                break
            if self.is_paused(item) or self.room(item.org) <= 0:
                item.state = "held"
                continue
            item.state, item.epoch, item.due = "running", item.epoch + 1, self.now + LEASE
            item.prio = Prio.SELF_STARTED if item.aged else item.prio
            claimed.append(item.id)
        return claimed

    def recover(self, limit: int) -> None:
        lost = [item for item in self.of("running") if item.due < self.now][:limit]
        self._queue(lost)
        for item in lost:
            item.attempts += 1
        due = [item for item in self.of("delayed") if item.due <= self.now][: limit - len(lost)]
        self._queue(due)
        self._release(limit - len(lost) - len(due))
        self._age()
        for prio in (0, 1):
            left = [item.vrt for item in self.of("queued") if item.prio == prio]
            self.floor[prio] = min(left, default=self.floor[prio])

    def _release(self, left: int) -> None:
        held = {org: [i for i in self.of("held") if i.org == org] for org in ORGS if org not in self.paused}
        orgs = [org for org, items in held.items() if items and self.room(org) > 0]
        orgs.sort(key=lambda org: (min(item.vrt for item in held[org]), org))
        orgs = orgs[: max(left, 0)]
        for nth, org in enumerate(orgs):
            share = min(self.room(org), left // (len(orgs) - nth))
            back = [item for item in held[org] if not self.is_paused(item)][:share]
            self._queue(back, waited=True)
            left -= len(back)

    def _queue(self, items: Iterable[Item], *, waited: bool = False) -> None:
        places: dict[tuple[str, int], int] = {}
        for item in items:
            key = (item.org, item.prio)
            item.vrt = places[key] = places[key] + 1 if key in places else self.next_place(*key)
            item.since, item.aged = (item.since, item.aged) if waited else (self.now, False)
        for item in items:
            item.state = "queued"

    def _age(self) -> None:
        before = {item.org for item in self.of("queued") if item.aged}
        waiting = [item for item in self.of("queued") if item.prio == 1]
        firsts = {item.org: item for item in reversed(waiting)}
        for org, item in firsts.items():
            if org not in before and self.now - item.since > AGE:
                item.vrt = self.next_place(org, 0)
                item.prio, item.aged = 0, True


class QueueMachine(RuleBasedStateMachine):
    """Does each thing to the store and to the model."""

    planted: Planted
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.queue = self.planted.queue(QueueSettings(max_running=CAP, age_seconds=AGE * 60))
        self.runner.run(self._empty())

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    @rule(org=st.sampled_from(ORGS), agent=st.sampled_from(AGENTS), prio=st.sampled_from((0, 1, 1)))
    def queue_one(self, org: str, agent: str, prio: int) -> None:
        self._queue_one(org, agent, prio)

    @rule(org=st.sampled_from(ORGS), prio=st.sampled_from((0, 1)), n=st.integers(2, 6))
    def flood(self, org: str, prio: int, n: int) -> None:
        for _ in range(n):
            self._queue_one(org, AGENTS[0], prio)

    @rule(n=st.integers(1, 5))
    def claim(self, n: int) -> None:
        expected = self.model.claim(n)
        runs = self.runner.run(self.queue.claim(WORKER, n, LEASE * 60))
        assert [run.task_id for run in runs] == expected
        running = {org: sum(item.org == org for item in self.model.of("running")) for org in ORGS}
        claimed = {run.org for run in runs}
        assert all(running[org] <= self.model.caps[org] for org in claimed)

    @precondition(lambda self: self.model.of("running"))
    @rule(pick=st.integers(0, 9))
    def finish(self, pick: int) -> None:
        self._set(self._running(pick), TaskState.DONE)

    @precondition(lambda self: self.model.of("running"))
    @rule(pick=st.integers(0, 9))
    def delay(self, pick: int) -> None:
        item = self._running(pick)
        self._set(item, TaskState.DELAYED, wait=timedelta(minutes=DELAY))
        item.due = self.model.now + DELAY

    @rule()
    def pass_time(self) -> None:
        self.model.now += STEP
        self.runner.run(self.planted.pass_time(timedelta(minutes=STEP)))

    @rule(limit=st.sampled_from((3, 100)))
    def recover(self, limit: int) -> None:
        self.model.recover(limit)
        self.runner.run(self.queue.recover(limit))

    @rule(org=st.sampled_from(ORGS), agent=st.sampled_from((*AGENTS, None)))
    def pause(self, org: str, agent: str | None) -> None:
        self._turn(org if agent is None else (org, agent), paused=True)

    @precondition(lambda self: self.model.paused)
    @rule(pick=st.integers(0, 9))
    def resume(self, pick: int) -> None:
        paused = sorted(self.model.paused, key=str)
        self._turn(paused[pick % len(paused)], paused=False)

    @rule(org=st.sampled_from(ORGS), cap=st.integers(1, 3))
    def cap(self, org: str, cap: int) -> None:
        self.model.caps[org] = cap
        self.runner.run(self.planted.update("organizations", {"max_running": cap}, id=org))

    # ── what holds ───────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_rows_are_as_the_model_says(self) -> None:
        columns = ("id", "state", "prio", "vrt", "aged", "epoch", "attempts")
        rows = [tuple(row[name] for name in columns) for row in self.runner.run(self.planted.table("tasks"))]
        said = [tuple(getattr(item, name) for name in columns) for item in self.model.items]
        assert sorted(rows) == sorted(said)

    def teardown(self) -> None:
        """Nothing blocks, nothing new comes: everything is claimed, each task within its turns."""
        for what in tuple(self.model.paused):
            self._turn(what, paused=False)
        self._finish_all()
        self.pass_time()
        self.recover(100)
        if len(self.model.items) % 2:
            self._each_gets_its_turn()
        else:
            self._each_gets_its_share()

    def _each_gets_its_turn(self) -> None:
        """Who stands at the nth place waits for n turns of each organization, and for no more.

        A self-started task waits for what was asked for as well. One that was held joins late, perhaps
        at a place where its organization had its turn already; so does one that ages meanwhile, among
        those that were asked for.
        """
        first = {
            prio: min([self.model.floor[prio], *(i.vrt for i in self.model.of("queued") if i.prio == prio)])
            for prio in (0, 1)
        }
        late_comers = dict.fromkeys((0, 1), len(self.model.of("held")))
        aged = {item.id for item in self.model.items if item.aged}
        turns = {0: 0, 1: 0}
        while waiting := [*self.model.of("queued"), *self.model.of("held")]:
            places = {item.id: (item.prio, item.vrt) for item in waiting}
            self.claim(1)
            (claimed,) = self.model.of("running")
            prio, vrt = places[claimed.id]
            turns[prio] += 1
            assert turns[prio] <= len(ORGS) * (vrt - first[prio] + 1) + late_comers[prio], claimed
            self._finish_all()
            self.recover(100)
            late_comers[0] += len(newly := {i.id for i in self.model.items if i.aged} - aged)
            aged |= newly
            self.the_rows_are_as_the_model_says()

    def _each_gets_its_share(self) -> None:
        """Runs go on until every organization is full: then each task has come within as many turns as
        may run at once, for each time that its organization had to fill up for those before it."""
        waiting = [*self.model.of("queued"), *self.model.of("held")]
        own = {org: sum(item.org == org for item in waiting) for org in ORGS}
        turn = 0
        while waiting:
            turn += 1
            self.claim(1)
            for item in [i for i in waiting if i.state == "running"]:
                waiting.remove(item)
                fills = -(-own[item.org] // self.model.caps[item.org])
                assert turn <= (sum(self.model.caps.values()) + 1) * fills, item
            if not self.model.of("queued"):
                self._finish_all()
                self.recover(100)
            self.the_rows_are_as_the_model_says()

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def _finish_all(self) -> None:
        for item in self.model.of("running"):
            self._set(item, TaskState.DONE)

    def _running(self, pick: int) -> Item:
        running = self.model.of("running")
        return running[pick % len(running)]

    def _queue_one(self, org: str, agent: str, prio: int) -> None:
        number = len(self.model.items) + 1
        item = Item(
            org=org,
            id=f"t-{number:03}",
            agent=agent,
            prio=prio,
            vrt=self.model.next_place(org, prio),
            since=self.model.now,
        )
        self.model.items.append(item)
        self.runner.run(self._plant(item, number))

    async def _plant(self, item: Item, number: int) -> None:
        org = OrgId(item.org)
        vrt = await self.planted.next_place(org, item.prio)
        named: dict[str, Any] = {"id": TaskId(item.id), "number": number, "agent": item.agent}
        await self.planted.task(org, prio=item.prio, vrt=vrt, **named)

    def _set(self, item: Item, state: TaskState, *, wait: timedelta | None = None) -> None:
        item.state = state
        self.runner.run(self._write_state(item, state, wait))

    async def _write_state(self, item: Item, state: TaskState, wait: timedelta | None) -> None:
        at = None if wait is None else await self.planted.now() + wait
        values = {"state": state, "worker": None, "lease_until": None, "not_before": at}
        await self.planted.update("tasks", values, id=item.id)

    def _turn(self, what: str | tuple[str, str], *, paused: bool) -> None:
        """An organization, or an agent of one, is paused or is not."""
        (self.model.paused.add if paused else self.model.paused.discard)(what)
        if isinstance(what, str):
            state = OrgState.PAUSED if paused else OrgState.ACTIVE
            self.runner.run(self.planted.update("organizations", {"state": state}, id=what))
        else:
            org, agent = what
            self.runner.run(self.planted.pause(OrgId(org), agent, paused=paused))

    async def _empty(self) -> None:
        for table in ("tasks", "switches", "organizations"):
            await self.planted.delete(table)
        await self.planted.update("queue_floor", {"floor": 0})
        for org in ORGS:
            await self.planted.organization(org)


@pytest.mark.rule("T2", "T3")
def test_each_task_is_claimed_in_its_turn_whatever_is_paused_full_delayed_or_lost(planted: Planted) -> None:
    store = planted
    with asyncio.Runner() as runner:

        class Machine(QueueMachine):
            planted = store

        Machine.runner = runner
        try:
            run_state_machine_as_test(
                Machine,
                settings=settings(
                    max_examples=12,
                    stateful_step_count=25,
                    suppress_health_check=list(HealthCheck),
                    phases=[Phase.generate],  # shown as it was found: to shrink it takes minutes
                ),
            )
        finally:
            runner.run(planted.close())  # its connections are of this loop
