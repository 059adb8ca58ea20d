"""What Telegram tells the bot: updates by webhook or long polling, in order or not, once or again."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from tests.fakes.telegram.things import Delivery, Json, Refused, Update, Webhook
from tests.fakes.telegram.world import World

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"
OTHER_POLLER: Final = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
)
UNASKED: Final = frozenset({"chat_member", "message_reaction", "message_reaction_count"})
"""Kinds of updates that come only where they are asked for by name."""

KEPT: Final = timedelta(hours=24)


@dataclass(kw_only=True, eq=False)
class Delivering(World):
    """A world that tells the bot what happens in it.

    *webhook*: what setWebhook said, None without one. *bot_url*: where requests to the webhook really go: a
    whole address, or one without a path, to which that of the webhook is added; empty: to the webhook's own.
    *pending*: updates that nobody took yet. *held*: while True, nothing is told at all. *refused*:
    deliveries that were not answered with 2xx.
    """

    webhook: Webhook | None = None
    bot_url: str = ""
    allowed: list[str] | None = None
    patience: float = 30.0
    held: bool = False
    pending: list[Update] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    refused: list[Delivery] = field(default_factory=list)
    _held: list[Update] = field(default_factory=list)
    _again: list[Update] = field(default_factory=list)
    _poll: asyncio.Future[str] | None = None
    _session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Nothing is sent any more."""
        self.stops_polls("Conflict: the server closes")
        if self._session is not None:
            await self._session.close()

    # ── telling ──────────────────────────────────────────────────────────────────────────────

    async def tells(self, kind: str, told: Json) -> list[Delivery]:
        """The bot was told; nothing came of it where nobody listens, or it wants no such updates."""
        if kind in UNASKED if self.allowed is None else kind not in self.allowed:
            return []
        number = self.new_number("update", 500_001)
        update = Update(id=number, kind=kind, payload={"update_id": number, kind: told})
        self.updates.append(update)
        if self.held:
            self._held.append(update)
            return []
        return await self._goes_out(update)

    async def redelivers(self) -> list[Delivery]:
        """All that nobody took yet went to the webhook, the oldest first, each once."""
        return [await self._posted(update) for update in list(self.pending) if self.webhook is not None]

    async def delivers_again(self, update: Update) -> list[Delivery]:
        """The same update once more, as when Telegram did not see the answer."""
        if self.webhook is not None:
            return [await self._posted(update)]
        self._again.append(update)
        self.changed()
        return []

    async def releases(self, order: Sequence[int] | None = None) -> list[Delivery]:
        """What was held back went out; *order* names each held update by its place (0 the oldest).

        To a poller they come in their own order nevertheless, as getUpdates sorts them.
        """
        places = range(len(self._held)) if order is None else order
        if sorted(places) != list(range(len(self._held))):
            raise ValueError(f"{len(self._held)} updates are held; order names each of them once")
        held, self._held, self.held = self._held, [], False
        return [delivery for place in places for delivery in await self._goes_out(held[place])]

    async def delivers(self, body: bytes, headers: dict[str, str]) -> Delivery:
        """Exactly that request reached the webhook's address. It may be a forged one."""
        update = Update(id=0, kind="raw", payload={})
        return await self._sent(Delivery(update=update, url=self._address(), headers=headers), body)

    async def _goes_out(self, update: Update) -> list[Delivery]:
        self.pending.append(update)
        self.pending.sort(key=lambda waiting: waiting.id)
        self.changed()
        return [await self._posted(update)] if self.webhook is not None else []

    # ── by webhook ───────────────────────────────────────────────────────────────────────────

    async def _posted(self, update: Update) -> Delivery:
        hook = self.webhook
        assert hook is not None
        headers = {"Content-Type": "application/json"}
        if hook.secret_token:
            headers[SECRET_HEADER] = hook.secret_token
        delivery = Delivery(update=update, url=self._address(), headers=headers)
        await self._sent(delivery, json.dumps(update.payload).encode())
        if delivery.accepted:
            self.pending = [waiting for waiting in self.pending if waiting is not update]
        else:
            self.refused.append(delivery)
            hook.last_error_at, hook.last_error_message = self.clock.now(), delivery.why
        self.changed()
        return delivery

    def _address(self) -> str:
        """Where a request to the webhook goes."""
        url = self.webhook.url if self.webhook else ""
        if not self.bot_url:
            if not url:
                raise RuntimeError("say telegram.bot_url, or let the app call setWebhook")
            return url
        if urlsplit(self.bot_url).path.strip("/"):
            return self.bot_url
        path = urlsplit(url)._replace(scheme="", netloc="").geturl()
        return self.bot_url.rstrip("/") + path

    async def _sent(self, delivery: Delivery, body: bytes) -> Delivery:
        session = self._session = self._session or aiohttp.ClientSession()
        self.deliveries.append(delivery)
        began = asyncio.get_running_loop().time()
        try:
            async with (
                asyncio.timeout(self.patience),
                session.post(
                    delivery.url, data=body, headers=delivery.headers, allow_redirects=False
                ) as response,
            ):
                delivery.body = await response.text()
                delivery.status = response.status
                if not delivery.accepted:
                    phrase = HTTPStatus(response.status).phrase
                    delivery.why = f"Wrong response from the webhook: {response.status} {phrase}"
        except TimeoutError:
            delivery.status, delivery.why = None, "Read timeout expired"
        except aiohttp.ClientError:
            delivery.status, delivery.why = None, "Connection refused"
        delivery.seconds = asyncio.get_running_loop().time() - began
        return delivery

    # ── by polling ───────────────────────────────────────────────────────────────────────────

    async def polls(self, *, offset: int, limit: int, seconds: float) -> list[Update]:
        """What waits from *offset* on, at once or within *seconds*; before it, nothing waits any more.

        A negative *offset* forgets all but the last so many. Whoever polled before is refused, by Refused.
        """
        self.stops_polls(OTHER_POLLER)
        if offset < 0:
            offset = ([0] + [update.id for update in self.pending])[max(offset, -len(self.pending))]
        self.pending = [update for update in self.pending if update.id >= offset]
        poll = self._poll = asyncio.get_running_loop().create_future()
        try:
            async with self.clock.timeout(seconds):
                while not self._waiting() and seconds and not poll.done():
                    await _first(self.next_change, poll)
        except TimeoutError:
            pass
        finally:
            if self._poll is poll:
                self._poll = None
            self.changed()
        if poll.done():
            raise Refused(409, poll.result())
        taken, self._again = self._waiting()[:limit], []
        return taken

    def stops_polls(self, why: str) -> None:
        """Whoever waits for updates is told *why* not."""
        if self._poll is not None and not self._poll.done():
            self._poll.set_result(why)
        self._poll = None

    @property
    def polled(self) -> bool:
        """Somebody waits for updates."""
        return self._poll is not None

    def _waiting(self) -> list[Update]:
        return [*self._again, *self.pending]


async def _first(event: asyncio.Event, poll: asyncio.Future[str]) -> None:
    """*event* is set, or *poll* is to end."""
    changing = asyncio.ensure_future(event.wait())
    try:
        waits: list[asyncio.Future[Any]] = [changing, poll]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        changing.cancel()
