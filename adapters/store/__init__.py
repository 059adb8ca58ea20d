"""The store on SQLite or PostgreSQL: one code for both, in one database a deployment."""

from adapters.store.bundle import SqlStore, open_store
from adapters.store.schema import is_current, migrate

__all__ = ["SqlStore", "is_current", "migrate", "open_store"]
