"""A table in memory: rows by key, found by what they are filed under, and a way back.

It holds what a database's schema holds: keys and unique names are taken once, JSON is text in
between, times are aware, and what must be said is said.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, get_type_hints

from core.canonical import NotJson, dump, load
from core.errors import StoreError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")
Names = Callable[[Row], Iterable[Hashable]]


def nothing(row: object) -> tuple[Hashable, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Wrote:
    """One row of *table* as it was and as it is; None: it was not there, or is not any more."""

    table: str
    before: Any
    after: Any


class Journal:
    """What was written since the transaction began, so that it can be taken back.

    *watch* is told what each committed transaction wrote, in order, before anybody else looks.
    """

    def __init__(self) -> None:
        self.watch: Callable[[Sequence[Wrote]], None] | None = None
        self._undo: list[Callable[[], None]] = []
        self._wrote: list[Wrote] = []

    def wrote(self, undo: Callable[[], None], wrote: Wrote) -> None:
        self._undo.append(undo)
        self._wrote.append(wrote)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside stays, or nothing does where it raises. Nothing is awaited inside."""
        self._begin()
        whole = False
        try:
            yield
            whole = True
        finally:
            if not whole:
                for undo in reversed(self._undo):
                    undo()
                self._begin()
        wrote = tuple(self._wrote)
        self._begin()
        if self.watch is not None and wrote:
            self.watch(wrote)

    def _begin(self) -> None:
        self._undo.clear()
        self._wrote.clear()


class Table(Generic[Row]):
    """Rows by *key*. *filed* and *unique* name what a row is found under; a unique name has one row."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        key: Callable[[Row], Hashable],
        *,
        filed: Names[Row] = nothing,
        unique: Names[Row] = nothing,
    ) -> None:
        self.name = name
        self._journal, self._key, self._filed, self._unique = journal, key, filed, unique
        self._rows: dict[Hashable, Row] = {}
        self._found: dict[Hashable, dict[Hashable, Row]] = {}

    def __iter__(self) -> Iterator[Row]:
        return iter(tuple(self._rows.values()))

    def get(self, *key: Hashable) -> Row | None:
        return self._rows.get(key)

    def under(self, *name: Hashable) -> list[Row]:
        """The rows filed under *name*, in no order that is promised."""
        return list(self._found.get(name, {}).values())

    def one(self, *name: Hashable) -> Row | None:
        """The row that has this unique name."""
        return next(iter(self._found.get(name, {}).values()), None)

    def insert(self, row: Row) -> Row:
        """*row* as it is stored. Raises StoreError if its key or a unique name is taken."""
        if (key := self._key(row)) in self._rows:
            raise StoreError(f"{self.name} {key} is there already")
        return self._put(key, None, row)

    def update(self, row: Row) -> Row:
        """*row* in place of the one of its key, as it is stored. Raises StoreError if there is none."""
        key = self._key(row)
        if (before := self._rows.get(key)) is None:
            raise StoreError(f"{self.name} {key} is not there")
        return self._put(key, before, row)

    def delete(self, row: Row) -> None:
        """Gone. No port does this; it is for whoever plays a hand in the database."""
        self._journal.wrote(lambda: self._set(self._key(row), row), Wrote(self.name, row, None))
        self._set(self._key(row), None)

    def _put(self, key: Hashable, before: Row | None, row: Row) -> Row:
        after = as_stored(row, before)
        for name in self._unique(after):
            if self._found.get(name, {}).keys() - {key}:
                raise StoreError(f"{self.name}: {name} is taken")
        self._journal.wrote(lambda: self._set(key, before), Wrote(self.name, before, after))
        self._set(key, after)
        return after

    def _set(self, key: Hashable, after: Row | None) -> None:
        if (before := self._rows.pop(key, None)) is not None:
            for name in (*self._filed(before), *self._unique(before)):
                del self._found[name][key]
        if after is not None:
            self._rows[key] = after
            for name in (*self._filed(after), *self._unique(after)):
                self._found.setdefault(name, {})[key] = after


def as_stored(row: Row, before: Row | None = None) -> Row:
    """*row* as a database gives it back, where it is not *before*, which it gave.

    JSON is written and read, so that nobody shares it; times are in UTC. Raises StoreError for what
    no column takes: a naive time, a value that is not JSON, nothing where something must be.
    """
    changed: dict[str, Any] = {}
    for name, kind in _columns(type(row)):
        value = getattr(row, name)
        old = None if before is None else getattr(before, name)
        if before is not None and value is old:
            continue
        try:
            stored = as_stored(value, old) if kind is as_stored else kind(value)
        except (NotJson, ValueError) as error:
            raise StoreError(f"{type(row).__name__}.{name} can't be stored") from error
        if stored is not value:
            changed[name] = stored
    return replace(row, **changed) if changed else row


@cache
def _columns(row: type) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Each field, and what storing does to its value."""
    hints = get_type_hints(row)
    return tuple((f.name, _kind(hints[f.name])) for f in fields(row))


def _kind(hint: Any) -> Callable[[Any], Any]:
    if hint is Any:
        return _json
    kinds = get_args(hint) or (hint,)
    if NoneType in kinds:
        return _moment if datetime in kinds else _as_it_is
    if hint is datetime:
        return lambda value: _moment(_said(value))
    return as_stored if is_dataclass(hint) else _said


def _json(value: Any) -> Any:
    return value if value is None else load(dump(value))


def _moment(value: datetime | None) -> datetime | None:
    if value is None or value.tzinfo is UTC:
        return value
    if value.tzinfo is None:
        raise ValueError("a naive datetime is no moment; give it a time zone")
    return value.astimezone(UTC)


def _said(value: Any) -> Any:
    if value is None:
        raise ValueError("it must be said")
    return value


def _as_it_is(value: Any) -> Any:
    return value
