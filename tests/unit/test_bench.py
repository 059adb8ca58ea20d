"""The benchmarks' page, and that they can be started as the README says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import turns
from bench.ours import percentile
from bench.report import page
from bench.result import Result, Table

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_says_where_how_and_when_beside_the_figures() -> None:
    table = Table(title="By length", columns=("queued", "note"), rows=[("1,000", "a|b")], notes=("Read so.",))
    result = Result(
        name="queue",
        title="Queue",
        command="python bench/queue.py",
        date="2026-03-02 09:00 UTC",
        machine=["a machine", "load 0.1"],
        tables=[table],
    )
    assert page([result]).splitlines()[5:] == [
        "## Queue",
        "",
        "`python bench/queue.py`, 2026-03-02 09:00 UTC",
        "",
        "- a machine",
        "- load 0.1",
        "",
        "### By length",
        "",
        "| queued | note |",
        "| --- | --- |",
        "| 1,000 | a\\|b |",
        "",
        "Read so.",
    ]


@pytest.mark.parametrize(("percent", "value"), [(50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: int) -> None:
    assert percentile([float(n) for n in range(1, 101)], percent) == value


def test_a_turn_is_measured_to_its_end_and_its_table_is_the_pages(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "bench/turns.py", "one", "SQLite", f"sqlite+aiosqlite:///{tmp_path / 't.db'}", "2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    figure = turns.Figure(**json.loads(ran.stdout))
    assert (figure.database, figure.at_once, figure.turns) == ("SQLite", 2, turns.TASKS * (turns.ROUNDS + 1))
    assert 0 < figure.cpu_ms < figure.wall_ms * 10
    assert turns.table_of([figure], 1).rows[0][:2] == ("SQLite", "2")


@pytest.mark.parametrize(
    ("start", "option"),
    [
        (["bench/queue.py"], "--ours-only"),
        (["-m", "bench.queue"], "--ours-only"),
        (["bench/turns.py"], "--at-once"),
        (["-m", "bench.turns"], "--at-once"),
    ],
)
def test_a_script_named_queue_hides_no_module_of_python(start: list[str], option: str) -> None:
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "200"}
    ran = subprocess.run(
        [sys.executable, *start, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, option in ran.stdout) == (0, True), ran.stderr
