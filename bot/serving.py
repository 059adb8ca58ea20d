"""The web process: listens at once, opens the app as soon as its database can be reached, leaves in order.

A platform wants the port bound within a minute, whether or not the database is there; and Slack tries again
what is answered 503, but not what is refused by a closed port for long. Faces are what surfaces put behind
the declared paths.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from adapters.web.background import Background
from adapters.web.bounds import Bounds
from adapters.web.door import Door, nobody
from adapters.web.heads import heads_within
from adapters.web.health import Health
from bot.leaving import Leaving
from bot.process import told_to_stop
from bot.redaction import REDACTOR, redacted_logs
from bot.settings import Settings
from bot.wiring import App, opened
from core.caught import words_of
from core.errors import ConfigError, StoreError

log = logging.getLogger(__name__)

Faces = Callable[[App, Background], AbstractAsyncContextManager[Mapping[str, ASGIApp]]]
"""What answers at the declared paths, from when the app is open until no request is."""


PATHS: Mapping[str, tuple[str, ...]] = {
    "/slack/events": ("POST",),
    "/slack/install": ("GET",),
    "/slack/oauth_redirect": ("GET",),
    "/telegram/updates": ("POST",),
}
HOST = "0.0.0.0"
BACKLOG = 2048  # uvicorn's own
REQUEST_SECONDS = 10.0
CONNECTION_SECONDS = 0.8
"""How long a request waits for one of the pool's connections: it is told to come again within a second."""

# What leaving takes at most; the rest of Leaving's 25 s is for closing.
OPEN_REQUESTS_SECONDS = 15
CUT_REQUESTS_SECONDS = 1.0
BACKGROUND_SECONDS = 5.0

LONGEST_WAIT_SECONDS = 30.0


async def serve(
    settings: Settings,
    faces: Faces,
    *,
    stop: asyncio.Event | None = None,
    paths: Mapping[str, tuple[str, ...]] = PATHS,
    leaving: Leaving | None = None,
    request_seconds: float = REQUEST_SECONDS,
) -> None:
    """Has served at *paths* until *stop* was set, and left: every open request answered, nothing going on.

    Without *stop*, until SIGTERM or SIGINT. *faces* are entered once the app is open, and may serve fewer.
    *leaving* ends the process by force if that takes too long; without it nothing does. *request_seconds*: in
    which a request's head has to come whole, and its body too.

    Raises ConfigError where the port can't be had, or the app can't be opened for another reason than its
    database's being away.
    """
    web = _Web(
        settings=settings,
        faces=faces,
        stop=stop or told_to_stop(),
        leaving=leaving or Leaving(seconds=None),
        background=Background(),
        health=Health(),
        doors={path: Door(path=path, methods=methods) for path, methods in paths.items()},
    )
    with redacted_logs(REDACTOR), listening(settings.port) as port:
        log.info("web listens on %s:%d", *port.getsockname())
        await web.serve(web.server(request_seconds), port)
    log.info("web leaves")


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket on which connections are taken from here on, if only by the kernel. Raises ConfigError."""
    try:
        made = socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"PORT: {port} can't be listened on ({os.strerror(error.errno or 0)})") from error
    with made:
        yield made


class Server(uvicorn.Server):
    """Uvicorn without its own signals, whose shutdown waits also for the requests that it has cut off."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if cut := set(self.server_state.tasks):
            await asyncio.wait(cut, timeout=CUT_REQUESTS_SECONDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Web:
    """One web process."""

    settings: Settings
    faces: Faces
    stop: asyncio.Event
    leaving: Leaving
    background: Background
    health: Health
    doors: Mapping[str, Door]

    def server(self, request_seconds: float) -> Server:
        """Uvicorn over the doors; not started."""
        site = Starlette(routes=[door.route for door in (*self.health.doors, *self.doors.values())])
        site.router.redirect_slashes = False  # a path with one more slash is another path
        config = uvicorn.Config(
            Bounds(site, seconds=request_seconds),
            http=heads_within(request_seconds),
            ws="none",
            lifespan="off",
            backlog=BACKLOG,
            timeout_graceful_shutdown=OPEN_REQUESTS_SECONDS,
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,  # nobody asks where a request came from, and it would read the environment
        )
        return Server(config)

    async def serve(self, server: Server, port: socket.socket) -> None:
        """The server and the app live until told to stop, or until one of them can't."""
        serving = asyncio.create_task(server.serve([port]), name="the server")
        living = asyncio.create_task(self._live(serving), name="the app")
        told = asyncio.create_task(self.stop.wait(), name="the wait for a signal")
        try:
            await asyncio.wait([told, living, serving], return_when=asyncio.FIRST_COMPLETED)
            self._leave(server, living)
            await asyncio.wait([living, serving])
        finally:
            for task in (told, living, serving):
                task.cancel()
            await asyncio.gather(told, living, serving, return_exceptions=True)
        for task in (living, serving):
            if not task.cancelled():
                task.result()  # raises what ended it

    def _leave(self, server: Server, living: asyncio.Task[None]) -> None:
        self.leaving.begin()
        self.health.stopping = True
        server.should_exit = True
        if self.health.ask_database is None:  # not open yet, so it holds nothing that a request needs
            living.cancel()

    async def _live(self, serving: asyncio.Task[None]) -> None:
        """The app is open from when its database is there until no request needs it."""
        async with await self._opened():
            await asyncio.wait([serving])  # which ends once every open request is answered
            self.leaving.reached("what goes on in the background")
            await self.background.drained(BACKGROUND_SECONDS)
            self.leaving.reached("the faces")

    async def _opened(self) -> AsyncExitStack:
        """The app and the faces are open, the doors too; what closes the first two."""
        tries = 0
        while True:
            async with AsyncExitStack() as closing:
                try:
                    await self._open(closing)
                except (StoreError, OSError) as error:
                    tries += 1
                    if tries == 1:  # it may last for a while: said once
                        log.warning("web can't open yet, and tries until it can: %s", _reason(error))
                else:
                    log.info("web is open%s", f", after {tries} tries that failed" if tries else "")
                    return closing.pop_all()
            await asyncio.sleep(min(LONGEST_WAIT_SECONDS, 2.0 ** min(tries - 1, 10)))

    async def _open(self, closing: AsyncExitStack) -> None:
        app = await closing.enter_async_context(opened(self.settings, connection_seconds=CONNECTION_SECONDS))
        closing.callback(self.leaving.reached, "the app")
        handlers = await closing.enter_async_context(self.faces(app, self.background))
        if unknown := sorted(set(handlers) - set(self.doors)):
            raise ValueError(f"a face serves what was not declared: {', '.join(unknown)}")
        for path, door in self.doors.items():
            door.handler = handlers.get(path, nobody)
        self.health.ask_database = app.store.ledger.organizations


def _reason(error: BaseException) -> str:
    """What *error* says, and what it came of, in a line."""
    said, cause = words_of(error), error.__cause__
    if cause is None:
        return said
    first, _, _ = words_of(cause).partition("\n")
    return f"{said} ({type(cause).__name__}: {first})"
