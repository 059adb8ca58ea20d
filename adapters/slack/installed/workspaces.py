"""Where the bot is installed: a workspace's token and who the bot is there.

A route names the workspace it is in, since an id of a channel or a person means nothing without it. Of an
installation for a whole enterprise the workspace is the enterprise.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.errors import called
from core.errors import ChatForbidden

log = logging.getLogger(__name__)

ASKED_SECONDS: Final = 2.0
"""How long Slack may take to say whose the token is: a request of its own may be waiting for that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """The bot in one workspace, or in an enterprise as a whole. *name*: what its routes begin with."""

    team: str | None
    enterprise: str | None
    token: str
    bot_user: str
    bot_id: str
    org_wide: bool = False

    @property
    def name(self) -> str:
        """The workspace's id; of an installation for a whole enterprise, the enterprise's."""
        return (self.enterprise if self.org_wide else self.team) or ""


class Workspaces(Protocol):
    """Every installation there is."""

    async def of(self, enterprise: str | None, team: str | None) -> Installation | None:
        """The one that takes what comes from *team* of *enterprise*; None where the bot is not installed.

        Raises ChatError where that can't be known now.
        """
        ...

    async def named(self, name: str | None) -> Installation:
        """The one of that name; None: the only one.

        Raises ChatForbidden where the bot is not, or no longer, there; ChatError where that can't be known.
        """
        ...

    async def left(self, enterprise: str | None, team: str | None, at: datetime) -> None:
        """The bot was removed from *team*, or from all of *enterprise*, at that time. Raises StoreError."""
        ...


@dataclass(kw_only=True, slots=True)
class OneWorkspace:
    """Workspaces: the one that *client*'s token is of. Asked of Slack once, when it is first needed."""

    client: AsyncWebClient
    _found: Installation | None = field(default=None, init=False)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def known(self) -> Installation:
        """Raises ChatError where Slack can't be asked."""
        async with self._asking:
            if self._found is None:
                said = await called(asyncio.wait_for(self.client.auth_test(), ASKED_SECONDS))
                org_wide = bool(said.get("is_enterprise_install"))
                self._found = Installation(
                    team=said.get("team_id"),
                    enterprise=said.get("enterprise_id"),
                    token=self.client.token or "",
                    bot_user=said["user_id"],
                    bot_id=said.get("bot_id") or "",
                    org_wide=org_wide,
                )
        return self._found

    async def of(self, enterprise: str | None, team: str | None) -> Installation | None:
        found = await self.known()
        if found.org_wide:
            return found if enterprise == found.enterprise else None
        return found if team == found.team else None

    async def named(self, name: str | None) -> Installation:
        found = await self.known()
        if name not in (None, found.name):
            raise ChatForbidden(f"the bot is not installed in {name}")
        return found

    async def left(self, enterprise: str | None, team: str | None, at: datetime) -> None:
        log.error("the bot was removed from Slack: install it again, and set its new SLACK_BOT_TOKEN")
