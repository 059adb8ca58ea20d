"""Who keeps a task waiting is reminded after a day, and shortly before it expires."""

from datetime import UTC, datetime, timedelta

import pytest

from core.moves.waits import LAST_CALL
from core.parks import Park, ParkKind, ParkState
from core.ports import ParkView
from core.tasks import Task
from core.testing import calls, says
from tests.acceptance.shop import (
    NOTE_SCRIPT,
    PAST,
    REFUND,
    REFUND_SCRIPT,
    REFUNDED,
    Shop,
    Street,
    audited,
)
from tests.acceptance.wall import Wall

SAYS = "t-1.1 still waits: Sam wants to refund. It expires on "


async def due(street: Street, shop: Shop, task: Task) -> ParkView:
    """The task's approval, whose day is over."""
    view = await shop.view(task)
    await street.sql.change_park(view.park, remind_at=PAST)
    return view


@pytest.mark.rule("C5")
async def test_a_reminder_is_due_after_a_day_and_an_end_after_a_week(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    park = (await shop.view(await shop.parked())).park
    assert park.remind_at is not None and park.expires_at is not None
    assert (park.remind_at - park.created_at, park.expires_at - park.created_at) == (
        timedelta(days=1),
        timedelta(days=7),
    )
    assert await Wall(shop).notices() == []


async def test_what_waits_is_recalled_once_however_many_look(street: Street) -> None:
    shop, other = street.open(REFUND_SCRIPT), street.open(REFUND_SCRIPT)
    task, wall = await shop.parked(), Wall(shop)
    await due(street, shop, task)
    for _ in range(2):
        for process in (shop, other):
            await process.worker.sweep()
        (said,) = await wall.notices()
        assert said.startswith(SAYS)
    assert wall.handed == 2  # the card, and this
    assert [actor for actor, _ in audited(await shop.story(task), "remind")] == ["sweeper"]


async def test_what_waits_is_recalled_once_more_shortly_before_it_expires(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task, wall = await shop.parked(), Wall(shop)
    first = await due(street, shop, task)
    await shop.worker.sweep()
    again = (await shop.view(task)).park
    assert first.park.expires_at is not None
    assert again.remind_at == first.park.expires_at - LAST_CALL
    soon = datetime.now(UTC) + LAST_CALL / 2
    await street.sql.change_park(again, remind_at=PAST, expires_at=soon)
    for _ in range(2):
        await shop.worker.sweep()
        assert [said.startswith(SAYS) for said in await wall.notices()] == [True, True]
    assert (await shop.view(task)).park.remind_at is None


async def test_nobody_is_reminded_of_what_is_decided(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task, wall = await shop.parked(), Wall(shop)
    view = await due(street, shop, task)
    await shop.approve(view)
    await shop.run()
    assert (shop.effects, await wall.notices()) == ([REFUNDED], [])


async def test_what_is_decided_before_the_reminder_is_sent_is_not_spoken_of(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task, wall = await shop.parked(), Wall(shop)
    view = await due(street, shop, task)
    await shop.worker.sweep()
    await shop.decline(view)
    assert await wall.notices() == []


@pytest.mark.rule("C13")
async def test_what_has_expired_is_not_recalled(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task, wall = await shop.parked(), Wall(shop)
    view = await due(street, shop, task)
    await street.sql.change_park(view.park, expires_at=PAST)
    await shop.run()
    assert [p.state for p in (await shop.story(task)).parks] == [ParkState.EXPIRED]
    assert await wall.notices() == []


async def test_each_park_of_a_round_has_a_reminder_of_its_own(street: Street) -> None:
    shop = street.open(
        [calls(("refund", REFUND), ("refund", {"order_id": "A2", "amount": 5})), says("Done.")]
    )
    task, wall = await shop.parked(), Wall(shop)
    for number in (1, 2):
        await street.sql.change_park((await shop.view(task, number)).park, remind_at=PAST)
    await shop.worker.sweep()
    assert [said[:5] for said in await wall.notices()] == ["t-1.1", "t-1.2"]


@pytest.mark.rule("C19")
async def test_what_may_have_gone_out_is_recalled_too(street: Street) -> None:
    shop = street.open(NOTE_SCRIPT)
    street.world.raises["send_note"] = ConnectionResetError("reset")
    task, wall = await shop.parked(), Wall(shop)
    await shop.approve(await shop.view(task))
    await shop.run()
    unknown: Park = (await shop.view(task, kind=ParkKind.UNKNOWN)).park
    await street.sql.change_park(unknown, remind_at=PAST)
    await shop.worker.sweep()
    assert await wall.notices() == ["t-1.1 still waits: send_note may have gone out, and nobody knows."]


@pytest.mark.rule("K40")
async def test_a_park_that_cant_be_read_keeps_no_other_from_its_end_or_its_reminder(
    street: Street, caplog: pytest.LogCaptureFixture
) -> None:
    shop = street.open([*REFUND_SCRIPT[:1] * 3, says("a")])
    broken, late, forgotten = [await shop.view(await shop.parked()) for _ in range(3)]
    unreadable = {"choices": ["of a newer version"], "remind_at": PAST - timedelta(days=9)}
    await street.sql.change_park(broken.park, expires_at=PAST - timedelta(days=9), **unreadable)
    await street.sql.change_park(late.park, expires_at=PAST)
    await street.sql.change_park(forgotten.park, remind_at=PAST)
    await shop.worker.sweep()
    assert (await shop.find(late.park.token)).park.state is ParkState.EXPIRED
    assert (await shop.find(forgotten.park.token)).park.remind_at != PAST
    assert [r.getMessage() for r in caplog.records if r.levelname == "ERROR"] == [
        f"what is due of {broken.task.id} could not be expired",
        f"nobody could be reminded of {broken.task.id}",
    ]
    caplog.clear()  # what this test is about
