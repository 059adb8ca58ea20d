"""The ground that crash tests stand on."""

import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.crash.world import Ground


@pytest.fixture
async def ground(migrated_url: str) -> AsyncIterator[Ground]:
    """A migrated database of each kind, seen from outside."""
    made = Ground(migrated_url)
    yield made
    await made.close()


@pytest.fixture(autouse=True)
def what_the_dead_left_is_gone() -> Iterator[None]:
    """Whatever a killed process left behind is collected in the test that killed it, not in another one."""
    yield
    gc.collect()
