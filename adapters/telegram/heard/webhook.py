"""The one path that Telegram calls: what does not bear our secret is refused unread."""

import hmac
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from adapters.telegram.heard.listening import Listening
from core.errors import ChatError

log = logging.getLogger(__name__)

SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """An ASGI application. *secrets*: Telegram was told the first; the others still hold, for a while."""

    listening: Listening
    secrets: Sequence[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer(Request(scope, receive))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """401 without the secret, 415 of another kind, 400 unreadable, 503 to come again, else 200."""
        if not self._holds(request.headers.get(SECRET_HEADER, "")):
            return PlainTextResponse("not from Telegram", status_code=401)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return PlainTextResponse("send JSON", status_code=415)
        update = _read(await request.body())
        if update is None:
            return PlainTextResponse("this can't be read", status_code=400)
        try:
            await self.listening.heard(update)
        except ChatError as error:
            log.warning("an update is put off: %s", error)
            return PlainTextResponse("Not now", 503, {"Retry-After": "1"})
        return Response(status_code=200)

    def _holds(self, given: str) -> bool:
        """In constant time, whichever it is."""
        said = given.encode("utf-8", "surrogateescape")
        same = [hmac.compare_digest(said, secret.encode()) for secret in self.secrets]
        return any(same)


def _read(body: bytes) -> dict[str, Any] | None:
    """What *body* says; None unless it is a JSON object in UTF-8 with a number."""
    try:
        found = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    numbered = isinstance(found, dict) and isinstance(found.get("update_id"), int)
    return found if numbered else None
