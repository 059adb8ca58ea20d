"""The database's schema against this tree's: brought to it, or asked whether it is there.

Safe to run by several processes at once, and again; within one process one at a time (alembic's
context is global).
"""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from adapters.store.engine import connected, make_engine, retried, to_the_end, writing_engine
from adapters.store.tables import schema_compat
from adapters.store.url import async_url
from core.errors import StoreError

T = TypeVar("T")

SCHEMA = 1
"""Raised when code could no longer run on an older schema; see `schema_compat`."""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008")
"""The migrations this tree knows, oldest first; a test holds them against the folder."""

_VERSION = Table("alembic_version", MetaData(), Column("version_num", String))


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


def _upgrade(connection: Connection) -> None:
    from adapters.store.upgrade import (
        to_head,  # here: alembic takes long to import, and only migrate needs it
    )

    newer = _is_newer(connection)
    fits = not newer or _is_compatible(connection)
    connection.rollback()  # the migration begins its own
    if not fits:
        raise StoreError("the database's schema is too new for this version; deploy a newer one")
    if not newer:
        to_head(connection)


def _fits(connection: Connection) -> bool:
    if _is_newer(connection):
        return _is_compatible(connection)
    return _revision(connection) == REVISIONS[-1]


def _revision(connection: Connection) -> str | None:
    """The revision the database is at; None before the first."""
    if not inspect(connection).has_table(_VERSION.name):
        return None
    return connection.execute(select(_VERSION.c.version_num)).scalar_one_or_none()


def _is_newer(connection: Connection) -> bool:
    return _revision(connection) not in (None, *REVISIONS)


def _is_compatible(connection: Connection) -> bool:
    oldest: int = connection.execute(select(schema_compat.c.oldest)).scalar_one()
    return oldest <= SCHEMA
