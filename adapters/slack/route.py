"""The one path that Slack calls: what is not signed is refused unread, the rest is Bolt's to sort out."""

import json
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from slack_bolt.adapter.starlette.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from adapters.slack.signed import Signatures

KINDS: Final = ("application/json", "application/x-www-form-urlencoded")


@dataclass(frozen=True, kw_only=True, slots=True)
class SlackRoute:
    """An ASGI application for events, clicks, forms and commands alike."""

    app: AsyncApp
    signatures: Signatures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer(Request(scope, receive))
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        """401 unsigned, 415 of another kind, 400 unreadable, else what Bolt says."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in KINDS:
            return PlainTextResponse("send JSON or a form", status_code=415)
        body = await request.body()
        if not self.signatures.hold(request.headers, body):
            return PlainTextResponse("not signed by Slack", status_code=401)
        if not _readable(body, kind):
            return PlainTextResponse("this can't be read", status_code=400)
        return await AsyncSlackRequestHandler(self.app).handle(request)


def _readable(body: bytes, kind: str) -> bool:
    """Whether *body* is UTF-8 and, where it has JSON, an object."""
    try:
        text = body.decode()
        if kind == KINDS[0]:
            return isinstance(json.loads(text), dict)
        payloads = parse_qs(text, max_num_fields=100).get("payload", ())
        return all(isinstance(json.loads(payload), dict) for payload in payloads)
    except ValueError:
        return False
