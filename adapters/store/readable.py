"""Rows taken from a table that is worked off: one that can't be read keeps no other back (K29, K40)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sqlalchemy import ColumnElement, Select, Table, and_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.rows import Row
from core.errors import StoreError

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read(Generic[T]):
    """What could be read, in order; and of each row that could not be, which one it is and why."""

    values: list[T]
    broken: list[tuple[ColumnElement[bool], str]]


async def taken(conn: AsyncConnection, query: Select[Any], table: Table, read: Callable[[Row], T]) -> list[T]:
    """The rows of *table* that *query* offers, each read; those that can't be are dead, with the error.

    Where none of those offered can be read, the next are; no other statement, as long as none is broken.
    """
    while True:
        offered = await _read(conn, query, table, read)
        for this, error in offered.broken:
            dead = {"state": "dead", "attempts": table.c.attempts + 1, "error": error}
            await conn.execute(update(table).where(this).values(dead))
        if offered.values or not offered.broken:
            return offered.values


async def _read(
    conn: AsyncConnection, query: Select[Any], table: Table, read: Callable[[Row], T]
) -> _Read[T]:
    try:
        rows = (await conn.execute(query)).mappings().all()
        return _Read(values=[read(row) for row in rows], broken=[])
    except StoreError:  # which one is not known: a column's own reader may have raised it
        return await _one_by_one(conn, query, table, read)


async def _one_by_one(
    conn: AsyncConnection, query: Select[Any], table: Table, read: Callable[[Row], T]
) -> _Read[T]:
    key = table.primary_key.columns
    found = (await conn.execute(query.with_only_columns(*key, maintain_column_froms=True))).all()
    values: list[T] = []
    broken: list[tuple[ColumnElement[bool], str]] = []
    for row in found:
        this = and_(*(column == value for column, value in zip(key, row, strict=True)))
        try:
            whole = await conn.execute(select(table).where(this))
            values.append(read(whole.mappings().one()))
        except StoreError as error:
            log.error("%s", error)
            broken.append((this, str(error)))
    return _Read(values=values, broken=broken)
