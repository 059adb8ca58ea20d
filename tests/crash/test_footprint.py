"""Two deaths have one footprint only where the next process finds the same."""

import pytest

from tests.crash.footprint import footprint
from tests.crash.mortal import At, Fate, Mortal, On, Side
from tests.crash.playing import played
from tests.crash.scenarios import EDIT
from tests.crash.world import Ground, MemoryJournal, World, play

LEAVE_SOMETHING = (
    "inbox.receive",
    "tasks.open",
    "queue.claim",
    "tasks.change(reserve)",
    "model.reply",
    "tasks.change(record_reply)",
    "tasks.change(ask)",
    "tasks.change(rest)",
    "chat.post",
    "tasks.change(decide)",
    "tasks.change(mark)",
    "provider.send",
    "tasks.change(outcome)",
    "tasks.change(end)",
)


async def left(ground: Ground, number: int, fate: Fate) -> str:
    """The footprint of a life that ends by *fate*."""
    world = World(ground, EDIT, number, MemoryJournal())
    await world.found()
    assert await play(world, Mortal(fate), 1)
    found = await footprint(world)
    await world.retire()
    return found


@pytest.mark.parametrize("name", LEAVE_SOMETHING)
async def test_what_a_call_leaves_is_in_the_footprint(name: str, ground: Ground) -> None:
    before = await left(ground, 1, On(name=name, side=Side.BEFORE))
    after = await left(ground, 2, On(name=name, side=Side.AFTER))
    assert before != after


async def test_a_death_at_the_same_place_leaves_the_same(ground: Ground) -> None:
    await played(ground, EDIT, 1)  # the first world of a database finds no lease in it
    places = [On(name=name, side=Side.AFTER) for name in ("model.reply", "tasks.change(mark)")]
    prints = [await left(ground, n, place) for n, place in enumerate((*places, *places), start=2)]
    assert prints[:2] == prints[2:]
    assert prints[0] != prints[1]


async def test_a_read_leaves_nothing_and_nothing_happens_between_two_calls(ground: Ground) -> None:
    names = (await played(ground, EDIT, 1)).first.calls
    read = names.index("tasks.transcript") + 1
    places = [At(n=read, side=Side.BEFORE), At(n=read, side=Side.AFTER), At(n=read + 1, side=Side.BEFORE)]
    assert len({await left(ground, n, place) for n, place in enumerate(places, start=2)}) == 1


async def test_a_click_whose_answer_was_lost_is_in_the_footprint(ground: Ground) -> None:
    """The rows are the same; but the owner, who heard nothing, will press again."""
    names = (await played(ground, EDIT, 1)).first.calls
    decided = max(n for n, name in enumerate(names, start=1) if name == "tasks.change(decide)") - 1
    unheard = await left(ground, 2, At(n=decided, side=Side.AFTER))
    heard = await left(ground, 3, At(n=decided + 1, side=Side.BEFORE))
    assert unheard != heard
