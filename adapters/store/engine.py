"""One database behind every port: its connections, its transactions, its time.

The only place that knows which of the two databases it is where that matters beyond a statement:
SQLite's BEGIN IMMEDIATE and its single writer, PostgreSQL's snapshots and time-outs. Nothing slow
(model, HTTP, chat) may run inside `write` or `read`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

import asyncpg
from sqlalchemy import ColumnElement, Connection, Table, event, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from adapters.store.columns import SQLITE_NOW, Time
from adapters.store.url import async_url
from core.audit import AuditEntry, mac
from core.canonical import dump, load
from core.errors import StoreError
from core.ports import Ids
from core.redact import Redactor

T = TypeVar("T")

ATTEMPTS = 5  # a transaction that others keep getting in the way of
BACKOFF_SECONDS = 0.02  # doubled each time, and jittered, so that the same two don't meet again
BUSY_TIMEOUT_MS = 5000  # how long SQLite waits for another process's transaction
POOL_SECONDS = 30.0  # how long a transaction waits for a connection, where nobody waits for its answer
CONNECT_SECONDS = 10.0  # to a database that does not answer; asyncpg's own is a minute
IDLE_TIMEOUT = "30s"  # a forgotten transaction stops vacuum; PostgreSQL ends it

_SERIALIZATION = frozenset({"40001", "40P01"})
_SQLITE_BUSY = frozenset({5, 6})  # SQLITE_BUSY, SQLITE_LOCKED

_WRITES = "gatepost_writes"  # execution option: this transaction will write


@dataclass(frozen=True, slots=True)
class Undo(Generic[T]):
    """A transaction's body answers this to have nothing written and *answer* returned."""

    answer: T


