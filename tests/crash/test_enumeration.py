"""Every scenario, cut at each of its calls to the outside, before and after; then another process goes on.

A process dies before each call, and after each one that leaves something. Another one goes on from each
state that such a death leaves: mostly that before the next call is the one after this call (footprint.py).
"""

import asyncio
import os
from dataclasses import replace

import pytest

from core.calls import CallState
from core.testing import says
from tests.crash.mortal import At, Fate, Mortal, On, Pause, Side, die
from tests.crash.playing import played, wrong
from tests.crash.scenarios import EDIT, EIGHT, NOT_SENT, READ, SEND, STOPPED_WAITING, Scenario
from tests.crash.world import Ground, MemoryJournal, Sight, World, play

ONLY = os.environ.get("CRASH_AT")  # "12:before" plays that one crash alone


@pytest.mark.parametrize("scenario", (*EIGHT, STOPPED_WAITING, NOT_SENT), ids=lambda s: s.name)
@pytest.mark.rule("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I16", "I19", "I20", "I34")
async def test_a_task_survives_a_death_before_and_after_each_of_its_calls(
    scenario: Scenario, ground: Ground, request: pytest.FixtureRequest
) -> None:
    clean = await played(ground, scenario, 1)
    names = clean.first.calls
    assert wrong(clean.sights, clean.journal, scenario) == []
    assert tuple(c.outcome for c in clean.calls) == scenario.outcomes
    assert clean.sent == list(scenario.sent)
    assert len(names) >= scenario.at_least

    failures: list[str] = []
    known: set[str] = set()

    async def left_by(n: int, side: Side) -> str | None:
        fate = At(n=n, side=side)
        if ONLY not in (None, str(fate)):
            return None
        cut = await played(ground, scenario, 1 + 2 * n + (side is Side.AFTER), fate, known=known)
        assert cut.died and cut.first.struck, f"nobody died at {fate}"
        assert cut.first.calls == names[:n], "a crash happens where the clean run has that call"
        found = [] if cut.is_known else wrong(cut.sights, cut.journal, scenario)
        failures.extend(f"{fate} {names[n - 1]}: {words}" for words in found)
        return cut.left

    left = [await left_by(n, Side.BEFORE) for n in range(1, len(names) + 1)]
    for n in range(1, len(names) + 1) if scenario in EIGHT else ():
        # both are raised in the caller's one await; if the next call finds what this one found, so does it
        if ONLY is not None or n == len(names) or left[n - 1] != left[n]:
            await left_by(n, Side.AFTER)
    assert failures == [], replay(failures, request)
    assert ONLY is not None or len(known) > len(names) // 3, "deaths that left something else count as one"


@pytest.mark.parametrize("scenario", (EDIT, SEND), ids=lambda s: s.name)
@pytest.mark.rule("I17", "I6", "I7", "I2", "K13", "C17")
async def test_a_process_that_comes_back_after_its_lease_changes_nothing_but_a_late_note(
    scenario: Scenario, ground: Ground, request: pytest.FixtureRequest
) -> None:
    names = (await played(ground, scenario, 1)).first.calls
    failures, notes = [], 0
    for n, name in enumerate(names, start=1):
        fate = At(n=n, side=Side.BEFORE)
        if ONLY in (None, str(fate)):
            found, noted = await _haunted(ground, scenario, n + 1, fate)
            failures += [f"{fate} {name}: {words}" for words in found]
            notes += noted
    assert failures == [], replay(failures, request)
    # between its mark and its outcome it may have sent: before the provider's call, and before the outcome
    assert ONLY is not None or notes == 2


