"""Imports point one way, and importing a module does nothing else."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("bot", "core", "adapters")
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
LINT = "from importlinter.cli import lint_imports_command as main; main()"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the code, to plant imports in."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of the code in *tree*."""
    command = [sys.executable, "-c", LINT, "--no-cache"]
    environment = {"PYTHONPATH": str(tree), "COLUMNS": "200"}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def plant(tree: Path, module: str, source: str) -> None:
    """*source* is a new module of *tree*."""
    path = tree.joinpath(*module.split(".")).with_suffix(".py")
    path.write_text(source, encoding="utf-8")


def test_the_contracts_hold(tree: Path) -> None:
    run = lint(tree)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"Contracts: {len(CONFIG['contracts'])} kept, 0 broken" in run.stdout


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("core.planted", "import adapters"),
        ("core.planted", "import bot"),
        ("adapters.planted", "from bot import __main__"),
    ],
)
def test_an_import_against_the_direction_breaks_a_contract(tree: Path, module: str, source: str) -> None:
    plant(tree, module, source)
    assert_broken(lint(tree), "bot to adapters to core, never back")


def test_each_library_that_core_must_not_know_breaks_a_contract(tree: Path) -> None:
    contract = next(contract for contract in CONFIG["contracts"] if contract["type"] == "forbidden")
    libraries = contract["forbidden_modules"]
    assert len(libraries) > 10
    plant(tree, "core.planted", "\n".join(f"import {library}" for library in libraries))
    run = lint(tree)
    assert_broken(run, contract["name"])
    assert [name for name in libraries if f"core is not allowed to import {name}:" not in run.stdout] == []


def test_an_adapter_that_knows_another_breaks_a_contract(tree: Path) -> None:
    contract = next(contract for contract in CONFIG["contracts"] if contract["type"] == "independence")
    one, *others = sorted(contract["modules"], key=lambda name: not (tree / name.replace(".", "/")).is_dir())
    assert others
    plant(tree, f"{one}.planted", "\n".join(f"import {other}" for other in others))
    run = lint(tree)
    assert_broken(run, contract["name"])
    assert [other for other in others if f"{one} is not allowed to import {other}:" not in run.stdout] == []


def assert_broken(run: subprocess.CompletedProcess[str], contract: str) -> None:
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"{contract} BROKEN" in run.stdout


# Runs in an interpreter of its own, whose environment is empty and whose current folder is a fresh one.
IMPORT_ALL = """
import importlib, os, pkgutil, sys, threading
sys.path.insert(0, sys.argv[1])
names = []
for package in sys.argv[2:]:
    module = importlib.import_module(package)
    names.append(package)
    for found in pkgutil.walk_packages(module.__path__, package + "."):
        if not found.name.startswith("adapters.store.migrations."):  # run by alembic, not imported
            importlib.import_module(found.name)
            names.append(found.name)
assert threading.active_count() == 1, threading.enumerate()
assert os.listdir(".") == [], os.listdir(".")
print(len(names))
"""


def test_importing_every_module_needs_no_environment_and_does_nothing_else(tmp_path: Path) -> None:
    command = [sys.executable, "-B", "-X", "dev", "-W", "ignore", "-c", IMPORT_ALL, str(ROOT), *PACKAGES]
    run = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert int(run.stdout) > len(PACKAGES)  # and nothing else was printed
