"""The shop in Slack as it runs: web and worker as processes over one database, a fake Slack in front."""

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.slack.heard.actors import SURFACE
from adapters.slack.installed.scopes import SCOPES
from core.audit import verify
from core.people import Account, Organization
from core.ports import Query, Story
from tests.acceptance.command_line import CommandLine, command_line
from tests.acceptance.forking import Forked
from tests.acceptance.shop import ORG, PAST, U1, U2
from tests.acceptance.slack_office import words_of
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import SIGNING_SECRET, Channel, FakeSlack, Message, User, fake_slack

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
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/slack/events"


@dataclass(kw_only=True, slots=True)
class Town:
    """*ada* and *ben*: an owner and an approver, in *ops*. *broken*: what a log may say of errors."""

    slack: FakeSlack
    line: CommandLine
    planted: SqlPlanted
    started: list[Running] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    ada: User = field(init=False)
    ben: User = field(init=False)
    ops: Channel = field(init=False)

    async def people(self) -> None:
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2)
        self.ada, self.ben = self.slack.add_user("ada"), self.slack.add_user("ben")
        for person, user in ((U1, self.ada), (U2, self.ben)):
            account = Account(surface=SURFACE, ref=f"{user.team_id}/{user.id}")
            await self.planted.account(person, account)
        self.ops = self.slack.add_channel("ops", self.ada, self.ben)

    # ── processes ────────────────────────────────────────────────────────────────────────────

    async def listens(self, **env: str) -> Web:
        """A web process that listens, be it open or not; Slack sends to it from here on."""
        web = Web(await self.line.with_env(**env).start("web"))
        self.started.append(web)
        web.port = int((await web.tells("web listens on")).rpartition(":")[2])
        self.slack.bot_url = web.url
        return web

    async def web(self, **env: str) -> Web:
        """The same, open."""
        web = await self.listens(**env)
        await web.tells("web is open")
        return web

    async def worker(self) -> Running:
        """A worker that goes on."""
        worker = Running(await self.line.start("worker", "--no-posts"))
        self.started.append(worker)
        await worker.tells(" works")
        return worker

    async def works(self) -> None:
        """A worker has done what can be done without a person, and it is in Slack."""
        said = await self.line.run("worker", "--until-idle", "--no-posts")
        assert said.status == 0, said.err
        assert [line for line in said.err.splitlines() if self._is_error(line)] == []

    async def time_passes(self) -> None:
        """Whoever was killed is not waited for any longer: their leases are over, what they took is due."""
        for lease in await self.planted.table("leases"):
            await self.planted.update("leases", {"expires_at": PAST}, name=lease["name"])
        await self.planted.update("posts", {"due_at": PAST}, state="sending")

    def _is_error(self, line: str) -> bool:
        return " ERROR " in line and not any(words in line for words in self.broken)

    def errors(self) -> list[str]:
        """What the processes logged as errors, but for what the test has broken itself."""
        return [line for one in self.started for line in one.lines if self._is_error(line)]

    # ── what is there ────────────────────────────────────────────────────────────────────────

    @property
    def cards(self) -> list[Message]:
        """Every message with a call's buttons in the channel, oldest first."""
        return [
            message
            for message in self.slack.said(self.ops)
            if any(block.get("block_id", "").startswith("park:") for block in message.blocks)
        ]

    async def asked(self, words: str = ASKED) -> Message:
        """Ada's mention, acknowledged."""
        said = await self.slack.says(self.ada, self.ops, words, mention=True)
        assert [delivery.status for delivery in said.deliveries] == [200, 200]
        return said.message

    async def parked(self) -> Message:
        """Ada has asked for a refund, and its card is in the thread."""
        await self.asked()
        await self.works()
        (card,) = self.cards
        return card

    async def shows(self, words: str, *, after: Message) -> Message:
        """The message in the thread of *after* that says *words*, as soon as it does."""
        return await self.slack.wait_for(
            lambda: next((m for m in self.slack.thread(after) if words in words_of(m.blocks)), None)
        )

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


def told(slack: FakeSlack, user: User) -> list[str]:
    """What *user* alone was told, oldest first, as text."""
    return [words_of(one.blocks) or one.text for one in slack.shown_to(user)]


@asynccontextmanager
async def without(planted: Planted, table: str) -> AsyncIterator[None]:
    """The database has no such *table*: what needs it is refused, at once."""
    assert isinstance(planted, SqlPlanted)
    await planted.run(f"ALTER TABLE {table} RENAME TO gone")
    yield
    await planted.run(f"ALTER TABLE gone RENAME TO {table}")


@asynccontextmanager
async def town_at(url: str, folder: Path, **env: str) -> AsyncIterator[Town]:
    """A town over the migrated database at *url*; afterwards every process is gone, and all is in order."""
    async with AsyncExitStack() as closing:
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        slack = await closing.enter_async_context(fake_slack())
        slack.team.scopes = set(SCOPES)
        slack.patience = (
            10.0  # processes share the machine with other tests; Slack's own 3 s: test_bolt_traps
        )
        line = command_line(url, folder).with_env(
            AUDIT_KEY=AUDIT_KEY.decode(),
            PORT="0",
            SLACK_BOT_TOKEN=slack.team.bot_token,
            SLACK_SIGNING_SECRET=SIGNING_SECRET,
            SLACK_API_URL=slack.api_url,
            **env,
        )
        town = Town(slack=slack, line=line, planted=planted)
        closing.push_async_callback(_all_gone, town.started)
        await town.people()
        yield town
        await _all_gone(town.started)
        assert await town.is_whole()
        assert slack.faults == []
        assert slack.late == []
        assert town.errors() == []


async def _all_gone(started: Sequence[Running]) -> None:
    for one in started:
        await one.dies()
