"""The scenarios' shop: an agent, four tools whose effects are a list, three people, a bot over a database.

A Shop is what one process holds: a store, a desk, a worker. Two Shops over one database are two processes,
or one process before and after a restart; the effects are the world's, and theirs together.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from sqlalchemy import select, update

from adapters.ids import SystemIds
from adapters.store import open_store, tables
from core import cards, report
from core.agents import Agent
from core.calls import Call
from core.canonical import load
from core.decisions import Answering, Desk
from core.gate import Setting
from core.host import BaseHost
from core.ids import EventKey, OrgId, PersonId, TaskRef, Token, WorkerId
from core.intake import Intake
from core.model import Request
from core.moves.ends import stop
from core.moves.people import Decided, Decision
from core.parks import Choice, DecisionKind, Park, ParkKind
from core.people import Account, Organization, Person, Role
from core.ports import ParkView, Post, Sent, Story
from core.shown import Room
from core.tasks import Json, Task, TaskState
from core.testing import Line, ManualClock, ScriptedModel, calls, says, script_from
from core.tools import Tool, tool
from core.work import Event, EventKind, Received
from core.worker import Worker
from tests.contract.factories import AUDIT_KEY, save
from tests.contract.planted_sql import SqlPlanted

ORG = OrgId("shop")
SURFACE = "chat"
PAST = datetime(2020, 1, 1, tzinfo=UTC)

U1 = Person(org=ORG, id=PersonId("p-1"), name="U1", roles=frozenset({Role.OWNER}))
U2 = Person(org=ORG, id=PersonId("p-2"), name="U2", roles=frozenset({Role.APPROVER}))
U9 = Person(org=ORG, id=PersonId("p-9"), name="U9", roles=frozenset({Role.MEMBER}))

SAM = Agent(
    key="sam",
    name="Sam",
    title="who looks after orders",
    tools=("read_order", "send_note", "refund", "delete_tag"),
)

Effect: TypeAlias = tuple[Any, ...]
"""A tool's name and the arguments it was run with."""

REFUND: Json = {"order_id": "A1", "amount": 10}
REFUNDED: Effect = ("refund", "A1", Decimal(10))
NOTE: Json = {"to": "x@example.test", "text": "hi"}
NOTED: Effect = ("send_note", "x@example.test", "hi")

REFUND_SCRIPT: tuple[Line, ...] = (calls(("refund", REFUND)), says("Refunded."))
MIXED_BATCH: Line = calls(
    ("read_order", {"id": "A1"}),
    ("refund", {"order_id": "A1", "amount": 5}),
    ("refund", {"order_id": "A2", "amount": 7}),
)
"""Of scenario S04."""
NOTE_SCRIPT: tuple[Line, ...] = (calls(("send_note", NOTE)), says("Sent."))


def agent(**over: Any) -> Agent:
    """Sam, but for what *over* says."""
    return replace(SAM, **over)


def settings(**by_name: Setting) -> Mapping[str, Setting]:
    """An agent's settings, by risk or tool."""
    return MappingProxyType(by_name)


