"""Slack's installations at rest: slack_sdk's rows, in our database, every token sealed for its place.

It speaks slack_sdk's protocol, with its tables and its values, but not through its own SQL: that saves in
two transactions, writes a renewed token also where the app was removed meanwhile, and knows nothing of the
time-outs, repeats and locks of our database.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from logging import Logger
from typing import Any, Final

from slack_sdk.oauth.installation_store.async_installation_store import AsyncInstallationStore
from slack_sdk.oauth.installation_store.models.bot import Bot
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.oauth.installation_store.sqlalchemy import SQLAlchemyInstallationStore
from sqlalchemy import ColumnElement, MetaData, Select, Table, and_, delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.slack.installed.rows import Rows, as_kept
from core.canonical import dump
from core.errors import ConfigError
from core.ids import OrgId
from core.ports import Sealer
from core.redact import Redactor

log = logging.getLogger(__name__)

SLACK: Final = OrgId("slack")
"""Tokens of Slack's are sealed for no organization: in one workspace there may be several."""

OF_THE_BOT: Final = ("bot_token", "bot_refresh_token")
OF_A_PERSON: Final = ("user_token", "user_refresh_token", "incoming_webhook_url")
"""The fields that are sealed."""

_METADATA = MetaData()
BOTS: Final = SQLAlchemyInstallationStore.build_bots_table(_METADATA, "slack_bots")
INSTALLATIONS: Final = SQLAlchemyInstallationStore.build_installations_table(_METADATA, "slack_installations")

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SealedInstallations(AsyncInstallationStore):
    """Every installation of the app *client_id*: of a workspace one, the newest, whoever installed it.

    What is kept or read is shown to nobody from then on (*redactor*). A workspace is known by its own id,
    which no other has, since not everything that Slack sends names its enterprise; an installation for a
    whole enterprise has none. Raises StoreError, and SecretError where a token does not open.
    """

    rows: Rows
    client_id: str
    sealer: Sealer | None
    redactor: Redactor
    _log: Logger = field(default=log, repr=False)

    @property
    def logger(self) -> Logger:
        return self._log

    def check(self) -> None:
        """Tokens can be sealed. Raises ConfigError naming SECRET_KEY: better now than when one was given."""
        self._key.seal(SLACK, "check", "check")

    def hide(self, installed: Bot | Installation) -> None:
        """Its tokens are shown to nobody from here on."""
        for name in (*OF_THE_BOT, *OF_A_PERSON):
            if value := getattr(installed, name, None):
                place = installed.team_id or installed.enterprise_id
                self.redactor.register(f"slack/{place}/{name}", value)

    # ── kept ─────────────────────────────────────────────────────────────────────────────────

    async def async_save(self, installation: Installation) -> None:
        """It is the workspace's, and this person's, in place of those before. Raises ConfigError."""
        self.hide(installation)
        theirs, bots = self._row(INSTALLATIONS, installation), self._row(BOTS, installation.to_bot())
        same_person = INSTALLATIONS.c.user_id == installation.user_id

        async def body(conn: AsyncConnection) -> None:
            await self._replace(conn, INSTALLATIONS, theirs, same_person)
            if bots["bot_token"] is not None:  # a person's own grant takes no bot's place
                await self._replace(conn, BOTS, bots)

        await self.rows.write(body)

    async def async_save_bot(self, bot: Bot) -> None:
        """It is the workspace's, in place of the one before. Raises ConfigError."""
        self.hide(bot)
        row = self._row(BOTS, bot)
        await self.rows.write(lambda conn: self._replace(conn, BOTS, row))

    async def renew(self, was: Bot, now: Bot) -> bool:
        """*now* is kept in place of *was*; False, and nothing is, where that is no longer what is kept.

        So of two who renew a token at once one is kept, a workspace that was installed anew meanwhile keeps
        what it got then, and one that was removed stays so.
        """
        self.hide(now)
        old, new = self._plain(BOTS, was), self._row(BOTS, now)
        same = [BOTS.c[name] == old[name] for name in ("installed_at", "bot_token_expires_at")]
        renewed = update(BOTS).where(self._place(BOTS, was.enterprise_id, was.team_id), *same).values(new)

        async def body(conn: AsyncConnection) -> bool:
            return (await conn.execute(renewed)).rowcount == 1

        return await self.rows.write(body)

    async def _replace(
        self, conn: AsyncConnection, table: Table, row: Row, *same: ColumnElement[bool]
    ) -> None:
        place = self._place(table, row["enterprise_id"], row["team_id"])
        await conn.execute(delete(table).where(place, *same))
        await conn.execute(insert(table).values(row))

    # ── read ─────────────────────────────────────────────────────────────────────────────────

    async def async_find_bot(
        self, *, enterprise_id: str | None, team_id: str | None, is_enterprise_install: bool | None = False
    ) -> Bot | None:
        """Of the workspace; of the enterprise as a whole, without one or where it is asked for."""
        place = self._place(BOTS, enterprise_id, None if is_enterprise_install else team_id)
        return next(iter(await self._bots(self._newest(BOTS, place))), None)

    async def named(self, name: str) -> Bot | None:
        """The one of the workspace of that id, or of the enterprise as a whole."""
        place = or_(self._place(BOTS, None, name), self._place(BOTS, name, None))
        return next(iter(await self._bots(self._newest(BOTS, place))), None)

    async def first(self, count: int) -> Sequence[Bot]:
        """So many of those there are, the newest first."""
        return await self._bots(self._newest(BOTS, BOTS.c.client_id == self.client_id, count))

    async def async_find_installation(
        self,
        *,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None = None,
        is_enterprise_install: bool | None = False,
    ) -> Installation | None:
        """The newest there, or *user_id*'s."""
        place = self._place(INSTALLATIONS, enterprise_id, None if is_enterprise_install else team_id)
        if user_id is not None:
            place = and_(place, INSTALLATIONS.c.user_id == user_id)
        for row in await self._read(self._newest(INSTALLATIONS, place)):
            found = SQLAlchemyInstallationStore.build_installation_entity(self._opened(row))
            self.hide(found)
            return found
        return None

    async def _bots(self, query: Select[Any]) -> Sequence[Bot]:
        found = [
            SQLAlchemyInstallationStore.build_bot_entity(self._opened(row)) for row in await self._read(query)
        ]
        for bot in found:
            self.hide(bot)
        return found

    async def _read(self, query: Select[Any]) -> Sequence[Row]:
        async def body(conn: AsyncConnection) -> Sequence[Row]:
            return [dict(row) for row in (await conn.execute(query)).mappings()]

        return await self.rows.read(body)

    def _newest(self, table: Table, place: ColumnElement[bool], count: int = 1) -> Select[Any]:
        order = (table.c.installed_at.desc(), table.c.id.desc())
        return select(table).where(place).order_by(*order).limit(count)

    # ── removed ──────────────────────────────────────────────────────────────────────────────

    async def async_delete_bot(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """The bot is not installed there."""
        await self._remove(delete(BOTS).where(self._place(BOTS, enterprise_id, team_id)))

    async def async_delete_installation(
        self, *, enterprise_id: str | None, team_id: str | None, user_id: str | None = None
    ) -> None:
        """Nobody, or not *user_id*, has installed it there."""
        gone = delete(INSTALLATIONS).where(self._place(INSTALLATIONS, enterprise_id, team_id))
        await self._remove(gone if user_id is None else gone.where(INSTALLATIONS.c.user_id == user_id))

    async def async_delete_all(self, *, enterprise_id: str | None, team_id: str | None) -> None:
        """Nothing of that place is kept."""
        await self.remove_all(enterprise_id, team_id, datetime.max.replace(tzinfo=UTC))

    async def remove_all(self, enterprise_id: str | None, team_id: str | None, until: datetime) -> None:
        """Nothing of that place is kept that was installed *until* then, in UTC."""
        gone = (
            delete(one).where(self._place(one, enterprise_id, team_id), one.c.installed_at <= as_kept(until))
            for one in (BOTS, INSTALLATIONS)
        )
        await self._remove(*gone)

    async def _remove(self, *statements: Any) -> None:
        async def body(conn: AsyncConnection) -> None:
            for statement in statements:
                await conn.execute(statement)

        await self.rows.write(body)

    # ── rows and seals ───────────────────────────────────────────────────────────────────────

    def _place(self, table: Table, enterprise: str | None, team: str | None) -> ColumnElement[bool]:
        c = table.c
        whole = and_(c.team_id.is_(None), c.enterprise_id == enterprise)
        return and_(c.client_id == self.client_id, c.team_id == team if team else whole)

    def _plain(self, table: Table, installed: Bot | Installation) -> dict[str, Any]:
        values = {**installed.to_dict(), "client_id": self.client_id}
        if installed.is_enterprise_install:
            values |= {"team_id": None, "team_name": None}
        return {name: as_kept(values[name]) for name in table.c.keys() if name in values and name != "id"}

    def _row(self, table: Table, installed: Bot | Installation) -> dict[str, Any]:
        row = self._plain(table, installed)
        sealed = {name: self._key.seal(SLACK, place, row[name]) for name, place in _sealed(row)}
        return row | sealed

    def _opened(self, row: Row) -> Row:
        opened = {name: self._key.unseal(SLACK, place, row[name]) for name, place in _sealed(row)}
        return {**row, **opened}

    @property
    def _key(self) -> Sealer:
        if self.sealer is None:
            raise ConfigError("SECRET_KEY: it is not set, and Slack's tokens are sealed under it")
        return self.sealer


async def revoked(
    installs: SealedInstallations, enterprise: str | None, team: str | None, at: datetime
) -> None:
    """The bot is no longer installed there, and nothing of it is kept but what was installed after *at*.

    For app_uninstalled, and for tokens_revoked if it names the bot's (its `tokens.bot` is not empty). *team*:
    None where the event's authorization says that the installation is the enterprise's as a whole.
    """
    await installs.remove_all(enterprise, team, at)


def _sealed(row: Row) -> Iterator[tuple[str, str]]:
    """Each token of *row*, and the place that it is sealed for: in another row or column it does not open."""
    place = [row["client_id"], row["enterprise_id"], row["team_id"]]
    for name in OF_THE_BOT:
        if row[name] is not None:
            yield name, dump([*place, name])
    for name in OF_A_PERSON:
        if row.get(name) is not None:
            yield name, dump([*place, row["user_id"], name])
