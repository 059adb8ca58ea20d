"""The HTTP side: ``/bot<token>/<method>``, with the failures that a test asks for."""

import asyncio
import json
from typing import Any, Final

from aiohttp import web

# These register the methods they answer.
from tests.fakes.telegram import asking, polling, sending
from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.methods import METHODS, decoded
from tests.fakes.telegram.things import Call, Json, Refused
from tests.fakes.telegram.trouble import Trouble, Troubles

BODY_BYTES: Final = 64 * 1024 * 1024
ANSWERING: Final = (asking, polling, sending)


class Api:
    """Answers requests to the Bot API from *world*, unless *troubles* say otherwise."""

    def __init__(self, world: Delivering, troubles: Troubles) -> None:
        self._world = world
        self._troubles = troubles
        self._closing = asyncio.Event()
        self._late: set[asyncio.Future[web.Response]] = set()

    def close(self) -> None:
        """Nothing hangs any more."""
        self._closing.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request to a method."""
        call = Call(
            method=request.match_info["method"],
            payload={},
            at=self._world.clock.now(),
            token=request.match_info["token"],
        )
        try:
            await _read(request, call)
        except ValueError:
            return self._refused(
                call, Refused(400, "Bad Request: strings must be encoded in UTF-8", fault=True)
            )
        self._world.calls.append(call)
        self._world.changed()
        trouble = self._troubles.take(call.method, call.payload)
        if trouble is None:
            return await self._done(call)
        return await self._troubled(request, call, trouble)

    async def _troubled(self, request: web.Request, call: Call, trouble: Trouble) -> web.StreamResponse:
        if trouble.until is not None:
            late = asyncio.ensure_future(self._later(call, trouble.until))
            self._late.add(late)
            late.add_done_callback(self._late.discard)
            return await asyncio.shield(late)  # done even if who asked has given up
        if trouble.lost or trouble.cut:
            if trouble.lost:
                await self._done(call)
            call.status = call.answer = None
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        if trouble.description is not None:
            return self._refused(
                call, Refused(trouble.status, trouble.description, parameters=trouble.parameters)
            )
        call.status = trouble.status
        return web.Response(status=trouble.status, body=trouble.body, headers=trouble.headers)

    async def _later(self, call: Call, released: asyncio.Event) -> web.Response:
        waits = [asyncio.ensure_future(event.wait()) for event in (released, self._closing)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        return await self._done(call)

    async def _done(self, call: Call) -> web.Response:
        """The method ran, or was refused."""
        try:
            if ":" not in call.token:
                raise Refused(404, "Not Found")
            if call.token != self._world.token:
                raise Refused(401, "Unauthorized")
            found = METHODS.get(call.method.lower())
            if found is None:
                raise Refused(404, "Not Found: method not found", fault=True)
            result = await found(self._world, call)
        except Refused as refused:
            return self._refused(call, refused)
        return self._answered(call, 200, {"ok": True, "result": result})

    def _refused(self, call: Call, refused: Refused) -> web.Response:
        if refused.fault:
            self._world.fault(call.method, refused.description)
        answer: Json = {"ok": False, "error_code": refused.code, "description": refused.description}
        if refused.parameters:
            answer["parameters"] = refused.parameters
        return self._answered(call, refused.code, answer)

    def _answered(self, call: Call, status: int, answer: dict[str, Any]) -> web.Response:
        call.status, call.answer = status, answer
        self._world.changed()
        return web.json_response(answer, status=status)


async def _read(request: web.Request, call: Call) -> None:
    """The arguments, from address and body, and the files that came with them."""
    for name, value in request.query.items():
        call.payload[name] = decoded(name, value)
    if request.content_type == "application/json":
        given = json.loads(await request.text() or "{}")
        call.payload |= given if isinstance(given, dict) else {}
        return
    for name, part in (await request.post()).items():
        if isinstance(part, web.FileField):
            call.files[name] = (part.filename, part.file.read())
            call.mimes[name] = part.content_type
        else:
            text = part.decode() if isinstance(part, bytes | bytearray) else part
            call.payload[name] = decoded(name, text)


def application(api: Api) -> web.Application:
    """All that the fake serves."""
    app = web.Application(client_max_size=BODY_BYTES)
    app.router.add_route("*", "/bot{token}/{method}", api.answer)
    return app
