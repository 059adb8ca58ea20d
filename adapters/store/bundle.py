"""The store as the rest of the bot sees it: every port over one database."""

from dataclasses import dataclass

from adapters.store.engine import POOL_SECONDS, Database
from adapters.store.inbox import SqlInbox
from adapters.store.leases import SqlLeases
from adapters.store.ledger import SqlLedger
from adapters.store.outbox import SqlOutbox
from adapters.store.parks import SqlParks
from adapters.store.people import SqlPeople
from adapters.store.prompts import SqlPrompts
from adapters.store.queue import SqlQueue
from adapters.store.rates import SqlRates
from adapters.store.secrets import SqlSecrets
from adapters.store.tasks import SqlTasks
from core.ports import Ids, Sealer, Store
from core.queue import QueueSettings
from core.redact import Redactor


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlStore:
    """core.ports.Store over *db*."""

    db: Database
    tasks: SqlTasks
    queue: SqlQueue
    inbox: SqlInbox
    outbox: SqlOutbox
    parks: SqlParks
    people: SqlPeople
    ledger: SqlLedger
    leases: SqlLeases
    secrets: SqlSecrets
    rates: SqlRates
    prompts: SqlPrompts

    async def close(self) -> None:
        """No connection is open."""
        await self.db.close()


def sql_store(db: Database, queue: QueueSettings | None = None, sealer: Sealer | None = None) -> SqlStore:
    """Every port over *db*; *queue*: what its queue holds to, if not to the defaults."""
    return SqlStore(
        db=db,
        tasks=SqlTasks(db),
        queue=SqlQueue(db, queue),
        inbox=SqlInbox(db),
        outbox=SqlOutbox(db),
        parks=SqlParks(db),
        people=SqlPeople(db),
        ledger=SqlLedger(db),
        leases=SqlLeases(db),
        secrets=SqlSecrets(db, sealer),
        rates=SqlRates(db),
        prompts=SqlPrompts(db),
    )


def open_store(
    url: str,
    *,
    audit_key: bytes,
    ids: Ids,
    redactor: Redactor | None = None,
    sealer: Sealer | None = None,
    pool_size: int = 3,
    pool_seconds: float = POOL_SECONDS,
    queue: QueueSettings | None = None,
) -> Store:
    """The store in the database of *url*; nothing is connected yet. Raises ConfigError.

    *pool_size*: connections of this process; small, since a hosted database allows few (storage.md §8).
    *pool_seconds*: how long a transaction waits for one of them before it is a StoreError.
    *queue*: what its queue holds to, the same in every process of one database. *redactor*: what its audit
    is not to say; *sealer*: seals its secrets, without which it has none.
    """
    db = Database(
        url, ids=ids, audit_key=audit_key, redactor=redactor, pool_size=pool_size, pool_seconds=pool_seconds
    )
    return sql_store(db, queue, sealer)
