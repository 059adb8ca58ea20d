"""Rates: never more than so many in so long, for all processes together, by the database's time."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import pytest

from core.ports import LONGEST_COUNTED_SECONDS, MOST_COUNTED, Rate
from core.rates import moment
from tests.contract.planted import Planted

A_SECOND, MINUTE = Rate(1, 1), Rate(20, 60)
CHAT = "-100"


async def went(planted: Planted, seconds_ago: Iterable[float], chat: str = CHAT) -> None:
    """So many seconds ago something went to *chat*."""
    now = await planted.now()
    times = sorted(moment(now - timedelta(seconds=ago)) for ago in seconds_ago)
    await planted.insert("rates", surface="telegram", chat=chat, times=times, held_until=None)


async def counted(planted: Planted, chat: str = CHAT) -> int:
    rows = await planted.table("rates", surface="telegram", chat=chat)
    return sum(len(row["times"]) for row in rows)


async def test_so_many_go_and_the_next_one_waits_for_the_rest_of_the_window(planted: Planted) -> None:
    rates = planted.store.rates
    assert [await rates.take("telegram", {CHAT: [MINUTE]}) for _ in range(20)] == [0.0] * 20
    assert 50 < await rates.take("telegram", {CHAT: [MINUTE]}) <= 60
    assert await counted(planted) == 20  # what waits counts nowhere


async def test_a_window_slides_and_never_starts_afresh(planted: Planted) -> None:
    await went(planted, [59, *[1] * 19])
    rates = planted.store.rates
    assert 0 < await rates.take("telegram", {CHAT: [MINUTE]}) <= 1
    await planted.delete("rates")
    await went(planted, [60.5, *[1] * 19])
    assert await rates.take("telegram", {CHAT: [MINUTE]}) == 0.0
    assert 50 < await rates.take("telegram", {CHAT: [MINUTE]}) < 59.5  # until those of a second ago are out


async def test_every_rate_of_every_key_holds_and_the_longest_wait_is_answered(planted: Planted) -> None:
    rates = planted.store.rates
    await went(planted, [10] * 20)
    limits = {"": [Rate(30, 1)], CHAT: [A_SECOND, MINUTE]}
    assert 45 < await rates.take("telegram", limits) <= 50
    assert await counted(planted, "") == 0  # full in one, it counts in none
    assert await rates.take("telegram", {**limits, CHAT: [A_SECOND]}) == 0.0
    assert (await counted(planted, ""), await counted(planted)) == (1, 1)


async def test_a_chat_knows_nothing_of_another_nor_of_its_name_elsewhere(planted: Planted) -> None:
    rates = planted.store.rates
    hour = Rate(1, 120)
    for surface, chat in (("telegram", CHAT), ("telegram", "-1001"), ("slack", CHAT), ("telegram", "")):
        assert await rates.take(surface, {chat: [hour]}) == 0.0
        assert await rates.take(surface, {chat: [hour]}) > 0


async def test_what_is_left_to_the_urgent_is_at_most_half_and_never_the_only_one(planted: Planted) -> None:
    rates = planted.store.rates
    few = Rate(4, 120)
    assert [await rates.take("telegram", {CHAT: [few]}, keep=1) for _ in range(3)] == [0.0] * 3
    assert await rates.take("telegram", {CHAT: [few]}, keep=1) > 100
    assert await rates.take("telegram", {CHAT: [few]}) == 0.0
    assert await rates.take("telegram", {CHAT: [few]}) > 100
    assert [await rates.take("telegram", {"1": [few]}, keep=9) > 0 for _ in range(3)] == [False, False, True]
    assert await rates.take("telegram", {"2": [Rate(1, 120)]}, keep=9) == 0.0


async def test_who_waits_behind_the_urgent_waits_until_there_is_room_for_both(planted: Planted) -> None:
    await went(planted, [50, 40, 30, 20])
    rates = planted.store.rates
    assert await rates.take("telegram", {CHAT: [Rate(5, 60)]}, keep=2) > 15  # two have to leave the window


async def test_what_was_sent_whatever_the_limits_say_counts_for_the_next(planted: Planted) -> None:
    rates = planted.store.rates
    await rates.take("telegram", {CHAT: [Rate(2, 120)], "": [Rate(9, 120)]})
    assert await rates.take("telegram", {"": (), CHAT: ()}) == 0.0
    assert await rates.take("telegram", {CHAT: [Rate(2, 120)]}) > 100
    assert (await counted(planted), await counted(planted, "")) == (2, 2)


async def test_a_chat_that_is_held_takes_nothing_for_so_long_and_a_shorter_hold_ends_none(
    planted: Planted,
) -> None:
    rates = planted.store.rates
    await rates.hold("telegram", CHAT, 300)
    await rates.hold("telegram", CHAT, 5)
    every: list[dict[str, list[Rate]]] = [{CHAT: []}, {"": [A_SECOND], CHAT: [MINUTE]}]
    for limits in every:
        assert 290 < await rates.take("telegram", limits) <= 300
    assert await rates.take("telegram", {"": [A_SECOND]}) == 0.0
    await planted.update("rates", {"held_until": await planted.now()})
    assert await rates.take("telegram", {CHAT: [A_SECOND]}) == 0.0


async def test_a_surface_that_is_held_holds_every_chat(planted: Planted) -> None:
    rates = planted.store.rates
    await rates.take("telegram", {"": [Rate(30, 1)]})
    await rates.hold("telegram", "", 60)
    assert await rates.take("telegram", {"": [Rate(30, 1)], CHAT: [A_SECOND]}) > 50
    assert await counted(planted, "") == 1


async def test_of_many_processes_that_take_at_once_so_many_may_go(planted: Planted) -> None:
    rates = planted.store.rates
    few, own = Rate(5, 120), Rate(2, 120)
    limits: list[dict[str, list[Rate]]] = [{"": [few], f"-{n % 4}": [own]} for n in range(24)]
    waits = await asyncio.gather(*(rates.take("telegram", one) for one in limits))
    assert waits.count(0.0) == 5


async def test_no_more_is_kept_than_rates_look_back_on(planted: Planted) -> None:
    rates = planted.store.rates
    await went(planted, [LONGEST_COUNTED_SECONDS + 1, *(n / 10 for n in range(1, MOST_COUNTED + 5))])
    await rates.take("telegram", {CHAT: ()})
    assert await counted(planted) == MOST_COUNTED
    await planted.update("rates", {"times": [moment(await planted.now() - timedelta(minutes=3))] * 9})
    await rates.take("telegram", {CHAT: ()})
    assert await counted(planted) == 1
    await planted.delete("rates")
    await went(planted, [n / 1000 for n in range(MOST_COUNTED)])
    assert await rates.take("telegram", {CHAT: [Rate(MOST_COUNTED, 3), A_SECOND]}) > 0
    await planted.update("rates", {"times": []})
    await rates.take("telegram", {CHAT: [A_SECOND, Rate(2, 60)]})
    await planted.update("rates", {"times": [moment(await planted.now() - timedelta(seconds=9))] * 9})
    await rates.take("telegram", {CHAT: [A_SECOND, Rate(20, 5)]})
    assert await counted(planted) == 1
    for count, seconds in ((0, 1), (MOST_COUNTED + 1, 1), (1, 0), (1, LONGEST_COUNTED_SECONDS + 1)):
        with pytest.raises(ValueError, match="no store keeps enough"):
            Rate(count, seconds)


@pytest.mark.rule("I40")
async def test_a_clock_that_is_set_back_stops_nobody_for_longer_than_two_windows(planted: Planted) -> None:
    rates = planted.store.rates
    await went(planted, [-86_400] * 20)
    assert await rates.take("telegram", {CHAT: [MINUTE]}) == 0.0
    await went(planted, [-30] * 20, "-7")
    assert 60 < await rates.take("telegram", {"-7": [MINUTE]}) <= 90


async def test_a_chat_that_moved_starts_afresh_but_for_what_holds_it(planted: Planted) -> None:
    rates = planted.store.rates
    hour = Rate(1, 120)
    for chat in ("-5", "-51", "-6", "-1006"):
        await rates.take("telegram", {chat: [hour]})
    await rates.take("slack", {"-5": [hour]})
    await planted.store.outbox.move("telegram", "-5", "-1005")
    await planted.store.outbox.move("telegram", "-6", "-1006")  # it was heard of by both names
    assert (
        await counted(planted, "-5") == await counted(planted, "-6") == await counted(planted, "-1005") == 0
    )
    assert await rates.take("telegram", {"-51": [hour]}) > 0
    assert await rates.take("slack", {"-5": [hour]}) > 0
    assert await rates.take("telegram", {"-1006": [hour]}) > 0
    await rates.hold("telegram", "-1005", 60)
    await planted.store.outbox.move("telegram", "-1005", "-2005")
    assert await rates.take("telegram", {"-2005": [hour]}) > 50
