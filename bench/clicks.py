"""`python -m bench.clicks`: how long a click in a chat waits for its answer and its decision, under load.

An open loop: when each click comes is fixed beforehand, and its time is counted from then, so that a click
that had to wait behind a slow one is not missing from the figures. Behind it are the real web process, real
workers with twenty tasks going on, and the suite's fake Slack or Telegram, a process each.
"""

import asyncio
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

if __name__ == "__main__":  # started by its path, this folder would be first, and hide Python's own `queue`
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from bench import result
from bench.chat import Surface
from bench.claims import SETTINGS, settings_of, shown
from bench.clicked import AGAIN, READING, WORKERS, Outcome, Plan, run
from bench.ours import percentile
from bench.result import ROOT, Result, Table
from core.errors import GatepostError
from tests.postgres import PostgresUnavailable, serve

PATIENCE_SECONDS = 3.0
"""After which Slack tells who clicked that it didn't work; Telegram waits longer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figures:
    """The last line. *acks*: clicks answered 200; times from when a click was due, in milliseconds.

    *lost*: acknowledged clicks on calls that are undecided afterwards. *doubled*: calls that were decided, or
    ran, more than once.
    """

    rate: int
    acks: int
    ack_p50_ms: float
    ack_p99_ms: float
    decide_p50_ms: float
    decide_p99_ms: float
    lost: int
    doubled: int


def figures(rate: int, outcome: Outcome) -> Figures:
    """What the run of *outcome* comes to."""
    acked = [click for click in outcome.clicks if click.is_acked]
    acks = [(click.answered_at - click.due_at) * 1000 for click in acked]
    due: dict[str, float] = {}
    for click in outcome.clicks:
        due[click.token] = min(click.due_at, due.get(click.token, click.due_at))
    decided = {token: p.decided_at for token, p in outcome.parks.items() if p.decided_at is not None}
    decisions = [(at - due[token]) * 1000 for token, at in decided.items() if token in due]
    return Figures(
        rate=rate,
        acks=len(acked),
        ack_p50_ms=percentile(acks, 50),
        ack_p99_ms=percentile(acks, 99),
        decide_p50_ms=percentile(decisions, 50),
        decide_p99_ms=percentile(decisions, 99),
        lost=sum(click.token not in decided for click in acked),
        doubled=sum(p.decisions > 1 or p.effects > 1 for p in outcome.parks.values()),
    )


def problems(outcome: Outcome, found: Figures) -> list[str]:
    """What must not be; empty after a good run."""
    sent = len(outcome.clicks)
    undone = sum(p.decided_at is not None and p.effects == 0 for p in outcome.parks.values())
    unasked = sum(p.decided_at is None and p.effects > 0 for p in outcome.parks.values())
    return [
        words
        for count, words in (
            (sent - found.acks, f"{sent - found.acks} of {sent} clicks were not answered 200"),
            (found.lost, f"{found.lost} acknowledged clicks were lost"),
            (found.doubled, f"{found.doubled} calls were decided or ran more than once"),
            (undone, f"{undone} approved calls did not run"),
            (unasked, f"{unasked} calls ran undecided"),
        )
        if count
    ]


def main() -> None:
    typer.run(_measure)


def _measure(
    surface: Annotated[Surface, typer.Option(help="Where the clicks come from.")] = Surface.SLACK,
    rate: Annotated[int, typer.Option(min=1, help="Clicks a second.")] = 50,
    seconds: Annotated[float, typer.Option(min=0.1, help="For so long.")] = 15.0,
    think: Annotated[float, typer.Option(min=0.0, help="Seconds the model takes for a reply.")] = 1.0,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="An empty database. Default: a new SQLite file.")
    ] = None,
    postgres: Annotated[
        bool, typer.Option("--postgres", help="A new database on a PostgreSQL that is started for it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Nothing but the last line on stdout.")] = False,
) -> None:
    """Clicks at fixed times on parked calls: their answers, their decisions, none lost, none doubled."""
    if postgres and database is not None:
        raise typer.BadParameter("--postgres brings its own database: leave out --database")
    console, progress = Console(stderr=as_json), Console(stderr=True)
    plan = Plan(surface=surface, rate=rate, seconds=seconds, think_seconds=think)
    began = result.load()
    try:
        with (
            _database(database, postgres) as (url, settings),
            tempfile.TemporaryDirectory(prefix="gatepost-clicks-") as folder,
            progress.status("starting") as status,
        ):
            outcome = asyncio.run(run(plan, url or _file_in(folder), Path(folder), status.update))
    except (PostgresUnavailable, GatepostError, RuntimeError) as error:
        progress.print(str(error), highlight=False, markup=False)
        raise typer.Exit(1) from error
    found = figures(rate, outcome)
    wrong = problems(outcome, found)
    facts = [
        *result.machine(),
        settings,
        f"load {began} at the start, {result.load()} at the end{_niceness()}",
        *beside(outcome),
    ]
    table = table_of(outcome, found)
    for line in facts:
        console.print(line, highlight=False)
    console.print(shown(table))
    for line in (*outcome.found, *wrong):
        progress.print(line, highlight=False, markup=False)
    kept = _kept(
        surface, table, facts, "PostgreSQL" if settings.startswith("PostgreSQL") else "SQLite", outcome, wrong
    )
    console.print(f"kept in {result.keep(kept).relative_to(ROOT)}", highlight=False)
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    raise typer.Exit(1 if wrong else 0)


@contextmanager
def _database(given: str | None, postgres: bool) -> Iterator[tuple[str | None, str]]:
    """Its URL, None for a file of the run's own, and what the figures depend on of it."""
    if postgres:
        with serve(os.environ, SETTINGS) as server:
            asyncio.run(server.create_database("bench_clicks"))
            try:
                yield server.url("bench_clicks"), asyncio.run(settings_of(server))
            finally:
                asyncio.run(server.drop_database("bench_clicks"))
    elif given is not None and not given.startswith("sqlite"):
        yield given, "PostgreSQL (given), as it is set up"
    else:
        yield given, "SQLite: a file, WAL, synchronous FULL"


