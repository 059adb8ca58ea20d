"""Real processes, killed by SIGKILL at each of their calls and in front of each of their COMMITs.

Another one goes on from each state that they leave, once (footprint.py).
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.child import Job
from tests.crash.footprint import footprint
from tests.crash.mortal import Side
from tests.crash.playing import wrong
from tests.crash.scenarios import SEND_AND_EDIT
from tests.crash.world import FileJournal, Ground, Sight, World

ROOT = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL
ONLY = os.environ.get("CRASH_AT")


class Nursery:
    """The process that forks those that are killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    async def run(self, job: Job) -> int:
        """How the process of *job* ended: its exit code, or minus the signal."""
        return await asyncio.to_thread(self._run, job)

    def _run(self, job: Job) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{job.text}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


@pytest.fixture
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.mark.rule(
    "I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I16", "I19", "I20", "I34", "K41", "K10", "K11"
)
async def test_a_task_survives_a_real_kill_at_each_call_and_each_commit(
    ground: Ground, nursery: Nursery, tmp_path: Path
) -> None:
    scenario = SEND_AND_EDIT
    job = Job(url=ground.url, scenario=scenario.name, number=1, life=1, journal=str(tmp_path / "1"))
    world = World(ground, scenario, 1, FileJournal(Path(job.journal)))
    await world.found()
    assert await nursery.run(job) == 0
    assert wrong([await world.look()], world.journal, scenario) == []
    await world.retire()
    (lived,) = world.journal.read("lived")
    names, commits = lived["calls"], lived["commits"]
    assert len(names) >= scenario.at_least and len(commits) > len(names) // 3

    places = [(n, Side.BEFORE) for n in range(1, len(names) + 1)] + [(n, Side.COMMIT) for n in commits]
    failures: list[str] = []
    known: set[str] = set()
    for number, (n, side) in enumerate(places, start=2):
        if ONLY in (None, f"{n}:{side}"):
            journal = str(tmp_path / str(number))
            killed = replace(job, number=number, n=n, side=side, journal=journal)
            found = await _killed(ground, nursery, killed, known)
            failures += [f"{n}:{side} {names[n - 1]}: {words}" for words in found]
    first = failures[0].partition(" ")[0] if failures else ""
    assert failures == [], f"replay: CRASH_AT={first} python -m pytest -n0 tests/crash/test_sigkill.py"
    assert ONLY is not None or len(known) > len(names) // 3, "kills that left something else count as one"


async def _killed(ground: Ground, nursery: Nursery, job: Job, known: set[str]) -> list[str]:
    """What is wrong after a kill as *job* says, and a second process without one.

    Nothing where it left what is *known*: what a kill left from which there was a second process already.
    """
    world = World(ground, SEND_AND_EDIT, job.number, FileJournal(Path(job.journal)))
    await world.found()
    assert await nursery.run(job) == KILLED
    left = await footprint(world)
    if left in known:
        await world.retire()
        return []
    known.add(left)
    sights: list[Sight] = [await world.look()]
    await world.wait()
    assert await nursery.run(replace(job, life=2, n=0)) == 0
    sights.append(await world.look())
    await world.retire()
    return wrong(sights, world.journal, SEND_AND_EDIT)
