"""What the body of any request has to keep to, before a surface sees the request.

So no surface can be made to hold a body of any size, or to wait for one that never comes. The head's own
deadline is the connection's (heads.py): there is no request yet for anybody to refuse.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_048_576
"""Many times what Slack and Telegram send: a modal with everything in it has some 300 KB."""

BODY_SECONDS = 10.0
"""Slack gives up after 3 s, so whoever takes longer to send a request is not Slack."""


class Refused(Exception):
    """The request isn't passed on: *status* and *words* are its answer, the connection's last."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        self.status, self.words, self.headers = status, words, headers or {}
        super().__init__(words)


@dataclass(frozen=True, slots=True)
class Bounds:
    """*app* sees a request once its body is whole: as it was sent, uncompressed, and of bounded size.

    A larger one is answered 413: by its Content-Length before anything of it is read, else as soon as more
    has come. One that isn't whole within *seconds* is answered 408, a compressed one 415.
    """

    app: ASGIApp
    most_bytes: int = MOST_BYTES
    seconds: float = BODY_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        try:
            body = await self._whole(Headers(scope=scope), receive)
        except Refused as refused:
            # what is still to come of the body is nobody's: the connection can't carry a next request
            headers = {"Connection": "close", **refused.headers}
            return await PlainTextResponse(refused.words, refused.status, headers)(scope, receive, send)
        if body is not None:
            await self.app(scope, _replayed(body, receive), send)

    async def _whole(self, headers: Headers, receive: Receive) -> bytes | None:
        """The body; None where the client left before its end. Raises Refused."""
        if any(said.strip().lower() not in ("", "identity") for said in headers.getlist("content-encoding")):
            raise Refused(415, "Compressed bodies aren't taken", {"Accept-Encoding": "identity"})
        declared = headers.get("content-length", "")  # digits only: the connection refuses anything else
        if declared and int(declared) > self.most_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.seconds):
                return await self._read(receive)
        except TimeoutError:
            raise Refused(408, "The body was not whole in time") from None

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > self.most_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> Refused:
        return Refused(413, f"A body has at most {self.most_bytes} bytes")


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A *receive* that hands out the whole body first; then the connection's own, which tells of its end."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay
