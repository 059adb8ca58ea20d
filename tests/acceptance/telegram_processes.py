"""The shop in Telegram as it runs: web and worker as processes over a database, a fake Telegram in front."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.telegram.client import SURFACE
from core.people import Account, Organization
from tests.acceptance.command_line import command_line
from tests.acceptance.processes import ASKED, Town, Web
from tests.acceptance.shop import ORG, U1, U2
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Chat, FakeTelegram, Message, Said, User, fake_telegram

PUBLIC_URL = "https://bot.example"
"""What the web process is told of itself; what Telegram sends there gets to its port."""
HOOK = f"{PUBLIC_URL}/telegram/updates"


@dataclass(kw_only=True, slots=True)
class TelegramTown(Town):
    """*ada* and *ben*: an owner and an approver, in *ops* and alone with the bot."""

    telegram: FakeTelegram
    ada: User = field(init=False)
    ben: User = field(init=False)
    ops: Chat = field(init=False)

    async def people(self) -> None:
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2)
        self.ada, self.ben = (self.telegram.add_user(name, started=True) for name in ("ada", "ben"))
        for person, user in ((U1, self.ada), (U2, self.ben)):
            await self.planted.account(person, Account(surface=SURFACE, ref=str(user.id)))
        self.ops = self.telegram.add_group("ops", self.ada, self.ben)

    # ── processes ────────────────────────────────────────────────────────────────────────────

    async def web(self) -> Web:
        """A web process to which Telegram sends from here on, by what it said itself."""
        web = await self._opened(PUBLIC_URL=PUBLIC_URL)
        await web.tells(f"Telegram sends updates to {HOOK}")
        self.telegram.bot_url = web.address
        return web

    async def asking_web(self) -> Web:
        """A web process that nobody can reach from outside."""
        return await self._opened()

    async def _opened(self, **env: str) -> Web:
        web = await self.listening(**env)
        await web.tells("web is open")
        return web

    # ── what is there ────────────────────────────────────────────────────────────────────────

    async def asks(self, words: str = ASKED) -> Said:
        """Ada wrote it to the bot in *ops*."""
        return await self.telegram.says(self.ada, self.ops, words, mention=True)

    @property
    def cards(self) -> list[Message]:
        """Every message with a call's buttons in *ops*, oldest first."""
        return [message for message in self.telegram.said(self.ops) if message.labels]

    async def shows(self, words: str, chat: Chat | User | None = None) -> Message:
        """The message in *ops*, or in *chat*, that says *words*, as soon as it does."""
        return await self.telegram.wait_for(
            lambda: next((m for m in self.telegram.said(chat or self.ops) if words in m.text), None),
            seconds=20,
        )

    async def asked_for_all(self) -> None:
        """Somebody asks for updates, and has all that there were."""
        await self.telegram.wait_for(lambda: self.telegram.polled and not self.telegram.pending, seconds=20)


def in_telegram(telegram: FakeTelegram) -> dict[str, str]:
    """What a process is told of *telegram*."""
    return {"TELEGRAM_BOT_TOKEN": telegram.token, "TELEGRAM_API_URL": telegram.api_url}


@asynccontextmanager
async def telegram_town(url: str, folder: Path) -> AsyncIterator[TelegramTown]:
    """A town over the migrated database at *url*; afterwards every process is gone, and all is in order."""
    async with AsyncExitStack() as closing:
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        telegram = await closing.enter_async_context(fake_telegram())
        line = command_line(url, folder).with_env(
            AUDIT_KEY=AUDIT_KEY.decode(), PORT="0", **in_telegram(telegram)
        )
        town = TelegramTown(telegram=telegram, line=line, planted=planted)
        closing.push_async_callback(town.ends)
        await town.people()
        yield town
        await town.ends()
        assert await town.is_whole()
        assert telegram.faults == []
        assert town.errors() == []
