"""What is outside of a process, and so outlives it: the database, the provider, the chat, the owner.

And `Life`, one process over them: a store, a worker, a poster and the owner's clicks, until nothing is
left to do. A second life finds what the first one left, by rows alone.
"""

import asyncio
import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Executable, Table, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store import SqlStore, open_store
from adapters.store.rows import organization_row, person_row
from adapters.store.tables import (
    audit,
    calls,
    inbox,
    leases,
    organizations,
    parks,
    people,
    posts,
    tasks,
    usage,
)
from core.agents import Agent
from core.audit import Verified, verify
from core.canonical import dump, load
from core.decisions import Answering, Desk
from core.errors import AlreadyDecided, DecisionError, ToolFailed
from core.host import BaseHost
from core.ids import CallId, EventKey, OrgId, PersonId, Run, WorkerId
from core.model import ModelReply, Request
from core.moves.ends import stop
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.people import Organization, Person, Role
from core.plan import RunState, Step
from core.ports import Ids, ParkView, Query, Story
from core.poster import Poster
from core.rendering import View
from core.tasks import Json, Task
from core.testing import ByHistory, CountingIds, ManualClock
from core.tools import Tool, ToolContext, tool
from core.work import Event, EventKind
from core.worker import Worker
from tests.crash.mortal import Died, Endless, Mortal, MortalModel, MortalStore, MortalSurface, Wire
from tests.crash.scenarios import Answer, Scenario, Stop

AUDIT_KEY = b"a key that is only for tests"
SURFACE = "chat"
GOAL = "See to order A7."
ROUNDS = 12
"""Of work and clicks; no scenario needs half of them (I20)."""
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


# ── what is written down outside ─────────────────────────────────────────────────────────────


class Journal(Protocol):
    """What the provider, the model's service and the chat saw, in order."""

    def write(self, kind: str, **facts: Json) -> None: ...
    def read(self, kind: str) -> list[dict[str, Json]]: ...
    def told(self) -> list[str]: ...


class MemoryJournal:
    """A journal for processes that are only played."""

    def __init__(self) -> None:
        self._lines: list[tuple[str, dict[str, Json]]] = []

    def write(self, kind: str, **facts: Json) -> None:
        self._lines.append((kind, facts))

    def read(self, kind: str) -> list[dict[str, Json]]:
        return [facts for of, facts in self._lines if of == kind]

    def told(self) -> list[str]:
        """All of it."""
        return [f"{kind} {facts}" for kind, facts in self._lines]


