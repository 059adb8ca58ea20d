"""A scenario played in a world of its own, with or without a death, and what is wrong with its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.calls import Call, Outcome
from core.ports import Story
from tests.crash.footprint import footprint
from tests.crash.invariants import complaints
from tests.crash.mortal import Fate, Mortal
from tests.crash.scenarios import Scenario
from tests.crash.world import Ground, Journal, MemoryJournal, Sight, World, play


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """What came of a scenario: its first life, and everything seen at the ends of its lives."""

    world: World
    first: Mortal
    died: bool
    sights: list[Sight]
    journal: MemoryJournal
    left: str | None = None
    """The footprint of its death, if it was asked for."""
    is_known: bool = False
    """It is that of an earlier death, whose second life is this one's too: so there is none."""

    @property
    def story(self) -> Story:
        story = self.sights[-1].story
        assert story is not None
        return story

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.story.calls

    @property
    def sent(self) -> list[tuple[str, object]]:
        """What the provider accepted, in order."""
        return [(a["tool"], a["args"]) for a in self.journal.read("arrival") if a["accepted"]]


async def played(
    ground: Ground,
    scenario: Scenario,
    number: int,
    fate: Fate | None = None,
    *,
    known: set[str] | None = None,
) -> Played:
    """A first life that ends by *fate*, and if it did, a second one; without *fate* each step is seen.

    *known* are the footprints of deaths after which there was a second life; this one's is added.
    """
    journal = MemoryJournal()
    world = World(ground, scenario, number, journal)
    sights: list[Sight] = []

    async def watch() -> None:
        sights.append(await world.look())

    await world.found()
    first = Mortal(fate, watch=watch if fate is None else None)
    died = await play(world, first, 1)
    left = await footprint(world) if died and known is not None else None
    is_known = left is not None and known is not None and left in known
    if not is_known:
        await watch()
    if died and not is_known:
        await world.wait()
        assert not await play(world, Mortal(), 2)
        await watch()
    await world.retire()
    if left is not None and known is not None:
        known.add(left)
    return Played(
        world=world, first=first, died=died, sights=sights, journal=journal, left=left, is_known=is_known
    )


def wrong(
    sights: Sequence[Sight], journal: Journal, scenario: Scenario, *, zombie: bool = False
) -> list[str]:
    """Broken rules, and an end that a crash does not explain."""
    said = complaints(sights, journal, zombie=zombie)
    story = sights[-1].story
    if story is None or story.task.state is not scenario.ends:
        return [*said, f"ends as {story and story.task.state}, not as {scenario.ends}"]
    outcomes = tuple(c.outcome for c in story.calls)
    if len(outcomes) != len(scenario.outcomes) or not all(map(_explained, story.calls, scenario.outcomes)):
        said.append(f"ends with {outcomes}, not with {scenario.outcomes}")
    return said


def _explained(call: Call, clean: Outcome) -> bool:
    """As without a crash; or an effect that was marked and that a person, knowing, says did not go out."""
    lost = call.marked_at is not None and not call.pure and call.outcome is Outcome.FAILED
    return call.outcome is clean or lost
