"""A path of the web process that is there before what answers at it: the process binds first, connects after.

Also where a surface's answer is missing: while the store can't be had, the sender is asked to come again.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.errors import StoreError

log = logging.getLogger(__name__)

AGAIN: Mapping[str, str] = {"Retry-After": "1"}
"""Slack tries an event again by itself; the header is for everybody else's clients."""


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    """The handler of a path that this process, as it is set up, doesn't serve."""
    await PlainTextResponse("Not Found", 404)(scope, receive, send)


@dataclass(kw_only=True, slots=True, eq=False)
class Door:
    """What answers at *path*: *handler*, if the method is one of *methods*; without one, 503 at once.

    Another method is answered 405, and nobody looks at what it carries. A StoreError of the handler's becomes
    503 too, so that the sender sends it again; a surface knows by its event's key what it had written.
    """

    path: str
    methods: tuple[str, ...]
    handler: ASGIApp | None = None

    @property
    def route(self) -> Route:
        """For a Starlette app. No methods of its own: it would add HEAD, which no surface answers."""
        return Route(self.path, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self.methods:
            refusal = PlainTextResponse("Method Not Allowed", 405, {"Allow": ", ".join(self.methods)})
            return await refusal(scope, receive, send)
        if self.handler is None:
            return await PlainTextResponse("Not open yet", 503, AGAIN)(scope, receive, send)
        await self._answered(self.handler, scope, receive, send)

    async def _answered(self, handler: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await handler(scope, receive, sent)
        except StoreError as error:
            if begun:
                raise
            log.warning("%s %s is put off: %s", scope["method"], self.path, error)
            await PlainTextResponse("Not now", 503, AGAIN)(scope, receive, send)
        except asyncio.CancelledError:
            log.error("%s %s was cut off before its answer", scope["method"], self.path)
            raise
