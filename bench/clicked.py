"""One run of the clicks' benchmark: the real processes over one database, a load of clicks, what came of it.

Everything goes the way it goes in production: people ask in a chat, workers propose and post the cards,
clicks come over HTTP as the chat sends them, workers run what was approved. The chat, the web process and
each worker are processes of their own; this one sends the clicks, and reads the rows before and after.
"""

import asyncio
import os
import re
import signal
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import aiohttp
from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.ids import SystemIds
from adapters.store import SqlStore, migrate, open_store
from adapters.store import tables as t
from bench import clicked_shop as shop
from bench.chat import Chat, Surface, chat
from bench.clicked_shop import Stage
from bench.cpu import shares, times
from bench.result import ROOT
from core.ids import OrgId
from core.parks import ParkKind, ParkState
from core.people import Account
from core.tasks import TaskState

AUDIT_KEY = "of a benchmark, not of an installation"
ORG = OrgId("org")
READING = 20
"""Tasks that go on all the time."""
WORKERS = 3
"""Ten tasks at once each: two for those that go on, one for what the clicks let run."""
AGAIN = 0.05
"""Of the clicks, those on a card that was clicked just before: another event, as of a double click."""
ANSWER_SECONDS = 60.0
"""How long a click waits for its answer here: Slack gives up after 3, and we want to know."""
READY_SECONDS = 60.0
STUCK_SECONDS = 60.0
SETTLED_SECONDS = 3.0
LEAVE_SECONDS = 30.0  # what platforms give
SAID_AT_ONCE = 4
SEED = 7

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """*rate* clicks a second in *surface* for *seconds*; a model takes *think_seconds* for each reply."""

    surface: Surface = Surface.SLACK
    rate: int
    seconds: float
    think_seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrival:
    """A click: seconds after the first may come, and on which call."""

    at: float
    call: int


