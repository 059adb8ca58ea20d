"""Socket Mode: the app's web sockets, envelopes sent through them and their acknowledgements."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from aiohttp import WSMsgType, web

from tests.fakes.slack.things import Json
from tests.fakes.slack.world import APP_ID, World

CONNECTIONS: Final = 10

TAKE_ANSWERS: Final = frozenset({"interactive", "slash_commands"})
"""The types whose acknowledgement may carry an answer."""


@dataclass(kw_only=True, eq=False)
class Connection:
    """One web socket of the app. *envelopes*: what was sent through it, oldest first."""

    id: int
    socket: web.WebSocketResponse
    envelopes: list[Json] = field(default_factory=list)


class Sockets:
    """The web sockets that are *open*; *opened* are all there ever were, *most* how many at once."""

    def __init__(self, world: World, changed: Callable[[], None]) -> None:
        self._world = world
        self._changed = changed
        self._turn = 0
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._tickets: set[str] = set()
        self.open: list[Connection] = []
        self.opened: list[Connection] = []
        self.most = 0
        self.acks: list[Json] = []

    async def serve(self, request: web.Request) -> web.WebSocketResponse:
        """One connection until it ends."""
        ticket = request.query.get("ticket", "")
        if not ticket.startswith("ticket-") or ticket in self._tickets:
            raise web.HTTPForbidden(text="the address is good for one connection")
        self._tickets.add(ticket)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if len(self.open) >= CONNECTIONS:
            await socket.send_json({"type": "disconnect", "reason": "too_many_websockets"})
            await socket.close()
            return socket
        connection = Connection(id=len(self.opened), socket=socket)
        self.open.append(connection)
        self.opened.append(connection)
        self.most = max(self.most, len(self.open))
        await socket.send_json(self._hello())
        self._changed()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._heard(message.data)
        finally:
            self.open.remove(connection)
            self._changed()
        return socket

    async def send(self, kind: str, payload: Json, *, retry: int = 0, why: str = "") -> Json | None:
        """The payload of the acknowledgement, empty where it had none; None: nobody is connected.

        Each envelope goes to one of the connections, in turn. Waits as long as the caller lets it.
        """
        if not self.open:
            return None
        connection = self.open[self._turn % len(self.open)]
        self._turn += 1
        envelope: Json = {
            "type": kind,
            "envelope_id": self._world.new_id("envelope-"),
            "accepts_response_payload": kind in TAKE_ANSWERS,
            "payload": payload,
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": retry, "retry_reason": why}
        connection.envelopes.append(envelope)
        acked: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[envelope["envelope_id"]] = acked
        await connection.socket.send_json(envelope)
        ack = await acked
        if ack.get("payload") and kind not in TAKE_ANSWERS:
            self._world.fault("socket", "an answer where none is taken", kind)
        answer: Json = ack.get("payload") or {}
        return answer

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Slack asks each connection to be made anew, and closes it."""
        for connection in list(self.open):
            told = {"type": "disconnect", "reason": reason, "debug_info": {"host": "fake"}}
            await connection.socket.send_json(told)

    async def close(self) -> None:
        """No socket is open any more."""
        for connection in list(self.open):
            await connection.socket.close()

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self.open),
            "connection_info": {"app_id": APP_ID},
            "debug_info": {"host": "fake", "approximate_connection_time": 18060},
        }

    def _heard(self, text: str) -> None:
        ack = json.loads(text)
        self.acks.append(ack)
        waiting = self._waiting.pop(ack.get("envelope_id", ""), None)
        if waiting is None:
            self._world.fault("socket", "an acknowledgement of nothing that waits for one", text[:200])
        elif not waiting.done():
            waiting.set_result(ack)
        self._changed()
