"""A worker's chores while the database is away."""

import pytest

from core.decisions import Desk
from core.errors import StoreError
from core.host import BaseHost
from core.ids import WorkerId
from core.testing import CountingIds, ManualClock, MemoryStore
from core.worker import Worker


class Over(BaseException):
    """The test is."""


async def test_a_chore_that_fails_is_said_once_and_tried_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = ManualClock()
    desk = Desk(store=MemoryStore(clock=clock, ids=CountingIds()), host=BaseHost(), ids=CountingIds())
    worker = Worker(desk=desk, clock=clock, worker_id=WorkerId("w"))
    tries = 0

    async def chore() -> None:
        nonlocal tries
        tries += 1
        if tries < 9:
            raise StoreError("the database can't be reached")
        if tries == 10:
            raise Over

    with pytest.raises(Over):
        await worker._every(1.0, chore)
    assert clock.slept == [2.0, 4.0, 8.0, *[10.0] * 5, 1.0]
    said = [record.getMessage() for record in caplog.records]
    assert said == ["chore failed; tried again until it works", "chore works again, after 8 tries"]
