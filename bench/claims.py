"""How many tasks a second are claimed and ended, and how long a claim takes, by the queue's length.

Beside other queues and the server's own limit, all on one PostgreSQL that this starts, durable (fsync and
synchronous_commit on). TEST_DATABASE_URL names another server, whose own settings then hold.
"""

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import asyncpg
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Shown

from bench import ours, peers, result
from bench.ours import Figure
from bench.result import ROOT, Result, Table
from tests.postgres import PostgresUnavailable, Server, find_binaries, plain_dsn, serve

SETTINGS = (
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=256MB",
    "max_connections=100",
    "jit=off",
    "timezone=UTC",
)
ASKED = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
LIMIT_WORK = "1 commit: one row updated by key, nothing else; a job of ours is 2 commits and more"
SLACK_SECONDS = 120.0  # a peer's process: installing its schema, queueing its jobs, ending


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """Another queue's figure, or why there is none."""

    name: str
    durable_work: str
    version: str | None = None
    jobs: int | None = None
    jobs_per_s: float | None = None
    error: str | None = None


def main() -> None:
    typer.run(_measure)


def _measure(
    sizes: Annotated[str, typer.Option(help="Queued tasks, several by comma.")] = "1000,100000",
    each: Annotated[str, typer.Option(help="Tasks wanted by one claim, several by comma.")] = "1",
    seconds: Annotated[float, typer.Option(help="At most so long for each figure.")] = 5.0,
    jobs: Annotated[int, typer.Option(help="Jobs of each peer.")] = 1000,
    ours_only: Annotated[bool, typer.Option("--ours-only", help="No peers and no limit.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The last line says it as JSON.")] = False,
    peer_python: Annotated[
        str, typer.Option(help="The python whose environment holds the peers (the `bench` extra).")
    ] = sys.executable,
) -> None:
    """Claims a second and p99 by the queue's length, beside others on the same PostgreSQL."""
    # Where the last line is for a program, everything for people goes to the other stream.
    console = Console(stderr=as_json)
    command = shlex.join(["python", "bench/queue.py", *_without_paths(sys.argv[1:])])
    began = result.load()
    try:
        with serve(os.environ, SETTINGS) as server, _progress(console) as progress:
            settings = asyncio.run(settings_of(server))
            figures = [
                _timed(
                    progress, f"ours: {rows:,} queued, {n} a claim", ours.measure(server, rows, n, seconds)
                )
                for rows in _numbers(sizes)
                for n in _numbers(each)
            ]
            beside = [] if ours_only else _beside(progress, server, jobs, seconds, peer_python)
    except PostgresUnavailable as error:
        console.print(str(error))
        raise typer.Exit(1) from error
    tables = [_our_table(figures), *([_peer_table(beside, figures)] if beside else [])]
    facts = [*result.machine(), settings, f"load {began} at the start, {result.load()} at the end"]
    for line in facts:
        console.print(line, highlight=False)
    for table in tables:
        console.print(shown(table))
    if not ours_only:  # the page shows ours beside the others, or not at all
        found = Result(
            name="queue", title="Queue", command=command, date=result.now(), machine=facts, tables=tables
        )
        console.print(f"kept in {result.keep(found).relative_to(ROOT)}", highlight=False)
    if as_json:
        said = {"ours": [asdict(f) for f in figures], "peers": [asdict(p) for p in beside]}
        sys.stdout.write(json.dumps(said) + "\n")


