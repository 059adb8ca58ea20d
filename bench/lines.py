"""A process that is told by lines of JSON on stdin, and answers each by one on stdout."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

LINE_BYTES = 2**28


async def answered(does: Callable[[Mapping[str, Any]], Awaitable[Any]]) -> None:
    """What each line told was done, until there are no more."""
    reader = asyncio.StreamReader(limit=LINE_BYTES)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        say(await does(json.loads(line)))


def say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


@asynccontextmanager
async def nobody() -> AsyncIterator[str]:
    """An address that takes everything: what is sent there is looked at where it was made."""

    async def take(request: web.Request) -> web.Response:
        await request.read()
        return web.Response()

    app = web.Application(client_max_size=2**24)
    app.router.add_post("/", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0][:2]
    yield f"http://{host}:{port}/"
    await runner.cleanup()
