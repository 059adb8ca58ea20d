"""A heartbeat rewrites no index: on PostgreSQL its updates are heap-only."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection, event

from core.ids import Run, WorkerId
from tests.contract import factories as make
from tests.contract.planted_sql import SqlPlanted

UPDATED = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'tasks'"


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_heartbeats_are_heap_only_updates(sql: SqlPlanted) -> None:
    # Room on every page: whether old versions were cleaned away by then is up to whoever else is at work.
    await sql.run("ALTER TABLE tasks SET (fillfactor = 10)")
    await sql.save(make.organization())
    org, soon = make.organization().id, await sql.now() + timedelta(seconds=60)
    tasks = [await sql.running(org, "w1", soon) for _ in range(20)]
    worker = WorkerId("w1")
    runs = [Run(org=org, task_id=t.id, epoch=1, worker=worker) for t in tasks]
    seen: list[tuple[int, int]] = []

    def before_commit(conn: Connection) -> None:
        (row,) = conn.exec_driver_sql(UPDATED).all()
        seen.append((row.n_tup_upd, row.n_tup_hot_upd))

    event.listen(sql.db.engine.sync_engine, "commit", before_commit)
    for _ in range(5):
        assert len(await sql.store.queue.heartbeat(worker, runs, 60)) == 20
    event.remove(sql.db.engine.sync_engine, "commit", before_commit)
    total, hot = seen[-1]  # since the session last reported them
    assert (len(seen), total >= 20) == (5, True)
    assert hot == total
