"""The wheel claims one name, carries all the code, and runs outside the checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("bot", "core", "adapters", "agents")
SECRET = ".env"  # ignored by git, so it must not be packed either


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built without network from a copy of the checkout in which a secret lies about."""
    tree, made = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (tree / folder / SECRET).write_text("AUDIT_KEY=1", encoding="utf-8")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tree)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(made), str(tree)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = made.glob("*.whl")
    return path


@pytest.fixture
def site(wheel: Path, tmp_path: Path) -> Path:
    """A folder into which the wheel is unpacked, as an installer does."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    return tmp_path / "site"


def run_outside(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run python in a folder that is no checkout, with *site* before everything installed."""
    environment = {"PYTHONPATH": str(site), "PATH": os.defpath, "HOME": str(site.parent)}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=site.parent, env=environment, capture_output=True, text=True, check=False
    )


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_claims_one_name(wheel: Path) -> None:
    top = {name.split("/")[0] for name in names_in(wheel)}
    (info,) = top - {"bot"}
    assert info.startswith("gatepost-")
    assert info.endswith(".dist-info")


def test_the_wheel_carries_every_file_of_the_code_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in names_in(wheel) if name.startswith("bot/")}
    expected = {
        f"{'' if folder == 'bot' else 'bot/_app/'}{path.relative_to(ROOT).as_posix()}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(SECRET)
    }
    assert packed == expected
    assert {name.split("/")[2] for name in packed if name.startswith("bot/_app/")} == {
        "core",
        "adapters",
        "agents",
    }


def test_no_secret_is_packed(wheel: Path) -> None:
    assert [name for name in names_in(wheel) if name.endswith(SECRET)] == []


def test_the_wheel_runs_outside_the_checkout(site: Path) -> None:
    run = run_outside(site, "-m", "bot", "--help")
    assert run.returncode == 0, run.stderr
    assert "Usage" in run.stdout


def test_the_wheel_brings_its_own_core_and_adapters(site: Path) -> None:
    run = run_outside(
        site, "-c", "import bot, core, adapters; print(bot.__file__, core.__file__, adapters.__file__)"
    )
    assert run.returncode == 0, run.stderr
    expected = ["bot/__init__.py", "bot/_app/core/__init__.py", "bot/_app/adapters/__init__.py"]
    assert run.stdout.split() == [str(site / path) for path in expected]


def test_the_command_is_declared(site: Path) -> None:
    (entry_points,) = site.glob("gatepost-*.dist-info/entry_points.txt")
    assert "gatepost = bot.__main__:main" in entry_points.read_text(encoding="utf-8")


def test_no_installed_distribution_owns_one_of_our_names() -> None:
    owners = packages_distributions()
    assert len(owners) > 10
    assert {name: set(owners.get(name, ())) - {"gatepost"} for name in FOLDERS} == {
        name: set() for name in FOLDERS
    }
