"""A service that speaks the OpenAI chat API, and answers what it was told to, in order."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer of the service."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False  # takes the request and never answers
    cuts: bool = False  # closes the connection in the middle of the body


def completion(
    text: str | list[dict[str, str]] | None = None,
    *,
    calls: list[Any] | None = None,
    finish: str | None = "stop",
    refusal: str | None = None,
    usage: Any = None,
    model: str | None = "small-1-2026",
) -> Answer:
    """A chat completion as the service writes it."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": refusal}
    if calls is not None:
        message["tool_calls"] = calls
    return in_json(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7} if usage is None else usage,
        }
    )


def call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """One tool call of a completion."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def in_json(body: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(
        status=status,
        body=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}},
    )


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> Answer:
    """An error in the API's usual form; ``retry_after="5"`` sets a header."""
    return in_json({"error": {"message": message, "type": "x", "code": code}}, status, **headers)


class OpenAIServer:
    """Answers *answers* in order, and keeps what it was asked: *bodies*, with their *headers* and *paths*."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[Any] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.address = ""
        self._closing = asyncio.Event()

    @property
    def base_url(self) -> str:
        return f"{self.address}/v1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.paths.append(request.path)
        self.headers.append(dict(request.headers))
        self.bodies.append(await request.json())
        answer = self.answers.pop(0) if self.answers else error(418, "the script is over")
        if answer.hangs:
            await self._closing.wait()
        if answer.cuts:
            return await _cut(request, answer)
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


async def _cut(request: web.Request, answer: Answer) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": str(len(answer.body))})
    await response.prepare(request)
    await response.write(answer.body[: len(answer.body) // 2])
    assert request.transport is not None
    request.transport.abort()
    return response


@asynccontextmanager
async def serving() -> AsyncIterator[OpenAIServer]:
    """A server on a free port of this machine, until the block ends."""
    server = OpenAIServer()
    app = web.Application()
    app.router.add_post("/{tail:.*}", server._answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    server.address = f"http://{host}:{port}"
    try:
        yield server
    finally:
        server._closing.set()
        await runner.cleanup()
