"""The shop as it runs, whatever chat is in front: web and worker as processes over one database."""

import asyncio
import signal
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from core.audit import verify
from core.ports import Query, Story
from tests.acceptance.command_line import CommandLine
from tests.acceptance.forking import Forked
from tests.acceptance.shop import ORG, PAST
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted

ASKED = "refund the mug that arrived broken"
PAID = ("A7", "24.00")
"""What comes of it, once it is approved."""


@dataclass(slots=True)
class Running:
    """A process that goes on, and what it has logged."""

    process: Process | Forked
    lines: list[str] = field(default_factory=list)
    _more: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: "asyncio.Task[None] | None" = None

    def __post_init__(self) -> None:
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.lines.append(line.decode())
            self._more.set()
        self._more.set()

    async def tells(self, words: str) -> str:
        """The first line that has *words*, as soon as it is logged."""
        assert self._reading is not None
        async with asyncio.timeout(20):
            while True:
                self._more.clear()
                if found := next((line for line in self.lines if words in line), None):
                    return found
                assert not self._reading.done(), f"it ended without saying {words!r}: {''.join(self.lines)}"
                await self._more.wait()

    def stop(self) -> None:
        """It is told to leave."""
        self.process.send_signal(signal.SIGTERM)

    async def ends(self) -> int:
        """Its status, once it has left: in the time that a platform gives it."""
        async with asyncio.timeout(25):
            status = await self.process.wait()
            assert self._reading is not None
            await self._reading
        return status

    async def dies(self) -> None:
        """It is killed, in the middle of whatever it did."""
        if self.process.returncode is None:
            self.process.kill()
        await self.ends()


@dataclass(slots=True)
class Web(Running):
    """A web process. *port*: where it listens."""

    port: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(kw_only=True, slots=True)
class Town:
    """*started*: its processes that go on. *broken*: what a log may say of errors."""

    line: CommandLine
    planted: SqlPlanted
    started: list[Running] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    async def listening(self, **env: str) -> Web:
        """A web process that listens, be it open or not."""
        web = Web(await self.line.with_env(**env).start("web"))
        self.started.append(web)
        web.port = int((await web.tells("web listens on")).rpartition(":")[2])
        return web

    async def worker(self) -> Running:
        """A worker that goes on."""
        worker = Running(await self.line.start("worker", "--no-posts"))
        self.started.append(worker)
        await worker.tells(" works")
        return worker

    async def works(self) -> None:
        """A worker has done what can be done without a person, and it is in the chat."""
        said = await self.line.run("worker", "--until-idle", "--no-posts")
        assert said.status == 0, said.err
        assert [line for line in said.err.splitlines() if self._is_error(line)] == []

    async def time_passes(self) -> None:
        """Whoever was killed is not waited for any longer: their leases are over, what they took is due."""
        for lease in await self.planted.table("leases"):
            await self.planted.update("leases", {"expires_at": PAST}, name=lease["name"])
        await self.planted.update("posts", {"due_at": PAST}, state="sending")
        await self.planted.delete("rates")

    async def ends(self) -> None:
        """Every process is gone."""
        for one in self.started:
            await one.dies()

    def _is_error(self, line: str) -> bool:
        return " ERROR " in line and not any(words in line for words in self.broken)

    def errors(self) -> list[str]:
        """What the processes logged as errors, but for what the test has broken itself."""
        return [line for one in self.started for line in one.lines if self._is_error(line)]

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


@asynccontextmanager
async def unanswered(web: Web) -> AsyncIterator[str]:
    """An address of *web*, which is killed once it answers the first request there: no answer gets back."""

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
        yield f"http://127.0.0.1:{between.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def without(planted: Planted, table: str) -> AsyncIterator[None]:
    """The database has no such *table*: what needs it is refused, at once."""
    assert isinstance(planted, SqlPlanted)
    await planted.run(f"ALTER TABLE {table} RENAME TO gone")
    yield
    await planted.run(f"ALTER TABLE gone RENAME TO {table}")
