"""The scenarios' shop with Telegram in front: a fake one over HTTP, with its limits, and our own webhook.

Everything goes the way it goes in production but for the processes: updates come with the secret, and the Bot
API is asked by python-telegram-bot as it is.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from adapters.telegram.client import SURFACE, BotClient, bot_client
from adapters.telegram.heard.buttons import Buttons
from adapters.telegram.heard.listening import Listening
from adapters.telegram.heard.messages import Messages
from adapters.telegram.heard.prompting import Prompting
from adapters.telegram.heard.setup import Setup
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.webhook import Webhook
from adapters.telegram.places import around
from adapters.telegram.sending import Sending
from adapters.telegram.shown.cards import ROOM
from adapters.telegram.shown.text import JOINER
from adapters.telegram.surface import TelegramSurface
from core.agents import Agent
from core.decisions import Desk
from core.front import Front
from core.people import Account, Organization, Person
from core.ports import Clock, Store
from core.poster import Poster
from core.testing import Line
from tests.acceptance.office import Office, Process
from tests.acceptance.shop import ORG, REFUND_SCRIPT, SAM, U1, U2, U9
from tests.conftest import Templates, migrated
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Chat, FakeTelegram, Message, Pressed, Said, User, fake_telegram
from tests.postgres import Server
from tests.wire import served

SECRET = "a-secret-of-sixteen-and-more"
PATIENT_SECONDS = 20.0
"""Nothing is late, however busy the machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Face:
    """What one process's bot is in Telegram."""

    front: Front
    poster: Poster
    listening: Listening


def face(
    desk: Desk, clock: Clock, store: Store, client: BotClient, answered_seconds: float = PATIENT_SECONDS
) -> Face:
    """As bot.telegram puts it together."""

    async def moved(old: str, new: str) -> None:
        await store.outbox.move(SURFACE, old, new, around)

    sending = Sending(client=client, rates=store.rates, moved=moved)
    front = Front(desk=desk, clock=clock, surface=SURFACE, room=ROOM)
    surface = TelegramSurface(sending=sending, agent_name=lambda key: desk.agent(key).name, clock=clock)
    telling = Telling(front=front, sending=sending, clock=clock)
    prompting = Prompting(front=front, telling=telling)
    return Face(
        front=front,
        poster=Poster(desk=desk, clock=clock, name=SURFACE, surface=surface, room=ROOM),
        listening=Listening(
            front=front,
            client=client,
            messages=Messages(front=front, prompting=prompting, telling=telling),
            buttons=Buttons(
                front=front, prompting=prompting, telling=telling, answered_seconds=answered_seconds
            ),
            telling=telling,
        ),
    )


@dataclass(kw_only=True, slots=True)
class TelegramProcess(Process):
    """*planted*: the store, in which time passes."""

    planted: Planted

    async def works(self) -> None:
        """Every task goes on until it waits or has ended; all of it is in Telegram, however much that is."""
        await self.worker.until_idle()
        delivered = 1
        while delivered:
            await self.planted.delete("rates")  # the minute in which it may write so much is over
            delivered = await self.poster.deliver(1)


