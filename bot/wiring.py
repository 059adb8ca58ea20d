"""Puts the parts together: settings in, an app with store, host, agents and model out.

The only place that chooses adapters. What takes long to import (the store, a model's library) is imported
by whoever gets that far, so that ``--help`` and a wrong setting answer at once.
"""

import importlib
import os
import traceback
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING

from adapters.clock import SystemClock
from adapters.folders import check_against, load_agents
from adapters.ids import SystemIds
from adapters.model_openai import OpenAIModel
from adapters.sealing import FernetSealer
from bot.redaction import REDACTOR, redacted_logs
from bot.settings import Settings, audit_key, secret_keys
from core.audit import mac
from core.builtins import BUILTINS
from core.caught import caught, words_of
from core.decisions import Desk
from core.errors import ConfigError, GatepostError
from core.hooks import Hooks
from core.host import BaseHost, chief_of
from core.ids import WorkerId
from core.loop import OnStep, nobody_looks_on
from core.ports import Clock, Ids, Ledger, Model, Store
from core.poster import Poster
from core.proposals import reserved
from core.tools import Tool
from core.worker import Worker

if TYPE_CHECKING:
    from adapters.store.engine import Database

DEFAULT_HOST = "bot.demo.shop:Shop"
"""Without HOST_APP: the example shop, so that a first try needs nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class App:
    """One process's parts, open."""

    settings: Settings
    desk: Desk
    clock: Clock
    default_model: Model | None

    @property
    def store(self) -> Store:
        return self.desk.store

    @property
    def host(self) -> BaseHost:
        return self.desk.host

    def process_name(self) -> str:
        """A name for what this process holds, new each time it is asked for."""
        return f"{gethostname()}:{os.getpid()}:{self.desk.ids.new()[-6:]}"

    def worker(self, on_step: OnStep = nobody_looks_on, posters: Sequence[Poster] = ()) -> Worker:
        """A worker of this process, under a name no other one has."""
        return Worker(
            desk=self.desk,
            clock=self.clock,
            worker_id=WorkerId(self.process_name()),
            default_model=self.default_model,
            lease_seconds=self.settings.lease_seconds,
            on_step=on_step,
            posters=posters,
        )


@asynccontextmanager
async def opened(settings: Settings, *, connection_seconds: float = 30.0) -> AsyncIterator[App]:
    """The app of *settings*; closed afterwards. Raises ConfigError naming the setting and the mend.

    *connection_seconds*: how long it waits for one of the pool's connections. Long for who can wait, as a
    worker can, whose run would break off; short for who has to answer somebody.
    """
    REDACTOR.register_all(settings.secrets())
    with redacted_logs(REDACTOR):
        async with _opened(settings, connection_seconds) as app:
            yield app


@asynccontextmanager
async def _opened(settings: Settings, connection_seconds: float) -> AsyncIterator[App]:
    clock, ids = SystemClock(), SystemIds()
    host = load_host(settings)
    model = _default_model(settings, clock)
    try:
        store = await open_store(settings, ids, connection_seconds)
        try:
            await check_key(store.ledger, audit_key(settings))
            host.vault = store.secrets
            with _of_the_host(settings, "could not open"):
                await host.open()
            try:
                await Hooks(host=host, clock=clock, redactor=REDACTOR).secrets()
                load_host_agents(host, settings)
                desk = Desk(store=store, host=host, ids=ids, redactor=REDACTOR)
                yield App(settings=settings, desk=desk, clock=clock, default_model=model)
            finally:
                await host.close()
        finally:
            await store.close()
    finally:
        if model is not None:
            await model.close()


# ── the store ────────────────────────────────────────────────────────────────────────────────


async def open_store(settings: Settings, ids: Ids, connection_seconds: float = 30.0) -> Store:
    """The store, its schema this version's: SQLite is brought there, Postgres by its release phase."""
    from adapters import store as sql  # here: it takes a second, and half of the commands don't need it

    check_folder(settings.database_url)
    key = audit_key(settings)
    REDACTOR.register("AUDIT_KEY", key.decode())
    if not await sql.is_current(settings.database_url):
        if not settings.on_sqlite:
            raise ConfigError("the database's schema is not this version's: run `python -m bot migrate`")
        await sql.migrate(settings.database_url)
    return sql.open_store(
        settings.database_url,
        audit_key=key,
        ids=ids,
        redactor=REDACTOR,
        sealer=sealer_of(settings),
        pool_size=settings.db_pool_size,
        pool_seconds=connection_seconds,
        queue=settings.queue,
    )


def sealer_of(settings: Settings) -> FernetSealer:
    """What seals at rest; it looks for its keys when something is to be sealed."""
    return FernetSealer(partial(_sealing_keys, settings))


def _sealing_keys(settings: Settings) -> Sequence[str]:
    """Those that seal secrets at rest, shown nowhere from here on. Raises ConfigError."""
    keys = secret_keys(settings)
    REDACTOR.register_all({f"SECRET_KEY:{n}": key for n, key in enumerate(keys, 1)})
    return keys


def database_of(store: Store) -> "Database":
    """The database that *store* is in, for what is in it beside the store."""
    from adapters.store import SqlStore  # here, as above

    assert isinstance(store, SqlStore)
    return store.db


