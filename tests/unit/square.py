"""A small bot over rows in memory, and the chat its posts are shown in: places, some of them dead."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from core.agents import Agent
from core.cards import Card
from core.decisions import Answering, Desk
from core.errors import ChatError
from core.host import BaseHost
from core.ids import EventKey, OrgId, PersonId, WorkerId
from core.intake import Intake
from core.model import ModelReply, Request
from core.moves.people import Decision
from core.parks import DecisionKind
from core.people import Account, Organization, Person, Role, Route
from core.ports import ParkView
from core.poster import Poster
from core.rendering import View
from core.routes import DIGEST_SECONDS
from core.tasks import Json, Task
from core.testing import CountingIds, ManualClock, MemoryStore, calls, says
from core.testing.memory.rows import AccountRow, ApprovalRouteRow, OrganizationRow
from core.tools import tool
from core.work import Event, EventKind
from core.worker import Worker

ORG = OrgId("shop")
SURFACE = "slack"
ADA = Person(org=ORG, id=PersonId("ada"), name="Ada", roles=frozenset({Role.OWNER}))
EVE = Person(org=ORG, id=PersonId("eve"), name="Eve", roles=frozenset({Role.MEMBER}))


@dataclass(kw_only=True)
class Board:
    """A surface: what each of its messages shows now, and where, and how often it was handed a view.

    *dead*: what places raise. *gone*: what messages raise that somebody deleted.
    """

    messages: dict[str, tuple[str, View]] = field(default_factory=dict)
    dead: dict[str, ChatError] = field(default_factory=dict)
    gone: dict[str, ChatError] = field(default_factory=dict)
    handed: int = 0

    async def post(self, view: View, route: str) -> str:
        return self._show(view, route, f"m{len(self.messages) + 1}")

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        if chat_ref in self.gone:
            raise self.gone[chat_ref]
        return self._show(view, route, chat_ref)

    def _show(self, view: View, route: str, chat_ref: str) -> str:
        self.handed += 1
        if route in self.dead:
            raise self.dead[route]
        self.messages[chat_ref] = (route, view)
        return chat_ref

    def at(self, route: str) -> list[View]:
        """What is shown there, in the order it came."""
        return [view for place, view in self.messages.values() if place == route]

    def cards(self, route: str) -> list[Card]:
        return [view for view in self.at(route) if isinstance(view, Card)]


class Refunder:
    """A model that wants one refund of each task, and then is done."""

    async def reply(self, request: Request) -> ModelReply:
        if request.turns[-1].role == "tool":
            return says("Done.")
        return calls(("refund", {"n": 1}))


class Host(BaseHost):
    """*told*: of what the app was notified: the task's code, and why no chat shows it."""

    def __init__(self) -> None:
        @tool(risk="spend")
        async def refund(n: int) -> str:
            """Refund."""
            return "ok"

        self.tools = {"refund": refund}
        self.agents = {"sam": Agent(key="sam", name="Sam", tools=("refund",))}
        self.model = Refunder()
        self.told: list[tuple[str, str | None]] = []

    async def notify_parked(self, task: Task, parks: Sequence[ParkView], reason: str | None = None) -> None:
        if reason is not None:
            self.told.append((task.code, reason))


class Square:
    """The bot: its store, worker and posters, time by hand, and the people of one organization."""

    def __init__(self, host: BaseHost | None = None) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(clock=self.clock, ids=CountingIds())
        self.host = Host()
        self.desk = Desk(store=self.store, host=host or self.host, ids=CountingIds(first=5000))
        self.board = Board()
        self.poster = self.poster_of(None)
        self.worker = Worker(desk=self.desk, clock=self.clock, worker_id=WorkerId("w1"))
        self._said = 0
        rows = self.store.rows
        with rows.transaction():
            rows.organizations.insert(OrganizationRow(organization=Organization(id=ORG, name="Shop")))
            for person, ref in ((ADA, "UA"), (EVE, "UE")):
                rows.people.insert(person)
                account = Account(surface=SURFACE, ref=ref)
                rows.accounts.insert(AccountRow(org=ORG, account=account, person_id=person.id))

    def poster_of(self, holder: str | None) -> Poster:
        return Poster(desk=self.desk, clock=self.clock, name=SURFACE, surface=self.board, holder=holder)

    def cards_go_to(self, *places: Route, agent: str = "") -> None:
        with self.store.rows.transaction():
            for n, route in enumerate(places):
                row = ApprovalRouteRow(org=ORG, agent=agent, position=n, surface=SURFACE, ref=route.ref)
                self.store.rows.approval_routes.insert(row)

    async def ask(self, who: Person = ADA, *, chat: str | None = "C1") -> Task:
        """*who* has asked for a refund in the channel C1, and it is parked, or done."""
        self._said += 1
        body: dict[str, Json] = {
            "text": f"refund {self._said}",
            "person": who.id,
            "surface": SURFACE,
            "chat": chat,
            "thread": "C1",
        }
        key = EventKey(source=SURFACE, event_id=f"e{self._said}")
        event = Event(key=key, org=ORG, kind=EventKind.MESSAGE, body=body)
        await self.store.inbox.receive(event)
        task = await Intake(desk=self.desk).apply(event)
        assert task is not None
        await self.work()
        return task

    async def say(self, task: Task) -> None:
        """Something new is said in the task's thread, and not read yet."""
        self._said += 1
        body: dict[str, Json] = {"text": f"and {self._said}", "person": EVE.id, "task": task.number}
        key = EventKey(source=SURFACE, event_id=f"e{self._said}")
        event = Event(key=key, org=ORG, kind=EventKind.MESSAGE, body=body)
        await self.store.inbox.receive(event)
        await Intake(desk=self.desk).apply(event)

    async def work(self) -> None:
        """Nothing can go on by itself, and no time has passed."""
        while await self.worker.claim():
            await asyncio.gather(*self.worker._runs.values())

    async def deliver(self, seconds: float = 0) -> None:
        """What is due *seconds* later is sent."""
        self.clock.advance(seconds)
        await self.poster.deliver_all()

    async def digested(self) -> None:
        """What is due is sent, and then its digest."""
        await self.deliver()
        await self.deliver(DIGEST_SECONDS)

    async def view(self, task: Task) -> ParkView:
        found = await self.store.parks.waiting_for(ADA, 99)
        return next(view for view in found if view.task.id == task.id)

    async def approve(self, task: Task) -> None:
        self._said += 1
        by = Answering(who=ADA, surface=SURFACE, event_id=f"click{self._said}")
        await self.desk.decide(by, await self.view(task), Decision(kind=DecisionKind.APPROVE))

    async def remind(self, task: Task) -> None:
        """A day has passed over what waits of *task*."""
        park = (await self.view(task)).park
        with self.store.rows.transaction():
            self.store.rows.parks.update(replace(park, remind_at=self.clock.now()))
        await self.worker.sweep()
