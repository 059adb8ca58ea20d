"""Other queues with no-op jobs on the same server, each in a process of its own.

`python -m bench.peers NAME DSN JOBS SECONDS` prints one JSON line. It imports nothing of this project,
so that it can run in an environment that holds only the peers (the `bench` extra).
"""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

CONCURRENCY = 4

DURABLE_WORK = {
    "procrastinate": "fetch and finish each by a function that updates the job's row; a trigger writes an"
    " event row for each step; finished jobs kept",
    "pgqueuer": "jobs picked 10 at a time; log rows are buffered and written together; finished jobs deleted",
    "dbos": "a workflow record with inputs and outputs: dequeued, then its result stored; history kept",
}


class Watch:
    """Counts finished jobs, from any thread, and times them from the first to the last.

    So a worker's start, and when it first looks for jobs, cost nobody anything.
    """

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()
        self._ends: list[float] = []
        self._over = threading.Event()

    def finished(self) -> None:
        with self._lock:
            if self._over.is_set():
                return  # it ends while the worker is being stopped
            self._ends.append(time.perf_counter())
            if len(self._ends) == self._wanted:
                self._over.set()

    def wait(self, seconds: float) -> None:
        """All are finished, or *seconds* have passed; what finishes later no longer counts."""
        self._over.wait(seconds)
        self._over.set()

    def figure(self) -> dict[str, Any]:
        done = len(self._ends)
        took = self._ends[-1] - self._ends[0] if done > 1 else 0.0
        rate = round((done - 1) / took, 1) if took else None
        return {"jobs": done, "seconds": round(took, 2), "jobs_per_s": rate}


async def procrastinate(dsn: str, jobs: int, seconds: float) -> Watch:
    from procrastinate import App, PsycopgConnector

    app = App(connector=PsycopgConnector(conninfo=dsn, min_size=CONCURRENCY, max_size=CONCURRENCY + 2))
    watch = Watch(jobs)

    @app.task(name="noop")
    async def noop() -> None:
        watch.finished()

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await noop.batch_defer_async(*({} for _ in range(jobs)))
        await _at_most(
            seconds,
            app.run_worker_async(
                concurrency=CONCURRENCY, wait=False, install_signal_handlers=False, listen_notify=False
            ),
        )
    return watch


async def pgqueuer(dsn: str, jobs: int, seconds: float) -> Watch:
    import asyncpg
    from pgqueuer import AsyncpgPoolDriver, PgQueuer, Queries
    from pgqueuer.types import QueueExecutionMode

    watch = Watch(jobs)
    async with asyncpg.create_pool(dsn, min_size=CONCURRENCY, max_size=CONCURRENCY + 2) as pool:
        driver = AsyncpgPoolDriver(pool)
        queries = Queries(driver)
        await queries.install()
        await queries.enqueue(["noop"] * jobs, [None] * jobs, [0] * jobs)
        worker = PgQueuer(driver)

        @worker.entrypoint("noop")
        async def noop(job: Any) -> None:
            watch.finished()

        await _at_most(seconds, worker.run(batch_size=10, mode=QueueExecutionMode.drain))
    return watch


async def dbos(dsn: str, jobs: int, seconds: float) -> Watch:
    return await asyncio.to_thread(_dbos, dsn, jobs, seconds)


def _dbos(dsn: str, jobs: int, seconds: float) -> Watch:
    from dbos import DBOS, DBOSClient, run_dbos_database_migrations

    watch = Watch(jobs)
    DBOS(
        config={
            "name": "bench",
            "system_database_url": dsn,
            "application_version": "1",
            "console_log_level": "ERROR",
        }
    )

    @DBOS.workflow(name="noop")
    def noop() -> None:
        watch.finished()

    run_dbos_database_migrations(system_database_url=dsn)
    client = DBOSClient(system_database_url=dsn)
    for _ in range(jobs):
        client.enqueue({"workflow_name": "noop", "queue_name": "bench", "app_version": "1"})
    client.destroy()
    DBOS.launch()
    # Its default is to look each second.
    DBOS.register_queue("bench", worker_concurrency=CONCURRENCY, polling_interval_sec=0.01)
    watch.wait(seconds)
    DBOS.destroy()
    return watch


async def _at_most(seconds: float, worker: Any) -> None:
    try:
        async with asyncio.timeout(seconds):
            await worker
    except TimeoutError:
        return


PEERS: dict[str, Callable[[str, int, float], Any]] = {
    "procrastinate": procrastinate,
    "pgqueuer": pgqueuer,
    "dbos": dbos,
}


def main() -> None:
    name, dsn, jobs, seconds = sys.argv[1:5]
    watch = asyncio.run(PEERS[name](dsn, int(jobs), float(seconds)))
    sys.stdout.write(json.dumps({"version": version(name), **watch.figure()}) + "\n")


if __name__ == "__main__":
    main()
