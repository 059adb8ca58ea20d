"""The shop in Slack as it runs: web and worker as processes over one database, a fake Slack in front."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from adapters.slack.heard.actors import SURFACE
from adapters.slack.installed.scopes import SCOPES
from core.people import Account, Organization
from tests.acceptance.command_line import command_line
from tests.acceptance.processes import ASKED, Town, Web
from tests.acceptance.shop import ORG, U1, U2
from tests.acceptance.slack_office import words_of
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import SIGNING_SECRET, Channel, FakeSlack, Message, User, fake_slack

EVENTS = "/slack/events"


@dataclass(kw_only=True, slots=True)
class SlackTown(Town):
    """*ada* and *ben*: an owner and an approver, in *ops*."""

    slack: FakeSlack
    ada: User = field(init=False)
    ben: User = field(init=False)
    ops: Channel = field(init=False)

    async def people(self) -> None:
        await self.planted.save(Organization(id=ORG, name="Shop"), U1, U2)
        self.ada, self.ben = self.slack.add_user("ada"), self.slack.add_user("ben")
        for person, user in ((U1, self.ada), (U2, self.ben)):
            account = Account(surface=SURFACE, ref=f"{user.team_id}/{user.id}")
            await self.planted.account(person, account)
        self.ops = self.slack.add_channel("ops", self.ada, self.ben)

    # ── processes ────────────────────────────────────────────────────────────────────────────

    async def listens(self, **env: str) -> Web:
        """A web process that listens, be it open or not; Slack sends to it from here on."""
        web = await self.listening(**env)
        self.slack.bot_url = web.address + EVENTS
        return web

    async def web(self, **env: str) -> Web:
        """The same, open."""
        web = await self.listens(**env)
        await web.tells("web is open")
        return web

    # ── what is there ────────────────────────────────────────────────────────────────────────

    @property
    def cards(self) -> list[Message]:
        """Every message with a call's buttons in the channel, oldest first."""
        return [
            message
            for message in self.slack.said(self.ops)
            if any(block.get("block_id", "").startswith("park:") for block in message.blocks)
        ]

    async def asked(self, words: str = ASKED) -> Message:
        """Ada's mention, acknowledged."""
        said = await self.slack.says(self.ada, self.ops, words, mention=True)
        assert [delivery.status for delivery in said.deliveries] == [200, 200]
        return said.message

    async def parked(self) -> Message:
        """Ada has asked for a refund, and its card is in the thread."""
        await self.asked()
        await self.works()
        (card,) = self.cards
        return card

    async def shows(self, words: str, *, after: Message) -> Message:
        """The message in the thread of *after* that says *words*, as soon as it does."""
        return await self.slack.wait_for(
            lambda: next((m for m in self.slack.thread(after) if words in words_of(m.blocks)), None)
        )


def told(slack: FakeSlack, user: User) -> list[str]:
    """What *user* alone was told, oldest first, as text."""
    return [words_of(one.blocks) or one.text for one in slack.shown_to(user)]


@asynccontextmanager
async def town_at(url: str, folder: Path, **env: str) -> AsyncIterator[SlackTown]:
    """A town over the migrated database at *url*; afterwards every process is gone, and all is in order."""
    async with AsyncExitStack() as closing:
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        slack = await closing.enter_async_context(fake_slack())
        slack.team.scopes = set(SCOPES)
        slack.patience = (
            10.0  # processes share the machine with other tests; Slack's own 3 s: test_bolt_traps
        )
        line = command_line(url, folder).with_env(
            AUDIT_KEY=AUDIT_KEY.decode(),
            PORT="0",
            SLACK_BOT_TOKEN=slack.team.bot_token,
            SLACK_SIGNING_SECRET=SIGNING_SECRET,
            SLACK_API_URL=slack.api_url,
            **env,
        )
        town = SlackTown(slack=slack, line=line, planted=planted)
        closing.push_async_callback(town.ends)
        await town.people()
        yield town
        await town.ends()
        assert await town.is_whole()
        assert slack.faults == []
        assert slack.late == []
        assert town.errors() == []
