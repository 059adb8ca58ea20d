"""The ground that crash tests stand on."""

from collections.abc import AsyncIterator

import pytest

from tests.crash.world import Ground


@pytest.fixture
async def ground(migrated_url: str) -> AsyncIterator[Ground]:
    """A migrated database of each kind, seen from outside."""
    made = Ground(migrated_url)
    yield made
    await made.close()