def _numbers(said: str) -> list[int]:
    try:
        numbers = [int(part) for part in said.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{said!r} is not numbers by comma") from None
    if min(numbers) < 1:
        raise typer.BadParameter("each number is at least 1")
    return numbers


def _without_paths(arguments: Sequence[str]) -> list[str]:
    """The command as anybody may repeat it: where the peers' python lies is of this machine."""
    return [a if Path(a).name == a else f"…/{Path(a).name}" for a in arguments]


async def settings_of(server: Server) -> str:
    """What the server's figures depend on, in a line."""
    conn = await asyncpg.connect(plain_dsn(server.address))
    try:
        said = [f"{name} {await conn.fetchval(f'SHOW {name}')}" for name in ASKED]
    finally:
        await conn.close()
    return f"PostgreSQL ({server.source}): {', '.join(said)}"


# ── beside ours ──────────────────────────────────────────────────────────────────────────────


def _beside(progress: Progress, server: Server, jobs: int, seconds: float, python: str) -> list[Peer]:
    found = []
    for name in peers.PEERS:
        with _step(progress, name):
            found.append(_peer(server, name, jobs, seconds, python))
    with _step(progress, "pgbench"):
        found.append(_limit(server, seconds))
    return found


def _peer(server: Server, name: str, jobs: int, seconds: float, python: str) -> Peer:
    work = peers.DURABLE_WORK[name]
    database = f"bench_{name}"
    asyncio.run(server.create_database(database))
    command = [python, "-m", "bench.peers", name, plain_dsn(server.url(database)), str(jobs), str(seconds)]
    try:
        ran = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + SLACK_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Peer(name=name, durable_work=work, error=f"could not be run: {type(error).__name__}")
    finally:
        asyncio.run(server.drop_database(database))
    if ran.returncode:
        return Peer(name=name, durable_work=work, error=_why(name, ran.stderr))
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    del said["seconds"]
    return Peer(name=name, durable_work=work, **said)


def _why(name: str, stderr: str) -> str:
    last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
    if last.startswith("ModuleNotFoundError"):
        return f"not installed (pip install {name}, or the bench extra): {last}"
    return last


def _limit(server: Server, seconds: float) -> Peer:
    """What the server itself can do: pgbench's single-row updates by 4 clients."""
    name = "pgbench (the server's limit)"
    program = _pgbench()
    if program is None:
        return Peer(name=name, durable_work=LIMIT_WORK, error="no pgbench on PATH or beside the server")
    asyncio.run(server.create_database("bench_limit"))
    try:
        asyncio.run(_limit_table(server.url("bench_limit")))
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder, "update.sql")
            script.write_text("\\set id random(1, 100000)\nUPDATE t SET n = n + 1 WHERE id = :id;\n")
            clients = str(ours.WORKERS)
            flags = ["-n", "-f", str(script), "-c", clients, "-j", "2", "-T", str(max(1, int(seconds)))]
            dsn = plain_dsn(server.url("bench_limit"))
            ran = subprocess.run([program, *flags, dsn], capture_output=True, text=True, check=False)
    finally:
        asyncio.run(server.drop_database("bench_limit"))
    tps = [line.split()[2] for line in ran.stdout.splitlines() if line.startswith("tps = ")]
    if not tps:
        return Peer(name=name, durable_work=LIMIT_WORK, error=_why("pgbench", ran.stderr))
    return Peer(name=name, durable_work=LIMIT_WORK, jobs_per_s=round(float(tps[0]), 1))


def _pgbench() -> str | None:
    beside = find_binaries().folder / "pgbench"
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("pgbench")


async def _limit_table(url: str) -> None:
    conn = await asyncpg.connect(plain_dsn(url))
    try:
        await conn.execute("CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL) WITH (fillfactor = 80)")
        await conn.execute("INSERT INTO t SELECT n, 0 FROM generate_series(1, 100000) AS n")
        await conn.execute("VACUUM ANALYZE t")
    finally:
        await conn.close()


# ── for people ───────────────────────────────────────────────────────────────────────────────


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(finished_text="·"),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
    )


@contextmanager
def _step(progress: Progress, what: str) -> Iterator[None]:
    step = progress.add_task(what, total=1)
    yield
    progress.update(step, completed=1)


def _timed(progress: Progress, what: str, work: Any) -> Figure:
    with _step(progress, what):
        figure: Figure = asyncio.run(work)
        return figure


def _our_table(figures: Sequence[Figure]) -> Table:
    return Table(
        title="Ours, by the queue's length",
        columns=("queued", "a claim", "claims/s", "p50 ms", "p99 ms", "end p99 ms", "tasks"),
        rows=[
            (
                f"{f.rows:,}",
                str(f.each),
                f"{f.claims_per_s:,.0f}",
                f"{f.p50_ms:.1f}",
                f"{f.p99_ms:.1f}",
                f"{f.end_p99_ms:.1f}",
                f"{f.tasks:,}",
            )
            for f in figures
        ],
        notes=(
            "claims/s: tasks claimed through the port and ended by a change with its audit entry, by"
            f" {ours.WORKERS} workers in one process, while one of them sweeps each second. p50, p99: of one"
            " claim of so many tasks; end p99: of one ending change. 200 organizations; the first owns 70 %"
            " of the tasks, the oldest. Until half are done, or the time is over.",
        ),
    )


def _peer_table(beside: Sequence[Peer], figures: Sequence[Figure]) -> Table:
    ours_rows = [
        (f"Gatepost ({f.rows:,} queued, {f.each} a claim)", f"{f.claims_per_s:,.0f}", ours.DURABLE_WORK)
        for f in figures
    ]
    return Table(
        title="Beside others, on the same server",
        columns=("queue", "jobs/s", "durable work of a job"),
        rows=[*ours_rows, *((_named(peer), _rate(peer), peer.durable_work) for peer in beside)],
        notes=(
            f"No-op jobs, queued before, {peers.CONCURRENCY} at once in one process, timed from the first end"
            " to the last. Not like for like: each keeps something else. Agents take seconds a turn, so what"
            " counts is that the figure does not fall with the queue's length, and that one organization"
            " can't starve another.",
        ),
    )


def _named(peer: Peer) -> str:
    return peer.name if peer.version is None else f"{peer.name} {peer.version}"


def _rate(peer: Peer) -> str:
    if peer.error is not None:
        return peer.error
    return "none finished in time" if peer.jobs_per_s is None else f"{peer.jobs_per_s:,.0f}"


def shown(table: Table) -> Shown:
    drawn = Shown(*table.columns, title=table.title, caption=" ".join(table.notes))
    for row in table.rows:
        drawn.add_row(*row)
    return drawn
