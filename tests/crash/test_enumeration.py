"""Every scenario, cut at each of its calls to the outside, before and after; then another process goes on."""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from core.calls import Call, Outcome
from tests.crash.invariants import complaints
from tests.crash.mortal import At, Fate, Mortal, Side
from tests.crash.scenarios import EIGHT, NOT_SENT, STOPPED_WAITING, Scenario
from tests.crash.world import Ground, MemoryJournal, Sight, World, play

PLAYED = (*EIGHT, STOPPED_WAITING, NOT_SENT)
ONLY = os.environ.get("CRASH_AT")  # "12:before" plays that one crash alone


@pytest.fixture
async def ground(migrated_url: str) -> AsyncIterator[Ground]:
    made = Ground(migrated_url)
    yield made
    await made.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """What came of a scenario: its first life, and everything seen at the ends of its lives."""

    first: Mortal
    died: bool
    sights: list[Sight]
    journal: MemoryJournal

    @property
    def calls(self) -> tuple[Call, ...]:
        story = self.sights[-1].story
        return () if story is None else story.calls


async def played(ground: Ground, scenario: Scenario, number: int, fate: Fate | None = None) -> Played:
    """*scenario* in a world of its own: a first life that ends by *fate*, and if it did, a second."""
    journal = MemoryJournal()
    world = World(ground, scenario, number, journal)
    sights: list[Sight] = []

    async def watch() -> None:
        sights.append(await world.look())

    await world.found()
    first = Mortal(fate, watch=watch if fate is None else None)
    died = await play(world, first, 1)
    await watch()
    second = Mortal()
    if died:
        await world.wait()
        assert not await play(world, second, 2)
        await watch()
    await world.retire()
    return Played(first=first, died=died, sights=sights, journal=journal)


def wrong(of: Played, scenario: Scenario) -> list[str]:
    """Broken rules, and an end that a crash does not explain."""
    said = complaints(of.sights, of.journal)
    story = of.sights[-1].story
    if story is None or story.task.state is not scenario.ends:
        said.append(f"ends as {story and story.task.state}, not as {scenario.ends}")
    outcomes = tuple(c.outcome for c in of.calls)
    if len(outcomes) != len(scenario.outcomes) or not all(map(_explained, of.calls, scenario.outcomes)):
        said.append(f"ends with {outcomes}, not with {scenario.outcomes}")
    return said


def _explained(call: Call, clean: Outcome) -> bool:
    """As without a crash; or an effect that was marked and that a person, knowing, says did not go out."""
    lost = call.marked_at is not None and not call.pure and call.outcome is Outcome.FAILED
    return call.outcome is clean or lost


@pytest.mark.parametrize("scenario", PLAYED, ids=lambda s: s.name)
@pytest.mark.rule("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I16", "I19", "I20", "I34")
async def test_a_task_survives_a_death_before_and_after_each_of_its_calls(
    scenario: Scenario, ground: Ground, request: pytest.FixtureRequest
) -> None:
    clean = await played(ground, scenario, 1)
    names = clean.first.calls
    assert wrong(clean, scenario) == []
    assert tuple(c.outcome for c in clean.calls) == scenario.outcomes
    assert [(a["tool"], a["args"]) for a in clean.journal.read("arrival") if a["accepted"]] == list(
        scenario.sent
    )
    assert len(names) >= scenario.at_least

    fates = [At(n=n, side=side) for n in range(1, len(names) + 1) for side in (Side.BEFORE, Side.AFTER)]
    failures = []
    for number, fate in enumerate(fates, start=2):
        if ONLY in (None, str(fate)):
            cut = await played(ground, scenario, number, fate)
            assert cut.died and cut.first.struck, f"nobody died at {fate}"
            assert cut.first.calls == names[: fate.n], "a crash happens where the clean run has that call"
            failures += [f"{fate} {names[fate.n - 1]}: {words}" for words in wrong(cut, scenario)]
    assert failures == [], replay(failures, request)


def replay(failures: list[str], request: pytest.FixtureRequest) -> str:
    """One command that plays the first of *failures* alone."""
    name = request.node.nodeid.partition("::")[2]
    point = failures[0].partition(" ")[0] if failures else ""
    return f'replay: CRASH_AT={point} python -m pytest -n0 "tests/crash/test_enumeration.py::{name}"'
