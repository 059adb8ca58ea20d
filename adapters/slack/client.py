"""Slack's Web API for one process: a client for each installation, over one pool of connections.

Nothing is tried again here. What was sent may have arrived: the outbox knows what may be repeated.
"""

from dataclasses import dataclass, field
from typing import Final

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.installed.workspaces import Installation

TIMEOUT_SECONDS: Final = 10


def connections() -> aiohttp.ClientSession:
    """Connections to Slack that wait no longer than that: slack_sdk leaves it to whoever makes them."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS))


@dataclass(kw_only=True, slots=True)
class Clients:
    """*session* is the caller's to close. *base_url*: where Slack's Web API is."""

    session: aiohttp.ClientSession
    base_url: str
    _by_token: dict[str, AsyncWebClient] = field(default_factory=dict, init=False)

    def with_token(self, token: str) -> AsyncWebClient:
        """The client that speaks as *token* does."""
        found = self._by_token.get(token)
        if found is None:
            found = self._by_token[token] = AsyncWebClient(
                token=token,
                base_url=self.base_url,
                session=self.session,
                timeout=TIMEOUT_SECONDS,
                retry_handlers=[],
            )
        return found

    def of(self, installation: Installation) -> AsyncWebClient:
        """The client that speaks for the bot there."""
        return self.with_token(installation.token)