async def _haunted(ground: Ground, scenario: Scenario, number: int, fate: Fate) -> tuple[list[str], int]:
    """A life pauses at *fate*; while another one is at work on its task, the first goes on."""
    journal = MemoryJournal()
    # transcripts are read without a lock, so it may ask about what the other one said; nobody hears that
    world = World(ground, replace(scenario, script=(*scenario.script, says("never said"))), number, journal)
    await world.found()
    world.hand.knows = False  # nobody can know what becomes of a call while its process may come back
    zombie, haunting = await _paused(world, fate, 1)
    await world.wait()
    other, working = await _paused(world, On(name="model.reply", side=Side.BEFORE), 2)
    sights = [await world.look()]
    zombie.set()
    await haunting
    sights.append(await world.look())
    changed, noted = _differences(*sights)
    other.set()
    await working
    world.hand.knows = True
    assert not await play(world, Mortal(), 3)
    sights.append(await world.look())
    await world.retire()
    return [*changed, *wrong(sights, journal, scenario, zombie=True)], noted


async def _paused(world: World, fate: Fate, number: int) -> tuple[asyncio.Event, asyncio.Task[bool]]:
    """A life that is paused at *fate*, or over if it never got there, and what lets it go on."""
    pause = Pause(reached=asyncio.Event(), resumed=asyncio.Event())
    living = asyncio.create_task(play(world, Mortal(fate, strike=pause), number))
    reaching = asyncio.create_task(pause.reached.wait())
    await asyncio.wait([living, reaching], return_when=asyncio.FIRST_COMPLETED)
    reaching.cancel()
    return pause.resumed, living


def _differences(before: Sight, after: Sight) -> tuple[list[str], int]:
    """What the zombie changed, late notes left out, and how many of those there are."""
    old, new = before.story, after.story
    assert old is not None and new is not None
    said = [
        f"I17: it changed the {what}"
        for what, one, other in (
            ("task", old.task, new.task),
            ("calls", old.calls, tuple(replace(c, late_note=None) for c in new.calls)),
            ("parks", old.parks, new.parks),
            ("transcript", old.messages, new.messages),
        )
        if one != other
    ]
    entries = new.audit[len(old.audit) :]
    said += [f"I17: it did {e.move} ({e.rule})" for e in entries if (e.move, e.rule) != ("outcome", "late")]
    notes = sum(c.late_note is not None for c in new.calls)
    if notes != len(entries):
        said.append(f"I17: {notes} late notes, {len(entries)} entries")
    return said, notes


@pytest.mark.parametrize("side", (Side.BEFORE, Side.AFTER))
async def test_nothing_of_ours_catches_a_death_and_the_dead_reach_nothing(ground: Ground, side: Side) -> None:
    names = (await played(ground, READ, 1)).first.calls
    refused = []
    for n in range(1, len(names) + 1):
        world = World(ground, READ, n + 1, MemoryJournal())
        at_death: list[Sight] = []

        async def strike(mortal: Mortal, world: World = world, at_death: list[Sight] = at_death) -> None:
            mortal.dead = True
            at_death.append(await world.look())
            await die(mortal)

        await world.found()
        mortal = Mortal(At(n=n, side=side), strike=strike)
        assert await play(world, mortal, 1), f"a death at {names[n - 1]} was caught"
        assert [await world.look()] == at_death
        refused += mortal.refused
        await world.wait()
        assert not await play(world, Mortal(), 2), "nothing of this world is left for the next one"
        await world.retire()
    # two reads run together: the second one tries on where the first one died
    assert set(refused) <= {"provider.read"}


async def test_a_death_is_no_exception_to_those_who_catch_all(ground: Ground) -> None:
    world = World(ground, SEND, 1, MemoryJournal())
    await world.found()
    assert await play(world, Mortal(On(name="provider.send", side=Side.AFTER)), 1)
    story = (await world.look()).story
    assert story is not None
    (call,) = story.calls
    # inside of the handler, around which whatever it raises is made a result
    assert (call.state, call.outcome, call.result) == (CallState.EXECUTING, None, None)


def replay(failures: list[str], request: pytest.FixtureRequest) -> str:
    """One command that plays the first of *failures* alone."""
    name = request.node.nodeid.rpartition("::")[2]
    point = failures[0].partition(" ")[0] if failures else ""
    return f"replay: CRASH_AT={point} python -m pytest -n0 'tests/crash/test_enumeration.py::{name}'"
