"""Leases: which process leads. An epoch grows with each new holder, for whoever must fence the last one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from core.testing.memory.rows import LeaseRow, Rows

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class MemoryLeases:
    """core.ports.Leases."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def take(self, name: str, holder: str, seconds: float) -> int | None:
        now = self._rows.now()
        until = now + timedelta(seconds=seconds)
        before = self._rows.leases.get(name)
        with self._rows.transaction():
            if before is None:
                lease = LeaseRow(name=name, holder=holder, epoch=1, expires_at=until)
                return self._rows.leases.insert(lease).epoch
            runs = before.expires_at > now
            if runs and before.holder != holder:
                return None
            epoch = before.epoch + (0 if runs else 1)
            lease = replace(before, holder=holder, epoch=epoch, expires_at=until)
            return self._rows.leases.update(lease).epoch

    async def drop(self, name: str, epoch: int) -> None:
        lease = self._rows.leases.get(name)
        if lease is not None and lease.epoch == epoch:
            with self._rows.transaction():
                self._rows.leases.update(replace(lease, expires_at=_LONG_AGO))
