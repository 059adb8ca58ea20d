"""Leases: one holder at a time, and an epoch that grows with each new one."""

import asyncio
from datetime import timedelta

from tests.contract.planted import Planted


async def test_of_sixty_four_that_take_a_lease_at_once_one_has_it(planted: Planted) -> None:
    leases = planted.store.leases
    epochs = await asyncio.gather(*(leases.take("leader", f"w{n}", 60) for n in range(64)))
    assert [epoch for epoch in epochs if epoch is not None] == [1]


async def test_its_holder_renews_a_lease_in_the_same_epoch(planted: Planted) -> None:
    leases = planted.store.leases
    assert await leases.take("leader", "a", 60) == 1
    before = (await planted.row("leases"))["expires_at"]
    assert await leases.take("leader", "a", 120) == 1
    assert (await planted.row("leases"))["expires_at"] > before


async def test_a_lease_that_ran_out_goes_to_the_next_with_a_new_epoch(planted: Planted) -> None:
    leases = planted.store.leases
    await leases.take("leader", "a", 60)
    assert await leases.take("leader", "b", 60) is None
    await leases.take("leader", "a", -1)  # its holder's last renewal is over
    assert await leases.take("leader", "b", 60) == 2
    assert await leases.take("leader", "a", 60) is None


async def test_a_holder_whose_lease_ran_out_has_it_anew(planted: Planted) -> None:
    leases = planted.store.leases
    await leases.take("leader", "a", -1)
    assert await leases.take("leader", "a", 60) == 2


async def test_a_dropped_lease_is_free_and_its_epoch_goes_on(planted: Planted) -> None:
    leases = planted.store.leases
    epoch = await leases.take("leader", "a", 60)
    assert epoch == 1
    await leases.drop("leader", epoch)
    assert await leases.take("leader", "b", 60) == 2


async def test_who_drops_an_epoch_that_is_over_drops_nothing(planted: Planted) -> None:
    leases = planted.store.leases
    await leases.take("leader", "a", -1)
    assert await leases.take("leader", "b", 60) == 2
    await leases.drop("leader", 1)
    assert await leases.take("leader", "a", 60) is None


async def test_leases_of_different_names_know_nothing_of_each_other(planted: Planted) -> None:
    leases = planted.store.leases
    assert await leases.take("leader", "a", 60) == 1
    assert await leases.take("sealer", "b", 60) == 1


async def test_a_lease_ends_by_the_databases_time(planted: Planted) -> None:
    leases = planted.store.leases
    await leases.take("leader", "a", 60)
    left = (await planted.row("leases"))["expires_at"] - await planted.now()
    assert timedelta(seconds=50) < left <= timedelta(seconds=60)
