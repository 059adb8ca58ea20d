"""The shop in Telegram as it runs: web and worker as processes over a database, a fake Telegram in front."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.telegram.client import SURFACE
from core.audit import verify
from core.people import Account, Organization
from core.ports import Query, Story
from tests.acceptance.command_line import CommandLine, command_line
from tests.acceptance.shop import ORG, PAST, U1, U2
from tests.acceptance.slack_processes import ASKED, Running, Web
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Chat, FakeTelegram, Message, Said, User, fake_telegram

PUBLIC_URL = "https://bot.example"
"""What the web process is told of itself; what Telegram sends there gets to its port."""
HOOK = f"{PUBLIC_URL}/telegram/updates"


@dataclass(kw_only=True, slots=True)
class TelegramTown:
    """*ada* and *ben*: an owner and an approver, in *ops* and alone with the bot."""

    telegram: FakeTelegram
    line: CommandLine
    planted: SqlPlanted
    started: list[Running] = field(default_factory=list)
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
        self.telegram.bot_url = address(web.port)
        return web

    async def asking_web(self) -> Web:
        """A web process that nobody can reach from outside."""
        return await self._opened()

    async def _opened(self, **env: str) -> Web:
        web = Web(await self.line.with_env(**env).start("web"))
        self.started.append(web)
        web.port = int((await web.tells("web listens on")).rpartition(":")[2])
        await web.tells("web is open")
        return web

    async def worker(self) -> Running:
        """A worker that goes on."""
        worker = Running(await self.line.start("worker", "--no-posts"))
        self.started.append(worker)
        await worker.tells(" works")
        return worker

    async def works(self) -> None:
        """A worker has done what can be done without a person, and it is in Telegram."""
        said = await self.line.run("worker", "--until-idle", "--no-posts")
        assert (said.status, " ERROR " in said.err) == (0, False), said.err

    async def time_passes(self) -> None:
        """Whoever was killed is not waited for any longer: their leases are over, what they took is due."""
        for lease in await self.planted.table("leases"):
            await self.planted.update("leases", {"expires_at": PAST}, name=lease["name"])
        await self.planted.update("posts", {"due_at": PAST}, state="sending")
        await self.planted.delete("rates")

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

    @property
    def refunds(self) -> list[tuple[str, str]]:
        return self.line.refunds

    async def stories(self) -> list[Story]:
        """Of every task, oldest first."""
        ledger = self.planted.store.ledger
        found = sorted(await ledger.find(ORG, Query()), key=lambda task: task.number)
        return [await ledger.story(task.ref) for task in found]

    async def is_whole(self) -> bool:
        """The audit trail has all that was done."""
        ledger = self.planted.store.ledger
        sealed, loose = await ledger.audit(ORG, 0, 100_000), await ledger.unsealed(ORG, 100_000)
        return verify(AUDIT_KEY, sealed, loose, await ledger.head(ORG)).whole


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def in_telegram(telegram: FakeTelegram) -> dict[str, str]:
    """What a process is told of *telegram*."""
    return {"TELEGRAM_BOT_TOKEN": telegram.token, "TELEGRAM_API_URL": telegram.api_url}


@asynccontextmanager
async def dying(town: TelegramTown, web: Web) -> AsyncIterator[None]:
    """Telegram's requests reach *web*, which is killed once it answers the first: no answer gets back."""

    async def taken(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            from_web, to_web = await asyncio.open_connection("127.0.0.1", web.port)
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode().lower().splitlines()
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length"))
            to_web.write(head + await reader.readexactly(length))
            assert (await from_web.read(12)) == b"HTTP/1.1 200"
            await web.dies()
            to_web.close()
        except ConnectionError:
            pass  # it was killed by then
        writer.close()

    between = await asyncio.start_server(taken, "127.0.0.1", 0)
    async with between:
        town.telegram.bot_url = address(between.sockets[0].getsockname()[1])
        yield


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
        closing.push_async_callback(_all_gone, town)
        await town.people()
        yield town
        await _all_gone(town)
        assert await town.is_whole()
        assert telegram.faults == []
        assert [line for one in town.started for line in one.lines if " ERROR " in line] == []


async def _all_gone(town: TelegramTown) -> None:
    for one in town.started:
        await one.dies()
