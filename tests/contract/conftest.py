"""What the store's tests stand on: a store of each kind without rows, and a hand inside.

`planted` is memory, SQLite and PostgreSQL in turn: what a port promises, all three keep. `sql` is the
two databases: for what only they have (locks, triggers, statements, a driver to be cancelled in).
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import Templates, migrated
from tests.contract.planted import Planted
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted
from tests.postgres import Server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_kind(request: pytest.FixtureRequest) -> str:
    """Each kind of store in turn."""
    return str(request.param)


@pytest.fixture
async def planted(
    store_kind: str, tmp_path: Path, postgres_server: Server, templates: Templates
) -> AsyncIterator[Planted]:
    """A store of each kind without rows, and the means to put some there."""
    if store_kind == "memory":
        yield MemoryPlanted()
        return
    async with migrated(store_kind, tmp_path, postgres_server, templates) as url:
        made = SqlPlanted(url)
        yield made
        await made.close()


@pytest.fixture
async def sql(migrated_url: str) -> AsyncIterator[SqlPlanted]:
    """A migrated database of each kind without rows, and the means to put some there."""
    made = SqlPlanted(migrated_url)
    yield made
    await made.close()
