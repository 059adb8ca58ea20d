"""The plan and the moves, walked at random; and the walks' own eyesight, by planted bugs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.explorer.__main__ import explore
from tests.explorer.mutants import MUTANTS, Mutant

ROOT = Path(__file__).parents[2]
WALKS = 10_000
CHUNKS = 20


@pytest.mark.rule("I1", "I2", "I3", "I4", "I6", "I7", "I16", "I17", "I19", "I20", "I29", "T7", "T13")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_walk_breaks_an_invariant(chunk: int) -> None:
    walks = WALKS // CHUNKS
    assert explore(chunk * walks, walks) is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name.replace(" ", "-"))
def test_a_planted_bug_is_found(mutant: Mutant, tmp_path: Path) -> None:
    for name in ("core", "tests/explorer"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests" / "__init__.py").touch()
    broken = tmp_path / mutant.path
    text = broken.read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, "the place of the bug has moved"
    broken.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    command = [sys.executable, "-m", "tests.explorer", "--walks", str(mutant.walks)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, f"{mutant.walks} walks held"
    assert mutant.finds in done.stdout.splitlines()[-1], done.stdout[-2000:]
