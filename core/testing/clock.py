"""Time by hand: a clock that stands still until it is told to move, or somebody sleeps."""

from asyncio import Timeout
from collections.abc import AsyncIterator, Awaitable, Generator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

MORNING = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
"""Where a manual clock starts: a Monday."""


class _Pass(Awaitable[None]):
    """Lets the event loop run everything else once."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class ManualClock:
    """A Clock that only moves when told to, or when somebody sleeps: a sleep takes no real time.

    Sleeps of several tasks add up rather than overlap; a test that needs them to overlap should not
    sleep. *slept* are the seconds of each sleep, in order.
    """

    def __init__(self, at: datetime = MORNING) -> None:
        self.slept: list[float] = []
        self._now = at
        self._deadlines: dict[Timeout, datetime] = {}
        self.set(at)

    def now(self) -> datetime:
        return self._now

    def set(self, at: datetime) -> None:
        """It is *at*, aware, forwards or backwards; time-outs that this passes end."""
        if at.tzinfo is None:
            raise ValueError("a clock's time is aware; say its time zone")
        self._now = at.astimezone(UTC)
        for scope, deadline in list(self._deadlines.items()):
            if deadline <= self._now:
                del self._deadlines[scope]
                scope.reschedule(0)  # long past on the loop's own clock: ends at its next turn

    def advance(self, seconds: float) -> None:
        """It is *seconds* later."""
        self.set(self._now + timedelta(seconds=seconds))

    async def sleep(self, seconds: float) -> None:
        """Everybody else had a turn, then it is *seconds* later, unless a time-out ends this before."""
        self.slept.append(seconds)
        until = self._now + timedelta(seconds=seconds)
        await _Pass()
        while self._now < until:
            self.set(min([until, *self._deadlines.values()]))
            await _Pass()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncIterator[Timeout]:
        """A block that raises TimeoutError once this clock is *seconds* later; None never does."""
        async with Timeout(None) as scope:
            if seconds is not None:
                self._deadlines[scope] = self._now + timedelta(seconds=seconds)
                self.set(self._now)
            try:
                yield scope
            finally:
                self._deadlines.pop(scope, None)
