"""What Slack sends to the app: signed requests or envelopes, with retries and a watch on the answers."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import aiohttp

from tests.fakes.slack.sockets import Sockets
from tests.fakes.slack.things import Channel, Delivery, Json, Team, User
from tests.fakes.slack.world import World

PATIENCE: Final = 3.0
"""Seconds in which Slack wants an answer."""

EVENTS, INTERACTIVE, COMMANDS = "events_api", "interactive", "slash_commands"
JSON_TYPE: Final = "application/json"
FORM_TYPE: Final = "application/x-www-form-urlencoded"

EVENT_SCOPES: Final = {
    "app_mention": "app_mentions:read",
    "message.im": "im:history",
    "message.group": "groups:history",
    "message.channel": "channels:history",
}
"""The scope without which Slack doesn't send such an event."""


@dataclass(kw_only=True, eq=False)
class Delivering(World):
    """A world that tells the app at *bot_url*, or through its web sockets, what happens in it.

    *retry_waits*: the seconds before each retry of an event (Slack's are about 0, 60 and 300).
    *late* and *refused*: deliveries that were not answered in time, or not with 2xx; a test asserts that
    there are none. *echoes*: whether the app also hears of what its own bot does, as it would from Slack.
    """

    bot_url: str = ""
    by_socket: bool = False
    patience: float = PATIENCE
    retry_waits: tuple[float, ...] = (0, 0, 0)
    signing_time: Callable[[], float] = time.time
    echoes: bool = False
    deliveries: list[Delivery] = field(default_factory=list)
    late: list[Delivery] = field(default_factory=list)
    refused: list[Delivery] = field(default_factory=list)
    sockets: Sockets = field(init=False)
    _session: aiohttp.ClientSession | None = None
    _echoing: set[asyncio.Task[list[Delivery]]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sockets = Sockets(self, self.changed)

    async def close(self) -> None:
        """Nothing is sent any more."""
        for task in self._echoing:
            task.cancel()
        await asyncio.gather(*self._echoing, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    # ── raw requests ─────────────────────────────────────────────────────────────────────────

    def signed(
        self,
        body: bytes,
        content_type: str = JSON_TYPE,
        *,
        secret: str | None = None,
        at: float | None = None,
    ) -> dict[str, str]:
        """The headers of a request with *body* as Slack signs it; or as a forger would."""
        timestamp = str(int(self.signing_time() if at is None else at))
        base = b"v0:" + timestamp.encode() + b":" + body
        digest = hmac.new((secret or self.signing_secret).encode(), base, hashlib.sha256).hexdigest()
        return {
            "Content-Type": content_type,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": f"v0={digest}",
        }

    async def delivers(self, body: bytes, headers: Mapping[str, str]) -> Delivery:
        """Exactly that request reached the app. It may be a forged one: neither *late* nor *refused* tell."""
        delivery = Delivery(kind="raw", payload={}, headers=dict(headers), sent=body)
        await self._posted(delivery)
        return delivery

    async def verifies_url(self) -> Delivery:
        """Slack asked whether the app is there, by a challenge that its answer holds."""
        challenge = {"type": "url_verification", "token": "fake", "challenge": self.new_id("challenge-")}
        body = json.dumps(challenge).encode()
        delivery = Delivery(kind=EVENTS, payload=challenge, headers=self.signed(body), sent=body)
        await self._watched(delivery)
        return delivery

    # ── events ───────────────────────────────────────────────────────────────────────────────

    async def delivers_event(self, event: Json, team: Team, channel: Channel | None = None) -> list[Delivery]:
        """The app was told of *event*; each try of it, the last one accepted unless all failed.

        Nothing is sent that the token's scopes don't cover.
        """
        kind = event["type"] if event["type"] != "message" or channel is None else f"message.{channel.type}"
        if kind in EVENT_SCOPES and EVENT_SCOPES[kind] not in team.scopes:
            return []
        return await self._tried(self._envelope(event, team, channel))

    async def redelivers(self, delivery: Delivery, why: str = "http_timeout") -> Delivery:
        """The same event once more, with the same event id, as a retry."""
        again = self._made(EVENTS, delivery.payload, retry=delivery.retry + 1, why=why)
        await self._watched(again)
        return again

    async def _tried(self, payload: Json) -> list[Delivery]:
        tries: list[Delivery] = []
        why = ""
        for retry, wait in enumerate((0.0, *self.retry_waits)):
            if wait:
                await self.clock.sleep(wait)
            delivery = self._made(EVENTS, payload, retry=retry, why=why)
            await self._watched(delivery)
            tries.append(delivery)
            if delivery.accepted or delivery.answer_headers.get("X-Slack-No-Retry") == "1":
                break
            why = delivery.why
        return tries

    def _envelope(self, event: Json, team: Team, channel: Channel | None) -> Json:
        """The event as the outside of its request tells it: for whom, and how it was authorized."""
        authorization = {
            "enterprise_id": team.enterprise_id,
            "team_id": team.id,
            "user_id": team.bot_user_id,
            "is_bot": True,
            "is_enterprise_install": team.is_enterprise_install,
        }
        event_id = self.new_id("Ev")
        return {
            "token": "fake",
            "team_id": team.id,
            "enterprise_id": team.enterprise_id,
            "context_team_id": team.id,
            "context_enterprise_id": team.enterprise_id,
            "api_app_id": team.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(self.clock.now().timestamp()),
            "authorizations": [authorization],
            "is_ext_shared_channel": channel is not None and channel.is_ext_shared,
            "event_context": f"4-{event_id}",
        }

    def tells(self, event: Json, channel: Channel) -> None:
        """The app hears of what its bot did, if it *echoes*; nobody waits for that."""
        team = self.teams[channel.team_id]
        if not self.echoes or team.bot_user_id not in channel.members:
            return
        at = {"channel": channel.id, "channel_type": channel.type, "event_ts": self.new_ts()}
        task = asyncio.ensure_future(self.delivers_event(event | at, team, channel))
        self._echoing.add(task)
        task.add_done_callback(self._echoing.discard)

    # ── interactions and commands: not retried ───────────────────────────────────────────────

    async def delivers_interaction(self, payload: Json) -> Delivery:
        """The app was told what a person did with something it shows."""
        delivery = self._made(INTERACTIVE, payload)
        await self._watched(delivery)
        return delivery

    async def delivers_command(self, payload: dict[str, str]) -> Delivery:
        """The app was told of a slash command."""
        delivery = self._made(COMMANDS, payload)
        await self._watched(delivery)
        return delivery

    def about(self, user: User, team: Team) -> Json:
        """Who did it, and where, as all interactions begin."""
        whole = team.is_enterprise_install
        grid = {"enterprise_id": team.enterprise_id, "enterprise_name": f"{team.name} Inc"}
        enterprise = {"id": team.enterprise_id, "name": f"{team.name} Inc"} if team.enterprise_id else None
        home: Json = {"id": team.id, "domain": team.domain} | (grid if team.enterprise_id else {})
        return {
            "api_app_id": team.app_id,
            "token": "fake",
            "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team_id},
            "team": None if whole else home,
            "enterprise": enterprise,
            "is_enterprise_install": whole,
        }

    # ── sending ──────────────────────────────────────────────────────────────────────────────

    def _made(self, kind: str, payload: Json, *, retry: int = 0, why: str = "") -> Delivery:
        """The request as Slack sends it."""
        content_type = JSON_TYPE if kind == EVENTS else FORM_TYPE
        if kind == EVENTS:
            body = json.dumps(payload).encode()
        else:
            body = urlencode({"payload": json.dumps(payload)} if kind == INTERACTIVE else payload).encode()
        headers = self.signed(body, content_type)
        if retry:
            headers |= {"X-Slack-Retry-Num": str(retry), "X-Slack-Retry-Reason": why}
        return Delivery(kind=kind, payload=payload, headers=headers, sent=body, retry=retry, retry_reason=why)

    async def _watched(self, delivery: Delivery) -> None:
        """It was sent, and is remembered as late or refused if it was."""
        await (self._through_socket if self.by_socket else self._posted)(delivery)
        if delivery.status is None and delivery.why == "http_timeout":
            self.late.append(delivery)
        elif not delivery.accepted:
            self.refused.append(delivery)

    async def _posted(self, delivery: Delivery) -> None:
        if not self.bot_url:
            raise RuntimeError("say slack.bot_url first, the address where the app listens")
        session = self._session = self._session or aiohttp.ClientSession()

        async def post() -> None:
            async with session.post(
                self.bot_url, data=delivery.sent, headers=delivery.headers, allow_redirects=False
            ) as response:
                delivery.body = await response.text()
                delivery.status = response.status
                delivery.answer_headers = dict(response.headers)
                delivery.why = "" if delivery.accepted else "http_error"

        await self._timed(delivery, post)

    async def _through_socket(self, delivery: Delivery) -> None:
        async def send() -> None:
            answer = await self.sockets.send(
                delivery.kind, delivery.payload, retry=delivery.retry, why=delivery.retry_reason
            )
            if answer is None:
                delivery.why = "connection_failed"
            else:
                delivery.status, delivery.body = 200, json.dumps(answer) if answer else ""

        await self._timed(delivery, send)

    async def _timed(self, delivery: Delivery, send: Callable[[], Awaitable[None]]) -> None:
        """It was sent and answered, or Slack hung up: what runs on in the app then, nobody hears of."""
        self.deliveries.append(delivery)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(self.patience):
                await send()
        except TimeoutError:
            delivery.status, delivery.why = None, "http_timeout"
        except aiohttp.ClientError:
            delivery.status, delivery.why = None, "connection_failed"
        delivery.seconds = loop.time() - began
        self.changed()
