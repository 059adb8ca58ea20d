"""Every workspace that the app was installed in by OAuth, each with a token that works now.

Where the app rotates its tokens, one is renewed two hours before it ends, while the old one still works; so
one process tries, and nobody waits for it. A lease keeps the others from spending the same refresh token,
which is good once; what is kept is decided by the row alone.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar
from uuid import uuid4

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError, SlackTokenRotationError
from slack_sdk.oauth.installation_store.models.bot import Bot
from slack_sdk.oauth.token_rotation.async_rotator import AsyncTokenRotator
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import wait_seconds
from adapters.slack.installed.installs import SealedInstallations, revoked
from adapters.slack.installed.workspaces import Installation
from core.errors import ChatBusy, ChatError, ChatForbidden, ConfigError, SecretError, StoreError
from core.ports import Leases

log = logging.getLogger(__name__)

T = TypeVar("T")

EARLY_MINUTES: Final = 120
"""Before its end a token is renewed; Slack's last twelve hours."""
LEASE_SECONDS: Final = 120.0
"""Longer than Slack is waited for, the one retry of a broken connection included."""
BUSY_SECONDS: Final = 3.0
"""After which to ask again, where a token has ended and somebody else is renewing it."""

LOST: Final = frozenset({"account_inactive", "invalid_refresh_token", "token_revoked"})
"""Of these there is no way back but to install the app again."""


@dataclass(kw_only=True, slots=True)
class ManyWorkspaces:
    """Workspaces: those of *installs*. *client*: of the app's Slack, without a token."""

    installs: SealedInstallations
    leases: Leases
    client: AsyncWebClient
    client_secret: str
    _holder: str = field(default_factory=lambda: uuid4().hex, init=False)
    _renewing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _work: "set[asyncio.Task[Bot | None]]" = field(default_factory=set, init=False)

    async def of(self, enterprise: str | None, team: str | None) -> Installation | None:
        bot = None
        if team:
            bot = await _known(self.installs.async_find_bot(enterprise_id=enterprise, team_id=team))
        if bot is None and enterprise:
            bot = await _known(self.installs.async_find_bot(enterprise_id=enterprise, team_id=None))
        return None if bot is None else await self._installation(bot)

    async def named(self, name: str | None) -> Installation:
        bot = await (self._only() if name is None else _known(self.installs.named(name)))
        found = None if bot is None else await self._installation(bot)
        if found is None:
            raise ChatForbidden(f"the bot is not installed in {name}")
        return found

    async def newest(self) -> Installation:
        """The one that was installed last. Raises ChatForbidden where there is none, ChatError."""
        for bot in await _known(self.installs.first(1)):
            return await self.named(bot.team_id or bot.enterprise_id)
        raise ChatForbidden("the bot is installed in no workspace")

    async def left(self, enterprise: str | None, team: str | None, at: datetime) -> None:
        await revoked(self.installs, enterprise, team, at)

    async def _only(self) -> Bot:
        bots = await _known(self.installs.first(2))
        if len(bots) != 1:
            raise ChatForbidden("the bot is installed in no workspace" if not bots else "which workspace?")
        return bots[0]

    async def _installation(self, bot: Bot) -> Installation | None:
        now = await self._current(bot)
        if now is None:
            return None
        return Installation(
            team=now.team_id,
            enterprise=now.enterprise_id,
            token=now.bot_token,
            bot_user=now.bot_user_id,
            bot_id=now.bot_id,
            org_wide=now.is_enterprise_install,
        )

    # ── tokens that end ──────────────────────────────────────────────────────────────────────

    async def _current(self, bot: Bot) -> Bot | None:
        """*bot* with a token that works; None where it was removed meanwhile."""
        if not _ends_within(bot, EARLY_MINUTES * 60):
            return bot
        if self._renewing.locked() and not _ends_within(bot, 0):
            return bot  # somebody here is at it, and what there is works
        work = asyncio.ensure_future(_known(self._renewed(bot)))
        # Not broken off with its caller: between Slack's answer and its row the new token is nowhere else.
        self._work.add(work)
        work.add_done_callback(self._work.discard)
        return await asyncio.shield(work)

    async def _renewed(self, bot: Bot) -> Bot | None:
        lease = f"slack-token:{bot.team_id or bot.enterprise_id}"
        async with self._renewing:
            epoch = await self.leases.take(lease, self._holder, LEASE_SECONDS)
            if epoch is None:
                return _as_it_is(bot, ChatBusy(BUSY_SECONDS))
            try:
                return await self._renewed_alone(bot)
            finally:
                await self.leases.drop(lease, epoch)

    async def _renewed_alone(self, bot: Bot) -> Bot | None:
        # Read under the lease: whoever had it before may have renewed it.
        was = await self._again(bot)
        if was is None or not _ends_within(was, EARLY_MINUTES * 60):
            return was
        try:
            now = await self._asked(was)
        except ChatError as error:
            return _as_it_is(was, error)
        return now if await self.installs.renew(was, now) else await self._again(was)

    async def _again(self, bot: Bot) -> Bot | None:
        return await self.installs.async_find_bot(enterprise_id=bot.enterprise_id, team_id=bot.team_id)

    async def _asked(self, bot: Bot) -> Bot:
        """*bot* with the token that Slack gave for its refresh token. Raises ChatError."""
        rotator = AsyncTokenRotator(
            client=self.client, client_id=self.installs.client_id, client_secret=self.client_secret
        )
        try:
            now = await rotator.perform_bot_token_rotation(bot=bot, minutes_before_expiration=EARLY_MINUTES)
        except SlackTokenRotationError as error:
            raise _refused(error.api_error) from error
        except (aiohttp.ClientError, SlackClientError, TimeoutError, OSError) as error:
            raise ChatError(f"Slack could not be asked for a new token: {type(error).__name__}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise ChatError("Slack's answer has no new token") from error
        if now is None or not now.bot_token:
            raise ChatError("Slack's answer has no new token of the bot")
        return now


def _ends_within(bot: Bot, seconds: float) -> bool:
    return bot.bot_token_expires_at is not None and bot.bot_token_expires_at <= time.time() + seconds


def _as_it_is(bot: Bot, error: ChatError) -> Bot:
    """*bot*, whose token could not be renewed, if it still works. Else raises *error*."""
    if _ends_within(bot, 0):
        raise error
    if not isinstance(error, ChatBusy):
        log.warning("the bot's token in %s was not renewed: %s", bot.team_id or bot.enterprise_id, error)
    return bot


def _refused(error: SlackApiError) -> ChatError:
    if error.response.status_code == 429:
        return ChatBusy(wait_seconds(error.response.headers))
    data = error.response.data
    name = data.get("error") if isinstance(data, dict) else None
    if name in LOST:
        return ChatForbidden(f"Slack says {name}: install the app there again")
    return ChatError(f"Slack says {name}" if isinstance(name, str) else "Slack gave no new token")


async def _known(answer: Awaitable[T]) -> T:
    """What our own database answered. Raises ChatError where it can't, or where a token does not open."""
    try:
        return await answer
    except (StoreError, SecretError, ConfigError) as error:
        raise ChatError(f"the bot's token is not known: {error}") from error
