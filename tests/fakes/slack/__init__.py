"""A Slack on this machine: its Web API, events, interactions and Socket Mode, with Slack's own limits.

``async with fake_slack() as slack`` serves it on a free port; the app under test takes ``slack.api_url`` for
Slack's API, and the test sets ``slack.bot_url`` (or ``slack.by_socket``) for the way back. What the app did
that Slack refuses is in ``slack.faults``; what it answered too late or not with 2xx in ``slack.late`` and
``slack.refused``.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from adapters.clock import SystemClock
from core.ports import Clock
from tests.fakes.slack.inputs import NotSubmitted
from tests.fakes.slack.modals import Submitting
from tests.fakes.slack.people import People, Said
from tests.fakes.slack.server import Api, application
from tests.fakes.slack.things import (
    Call,
    Channel,
    Delivery,
    Ephemeral,
    Fault,
    File,
    Json,
    Message,
    Team,
    User,
    View,
)
from tests.fakes.slack.trouble import (
    Planned,
    Trouble,
    Troubles,
    cut,
    hangs,
    html,
    http_error,
    lost,
    refusal,
    too_many,
)
from tests.fakes.slack.world import APP_TOKEN, CLIENT_ID, CLIENT_SECRET, SCOPES, SIGNING_SECRET


@dataclass(kw_only=True, eq=False)
class FakeSlack(People, Submitting):
    """All of it: the state (World), what is sent to the app (Delivering), and the people who do things."""

    troubles: Troubles = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.troubles = Troubles(now=self.clock.now)

    def breaks(
        self, method: str, trouble: Trouble, *, channel: Channel | str | None = None, times: int | None = 1
    ) -> None:
        """The next *times* requests to *method* ("*": any) in *channel* (None: any) come to *trouble*."""
        channel_id = channel.id if isinstance(channel, Channel) else channel
        self.troubles.planned.append(Planned(method=method, trouble=trouble, channel=channel_id, times=times))

    def mends(self) -> None:
        """No trouble is to come any more."""
        self.troubles.planned.clear()

    def limits_posts(self, limited: bool = True) -> None:
        """A channel takes one message a second, after a burst of a few."""
        self.troubles.limited = limited


@asynccontextmanager
async def fake_slack(
    *, clock: Clock | None = None, port: int = 0, team: str = "Acme"
) -> AsyncIterator[FakeSlack]:
    """A Slack with one workspace, on a free port of this machine (or *port*) until the block ends."""
    slack = FakeSlack(clock=clock or SystemClock())
    slack.add_team(team)
    api = Api(slack, slack.troubles)
    runner = web.AppRunner(application(slack, api, slack.sockets), access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, bound = runner.addresses[0][:2]
    slack.address = f"http://{host}:{bound}"
    try:
        yield slack
    finally:
        api.close()
        await slack.sockets.close()
        await slack.close()
        await runner.cleanup()


__all__ = [
    "APP_TOKEN",
    "CLIENT_ID",
    "CLIENT_SECRET",
    "SCOPES",
    "SIGNING_SECRET",
    "Call",
    "Channel",
    "Delivery",
    "Ephemeral",
    "FakeSlack",
    "Fault",
    "File",
    "Json",
    "Message",
    "NotSubmitted",
    "Said",
    "Team",
    "Trouble",
    "User",
    "View",
    "cut",
    "fake_slack",
    "hangs",
    "html",
    "http_error",
    "lost",
    "refusal",
    "too_many",
]