class FileJournal:
    """A journal that survives a real kill."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, kind: str, **facts: Json) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(f"{dump({'kind': kind, 'facts': facts})}\n".encode())
            os.fsync(file.fileno())

    def read(self, kind: str) -> list[dict[str, Json]]:
        lines = [load(line) for line in self.told()]
        return [line["facts"] for line in lines if line["kind"] == kind]

    def told(self) -> list[str]:
        """All of it."""
        return self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []


# ── the database, from outside ───────────────────────────────────────────────────────────────


def opened(url: str, ids: Ids) -> SqlStore:
    """A store of its own, as a process opens it."""
    store = open_store(url, audit_key=AUDIT_KEY, ids=ids)
    assert isinstance(store, SqlStore)
    return store


def _wired(store: SqlStore) -> tuple[SqlStore, Wire]:
    return store, Wire(store)


class Ground:
    """One migrated database, seen from outside of every process that works on it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.store = opened(url, CountingIds(first=9_000_000_000))
        self.wire = Wire(self.store)
        self._spare: list[tuple[SqlStore, Wire]] = []

    async def close(self) -> None:
        for store, _ in self._spare:
            await store.close()
        await self.store.close()

    def lend(self, ids: Ids) -> tuple[SqlStore, Wire]:
        """A store for one process.

        An earlier process may have had it: what it keeps are compiled statements, half the time of a
        short life, and connections if that process left well. (Processes that share nothing are in
        test_sigkill.py.)
        """
        store, wire = self._spare.pop() if self._spare else _wired(opened(self.url, ids))
        store.db.ids = ids
        return store, wire

    async def give_back(self, store: SqlStore, wire: Wire, *, cut: bool) -> None:
        """The process is over; its connections are *cut* already, or the next one's."""
        if cut:
            await store.db.engine.dispose(close=False)
            wire.forget()
        self._spare.append((store, wire))

    async def rows(self, query: Any) -> list[dict[str, Any]]:
        async def body(conn: AsyncConnection) -> list[dict[str, Any]]:
            return [dict(row) for row in (await conn.execute(query)).mappings()]

        return await self.store.db.read(body)

    async def run(self, *statements: Executable) -> None:
        async def body(conn: AsyncConnection) -> None:
            for statement in statements:
                await conn.execute(statement)

        await self.store.db.write(body)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """The rows of a world at one moment. *posts*: the state and revisions of each."""

    story: Story | None
    tasks: int
    posts: tuple[dict[str, Any], ...]
    inbox: tuple[str, ...]
    trail: Verified


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What the rows said of a call at the moment it reached the provider."""

    state: str
    epoch: int | None
    task_state: str
    task_epoch: int
    marks: int  # audit entries that it was marked


class World:
    """One organization on the ground, and one scenario to be played in it. *number* sets worlds apart."""

    def __init__(self, ground: Ground, scenario: Scenario, number: int, journal: Journal) -> None:
        self.ground = ground
        self.scenario = scenario
        self.number = number
        self.journal = journal
        self.org = OrgId(f"org-{number}")
        boss, deputy = frozenset({Role.OWNER}), frozenset({Role.APPROVER})
        self.owner = Person(org=self.org, id=PersonId(f"owner-{number}"), name="Ada", roles=boss)
        self.other = Person(org=self.org, id=PersonId(f"other-{number}"), name="Ben", roles=deputy)
        self.hand = Hand(self)

    async def found(self) -> None:
        """The organization and its people exist."""
        organization = organization_row(Organization(id=self.org, name="Bakery"), LONG_AGO)
        persons = [person_row(self.owner), person_row(self.other)]
        await self.ground.run(
            insert(organizations).values(organization), *(insert(people).values(row) for row in persons)
        )
        await self.wait()  # the last world's leader is gone

    async def retire(self) -> None:
        """The organization is gone with whatever is left to do in it: later worlds have no work with it."""
        await self.ground.run(
            delete(organizations).where(organizations.c.id == self.org),
            *(delete(table).where(table.c.org == self.org) for table in (inbox, tasks, parks, posts)),
        )

    async def wait(self) -> None:
        """As if time had passed: leases, delays and what is hidden for a while are over."""
        await self.ground.run(
            _since(tasks, tasks.c.org == self.org, tasks.c.lease_until),
            _since(tasks, tasks.c.org == self.org, tasks.c.not_before),
            _since(inbox, inbox.c.org == self.org, inbox.c.due_at),
            _since(posts, posts.c.org == self.org, posts.c.due_at),
            _since(leases, leases.c.name == "seal", leases.c.expires_at),
        )

    async def look(self) -> Sight:
        """The rows as they stand now."""
        ledger = self.ground.store.ledger
        found = await ledger.find(self.org, Query())
        story = await ledger.story(found[0].ref) if found else None
        columns = posts.c["kind", "rev", "sent_rev", "state", "dedup_key"]
        came = await self.ground.rows(select(inbox.c.state).where(inbox.c.org == self.org))
        return Sight(
            story=story,
            tasks=len(found),
            posts=tuple(await self.ground.rows(select(*columns).where(posts.c.org == self.org))),
            inbox=tuple(row["state"] for row in came),
            trail=verify(
                AUDIT_KEY,
                await ledger.audit(self.org, 0, 10_000),
                await ledger.unsealed(self.org, 10_000),
                await ledger.head(self.org),
            ),
        )

    async def reserved(self) -> int:
        """Tokens that are reserved and neither used nor given back."""
        total = select(func.coalesce(func.sum(usage.c.reserved), 0).label("tokens"))
        (row,) = await self.ground.rows(total.where(usage.c.org == self.org))
        return int(row["tokens"])

    async def seen(self, call_id: CallId) -> Seen:
        """The committed rows of a call, by a connection of nobody's."""
        marks = select(func.count()).where(audit.c.call_id == call_id, audit.c.move == "mark")
        (row,) = await self.ground.rows(
            select(
                calls.c.state,
                calls.c.epoch,
                tasks.c.state.label("task_state"),
                tasks.c.epoch.label("task_epoch"),
                marks.scalar_subquery().label("marks"),
            )
            .join(tasks, (tasks.c.org == calls.c.org) & (tasks.c.id == calls.c.task_id))
            .where(calls.c.org == self.org, calls.c.id == call_id)
        )
        return Seen(**row)