@dataclass(kw_only=True, slots=True)
class TelegramOffice(Office):
    """*ada*, *ben*, *eve*: U1, U2 and U9 there; *zoe*: of no organization. *ops*: a group of all four.

    *webhooks*: of the processes, oldest first. *all_answer*: each of them gets an update in turn, else the
    last one all. *answered_seconds*: how long a press waits in a process that is opened from now on.
    """

    telegram: FakeTelegram
    client: BotClient
    all_answer: bool = False
    answered_seconds: float = PATIENT_SECONDS
    ada: User = field(init=False)
    ben: User = field(init=False)
    eve: User = field(init=False)
    zoe: User = field(init=False)
    ops: Chat = field(init=False)
    webhooks: list[Webhook] = field(default_factory=list)
    _updates: "count[int]" = field(default_factory=count)

    async def people(self) -> None:
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2, U9)
        self.ada, self.ben, self.eve = [await self._linked(person) for person in (U1, U2, U9)]
        self.zoe = self.telegram.add_user("zoe")
        self.ops = self.telegram.add_group("ops", self.ada, self.ben, self.eve, self.zoe)

    async def _linked(self, person: Person) -> User:
        user = self.telegram.add_user(person.name.lower())
        await self.planted.account(person, Account(surface=SURFACE, ref=str(user.id)))
        self.telegram.open_private(user)
        return user

    def opens(self, script: Sequence[Line], *, sam: Agent = SAM, **over: Any) -> Process:
        bare = Office.opens(self, script, sam=sam, **over)
        made = face(bare.desk, self.clock, self.store, self.client, self.answered_seconds)
        self.processes[-1] = TelegramProcess(
            host=bare.host,
            model=bare.model,
            desk=bare.desk,
            front=made.front,
            poster=made.poster,
            worker=bare.worker,
            planted=self.planted,
        )
        self.webhooks.append(Webhook(listening=made.listening, secrets=[SECRET]))
        return self.last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        n = next(self._updates) % len(self.webhooks) if self.all_answer else -1
        await self.webhooks[n](scope, receive, send)

    # ── what people do ───────────────────────────────────────────────────────────────────────

    async def asks(self, user: User, text: str, chat: Chat | None = None) -> Said:
        """*user* writes to the bot: in their private chat, or by its name in *chat*."""
        return await self.telegram.says(user, chat or user, text, mention=chat is not None)

    async def parked(self, *script: Line, chat: Chat | User | None = None, **over: Any) -> Message:
        """Ada asked for something in *ops*, or there; its card waits."""
        self.opens(list(script or REFUND_SCRIPT), **over)
        await self.asks(self.ada, "refund the mug", None if isinstance(chat, User) else chat or self.ops)
        await self.last.works()
        return self.card

    async def presses(self, user: User, *path: str, on: Message | None = None) -> Pressed:
        """*user* pressed one button after the other, each by its words, on the newest card or *on* that."""
        card = on or self.card
        for what in path:
            pressed = await self.telegram.presses(user, card, what)
        return pressed

    # ── what is to be seen ───────────────────────────────────────────────────────────────────

    def cards(self) -> list[Message]:
        """Every message with a call's buttons, in any chat, newest first."""
        every = [m for chat in self.telegram.chats.values() for m in self.telegram.said(chat)]
        return sorted((m for m in every if _answers(m)), key=lambda m: (m.date, m.id), reverse=True)

    @property
    def card(self) -> Message:
        """The newest card that waits. Raises LookupError."""
        found = self.cards()
        if not found:
            raise LookupError("no card waits")
        return found[0]

    def told(self, chat: Chat | User) -> list[str]:
        """What the bot said there as it is read, oldest first."""
        return [m.text.replace(JOINER, "") for m in self.telegram.said(chat)]

    def asked(self, chat: Chat | User) -> Message:
        """What the bot asked there last, and wants a reply to. Raises LookupError."""
        found = [m for m in self.telegram.said(chat) if m.forces_reply]
        if not found:
            raise LookupError("nothing was asked")
        return found[-1]


def _answers(message: Message) -> bool:
    rows = message.markup["inline_keyboard"] if message.markup else []
    return any(":" in button.get("callback_data", "") for row in rows for button in row)


@asynccontextmanager
async def telegram_office(planted: Any) -> AsyncIterator[TelegramOffice]:
    """An office with a fake Telegram before it; at the end it has found no fault with what we sent."""
    async with AsyncExitStack() as closing:
        clock = Office(planted=planted).clock
        telegram = await closing.enter_async_context(fake_telegram(clock=clock))
        client = await closing.enter_async_context(bot_client(telegram.token, telegram.api_url))
        office = TelegramOffice(planted=planted, clock=clock, telegram=telegram, client=client)
        server = await closing.enter_async_context(served(office))
        await office.people()
        url = f"http://127.0.0.1:{server.port}/telegram/updates"
        await Setup(client=client, clock=clock, url=url, secret=SECRET).done()
        yield office
        assert telegram.faults == []
        assert telegram.refused == []


@asynccontextmanager
async def office_over(
    kind: str, folder: Path, server: Server, templates: Templates, caplog: pytest.LogCaptureFixture
) -> AsyncIterator[TelegramOffice]:
    """The shop's people in Telegram, over a database of that kind, in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, the trail is whole, no card
    was taken away, and Telegram had nothing to refuse.
    """
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated(kind, folder, server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(telegram_office(planted))
        yield made
        assert await made.is_whole()
        assert made.telegram.called("deleteMessage") == []
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []
