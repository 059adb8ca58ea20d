"""The benchmarks' page, and that they can be started as the README says."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from bench import clicked_shop, clicks, cpu, turns
from bench.clicked import Click, Outcome, Parked, arrivals
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
        (["bench/clicks.py"], "--rate"),
        (["-m", "bench.clicks"], "--rate"),
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


# ── clicks ───────────────────────────────────────────────────────────────────────────────────

KEYS = "rate acks ack_p50_ms ack_p99_ms decide_p50_ms decide_p99_ms lost doubled".split()
DUE_AT = 1_000.0


def click(token: str = "a", *, due: float = 0, took: float = 0.5, status: int | None = 200) -> Click:
    """A click that was due *due* seconds after the load began, and sent a quarter of a second late."""
    at = DUE_AT + due
    return Click(token=token, due_at=at, sent_at=at + 0.25, answered_at=at + took, status=status)


def parked(decided: float | None = 0.25, decisions: int = 1, effects: int = 1) -> Parked:
    at = None if decided is None else DUE_AT + decided
    return Parked(decided_at=at, decisions=decisions, effects=effects)


def outcome(clicked: list[Click], **parks: Parked) -> Outcome:
    return Outcome(clicks=clicked, parks=parks, reading=20, cores={})


def test_when_clicks_come_is_fixed_beforehand_and_some_are_of_the_call_clicked_before() -> None:
    planned = arrivals(50, 4)
    calls = [arrival.call for arrival in planned]
    assert planned == arrivals(50, 4)
    assert len(planned) == 200 and set(calls) == set(range(190))
    assert [b - a for a, b in itertools.pairwise(calls)].count(0) == 10
    assert planned == sorted(planned, key=lambda arrival: arrival.at) and planned[-1].at <= 4


def test_one_click_alone_is_no_double_click() -> None:
    assert [arrival.call for arrival in arrivals(1, 1)] == [0]
    assert arrivals(1, 0.1) == []


def test_a_click_is_timed_from_when_it_was_due() -> None:
    """Of a hundred clicks one waits for 3 s, and one call is clicked twice: its first click counts."""
    clicked = [click(f"t{n}", due=n, took=3.0 if n == 50 else 0.5) for n in range(100)]
    parks = {f"t{n}": parked(n + 0.25) for n in range(100)}
    found = clicks.figures(50, outcome([click("t0", due=0.1), *clicked], **parks))
    assert asdict(found) == {
        "rate": 50,
        "acks": 101,
        "ack_p50_ms": 500.0,
        "ack_p99_ms": 500.0,
        "decide_p50_ms": 250.0,
        "decide_p99_ms": 250.0,
        "lost": 0,
        "doubled": 0,
    }
    assert list(asdict(found)) == KEYS
    slow = clicks.figures(50, outcome([click(took=3.0), click("b")], a=parked(2.5), b=parked()))
    assert (slow.ack_p99_ms, slow.decide_p99_ms) == (3000.0, 2500.0)


@pytest.mark.parametrize(
    ("clicked", "park", "lost", "doubled", "told"),
    [
        ([click()], parked(), 0, 0, []),
        ([click(), click(due=0.1)], parked(), 0, 0, []),
        ([click()], parked(None, 0, 0), 1, 0, ["1 acknowledged clicks were lost"]),
        ([click(), click(due=0.1)], parked(None, 0, 0), 2, 0, ["2 acknowledged clicks were lost"]),
        ([click()], parked(decisions=2), 0, 1, ["1 calls were decided or ran more than once"]),
        ([click()], parked(effects=2), 0, 1, ["1 calls were decided or ran more than once"]),
        ([click()], parked(effects=0), 0, 0, ["1 approved calls did not run"]),
        ([click(status=503)], parked(None, 0, 0), 0, 0, ["1 of 1 clicks were not answered 200"]),
        ([click(status=None)], parked(), 0, 0, ["1 of 1 clicks were not answered 200"]),
        (
            [click(status=503)],
            parked(None, 0, 1),
            0,
            0,
            ["1 of 1 clicks were not answered 200", "1 calls ran undecided"],
        ),
    ],
)
def test_a_click_that_is_lost_doubled_or_refused_is_counted_and_told(
    clicked: list[Click], park: Parked, lost: int, doubled: int, told: list[str]
) -> None:
    ran = outcome(clicked, a=park)
    found = clicks.figures(50, ran)
    assert (found.lost, found.doubled) == (lost, doubled)
    assert clicks.problems(ran, found) == told


def test_the_clicks_table_has_what_the_last_line_says() -> None:
    ran = outcome([click()], a=parked())
    found = clicks.figures(50, ran)
    row = dict(zip(clicks.table_of(ran, found).columns, clicks.table_of(ran, found).rows[0], strict=True))
    assert row == {
        "clicks": "1",
        "acks": "1",
        "ack p50 ms": "500.0",
        "ack p99 ms": "500.0",
        "ack max ms": "500.0",
        "decided p50 ms": "250.0",
        "decided p99 ms": "250.0",
        "lost": "0",
        "doubled": "0",
    }


def test_clicks_that_were_late_or_put_off_and_decided_all_the_same_are_told_beside_the_table() -> None:
    ran = outcome([click(), click("b", took=3.1), click("c", status=503)], a=parked(), b=parked(), c=parked())
    assert clicks.beside(ran)[1] == (
        "clicks were sent 250.0 ms late (p99); 1 were answered after more than 3 s;"
        " 1 calls were decided though no click on them was acknowledged"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--surface", "pigeon"], "pigeon"),
        (["--rate", "0"], "--rate"),
        (["--postgres", "--database", "sqlite+aiosqlite:///x.db"], "leave out --database"),
    ],
)
def test_clicks_that_can_not_be_measured_are_refused(arguments: list[str], words: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "bench.clicks", *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, words in ran.stderr) == (2, "", True), ran.stderr


def test_what_was_paid_back_twice_is_there_twice(tmp_path: Path) -> None:
    assert clicked_shop.refunds(tmp_path) == {}
    (tmp_path / "refunds").write_text("c1\nc2\nc1\n")
    assert clicked_shop.refunds(tmp_path) == {"c1": 2, "c2": 1}


def test_cores_are_told_apart_by_whose_process_used_them() -> None:
    before = cpu.Times(at=10.0, busy=100.0, by_pid={1: 5.0, 2: 7.0})
    after = cpu.Times(at=20.0, busy=118.0, by_pid={1: 9.0, 2: 8.0, 3: 3.0})
    used = cpu.shares(before, after, {1: "web"}, "the rest")
    assert used == pytest.approx({"web": 0.4, "the rest": 0.4, "others": 1.0})