def _since(table: Table, which: ColumnElement[bool], deadline: Any) -> Executable:
    return update(table).where(which, deadline.is_not(None)).values({deadline: LONG_AGO})


# ── who is outside ───────────────────────────────────────────────────────────────────────────


class Hand:
    """The owner's hand: answers cards, clicks again where an answer got lost, stops the task.

    After each decision somebody else presses the opposite button of the same card; that must not count.
    Unknown cards are answered by the truth: what the provider has. *knows* False: not yet.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.knows = True
        self.stopped = False
        self._pressed: tuple[ParkView, Decision, Mapping[str, Json]] | None = None

    @property
    def holds(self) -> str:
        """What it would do next that no row tells of."""
        pressed = self._pressed and (self._pressed[0].park.token, *self._pressed[1:])
        return f"{self.stopped} {self.knows} {pressed}"

    async def acts(self, desk: Desk) -> bool:
        """Whether anything was pressed."""
        acted = await self._press_again(desk)
        views = await desk.store.parks.waiting_for(self.world.owner, 50)
        for view in views:
            if (answer := self._answer(view)) is not None:
                await self._press(desk, view, *answer)
                await self._press_against(desk, view, answer[0])
                acted = True
        if views and not acted and self.world.scenario.stop is not None and not self.stopped:
            await self.stop(desk, views[0].task)
            return True
        return acted

    async def stop(self, desk: Desk, task: Task) -> None:
        await desk.store.tasks.change(task.ref, stop(self.world.owner.id, surface=SURFACE))
        self.stopped = True

    def _answer(self, view: ParkView) -> tuple[Decision, Mapping[str, Json]] | None:
        assert view.call is not None
        if view.park.kind is ParkKind.UNKNOWN:
            return (_chosen(self._truth(view.call.id)), {}) if self.knows else None
        said = self.world.scenario.answers.get(view.call.tool)
        return None if said is None else (_decision(said), said.changes)

    def _truth(self, call_id: CallId) -> Choice:
        sent = {a["call"] for a in self.world.journal.read("arrival") if a["accepted"]}
        return Choice.WENT_OUT if call_id in sent else Choice.DID_NOT

    async def _press(
        self, desk: Desk, view: ParkView, decision: Decision, changes: Mapping[str, Json]
    ) -> None:
        self._pressed = (view, decision, changes)
        by = Answering(who=self.world.owner, surface=SURFACE, event_id=f"click:{view.park.token}")
        await desk.decide(by, await desk.find(by.who, view.park.token), decision, changes=changes)
        self._pressed = None

    async def _press_again(self, desk: Desk) -> bool:
        """A click whose answer was lost is pressed once more; the same click, so it counts once."""
        if self._pressed is None:
            return False
        view, decision, changes = self._pressed
        by = Answering(who=self.world.owner, surface=SURFACE, event_id=f"click:{view.park.token}")
        try:
            await desk.decide(by, view, decision, changes=changes)
        except AlreadyDecided as late:
            self.world.journal.write("lost_click", token=view.park.token, words=str(late))
        self._pressed = None
        return True

    async def _press_against(self, desk: Desk, view: ParkView, decision: Decision) -> None:
        by = Answering(who=self.world.other, surface=SURFACE, event_id=f"rival:{view.park.token}")
        try:
            await desk.decide(by, view, _opposite(decision))
        except AlreadyDecided:
            return  # told who decided, and when
        except DecisionError as refused:
            self.world.journal.write("rival_misled", token=view.park.token, words=str(refused))
        else:
            self.world.journal.write("rival_won", token=view.park.token)


def _decision(answer: Answer) -> Decision:
    return Decision(kind=answer.kind, reason=answer.reason)


def _chosen(choice: Choice) -> Decision:
    return Decision(kind=DecisionKind.CHOICE, choice=choice)


def _opposite(decision: Decision) -> Decision:
    if decision.choice is not None:
        return _chosen(Choice.SEND_AGAIN)
    declined = decision.kind is DecisionKind.DECLINE
    return Decision(kind=DecisionKind.APPROVE if declined else DecisionKind.DECLINE)


class WatchedModel:
    """Plays the scenario's script; what it was asked is in the journal, also what broke I3."""

    def __init__(self, scenario: Scenario, journal: Journal) -> None:
        self._script = ByHistory(scenario.script)
        self._journal = journal

    async def reply(self, request: Request) -> ModelReply:
        turns = [[turn.role, turn.text, turn.call_id, [c.id for c in turn.calls]] for turn in request.turns]
        self._journal.write("asked", place=sum(t.role == "assistant" for t in request.turns), turns=turns)
        try:
            return await self._script.reply(request)
        except AssertionError as error:
            self._journal.write("broken", words=str(error))
            raise


