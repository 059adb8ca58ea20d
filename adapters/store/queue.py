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
from core.queue import QueueSettings
from core.tasks import Prio

# Scalar, not EXISTS, which the planner may answer by a walk through all organizations, at each claim.
_ORG_PAUSED = "coalesce((SELECT o.state FROM organizations AS o WHERE o.id = {org}), '') = 'paused'"
_ROOM = """(
    coalesce((SELECT o.max_running FROM organizations AS o WHERE o.id = {org}), :max_running)
    - (SELECT count(*) FROM tasks AS busy WHERE busy.org = {org} AND busy.state = 'running')
)"""

# The planner does not see how far a look goes, and would reckon with a tenth of a long queue.
_FARTHEST_LOOK = 1000

# Two looks, so that each is one walk along (prio, vrt, id); the second only as far as the first
# left room. The floor keeps the walk off the dead entries that claimed tasks left behind. Each
# organization met is asked about once, however many of its tasks are at the head. `ready_before`
# ends the walk where enough was found: what is behind stays as it was, also what is blocked now.
_CLAIM = f"""
WITH asked AS (
    SELECT org, id, agent, prio, vrt FROM tasks
    WHERE state = 'queued' AND prio = 0 AND vrt >= (SELECT floor FROM queue_floor WHERE prio = 0)
    ORDER BY prio, vrt, id LIMIT :look {{skip_locked}}
), started AS (
    SELECT org, id, agent, prio, vrt FROM tasks
    WHERE state = 'queued' AND prio = 1 AND vrt >= (SELECT floor FROM queue_floor WHERE prio = 1)
    ORDER BY prio, vrt, id LIMIT :look - (SELECT count(*) FROM asked) {{skip_locked}}
), head AS (
    SELECT * FROM (SELECT * FROM asked UNION ALL SELECT * FROM started) AS looked LIMIT {_FARTHEST_LOOK}
), house AS MATERIALIZED (
    SELECT present.org AS house_org,
        {_ORG_PAUSED.format(org="present.org")} AS org_paused,
        {_ROOM.format(org="present.org")} AS room
    FROM (SELECT DISTINCT org FROM head) AS present
), seen AS (
    SELECT head.*, room, org_paused OR (
        SELECT s.paused_at FROM switches AS s WHERE s.org = head.org AND s.agent = head.agent
    ) IS NOT NULL AS paused
    FROM head JOIN house ON house_org = head.org
), sorted AS (
    SELECT seen.*,
        paused OR row_number() OVER (PARTITION BY org, paused ORDER BY prio, vrt, id) > room AS blocked
    FROM seen
), heads AS (
    SELECT org AS head_org, id AS head_id, blocked,
        sum(CASE WHEN blocked THEN 0 ELSE 1 END) OVER (ORDER BY prio, vrt, id)
        - CASE WHEN blocked THEN 0 ELSE 1 END AS ready_before
    FROM sorted
)
UPDATE tasks SET
    state = CASE WHEN blocked THEN 'held' ELSE 'running' END,
    prio = CASE WHEN aged AND NOT blocked THEN 1 ELSE prio END,
    epoch = epoch + CASE WHEN blocked THEN 0 ELSE 1 END,
    worker = CASE WHEN blocked THEN NULL ELSE :worker END,
    lease_until = CASE WHEN blocked THEN NULL ELSE {{later}} END,
    started_at = CASE WHEN blocked THEN started_at ELSE coalesce(started_at, {{now}}) END
FROM heads WHERE tasks.org = head_org AND tasks.id = head_id AND ready_before < :n
RETURNING tasks.org, tasks.id, tasks.epoch, tasks.state, tasks.prio, tasks.vrt, tasks.aged
"""

_HEARTBEAT = """
UPDATE tasks SET lease_until = {later}
WHERE worker = :worker AND state = 'running' AND id IN :held RETURNING org, id
"""