async def check_key(ledger: Ledger, key: bytes) -> None:
    """What is written from here on is signed as what is there. Raises ConfigError naming AUDIT_KEY.

    Looked at on one entry, the newest of the first organization that has any: with another key every new
    entry would later read as edited.
    """
    for org in await ledger.organizations():
        head = await ledger.head(org)
        entries = await ledger.audit(org, head.seq - 1, 1) or await ledger.unsealed(org, 1)
        if entries and mac(key, entries[0]) != entries[0].mac:
            raise ConfigError(
                "AUDIT_KEY: this AUDIT_KEY is not the one they were signed with, or the newest entry of the "
                "audit was edited; `python -m bot audit verify` tells. Nothing was written"
            )
        if entries:
            return


def check_folder(database_url: str) -> None:
    """A SQLite file may be made. Raises ConfigError where its folder is missing."""
    path = sqlite_file(database_url)
    if path is not None and not path.absolute().parent.is_dir():
        raise ConfigError(f"DATABASE_URL: there is no folder {path.parent}; make it, or name another file")


def sqlite_file(database_url: str) -> Path | None:
    """The file of a SQLite database; None for Postgres, or where the URL names none."""
    if not database_url.startswith("sqlite"):
        return None
    from sqlalchemy.engine import make_url

    name = make_url(database_url).database
    return Path(name) if name else None


# ── the host and its agents ──────────────────────────────────────────────────────────────────


def load_host(settings: Settings) -> BaseHost:
    """The app's host, made. Raises ConfigError naming HOST_APP."""
    name = settings.host_app or DEFAULT_HOST
    module, _, attribute = name.partition(":")
    try:
        with _of_the_host(settings, "can't be imported"):
            found = getattr(importlib.import_module(module), attribute, None)
    except ImportError as error:
        raise ConfigError(
            f"HOST_APP: {name} can't be imported ({error}); check its spelling, and that its folder is on "
            "the Python path"
        ) from error
    if found is None:
        raise ConfigError(f"HOST_APP: {module} has no {attribute}; write <module>:<class>")
    if not (isinstance(found, type) and issubclass(found, BaseHost)):
        raise ConfigError(f"HOST_APP: {name} is no host; derive it from BaseHost")
    with _of_the_host(settings, "can't be made"):
        host = found()
    _check_tools(host, name)
    if settings.host_app is None and has_model(settings):
        host.model = None  # the example's own model is scripted; a real one was asked for
    return host


@contextmanager
def _of_the_host(settings: Settings, what: str) -> Iterator[None]:
    """An app's own code: whatever it raises, its operator is told what and where (decision 9)."""
    with caught() as ended:
        yield
    if (error := ended.error) is None:
        return
    if isinstance(error, GatepostError | ImportError):
        raise error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {words_of(error)}; {Path(frame.filename).name}:{frame.lineno}"
    raise ConfigError(f"HOST_APP: {settings.host_app or DEFAULT_HOST} {what} ({said})") from error


def _check_tools(host: BaseHost, name: str) -> None:
    """Its tools are a mapping by their names. Raises ConfigError."""
    if not isinstance(host.tools, Mapping):
        raise ConfigError(f"HOST_APP: the tools of {name} must be a mapping: {{t.name: t for t in …}}")
    for key, tool in host.tools.items():
        if not isinstance(tool, Tool):
            raise ConfigError(f"HOST_APP: the tool {key} of {name} is none; make it with @tool")
        if tool.name != key:
            raise ConfigError(f"HOST_APP: the tool {tool.name} of {name} is filed as {key}; use its name")


def load_host_agents(host: BaseHost, settings: Settings) -> None:
    """*host* has its agents, from its own code or from folders, their tools all known.

    Raises AgentFolderError with the file, or ConfigError.
    """
    if not host.agents:
        host.agents = load_agents(*agents_folders(settings))
    if wrong := [*reserved(host.tools), *check_against(host.agents, {*host.tools, *BUILTINS})]:
        raise wrong[0]
    try:
        chief_of(host)
    except LookupError as error:
        raise ConfigError(str(error)) from error


def agents_folders(settings: Settings) -> Sequence[Path]:
    """Those of AGENTS_DIR, else ./agents, else the packaged one. Raises ConfigError where one is none."""
    for folder in settings.agents_dir:
        if not folder.is_dir():
            raise ConfigError(f"AGENTS_DIR: there is no folder {folder}")
    here, packaged = Path("agents"), Path(importlib.import_module("core").__path__[0]).with_name("agents")
    return settings.agents_dir or [here if here.is_dir() else packaged]


# ── the model ────────────────────────────────────────────────────────────────────────────────


def has_model(settings: Settings) -> bool:
    """Whether the settings name a model's service: by a key, or an address that may need none."""
    return settings.openai_api_key is not None or settings.openai_base_url is not None


def _default_model(settings: Settings, clock: Clock) -> OpenAIModel | None:
    if not has_model(settings):
        return None
    key = settings.openai_api_key
    return OpenAIModel(
        settings.model,
        clock=clock,
        api_key=None if key is None else key.get_secret_value(),
        base_url=settings.openai_base_url,
    )
