"""A process that ends at a chosen one of its calls to the outside: ports of its store, model, tools, chat.

Ends three ways: it dies (`Died`), it is really killed (child.py), or it only pauses and comes back as a
zombie. *Before*: the call is not made. *After*: it had its effect, its answer never arrives.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, cast

from sqlalchemy import event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from adapters.store import SqlStore
from core.model import ModelReply, Request
from core.ports import (
    Inbox,
    Leases,
    Ledger,
    Model,
    Outbox,
    Parks,
    People,
    Prompts,
    Queue,
    Rates,
    Secrets,
    Tasks,
)
from core.poster import Surface
from core.rendering import View

T = TypeVar("T")

MOST_CALLS = 400
"""No scenario needs a third of it; a process that goes on for longer never ends (I20)."""


class Died(BaseException):
    """The process ended here. Nothing of ours may catch it: it is no Exception."""


class Endless(BaseException):
    """The process makes more calls than any scenario needs."""


class Side(StrEnum):
    BEFORE = "before"
    AFTER = "after"
    COMMIT = "commit"  # of a store's call: at its COMMIT, everything but that done (child.py)


@dataclass(frozen=True, kw_only=True, slots=True)
class At:
    """The *n*-th call, whatever it is; from 1."""

    n: int
    side: Side

    def meets(self, calls: list[str]) -> bool:
        return len(calls) == self.n

    def __str__(self) -> str:
        return f"{self.n}:{self.side}"


@dataclass(frozen=True, kw_only=True, slots=True)
class On:
    """The *nth* call of that name; from 1."""

    name: str
    side: Side
    nth: int = 1

    def meets(self, calls: list[str]) -> bool:
        return calls[-1] == self.name and calls.count(self.name) == self.nth

    def __str__(self) -> str:
        return f"{self.side} {self.name} {self.nth}"


Fate = At | On


class Mortal:
    """One process's life: every call to the outside goes through `call`.

    *calls* are the names of those made, *refused* of those tried after death: a `finally` may try, and
    reaches nothing. *strike* is what happens at the fated call; *watch* is awaited after each one.
    """

    def __init__(
        self,
        fate: Fate | None = None,
        *,
        strike: Callable[["Mortal"], Awaitable[None]] | None = None,
        watch: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.fate = fate
        self.calls: list[str] = []
        self.refused: list[str] = []
        self.dead = False
        self.struck = False
        self.at_commit = False  # the next COMMIT is the fated one
        self.cut: Callable[[], Awaitable[None]] | None = None  # set by who opens connections
        self._strike = strike or die
        self._over = asyncio.Event()  # the strike is
        self._watch = watch

    async def call(self, name: str, act: Callable[[], Awaitable[T]]) -> T:
        """What *act* answers, unless this is where the process ends."""
        await self._living(name)
        self.calls.append(name)
        if len(self.calls) > MOST_CALLS:
            raise Endless(f"after {MOST_CALLS} calls, the last ones: {self.calls[-12:]}")
        side = self._side()
        if side is Side.BEFORE:
            await self.strike()
        self.at_commit = side is Side.COMMIT
        try:
            answer = await act()
        except Exception:
            if side is Side.AFTER:
                await self.strike()
            raise
        if side is Side.AFTER:
            await self.strike()
        if self.dead:  # somebody else died while this call was under way: its answer never arrives
            await self._over.wait()
            raise Died
        if self._watch is not None:
            await self._watch()
        return answer

    async def strike(self) -> None:
        self.struck = True
        try:
            await self._strike(self)
        finally:
            self._over.set()

    def _side(self) -> Side | None:
        if self.fate is None or self.struck or not self.fate.meets(self.calls):
            return None
        return self.fate.side

    async def _living(self, name: str) -> None:
        if self.dead:
            self.refused.append(name)
            await self._over.wait()
            raise Died


async def die(mortal: Mortal) -> None:
    """The process is gone: its connections are cut first, so that no `finally` can end them politely."""
    mortal.dead = True
    if mortal.cut is not None:
        await mortal.cut()
    raise Died


@dataclass(frozen=True, slots=True)
class Pause:
    """The process stops where it is until somebody sets *resumed*."""

    reached: asyncio.Event
    resumed: asyncio.Event

    async def __call__(self, mortal: Mortal) -> None:
        self.reached.set()
        await self.resumed.wait()


# ── what it goes through to the outside ──────────────────────────────────────────────────────


class _Port:
    """A port whose every method is a call of *mortal*."""

    def __init__(self, mortal: Mortal, name: str, real: object) -> None:
        self._mortal = mortal
        self._name = name
        self._real = real

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        real = getattr(self._real, method)

        async def called(*args: Any, **named: Any) -> Any:
            return await self._mortal.call(self._called(method, args), lambda: real(*args, **named))

        return called

    def _called(self, method: str, args: tuple[Any, ...]) -> str:
        """``queue.claim``; a change has its move's name too: ``tasks.change(mark)``."""
        move = f"({args[1].__qualname__.partition('.')[0]})" if method == "change" else ""
        return f"{self._name}.{method}{move}"


