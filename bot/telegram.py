"""Telegram in this process: its parts from the settings, what answers at its path, who sends its posts."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from adapters.telegram.client import SURFACE, BotClient, bot_client
from adapters.telegram.heard.buttons import Buttons
from adapters.telegram.heard.listening import Listening
from adapters.telegram.heard.messages import Messages
from adapters.telegram.heard.polling import polled
from adapters.telegram.heard.prompting import Prompting
from adapters.telegram.heard.setup import Setup
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.webhook import Webhook
from adapters.telegram.places import around
from adapters.telegram.sending import Sending
from adapters.telegram.shown.cards import ROOM
from adapters.telegram.surface import TelegramSurface
from adapters.web.background import Background
from bot.telegram_settings import UPDATES, address, check, is_set_up
from bot.wiring import App
from core.front import Front
from core.poster import Poster


@dataclass(frozen=True, kw_only=True, slots=True)
class TelegramParts:
    """What both the web process and the one that sends need."""

    app: App
    client: BotClient

    @property
    def sending(self) -> Sending:
        store = self.app.store

        async def moved(old: str, new: str) -> None:
            await store.outbox.move(SURFACE, old, new, around)

        return Sending(client=self.client, rates=store.rates, moved=moved)

    def poster(self, holder: str) -> Poster:
        """The sender of Telegram's posts; one of all those there are sends, by lease."""
        surface = TelegramSurface(
            sending=self.sending,
            agent_name=lambda key: self.app.desk.agent(key).name,
            clock=self.app.clock,
        )
        return Poster(
            desk=self.app.desk, clock=self.app.clock, name=SURFACE, surface=surface, holder=holder, room=ROOM
        )

    def listening(self) -> Listening:
        """What hears each update."""
        front = Front(desk=self.app.desk, clock=self.app.clock, surface=SURFACE, room=ROOM)
        telling = Telling(front=front, sending=self.sending, clock=self.app.clock)
        prompting = Prompting(front=front, telling=telling)
        return Listening(
            front=front,
            client=self.client,
            messages=Messages(front=front, prompting=prompting, telling=telling),
            buttons=Buttons(front=front, prompting=prompting, telling=telling),
            telling=telling,
        )


@asynccontextmanager
async def telegram_parts(app: App) -> AsyncIterator[TelegramParts | None]:
    """Telegram's parts, None where it is not set up; their connections are closed afterwards."""
    token = app.settings.telegram_bot_token
    if token is None:
        yield None
        return
    async with bot_client(token.get_secret_value(), app.settings.telegram_api_url) as client:
        yield TelegramParts(app=app, client=client)


@asynccontextmanager
async def telegram_faces(app: App, background: Background) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """What answers at Telegram's path, or asks for its updates. Raises ConfigError."""
    check(app.settings)
    if not is_set_up(app.settings):
        yield {}
        return
    async with AsyncExitStack() as closing:
        parts = await closing.enter_async_context(telegram_parts(app))
        assert parts is not None
        listening, url = parts.listening(), address(app.settings)
        secrets = app.settings.telegram_secrets
        setup = Setup(client=parts.client, clock=app.clock, url=url, secret=secrets[0])
        background.start(setup.done(), "what Telegram is told")
        if url is not None:
            yield {UPDATES: Webhook(listening=listening, secrets=secrets)}
            return
        holder = app.process_name()
        await closing.enter_async_context(
            polled(parts.client, listening, app.store.leases, app.clock, holder)
        )
        yield {}
