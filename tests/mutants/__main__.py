"""``python -m tests.mutants [NAME …]``: each planted bug is put into a copy, and the simulation must find it.

A patch's first lines say which rules the violation may name, and within how many seeds:

    rule: I4, I30
    seeds: 400
    first: 380

*first*, if it is there, is the seed that the hunt begins with, for a bug that shows in one world of hundreds.
A check that never fails proves nothing, so each invariant that the simulation holds owns a bug here.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
COPIED = ("core", "tests/simulation")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One patch, as its file says it."""

    name: str
    path: Path
    rules: frozenset[str]
    seeds: int
    first: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """What became of a mutant: *seed* is the one that broke, None where it was not found."""

    mutant: Mutant
    seed: int | None
    said: str
    seconds: float

    @property
    def killed(self) -> bool:
        return self.seed is not None and self.said.partition(":")[0] in self.mutant.rules


class PatchError(Exception):
    """A patch can't be read, or its place has moved."""


def read(path: Path) -> Mutant:
    """The mutant of a patch file. Raises PatchError where its head is not there."""
    head = path.read_text(encoding="utf-8").partition("--- ")[0]
    said = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    if not {"rule", "seeds"} <= said.keys():
        raise PatchError(f"{path.name}: its head must say rule: and seeds:")
    rules = frozenset(said["rule"].split(", "))
    first = int(said.get("first", 0))
    return Mutant(name=path.stem, path=path, rules=rules, seeds=int(said["seeds"]), first=first)


def mutants(names: Sequence[str] = ()) -> list[Mutant]:
    """All of them by name, or those named."""
    found = [read(path) for path in sorted(FOLDER.glob("*.patch"))]
    if unknown := set(names) - {m.name for m in found}:
        raise PatchError(f"no mutant {', '.join(sorted(unknown))}")
    return [m for m in found if not names or m.name in names]


def hunt(mutant: Mutant) -> Found:
    """The simulation is run on a copy with the bug in it. Raises PatchError where it can't be planted."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        (copy / "tests" / "__init__.py").touch()
        plant = ["git", "apply", "--whitespace=nowarn", str(mutant.path)]
        planted = subprocess.run(
            plant, cwd=copy, capture_output=True, text=True, check=False, env=_apart(copy)
        )
        if planted.returncode:
            raise PatchError(f"{mutant.path.name}: its place has moved: {planted.stderr.strip()}")
        seeds = ["--first", str(mutant.first), "--seeds", str(mutant.seeds), "--until", "1", "--jobs", "1"]
        command = [sys.executable, "-m", "tests.simulation", *seeds, "--json"]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    try:
        told = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Found(mutant=mutant, seed=None, said=f"it broke: {done.stderr[-300:]}", seconds=seconds)
    if not told["violations"]:
        return Found(mutant=mutant, seed=None, said=f"{mutant.seeds} seeds held", seconds=seconds)
    said = done.stdout.splitlines()[0].partition(": ")[2]
    return Found(mutant=mutant, seed=told["failing_seeds"][0], said=said, seconds=seconds)


def _apart(copy: Path) -> dict[str, str]:
    """git takes the copy for no part of a repository that happens to lie around it."""
    return {**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)}


def hunted(found: Sequence[Mutant], jobs: int) -> Iterator[Found]:
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(hunt, found)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="which (default: all)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args(argv)
    survived = 0
    try:
        wanted = mutants(asked.names)
        for found in hunted(wanted, asked.jobs):
            survived += not found.killed
            place = "survived" if found.seed is None else f"seed {found.seed}"
            mark = "killed" if found.killed else "ALIVE "
            budget = f"{place:>10} of {found.mutant.seeds:<5}"
            sys.stdout.write(
                f"{mark} {found.mutant.name:<44} {budget} {found.seconds:5.1f} s  {found.said[:80]}\n"
            )
            sys.stdout.flush()
    except PatchError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{len(wanted) - survived} of {len(wanted)} planted bugs were found\n")
    return 1 if survived or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
