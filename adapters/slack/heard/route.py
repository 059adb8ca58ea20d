"""The one path that Slack calls: what is not signed is refused unread, the rest is Bolt's to sort out."""

import json
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from slack_bolt.adapter.starlette.async_handler import to_starlette_response
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from adapters.slack.heard.signed import Signatures

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
        said = _read(body, kind)
        if said is None:
            return PlainTextResponse("this can't be read", status_code=400)
        # As a socket hands it over, read: of a form, Bolt takes any with the word payload in it for JSON.
        asked = AsyncBoltRequest(body=said, headers=dict(request.headers), mode="socket_mode")
        return to_starlette_response(await self.app.async_dispatch(asked))


def _read(body: bytes, kind: str) -> dict[str, Any] | None:
    """What *body* says; None unless it is UTF-8, has each field once and, where it is JSON, an object."""
    try:
        text = body.decode()
        if kind == KINDS[0]:
            found = json.loads(text)
        else:
            fields = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
            form = dict(fields)
            if len(form) < len(fields):
                return None
            found = json.loads(form["payload"]) if "payload" in form else form
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
