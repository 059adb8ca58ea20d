"""The web process with a face that does as it is told: ``python -m tests.acceptance.serving SECONDS LEAVE``.

A request's body says what to do. What happens is a line on stdout; a line on stdin lets go whoever is held.
*SECONDS*: what a request may take to come whole. *LEAVE*: after so many seconds it is ended by force.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from sqlalchemy.ext.asyncio import AsyncConnection
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.store import SqlStore
from adapters.web.background import Background
from bot.leaving import Leaving
from bot.process import log_to_stderr
from bot.redaction import settings_from
from bot.serving import serve
from bot.wiring import App


def say(line: str) -> None:
    """*line* is on stdout, at once."""
    os.write(1, f"{line}\n".encode())


@dataclass(kw_only=True, slots=True)
class Face:
    """Answers at /slack/events."""

    app: App
    background: Background
    released: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        told = (await Request(scope, receive).body()).decode()
        match told:
            case "hold":
                await self._held()
            case "hold a connection":
                await cast(SqlStore, self.app.store).db.read(self._with_connection)
            case "read":
                await self.app.store.ledger.organizations()
            case "go on":
                self.background.start(self._held(), "what goes on")
            case "break":
                raise RuntimeError(f"it broke at {self.app.settings.model}")
        await PlainTextResponse(f"done: {told}")(scope, receive, send)

    async def _with_connection(self, conn: AsyncConnection) -> None:
        await self._held()

    async def _held(self) -> None:
        say("held")
        await self.released.wait()
        say("let go")


@asynccontextmanager
async def faces(app: App, background: Background) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """One face; it leaves at once, unless the environment says that it hangs."""
    face = Face(app=app, background=background)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )

    async def release() -> None:
        await reader.readline()
        face.released.set()

    releasing = asyncio.create_task(release())
    say("open")
    yield {"/slack/events": face}
    releasing.cancel()
    transport.close()
    if "HANG" in os.environ:
        say("hangs")
        await asyncio.Event().wait()
    say("left")


async def main(request_seconds: float, leave_seconds: float) -> None:
    """Serves until told to stop."""
    log_to_stderr()
    settings = settings_from(os.environ)
    await serve(settings, faces, request_seconds=request_seconds, leaving=Leaving(seconds=leave_seconds))
    say("gone")


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), float(sys.argv[2])))
