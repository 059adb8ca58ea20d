"""Every declared dependency is used: ``python -m tests.dependencies`` fails on one that nothing imports.

A dependency that waits for code to come is exempt by name, with what it waits for; one that is only named in
a database URL must be named as a string in adapters/.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("bot", "core", "adapters")

# Declared for code that is not here yet: the dependency, and what it waits for.
WAITING = {
    "apscheduler": "triggers",
    "psycopg": "the scheduler's job store",
}

# Never imported by us: SQLAlchemy loads the driver that the database URL names.
IN_URLS = ("aiosqlite", "asyncpg")


@dataclass(frozen=True, kw_only=True, slots=True)
class Code:
    """What a tree of Python files mentions."""

    files: int
    imports: frozenset[str]  # top-level names
    strings: frozenset[str]  # constants that are not docstrings


def read_code(folders: Iterable[Path]) -> Code:
    """What the Python files below *folders* import and the strings they hold."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in _files(folders)]
    return Code(
        files=len(trees),
        imports=frozenset(name for tree in trees for name in _imports(tree)),
        strings=frozenset(text for tree in trees for text in _strings(tree)),
    )


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.rglob("*.py"))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _strings(tree: ast.AST) -> Iterator[str]:
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def declared(pyproject: str) -> list[str]:
    """The runtime dependencies of a pyproject.toml, by normalised name."""
    requirements = tomllib.loads(pyproject)["project"]["dependencies"]
    return [normal(re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]) for requirement in requirements]


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def import_names(provides: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Distribution to the top-level names it installs, from the mapping the other way round."""
    names: dict[str, set[str]] = {}
    for top, distributions in provides.items():
        for distribution in distributions:
            names.setdefault(normal(distribution), set()).add(top)
    return names


def complaints(
    dependencies: Sequence[str],
    installed: Mapping[str, set[str]],
    code: Code,
    adapters: Code,
    waiting: Mapping[str, str],
    in_urls: Sequence[str],
) -> list[str]:
    """What is wrong, a sentence each: unused dependencies, and exemptions that nothing needs any more."""
    wrong = [
        f"{name} is exempt but not a dependency" for name in (*waiting, *in_urls) if name not in dependencies
    ]
    for name in dependencies:
        if name not in installed:
            wrong.append(f"{name} is not installed, so what it provides is unknown")
            continue
        used = bool(installed[name] & code.imports)
        if name in in_urls:
            used = used or any(name in text for text in adapters.strings)
        if used and name in waiting:
            wrong.append(f"{name} is used: take it off the list of those that wait for {waiting[name]}")
        if not used and name not in waiting:
            wrong.append(f"{name} is a dependency that nothing uses")
    return wrong


def main() -> int:
    """Print what is wrong; 0 if nothing is."""
    code = read_code(ROOT / package for package in PACKAGES)
    adapters = read_code([ROOT / "adapters"])
    dependencies = declared((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    if not code.files or not adapters.files or not dependencies:
        print("found no code or no dependencies to compare", file=sys.stderr)
        return 1
    installed = import_names(packages_distributions())
    wrong = complaints(dependencies, installed, code, adapters, WAITING, IN_URLS)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"{len(dependencies)} dependencies in {code.files} files, {len(wrong)} complaints")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
