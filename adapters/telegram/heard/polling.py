"""Telegram asked for its updates, for where it can't reach us: one process at a time asks, by lease.

An update is behind us for good when the next one is asked for, and that is not before it was done with: what
was in hand when a process died, the next one gets again. Telegram keeps them for a day.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from telegram.request import HTTPXRequest

from adapters.telegram.client import BotClient
from adapters.telegram.errors import ChatTaken, called
from adapters.telegram.heard.listening import Listening
from adapters.telegram.heard.updates import ALLOWED
from core.caught import caught
from core.errors import ChatBusy, ChatError, StoreError
from core.ports import Clock, Leases

log = logging.getLogger(__name__)

LEASE: Final = "telegram:polling"
LEASE_SECONDS: Final = 15.0
"""How long nobody asks after its process was killed."""
ASKED_SECONDS: Final = 4
"""How long Telegram waits for something to come, before the lease is renewed."""
READ_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 2.0


@dataclass(kw_only=True, slots=True)
class Polling:
    """*holder*: this process. *requests*: its own connection, which is busy all the time."""

    client: BotClient
    listening: Listening
    requests: HTTPXRequest
    leases: Leases
    clock: Clock
    holder: str
    _epoch: int | None = field(default=None, init=False)
    _offset: int | None = field(default=None, init=False)
    _told: bool = field(default=False, init=False)

    async def keep(self) -> None:
        """Updates are asked for whenever this process has the lease; goes on until it is cancelled."""
        while True:
            pause = 0.0
            with caught() as ended:
                pause = await self._turn()
            match ended.error:
                case None:
                    pass
                case ChatTaken() as error:
                    log.warning("somebody else gets this bot's updates: %s", error)
                    pause = LEASE_SECONDS / 3
                case ChatBusy() as busy:
                    log.warning("Telegram asks to be asked later: %s", busy)
                    pause = busy.retry_after_seconds
                case ChatError() | StoreError() as error:
                    log.warning("Telegram is asked again in a moment: %s", error)
                    pause = PAUSE_SECONDS
                case error:  # of ours: nobody would hear anything any more
                    log.error("asking Telegram broke off, and goes on", exc_info=error)
                    pause = PAUSE_SECONDS
            if pause > 0:
                await self.clock.sleep(pause)

    async def leave(self) -> None:
        """Another process may ask at once, and gets nothing that was done with here."""
        if self._epoch is not None:
            with suppress(ChatError):
                await self._asked(0)
            with suppress(StoreError):  # it runs out by itself
                await self.leases.drop(LEASE, self._epoch)

    async def _turn(self) -> float:
        """What has come is done with; how long to wait before the next look."""
        before, self._epoch = self._epoch, await self.leases.take(LEASE, self.holder, LEASE_SECONDS)
        if self._epoch is None:
            return LEASE_SECONDS / 3
        if before != self._epoch:
            self._offset = None  # from where Telegram is
        await self._by_asking()
        for raw in await self._asked():
            await self.listening.heard(raw)
            self._offset = int(raw["update_id"]) + 1
            self._epoch = await self.leases.take(LEASE, self.holder, LEASE_SECONDS)
            if self._epoch is None:  # a slow one; whoever has it now gets the rest
                return 0.0
        return 0.0

    async def _by_asking(self) -> None:
        """Telegram sends nothing to any address, told so once; what has come meanwhile waits."""
        if self._told:
            return
        info = await called(self.client.api.get_webhook_info())
        if info.url:
            log.info("Telegram's webhook is taken away: this bot asks for its updates")
            await called(self.client.api.delete_webhook(drop_pending_updates=False))
        self._told = True

    async def _asked(self, seconds: int = ASKED_SECONDS) -> Sequence[Mapping[str, Any]]:
        """The updates past the offset, as they come: one that can't be read must not hide the others."""
        asked: dict[str, object] = {"timeout": seconds, "allowed_updates": _json(ALLOWED)}
        if self._offset is not None:
            asked["offset"] = self._offset
        answer = await called(
            self.requests.post(
                f"{self.client.api.base_url}/getUpdates?{urlencode(asked)}",
                read_timeout=READ_SECONDS + seconds,
            )
        )
        found = answer if isinstance(answer, list) else []
        numbered = [raw for raw in found if isinstance(raw, dict) and isinstance(raw.get("update_id"), int)]
        return sorted(numbered, key=lambda raw: raw["update_id"])


def _json(words: Sequence[str]) -> str:
    return "[" + ",".join(f'"{word}"' for word in words) + "]"


@asynccontextmanager
async def polled(
    client: BotClient, listening: Listening, leases: Leases, clock: Clock, holder: str
) -> AsyncIterator[None]:
    """Telegram is asked, in this process or another, until the block ends."""
    requests = HTTPXRequest(connection_pool_size=1, httpx_kwargs={"trust_env": False})
    polling = Polling(
        client=client, listening=listening, requests=requests, leases=leases, clock=clock, holder=holder
    )
    keeping = asyncio.create_task(polling.keep(), name="Telegram's polling")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await polling.leave()
        await requests.shutdown()
