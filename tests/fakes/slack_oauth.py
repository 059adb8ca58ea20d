"""The part of Slack that gives tokens, over HTTP: for a code, for a refresh token, and whose one is."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

Json = dict[str, Any]


@dataclass(kw_only=True)
class OAuthServer:
    """Answers a code or a refresh token as *grants* says, once each; *refuses* with that error."""

    url: str = ""
    grants: dict[str, Json] = field(default_factory=dict)
    refuses: str | None = None
    asked: list[Mapping[str, str]] = field(default_factory=list)
    busy: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a request is held."""
    may_answer: asyncio.Event | None = None
    """Where there is one, no request is answered before it is set."""

    @property
    def client(self) -> AsyncWebClient:
        """Of this Slack, without a token."""
        return AsyncWebClient(base_url=f"{self.url}/api/", timeout=10)

    async def access(self, request: web.Request) -> web.Response:
        said = {name: str(value) for name, value in (await request.post()).items()}
        basic = request.headers.get("Authorization", "").removeprefix("Basic ")
        client, _, secret = base64.b64decode(basic).decode().partition(":")
        self.asked.append({**said, "client_id": client, "client_secret": secret})
        if self.may_answer is not None:
            self.busy.set()
            await self.may_answer.wait()
        if self.refuses is not None:
            return web.json_response({"ok": False, "error": self.refuses})
        granted = self.grants.pop(said.get("code") or said.get("refresh_token") or "", None)
        if granted is None:
            kind = "code" if "code" in said else "refresh_token"
            return web.json_response({"ok": False, "error": f"invalid_{kind}"})
        return web.json_response({"ok": True, **granted})

    async def whose(self, request: web.Request) -> web.Response:
        if not request.headers.get("Authorization", "").startswith("Bearer xoxb-"):
            return web.json_response({"ok": False, "error": "not_authed"})
        return web.json_response({"ok": True, "url": "https://acme.slack.example/", "bot_id": "B1"})


@asynccontextmanager
async def giving_tokens() -> AsyncIterator[OAuthServer]:
    """Such a service on this machine."""
    server = OAuthServer()
    app = web.Application()
    app.router.add_post("/api/oauth.v2.access", server.access)
    app.router.add_post("/api/auth.test", server.whose)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        await runner.cleanup()