def _file_in(folder: str) -> str:
    return f"sqlite+aiosqlite:///{folder}/gatepost.db"


def table_of(outcome: Outcome, found: Figures) -> Table:
    """For people: the figures, and what they need to be believed."""
    longest = max((click.answered_at - click.due_at for click in outcome.clicks), default=0.0)
    return Table(
        title=f"{found.rate} clicks a second",
        columns=(
            "clicks",
            "acks",
            "ack p50 ms",
            "ack p99 ms",
            "ack max ms",
            "decided p50 ms",
            "decided p99 ms",
            "lost",
            "doubled",
        ),
        rows=[
            (
                f"{len(outcome.clicks):,}",
                f"{found.acks:,}",
                f"{found.ack_p50_ms:,.1f}",
                f"{found.ack_p99_ms:,.1f}",
                f"{longest * 1000:,.1f}",
                f"{found.decide_p50_ms:,.1f}",
                f"{found.decide_p99_ms:,.1f}",
                str(found.lost),
                str(found.doubled),
            )
        ],
        notes=(
            "Approve, pressed at random times fixed beforehand, on a card of its own each;"
            f" {AGAIN:.0%} are second clicks on the card of the click before. Times are counted from when a"
            " click was due, however late it was sent. ack: until the web process answered 200; Slack gives"
            " up after 3 s. decided: until the decision's time in its row, which is of its transaction, a few"
            " ms before its commit. lost: acknowledged, and undecided afterwards. doubled: calls that were"
            " decided, by the audit, or ran, by the shop's own record, more than once.",
        ),
    )


def beside(outcome: Outcome) -> list[str]:
    """What else went on during the load, a line each."""
    late = percentile([(click.sent_at - click.due_at) * 1000 for click in outcome.clicks], 99)
    over = sum(click.answered_at - click.due_at > PATIENCE_SECONDS for click in outcome.clicks)
    acked = {click.token for click in outcome.clicks if click.is_acked}
    anyway = sum(token not in acked and p.decided_at is not None for token, p in outcome.parks.items())
    used = ", ".join(f"{name} {cores:.2f}" for name, cores in outcome.cores.items())
    return [
        f"{WORKERS} workers: {outcome.reading} or more of {READING} readers went on at each look, and what"
        " was approved was run and posted",
        f"clicks were sent {late:,.1f} ms late (p99); {over} were answered after more than 3 s;"
        f" {anyway} calls were decided though no click on them was acknowledged",
        f"cores used during the load: {used or 'nobody knows'}",
    ]


def _niceness() -> str:
    """Whether this had more, or less, than its turn beside what else ran on the machine."""
    return "" if (niceness := os.nice(0)) == 0 else f"; this ran at niceness {niceness}"


def _kept(
    surface: Surface,
    table: Table,
    facts: Sequence[str],
    database: str,
    outcome: Outcome,
    wrong: Sequence[str],
) -> Result:
    command = shlex.join(["python", "-m", "bench.clicks", *_without_passwords(sys.argv[1:])])
    return Result(
        name=f"clicks-{database.lower()}"
        if surface is Surface.SLACK
        else f"clicks-{surface}-{database.lower()}",
        title=f"Clicks in {surface.capitalize()} on {database}",
        command=command,
        date=result.now(),
        machine=[*facts, *outcome.found, *wrong],
        tables=[table],
    )


def _without_passwords(arguments: Sequence[str]) -> list[str]:
    return [f"{a.partition('://')[0]}://…" if "://" in a else a for a in arguments]


if __name__ == "__main__":
    main()
