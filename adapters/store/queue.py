"""The queue: which task a worker gets next, and what brings tasks back into it.

Statements on the queue's own columns, several tasks at once, without a move or an audit entry.
Plain index order (prio, vrt, id) is owner first, then turns between organizations: each queued
task's *vrt* is its organization's round, given where it is queued (order.py).
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, TextClause, bindparam
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.order import place
from adapters.store.words import said
from core.ids import OrgId, Run, TaskId, TaskRef, WorkerId
from core.tasks import Prio

# Scalar, not EXISTS, which the planner may answer by a walk through all organizations, at each claim.
_BLOCKED = """(
    coalesce((SELECT o.state FROM organizations AS o WHERE o.id = head.org), '') = 'paused'
    OR (
        SELECT s.paused_at FROM switches AS s WHERE s.org = head.org AND s.agent = head.agent
    ) IS NOT NULL
)"""

# Two looks, so that each is one walk along (prio, vrt, id); the second only as far as the first
# left room. The floor keeps the walk off the dead entries that claimed tasks left behind.
_CLAIM = f"""
WITH asked AS (
    SELECT org, id, agent, prio, vrt FROM tasks
    WHERE state = 'queued' AND prio = 0 AND vrt >= (SELECT floor FROM queue_floor WHERE prio = 0)
    ORDER BY prio, vrt, id LIMIT :look {{skip_locked}}
), started AS (
    SELECT org, id, agent, prio, vrt FROM tasks
    WHERE state = 'queued' AND prio = 1 AND vrt >= (SELECT floor FROM queue_floor WHERE prio = 1)
    ORDER BY prio, vrt, id LIMIT :look - (SELECT count(*) FROM asked) {{skip_locked}}
), seen AS (
    SELECT head.*, {_BLOCKED} AS blocked
    FROM (SELECT * FROM asked UNION ALL SELECT * FROM started) AS head
), heads AS (
    SELECT org AS head_org, id AS head_id, blocked,
        row_number() OVER (PARTITION BY blocked ORDER BY prio, vrt, id) AS nth
    FROM seen
)
UPDATE tasks SET
    state = CASE WHEN blocked THEN 'held' ELSE 'running' END,
    epoch = epoch + CASE WHEN blocked THEN 0 ELSE 1 END,
    worker = CASE WHEN blocked THEN NULL ELSE :worker END,
    lease_until = CASE WHEN blocked THEN NULL ELSE {{later}} END,
    started_at = CASE WHEN blocked THEN started_at ELSE coalesce(started_at, {{now}}) END
FROM heads WHERE tasks.org = head_org AND tasks.id = head_id AND (blocked OR nth <= :n)
RETURNING tasks.org, tasks.id, tasks.epoch, tasks.state, tasks.prio, tasks.vrt
"""
_FARTHEST_LOOK = 1000

_HEARTBEAT = """
UPDATE tasks SET lease_until = {later}
WHERE worker = :worker AND state = 'running' AND id IN :held RETURNING org, id
"""

_QUEUE_AGAIN = f"""
WITH again AS (
    SELECT org, id, prio, vrt FROM tasks AS head
    WHERE {{which}} ORDER BY prio, vrt, id LIMIT :n {{skip_locked}}
), placed AS (
    SELECT org AS placed_org, id AS placed_id,
        row_number() OVER (PARTITION BY org, prio ORDER BY vrt, id) - 1
        + {place("again.org", "again.prio")} AS place
    FROM again
)
UPDATE tasks SET
    state = 'queued', vrt = place, worker = NULL, lease_until = NULL, not_before = NULL,
    attempts = attempts + :lost
FROM placed WHERE tasks.org = placed_org AND tasks.id = placed_id
RETURNING tasks.org, tasks.id
"""

_FLOOR = """
UPDATE queue_floor SET floor = lowest.vrt
FROM (SELECT min(vrt) AS vrt FROM tasks WHERE state = 'queued' AND prio = :prio) AS lowest
WHERE prio = :prio AND floor <> lowest.vrt
"""

_LOST = "state = 'running' AND lease_until < {now}"
_DUE = "state = 'delayed' AND not_before <= {now}"
_FREE = f"state = 'held' AND NOT {_BLOCKED}"


class SqlQueue:
    """core.ports.Queue."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def claim(self, worker: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        async def body(conn: AsyncConnection) -> list[Run]:
            runs: list[Run] = []
            look = n
            while len(runs) < n:
                wanted = {"n": n - len(runs), "look": look, "worker": worker, "seconds": lease_seconds}
                heads = (await conn.execute(self._said(_CLAIM), wanted)).all()
                runs += _runs(heads, worker)
                if len(heads) < look:
                    break  # that was all
                look = min(look * 8, n + _FARTHEST_LOOK)  # some were held: many more like them may be next
            return runs

        return await self._db.write(body)

    async def heartbeat(self, worker: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[TaskRef]:
        statement = self._said(_HEARTBEAT).bindparams(bindparam("held", expanding=True))
        held = {"worker": worker, "seconds": lease_seconds, "held": [run.task_id for run in runs]}

        async def body(conn: AsyncConnection) -> list[TaskRef]:
            return _refs((await conn.execute(statement, held)).all())

        return await self._db.write(body)

    async def recover(self, limit: int) -> list[TaskRef]:
        async def body(conn: AsyncConnection) -> list[TaskRef]:
            queued = await self._queue_again(conn, _LOST, limit, lost=1)
            queued += await self._queue_again(conn, _DUE, limit - len(queued))
            queued += await self._queue_again(conn, _FREE, limit - len(queued))
            await self._advance(conn)
            return queued

        return await self._db.write(body)

    def _said(self, template: str) -> TextClause:
        return said(template, self._db.dialect)

    async def _queue_again(
        self, conn: AsyncConnection, which: str, limit: int, lost: int = 0
    ) -> list[TaskRef]:
        """Up to *limit* tasks of *which* stand at the end of their organizations' turns."""
        statement = self._said(_QUEUE_AGAIN.replace("{which}", which))
        return _refs((await conn.execute(statement, {"n": limit, "lost": lost})).all())

    async def _advance(self, conn: AsyncConnection) -> None:
        """The floors are the lowest places still taken.

        The lowest as seen now: a task that another transaction was just queueing below it is found
        again by the next recover, which lowers the floor. One prio at a time, always in this order.
        """
        for prio in (Prio.PERSON, Prio.SELF_STARTED):
            await conn.execute(self._said(_FLOOR), {"prio": prio})


def _runs(heads: Sequence[Row[Any]], worker: WorkerId) -> list[Run]:
    """The heads that run now, in the queue's order; RETURNING has none."""
    ordered = sorted(heads, key=lambda head: (head.prio, head.vrt, head.id))
    return [
        Run(org=OrgId(head.org), task_id=TaskId(head.id), epoch=head.epoch, worker=worker)
        for head in ordered
        if head.state == "running"
    ]


def _refs(rows: Sequence[Row[Any]]) -> list[TaskRef]:
    return [TaskRef(org=OrgId(row.org), task_id=TaskId(row.id)) for row in rows]
