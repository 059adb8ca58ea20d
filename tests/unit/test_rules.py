"""The checker of rules: what it reads, what it complains about, and that a run under xdist reaches it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rules import (
    DUE,
    STATES,
    Held,
    RulesUnreadable,
    complaints,
    read_due,
    read_report,
    read_rules,
    table,
    worse,
)

SMALL = """
| # | From → to | Caused by |
|---|---|---|
| T1 | ∅ → queued | a message |

| C6 | decided | one compare-and-set |

- **I9** A watch task only reads. **I10** Observe mode runs only `read`.

| Run loop | K1 | after lease | running |
| | K2 | after reserve | reserved |
"""


def test_rules_are_read_from_tables_and_bullets() -> None:
    assert read_rules(SMALL) == {
        "T1": "∅ → queued",
        "C6": "decided",
        "I9": "A watch task only reads.",
        "I10": "Observe mode runs only `read`.",
        "K1": "after lease",
        "K2": "after reserve",
    }


def test_a_text_without_one_family_is_refused() -> None:
    with pytest.raises(RulesUnreadable, match="no rule of I"):
        read_rules("\n".join(line for line in SMALL.splitlines() if not line.startswith("-")))


def test_the_document_has_every_rule_of_its_numbering() -> None:
    rules = read_rules(STATES.read_text(encoding="utf-8"))
    expected = {
        *(f"T{n}" for n in range(1, 14)),
        *(f"C{n}" for n in range(1, 24)),
        *(f"I{n}" for n in range(1, 41)),
        *(f"K{n}" for n in range(1, 46) if n != 24),  # the document skips it
    }
    assert set(rules) == expected
    assert all(rules.values())


def test_the_due_list_of_the_repository_names_known_rules_once() -> None:
    due = read_due(DUE.read_text(encoding="utf-8"))
    assert len(due) == len(set(due))
    assert set(due) <= set(read_rules(STATES.read_text(encoding="utf-8")))


def test_a_due_list_has_comments_and_blank_lines() -> None:
    assert read_due("# all\nT1\n\nC6  # deciding\n") == ["T1", "C6"]


def test_an_empty_due_list_is_refused() -> None:
    with pytest.raises(RulesUnreadable):
        read_due("# nothing yet\n")


def test_a_report_without_rules_is_refused() -> None:
    with pytest.raises(RulesUnreadable):
        read_report('{"rules": {}}')


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["passed"], []),
        (["passed", "skipped"], []),
        (["passed", "failed"], ["T1 has a failing test"]),
        (["skipped"], ["T1 is due, and no test that names it ran and passed"]),
        (["unfinished"], ["T1 is due, and no test that names it ran and passed"]),
        ([], ["T1 is due, and no test that names it ran and passed"]),
    ],
)
def test_a_due_rule_needs_a_passing_test_and_no_failing_one(outcomes: list[str], expected: list[str]) -> None:
    held = {"T1": [Held(test=f"t::{n}", outcome=outcome) for n, outcome in enumerate(outcomes)]}
    assert complaints(["T1"], ["T1"], held) == expected


def test_unknown_names_are_complained_about_wherever_they_stand() -> None:
    held = {"T1": [Held(test="a", outcome="passed")], "X7": [Held(test="b", outcome="passed")]}
    assert complaints(["T1"], ["T1", "T99"], held) == [
        "rules-due.txt names T99, which states.md does not have",
        "b names X7, which states.md does not have",
    ]


def test_the_table_shows_each_rule_with_its_tests() -> None:
    assert table(
        {"T1": "∅ → queued", "C6": "x" * 80}, ["T1"], {"T1": [Held(test="a", outcome="passed")]}
    ) == [
        "T1   due  ∅ → queued",
        "          passed     a",
        f"C6        {'x' * 69}…",
    ]


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        (["unfinished", "passed", "unfinished"], "passed"),
        (["unfinished", "passed", "failed"], "failed"),
        (["failed", "unfinished"], "failed"),
        (["skipped", "unfinished"], "skipped"),
        (["unfinished"], "unfinished"),
    ],
)
def test_a_test_is_as_good_as_its_worst_phase(phases: list[str], expected: str) -> None:
    outcome = None
    for phase in phases:
        outcome = worse(outcome, phase)
    assert outcome == expected


CONFTEST = """
from pathlib import Path
from tests.rules import RuleReport

def pytest_configure(config):
    config.addinivalue_line("markers", "rule(*names): rules")
    path = None if hasattr(config, "workerinput") else Path(__file__).with_name("rules.json")
    config.pluginmanager.register(RuleReport(path))
"""

SUITE = """
import pytest

@pytest.fixture
def broken_end():
    yield
    raise RuntimeError

@pytest.mark.rule("T1", "I3")
@pytest.mark.parametrize("n", [1, 2])
def test_good(n): pass

@pytest.mark.rule("T1")
def test_bad(): assert False

@pytest.mark.rule("C6")
def test_bad_end(broken_end): pass

@pytest.mark.rule("C7")
@pytest.mark.xfail
def test_expected_to_fail(): assert False

def test_without_rule(): pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_reports_the_outcome_of_each_rule_with_and_without_workers(
    tmp_path: Path, workers: str
) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {STATES.parent.parent}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", workers, "-p", "no:cacheprovider", "."]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout
    report = json.loads((tmp_path / "rules.json").read_text(encoding="utf-8"))
    outcomes = {
        name: {held["test"].partition("::")[2]: held["outcome"] for held in tests}
        for name, tests in report["rules"].items()
    }
    good = {"test_good[1]": "passed", "test_good[2]": "passed"}
    assert outcomes == {
        "T1": {"test_bad": "failed", **good},
        "I3": good,
        "C6": {"test_bad_end": "failed"},
        "C7": {"test_expected_to_fail": "skipped"},
    }
