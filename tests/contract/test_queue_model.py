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
from sqlalchemy import bindparam, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.ids import SystemIds
from adapters.store import tables
from adapters.store.apply import next_place
from adapters.store.engine import Database
from adapters.store.queue import QueueSettings, SqlQueue
from adapters.store.rows import organization_row, task_row
from core.ids import OrgId, TaskId, WorkerId
from core.tasks import Prio
from tests.contract import factories as make

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

    db: Database
    runner: asyncio.Runner

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.queue = SqlQueue(self.db, QueueSettings(max_running=CAP, age_seconds=AGE * 60))
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
        self._set(self._running(pick), state="done")

    @precondition(lambda self: self.model.of("running"))
    @rule(pick=st.integers(0, 9))
    def delay(self, pick: int) -> None:
        item = self._running(pick)
        self._set(item, state="delayed", not_before=timedelta(minutes=DELAY))
        item.due = self.model.now + DELAY

    @rule()
    def pass_time(self) -> None:
        self.model.now += STEP
        self.runner.run(self._pass(timedelta(minutes=STEP)))

    @rule(limit=st.sampled_from((3, 100)))
    def recover(self, limit: int) -> None:
        self.model.recover(limit)
        self.runner.run(self.queue.recover(limit))

    @rule(org=st.sampled_from(ORGS), agent=st.sampled_from((*AGENTS, None)))
    def pause(self, org: str, agent: str | None) -> None:
        self.model.paused.add(org if agent is None else (org, agent))
        self._say_pauses()

    @precondition(lambda self: self.model.paused)
    @rule(pick=st.integers(0, 9))
    def resume(self, pick: int) -> None:
        paused = sorted(self.model.paused, key=str)
        self.model.paused.remove(paused[pick % len(paused)])
        self._say_pauses()

    @rule(org=st.sampled_from(ORGS), cap=st.integers(1, 3))
    def cap(self, org: str, cap: int) -> None:
        self.model.caps[org] = cap
        self._run("UPDATE organizations SET max_running = :cap WHERE id = :org", cap=cap, org=org)

    # ── what holds ───────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_rows_are_as_the_model_says(self) -> None:
        c = tables.tasks.c
        rows = self.runner.run(
            self.db.read(
                lambda conn: _all(conn, select(c.id, c.state, c.prio, c.vrt, c.aged, c.epoch, c.attempts))
            )
        )
        said = [(i.id, i.state, i.prio, i.vrt, i.aged, i.epoch, i.attempts) for i in self.model.items]
        assert sorted(rows) == sorted(said)

    def teardown(self) -> None:
        """Nothing blocks, nothing new comes: everything is claimed, each task within its turns."""
        self.model.paused.clear()
        self._say_pauses()
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
        at a place where its organization had its turn already.
        """
        first = {
            prio: min([self.model.floor[prio], *(i.vrt for i in self.model.of("queued") if i.prio == prio)])
            for prio in (0, 1)
        }
        late_comers = len(self.model.of("held"))
        turns = {0: 0, 1: 0}
        while waiting := [*self.model.of("queued"), *self.model.of("held")]:
            places = {item.id: (item.prio, item.vrt) for item in waiting}
            self.claim(1)
            (claimed,) = self.model.of("running")
            prio, vrt = places[claimed.id]
            turns[prio] += 1
            assert turns[prio] <= len(ORGS) * (vrt - first[prio] + 1) + late_comers, claimed
            self._finish_all()
            self.recover(100)
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
            self._set(item, state="done")

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
        row = task_row(make.task(org=OrgId(org), id=TaskId(item.id), number=number, agent=agent, prio=prio))
        placed = {"vrt": next_place(self.db, OrgId(org), prio), "queued_at": self.db.clock()}
        self._run(insert(tables.tasks).values({**row, **placed}))

    def _set(self, item: Item, *, state: str, not_before: timedelta | None = None) -> None:
        item.state = state
        self.runner.run(self._write_state(item, state, not_before))

    async def _write_state(self, item: Item, state: str, not_before: timedelta | None) -> None:
        c = tables.tasks.c

        async def body(conn: AsyncConnection) -> None:
            at = None if not_before is None else await self.db.now(conn) + not_before
            values = {"state": state, "worker": None, "lease_until": None, "not_before": at}
            await conn.execute(update(tables.tasks).where(c.id == item.id).values(values))

        await self.db.write(body)

    def _say_pauses(self) -> None:
        orgs = [one for one in self.model.paused if isinstance(one, str)]
        agents = [one for one in self.model.paused if not isinstance(one, str)]

        async def body(conn: AsyncConnection) -> None:
            o = tables.organizations
            await conn.execute(update(o).values(state="active"))
            await conn.execute(update(o).where(o.c.id.in_(orgs)).values(state="paused"))
            await conn.execute(text("DELETE FROM switches"))
            for org, agent in agents:
                values = {"org": org, "agent": agent, "paused_at": make.NOW}
                await conn.execute(insert(tables.switches).values(values))

        self.runner.run(self.db.write(body))

    async def _pass(self, time: timedelta) -> None:
        """Every time of every task is that much longer ago."""
        c = tables.tasks.c
        times = ("queued_at", "not_before", "lease_until")
        earlier = (
            update(tables.tasks)
            .where(c.id == bindparam("which"))
            .values({name: bindparam(f"{name}_then") for name in times})
        )

        async def body(conn: AsyncConnection) -> None:
            rows = (await conn.execute(select(c.id, c.queued_at, c.not_before, c.lease_until))).all()
            values = [
                {
                    "which": row.id,
                    **{f"{t}_then": at and at - time for t, at in zip(times, row[1:], strict=True)},
                }
                for row in rows
            ]
            if values:
                await conn.execute(earlier, values)

        await self.db.write(body)

    async def _empty(self) -> None:
        async def body(conn: AsyncConnection) -> None:
            for table in ("tasks", "switches", "organizations"):
                await conn.execute(text(f"DELETE FROM {table}"))
            await conn.execute(text("UPDATE queue_floor SET floor = 0"))
            rows = [organization_row(make.organization(id=OrgId(org)), make.NOW) for org in ORGS]
            await conn.execute(insert(tables.organizations), rows)

        await self.db.write(body)

    def _run(self, statement: Any, **values: Any) -> None:
        wanted = text(statement) if isinstance(statement, str) else statement
        self.runner.run(self.db.write(lambda conn: _done(conn, wanted, values)))


async def _all(conn: AsyncConnection, query: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await conn.execute(query)]


async def _done(conn: AsyncConnection, statement: Any, values: dict[str, Any]) -> None:
    await conn.execute(statement, values)


@pytest.mark.rule("T2", "T3")
def test_each_task_is_claimed_in_its_turn_whatever_is_paused_full_delayed_or_lost(migrated_url: str) -> None:
    with asyncio.Runner() as runner:
        opened = Database(migrated_url, ids=SystemIds(), audit_key=make.AUDIT_KEY)

        class Machine(QueueMachine):
            db = opened

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
            runner.run(opened.close())