class Database:
    """The connections of one process to one database, and what each port needs beside them."""

    def __init__(
        self,
        url: str,
        *,
        ids: Ids,
        audit_key: bytes,
        redactor: Redactor | None = None,
        pool_size: int = 3,
        pool_seconds: float = POOL_SECONDS,
    ) -> None:
        """Nothing is opened yet. Raises ConfigError where *url* can't be one of ours."""
        self.ids = ids
        self.redactor = redactor or Redactor()
        self._audit_key = audit_key
        self.engine = make_engine(async_url(url), pool_size=pool_size, pool_seconds=pool_seconds)
        self.dialect = self.engine.dialect.name  # sqlite or postgresql
        self._writer = writing_engine(self.engine)
        # One statement after another is to see the same rows, also where nothing is locked.
        self._reader = self.engine
        if self.is_postgres:
            self._reader = self.engine.execution_options(isolation_level="REPEATABLE READ")
        # SQLite has one writer: ours queue here in order instead of polling each other's lock.
        self._turn = None if self.is_postgres else asyncio.Lock()

    @property
    def is_postgres(self) -> bool:
        return self.dialect == "postgresql"

    async def write(self, body: Callable[[AsyncConnection], Awaitable[T | Undo[T]]]) -> T:
        """What *body* wrote is committed, all of it; or nothing is, where it raised or answered Undo.

        *body* may run more than once: the whole transaction is tried again when the database says
        that another one was in the way. Cancelled before its COMMIT it is rolled back; cancelled
        during it, the COMMIT's end is awaited first. Database errors become StoreError.
        """
        return await self._unbroken(lambda caller: self._write(body, caller))

    async def read(self, body: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What *body* answered, all of it read from one snapshot. Database errors become StoreError."""
        return await self._unbroken(lambda _: self._read(body))

    async def now(self, conn: AsyncConnection) -> datetime:
        """The database's time at this statement, not at its transaction's start."""
        return (await conn.execute(select(self.clock()))).scalar_one()

    def clock(self) -> ColumnElement[datetime]:
        """The database's time as an expression, comparable with and assignable to Time columns."""
        return clock(postgres=self.is_postgres)

    def insert(self, table: Table) -> "postgresql.Insert | sqlite.Insert":
        """The dialect's own INSERT, which knows ON CONFLICT."""
        return upsert(table, postgres=self.is_postgres)

    def signed(self, entry: AuditEntry) -> AuditEntry:
        """*entry* without secrets (I33), with its HMAC; the key stays here."""
        entry = self.redactor.clean(entry)
        return replace(entry, mac=mac(self._audit_key, entry))

    async def close(self) -> None:
        """No connection is open."""
        await to_the_end(self.engine.dispose())

    async def _unbroken(self, work: "Callable[[Caller], Coroutine[Any, Any, T]]") -> T:
        """*work*, not broken off in the middle of a statement where the driver can't do that.

        SQLite's runs statements in a thread: a cancelled one goes on, and its connection keeps the
        file locked for as long as anything (a traceback, say) refers to its cursor. So there the
        work is a task of its own, which is told that its caller is gone, and awaited.
        """
        caller = Caller()
        if self.is_postgres:
            return await work(caller)
        return await to_the_end(work(caller), caller)

    async def _write(self, body: Callable[[AsyncConnection], Awaitable[T | Undo[T]]], caller: "Caller") -> T:
        return await retried(lambda: self._write_once(body, caller))

    async def _write_once(
        self, body: Callable[[AsyncConnection], Awaitable[T | Undo[T]]], caller: "Caller"
    ) -> T:
        turn: AbstractAsyncContextManager[Any] = self._turn or nullcontext()
        async with turn, connected(self._writer) as conn:
            caller.must_be_there()
            answer = await body(conn)
            caller.must_be_there()
            if isinstance(answer, Undo):
                await conn.rollback()
                return answer.answer
            await to_the_end(conn.commit())
            return answer

    async def _read(self, body: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        try:
            async with connected(self._reader) as conn:
                return await body(conn)
        except SQLAlchemyError as error:
            raise wrapped(error) from error


def clock(*, postgres: bool) -> ColumnElement[datetime]:
    """The database's time as an expression, for statements that are made once."""
    return literal_column("clock_timestamp()" if postgres else SQLITE_NOW, Time())


def upsert(table: Table, *, postgres: bool) -> "postgresql.Insert | sqlite.Insert":
    """The dialect's own INSERT, which knows ON CONFLICT."""
    return postgresql.insert(table) if postgres else sqlite.insert(table)


class Caller:
    """Who waits for a piece of work that is not broken off when they are cancelled."""

    def __init__(self) -> None:
        self.gone = False

    def must_be_there(self) -> None:
        """Raises CancelledError, which rolls back, if nobody waits any more."""
        if self.gone:
            raise asyncio.CancelledError


@asynccontextmanager
async def connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection that is given back whatever happens; what was not committed is rolled back."""
    try:
        conn = await engine.connect()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError("the database can't be reached") from error
    try:
        yield conn
    finally:
        await to_the_end(conn.close())


async def to_the_end(work: Coroutine[Any, Any, T], caller: Caller | None = None) -> T:
    """*work* has ended, even where its caller was cancelled meanwhile; only then is that raised."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
            if caller is not None:
                caller.gone = True
    if cancelled is None:
        return task.result()
    raise cancelled from (None if task.cancelled() else task.exception())


async def retried(work: Callable[[], Awaitable[T]]) -> T:
    """What *work* answered, once no other transaction was in its way. Raises StoreError."""
    for attempt in range(ATTEMPTS):
        try:
            return await work()
        except SQLAlchemyError as error:
            if not in_the_way(error) or attempt == ATTEMPTS - 1:
                raise wrapped(error) from error
        await asyncio.sleep(BACKOFF_SECONDS * 2**attempt * (0.5 + random.random()))
    raise AssertionError("the last attempt returns or raises")


def in_the_way(error: SQLAlchemyError) -> bool:
    """Whether the same transaction may well succeed if it is run again."""
    if not isinstance(error, DBAPIError):
        return False
    sqlstate: str | None = getattr(error.orig, "sqlstate", None)
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    return sqlstate in _SERIALIZATION or (code is not None and code & 0xFF in _SQLITE_BUSY)


def wrapped(error: SQLAlchemyError) -> StoreError:
    """A StoreError that says what kind of error it was; values and statements stay in its cause."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    sqlstate = getattr(origin, "sqlstate", None) or getattr(origin, "sqlite_errorname", None)
    kind = type(origin).__name__
    return StoreError(f"the database refused: {kind}" + (f" ({sqlstate})" if sqlstate else ""))


def make_engine(url: URL, *, pool_size: int | None, pool_seconds: float = POOL_SECONDS) -> AsyncEngine:
    """An engine for *url* whose connections are set up as the store needs; None: not pooled."""
    pool: dict[str, Any] = {"poolclass": NullPool}
    if pool_size is not None:
        pool = {"pool_size": pool_size, "max_overflow": 0, "pool_timeout": pool_seconds}
    postgres = url.get_backend_name() == "postgresql"
    if postgres:
        pool["connect_args"] = {"timeout": CONNECT_SECONDS}
    if postgres and pool_size is not None:
        pool["pool_pre_ping"] = True
    engine = create_async_engine(
        url,
        json_serializer=dump,
        json_deserializer=load,
        hide_parameters=True,  # an error's text reaches logs; what people wrote must not
        **pool,
    )
    event.listen(engine.sync_engine, "connect", _set_up_postgres if postgres else _set_up_sqlite)
    if not postgres:
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def writing_engine(engine: AsyncEngine) -> AsyncEngine:
    """The same engine, its transactions known to write from their start."""
    return engine.execution_options(**{_WRITES: True})


def _set_up_postgres(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    """By statement, not as a startup parameter: those are refused by connection poolers."""
    _execute(connection, f"SET idle_in_transaction_session_timeout = '{IDLE_TIMEOUT}'")
    connection.commit()


def _set_up_sqlite(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; _begin_sqlite does
    _execute(connection, f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")  # first: the next one may have to wait
    _execute(connection, "PRAGMA journal_mode = WAL")
    _execute(connection, "PRAGMA synchronous = FULL")  # what was committed stays, also without power
    _execute(connection, "PRAGMA foreign_keys = ON")


def _execute(connection: DBAPIConnection, statement: str) -> None:
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
    finally:
        cursor.close()


def _begin_sqlite(conn: Connection) -> None:
    """A writer locks at once: one that upgrades after reading fails if another wrote meanwhile."""
    writes = conn.get_execution_options().get(_WRITES, False)
    conn.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