def arrivals(rate: int, seconds: float, seed: int = SEED) -> list[Arrival]:
    """When each click comes, whatever the earlier ones do: at random times, as of many people.

    Each is on a call of its own, but a share of them on the call of the click before.
    """
    random, total = Random(seed), round(rate * seconds)
    moments = sorted(random.uniform(0, seconds) for _ in range(total))
    again = set(random.sample(range(1, total), int(total * AGAIN)) if total > 1 else ())
    made: list[Arrival] = []
    for n, at in enumerate(moments):
        call = -1 if not made else made[-1].call
        made.append(Arrival(at=at, call=call if n in again else call + 1))
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class Click:
    """A click that was sent, at times of the machine's clock. *status*: of its answer, None without one."""

    token: str
    due_at: float
    sent_at: float
    answered_at: float
    status: int | None

    @property
    def is_acked(self) -> bool:
        return self.status == 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Parked:
    """A parked call afterwards: when it was decided by the database's clock, how often, how often it ran."""

    decided_at: float | None
    decisions: int
    effects: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a run. *parks*: by token. *reading*: the fewest tasks seen going on beside the clicks.

    *cores*: used during the load, by whom. *found*: what a reader of the figures has to know, in words.
    """

    clicks: Sequence[Click]
    parks: Mapping[str, Parked]
    reading: int
    cores: Mapping[str, float]
    found: Sequence[str] = ()


async def run(plan: Plan, url: str, folder: Path, tell: Tell) -> Outcome:
    """A load over the empty database of *url*, everything else that is written being in *folder*."""
    await migrate(url)
    bench = Bench(plan=plan, url=url, folder=folder, tell=tell)
    try:
        async with bench.opened(), AsyncExitStack() as leaving:
            await bench.asked()
            await bench.works(leaving)
            outcome = await bench.loaded()
    except RuntimeError as error:
        raise RuntimeError("\n".join((str(error), *bench.found))) from error
    return replace(outcome, found=tuple(bench.found))  # what they logged in leaving, too


@dataclass(kw_only=True, slots=True)
class Bench:
    """One database with its processes."""

    plan: Plan
    url: str
    folder: Path
    tell: Tell
    store: SqlStore = field(init=False)
    chat: Chat = field(init=False)
    port: int = field(init=False)
    names: dict[int, str] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    _seen: list[int] = field(default_factory=list)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """The chat and the web process run, and the organization has its one person."""
        shop.set_stage(self.folder, Stage.PREPARING)
        async with AsyncExitStack() as closing:
            made = open_store(self.url, audit_key=AUDIT_KEY.encode(), ids=SystemIds(), pool_size=2)
            self.store = cast(SqlStore, made)
            closing.push_async_callback(self.store.close)
            people = self._calls + READING
            self.chat = await closing.enter_async_context(chat(self.plan.surface, people))
            self.names[self.chat.process.pid] = f"the fake {self.chat.name}"
            self.names[os.getpid()] = "the generator"
            await self._ada()
            web = await closing.enter_async_context(self._bot("web", "web"))
            self.port = int((await self._says(web, r"web listens on \S+:(\d+)"))[1])
            await self._says(web, "web is open")
            yield

    async def _ada(self) -> None:
        """The one person is there, linked to each of the chat's accounts."""
        first, *others = self.chat.accounts
        ada = await self.store.people.found(ORG, "Org", "Ada", Account(surface=self.plan.surface, ref=first))
        rows = [
            {"org": ORG, "person_id": ada.id, "surface": self.plan.surface.value, "account_ref": ref}
            for ref in others
        ]

        async def linked(conn: AsyncConnection) -> None:
            await conn.execute(insert(t.accounts), rows)

        if rows:
            await self.store.db.write(linked)

    @asynccontextmanager
    async def _bot(self, command: str, name: str) -> AsyncIterator["Bot"]:
        """`python -m bot` runs as *command*; afterwards it was told to leave, as by a platform."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", command),
                cwd=ROOT,
                env=self._env(),
                stdout=stderr,
                stderr=stderr,
            )
        self.names[process.pid] = "web" if command == "web" else f"{WORKERS} workers"
        bot = Bot(name=name, process=process, log=log)
        try:
            yield bot
        finally:
            await bot.leave()
            self.found += bot.complaints()

    def _env(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", ""),
            "DATABASE_URL": self.url,
            "AUDIT_KEY": AUDIT_KEY,
            "HOST_APP": "bench.clicked_shop:Shop",
            shop.FOLDER: str(self.folder),
            shop.THINK: str(self.plan.think_seconds),
            "PORT": "0",
            **self.chat.env,
        }

    async def _says(self, bot: "Bot", words: str) -> "re.Match[str]":
        """Its log has *words*. Raises RuntimeError with its log where it has not, or is gone."""
        give_up_at = time.monotonic() + READY_SECONDS
        while time.monotonic() < give_up_at and bot.process.returncode is None:
            if (found := re.search(words, bot.said())) is not None:
                return found
            await asyncio.sleep(0.1)
        raise RuntimeError(f"{bot.name} did not say {words!r}:\n{bot.said()[-2000:]}")

    # ── before ───────────────────────────────────────────────────────────────────────────────

    async def asked(self) -> None:
        """Each refund is asked for; nobody works on one yet."""
        await self._asked([shop.refund_of(n) for n in range(self._calls)], "refunds asked for")

    async def works(self, leaving: AsyncExitStack) -> None:
        """The workers work, until *leaving*; each call waits, its card is there, and the readers go on."""
        for n in range(1, WORKERS + 1):
            worker = await leaving.enter_async_context(self._bot("worker", f"worker-{n}"))
            await self._says(worker, "works")
        await self._until(self._calls, self._waiting, "calls parked")
        await self._until(self._calls, self.chat.cards, "cards posted")
        await self._asked([shop.reading(n) for n in range(READING)], "readers asked for")
        await self._until(READING, self._reading, "readers going on")

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.chat.path}"

    @property
    def _calls(self) -> int:
        return len({arrival.call for arrival in arrivals(self.plan.rate, self.plan.seconds)})

    async def _asked(self, texts: Sequence[str], what: str) -> None:
        for n in range(0, len(texts), SAID_AT_ONCE):
            some = texts[n : n + SAID_AT_ONCE]
            taken = await self.chat.says(some, self._url)
            if taken != len(some):
                raise RuntimeError(f"the web process took {taken} of {len(some)} messages")
            self.tell(f"{n + len(some)} of {len(texts)} {what}")

    async def _until(self, wanted: int, counted: Callable[[], Awaitable[int]], what: str) -> None:
        """*counted* says *wanted*. Raises RuntimeError where it does not grow for a while."""
        best, since = -1, time.monotonic()
        while (count := await counted()) < wanted:
            if count > best:
                best, since = count, time.monotonic()
            elif time.monotonic() - since > STUCK_SECONDS:
                raise RuntimeError(f"{count} of {wanted} {what}, and no more for {STUCK_SECONDS:.0f} s")
            self.tell(f"{count} of {wanted} {what}")
            await asyncio.sleep(0.5)

    # ── the load ─────────────────────────────────────────────────────────────────────────────

    async def loaded(self) -> Outcome:
        """The clicks were sent and answered, and everything that they let run has run."""
        planned = arrivals(self.plan.rate, self.plan.seconds)
        self.tell("the clicks are made")
        made = await self.chat.clicks([arrival.call for arrival in planned])
        shop.set_stage(self.folder, Stage.LOADED)
        self.tell(f"{len(made)} clicks in {self.plan.seconds:g} s")
        watching = asyncio.create_task(self._watched())
        before = times()
        clicks = await self._sent(planned, made)
        after = times()
        watching.cancel()
        await asyncio.wait([watching])
        if not watching.cancelled():
            watching.result()  # raises what it broke off with
        reading = min(self._seen, default=0)
        shop.set_stage(self.folder, Stage.OVER)
        await self._drained(clicks)
        cores = {} if before is None or after is None else shares(before, after, self.names, self._rest)
        self.found += [f"{self.chat.name} found fault with: {fault}" for fault in await self.chat.faults()]
        return Outcome(
            clicks=clicks,
            parks=await self._parks(),
            reading=reading,
            cores=cores,
        )

    async def _watched(self) -> None:
        """Once a second: how many readers go on."""
        while True:
            self._seen.append(await self._reading())
            await asyncio.sleep(1)

    async def _sent(self, planned: Sequence[Arrival], made: Sequence[tuple[str, bytes]]) -> list[Click]:
        loop = asyncio.get_running_loop()
        # Less than the server keeps them: a connection that it closes just now would lose a click of ours.
        connections = aiohttp.TCPConnector(limit=0, keepalive_timeout=2)
        patience = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        async with aiohttp.ClientSession(connector=connections, timeout=patience) as session:
            begun, begun_at = loop.time() + 1, time.time() + 1
            going: list[asyncio.Task[Click]] = []
            for arrival, (token, body) in zip(planned, made, strict=True):
                await asyncio.sleep(begun + arrival.at - loop.time())
                work = _click(session, self._url, self.chat, token, body, begun_at + arrival.at)
                going.append(asyncio.create_task(work))
            return await asyncio.gather(*going)

    async def _drained(self, clicks: Sequence[Click]) -> None:
        """What was clicked is decided, though its click was answered before, and has run."""
        acked = {click.token for click in clicks if click.is_acked}

        async def undecided() -> int:
            return sum(
                park.decided_at is None for token, park in (await self._parks()).items() if token in acked
            )

        await self._none(undecided, "clicks to be decided")
        await self._settled()
        await self._none(self._going_on, "tasks to end")

    async def _settled(self) -> None:
        """Nothing is decided any more: a click that was put off may still be, for a while."""
        seen, since = await self._decided(), time.monotonic()
        while time.monotonic() - since < SETTLED_SECONDS:
            await asyncio.sleep(0.5)
            if (count := await self._decided()) != seen:
                seen, since = count, time.monotonic()

    async def _none(self, counted: Callable[[], Awaitable[int]], what: str) -> None:
        """*counted* says 0; else it is among what was found that it stopped falling."""
        left, since = -1, time.monotonic()
        while (count := await counted()) > 0:
            if count != left:
                left, since = count, time.monotonic()
            elif time.monotonic() - since > STUCK_SECONDS:
                self.found.append(f"{count} {what}, and no fewer after {STUCK_SECONDS:.0f} s")
                return
            self.tell(f"{count} {what}")
            await asyncio.sleep(0.5)

    # ── the rows ─────────────────────────────────────────────────────────────────────────────

    async def _waiting(self) -> int:
        return await self._count(t.parks.c.state == ParkState.OPEN)

    async def _decided(self) -> int:
        return await self._count(t.parks.c.state == ParkState.DECIDED)

    async def _reading(self) -> int:
        return await self._count(t.tasks.c.agent == "lee", t.tasks.c.state == TaskState.RUNNING)

    async def _going_on(self) -> int:
        states = (TaskState.QUEUED, TaskState.RUNNING, TaskState.DELAYED)
        return await self._count(t.tasks.c.state.in_(states))

    async def _count(self, *where: Any) -> int:
        async def counted(conn: AsyncConnection) -> int:
            return (await conn.execute(select(func.count()).where(*where))).scalar_one()

        return await self.store.db.read(counted)

    async def _parks(self) -> dict[str, Parked]:
        effects = shop.refunds(self.folder)

        async def read(conn: AsyncConnection) -> dict[str, Parked]:
            decided = select(t.audit.c.call_id, func.count()).where(t.audit.c.move == "decide")
            counts: Counter[str] = Counter(
                dict((await conn.execute(decided.group_by(t.audit.c.call_id))).tuples().all())
            )
            p = t.parks.c
            rows = await conn.execute(
                select(p.token, p.call_id, p.state, p.decided_at).where(p.kind == ParkKind.APPROVAL)
            )
            return {
                token: Parked(
                    decided_at=at.timestamp() if state == ParkState.DECIDED else None,
                    decisions=counts[call_id],
                    effects=effects[call_id],
                )
                for token, call_id, state, at in rows
            }

        return await self.store.db.read(read)

    @property
    def _rest(self) -> str:
        """Whose the time is of what was started here and has no name."""
        return "the database" if self.store.db.is_postgres else "the rest of ours"


async def _click(
    session: aiohttp.ClientSession, url: str, chat: Chat, token: str, body: bytes, due_at: float
) -> Click:
    sent_at, status = time.time(), None
    try:
        async with session.post(url, data=body, headers=chat.headers(body, int(sent_at))) as answer:
            await answer.read()
            status = answer.status
    except (aiohttp.ClientError, TimeoutError):
        status = None  # it is counted as not answered
    return Click(token=token, due_at=due_at, sent_at=sent_at, answered_at=time.time(), status=status)


# ── processes ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Bot:
    """A process of ours with its log."""

    name: str
    process: Process
    log: Path

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    async def leave(self) -> None:
        """It has left; by force, where that took longer than platforms give."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()

    def complaints(self) -> list[str]:
        """That it ended badly, and the first of its warnings and errors."""
        lines = [line for line in self.said().splitlines() if re.search(" (WARNING|ERROR|CRITICAL) ", line)]
        logged = [f"{self.name} logged {len(lines)} warnings and errors, first: {lines[0]}"] if lines else []
        status = self.process.returncode
        return [*logged, *([] if status == 0 else [f"{self.name} did not leave by itself: {status}"])]