class Chat:
    """Shows everything, and names it by count."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def post(self, view: View, route: str) -> str:
        ref = f"m{len(self._journal.read('posted')) + 1}"
        self._journal.write("posted", ref=ref, what=type(view).__name__)
        return ref

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        self._journal.write("updated", ref=chat_ref, what=type(view).__name__)
        return chat_ref


class Shop(BaseHost):
    """The app: its tools speak to a provider that writes down whatever reaches it."""

    def __init__(self, life: "Life") -> None:
        scenario = life.world.scenario
        self.tools = TOOLS
        self.agents = {
            "clerk": Agent(key="clerk", name="Clerk", tools=tuple(TOOLS), settings=scenario.settings)
        }
        self.model = MortalModel(life.mortal, WatchedModel(scenario, life.world.journal))

    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        return f"{tool.name}:{args.get('to') or args.get('order_id') or args.get('name')}"


LIFE: ContextVar["Life"] = ContextVar("the process whose tool is called")


async def _send(name: str, args: Json, context: ToolContext) -> str:
    """One call to the provider; its answer, where it gives one."""
    life = LIFE.get()
    world, scenario = life.world, life.world.scenario
    accepted = name not in scenario.refusing

    async def arrive() -> None:
        seen = asdict(await world.seen(context.call_id))
        facts = {"tool": name, "args": args, "call": context.call_id, "accepted": accepted, "seen": seen}
        world.journal.write("arrival", **facts)

    await life.mortal.call("provider.send", arrive)
    if not accepted:
        raise ToolFailed("the provider does not know them", sent=False)
    if scenario.stop is Stop.SENDING and not world.hand.stopped:
        task = (await world.ground.store.ledger.find(world.org, Query()))[0]
        await world.hand.stop(life.desk, task)
    if name in scenario.silent:
        await life.clock.go_by(10_000)
    return "done"


async def _reachable(to: str) -> None:
    life = LIFE.get()

    async def answer() -> None:
        life.world.journal.write("checked", to=to)

    await life.mortal.call("provider.check", answer)


@tool(risk="read")
async def read_order(order_id: str, context: ToolContext) -> object:
    """Read an order."""
    life = LIFE.get()

    async def answer() -> Json:
        life.world.journal.write("read", order_id=order_id, call=context.call_id)
        return {"order_id": order_id, "state": "open"}

    return await life.mortal.call("provider.read", answer)


@tool(risk="contact", check=_reachable)
async def send_note(to: str, text: str, context: ToolContext) -> object:
    """Write to a customer."""
    return await _send("send_note", {"to": to, "text": text}, context)


@tool(risk="spend")
async def refund(order_id: str, amount: Decimal, context: ToolContext) -> object:
    """Give money back."""
    return await _send("refund", {"order_id": order_id, "amount": amount}, context)


@tool(risk="remove")
async def delete_tag(name: str, context: ToolContext) -> object:
    """Delete a tag."""
    return await _send("delete_tag", {"name": name}, context)


TOOLS = {t.name: t for t in (read_order, send_note, refund, delete_tag)}


class StillClock(ManualClock):
    """Time stands still, so that chores never come round by themselves and calls keep their order."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()

    async def go_by(self, seconds: float) -> None:
        """It is *seconds* later, time-outs on the way included."""
        await ManualClock.sleep(self, seconds)


