"""DATABASE_URL as hosting platforms write it, made into one the async drivers take.

An error here names the variable and says what is wrong with it, never the password in it.
"""

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from core.errors import ConfigError

_POSTGRES = frozenset({"postgres", "postgresql", "postgresql+asyncpg"})
_SQLITE = frozenset({"sqlite", "sqlite+aiosqlite"})


def async_url(text: str) -> URL:
    """The SQLAlchemy URL of the database that *text* names. Raises ConfigError."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):  # their words may quote the URL
        raise ConfigError("DATABASE_URL is not a database URL") from None
    if url.drivername in _POSTGRES:
        return _postgres(url)
    if url.drivername in _SQLITE:
        return _sqlite(url)
    raise ConfigError(
        f"DATABASE_URL: {url.drivername!r} is not supported; use postgresql:// or sqlite:///file"
    )


def _postgres(url: URL) -> URL:
    """asyncpg names libpq's sslmode `ssl`, and does not know channel_binding."""
    query = dict(url.query)
    query.pop("channel_binding", None)
    if (sslmode := query.pop("sslmode", None)) is not None:
        query.setdefault("ssl", sslmode)
    return url.set(drivername="postgresql+asyncpg", query=query)


def _sqlite(url: URL) -> URL:
    """Only a file: connections to :memory: would each have, or all share, one database."""
    if url.database in (None, "", ":memory:") or "mode" in url.query:
        raise ConfigError("DATABASE_URL: an SQLite database must be a file, such as sqlite:///gatepost.db")
    return url.set(drivername="sqlite+aiosqlite")