# Only what comes back from held has waited all along.
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
    attempts = attempts + :lost,
    aged = aged AND state = 'held',
    queued_at = CASE WHEN state = 'held' THEN queued_at ELSE {{now}} END
FROM placed WHERE tasks.org = placed_org AND tasks.id = placed_id
RETURNING tasks.org, tasks.id
"""

_LOST = "state = 'running' AND lease_until < {now}"
_DUE = "state = 'delayed' AND not_before <= {now}"
_WORKING = """agent NOT IN (
    SELECT s.agent FROM switches AS s WHERE s.org = {org} AND s.paused_at IS NOT NULL
)"""
_HELD = f"state = 'held' AND org = :org AND {_WORKING.format(org=':org')}"

# From one organization with held tasks to the next along their index, not past each task. One whose
# held tasks are all of paused agents has nothing to bring, and takes no other's share.
_ROOMS = f"""
WITH RECURSIVE held(org) AS (
    SELECT min(org) FROM tasks WHERE state = 'held'
    UNION ALL
    SELECT (SELECT min(next.org) FROM tasks AS next WHERE next.state = 'held' AND next.org > held.org)
    FROM held WHERE held.org IS NOT NULL
), rooms AS (
    SELECT held.org, {_ROOM.format(org="held.org")} AS room, (
        SELECT min(first.vrt) FROM tasks AS first
        WHERE first.org = held.org AND first.state = 'held' AND first.{_WORKING.format(org="held.org")}
    ) AS vrt
    FROM held WHERE held.org IS NOT NULL AND NOT {_ORG_PAUSED.format(org="held.org")}
)
SELECT org, room FROM rooms WHERE room > 0 AND vrt IS NOT NULL ORDER BY vrt, org LIMIT :n
"""

# An organization's next self-started task, and no other while one that aged before still waits: else
# a crowd that has waited long would all stand before what its owner asks for now.
_AGE = f"""
WITH next AS (
    SELECT o.id AS next_org, (
        SELECT first.id FROM tasks AS first
        WHERE first.org = o.id AND first.prio = 1 AND first.state = 'queued'
        ORDER BY first.vrt, first.id LIMIT 1
    ) AS next_id
    FROM organizations AS o
    WHERE 0 = (
        SELECT count(*) FROM tasks AS before
        WHERE before.org = o.id AND before.state = 'queued' AND before.aged
    )
), old AS (
    SELECT org, id FROM tasks JOIN next ON org = next_org AND id = next_id
    WHERE state = 'queued' AND prio = 1 AND coalesce(queued_at, created_at) < {{later}}
    ORDER BY queued_at, id LIMIT :n {{skip_locked}}
), placed AS (
    SELECT org AS placed_org, id AS placed_id, {place("old.org", "0")} AS place FROM old
)
UPDATE tasks SET prio = 0, aged = true, vrt = place
FROM placed WHERE tasks.org = placed_org AND tasks.id = placed_id
"""

_FLOOR = """
UPDATE queue_floor SET floor = lowest.vrt
FROM (SELECT min(vrt) AS vrt FROM tasks WHERE state = 'queued' AND prio = :prio) AS lowest
WHERE prio = :prio AND floor <> lowest.vrt
"""


class SqlQueue:
    """core.ports.Queue."""

    def __init__(self, db: Database, settings: QueueSettings | None = None) -> None:
        self._db = db
        self._settings = settings or QueueSettings()

    async def claim(self, worker: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        """Up to *n* tasks are this worker's, epoch raised (T2); blocked heads became held.

        The cap is exact among claims that follow one another. On PostgreSQL, claims of the same instant
        don't see each other's, so each may fill the last places: it is for sharing, not for safety.
        """

        async def body(conn: AsyncConnection) -> list[Run]:
            runs: list[Run] = []
            look = min(n, _FARTHEST_LOOK)
            while len(runs) < n:
                wanted = {
                    "n": n - len(runs),
                    "look": look,
                    "worker": worker,
                    "seconds": lease_seconds,
                    "max_running": self._settings.max_running,
                }
                heads = (await conn.execute(self._said(_CLAIM), wanted)).all()
                runs += _runs(heads, worker)
                if len(heads) < look:
                    break  # that was all
                look = min(look * 8, _FARTHEST_LOOK)  # some were held: many more like them may be next
            return runs

        return await self._db.write(body)

    async def heartbeat(self, worker: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[TaskRef]:
        statement = self._said(_HEARTBEAT).bindparams(bindparam("held", expanding=True))
        held = {"worker": worker, "seconds": lease_seconds, "held": [run.task_id for run in runs]}

        async def body(conn: AsyncConnection) -> list[TaskRef]:
            return _refs((await conn.execute(statement, held)).all())

        return await self._db.write(body)

    async def recover(self, limit: int) -> list[TaskRef]:
        """Queued again (T3): expired leases (attempts+1), due delays, held that nothing blocks now.

        Of an organization's held tasks no more come back than it may run now; the next recover brings
        the next. What has waited long ages, and the floors follow.
        """

        async def body(conn: AsyncConnection) -> list[TaskRef]:
            queued = await self._queue_again(conn, _LOST, limit, lost=1)
            queued += await self._queue_again(conn, _DUE, limit - len(queued))
            queued += await self._release(conn, limit - len(queued))
            await self._age(conn, limit)
            await self._advance(conn)
            return queued

        return await self._db.write(body)

    def _said(self, template: str) -> TextClause:
        return said(template, self._db.dialect)

    async def _queue_again(
        self, conn: AsyncConnection, which: str, limit: int, lost: int = 0, **values: str
    ) -> list[TaskRef]:
        """Up to *limit* tasks of *which* stand at the end of their organizations' turns."""
        statement = self._said(_QUEUE_AGAIN.replace("{which}", which))
        return _refs((await conn.execute(statement, {"n": limit, "lost": lost, **values})).all())

    async def _release(self, conn: AsyncConnection, limit: int) -> list[TaskRef]:
        """Held tasks are queued again, as many of each organization as it has room for.

        Each organization may bring its share of *limit*, so that none is always too late.
        """
        wanted = {"n": limit, "max_running": self._settings.max_running}
        rooms = (await conn.execute(self._said(_ROOMS), wanted)).all()
        queued: list[TaskRef] = []
        for nth, (org, room) in enumerate(rooms):
            share = (limit - len(queued)) // (len(rooms) - nth)
            queued += await self._queue_again(conn, _HELD, min(room, share), org=org)
        return queued

    async def _age(self, conn: AsyncConnection, limit: int) -> None:
        """Self-started tasks that waited too long stand among those a person asked for (T3).

        Their origin, from which alone permission follows, stays what it was, and so does their prio
        from when they are claimed on.
        """
        wanted = {"n": limit, "seconds": -self._settings.age_seconds}
        await conn.execute(self._said(_AGE), wanted)

    async def _advance(self, conn: AsyncConnection) -> None:
        """The floors are the lowest places still taken.

        The lowest as seen now: a task that another transaction was just queueing below it is found
        again by the next recover, which lowers the floor. One prio at a time, always in this order.
        """
        for prio in (Prio.PERSON, Prio.SELF_STARTED):
            await conn.execute(self._said(_FLOOR), {"prio": prio})


def _runs(heads: Sequence[Row[Any]], worker: WorkerId) -> list[Run]:
    """The heads that run now, in the queue's order; RETURNING has none."""
    ordered = sorted(heads, key=lambda head: (0 if head.aged else head.prio, head.vrt, head.id))
    return [
        Run(org=OrgId(head.org), task_id=TaskId(head.id), epoch=head.epoch, worker=worker)
        for head in ordered
        if head.state == "running"
    ]


def _refs(rows: Sequence[Row[Any]]) -> list[TaskRef]:
    return [TaskRef(org=OrgId(row.org), task_id=TaskId(row.id)) for row in rows]
