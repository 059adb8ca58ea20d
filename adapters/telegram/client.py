"""Telegram's Bot API for one process: one bot, over one pool of connections.

Nothing is tried again here. What was sent may have arrived: the outbox knows what may be repeated.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from telegram import Bot, User
from telegram.request import HTTPXRequest

from adapters.telegram.errors import called

SURFACE: Final = "telegram"
CONNECTIONS: Final = 20
TIMEOUT_SECONDS: Final = 10.0


@dataclass(kw_only=True, slots=True)
class BotClient:
    """*api*: the library's bot, whose connections are open."""

    api: Bot
    _me: User | None = field(default=None, init=False)

    @property
    def id(self) -> int:
        """The bot's own id, which its token begins with."""
        return int(self.api.token.partition(":")[0])

    async def me(self) -> User:
        """The bot as Telegram knows it, asked once. Raises ChatError."""
        if self._me is None:
            self._me = await called(self.api.get_me())
        return self._me

    async def username(self) -> str:
        """Without the @. Raises ChatError."""
        return (await self.me()).username or ""


@asynccontextmanager
async def bot_client(token: str, api_url: str) -> AsyncIterator[BotClient]:
    """The bot of *token*, its API at *api_url*; closed afterwards. Nothing is asked of Telegram yet."""
    request = HTTPXRequest(
        connection_pool_size=CONNECTIONS,
        read_timeout=TIMEOUT_SECONDS,
        write_timeout=TIMEOUT_SECONDS,
        connect_timeout=TIMEOUT_SECONDS,
        pool_timeout=TIMEOUT_SECONDS,
        media_write_timeout=TIMEOUT_SECONDS,
        httpx_kwargs={"trust_env": False},
    )
    polling = HTTPXRequest(connection_pool_size=1, httpx_kwargs={"trust_env": False})  # the library wants one
    api = Bot(token, base_url=f"{api_url.rstrip('/')}/bot", request=request, get_updates_request=polling)
    try:
        yield BotClient(api=api)
    finally:
        await request.shutdown()
        await polling.shutdown()
