"""What a turn costs in commits: two for reads, two more an effect, one more a park, on both databases.

A commit waits for the disk, so their number is what a turn costs beside the model (ports-and-tables.md §2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import event

from adapters.store import SqlStore
from core.gate import Setting
from core.ids import WorkerId
from core.loop import TaskRun
from core.plan import RunState, Step
from core.tasks import Task, TaskState
from core.testing import Line, calls, says
from tests.acceptance.shop import NOTE, REFUND, Shop, Street, agent, settings

READ = calls(("read_order", {"id": "A1"}))
READS = calls(*(("read_order", {"id": f"A{n}"}) for n in range(5)))
SENDS = settings(contact=Setting.ALLOW, spend=Setting.ASK)


@dataclass
class Till:
    """Counts the commits of one shop's store, step by step."""

    shop: Shop
    commits: int = 0

    def __post_init__(self) -> None:
        assert isinstance(self.shop.store, SqlStore)
        event.listen(self.shop.store.db.engine.sync_engine, "commit", self._count)

    def _count(self, conn: object) -> None:
        self.commits += 1

    async def run(self) -> list[tuple[str, int]]:
        """The one queued task runs until it waits or ends: each of its steps, and its commits."""
        (run,) = await self.shop.store.queue.claim(WorkerId("w"), 5, 60)
        steps: list[tuple[str, int]] = []

        async def on_step(step: Step, state: RunState) -> None:
            steps.append((type(step).__name__, self.commits))

        await TaskRun(desk=self.shop.desk, clock=self.shop.clock, run=run, on_step=on_step).go()
        ends = [*(commits for _, commits in steps[1:]), self.commits]
        return [(name, end - begun) for (name, begun), end in zip(steps, ends, strict=True)]


async def started(street: Street, script: Sequence[Line]) -> tuple[Till, Task]:
    shop = street.open(script, sam=agent(settings=SENDS))
    return Till(shop), await shop.ask()


FIRST = ("AskModel", 2)  # with the reservation that later turns have from the change before
ASKED = ("AskModel", 1)


@pytest.mark.rule("I24")
async def test_a_turn_of_reads_is_two_commits_however_many_they_are(street: Street) -> None:
    till, task = await started(street, [READ, READS, says("Open.")])
    assert await till.run() == [
        FIRST,
        ("RunReads", 1),
        ASKED,
        ("RunReads", 1),
        ASKED,
        ("End", 1),
    ]
    assert (await till.shop.task(task)).state is TaskState.DONE


@pytest.mark.rule("I24", "C15")
async def test_an_effect_is_two_more_and_each_of_them(street: Street) -> None:
    other = {"to": "y@example.test", "text": "hi"}
    both = calls(("read_order", {"id": "A1"}), ("send_note", NOTE), ("send_note", other))
    till, _ = await started(street, [both, says("Sent.")])
    assert await till.run() == [FIRST, ("RunReads", 1), ("RunEffect", 2), ("RunEffect", 2), ASKED, ("End", 1)]


@pytest.mark.rule("C5", "C6")
async def test_a_park_is_one_more_whatever_it_holds_and_to_rest_and_to_decide_one_each(
    street: Street,
) -> None:
    two = calls(("read_order", {"id": "A1"}), ("refund", REFUND), ("refund", {**REFUND, "order_id": "A2"}))
    till, task = await started(street, [two, says("Refunded.")])
    assert await till.run() == [FIRST, ("RunReads", 1), ("Ask", 1), ("Rest", 1)]

    before = till.commits
    for number in (2, 3):
        await till.shop.approve(await till.shop.view(task, number))
    assert till.commits - before == 2
    assert await till.run() == [("RunEffect", 2), ("RunEffect", 2), ASKED, ("End", 1)]


async def test_what_is_looked_at_and_what_loses_a_race_commits_nothing(street: Street) -> None:
    till, task = await started(street, [READ, says("Open.")])
    await till.run()
    before = till.commits
    await till.shop.story(task)
    await till.shop.stop(task)
    assert (till.commits - before, (await till.shop.task(task)).state) == (0, TaskState.DONE)
