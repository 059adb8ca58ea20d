"""People who write: messages, replies, edits, forwards and files, in private, in groups and in topics."""

from dataclasses import dataclass
from typing import Final

from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.entities import TEXT
from tests.fakes.telegram.found import detect
from tests.fakes.telegram.text import units
from tests.fakes.telegram.things import Chat, Delivery, File, Json, Message, Topic, User, Version
from tests.fakes.telegram.world import ANONYMOUS, CHANNEL_BOT

PHOTO: Final = "photo.jpg"


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message somebody wrote, and each request with which the bot was told of it (none to a poller)."""

    message: Message
    deliveries: list[Delivery]

    @property
    def answered(self) -> Delivery:
        """The last answer of the app. Raises IndexError where it was not told at all."""
        return self.deliveries[-1]


@dataclass(kw_only=True, eq=False)
class Writing(Delivering):
    """Whoever writes does so as Telegram's own clients would let them."""

    async def says(
        self,
        user: User,
        chat: Chat | User,
        text: str,
        *,
        reply_to: Message | None = None,
        mention: bool = False,
        topic: Topic | None = None,
        photo: bytes | None = None,
        document: tuple[str, bytes] | None = None,
        forward: bool | Message = False,
        as_channel: Chat | None = None,
    ) -> Said:
        """*user* wrote *text* in *chat* (a user: their private chat), and the bot heard of it if it may.

        *mention*: ``@gatepost_bot`` stands before it. With a *photo* or *document* (name, content), the text
        is its caption. *forward*: it was written elsewhere: by somebody hidden, or as that message.
        *as_channel*: they write as a channel of theirs. Raises ValueError where they could not write that.
        """
        place = self.chat_of(chat)
        self._may_write(user, place, reply_to, topic)
        words = f"@{self.bot.username} {text}" if mention else text
        if units(words) > TEXT:
            raise ValueError("a person's client makes several messages of so long a text")
        sender, sender_chat = self._author(user, place, as_channel)
        in_topic = topic or (reply_to.topic if reply_to else None)
        message = self.post(
            place,
            sender=sender,
            sender_chat=sender_chat,
            text=words,
            found=detect(words),
            file=self._file(photo, document),
            reply_to=reply_to or self.opening(place, in_topic),
            topic=in_topic,
            forward_origin=self._origin(forward),
        )
        return Said(message=message, deliveries=await self.hears(message, by=user))

    async def replies(self, user: User, message: Message, text: str) -> Said:
        """*user* answered *message* by a reply to it."""
        return await self.says(user, message.chat, text, reply_to=message)

    async def edits(self, message: Message, text: str) -> list[Delivery]:
        """Its author changed what they wrote."""
        if message.sender is self.bot or message.deleted:
            raise ValueError("nobody can edit that")
        message.versions.append(Version(text=message.text, entities=message.entities, markup=message.markup))
        message.text, message.found = text, detect(text)
        message.edited_at = self.clock.now()
        self.changed()
        return await self.hears(message, kind="edited_message")

    async def deletes(self, message: Message) -> None:
        """Its author, or an administrator, took it away; Telegram tells no bot of that."""
        message.deleted = True
        message.chat.messages.remove(message)
        self.changed()

    async def hears(
        self, message: Message, *, by: User | None = None, kind: str = "message"
    ) -> list[Delivery]:
        """The bot was told of *message*, if it is there and privacy mode lets it hear that."""
        if not self._meant_for_bot(message, by):
            return []
        return await self.tells(kind, message.to_json())

    # ── what reaches the bot ─────────────────────────────────────────────────────────────────

    def _meant_for_bot(self, message: Message, by: User | None) -> bool:
        chat = message.chat
        if chat.is_private:
            return True
        if chat.bot_status not in ("member", "administrator") or chat.type == "channel":
            return False
        if by is not None and by.is_bot and not self.bot_to_bot:
            return False
        if not self.privacy or chat.bot_status == "administrator" or message.service:
            return True
        return self._calls_bot(message)

    def _calls_bot(self, message: Message) -> bool:
        """A command that is no other bot's, a reply to the bot, or a mention of it."""
        if message.reply_to is not None and message.reply_to.sender is self.bot:
            return True
        ours = f"@{self.bot.username}".lower()
        for one in message.found:
            if one.type == "mention" and one.text.lower() == ours:
                return True
            if one.type == "bot_command":
                name, _, bot = one.text.partition("@")
                if f"@{bot.lower()}" == ours or (not bot and one.offset == 0 and name):
                    return True
        return False

    # ── what Telegram's clients let people do ────────────────────────────────────────────────

    def _may_write(self, user: User, chat: Chat, reply_to: Message | None, topic: Topic | None) -> None:
        if user.id not in chat.members and chat.user is not user:
            raise ValueError(f"{user.name} isn't in {chat.title or 'that private chat'}")
        if chat.migrated_to is not None:
            raise ValueError(f"{chat.title} was upgraded to a supergroup")
        if topic is not None and chat.topics.get(topic.id) is not topic:
            raise ValueError(f"{topic.name} is no topic of {chat.title}")
        if reply_to is not None and (reply_to.chat is not chat or reply_to.deleted):
            raise ValueError("that message is not there to be replied to")

    def _author(self, user: User, chat: Chat, as_channel: Chat | None) -> tuple[User, Chat | None]:
        """Who the message says wrote it."""
        if as_channel is not None:
            return CHANNEL_BOT, as_channel
        return (ANONYMOUS, chat) if user.id in chat.anonymous else (user, None)

    def _file(self, photo: bytes | None, document: tuple[str, bytes] | None) -> File | None:
        if photo is not None:
            return self.new_file(PHOTO, photo, mime="image/jpeg", is_photo=True)
        return self.new_file(*document) if document is not None else None

    def _origin(self, forward: bool | Message) -> Json | None:
        """Where a forwarded message was written."""
        if forward is False:
            return None
        date = int(self.clock.now().timestamp())
        if forward is True or forward.sender is None:
            return {"type": "hidden_user", "date": date, "sender_user_name": "Somebody"}
        at = int(forward.date.timestamp())
        return {"type": "user", "date": at, "sender_user": forward.sender.to_json()}
