"""The state of the fake Telegram, and waiting for it to change. Knows no HTTP."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from adapters.clock import SystemClock
from core.ports import Clock
from tests.fakes.telegram.things import Call, Chat, Fault, File, Message, Query, Topic, Update, User

BOT_ID: Final = 7000000001
TOKEN: Final = f"{BOT_ID}:AAFakeFakeFakeFakeFakeFakeFakeFakeFake"
USERNAME: Final = "gatepost_bot"

ANONYMOUS: Final = User(id=1087968824, name="Group", username="GroupAnonymousBot", is_bot=True)
"""Who writes when an administrator does so as the group."""

CHANNEL_BOT: Final = User(id=136817688, name="Channel", username="Channel_Bot", is_bot=True)
"""Who writes when somebody does so as a channel."""

QUERY_AGE: Final = 15.0

T = TypeVar("T")


@dataclass(kw_only=True, eq=False)
class World:
    """People, chats, and all that was said, pressed and asked.

    *faults*: what the app did that it should not; a test asserts that there are none. *query_age*: the
    seconds after which a pressed button can no longer be answered; 0 and none can. *privacy*: in groups the
    bot hears only what is meant for it. *bot_to_bot*: it also hears other bots.
    """

    clock: Clock = field(default_factory=SystemClock)
    token: str = TOKEN
    bot: User = field(
        default_factory=lambda: User(id=BOT_ID, name="Gatepost", username=USERNAME, is_bot=True)
    )
    users: dict[int, User] = field(default_factory=dict)
    chats: dict[int, Chat] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    commands: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)
    query_age: float = QUERY_AGE
    privacy: bool = True
    bot_to_bot: bool = False
    address: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _change: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def api_url(self) -> str:
        """What the app takes for ``https://api.telegram.org``; a token's base is ``{api_url}/bot``."""
        return self.address

    # ── who and what there is ────────────────────────────────────────────────────────────────

    def add_user(
        self, name: str, *, username: str | None = "", is_bot: bool = False, started: bool = False
    ) -> User:
        """A person (or a bot) that *username* names, *name* unless told otherwise (None: nobody has one).

        *started*: they pressed start long ago, so that the bot may write to them.
        """
        user = User(
            id=self.new_number("user", 4711),
            name=name,
            username=name.lower().replace(" ", "_") if username == "" else username,
            is_bot=is_bot,
        )
        self.users[user.id] = user
        if started:
            self.open_private(user)
        return user

    def add_group(self, title: str, *members: User, basic: bool = False, bot: bool = True) -> Chat:
        """A supergroup of *members*, and of the bot unless told otherwise.

        *basic*: a plain group as they begin, without topics, that can migrate.
        """
        number = self.new_number("group", 1001)
        group = Chat(
            id=-number if basic else int(f"-100{number}"),
            type="group" if basic else "supergroup",
            title=title,
            members={user.id: "member" for user in members},
            bot_status="member" if bot else "left",
        )
        self.chats[group.id] = group
        return group

    def add_topic(self, group: Chat, name: str) -> Topic:
        """A topic of the supergroup, which is a forum now; messages without a topic are in General."""
        if group.type != "supergroup":
            raise ValueError(f"{group.title} is no supergroup: it has no topics")
        created = {"forum_topic_created": {"name": name, "icon_color": 7322096}}
        opened = self.post(group, sender=self.somebody(group), service=created)
        topic = opened.topic = group.topics[opened.id] = Topic(id=opened.id, name=name)
        return topic

    def add_channel(self, title: str) -> Chat:
        """A channel, as which people may write in groups."""
        channel = Chat(id=int(f"-100{self.new_number('group', 1001)}"), type="channel", title=title)
        channel.bot_status = "left"
        self.chats[channel.id] = channel
        return channel

    def open_private(self, user: User) -> Chat:
        """The private chat with *user*, which is there now."""
        return self.chats.setdefault(user.id, Chat(id=user.id, type="private", user=user))

    def private(self, user: User) -> Chat:
        """The private chat with *user*. Raises LookupError where they never pressed start."""
        if user.id not in self.chats:
            raise LookupError(f"{user.name} never pressed start")
        return self.chats[user.id]

    def chat_of(self, chat: Chat | User) -> Chat:
        return self.private(chat) if isinstance(chat, User) else chat

    # ── what is shown ────────────────────────────────────────────────────────────────────────

    def message(self, chat: Chat | User, message_id: int) -> Message:
        """The message that is there. Raises LookupError."""
        for message in self.chat_of(chat).messages:
            if message.id == message_id:
                return message
        raise LookupError(f"no message {message_id}")

    def said(self, chat: Chat | User, *, topic: Topic | None = None) -> list[Message]:
        """What the bot has in *chat* now (in *topic*, where one is told), oldest first."""
        messages = self.chat_of(chat).messages if isinstance(chat, Chat) or chat.id in self.chats else []
        return [m for m in messages if m.sender is self.bot and (topic is None or m.topic is topic)]

    def called(self, method: str) -> list[Call]:
        """The requests to *method*, oldest first."""
        return [call for call in self.calls if call.method == method]

    # ── what happens ─────────────────────────────────────────────────────────────────────────

    def new_number(self, kind: str, first: int = 1) -> int:
        number = self._counts[kind] = self._counts.get(kind, first - 1) + 1
        return number

    def new_message_id(self, chat: Chat) -> int:
        """Supergroups count for themselves; private chats and plain groups have one count together."""
        if chat.type != "supergroup":
            return self.new_number("message", 100)
        chat.last_message_id += 1
        return chat.last_message_id

    def post(self, chat: Chat, **told: Any) -> Message:
        """A new message is in *chat*; *told* is what things.Message holds beside its place and time."""
        new = Message(chat=chat, id=self.new_message_id(chat), date=self.clock.now(), **told)
        chat.messages.append(new)
        self.changed()
        return new

    def somebody(self, chat: Chat) -> User:
        """Who may have done what nobody is named for: the first member, or a nameless administrator."""
        return next((self.users[user_id] for user_id in chat.members if user_id in self.users), ANONYMOUS)

    def opening(self, chat: Chat, topic: Topic | None) -> Message | None:
        """The message that opened *topic*, to which all in it are replies, as Telegram tells it."""
        return self.message(chat, topic.id) if topic else None

    def new_file(self, name: str, content: bytes, *, mime: str = "", is_photo: bool = False) -> File:
        file = File(
            id=f"file{self.new_number('file')}",
            name=name,
            mime=mime or "application/octet-stream",
            content=content,
            is_photo=is_photo,
        )
        self.files[file.id] = file
        return file

    def fault(self, where: str, error: str, *details: str) -> None:
        """The app did what it should not."""
        self.faults.append(Fault(where=where, error=error, details=details))

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    def changed(self) -> None:
        """Whoever waits looks again."""
        before, self._change = self._change, asyncio.Event()
        before.set()

    @property
    def next_change(self) -> asyncio.Event:
        """Set as soon as anything changes."""
        return self._change

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
