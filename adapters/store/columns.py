"""Column types that keep on both databases what plain ones lose on one: time zones and digits."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import JSON, TypeDecorator, TypeEngine

from core.canonical import dump, load
from core.errors import StoreError
from core.tasks import Json

SQLITE_NOW = "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'"
"""SQLite's time as Time writes it there; milliseconds are all it has."""


class Time(TypeDecorator[datetime]):
    """A moment: aware in, aware UTC out.

    On SQLite it is text of one length (2026-01-02T03:04:05.678900+00:00), which sorts as moments do.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a naive datetime is no moment; give it a time zone")
        moment = value.astimezone(UTC)
        return moment if dialect.name == "postgresql" else moment.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Raises StoreError for text that is no moment."""
        if value is None:
            return None
        try:
            moment: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
        except ValueError as error:
            raise StoreError("a stored value is no time any more: restore the row from a backup") from error
        return moment.astimezone(UTC)


class JsonText(TypeDecorator[Json]):
    """JSON as it was written: order of keys and every digit kept; None is SQL NULL.

    Plain `json` on PostgreSQL, written and read by the engine's own functions (engine.py), since its
    driver decodes. Text on SQLite: a column declared JSON would turn 24.00 into the number 24.
    """

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(JSON(none_as_null=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: Json, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else dump(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Json:
        """Raises StoreError for text that is no JSON, which a hand in a file may have left."""
        if value is None or dialect.name == "postgresql":
            return value
        try:
            return load(value)
        except ValueError as error:
            raise StoreError("a stored value is no JSON any more: restore the row from a backup") from error
