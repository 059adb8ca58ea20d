"""Slack by a socket that we open, for where nobody can reach us: one process at a time has it, by lease.

The same listeners as by HTTP. What is not acknowledged Slack sends again, to whoever has the socket then.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from aiohttp import ClientError
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.errors import SlackClientError

from core.errors import StoreError
from core.ports import Clock, Leases

log = logging.getLogger(__name__)

LEASE: Final = "slack:socket"
LEASE_SECONDS: Final = 15.0
"""How long nobody has the socket after its process was killed."""
OPENED_SECONDS: Final = 4.0
"""How long it may take to open one, before the lease is renewed and it is tried anew."""


@dataclass(kw_only=True, slots=True)
class SocketMode:
    """*holder*: this process. *app_token*: what opens sockets (xapp-…)."""

    app: AsyncApp
    app_token: str
    leases: Leases
    clock: Clock
    holder: str
    _handler: AsyncSocketModeHandler | None = field(default=None, init=False)
    _epoch: int | None = field(default=None, init=False)

    async def keep(self) -> None:
        """The socket is open whenever this process has the lease; goes on until it is cancelled."""
        while True:
            try:
                self._epoch = await self.leases.take(LEASE, self.holder, LEASE_SECONDS)
                await (self._open() if self._epoch is not None else self._closed())
            except (ClientError, SlackClientError, TimeoutError, OSError, StoreError) as error:
                # not in its own words: an address with the socket's ticket may be among them
                log.warning("Slack's socket is not open, and is tried again: %s", type(error).__name__)
                await self._closed()
            await self.clock.sleep(LEASE_SECONDS / 3)

    async def leave(self) -> None:
        """It is closed, and another process may open one at once."""
        await self._closed()
        if self._epoch is not None:
            with suppress(StoreError):  # it runs out by itself
                await self.leases.drop(LEASE, self._epoch)

    async def _open(self) -> None:
        if self._handler is not None and await self._handler.client.is_connected():
            return
        await self._closed()  # one that was cut off is opened again by itself, but later
        silent = logging.getLogger(f"{__name__}.client")
        silent.setLevel(logging.CRITICAL + 1)  # its errors have the socket's address, with a ticket in it
        self._handler = AsyncSocketModeHandler(self.app, self.app_token, logger=silent)
        async with asyncio.timeout(OPENED_SECONDS):  # by itself it tries for ever, whatever Slack says
            await self._handler.client.connect()  # type: ignore[no-untyped-call]
        log.info("Slack's socket is open")

    async def _closed(self) -> None:
        handler, self._handler = self._handler, None
        if handler is not None:
            await handler.client.close()  # type: ignore[no-untyped-call]
