"""core/ asks its ports for time, chance, ids and the environment, so that a simulator can stand in."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[2] / "core"

MODULES = frozenset(
    {"time", "random", "uuid", "uuid_utils", "secrets", "threading", "_thread", "socket", "subprocess"}
)
NAMES = frozenset(
    {
        "os.environ",
        "os.environb",
        "os.getenv",
        "os.urandom",
        "asyncio.run",
        "asyncio.sleep",
        "asyncio.timeout",
        "asyncio.timeout_at",
        "asyncio.to_thread",
        "asyncio.wait_for",
    }
)
CLOCKS = frozenset({"now", "utcnow", "today"})  # of datetime and date, however they were imported


def impurities(source: str) -> list[str]:
    """What *source* takes from outside by itself, as ``line: name``, in order."""
    tree = ast.parse(source)
    return [f"{line}: {name}" for line, name in sorted(_found(tree))]


def _found(tree: ast.AST) -> Iterator[tuple[int, str]]:
    called = dict(_aliases(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in _imported(node) if _is_banned(name))
        elif isinstance(node, ast.Attribute):
            name = _dotted(node, called)
            if name in NAMES or (node.attr in CLOCKS and name.split(".")[0] == "datetime"):
                yield node.lineno, name


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _is_banned(name: str) -> bool:
    return name in NAMES or name.split(".")[0] in MODULES


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What each imported name stands for in full: ``dt`` for ``datetime``, ``date`` for ``datetime.date``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias, name in zip(node.names, _imported(node), strict=True):
                yield alias.asname or alias.name, name


def _dotted(node: ast.expr, called: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, called)}.{node.attr}"
    return called.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def test_core_takes_nothing_from_outside_by_itself() -> None:
    files = sorted(CORE.rglob("*.py"))
    assert len(files) > 5
    found = {
        str(path.relative_to(CORE)): wrong
        for path in files
        if (wrong := impurities(path.read_text(encoding="utf-8")))
    }
    # a synchronous handler is the app's code, and would stop the whole loop anywhere else
    threads = found.pop("caught.py")
    assert [name.split(": ")[1] for name in threads] == ["asyncio.to_thread"]
    assert found == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import datetime\nx = datetime.datetime.now()", "datetime.datetime.now"),
        ("from datetime import datetime\nx = datetime.utcnow()", "datetime.datetime.utcnow"),
        ("from datetime import date as d\nx = d.today()", "datetime.date.today"),
        ("import datetime as dt\nx = dt.datetime.now", "datetime.datetime.now"),
        ("x = 1\nimport time", "time"),
        ("x = 1\nfrom time import monotonic", "time.monotonic"),
        ("x = 1\nimport random", "random"),
        ("x = 1\nfrom uuid import uuid4", "uuid.uuid4"),
        ("x = 1\nimport secrets as s", "secrets"),
        ("x = 1\nfrom threading import Thread", "threading.Thread"),
        ("import os\nx = os.environ['A']", "os.environ"),
        ("x = 1\nfrom os import getenv", "os.getenv"),
        ("import asyncio\nasyncio.run(x)", "asyncio.run"),
        ("import asyncio\nawait_ = asyncio.sleep(1)", "asyncio.sleep"),
        ("import asyncio as a\nx = a.timeout(1)", "asyncio.timeout"),
        ("x = 1\nfrom asyncio import wait_for", "asyncio.wait_for"),
    ],
)
def test_each_impurity_is_seen(source: str, name: str) -> None:
    assert impurities(source) == [f"2: {name}"]


def test_values_and_types_of_the_same_modules_are_no_impurity() -> None:
    assert impurities("import asyncio\nfrom datetime import datetime\nasyncio.gather\nself.clock.now()") == []
