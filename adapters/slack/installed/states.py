"""The states of Slack's OAuth: each good once, for ten minutes.

slack_sdk's own store looks and then deletes, so that of two who come at once both are let in; and it logs
what it was given.
"""

import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from logging import Logger
from typing import Any, Final
from uuid import uuid4

from slack_sdk.oauth.state_store.async_state_store import AsyncOAuthStateStore
from slack_sdk.oauth.state_store.sqlalchemy import SQLAlchemyOAuthStateStore
from sqlalchemy import MetaData, delete, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.slack.installed.rows import Rows, as_kept

log = logging.getLogger(__name__)

STATE_SECONDS: Final = 600
"""For which a person may think about Slack's question; the browser's cookie lasts as long."""

STATES: Final = SQLAlchemyOAuthStateStore.build_oauth_states_table(MetaData(), "slack_oauth_states")


@dataclass(frozen=True, kw_only=True)
class OAuthStates(AsyncOAuthStateStore):
    """Raises StoreError where the database did not do it."""

    rows: Rows
    _log: Logger = field(default=log, repr=False)

    @property
    def logger(self) -> Logger:
        return self._log

    async def async_issue(self, *args: Any, **kwargs: Any) -> str:
        """A new one. Those that nobody came back with in time are gone."""
        state, now = str(uuid4()), datetime.now(UTC)
        late = as_kept(now + timedelta(seconds=STATE_SECONDS))

        async def body(conn: AsyncConnection) -> None:
            await conn.execute(delete(STATES).where(STATES.c.expire_at <= as_kept(now)))
            await conn.execute(insert(STATES).values(state=state, expire_at=late))

        await self.rows.write(body)
        return state

    async def async_consume(self, state: str) -> bool:
        """Whether *state* was good; it is no longer."""
        now = as_kept(datetime.now(UTC))
        used = delete(STATES).where(STATES.c.state == state, STATES.c.expire_at > now)

        async def body(conn: AsyncConnection) -> bool:
            return (await conn.execute(used)).rowcount == 1

        return await self.rows.write(body)
