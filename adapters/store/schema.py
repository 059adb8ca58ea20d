"""The database's schema against this tree's: brought to it, or asked whether it is there.

Migrations ride in the package, so that a wheel migrates without a file beside it. Safe to run by
several processes at once, and again; within one process one at a time (alembic's context is global).
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select

from adapters.store.engine import connected, make_engine, retried, to_the_end, writing_engine
from adapters.store.tables import schema_compat
from adapters.store.url import async_url
from core.errors import StoreError

T = TypeVar("T")

SCHEMA = 1
"""Raised when code could no longer run on an older schema; see `schema_compat`."""


async def migrate(url: str) -> None:
    """The database of *url* has this tree's schema, or a newer one that this tree may run on.

    A rollback runs an older tree's migrate against a newer schema: that is left as it is.
    Raises StoreError if that schema is too new, or the database can't be reached or changed.
    """
    await _connected(url, _upgrade)


async def is_current(url: str) -> bool:
    """Whether this tree may run on the database as it is; if not, `migrate` is due."""
    return await _connected(url, _fits)


async def _connected(url: str, work: Callable[[Connection], T]) -> T:
    """What *work* answered on a connection of its own, which is closed."""
    engine = make_engine(async_url(url), pool_size=None)

    async def once() -> T:
        async with connected(writing_engine(engine)) as conn:
            return await conn.run_sync(work)

    try:
        return await retried(once)
    finally:
        await to_the_end(engine.dispose())


def _config(connection: Connection) -> Config:
    config = Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection  # env.py takes it from there
    return config


def _upgrade(connection: Connection) -> None:
    config = _config(connection)
    newer = _is_newer(connection, ScriptDirectory.from_config(config))
    fits = not newer or _is_compatible(connection)
    connection.rollback()  # env.py begins its own
    if not fits:
        raise StoreError("the database's schema is too new for this version; deploy a newer one")
    if not newer:
        command.upgrade(config, "head")


def _fits(connection: Connection) -> bool:
    script = ScriptDirectory.from_config(_config(connection))
    if _is_newer(connection, script):
        return _is_compatible(connection)
    return _heads(connection) == set(script.get_heads())


def _heads(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())


def _is_newer(connection: Connection, script: ScriptDirectory) -> bool:
    known = {revision.revision for revision in script.walk_revisions()}
    return not _heads(connection) <= known


def _is_compatible(connection: Connection) -> bool:
    oldest: int = connection.execute(select(schema_compat.c.oldest)).scalar_one()
    return oldest <= SCHEMA
