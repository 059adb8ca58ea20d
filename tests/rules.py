"""Which test holds which rule: ``python -m tests.rules`` fails where a due one is held by none.

A test names its rules by ``@pytest.mark.rule("C9", "I3")``. A pytest run writes what became of those tests to
``build/rules.json``; docs/states.md says which rules exist, docs/rules-due.txt which must be held by now.
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
STATES = ROOT / "docs" / "states.md"
DUE = ROOT / "docs" / "rules-due.txt"
REPORT = ROOT / "build" / "rules.json"

FAMILIES = "TCIK"  # tasks, calls and parks, invariants, kill points
TEXT_WIDTH = 70
PROPERTY = "rules"  # name of the report property that carries a test's rules

_ROW = re.compile(rf"^\|(?:[^|]*\|)?\s*([{FAMILIES}]\d+)\s*\|([^|]*)\|", re.MULTILINE)
_BULLET = re.compile(r"\*\*(I\d+)\*\*\s*(.*?)(?=\s*\*\*I\d+\*\*|$)", re.MULTILINE)


class RulesUnreadable(Exception):
    """One of the three files does not hold what the check needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A test that names a rule, and how it ended: passed, failed, skipped or unfinished."""

    test: str
    outcome: str


def read_rules(text: str) -> dict[str, str]:
    """The rules of states.md: name to first words. Raises RulesUnreadable if a family is missing."""
    found = {match[1]: match[2].strip() for match in (*_ROW.finditer(text), *_BULLET.finditer(text))}
    missing = [family for family in FAMILIES if not any(name.startswith(family) for name in found)]
    if missing:
        raise RulesUnreadable(f"states.md: found no rule of {', '.join(missing)}")
    return dict(sorted(found.items(), key=lambda rule: _order(rule[0])))


def read_due(text: str) -> list[str]:
    """The names in rules-due.txt, one a line, ``#`` starting a comment. Raises RulesUnreadable if none."""
    names = [name for line in text.splitlines() if (name := line.partition("#")[0].strip())]
    if not names:
        raise RulesUnreadable("rules-due.txt: names no rule")
    return names


def read_report(text: str) -> dict[str, list[Held]]:
    """The rules that tests of the last run named. Raises RulesUnreadable if none named any."""
    rules: Mapping[str, Iterable[Mapping[str, str]]] = json.loads(text)["rules"]
    if not rules:
        raise RulesUnreadable("the last test run held no test that names a rule")
    return {name: [Held(**held) for held in tests] for name, tests in rules.items()}


def complaints(rules: Iterable[str], due: Iterable[str], held: Mapping[str, list[Held]]) -> list[str]:
    """What is wrong, a sentence each: unknown names; due rules with a failing or without a passing test."""
    known = set(rules)
    wrong = [
        f"rules-due.txt names {name}, which states.md does not have" for name in due if name not in known
    ]
    strange = sorted(held.keys() - known, key=_order)
    wrong += [f"{held[name][0].test} names {name}, which states.md does not have" for name in strange]
    for name in due:
        outcomes = {test.outcome for test in held.get(name, [])}
        if "failed" in outcomes:
            wrong.append(f"{name} has a failing test")
        elif name in known and "passed" not in outcomes:
            wrong.append(f"{name} is due, and no test that names it ran and passed")
    return wrong


def table(rules: Mapping[str, str], due: Iterable[str], held: Mapping[str, list[Held]]) -> list[str]:
    """A line a rule: name, whether it is due, its text; below it the tests that name it."""
    wanted = set(due)
    lines = []
    for name, text in rules.items():
        short = text if len(text) <= TEXT_WIDTH else f"{text[: TEXT_WIDTH - 1]}…"
        lines.append(f"{name:<4} {'due' if name in wanted else '   '}  {short}")
        lines += [f"          {test.outcome:<10} {test.test}" for test in held.get(name, [])]
    return lines


def _order(name: str) -> tuple[int, int, str]:
    """The order of states.md: tasks, calls, invariants, kill points, each by number; anything else last."""
    family, number = name[:1], name[1:]
    if family and family in FAMILIES and number.isdigit():
        return FAMILIES.index(family), int(number), name
    return len(FAMILIES), 0, name


class RuleReport:
    """The pytest plugin that gathers outcomes; with a *path* it also writes them there when the session ends.

    Workers only attach the names to their reports, which travel to the one process that has a path.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rules: dict[str, tuple[str, ...]] = {}  # test to the rules it names
        self._outcomes: dict[str, str] = {}

    def pytest_sessionstart(self) -> None:
        if self._path:
            self._path.unlink(missing_ok=True)  # a session that dies leaves no report, not the last one's

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        names = [str(name) for mark in item.iter_markers("rule") for name in mark.args]
        if names:
            item.user_properties.append((PROPERTY, sorted(set(names))))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        names = [name for key, value in report.user_properties if key == PROPERTY for name in _strings(value)]
        if names:
            self._rules[report.nodeid] = tuple(names)
            self._outcomes[report.nodeid] = worse(self._outcomes.get(report.nodeid), outcome_of(report))

    def pytest_sessionfinish(self) -> None:
        if self._path is None:
            return
        rules = defaultdict(list)
        for test in sorted(self._rules):
            for name in self._rules[test]:
                rules[name].append({"test": test, "outcome": self._outcomes[test]})
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"rules": rules}, indent=1, sort_keys=True), encoding="utf-8")


def _strings(value: Any) -> list[str]:
    return [str(one) for one in value]


def outcome_of(report: pytest.TestReport) -> str:
    """What one phase of a test says of it: only its call can pass it, and an expected failure does not."""
    if report.failed:
        return "failed"
    if report.skipped or hasattr(report, "wasxfail"):
        return "skipped"
    return "passed" if report.when == "call" else "unfinished"


def worse(one: str | None, other: str) -> str:
    """The outcome of a test of which two phases say *one* (None: nothing yet) and *other*."""
    order = ["unfinished", "passed", "skipped", "failed"]
    return max(one or "unfinished", other, key=order.index)


def main() -> int:
    """Print the table and what is wrong; 0 if nothing is."""
    if not REPORT.exists():
        print(f"no {REPORT.relative_to(ROOT)}: run pytest first", file=sys.stderr)
        return 1
    try:
        rules = read_rules(STATES.read_text(encoding="utf-8"))
        due = read_due(DUE.read_text(encoding="utf-8"))
        held = read_report(REPORT.read_text(encoding="utf-8"))
    except RulesUnreadable as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(table(rules, due, held)))
    wrong = complaints(rules, due, held)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    passing = sum(any(test.outcome == "passed" for test in held.get(name, [])) for name in due)
    print(
        f"{len(rules)} rules, {len(due)} due, {passing} of those with a passing test, {len(wrong)} complaints"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
