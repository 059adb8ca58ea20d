"""Memory and databases are asked the same things in the same order, at random, and answer the same.

The tests beside this one say what is right; this one finds what nobody thought to say. Times and what
is made of them (HMACs, hashes) are left out, and so are the ids that a store draws for itself.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

import pytest

from core.calls import CallState, Outcome
from core.errors import GatepostError
from core.gate import Setting
from core.ids import CallCode, CallId, EventKey, OrgId, ParkId, PostId, Run, TaskId, TaskRef, Token, WorkerId
from core.parks import ParkKind, ParkState
from core.people import Account, Person, Role, Route
from core.ports import Dead, Due, Ignored, Later, Maybe, Query, Retry, Sent
from core.rights import Rights
from core.roster import KEPT, Link, Remove, SetRoles, SetRoute, SetRule
from core.switches import Choose, Limit, Pause, Practice, Resume
from core.tasks import MessageKind, TaskState
from core.work import Move, Need, NewMessage, PostIntent, PostKind, Reach, Reached, Spend, TaskEvent, Work
from tests.contract import factories as make
from tests.contract.moves import read
from tests.contract.planted import BORN_AT, FAR, Planted
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted

ORGS = (OrgId("a"), OrgId("b"))
AGENTS = ("helper", "mailer")
WORKERS = (WorkerId("w1"), WorkerId("w2"))
ONLY_SQL = ("schema_ver", "result_blob")
"""Columns the store in memory does without."""
TABLES = (
    "tasks",
    "messages",
    "calls",
    "parks",
    "posts",
    "inbox",
    "usage",
    "reach_keys",
    "events",
    "queue_floor",
    "audit",
    "switches",
    "rights",
)
DRAWN = {"at", "id", "mac", "hash", "prev_hash"}
"""Of audit entries, events and posts: what a store draws, or makes of its time."""
STEPS = 100
FEW = Rights(tools=("note",))
RIGHTS = (FEW, Rights(tools=("refund", "note"), settings=(("spend", "ask"), ("note", "allow"))))
PLANTED = [make.task(org=ORGS[n % 2], id=TaskId(f"t{n:02}"), number=90 + n, vrt=n) for n in range(4)]
LIKELY = {"calls": 0.2, "parks": 0.2, "applied": 0.05, "assigned": 0.1}
"""Of what a change writes: where more is often refused, and a change that is refused says little."""


class Asked:
    """What is asked, drawn from *rng*; the same for each store, which may name its posts otherwise."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tasks = len(PLANTED)
        self.names = 0
        self.events = 0
        acts = [self.receive] * 4 + [self.offer, self.settle, self.open, self.open, self.open, self.claim]
        acts += [self.claim, self.beat, self.recover, self.recover, self.lease, self.drop, self.pause]
        acts += [
            self.post,
            self.learn,
            self.copied,
            self.reroute,
            self.rename,
            self.find,
            self.look,
            self.due,
            self.seal,
        ]
        acts += [self.cap, self.wait, self.wait]
        acts += [self.switch, self.switch, self.rights, self.accept, self.who, self.roster]
        self.acts: list[Callable[[], Act]] = acts + [self.change] * 20

    def __call__(self) -> "Act":
        act: Act = self.rng.choice(self.acts)()
        return act

    def one(self, *of: Any) -> Any:
        return self.rng.choice(of)

    # ── names ────────────────────────────────────────────────────────────────────────────────

    def key(self) -> EventKey:
        n = self.rng.randrange(max(1, self.events - 4), self.events + 2)  # one of the last, or the next
        return EventKey(source="slack", event_id=f"e{n:02}")

    def task(self) -> TaskRef:
        n = self.rng.randrange(min(6, self.tasks))
        return TaskRef(org=ORGS[n % 2], task_id=TaskId(f"t{n:02}"))

    def person(self) -> Person:
        return make.person(org=self.one(*ORGS))

    def token(self) -> Token:
        return Token(f"token-{self.rng.randrange(12)}")

    # ── acts ─────────────────────────────────────────────────────────────────────────────────

    def receive(self) -> "Act":
        self.events += 1
        event = make.event(key=self.key(), org=self.one(None, *ORGS), received_at=None)
        return lambda on: on.store.inbox.receive(event)

    def offer(self) -> "Act":
        n, seconds = self.one(1, 3), self.one(-1, 900)
        return lambda on: on.store.inbox.take(n, seconds)

    def settle(self) -> "Act":
        key = self.key()
        outcome = self.one(Ignored(), Retry(seconds=-1), Retry(seconds=900), Dead(error="no"))
        return lambda on: on.store.inbox.settle(key, outcome)

    def open(self) -> "Act":
        n = self.tasks
        self.tasks += 1
        new = make.new_task(
            org=ORGS[n % 2],
            id=TaskId(f"t{n:02}"),
            agent=self.one(*AGENTS),
            prio=self.one(0, 1),
            surface=self.one("slack", "slack", None),
        )
        cause = make.cause(key=self.key())
        return lambda on: on.store.tasks.open(new, cause)

    def claim(self) -> "Act":
        worker, seconds = self.one(*WORKERS), self.one(-1, 900)
        # Enough for all: what a claim of few holds beyond what it takes is no promise.
        return lambda on: on.store.queue.claim(worker, 50, seconds)

    def beat(self) -> "Act":
        ref, worker, epoch, seconds = self.task(), self.one(*WORKERS), self.one(1, 2), self.one(-1, 900)
        run = Run(org=ref.org, task_id=ref.task_id, epoch=epoch, worker=worker)
        return lambda on: on.store.queue.heartbeat(worker, [run], seconds)

    def recover(self) -> "Act":
        async def act(on: Planted) -> Any:
            # In no order that is promised, but which ones they are is.
            return sorted(ref.task_id for ref in await on.store.queue.recover(50))

        return act

    def cap(self) -> "Act":
        org, max_running = self.one(*ORGS), self.one(None, 1, 2, 3)
        by = make.person(org=org)
        return lambda on: on.store.people.switch(by, org, None, Limit(max_running))

    def wait(self) -> "Act":
        """A task has waited long, if it waits."""
        ref = self.task()
        since = BORN_AT + timedelta(seconds=self.rng.randrange(99))
        return lambda on: on.update("tasks", {"queued_at": since}, org=ref.org, id=ref.task_id)

    def lease(self) -> "Act":
        holder, seconds = self.one(*WORKERS), self.one(-1, 900)
        return lambda on: on.store.leases.take("leader", holder, seconds)

    def drop(self) -> "Act":
        epoch = self.one(1, 2, 3)
        return lambda on: on.store.leases.drop("leader", epoch)

    def pause(self) -> "Act":
        org, agent, paused = self.one(*ORGS), self.one(*AGENTS), self.one(True, False, False)
        return lambda on: on.pause(org, agent, paused=paused)

    def post(self) -> "Act":
        n, seconds, rev = self.one(1, 5), self.one(-1, 900), self.one(0, 0, -1)
        outcome = self.one(
            Sent(chat_ref="m1"),
            Maybe(),
            Later(seconds=-9),
            Later(seconds=900, counts=False),
            Dead(error="no"),
        )

        async def act(on: Planted) -> Any:
            taken = await on.store.outbox.take(n, "slack", seconds)
            for post in taken[:1]:
                await on.store.outbox.settle(post.id, post.org, post.rev + rev, outcome)
            return [replace(post, id=PostId("")) for post in taken]

        return act

    def learn(self) -> "Act":
        token, surface = self.token(), self.one("slack", "telegram")
        return lambda on: on.store.outbox.learn(token, surface, "m2")

    def copied(self) -> "Act":
        token, to = self.token(), Route(surface="slack", ref=self.one("C2", "C3"))
        ref = f"{to.ref}:{self.rng.randrange(9)}"
        return lambda on: on.store.outbox.copied(token, to, ref)

    def reroute(self) -> "Act":
        to = self.one(None, Route(surface="slack", ref="C2"), Route(surface="slack", ref="C3"))

        async def act(on: Planted) -> Any:
            taken = await on.store.outbox.take(1, "slack", -1)
            for post in taken * 2:  # said twice, it is done once
                await on.store.outbox.reroute(post, to, "gone")
            return [replace(post, id=PostId("")) for post in taken]

        return act

    def rename(self) -> "Act":
        old, new = self.one(("C1", "C9"), ("C9", "C1"), ("C2", "C1"))
        return lambda on: on.store.outbox.move("slack", old, new)

    def find(self) -> "Act":
        who = self.person()
        code = CallCode(
            task_number=self.one(90, 91, 92), call_number=self.one(1, 2), version=self.one(None, 1, 2)
        )
        key = self.one(self.token(), code)
        return lambda on: on.store.parks.find(who, key)

    def look(self) -> "Act":
        ref, org = self.task(), self.one(*ORGS)
        query = Query(
            number=self.one(None, 1),
            states=frozenset(self.rng.sample(list(TaskState), self.one(0, 3))),
            agent=self.one(None, *AGENTS),
            limit=self.one(1, 9),
        )
        looks: tuple[Act, ...] = (
            lambda on: on.store.ledger.story(ref),
            lambda on: on.store.tasks.transcript(ref, 1),
            lambda on: on.store.ledger.find(org, query),
            lambda on: on.store.parks.waiting_for(make.person(org=org), 9),
        )
        return self.rng.choice(looks)

    def due(self) -> "Act":
        kind, n = self.one(*Due), self.one(1, 9)
        return lambda on: on.store.parks.due(kind, n)

    def seal(self) -> "Act":
        org, n = self.one(*ORGS), self.one(1, 9)
        return lambda on: on.store.ledger.seal(org, n)

    # ── people ───────────────────────────────────────────────────────────────────────────────

    def switch(self) -> "Act":
        by, agent = self.person(), self.one(None, *AGENTS)
        org = self.one(by.org, by.org, *ORGS)
        over = Choose(self.one("spend", "refund"), self.one(None, *Setting))
        to = self.one(Pause(), Resume(), Resume(), Resume(), Practice(on=True), Practice(on=False), over)
        return lambda on: on.store.people.switch(by, org, agent, to, surface="slack")

    def rights(self) -> "Act":
        org, agent, was, now = self.one(*ORGS), self.one(*AGENTS), self.one(None, *RIGHTS), self.one(*RIGHTS)

        async def act(on: Planted) -> Any:
            kept = await on.store.people.keep_rights(org, agent, was, now, digest="d1", actor="worker:w1")
            return kept, await on.store.people.rights(org, agent)

        return act

    def accept(self) -> "Act":
        by, agent = self.person(), self.one(*AGENTS)
        org = self.one(by.org, by.org, *ORGS)
        was, now = self.one(*RIGHTS), self.one(*RIGHTS)
        return lambda on: on.store.people.accept(by, org, agent, was, now, digest="d2")

    def roster(self) -> "Act":
        by = self.person()
        org, what, surface = self.one(by.org, by.org, *ORGS), self.one("any", "spend"), self.one("slack", "S")
        route = self.one(None, Route(surface=surface, ref=self.one("C1", "C2")))
        who = self.one(KEPT, None, ("owner",), (by.id,), ("p-9",))
        to = self.one(
            Link(by.id, Account(surface=surface, ref="U1")),
            SetRoles(by.id, frozenset(self.rng.sample(list(Role), self.one(0, 1, 2)))),
            SetRule(what=what, who=who, self_approval=self.one(KEPT, None, True, False)),
            SetRoute(self.one("", *AGENTS), route, self.one((), (), (Route(surface="telegram", ref="-1"),))),
            Remove(by.id),
        )

        async def act(on: Planted) -> Any:
            saved = await on.store.people.save(by, org, to, surface="slack")
            return saved, await on.store.people.everywhere(Account(surface="slack", ref="U1"))

        return act

    def who(self) -> "Act":
        org = self.one(*ORGS)

        async def act(on: Planted) -> Any:
            return await on.store.people.of(org), await on.store.people.switches(org)

        return act

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def change(self) -> "Act":
        ref = self.task()
        need = Need(
            call=self.one(None, CallId(f"{ref.task_id}-c1")),
            token=self.one(None, self.token()),
            event_id=self.one(None, "click-1"),
            effect_key=self.one(None, "key-1"),
            sent_key=self.one(None, "key-1"),
            event=self.one(None, self.key()),
            unread=True,
            roster=self.one(True, False),
            usage=self.one(True, False),
        )
        move = self.one(read, self.moved(ref), self.moved(ref), self.moved(ref))
        return lambda on: on.store.tasks.change(ref, move, need)

    def moved(self, ref: TaskRef) -> Move[Work]:
        fields = self.fields()
        over: dict[str, Any] = {}
        drawn = self.written(ref)
        for name, value in drawn.items():
            if self.rng.random() < LIKELY.get(name, 0.3):
                over[name] = (value,)
        if "parks" in over:
            over["calls"] = (drawn["calls"],)  # a park is never of a call that is not there
        return lambda work, at: (make.change(replace(work.task, **fields), **over), work)

    def fields(self) -> dict[str, Any]:
        state = self.one(None, None, *TaskState)
        drawn = {"prio": self.one(0, 1), "round": self.one(1, 1, 2), "strikes": self.one(0, 1)}
        if state is not None:
            drawn["state"] = state
            drawn["not_before"] = self.one(BORN_AT, BORN_AT + FAR) if state is TaskState.DELAYED else None
        return drawn

    def written(self, ref: TaskRef) -> dict[str, Any]:
        self.names += 1
        number = self.one(1, 2, 3)
        own = {"org": ref.org, "task_id": ref.task_id}
        state = self.one(*CallState)
        settled = state is CallState.SETTLED
        call = make.call(
            **own,
            id=CallId(f"{ref.task_id}-c{number}"),
            number=number,
            round=self.one(None, 1),
            ordinal=self.one(number, 1),
            state=state,
            outcome=self.one(*Outcome) if settled else None,
            result=self.one({"value": 1.5}, {"value": (1, None)}, None) if settled else None,
            effect_key=self.one(None, "key-1", "key-2"),
            sent_key=self.one(None, "key-1"),
            marked_at=self.one(None, BORN_AT - FAR, BORN_AT + FAR, BORN_AT + FAR),
            resend_of=self.one(None, CallId(f"{ref.task_id}-c1")),
        )
        park_state = self.one(*ParkState)
        at = BORN_AT + timedelta(seconds=self.rng.randrange(99))
        park = make.park(
            **own,
            id=ParkId(f"{ref.task_id}-p{self.one(1, 2, 3)}"),
            token=self.token(),
            call_id=self.one(None, call.id),
            version=self.one(1, 2),
            kind=self.one(ParkKind.APPROVAL, ParkKind.UNKNOWN),
            state=park_state,
            created_at=at,
            expires_at=self.one(None, at, at + FAR),
            remind_at=self.one(None, at),
            event_id=self.one(None, None, "click-1", f"click-{self.names}"),
            decided_at=at if park_state is ParkState.DECIDED else None,
        )
        return {
            "messages": NewMessage(kind=self.one(*MessageKind), body={"n": self.names}),
            "calls": call,
            "parks": park,
            "posts": PostIntent(
                kind=self.one(*PostKind),
                dedup_key=f"post-{self.rng.randrange(4)}",
                episode=1,
                round=self.one(None, 1),
                body=self.one(None, {"n": self.names}),
                prio=self.one(0, 1),
                once=self.one(True, False, False),
            ),
            "news": make.event(key=self.key(), org=None, task_id=self.one(None, TaskId("t00"))),
            "applied": self.key(),
            "assigned": self.key(),
            "spend": Spend(hour=BORN_AT, reserved=self.one(1, 2), used=3),
            "events": TaskEvent(name=f"n{self.names}"),
            "reach": Reach(
                to=Reached(
                    surface="mail", address=self.one("a@x.test", "b@x.test"), thread_ref=self.one("", "7")
                ),
                call_id=call.id,
                until=at,
            ),
        }


