"""Some seeds of the simulation; that each can be replayed, and that they reach what they should."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from core.calls import Outcome
from core.tasks import TaskState
from tests.mutants.__main__ import FOLDER, PatchError, mutants, read
from tests.simulation.__main__ import lived, main, replay
from tests.simulation.faults import Fault
from tests.simulation.world import simulate

ROOT = Path(__file__).parents[2]
SEEDS = 600
CHUNKS = 12
HELD = tuple(f"I{n}" for n in (*range(1, 22), 23, 24, 25, 26, 27, *range(29, 37), 38, 39))
"""The invariants the simulation looks at; each has a mutant."""
REACHED = (
    *(f"outcome {outcome}" for outcome in Outcome if outcome is not Outcome.SKIPPED),
    *(f"task {state}" for state in TaskState if state is not TaskState.HELD),
    *("arrived read", "arrived draft", "arrived contact", "arrived spend", "arrived profile"),
    *("park question decided", "park limit decided", "park unknown decided", "park approval superseded"),
    *(
        "park connect decided",
        "park connect open",
        "looked up",
        "looked up in vain",
        "asked after a compaction",
    ),
    *("card folded", "folded card asked for"),
    *("park approval expired", "click NotYourDecision", "click AlreadyDecided"),
    *("click NotShown", "read to its end"),
)


@pytest.mark.rule(*HELD)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_seed_breaks_a_rule(chunk: int) -> None:
    each = SEEDS // CHUNKS
    verdicts = lived(range(chunk * each, (chunk + 1) * each))
    assert [f"{v.broken}; {replay(v.seed)}" for v in verdicts if v.broken] == []
    assert sum(v.transactions for v in verdicts) > each * 20


def test_everything_that_may_happen_happens() -> None:
    verdicts = lived(range(10_000, 10_150))
    faults: Counter[str] = sum((v.faults for v in verdicts), Counter())
    seen: Counter[str] = sum((v.seen for v in verdicts), Counter())
    assert [f.name for f in Fault if f.name not in faults] == []
    assert [what for what in REACHED if what not in seen] == []


def test_a_seed_is_the_same_under_every_hash_seed() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seeds", "12", "--jobs", "1", "--json"]
    told = []
    for hash_seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        said = json.loads(done.stdout.splitlines()[-1])
        told.append({name: value for name, value in said.items() if name != "seconds"})
    assert told[0] == told[1]
    assert told[0]["transactions"] > 0


def test_a_replayed_seed_tells_its_story(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", "3"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "every rule held"
    assert [line for line in said if "healed" in line] != []
    assert simulate(3).trace == ()


def test_each_invariant_that_is_looked_at_has_a_mutant() -> None:
    owned = {rule for mutant in mutants() for rule in mutant.rules}
    assert set(HELD) - owned == set()


def test_a_patch_without_its_rule_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.patch"
    path.write_text("Why.\n\nseeds: 3\n\n--- a/x\n", encoding="utf-8")
    with pytest.raises(PatchError, match=r"odd\.patch: its head must say rule: and seeds:"):
        read(path)
    assert read(next(FOLDER.glob("*.patch"))).seeds > 0
