"""The HTTP side: the Web API with its tokens, scopes and failures, uploads, response URLs and web sockets."""

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

# These register the methods they answer.
from tests.fakes.slack import chat, installing, uploads, views
from tests.fakes.slack.hooks import respond
from tests.fakes.slack.methods import METHODS, Method, method, require_scope
from tests.fakes.slack.sockets import Sockets
from tests.fakes.slack.things import Call, Json, Refused, Team
from tests.fakes.slack.trouble import Trouble, Troubles
from tests.fakes.slack.world import World

BODY_BYTES: Final = 64 * 1024 * 1024

FAULTS: Final = frozenset(
    "invalid_arguments invalid_blocks invalid_blocks_format invalid_metadata_format msg_blocks_too_long "
    "msg_too_long no_text unknown_method view_too_large".split()
)
"""Errors that no state of the world excuses: the app should not have sent that."""

ANSWERING: Final = (chat, installing, uploads, views)


@method("api.test", token="none")
def api_test(world: World, team: Team, args: Json) -> Json:
    """Whatever was sent."""
    return {"args": args}


class Api:
    """Answers requests to the Web API from *world*, unless *troubles* say otherwise."""

    def __init__(self, world: World, troubles: Troubles) -> None:
        self._world = world
        self._troubles = troubles
        self._closing = asyncio.Event()

    def close(self) -> None:
        """Nothing hangs any more."""
        self._closing.set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """One request to a method."""
        name = request.match_info["method"]
        try:
            payload, token = await _read(request)
        except ValueError:
            self._world.fault(name, "invalid_json")
            return web.json_response({"ok": False, "error": "invalid_json"})
        call = Call(method=name, payload=payload, at=self._world.clock.now(), token=token)
        self._world.calls.append(call)
        self._world.changed()
        trouble = self._troubles.take(name, payload)
        if trouble is None:
            return self._done(call)
        return await self._troubled(request, call, trouble)

    async def _troubled(self, request: web.Request, call: Call, trouble: Trouble) -> web.StreamResponse:
        if trouble.until is not None:
            await self._until(trouble.until)
            return self._done(call)
        if trouble.lost or trouble.cut:
            if trouble.lost:
                self._done(call)
            call.status = call.answer = None
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        call.status = trouble.status
        if trouble.error is None:
            return web.Response(status=trouble.status, body=trouble.body, headers=trouble.headers)
        call.answer = {"ok": False, "error": trouble.error}
        return web.json_response(call.answer, status=trouble.status, headers=trouble.headers)

    async def _until(self, released: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()) for event in (released, self._closing)]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    def _done(self, call: Call) -> web.Response:
        """The method ran, or was refused."""
        headers = {}
        try:
            found = METHODS.get(call.method)
            if found is None:
                raise Refused("unknown_method")
            team = self._team(found, call.token)
            headers = {"x-oauth-scopes": ",".join(sorted(team.scopes))}
            if found.scope:
                require_scope(team, found.scope)
            call.answer = {"ok": True, **found.run(self._world, team, call.payload)}
        except Refused as refused:
            call.answer = {"ok": False, "error": refused.error, **refused.beside}
            if refused.error in FAULTS:
                messages = refused.beside.get("response_metadata", {}).get("messages", ())
                self._world.fault(call.method, refused.error, *messages)
        call.status = 200
        self._world.changed()
        return web.json_response(call.answer, headers=headers)

    def _team(self, found: Method, token: str) -> Team:
        """The workspace of the token. Raises Refused where it is not the kind the method takes."""
        if found.token == "none":
            return self._world.team
        if not token:
            raise Refused("not_authed")
        if token == self._world.app_token:
            if found.token != "app":
                raise Refused("not_allowed_token_type")
            return self._world.team
        for team in self._world.teams.values():
            if team.bot_token == token:
                if team.revoked:
                    raise Refused("token_revoked")
                if found.token != "bot":
                    raise Refused("not_allowed_token_type")
                return team
        raise Refused("invalid_auth")


async def _read(request: web.Request) -> tuple[Json, str]:
    """The arguments, from address and body, and the token, which is no argument."""
    payload: Json = dict(request.query)
    if request.content_type == "application/json":
        given = json.loads(await request.text() or "{}")
        payload |= given if isinstance(given, dict) else {}
    elif request.method == "POST":
        payload |= {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
    token = str(payload.pop("token", ""))
    authorization = request.headers.get("Authorization", "")
    if authorization.startswith("Bearer "):
        token = authorization.removeprefix("Bearer ")
    elif authorization.startswith("Basic "):
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
        payload["client_id"], _, payload["client_secret"] = pair.partition(":")
    return payload, token


def application(world: World, api: Api, sockets: Sockets) -> web.Application:
    """All that the fake serves."""

    def of_world(
        handler: Callable[[World, web.Request], Awaitable[web.StreamResponse]],
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handle(request: web.Request) -> web.StreamResponse:
            return await handler(world, request)

        return handle

    app = web.Application(client_max_size=BODY_BYTES)
    app.router.add_route("*", "/api/{method}", api.answer)
    app.router.add_post("/upload/v1/{file}", of_world(uploads.receive))
    app.router.add_post("/hooks/response/{hook}", of_world(respond))
    app.router.add_get("/link/", sockets.serve)
    return app
