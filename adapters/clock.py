"""The machine's clock, as core asks for it."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime


class SystemClock:
    """core.ports.Clock over this machine's time and the running event loop."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)
