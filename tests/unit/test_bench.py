"""The benchmarks' page, and that they can be started as the README says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("start", [["bench/queue.py"], ["-m", "bench.queue"]])
def test_a_script_named_queue_hides_no_module_of_python(start: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": "", "COLUMNS": "200"}
    ran = subprocess.run(
        [sys.executable, *start, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, "--ours-only" in ran.stdout) == (0, True), ran.stderr
