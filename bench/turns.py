"""`python bench/turns.py`: what a turn of an agent costs us, beside what its model takes.

A whole bot but for the chat: the worker, the OpenAI adapter over HTTP, a store. The model answers at once,
from a process of its own; a turn is one request, its reply, one read and its result. Each figure is of a
process of its own too, since the first turns of one pay for its imports and statements.
"""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

if __name__ == "__main__":  # started by its path, this folder would be first, and hide Python's own `queue`
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from adapters.clock import SystemClock
from adapters.ids import SystemIds
from adapters.model_openai import OpenAIModel
from adapters.store import migrate, open_store
from bench import result
from bench.claims import SETTINGS, settings_of, shown
from bench.result import ROOT, Result, Table
from core.agents import Agent
from core.decisions import Desk
from core.host import BaseHost
from core.ids import EventKey, OrgId, TaskId, WorkerId
from core.people import Account
from core.ports import Query, Store
from core.tasks import Origin, Prio, TaskState
from core.tools import tool
from core.work import Cause, Event, EventKind, NewTask
from core.worker import Worker
from tests.postgres import PostgresUnavailable, serve

ROUNDS = 10
TASKS = 20
"""At the least: few turns of one task alone would be measured by chance."""
POOL = 5
ORG = OrgId("org")


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """*cpu_ms* is of our process alone, its threads included."""

    database: str
    at_once: int
    turns: int
    wall_ms: float  # of a turn, as many going on at once as there are tasks
    cpu_ms: float
    turns_per_s: float


@tool(risk="read")
async def read_order(id: str) -> str:
    """Read an order."""
    return f"Order {id}: a mug, 24.00 EUR, paid, on its way since Monday."


class Host(BaseHost):
    tools = {"read_order": read_order}  # noqa: RUF012
    agents = {"sam": Agent(key="sam", name="Sam", role="You look after orders.", tools=("read_order",))}  # noqa: RUF012


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        _one(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        typer.run(_measure)


def _measure(
    at_once: Annotated[str, typer.Option(help="Tasks at once, several by comma.")] = "1,100",
    repeat: Annotated[int, typer.Option(help="The median of so many.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="The last line says it as JSON.")] = False,
) -> None:
    """CPU and wall time a turn, one task and many at once, on SQLite and PostgreSQL."""
    console = Console(stderr=as_json)
    command = shlex.join(["python", "bench/turns.py", *sys.argv[1:]])
    began = result.load()
    figures: list[Figure] = []
    numbers = [int(part) for part in at_once.split(",")]
    try:
        with serve(os.environ, SETTINGS) as server, tempfile.TemporaryDirectory() as folder:
            settings = asyncio.run(settings_of(server))
            for n in numbers:
                for kind in ("SQLite", "PostgreSQL"):
                    found = []
                    for nth in range(repeat):
                        name = f"turns_{n}_{nth}"
                        with console.status(f"{kind}, {n} at once"):
                            if kind == "SQLite":
                                found.append(_figure(kind, f"sqlite+aiosqlite:///{folder}/{name}.db", n))
                                continue
                            asyncio.run(server.create_database(name))
                            found.append(_figure(kind, server.url(name), n))
                            asyncio.run(server.drop_database(name))
                    figures.append(sorted(found, key=lambda f: f.wall_ms)[len(found) // 2])
    except PostgresUnavailable as error:
        console.print(str(error))
        raise typer.Exit(1) from error
    facts = [*result.machine(), settings, f"load {began} at the start, {result.load()} at the end"]
    table = table_of(figures, repeat)
    for line in facts:
        console.print(line, highlight=False)
    console.print(shown(table))
    found_all = Result(
        name="turns", title="Turns", command=command, date=result.now(), machine=facts, tables=[table]
    )
    console.print(f"kept in {result.keep(found_all).relative_to(ROOT)}", highlight=False)
    if as_json:
        sys.stdout.write(json.dumps({"turns": [asdict(f) for f in figures]}) + "\n")


def _figure(kind: str, url: str, n: int) -> Figure:
    """The figure of a process of its own; what it said, if it broke, is on our error stream."""
    command = [sys.executable, str(Path(__file__).resolve()), "one", kind, url, str(n)]
    ran = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Figure(**json.loads(ran.stdout.splitlines()[-1]))


def table_of(figures: Sequence[Figure], repeat: int) -> Table:
    return Table(
        title="A turn, beside its model",
        columns=("database", "tasks at once", "ms a turn", "CPU ms a turn", "turns/s"),
        rows=[
            (f.database, str(f.at_once), f"{f.wall_ms:.1f}", f"{f.cpu_ms:.1f}", f"{f.turns_per_s:,.0f}")
            for f in figures
        ],
        notes=(
            f"Tasks of {ROUNDS} rounds of a read and a closing one, by one worker in one process with {POOL}"
            " connections; the model answers at once over HTTP from another process. ms a turn: how long one"
            " takes while so many tasks go on. CPU: of our process, its threads included, not the server's."
            f" A turn is two commits. The median of {repeat}.",
        ),
    )


# ── one figure, in a process of its own ──────────────────────────────────────────────────────


def _one(kind: str, url: str, n: int) -> None:
    with _model() as address:
        sys.stdout.write(json.dumps(asdict(asyncio.run(measure(kind, url, n, address)))) + "\n")


@contextmanager
def _model() -> Iterator[str]:
    """The address of a model that runs beside us."""
    command = [sys.executable, "-m", "bench.model_server", str(ROUNDS)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


async def measure(kind: str, url: str, n: int, address: str) -> Figure:
    """Tasks, *n* of them at once, go through to their end, once one has gone before them."""
    tasks = max(n, TASKS)
    await migrate(url)
    ids, clock, host = SystemIds(), SystemClock(), Host()
    host.model = OpenAIModel("bench", clock=clock, base_url=address)
    store = open_store(url, audit_key=b"of a benchmark, not of an installation", ids=ids, pool_size=POOL)
    desk = Desk(store=store, host=host, ids=ids)
    try:
        await store.people.found(ORG, "Org", "Ada", Account(surface="bench", ref="ada"))
        worker = Worker(desk=desk, clock=clock, worker_id=WorkerId("w"), slots=n)
        await _open(store, ids, 1)
        await worker.until_idle()
        await _open(store, ids, tasks)
        wall, cpu = time.perf_counter(), time.process_time()
        await worker.until_idle()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        done = await store.ledger.find(ORG, Query(states=frozenset({TaskState.DONE}), limit=tasks + 2))
    finally:
        await host.model.close()
        await store.close()
    assert len(done) == tasks + 1, f"{len(done) - 1} of {tasks} tasks were done"
    turns = tasks * (ROUNDS + 1)
    return Figure(
        database=kind,
        at_once=n,
        turns=turns,
        wall_ms=round(wall * 1000 * n / turns, 2),
        cpu_ms=round(cpu * 1000 / turns, 2),
        turns_per_s=round(turns / wall, 1),
    )


async def _open(store: Store, ids: SystemIds, n: int) -> None:
    for _ in range(n):
        key = EventKey(source="bench", event_id=ids.new())
        await store.inbox.receive(Event(key=key, org=ORG, kind=EventKind.MESSAGE, body={"text": "Look."}))
        new = NewTask(
            org=ORG,
            id=TaskId(ids.new()),
            agent="sam",
            origin=Origin.OWNER,
            goal="How are the orders?",
            prio=Prio.PERSON,
        )
        await store.tasks.open(new, Cause(key=key, actor="bench"))


if __name__ == "__main__":
    main()
