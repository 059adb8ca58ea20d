"""The scenarios' shop with Slack in front: a fake one over HTTP, which has Slack's limits, and our own route.

Everything goes the way it goes in production but for the processes: signed requests in, the Web API out.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from starlette.types import Receive, Scope, Send

from adapters.clock import SystemClock
from adapters.slack.client import Clients
from adapters.slack.heard.actors import SURFACE
from adapters.slack.heard.bolt import bolt_app
from adapters.slack.heard.listening import Listening, Pace
from adapters.slack.heard.private import Private
from adapters.slack.heard.route import SlackRoute
from adapters.slack.heard.signed import Signatures
from adapters.slack.installed.scopes import SCOPES
from adapters.slack.installed.workspaces import OneWorkspace
from adapters.slack.surface import SlackSurface
from core.agents import Agent
from core.front import Front
from core.people import Account, Organization, Person
from core.poster import Poster
from core.shown import ROOM
from core.testing import Line
from tests.acceptance.office import Office, Process
from tests.acceptance.shop import ORG, SAM, U1, U2, U9
from tests.fakes.slack import SIGNING_SECRET, Channel, Delivery, FakeSlack, Message, User, fake_slack
from tests.wire import served

PATIENT = Pace(decided=20, opened=20, stored=20)
"""Nothing is late, however busy the machine: Slack's own three seconds are test_bolt_traps'."""


@dataclass(slots=True)
class Afterwards:
    """What goes on once requests were answered; an error in it is the test's."""

    going: list[asyncio.Task[object]] = field(default_factory=list)

    def start(self, work: Coroutine[Any, Any, object], what: str) -> None:
        self.going.append(asyncio.create_task(work, name=what))

    async def ended(self) -> None:
        """Nothing goes on any more."""
        while self.going:
            await self.going.pop(0)


@dataclass(kw_only=True, slots=True)
class SlackOffice(Office):
    """*ada*, *ben*, *eve*: U1, U2 and U9 there; *zoe*: of the workspace, and of no organization."""

    slack: FakeSlack
    session: aiohttp.ClientSession
    background: Afterwards = field(default_factory=Afterwards)
    pace: Pace = PATIENT
    ada: User = field(init=False)
    ben: User = field(init=False)
    eve: User = field(init=False)
    zoe: User = field(init=False)
    ops: Channel = field(init=False)
    route: SlackRoute = field(init=False)

    async def people(self) -> None:
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2, U9)
        self.ada, self.ben, self.eve = [await self._linked(person) for person in (U1, U2, U9)]
        self.zoe = self.slack.add_user("zoe")
        self.ops = self.slack.add_channel("ops", self.ada, self.ben, self.eve, self.zoe)

    async def _linked(self, person: Person) -> User:
        user = self.slack.add_user(person.name.lower())
        await self.planted.account(person, Account(surface=SURFACE, ref=f"{user.team_id}/{user.id}"))
        return user

    def opens(self, script: Sequence[Line], *, sam: Agent = SAM, **over: Any) -> Process:
        process = Office.opens(self, script, sam=sam, **over)
        clients = Clients(session=self.session, base_url=self.slack.api_url)
        workspaces = OneWorkspace(client=clients.with_token(self.slack.team.bot_token))
        process.front = Front(desk=process.desk, clock=self.clock, surface=SURFACE)
        surface = SlackSurface(
            workspaces=workspaces, clients=clients, agent_name=lambda key: process.desk.agent(key).name
        )
        process.poster = Poster(desk=process.desk, clock=self.clock, name=SURFACE, surface=surface, room=ROOM)
        listening = Listening(
            front=process.front,
            workspaces=workspaces,
            clients=clients,
            afterwards=self.background,
            private=Private(clients=clients, afterwards=self.background),
            pace=self.pace,
        )
        signatures = Signatures(secrets=[SIGNING_SECRET], clock=SystemClock())  # as Slack signs
        self.route = SlackRoute(app=bolt_app(listening, clients), signatures=signatures)
        return process

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The process that was opened last answers."""
        await self.route(scope, receive, send)

    # ── what is to be seen ───────────────────────────────────────────────────────────────────

    def cards(self) -> list[Message]:
        """Every message with a call's buttons, in any channel, newest first."""
        every = [m for channel in self.slack.channels.values() for m in self.slack.said(channel.id)]
        return sorted((m for m in every if _answers(m)), key=lambda m: m.ts, reverse=True)

    @property
    def card(self) -> Message:
        """The newest card that waits. Raises LookupError."""
        found = self.cards()
        if not found:
            raise LookupError("no card waits")
        return found[0]

    async def shown(self) -> None:
        """What goes on after an answer has ended: private answers are there."""
        await self.background.ended()

    def told(self, user: User) -> list[str]:
        """What *user* alone was told, oldest first, as text."""
        return [words_of(one.blocks) or one.text for one in self.slack.shown_to(user)]


def _answers(message: Message) -> bool:
    return any(block.get("block_id", "").startswith("park:") for block in message.blocks)


def words_of(shown: Any) -> str:
    """Every text in *shown*, joined."""
    if isinstance(shown, dict):
        own = [shown["text"]] if isinstance(shown.get("text"), str) else []
        return "\n".join(
            [*own, *filter(None, (words_of(v) for k, v in shown.items() if k != "text" or not own))]
        )
    if isinstance(shown, list):
        return "\n".join(filter(None, map(words_of, shown)))
    return ""


def answered(delivery: Delivery) -> dict[str, Any]:
    """The JSON that a request was answered with; nothing of an empty answer."""
    assert delivery.status == 200, delivery
    return dict(json.loads(delivery.body)) if delivery.body else {}


@asynccontextmanager
async def slack_office(planted: Any) -> AsyncIterator[SlackOffice]:
    """An office with a fake Slack before it; at the end Slack has found no fault with what we sent."""
    async with AsyncExitStack() as closing:
        office_clock = Office(planted=planted).clock
        slack = await closing.enter_async_context(fake_slack(clock=office_clock))
        slack.team.scopes, slack.patience = set(SCOPES), 60.0
        session = await closing.enter_async_context(aiohttp.ClientSession())
        office = SlackOffice(planted=planted, clock=office_clock, slack=slack, session=session)
        server = await closing.enter_async_context(served(office))
        slack.bot_url = f"http://127.0.0.1:{server.port}/slack/events"
        await office.people()
        yield office
        await office.background.ended()
        assert slack.faults == []
        assert slack.late == []
