"""Many who decide one call at the same moment, in two processes: one does, the others hear who (C6, I1)."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from core.calls import Outcome
from core.parks import ParkState
from core.tasks import TaskState
from core.testing import calls, says
from tests.acceptance.child import Barrier, Child, started
from tests.acceptance.shop import REFUND_SCRIPT, REFUNDED, U1, U2, Street, decisions

REPETITIONS = 100
CALLS = 10  # in each task
DECIDERS = 32  # in each of two processes


@pytest.fixture
def barrier() -> Iterator[Barrier]:
    """What two processes wait at."""
    made = Barrier()
    yield made
    made.close()


@pytest.fixture
async def processes(street: Street, barrier: Barrier) -> AsyncIterator[tuple[Child, Child]]:
    """Two processes full of people who will decide."""
    async with AsyncExitStack() as closing:
        one = await closing.enter_async_context(started("deciders", barrier.read_end))
        other = await closing.enter_async_context(started("deciders", barrier.read_end))
        for child in (one, other):
            await child.tell({"url": street.url, "barrier": barrier.read_end})
        yield one, other


async def race(
    processes: tuple[Child, Child], barrier: Barrier, clicks: tuple[list[Any], list[Any]]
) -> list[Any]:
    """What came of the *clicks* of each process, all of them released at once."""
    for child, own in zip(processes, clicks, strict=True):
        await child.tell(own)
    assert await asyncio.gather(*(child.hear() for child in processes)) == ["ready", "ready"]
    barrier.release(len(processes))
    one, other = await asyncio.gather(*(child.hear() for child in processes))
    return [*one, *other]


@pytest.mark.rule("C6", "I1")
async def test_s02_an_approval_and_a_decline_at_the_same_moment_leave_one_winner_a_hundred_times(
    street: Street, processes: tuple[Child, Child], barrier: Barrier
) -> None:
    orders = [f"A{n}" for n in range(CALLS)]
    script = [calls(*(("refund", {"order_id": order, "amount": 5}) for order in orders)), says("Done.")]
    shop = street.open(script)
    tasks = [await shop.ask() for _ in range(REPETITIONS // CALLS)]
    await shop.run()
    waiting = await shop.store.parks.waiting_for(U1, 2 * REPETITIONS)
    assert len(waiting) == REPETITIONS
    order_of_clicks = random.Random(2)

    winners = {}
    for view in waiting:
        approve = {"token": view.park.token, "who": "U1", "kind": "approve"}
        decline = {"token": view.park.token, "who": "U2", "kind": "decline"}
        one, other = order_of_clicks.sample([approve, decline], 2)
        came = await race(processes, barrier, ([one], [other]))
        (won,) = [c for c in came if c["won"]]
        (lost,) = [c for c in came if not c["won"]]
        assert lost["by"] == won["who"]
        assert lost["words"].startswith(f"{won['who']} {_PAST[won['kind']]} it at ")
        winners[view.park.id] = won["kind"]
    assert set(winners.values()) == {"approve", "decline"}

    await shop.run()
    approved = [v for v in waiting if winners[v.park.id] == "approve"]
    expected = Counter(("refund", v.call.args["order_id"], Decimal(5)) for v in approved if v.call)
    assert Counter(shop.effects) == expected
    stories = [await shop.story(task) for task in tasks]
    assert {story.task.state for story in stories} == {TaskState.DONE}
    parks = [park for story in stories for park in story.parks]
    assert {park.id: (park.state, park.decision) for park in parks} == {
        park_id: (ParkState.DECIDED, winner) for park_id, winner in winners.items()
    }
    settled = {call.id: call.outcome for story in stories for call in story.calls}
    for park in parks:
        assert park.call_id is not None
        ran = Outcome.SUCCEEDED if winners[park.id] == "approve" else Outcome.DECLINED
        assert settled[park.call_id] is ran
    audited = Counter(e.call_id for story in stories for e in story.audit if e.move == "decide")
    assert audited == Counter(settled.keys())


_PAST = {"approve": "approved", "decline": "declined"}


@pytest.mark.rule("C6", "I1", "I2")
async def test_of_64_deciders_in_two_processes_one_wins_and_63_hear_who_and_when(
    street: Street, processes: tuple[Child, Child], barrier: Barrier
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    token = (await shop.view(task)).park.token
    approve = {"token": token, "who": "U1", "kind": "approve"}
    decline = {"token": token, "who": "U2", "kind": "decline"}
    half = [approve, decline] * (DECIDERS // 2)

    came = await race(processes, barrier, (half, half[::-1]))

    assert len(came) == 2 * DECIDERS
    (won,) = [c for c in came if c["won"]]
    lost = [c for c in came if not c["won"]]
    story = await shop.story(task)
    (park,) = story.parks
    assert park.state is ParkState.DECIDED
    assert (park.decision, park.by_person) == (won["kind"], {"U1": U1, "U2": U2}[won["who"]].id)
    assert {(c["decision"], c["by"]) for c in lost} == {(_PAST[won["kind"]], won["who"])}
    assert {datetime.fromisoformat(c["at"]) for c in lost} == {park.decided_at}
    assert len(decisions(story)) == 1

    await shop.run()
    story = await shop.story(task)
    assert shop.effects == ([REFUNDED] if won["kind"] == "approve" else [])
    assert len(decisions(story)) == 1
    assert story.task.state is TaskState.DONE