class MortalStore:
    """core.ports.Store over *real*, each call of its ports one of *mortal*."""

    def __init__(self, mortal: Mortal, real: SqlStore) -> None:
        self._real = real
        self.tasks = cast(Tasks, _Port(mortal, "tasks", real.tasks))
        self.queue = cast(Queue, _Port(mortal, "queue", real.queue))
        self.inbox = cast(Inbox, _Port(mortal, "inbox", real.inbox))
        self.outbox = cast(Outbox, _Port(mortal, "outbox", real.outbox))
        self.parks = cast(Parks, _Port(mortal, "parks", real.parks))
        self.people = cast(People, _Port(mortal, "people", real.people))
        self.ledger = cast(Ledger, _Port(mortal, "ledger", real.ledger))
        self.leases = cast(Leases, _Port(mortal, "leases", real.leases))
        self.secrets = cast(Secrets, _Port(mortal, "secrets", real.secrets))
        self.rates = cast(Rates, _Port(mortal, "rates", real.rates))
        self.prompts = cast(Prompts, _Port(mortal, "prompts", real.prompts))

    async def close(self) -> None:
        await self._real.close()


class MortalModel:
    """core.ports.Model over *real*."""

    def __init__(self, mortal: Mortal, real: Model) -> None:
        self._mortal = mortal
        self._real = real

    async def reply(self, request: Request) -> ModelReply:
        return await self._mortal.call("model.reply", lambda: self._real.reply(request))


class MortalSurface:
    """core.poster.Surface over *real*."""

    def __init__(self, mortal: Mortal, real: Surface) -> None:
        self._mortal = mortal
        self._real = real

    async def post(self, view: View, route: str) -> str:
        return await self._mortal.call("chat.post", lambda: self._real.post(view, route))

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        return await self._mortal.call("chat.update", lambda: self._real.update(view, route, chat_ref))


class Wire:
    """The driver's connections of one process's store, to be cut without a word to the database."""

    def __init__(self, store: SqlStore) -> None:
        self._connections: list[Any] = []
        event.listen(store.db.engine.sync_engine, "connect", self._connected)

    def _connected(self, connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        driver = cast(Any, connection).driver_connection
        self._connections.append(driver)
        if not hasattr(driver, "terminate"):
            # SQLite: a process that dies leaves its machine running, so nothing need reach the disk.
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous = OFF")
            cursor.close()

    def forget(self) -> None:
        """They are cut."""
        self._connections.clear()

    async def cut(self) -> None:
        for driver in self._connections:
            if hasattr(driver, "terminate"):
                driver.terminate()  # asyncpg: the socket is closed, no message is sent
            else:
                await driver.close()  # aiosqlite: what was not committed is gone with it
