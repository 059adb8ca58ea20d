"""The state of the fake Slack, and waiting for it to change. Knows no HTTP."""

import asyncio
import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

from adapters.clock import SystemClock
from core.ports import Clock
from tests.fakes.slack.elements import elements_of
from tests.fakes.slack.things import (
    Call,
    Channel,
    Ephemeral,
    Fault,
    File,
    Hook,
    Json,
    Message,
    Refused,
    Team,
    Trigger,
    User,
    View,
)

APP_ID: Final = "A0GATEPOST"
APP_TOKEN: Final = "xapp-1-A0GATEPOST-fake"
CLIENT_ID: Final = "1111.2222"
CLIENT_SECRET: Final = "fake-client-secret"
SIGNING_SECRET: Final = "fake-signing-secret"

SCOPES: Final = frozenset(
    "app_mentions:read channels:history channels:read chat:write commands files:write groups:history "
    "groups:read im:history im:read im:write team:read users:read".split()
)
"""What a bot token is granted unless the test says otherwise."""

TRIGGER_SECONDS: Final = 3
MODALS: Final = 3

T = TypeVar("T")


@dataclass(kw_only=True, eq=False)
class World:
    """Workspaces, people, channels, and all that was said, shown and asked.

    *faults*: what the app did that it should not; a test asserts that there are none.
    """

    clock: Clock = field(default_factory=SystemClock)
    teams: dict[str, Team] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)
    channels: dict[str, Channel] = field(default_factory=dict)
    ephemerals: list[Ephemeral] = field(default_factory=list)
    modals: dict[str, list[View]] = field(default_factory=dict)
    homes: dict[str, View] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    triggers: dict[str, Trigger] = field(default_factory=dict)
    hooks: dict[str, Hook] = field(default_factory=dict)
    codes: dict[str, tuple[Team, User]] = field(default_factory=dict)
    app_token: str = APP_TOKEN
    signing_secret: str = SIGNING_SECRET
    edits_closed: bool = False
    address: str = ""
    _count: int = 0
    _micros: int = 0
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def api_url(self) -> str:
        """What the app takes for ``https://slack.com/api/``."""
        return f"{self.address}/api/"

    @property
    def team(self) -> Team:
        """The first workspace."""
        return next(iter(self.teams.values()))

    # ── who and what there is ────────────────────────────────────────────────────────────────

    def add_team(
        self,
        name: str,
        *,
        enterprise_id: str | None = None,
        is_enterprise_install: bool = False,
        scopes: Iterable[str] = SCOPES,
    ) -> Team:
        """A workspace with the app installed and its bot."""
        team_id = self.new_id("T")
        bot = self.new_id("U")
        team = Team(
            id=team_id,
            name=name,
            app_id=APP_ID,
            bot_token=f"xoxb-{team_id}-fake",
            bot_user_id=bot,
            bot_id=self.new_id("B"),
            scopes=set(scopes),
            enterprise_id=enterprise_id,
            is_enterprise_install=is_enterprise_install,
        )
        self.teams[team_id] = team
        self.users[bot] = User(id=bot, name="gatepost", team_id=team_id, is_bot=True)
        return team

    def add_user(
        self,
        name: str,
        *,
        team: Team | None = None,
        is_bot: bool = False,
        is_restricted: bool = False,
        is_stranger: bool = False,
    ) -> User:
        """A person (or a bot) of *team*; a stranger is of a workspace that nobody here knows."""
        home = self.new_id("T") if is_stranger else (team or self.team).id
        user = User(
            id=self.new_id("U"),
            name=name,
            team_id=home,
            is_bot=is_bot,
            is_restricted=is_restricted,
            is_stranger=is_stranger,
        )
        self.users[user.id] = user
        return user

    def add_channel(
        self,
        name: str,
        *members: User,
        team: Team | None = None,
        bot: bool = True,
        is_private: bool = False,
        is_archived: bool = False,
    ) -> Channel:
        """A channel of *team* with *members*, and with the bot unless told otherwise.

        It is shared with another organization (Slack Connect) where a member is a stranger.
        """
        team = team or self.team
        channel = Channel(
            id=self.new_id("C"),
            name=name,
            team_id=team.id,
            members={user.id for user in members} | ({team.bot_user_id} if bot else set()),
            is_private=is_private,
            is_archived=is_archived,
            is_ext_shared=any(user.is_stranger for user in members),
        )
        self.channels[channel.id] = channel
        return channel

    def dm(self, user: User | str, team: Team | None = None) -> Channel:
        """The direct message of *user* with the bot of *team*; opened if it wasn't."""
        person = self.user_of(user)
        team = team or self.teams.get(person.team_id) or self.team
        members = {person.id, team.bot_user_id}
        for channel in self.channels.values():
            if channel.is_im and channel.members == members:
                return channel
        opened = Channel(id=self.new_id("D"), name="", team_id=team.id, members=members, is_im=True)
        self.channels[opened.id] = opened
        self.changed()
        return opened

    def user_of(self, user: User | str) -> User:
        return user if isinstance(user, User) else self.users[user]

    def channel_of(self, channel: Channel | str) -> Channel:
        return channel if isinstance(channel, Channel) else self.channels[channel]

    def team_of(self, user: User, channel: Channel | None = None) -> Team:
        """The workspace whose app hears what *user* does (in *channel*)."""
        return self.teams[channel.team_id if channel else user.team_id]

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def message(self, channel: Channel | str, ts: str) -> Message:
        """The message that is there. Raises LookupError."""
        for message in self.channel_of(channel).messages:
            if message.ts == ts:
                return message
        raise LookupError(f"no message {ts} in {self.channel_of(channel).name or 'the direct message'}")

    def said(self, channel: Channel | str) -> list[Message]:
        """What the app's bots have in *channel* now, oldest first."""
        return [message for message in self.channel_of(channel).messages if message.app_id == APP_ID]

    def thread(self, message: Message) -> list[Message]:
        """The replies in the thread of *message*, oldest first."""
        replies = self.channel_of(message.channel).messages
        return [m for m in replies if m.is_reply and m.thread_ts == (message.thread_ts or message.ts)]

    def shown_to(self, user: User | str) -> list[Ephemeral]:
        """The ephemeral messages that *user* sees, oldest first."""
        person = self.user_of(user).id
        return [e for e in self.ephemerals if e.user == person and not e.gone]

    def modal(self, user: User | str) -> View:
        """The modal that *user* looks at. Raises LookupError."""
        stack = self.modals.get(self.user_of(user).id)
        if not stack:
            raise LookupError(f"{self.user_of(user).name} has no modal open")
        return stack[-1]

    def home(self, user: User | str) -> View:
        """The home published for *user*. Raises LookupError."""
        return self.homes[self.user_of(user).id]

    def view(self, *, view_id: str | None = None, external_id: str | None = None) -> View:
        """The open modal or published home of that id. Raises LookupError."""
        for view in [*self.homes.values(), *(v for stack in self.modals.values() for v in stack)]:
            if view_id == view.id or (external_id and external_id == view.body.get("external_id")):
                return view
        raise LookupError(f"no view {view_id or external_id}")

    def called(self, method: str) -> list[Call]:
        """The requests to *method*, oldest first."""
        return [call for call in self.calls if call.method == method]

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def new_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count:08d}"

    def new_ts(self) -> str:
        """A time as Slack names messages by it; never twice the same, always later."""
        self._micros = max(self._micros + 1, int(self.clock.now().timestamp() * 1_000_000))
        return f"{self._micros // 1_000_000}.{self._micros % 1_000_000:06d}"

    def named(self, blocks: list[Json]) -> list[Json]:
        """A copy of *blocks* in which each has the ids that Slack makes up where there are none."""
        blocks = copy.deepcopy(blocks)
        for block in blocks:
            block.setdefault("block_id", self.new_id("b"))
            for element in elements_of(block):
                element.setdefault("action_id", self.new_id("a"))
        return blocks

    def new_trigger(self, user: User, team: Team, *, modal: bool = False) -> str:
        trigger = Trigger(
            id=f"{self.new_id('')}.{team.id}.fake",
            user=user.id,
            team=team,
            made_at=self.clock.now(),
            modal=modal,
        )
        self.triggers[trigger.id] = trigger
        return trigger.id

    def use_trigger(self, trigger_id: str, team: Team) -> Trigger:
        """The trigger, which is used up now. Raises Refused."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None or trigger.team is not team:
            raise Refused("invalid_trigger_id")
        if trigger.used:
            raise Refused("exchanged_trigger_id")
        if self.clock.now() - trigger.made_at > timedelta(seconds=TRIGGER_SECONDS):
            raise Refused("expired_trigger_id")
        trigger.used = True
        return trigger

    def new_hook(
        self, user: User, channel: Channel, team: Team, origin: Message | Ephemeral | None = None
    ) -> str:
        """A new response_url."""
        hook = Hook(
            id=self.new_id("H"),
            user=user.id,
            channel=channel.id,
            team=team,
            made_at=self.clock.now(),
            origin=origin,
        )
        self.hooks[hook.id] = hook
        return f"{self.address}/hooks/response/{hook.id}"

    def grants(self, team: Team, user: User) -> str:
        """The code with which *user*'s consent to install the app in *team* comes back to it."""
        code = self.new_id("code-")
        self.codes[code] = (team, user)
        return code

    def fault(self, where: str, error: str, *details: str) -> None:
        """The app did what it should not."""
        self.faults.append(Fault(where=where, error=error, details=details))

    def tells(self, event: Json, channel: Channel) -> None:
        """Something happened in *channel* by the app's own doing; here nobody is told."""

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    def changed(self) -> None:
        """Whoever waits looks again."""
        before, self._change = self._change, asyncio.Event()
        before.set()

    async def wait_for(self, found: Callable[[], T | None], *, seconds: float = 10.0) -> T:
        """What *found* finds, as soon as that is true of it; a LookupError means: not yet.

        Raises TimeoutError after *seconds*; there is no polling, each change wakes it.
        """
        async with asyncio.timeout(seconds):
            while True:
                change = self._change
                try:
                    thing = found()
                except LookupError:
                    thing = None
                if thing:
                    return thing
                await change.wait()