Act = Callable[[Planted], Awaitable[Any]]


async def answer(act: Act, on: Planted) -> Any:
    """What the store answers, or which error it raises."""
    try:
        return plain(await act(on))
    except GatepostError as error:
        return type(error).__name__


def plain(value: Any) -> Any:
    """*value* without what is the store's own: times, and what is made of them."""
    if isinstance(value, datetime):
        return "a time"
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        named = {f.name: getattr(value, f.name) for f in fields(value)}
        return (type(value).__name__, plain_row(named, kept="task_id" not in named or "state" in named))
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def plain_row(row: dict[str, Any], *, kept: bool) -> dict[str, Any]:
    left_out = {"hash", "prev_hash", "mac"} if kept else DRAWN
    return {name: plain(one) for name, one in row.items() if name not in left_out}


async def rows_of(on: Planted, table: str) -> list[str]:
    """The rows in an order of their own, by the columns that a database and memory both have."""
    drawn = table in ("audit", "events", "posts")
    found = [plain_row(row, kept=not drawn) for row in await on.table(table)]
    for row in found:
        for column in (*ONLY_SQL, "epoch" if table == "posts" else ""):
            row.pop(column, None)
    said = [row for row in found if table != "usage" or row["used"]]  # an hour without use is only a lock
    return sorted(repr(sorted(row.items())) for row in said)


@pytest.mark.parametrize("seed", range(12))
async def test_memory_and_a_database_answer_alike(sql: SqlPlanted, seed: int) -> None:
    asked, memory = Asked(seed), MemoryPlanted()
    both: tuple[Planted, Planted] = (memory, sql)
    for on in both:
        for org in ORGS:
            await on.organization(org)
            await on.save(make.person(org=org))
        await on.save(*PLANTED)
    for step in range(STEPS):
        act = asked()
        mine, theirs = [await answer(act, on) for on in both]
        assert mine == theirs, f"seed {seed}, step {step}"
    for table in TABLES:
        mine, theirs = [await rows_of(on, table) for on in both]
        assert mine == theirs, f"seed {seed}, {table}"
    assert await memory.count("audit") > 10  # there was something to compare
