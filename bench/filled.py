"""A database with a queue of a given length in it, as a busy installation's would be."""

import asyncpg

from adapters.store import migrate
from tests.postgres import Server, plain_dsn

ORGS = 200
# 70 % of the tasks are the first organization's, and they are the oldest; every tenth was asked for
# by a person. Places as order.py gives them: each organization's own 0, 1, 2, …
FILL = f"""
WITH made AS (
    SELECT n, CASE WHEN n <= $1 * 0.7 THEN 1 ELSE 2 + n % {ORGS - 1} END AS org, n % 10 <> 0 AS self_started
    FROM generate_series(1, $1::int) AS n
)
INSERT INTO tasks (org, id, number, agent, origin, goal, state, prio, vrt, next_seq, created_at, queued_at)
SELECT 'org-' || org, 'task-' || lpad(n::text, 9, '0'), n, 'inbox',
    CASE WHEN self_started THEN 'schedule' ELSE 'owner' END, to_json(repeat('x', 200)), 'queued',
    self_started::int, row_number() OVER (PARTITION BY org, self_started ORDER BY n) - 1, 2, now(), now()
FROM made
"""


async def fill(server: Server, name: str, rows: int) -> str:
    """The URL of a new database with *rows* queued tasks of 200 organizations, vacuumed and analyzed."""
    await server.create_database(name)
    url = server.url(name)
    await migrate(url)
    conn = await asyncpg.connect(plain_dsn(url))
    try:
        await conn.execute(
            "INSERT INTO organizations (id, name, created_at)"
            f" SELECT 'org-' || n, 'org', now() FROM generate_series(1, {ORGS}) AS n"
        )
        await conn.execute(FILL, rows)
        await conn.execute("VACUUM ANALYZE")
    finally:
        await conn.close()
    return url
