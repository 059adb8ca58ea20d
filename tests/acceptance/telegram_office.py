"""The scenarios' shop with Telegram in front: a fake one over HTTP, with its limits, and our own webhook.

Everything goes the way it goes in production but for the processes: updates come with the secret, and the Bot
API is asked by python-telegram-bot as it is.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Receive, Scope, Send

from adapters.telegram.client import SURFACE, BotClient, bot_client
from adapters.telegram.heard.buttons import Buttons
from adapters.telegram.heard.listening import Listening
from adapters.telegram.heard.messages import Messages
from adapters.telegram.heard.prompting import Prompting
from adapters.telegram.heard.setup import Setup
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.webhook import Webhook
from adapters.telegram.sending import Sending
from adapters.telegram.surface import TelegramSurface
from core.agents import Agent
from core.decisions import Desk
from core.front import Front
from core.people import Account, Organization, Person
from core.ports import Clock, Store
from core.poster import Poster
from core.shown import ROOM
from core.testing import Line
from tests.acceptance.office import Office, Process
from tests.acceptance.shop import ORG, SAM, U1, U2, U9
from tests.fakes.telegram import Chat, FakeTelegram, Message, Said, User, fake_telegram
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


def face(desk: Desk, clock: Clock, store: Store, client: BotClient) -> Face:
    """As bot.telegram puts it together."""

    async def moved(old: str, new: str) -> None:
        await store.outbox.move(SURFACE, old, new)

    sending = Sending(client=client, rates=store.rates, moved=moved)
    front = Front(desk=desk, clock=clock, surface=SURFACE, room=ROOM)
    surface = TelegramSurface(sending=sending, agent_name=lambda key: desk.agent(key).name)
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
                front=front, prompting=prompting, telling=telling, answered_seconds=PATIENT_SECONDS
            ),
            telling=telling,
        ),
    )


@dataclass(kw_only=True, slots=True)
class TelegramOffice(Office):
    """*ada*, *ben*, *eve*: U1, U2 and U9 there; *zoe*: of no organization. *ops*: a group of all four."""

    telegram: FakeTelegram
    client: BotClient
    ada: User = field(init=False)
    ben: User = field(init=False)
    eve: User = field(init=False)
    zoe: User = field(init=False)
    ops: Chat = field(init=False)
    webhook: Webhook = field(init=False)

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
        process = Office.opens(self, script, sam=sam, **over)
        made = face(process.desk, self.clock, self.store, self.client)
        process.front, process.poster = made.front, made.poster
        self.webhook = Webhook(listening=made.listening, secrets=[SECRET])
        return process

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The process that was opened last answers."""
        await self.webhook(scope, receive, send)

    # ── what people do ───────────────────────────────────────────────────────────────────────

    async def asks(self, user: User, text: str, chat: Chat | None = None) -> Said:
        """*user* writes to the bot: in their private chat, or by its name in *chat*."""
        return await self.telegram.says(user, chat or user, text, mention=chat is not None)

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
        """What the bot said there, oldest first."""
        return [m.text for m in self.telegram.said(chat) if m.sender is self.telegram.bot]


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
