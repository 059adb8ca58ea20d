"""Virtual time: an event loop whose clock moves only when nobody has anything to do, and clocks over it."""

import asyncio
import selectors
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""When each simulation begins: a Monday."""


class Stalled(BaseException):
    """Nobody has anything to do, now or later."""


class _Idle(selectors.SelectSelector):
    """Where a loop would wait for the outside, time passes instead."""

    def __init__(self, passes: Callable[[float | None], None]) -> None:
        super().__init__()
        self._passes = passes

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._passes(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs callbacks in order, timers by time, and waits for nothing: the same seed is the same run."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        super().__init__(_Idle(self._pass))

    def time(self) -> float:
        return self._elapsed

    def _pass(self, timeout: float | None) -> None:
        if timeout is None:
            raise Stalled
        if timeout > 0:
            self._elapsed += timeout


class WorldClock:
    """core.ports.Clock of one process, or of the database. *skew_seconds* is how wrong it is."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.skew_seconds = 0.0
        self._loop = loop

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self._loop.time() + self.skew_seconds)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)
