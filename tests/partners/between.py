"""What stands between the bot and the emulated Slack: it passes every call on, and keeps it.

It is here for two reasons. The emulator can't be asked for a modal's blocks, nor for what was said to one
person alone, so both are read off as they pass. And it reads arguments from a POST's body alone, where Slack
also takes a GET and a query, which its own Python client uses for some methods: those are put into a body.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
from aiohttp import web

PATIENCE = aiohttp.ClientTimeout(total=10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """One call of the bot's: the *method*, what it *sent*, and what it was answered."""

    method: str
    sent: Mapping[str, Any]
    status: int
    answer: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        return self.answer.get("ok") is True

    @property
    def unknown(self) -> bool:
        """The emulator has no such method."""
        return self.status == 404


@dataclass(kw_only=True)
class Between:
    """*api_url* is what the bot takes for Slack's; *passed* are its calls, *replies* what went to a
    response_url."""

    upstream: str
    session: aiohttp.ClientSession
    address: str = ""
    passed: list[Passed] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)

    @property
    def api_url(self) -> str:
        return f"{self.address}/api/"

    @property
    def response_url(self) -> str:
        return f"{self.address}/response"

    def of(self, method: str) -> list[Passed]:
        """The calls of *method* that went well, oldest first."""
        return [call for call in self.passed if call.method == method and call.ok]

    async def _call(self, request: web.Request) -> web.Response:
        in_json = request.content_type == "application/json"
        text = await request.text()
        given = json.loads(text) if in_json and text else dict(parse_qsl(text, keep_blank_values=True))
        sent = {**request.query, **given}
        body: dict[str, Any] = {"json": sent} if in_json else {"data": sent}
        headers = {k: v for k, v in request.headers.items() if k.lower() == "authorization"}
        method = request.match_info["method"]
        url = f"{self.upstream}/api/{method}"
        async with self.session.post(url, headers=headers, timeout=PATIENCE, **body) as response:
            answer = await response.read()
            status, kind = response.status, response.content_type
        self.passed.append(Passed(method=method, sent=_read(sent), status=status, answer=json.loads(answer)))
        return web.Response(status=status, body=answer, content_type=kind)

    async def _reply(self, request: web.Request) -> web.Response:
        self.replies.append(await request.json())
        return web.json_response({"ok": True})


def _read(sent: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, those that are JSON in a form's field read."""
    return {name: _value(value) for name, value in sent.items()}


def _value(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


@asynccontextmanager
async def between(upstream: str) -> AsyncIterator[Between]:
    """It listens at a free port of this machine, and passes on to *upstream*, until the block ends."""
    async with aiohttp.ClientSession() as session:
        found = Between(upstream=upstream, session=session)
        app = web.Application(client_max_size=16 * 1024**2)
        app.router.add_route("*", "/api/{method}", found._call)
        app.router.add_post("/response", found._reply)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        found.address = f"http://{host}:{port}"
        try:
            yield found
        finally:
            await runner.cleanup()
