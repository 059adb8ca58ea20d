"""Our queue through its port, as workers use it: claim, then end the task by a change, audit on."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.ids import SystemIds
from adapters.store import open_store
from bench.filled import fill
from core.agents import Agent
from core.ids import Run, WorkerId
from core.moves.ends import fail
from core.ports import Store
from tests.postgres import Server

WORKERS = 4
DURABLE_WORK = (
    "2 commits: claim (epoch, lease, turn between organizations), end (row lock, guards, state and result,"
    " event row, audit entry with HMAC); history kept"
)
AGENT = Agent(key="inbox", name="Inbox")


@dataclass(kw_only=True, slots=True)
class Timing:
    """How long each claim and each end took, in milliseconds."""

    claims: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    rows: int
    each: int  # tasks wanted by one claim
    tasks: int  # claimed and ended
    seconds: float
    claims_per_s: float  # tasks claimed and ended a second
    p50_ms: float  # of a claim
    p99_ms: float
    end_p99_ms: float


async def measure(server: Server, rows: int, each: int, seconds: float) -> Figure:
    """4 workers empty half of a queue of *rows* tasks, or work for *seconds*; one of them sweeps."""
    name = f"bench_{rows}_{each}"
    url = await fill(server, name, rows)
    store = open_store(url, audit_key=b"of a benchmark, not of an installation", ids=SystemIds(), pool_size=5)
    timing = Timing()
    try:
        await _warm(store)
        begun = time.perf_counter()
        await _work(store, timing, wanted=rows // 2, each=each, until=begun + seconds)
        took = time.perf_counter() - begun
    finally:
        await store.close()
        await server.drop_database(name)
    return Figure(
        rows=rows,
        each=each,
        tasks=len(timing.ends),
        seconds=round(took, 2),
        claims_per_s=round(len(timing.ends) / took, 1),
        p50_ms=percentile(timing.claims, 50),
        p99_ms=percentile(timing.claims, 99),
        end_p99_ms=percentile(timing.ends, 99),
    )


async def _warm(store: Store) -> None:
    """Each worker has its connection and its statements are prepared."""
    runs = await asyncio.gather(*(store.queue.claim(WorkerId(f"w{n}"), 1, 60) for n in range(WORKERS)))
    await asyncio.gather(*(_end(store, run, []) for claimed in runs for run in claimed))


async def _work(store: Store, timing: Timing, *, wanted: int, each: int, until: float) -> None:
    async def worker(worker_id: WorkerId) -> None:
        while len(timing.ends) < wanted and time.perf_counter() < until:
            begun = time.perf_counter()
            runs = await store.queue.claim(worker_id, each, 60)
            timing.claims.append((time.perf_counter() - begun) * 1000)
            if not runs:
                return
            for run in runs:
                await _end(store, run, timing.ends)

    async def sweep() -> None:
        while True:
            await asyncio.sleep(1)
            await store.queue.recover(100)

    sweeping = asyncio.create_task(sweep())
    try:
        await asyncio.gather(*(worker(WorkerId(f"w{n}")) for n in range(WORKERS)))
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)


async def _end(store: Store, run: Run, took: list[float]) -> None:
    begun = time.perf_counter()
    await store.tasks.change(run.ref, fail(run, AGENT, "bench", "nothing was to be done"))
    took.append((time.perf_counter() - begun) * 1000)


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that *percent* of *values* do not exceed."""
    ordered = sorted(values)
    return round(ordered[max(0, -(-len(ordered) * percent // 100) - 1)], 2) if ordered else 0.0
