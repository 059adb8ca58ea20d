"""The scenarios' shop with a chat in front: its people write, press and type there, over any kind of store.

An Office is one database, one chat and one world; a `process` of it is a bot that was started there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.agents import Agent
from core.audit import verify
from core.chat import Place
from core.decisions import Desk
from core.front import Front
from core.ids import WorkerId
from core.people import Account, Organization, Person
from core.ports import Query, Store, Story
from core.poster import Poster
from core.route import ChatKind
from core.shown import ROOM
from core.tasks import Task
from core.testing import Line, ManualClock, ScriptedModel, script_from
from core.testing.chat import DIRECT, MemoryChat, Seat
from core.worker import Worker
from tests.acceptance.shop import ORG, SAM, SURFACE, U1, U2, U9, HandClock, ShopHost, World
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import Planted
from tests.contract.planted_memory import MemoryPlanted

CHANNEL = Place(chat="C1", kind=ChatKind.CHANNEL, opens="C1:1")


@dataclass(kw_only=True, slots=True)
class Process:
    """One process's bot: its worker, its sender, and the front it answers people at."""

    host: ShopHost
    model: ScriptedModel
    desk: Desk
    front: Front
    poster: Poster
    worker: Worker

    async def works(self) -> None:
        """Every task goes on until it waits or has ended, and all of it is in the chat."""
        await self.worker.until_idle()
        await self.poster.deliver_all()


@dataclass(kw_only=True, slots=True)
class Office:
    """*planted*: the store. *last*: the process that people's doings get to."""

    planted: Planted
    clock: ManualClock = field(default_factory=HandClock)
    world: World = field(default_factory=World)
    processes: list[Process] = field(default_factory=list)
    chat: MemoryChat = field(init=False)

    def __post_init__(self) -> None:
        self.chat = MemoryChat(clock=self.clock, name=SURFACE)

    @property
    def store(self) -> Store:
        return self.planted.store

    @property
    def last(self) -> Process:
        return self.processes[-1]

    async def people(self) -> None:
        """The organization is there, its three people linked to their accounts."""
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2, U9)
        for person in (U1, U2, U9):
            await self.planted.account(person, Account(surface=SURFACE, ref=person.name))

    def opens(self, script: Sequence[Line], *, sam: Agent = SAM, **over: Any) -> Process:
        """A process starts: nothing of it is older than this line but the store, the chat and the world."""
        model = script_from(script)
        host = ShopHost(self.world, model, sam, over.get("tools", ()), over.get("keys", {}))
        desk = Desk(store=self.store, host=host, ids=self.planted.ids)
        worker_id = WorkerId(self.planted.ids.new())
        process = Process(
            host=host,
            model=model,
            desk=desk,
            front=Front(desk=desk, clock=self.clock, surface=SURFACE),
            poster=Poster(desk=desk, clock=self.clock, name=SURFACE, surface=self.chat, room=ROOM),
            worker=Worker(desk=desk, clock=self.clock, worker_id=worker_id),
        )
        self.processes.append(process)
        return process

    def seat(self, person: Person, place: Place = DIRECT, process: Process | None = None) -> Seat:
        """*person* sits at the chat, in *place*."""
        account = Account(surface=SURFACE, ref=person.name)
        return Seat(chat=self.chat, front=(process or self.last).front, account=account, place=place)

    async def leaves(self, person: Person) -> None:
        """*person* is not of the organization any more."""
        if isinstance(self.planted, MemoryPlanted):
            rows = self.planted.memory.rows
            with rows.transaction():
                rows.people.update(replace(person, left=True))
        else:
            await self.planted.update("people", {"left_at": await self.planted.now()}, id=person.id)

    async def story(self, task: Task | int = 1) -> Story:
        """Of a task, or of the one with that number."""
        if isinstance(task, int):
            (task,) = await self.store.ledger.find(ORG, Query(number=task))
        return await self.store.ledger.story(task.ref)

    async def task(self, number: int = 1) -> Task:
        return (await self.story(number)).task

    async def is_whole(self) -> bool:
        """Each history that a model saw was valid (I3), and the audit trail has all that was done."""
        ledger = self.store.ledger
        sealed, loose = await ledger.audit(ORG, 0, 100_000), await ledger.unsealed(ORG, 100_000)
        trail = verify(AUDIT_KEY, sealed, loose, await ledger.head(ORG))
        broken = [error for process in self.processes for error in process.model.broken]
        return trail.whole and broken == []