# ── one process ──────────────────────────────────────────────────────────────────────────────


class Life:
    """One process of the bot in *world*, whose every call to the outside is one of *mortal*'s."""

    def __init__(self, world: World, mortal: Mortal, number: int) -> None:
        self._others = asyncio.all_tasks()
        self.world = world
        self.mortal = mortal
        self.clock = StillClock(datetime.now(UTC))
        ids = CountingIds(first=world.number * 1_000_000 + number * 10_000)
        self.real, self.wire = world.ground.lend(ids)
        mortal.cut = self.wire.cut
        self.desk = Desk(store=MortalStore(mortal, self.real), host=Shop(self), ids=ids)
        surface = MortalSurface(mortal, Chat(world.journal))
        self.worker = Worker(
            desk=self.desk,
            clock=self.clock,
            worker_id=WorkerId(f"worker-{world.number}-{number}"),
            on_step=self._beat_once,
            posters=[Poster(desk=self.desk, clock=self.clock, name=SURFACE, surface=surface)],
        )
        self._has_beaten = False

    async def live(self) -> None:
        """Until nothing is left to do. Raises Died, and Endless where it does not come to an end."""
        LIFE.set(self)
        await self.receive()
        for _ in range(ROUNDS):
            await self.worker.until_idle()
            if not await self.world.hand.acts(self.desk):
                return
        raise Endless(f"there is still something to do after {ROUNDS} rounds")

    async def _beat_once(self, _: Step, state: RunState) -> None:
        """The lease is renewed in front of the first step; the chore itself waits for the clock."""
        if not self._has_beaten:
            self._has_beaten = True
            worker, task = self.worker.worker_id, state.task
            run = Run(org=task.org, task_id=task.id, epoch=task.epoch, worker=worker)
            await self.desk.store.queue.heartbeat(worker, [run], self.worker.lease_seconds)

    async def receive(self) -> None:
        """The owner's message is in the inbox. A surface that gets no answer sends it once more."""
        message = Event(
            key=EventKey(source=SURFACE, event_id=f"message-{self.world.number}"),
            org=self.world.org,
            kind=EventKind.MESSAGE,
            body={"text": GOAL, "person": self.world.owner.id, "surface": SURFACE, "thread": "C1"},
        )
        await self.desk.store.inbox.receive(message)

    async def end(self) -> None:
        """Nothing of this process is left: what a death let run is over, its store is given back."""
        left: set[asyncio.Task[object]] = set()
        if self.mortal.dead:
            left = asyncio.all_tasks() - self._others - {asyncio.current_task()}
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.world.ground.give_back(self.real, self.wire, cut=self.mortal.dead)


async def play(world: World, mortal: Mortal, number: int) -> bool:
    """One life, to its end; whether that was its death."""
    life = Life(world, mortal, number)
    try:
        await life.live()
    except Died:
        return True
    finally:
        await life.end()
    return False
