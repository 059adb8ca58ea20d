"""What the store's tests stand on: one migrated database of each kind, with a hand inside."""

from collections.abc import AsyncIterator

import pytest

from tests.contract.planted import Planted


@pytest.fixture
async def planted(migrated_url: str) -> AsyncIterator[Planted]:
    """A migrated database without rows, and the means to put some there."""
    made = Planted(migrated_url)
    yield made
    await made.close()