@dataclass(slots=True)
class Turnstile:
    """A place in a handler that a test may hold up: it waits there until *go* is set."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def cross(self) -> None:
        self.reached.set()
        await self.go.wait()


@dataclass(slots=True)
class World:
    """What is outside of every process: what the tools did there, and where their handlers are held up.

    *turnstiles*: by ``before`` or ``after`` and the tool's name: its handler waits there, before or after the
    effect. *raises*: by the tool's name, what its handler raises instead of an effect.
    """

    effects: list[Effect] = field(default_factory=list)
    turnstiles: dict[str, Turnstile] = field(default_factory=dict)
    raises: dict[str, Exception] = field(default_factory=dict)

    def hold(self, place: str) -> Turnstile:
        """Handlers stop at *place* from now on."""
        return self.turnstiles.setdefault(place, Turnstile())

    async def act(self, name: str, *args: object) -> None:
        if (place := self.turnstiles.get(f"before {name}")) is not None:
            await place.cross()
        if (error := self.raises.get(name)) is not None:
            raise error
        self.effects.append((name, *args))
        if (place := self.turnstiles.get(f"after {name}")) is not None:
            await place.cross()


_REFUND_SCHEMA: Json = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "amount": {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
    },
    "required": ["order_id", "amount"],
}


def tools_of(world: World) -> dict[str, Tool]:
    """The four tools of the scenarios, acting on *world*, by name."""

    @tool(risk="read")
    async def read_order(id: str) -> str:
        """Read an order."""
        await world.act("read_order", id)
        return f"Order {id}: 30.00 EUR."

    @tool(risk="contact")
    async def send_note(to: str, text: str) -> str:
        """Send a note to a customer."""
        await world.act("send_note", to, text)
        return "Sent."

    @tool(risk="spend", schema=_REFUND_SCHEMA)
    async def refund(order_id: str, amount: Decimal) -> str:
        """Give money back for an order."""
        await world.act("refund", order_id, amount)
        return f"Refunded {order_id}."

    @tool(risk="remove")
    async def delete_tag(tag: str) -> str:
        """Delete a tag."""
        await world.act("delete_tag", tag)
        return "Deleted."

    return {t.name: t for t in (read_order, send_note, refund, delete_tag)}


class ShopHost(BaseHost):
    """The shop's app. *keys*: the argument that makes two sends of a tool the same one, by tool."""

    def __init__(
        self, world: World, model: ScriptedModel, sam: Agent, tools: Iterable[Tool], keys: Mapping[str, str]
    ) -> None:
        self.tools = {**tools_of(world), **{t.name: t for t in tools}}
        self.agents = {sam.key: sam}
        self.model = model
        self._keys = keys

    async def clock(self, task: Task, at: datetime) -> str:
        return ""  # what is asked of the model is compared word by word

    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        by = self._keys.get(tool.name)
        return None if by is None else f"{tool.name}:{args[by]}"


