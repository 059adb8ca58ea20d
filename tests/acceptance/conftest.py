"""Shops over one fresh database of each kind, and what must be so at the end of every one of these tests."""

import logging
from collections.abc import AsyncIterator

import pytest

from core.audit import verify
from tests.acceptance.shop import ORG, Street, Tampering
from tests.contract.factories import AUDIT_KEY


@pytest.fixture
async def street(migrated_url: str, caplog: pytest.LogCaptureFixture) -> AsyncIterator[Street]:
    """A database with the shop's people, in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, and the audit trail is whole.
    """
    sql = Tampering(migrated_url)
    await sql.people()
    made = Street(migrated_url, sql)
    yield made
    last = made.open([])
    ledger = last.store.ledger
    sealed, loose = await ledger.audit(ORG, 0, 100_000), await ledger.unsealed(ORG, 100_000)
    trail = verify(AUDIT_KEY, sealed, loose, await ledger.head(ORG))
    for shop in made.shops:
        await shop.close()
    await sql.close()
    assert [error for shop in made.shops for error in shop.model.broken] == []
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []
    assert sealed + loose and trail.whole
