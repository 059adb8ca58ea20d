"""People who write: messages, replies, edits, files, other bots, and the events the app gets of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.fakes.slack.delivery import Delivering
from tests.fakes.slack.things import Channel, Delivery, File, Json, Message, Team, User, Version

REFERENCE: Final = re.compile(r"<[@#][A-Z0-9]+>")


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message somebody wrote, and each request with which the app was told of it."""

    message: Message
    deliveries: list[Delivery]

    @property
    def ts(self) -> str:
        return self.message.ts

    @property
    def answered(self) -> Delivery:
        """The last answer of the app. Raises IndexError where it was not told at all."""
        return self.deliveries[-1]


@dataclass(kw_only=True, eq=False)
class People(Delivering):
    """Whoever writes does so as Slack's own client would let them."""

    async def says(
        self,
        user: User | str,
        channel: Channel | str,
        text: str,
        *,
        thread_ts: str | None = None,
        mention: bool = False,
        broadcast: bool = False,
        files: Sequence[tuple[str, bytes]] = (),
        subtype: str | None = None,
        raw: bool = False,
    ) -> Said:
        """*user* wrote *text* and the app heard of it, if its bot is there.

        The text is as typed: Slack escapes ``&<>``, but for references like ``<@U1>``; *raw* leaves it alone.
        *broadcast*: the reply is also sent to the channel. *files*: (name, content) of each.
        Raises ValueError where Slack's client would not let them write.
        """
        person, place = self.user_of(user), self.channel_of(channel)
        self._may_write(person, place, thread_ts)
        team = self.team_of(person, place)
        words = f"<@{team.bot_user_id}> {text}" if mention else text
        message = Message(
            channel=place.id,
            ts=self.new_ts(),
            user=person.id,
            team_id=person.team_id,
            text=words if raw else escaped(words),
            thread_ts=thread_ts,
            subtype="thread_broadcast" if broadcast else "file_share" if files else subtype,
            files=[self._file(person, name, content, place) for name, content in files],
        )
        place.messages.append(message)
        self.changed()
        return Said(message=message, deliveries=await self._heard(message, person, place))

    async def edits(self, user: User | str, message: Message, text: str) -> list[Delivery]:
        """*user* changed what they wrote."""
        person, place = self._author(user, message)
        before = message.to_json()
        message.history.append(Version(text=message.text, blocks=message.blocks))
        message.text, message.edited = escaped(text), True
        self.changed()
        event = {"subtype": "message_changed", "message": message.to_json(), "previous_message": before}
        return await self._hidden(event, person, place)

    async def deletes(self, user: User | str, message: Message) -> list[Delivery]:
        """*user* took back what they wrote."""
        person, place = self._author(user, message)
        message.deleted = True
        place.messages.remove(message)
        self.changed()
        event = {
            "subtype": "message_deleted",
            "deleted_ts": message.ts,
            "previous_message": message.to_json(),
        }
        return await self._hidden(event, person, place)

    async def other_bot_says(
        self, channel: Channel | str, text: str, *, thread_ts: str | None = None, classic: bool = False
    ) -> Said:
        """Another app's bot wrote; a *classic* one has no user and says so by its subtype."""
        place = self.channel_of(channel)
        team = self.teams[place.team_id]
        bot = self.add_user("otherbot", team=team, is_bot=True)
        place.members.add(bot.id)
        message = Message(
            channel=place.id,
            ts=self.new_ts(),
            user="" if classic else bot.id,
            team_id=team.id,
            text=text,
            thread_ts=thread_ts,
            bot_id=self.new_id("B"),
            app_id="A0OTHER",
            subtype="bot_message" if classic else None,
        )
        place.messages.append(message)
        self.changed()
        return Said(message=message, deliveries=await self._heard(message, bot, place))

    async def joins(self, user: User | str, channel: Channel | str) -> Said:
        """*user* came into the channel, which Slack says in it."""
        person, place = self.user_of(user), self.channel_of(channel)
        place.members.add(person.id)
        words = f"<@{person.id}> has joined the channel"
        return await self.says(person, place, words, subtype="channel_join", raw=True)

    async def opens_home(self, user: User | str, tab: str = "home") -> list[Delivery]:
        """*user* looks at the app's home (or its messages tab)."""
        person = self.user_of(user)
        team = self.team_of(person)
        event: Json = {
            "type": "app_home_opened",
            "user": person.id,
            "channel": self.dm(person, team).id,
            "tab": tab,
            "event_ts": self.new_ts(),
        }
        if tab == "home" and person.id in self.homes:
            event["view"] = self.homes[person.id].to_json()
        return await self.delivers_event(event, team)

    # ── what the app hears of it ─────────────────────────────────────────────────────────────

    async def _heard(self, message: Message, user: User, channel: Channel) -> list[Delivery]:
        team = self.teams[channel.team_id]
        if team.bot_user_id not in channel.members:
            return []
        event = message.to_json() | self._at(channel, message.ts) | _stranger(user)
        if not message.bot_id:
            event["client_msg_id"] = self.new_id("client-")
        if not message.user:
            del event["user"]
        if message.is_reply:
            event["parent_user_id"] = self._parent(channel, message).user
        if message.subtype == "thread_broadcast":
            event["root"] = self._parent(channel, message).to_json()
        told = await self.delivers_event(event, team, channel)
        if self._mentions(message, team, channel):
            kept = {k: v for k, v in event.items() if k not in ("channel_type", "subtype", "root")}
            told += await self.delivers_event(kept | {"type": "app_mention"}, team, channel)
        return told

    async def _hidden(self, event: Json, user: User, channel: Channel) -> list[Delivery]:
        team = self.teams[channel.team_id]
        if team.bot_user_id not in channel.members:
            return []
        at = self._at(channel, self.new_ts())
        told = {"type": "message", "hidden": True, "ts": at["event_ts"], **event, **at}
        return await self.delivers_event(told, team, channel)

    def _at(self, channel: Channel, ts: str) -> Json:
        return {"channel": channel.id, "channel_type": channel.type, "event_ts": ts}

    def _mentions(self, message: Message, team: Team, channel: Channel) -> bool:
        """Slack sends no app_mention in direct messages, nor of a bot's joining message."""
        if channel.is_im or message.subtype in ("channel_join", "bot_message"):
            return False
        return f"<@{team.bot_user_id}>" in message.text

    def _parent(self, channel: Channel, message: Message) -> Message:
        return self.message(channel, str(message.thread_ts))

    # ── what Slack's client lets people do ───────────────────────────────────────────────────

    def _may_write(self, user: User, channel: Channel, thread_ts: str | None) -> None:
        if user.id not in channel.members:
            raise ValueError(f"{user.name} isn't in {channel.name or 'that direct message'}")
        if channel.is_archived:
            raise ValueError(f"{channel.name} is archived")
        if thread_ts is not None and self.message(channel, thread_ts).is_reply:
            raise ValueError(f"{thread_ts} is a reply; threads have none of their own")

    def _author(self, user: User | str, message: Message) -> tuple[User, Channel]:
        person = self.user_of(user)
        if message.user != person.id:
            raise ValueError(f"{person.name} didn't write that")
        return person, self.channel_of(message.channel)

    def _file(self, user: User, name: str, content: bytes, channel: Channel) -> File:
        file = File(
            id=self.new_id("F"),
            name=name,
            size=len(content),
            user=user.id,
            content=content,
            complete=True,
            channels=[channel.id],
        )
        self.files[file.id] = file
        return file


def escaped(text: str) -> str:
    """What Slack sends for what somebody typed: ``&<>`` escaped, but in references that its client made."""
    kept = REFERENCE.findall(text)
    parts = [
        part.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for part in REFERENCE.split(text)
    ]
    return parts[0] + "".join(reference + part for reference, part in zip(kept, parts[1:], strict=True))


def _stranger(user: User) -> Json:
    """Whose user a stranger is, which Slack Connect says in each event of theirs."""
    if not user.is_stranger:
        return {}
    return {"user_team": user.team_id, "source_team": user.team_id, "team": user.team_id}