class HandClock(ManualClock):
    """Time that moves by hand alone: who sleeps is asleep until it is cancelled."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


class Shop:
    """One process's bot. *tools* stand in for, or beside, those of `tools_of`."""

    def __init__(
        self,
        url: str,
        script: ScriptedModel | Sequence[Line],
        *,
        world: World,
        sam: Agent = SAM,
        tools: Iterable[Tool] = (),
        keys: Mapping[str, str] = MappingProxyType({}),
        pool_size: int = 3,
    ) -> None:
        self.world = world
        self.model = script if isinstance(script, ScriptedModel) else script_from(script)
        self.clock = HandClock()
        self.host = ShopHost(world, self.model, sam, tools, keys)
        self._ids = SystemIds()
        self.store = open_store(url, audit_key=AUDIT_KEY, ids=self._ids, pool_size=pool_size)
        self.desk = Desk(store=self.store, host=self.host, ids=self._ids)
        self.intake = Intake(desk=self.desk)
        self.worker = Worker(desk=self.desk, clock=self.clock, worker_id=WorkerId(self._ids.new()))

    @property
    def effects(self) -> list[Effect]:
        return self.world.effects

    async def close(self) -> None:
        await self.store.close()

    # ── what people write ────────────────────────────────────────────────────────────────────

    async def ask(self, text: str = "See to it.") -> Task:
        """U1 asked for *text*, and its task is queued (T1)."""
        return await self._receive({"text": text, "surface": SURFACE, "thread": f"C1:{self._ids.new()}"})

    async def say(self, task: Task, text: str, by: Person = U1) -> Task:
        """*by* wrote *text* in the task's thread."""
        return await self._receive({"text": text, "task": task.number}, by)

    async def _receive(self, body: Json, by: Person = U1) -> Task:
        key = EventKey(source=SURFACE, event_id=self._ids.new())
        event = Event(key=key, org=ORG, kind=EventKind.MESSAGE, body={**body, "person": by.id})
        assert await self.store.inbox.receive(event) == Received(key=key)
        (taken,) = await self.store.inbox.take(20)
        task = await self.intake.apply(taken)
        assert task is not None
        return task

    async def stop(self, task: Task) -> TaskState:
        """U1 stopped the task."""
        return await self.store.tasks.change(task.ref, stop(U1.id, surface=SURFACE))

    # ── what workers do ──────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Every task goes on until it waits, is delayed or held, or has ended."""
        await self.worker.until_idle()

    async def parked(self, text: str = "See to it.") -> Task:
        """A task that was asked for and is waiting."""
        task = await self.ask(text)
        await self.run()
        waiting = await self.task(task)
        assert waiting.state is TaskState.WAITING
        return waiting

    # ── what people decide ───────────────────────────────────────────────────────────────────

    async def view(
        self, task: Task, call: int | None = None, kind: ParkKind = ParkKind.APPROVAL, who: Person = U1
    ) -> ParkView:
        """The one open park of this kind, of the task's call of that number (None: its only one)."""
        (found,) = [
            v
            for v in await self.store.parks.waiting_for(who, 500)
            if v.task.id == task.id
            and v.park.kind is kind
            and (call is None or (v.call is not None and v.call.number == call))
        ]
        return found

    async def find(self, token: Token, who: Person = U1) -> ParkView:
        """What the button with *token* is about, whatever became of it."""
        return await self.desk.find(who, token)

    async def approve(self, view: ParkView, who: Person = U1) -> Decided:
        return await self.decide(view, Decision(kind=DecisionKind.APPROVE), who)

    async def decline(
        self, view: ParkView, reason: str | None = None, *, and_stop: bool = False, who: Person = U1
    ) -> Decided:
        said = Decision(kind=DecisionKind.DECLINE, reason=reason, and_stop=and_stop)
        return await self.decide(view, said, who)

    async def edit(self, view: ParkView, changes: Mapping[str, Json], who: Person = U1) -> Decided:
        return await self.decide(view, Decision(kind=DecisionKind.EDIT), who, changes)

    async def choose(self, view: ParkView, choice: Choice, who: Person = U1) -> Decided:
        return await self.decide(view, Decision(kind=DecisionKind.CHOICE, choice=choice), who)

    async def decide(
        self,
        view: ParkView,
        decision: Decision,
        who: Person = U1,
        changes: Mapping[str, Json] | None = None,
        event_id: str | None = None,
        room: Room | None = None,
    ) -> Decided:
        """What *who* said to the card *view*, in a click of its own unless *event_id* says which.

        *room*: of the surface, for a row's arguments.
        """
        by = Answering(who=who, surface=SURFACE, event_id=event_id or self._ids.new(), room=room)
        return await self.desk.decide(by, view, decision, changes=changes)

    # ── what is there to see ─────────────────────────────────────────────────────────────────

    async def task(self, task: Task) -> Task:
        return (await self.story(task)).task

    async def story(self, task: Task | TaskRef) -> Story:
        return await self.store.ledger.story(task if isinstance(task, TaskRef) else task.ref)

    async def call(self, task: Task, number: int = 1) -> Call:
        (found,) = [c for c in (await self.story(task)).calls if c.number == number]
        return found

    async def report(self, task: Task) -> report.Report:
        story = await self.story(task)
        return report.build(story.task, story.calls, story.parks, await self.store.people.of(ORG))

    async def card(self, task: Task, number: int = 1) -> tuple[str | None, ...]:
        """What a card says of each park of that call: who decided what, and what came of it."""
        return tuple(row.status for row in (await self.drawn(task, number)).rows)

    async def drawn(self, task: Task, number: int = 1, room: Room | None = None) -> cards.Card:
        """The card of that call's parks, as a surface with *room* gets it."""
        story = await self.story(task)
        (call,) = [c for c in story.calls if c.number == number]
        pairs: list[tuple[Park, Call | None]] = [(p, call) for p in story.parks if p.call_id == call.id]
        roster = await self.store.people.of(ORG)
        return cards.card(story, pairs, roster, self.host, room)

    async def send(self) -> list[Post]:
        """Every due post is on the surface now, its message named after the post."""
        sent: list[Post] = []
        while due := await self.store.outbox.take(100, SURFACE):
            for post in due:
                ref = Sent(chat_ref=post.chat_ref or f"message of {post.id}")
                await self.store.outbox.settle(post.id, post.org, post.rev, ref)
            sent += due
        return sent


