"""The store as the rest of the bot sees it: every port over the same rows."""

from core.ports import Clock, Ids
from core.queue import QueueSettings
from core.redact import Redactor
from core.testing.memory.chats import MemoryPrompts, MemoryRates
from core.testing.memory.inbox import MemoryInbox
from core.testing.memory.leases import MemoryLeases
from core.testing.memory.ledger import MemoryLedger
from core.testing.memory.outbox import MemoryOutbox
from core.testing.memory.parks import MemoryParks
from core.testing.memory.people import MemoryPeople
from core.testing.memory.queue import MemoryQueue
from core.testing.memory.rows import Rows
from core.testing.memory.secrets import MemorySecrets
from core.testing.memory.tasks import MemoryTasks

AUDIT_KEY = b"of tests: it keeps nothing"


class MemoryStore:
    """core.ports.Store. Its time is *clock*'s, so that a manual one governs leases, expiries and delays.

    *rows* are there to be looked at, and to put some there past every rule.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        ids: Ids,
        audit_key: bytes = AUDIT_KEY,
        queue: QueueSettings | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.rows = rows = Rows(clock=clock, ids=ids, audit_key=audit_key, redactor=redactor or Redactor())
        self.tasks = MemoryTasks(rows)
        self.queue = MemoryQueue(rows, queue)
        self.inbox = MemoryInbox(rows)
        self.outbox = MemoryOutbox(rows)
        self.parks = MemoryParks(rows)
        self.people = MemoryPeople(rows)
        self.ledger = MemoryLedger(rows)
        self.leases = MemoryLeases(rows)
        self.secrets = MemorySecrets(rows)
        self.rates = MemoryRates(rows)
        self.prompts = MemoryPrompts(rows)

    async def close(self) -> None:
        """Nothing is open."""
