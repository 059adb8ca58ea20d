"""Whether the web process is well: alive by itself, and ready with its database."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from adapters.web.door import Door
from core.caught import caught

METHODS = ("GET", "HEAD")
DATABASE_SECONDS = 1.0
"""A database that takes longer is one that Slack's three seconds don't wait for."""


@dataclass(kw_only=True, slots=True, eq=False)
class Health:
    """The answers of ``/healthz`` and ``/readyz``. *ask_database* ends well if it answers; None: not open."""

    ask_database: Callable[[], Awaitable[object]] | None = None
    stopping: bool = False
    database_seconds: float = DATABASE_SECONDS
    _asking: "asyncio.Task[bool] | None" = field(default=None, init=False)

    @property
    def doors(self) -> tuple[Door, Door]:
        """Open from the beginning."""
        return (
            Door(path="/healthz", methods=METHODS, handler=self._alive),
            Door(path="/readyz", methods=METHODS, handler=self._ready),
        )

    async def _alive(self, scope: Scope, receive: Receive, send: Send) -> None:
        await _said("ok", 200)(scope, receive, send)

    async def _ready(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.stopping:
            answer = _said("stopping", 503)
        elif self.ask_database is None:
            answer = _said("starting", 503)
        elif not await self._database_answers(self.ask_database):
            answer = _said("database", 503)
        else:
            answer = _said("ok", 200)
        await answer(scope, receive, send)

    async def _database_answers(self, ask: Callable[[], Awaitable[object]]) -> bool:
        """Whoever asks meanwhile waits for the same question: a database that hangs is asked by one task."""
        asking = self._asking
        if asking is None or asking.done():
            asking = self._asking = asyncio.create_task(_ends_well(ask))
        # not awaited past its time, even where a driver takes long to be cancelled
        await asyncio.wait([asking], timeout=self.database_seconds)
        if not asking.done():
            asking.cancel()
            return False
        return not asking.cancelled() and asking.result()


async def _ends_well(ask: Callable[[], Awaitable[object]]) -> bool:
    with caught() as ended:
        await ask()
    return ended.error is None


def _said(status: str, code: int) -> JSONResponse:
    return JSONResponse({"status": status}, code, {"Cache-Control": "no-store"})
