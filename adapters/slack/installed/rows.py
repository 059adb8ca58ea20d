"""The database that Slack's installations are in, as this adapter sees it: transactions over statements."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection

T = TypeVar("T")


class Rows(Protocol):
    """Raises StoreError where the database did not do it."""

    async def read(self, body: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What *body* answered, all of it read from one snapshot."""
        ...

    async def write(self, body: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What *body* wrote is committed, all of it, or nothing is; *body* may run more than once."""
        ...


def as_kept(value: Any) -> Any:
    """A time as slack_sdk's tables have it: UTC without a zone. Anything else as it is."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
