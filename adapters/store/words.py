"""The few words in which the two databases' SQL differ, for statements written as text.

Both sides say the same: the database's own time, in the form its time columns hold, and rows
locked without waiting. SQLite has one writer at a time, so it needs no word for the lock.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from sqlalchemy import TextClause, text

_POSTGRES = MappingProxyType(
    {
        "now": "now()",
        "later": "now() + make_interval(secs => :seconds)",
        "skip_locked": "FOR UPDATE SKIP LOCKED",
        "greatest": "greatest",
    }
)
_SQLITE = MappingProxyType(
    {
        # As columns.Time writes it; milliseconds are all it has.
        "now": "strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000+00:00'",
        "later": "strftime('%Y-%m-%dT%H:%M:%f', 'now', :seconds || ' seconds') || '000+00:00'",
        "skip_locked": "",
        "greatest": "max",
    }
)


@cache
def said(template: str, dialect: str) -> TextClause:
    """*template* with its {words} in *dialect*; ``:seconds`` is how long from now {later} is."""
    words: Mapping[str, str] = _SQLITE if dialect == "sqlite" else _POSTGRES
    return text(template.format_map(words))