def audited(story: Story, move: str) -> list[tuple[str, Json]]:
    """Who made each *move* of the task by the audit trail, and its facts, oldest first."""
    return [(e.actor, load(e.entry)) for e in story.audit if e.move == move]


def decisions(story: Story) -> list[tuple[str, Json]]:
    """Who decided, and the facts, of each audited decision, oldest first."""
    return audited(story, "decide")


def results(request: Request) -> list[tuple[str | None, str | None]]:
    """The tool results of the newest round in *request*: the call's id and the words, in order."""
    turns = list(request.turns)
    last = max(n for n, turn in enumerate(turns) if turn.role == "assistant")
    asked = [call.id for call in turns[last].calls]
    told = turns[last + 1 : last + 1 + len(asked)]
    assert [turn.call_id for turn in told] == asked
    return [(turn.call_id, turn.text) for turn in told]


def words(request: Request) -> list[str]:
    """What stands after the results of the newest round in *request*, and after its reply."""
    turns = list(request.turns)
    last = max(n for n, turn in enumerate(turns) if turn.role == "assistant")
    return [turn.text or "" for turn in turns[last + 1 :] if turn.role != "tool"]


@dataclass(slots=True)
class Street:
    """One database and one world; every shop that a test opens there is another process."""

    url: str
    sql: "Tampering"
    world: World = field(default_factory=World)
    shops: list[Shop] = field(default_factory=list)

    def open(self, script: ScriptedModel | Sequence[Line], **over: Any) -> Shop:
        """A process that starts: nothing of it is older than this line but the database and the world."""
        shop = Shop(self.url, script, world=self.world, **over)
        self.shops.append(shop)
        return shop


# ── past every rule ──────────────────────────────────────────────────────────────────────────


class Tampering(SqlPlanted):
    """A second connection to the database, for what no port says: time that passed, rows somebody changed."""

    async def people(self) -> None:
        """The organization is there, its three people linked to their accounts."""
        await save(self.db, Organization(id=ORG, name="Shop"), U1, U2, U9)
        for person in (U1, U2, U9):
            await self.account(person, Account(surface=SURFACE, ref=person.name))

    async def change_call(self, call: Call, **values: Any) -> None:
        where = (tables.calls.c.org == call.org, tables.calls.c.id == call.id)
        await self.run(update(tables.calls).where(*where).values(values))

    async def change_park(self, park: Park, **values: Any) -> None:
        where = (tables.parks.c.org == park.org, tables.parks.c.id == park.id)
        await self.run(update(tables.parks).where(*where).values(values))

    async def change_task(self, task: Task, **values: Any) -> None:
        where = (tables.tasks.c.org == task.org, tables.tasks.c.id == task.id)
        await self.run(update(tables.tasks).where(*where).values(values))

    async def change_organization(self, **values: Any) -> None:
        await self.run(update(tables.organizations).where(tables.organizations.c.id == ORG).values(values))

    async def posts(self, task: Task) -> Counter[str]:
        """How many messages of each kind the task has in its thread."""
        wanted = select(tables.posts.c.kind).where(tables.posts.c.task_id == task.id)
        return Counter(row[0] for row in await self.rows(wanted))

    async def rows(self, wanted: Any) -> list[Any]:
        async def body(conn: Any) -> list[Any]:
            return list((await conn.execute(wanted)).all())

        return await self.db.read(body)
