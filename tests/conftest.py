"""What every test stands on: no network, one PostgreSQL server a session, fresh databases, the rule report.

The server is started once, by the process that starts the workers (or the only process), and its address is
handed to each of them. It is always started: a suite that quietly ran on SQLite alone would prove half of it.
"""

import asyncio
import gc
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings
from sqlalchemy.engine import make_url

from tests.network import NetworkGuard, NetworkPlugin
from tests.postgres import PostgresUnavailable, Server, serve
from tests.rules import REPORT, RuleReport
from tests.scratch import in_memory

settings.register_profile("gatepost", derandomize=True, deadline=None, database=None)
settings.load_profile("gatepost")

SERVER = pytest.StashKey[Server]()
CLOSING = pytest.StashKey[ExitStack]()


def worker_input(config: pytest.Config) -> dict[str, Any]:
    """What the process that reports the tests said to this one; empty if this is the one."""
    said: dict[str, Any] = getattr(config, "workerinput", {})  # set by pytest-xdist
    return said


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for another one that reports them."""
    return bool(worker_input(config))


def pytest_configure(config: pytest.Config) -> None:
    if is_worker(config):
        config.stash[SERVER] = Server(**worker_input(config)["postgres"])
    else:
        in_memory(os.environ)  # workers and whatever a test starts inherit it
    given = os.environ.get("TEST_DATABASE_URL")
    database_host = make_url(given).host if given else None
    guard = NetworkGuard(allowed=frozenset({database_host} if database_host else ()))
    config.pluginmanager.register(NetworkPlugin(guard), "gatepost-network")
    config.pluginmanager.register(RuleReport(None if is_worker(config) else REPORT), "gatepost-rules")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """The server runs before the first worker is started and before the header is printed."""
    config = session.config
    if is_worker(config) or config.option.collectonly:
        return
    closing = config.stash[CLOSING] = ExitStack()
    # A polite kill ends the session as Ctrl-C does, so that the server does not outlive it.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    closing.callback(signal.signal, signal.SIGTERM, before)
    try:
        config.stash[SERVER] = closing.enter_context(serve(os.environ))
    except PostgresUnavailable as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERNAL_ERROR)


def pytest_collection_finish() -> None:
    """Modules and tests stay to the end: whoever collects garbage need not look at them again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    if closing := config.stash.get(CLOSING, None):
        closing.close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker that is about to start is told where the server is."""
    node.workerinput["postgres"] = asdict(node.config.stash[SERVER])


def pytest_report_header(config: pytest.Config) -> str | None:
    server = config.stash.get(SERVER, None)
    return f"postgres: {server.version} (from {server.source})" if server else None


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Server:
    """The session's PostgreSQL server."""
    return pytestconfig.stash[SERVER]


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database in turn."""
    return str(request.param)


@pytest.fixture
async def database_url(database_kind: str, tmp_path: Path, postgres_server: Server) -> AsyncIterator[str]:
    """The async SQLAlchemy URL of a new, empty database of each kind; it is dropped afterwards."""
    if database_kind == "sqlite":
        yield _sqlite_url(tmp_path / "empty.db")
        return
    name = _fresh_name()
    await postgres_server.create_database(name)
    yield postgres_server.url(name)
    await postgres_server.drop_database(name)


@pytest.fixture
async def migrated_url(
    database_kind: str, tmp_path: Path, postgres_server: Server, templates: "Templates"
) -> AsyncIterator[str]:
    """The async SQLAlchemy URL of a new database of each kind that holds the current schema and no rows."""
    async with migrated(database_kind, tmp_path, postgres_server, templates) as url:
        yield url


@asynccontextmanager
async def migrated(kind: str, folder: Path, server: Server, templates: "Templates") -> AsyncIterator[str]:
    """The URL of a new database of *kind* that holds the current schema and no rows."""
    if kind == "sqlite":
        yield await templates.copy_sqlite(folder / "migrated.db")
        return
    name = _fresh_name()
    await server.create_database(name, template=await templates.postgres())
    yield server.url(name)
    await server.drop_database(name)


class Templates:
    """One migrated database of each kind for this process, made when first asked for, then copied."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._file = folder / "template.db"
        self._sqlite: Path | None = None
        self._postgres: str | None = None

    async def copy_sqlite(self, path: Path) -> str:
        """*path* is a migrated SQLite file; returns its URL."""
        if self._sqlite is None:
            await _migrate(_sqlite_url(self._file))
            self._sqlite = self._file
        # Whatever SQLite left beside the file (a write-ahead log) belongs to it.
        for part in self._sqlite.parent.glob(f"{self._sqlite.name}*"):
            shutil.copy(part, f"{path}{part.name.removeprefix(self._sqlite.name)}")
        return _sqlite_url(path)

    async def postgres(self) -> str:
        """The name of a migrated PostgreSQL database to which nobody is connected."""
        if self._postgres is None:
            name = _fresh_name()
            await self._server.create_database(name)
            await _migrate(self._server.url(name))
            self._postgres = name
        return self._postgres

    async def drop(self) -> None:
        """The PostgreSQL template is gone; the file goes with its folder."""
        if self._postgres is not None:
            await self._server.drop_database(self._postgres)


@pytest.fixture(scope="session")
def templates(postgres_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Templates]:
    """The migrated databases that ``migrated_url`` copies."""
    made = Templates(postgres_server, tmp_path_factory.mktemp("template"))
    yield made
    asyncio.run(made.drop())


async def _migrate(url: str) -> None:
    from adapters.store import migrate  # here, so that tests without a store need none

    await migrate(url)


def _fresh_name() -> str:
    """A database name no other test, worker or session has."""
    return f"gatepost_{uuid4().hex}"


def _sqlite_url(path: Path) -> str:
    return f"sqlite+aiosqlite:///{path}"
