"""What Telegram sends, parsed once: what was written, typed or pressed, in words of ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from telegram import CallbackQuery, Message, MessageEntity, PhotoSize, Update, User
from telegram.constants import ChatType, MessageEntityType

from adapters.telegram.client import SURFACE
from adapters.telegram.places import Spot
from adapters.telegram.shown.text import unbroken
from core.chat import Attachment, ChatMessage, Place
from core.people import Account
from core.route import ChatKind

ALLOWED: Final = ("message", "edited_message", "callback_query", "my_chat_member")
"""Kinds of updates that are of use to us; Telegram sends no others."""

CHANNEL_FEED: Final = 777000
"""Telegram itself, which puts a channel's posts into the group that discusses them."""

HIGHEST: Final = 2**63
"""No update has a number so high, whatever Telegram counts with."""


class Unreadable(Exception):
    """An update is not what it should be."""


def update_of(raw: Mapping[str, Any]) -> Update:
    """Raises Unreadable."""
    try:
        update = Update.de_json(dict(raw))
        number = update.update_id
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < HIGHEST:
            raise Unreadable("its update_id is no number of an update")
    except (
        AttributeError,
        KeyError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
        OSError,
    ) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from error
    return update


def account_of(user: User) -> Account:
    """By the number alone: a name can be another's tomorrow."""
    return Account(surface=SURFACE, ref=str(user.id))


# ── messages ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Us:
    """The bot, as messages name it. *username*: without the @."""

    id: int
    username: str

    def is_named(self, name: str) -> bool:
        return name.removeprefix("@").casefold() == self.username.casefold()


def where(message: Message) -> Spot:
    """The chat of *message*, or the topic, where it is in one."""
    topic = message.message_thread_id if message.is_topic_message else None
    return Spot(chat=message.chat.id, topic=topic)


def name_of(message: Message) -> str:
    """What *message* is called, as a post's message is."""
    return str(Spot(chat=message.chat.id, message=message.message_id))


def kind_of(message: Message) -> ChatKind:
    if message.chat.type == ChatType.PRIVATE:
        return ChatKind.DIRECT
    return ChatKind.GROUP if where(message).topic is None else ChatKind.TOPIC


def place_of(message: Message) -> Place:
    """Where it stands. In a chat of many, what it begins speaks in replies to it; a reply is in a thread."""
    here, kind = where(message), kind_of(message)
    if kind is ChatKind.DIRECT:
        return Place(chat=str(here), kind=kind)
    answered = answered_by(message)
    return Place(
        chat=str(here),
        kind=kind,
        thread=None if answered is None else _thread(here, answered),
        opens=_thread(here, message),
    )


def _thread(here: Spot, message: Message) -> str:
    return str(Spot(chat=here.chat, topic=here.topic, message=message.message_id))


def answered_by(message: Message) -> Message | None:
    """The message that this one is a reply to; in a topic all are to its first one, which counts as none."""
    answered = message.reply_to_message
    if answered is None or answered.forum_topic_created is not None:
        return None
    opens = bool(message.is_topic_message) and answered.message_id == message.message_thread_id
    return None if opens else answered


def is_ours(message: Message | None, us: Us) -> bool:
    """Whether the bot wrote it."""
    return message is not None and message.from_user is not None and message.from_user.id == us.id


def chat_message(message: Message, writer: User, event_id: str, us: Us) -> ChatMessage | None:
    """What *writer* wrote; None of what has neither words nor a file: who came or left, a pinned message."""
    attachments = _attachments(message)
    text, named = words(message, us)
    if not attachments and message.text is None and message.caption is None:
        return None
    answered = answered_by(message)
    return ChatMessage(
        account=account_of(writer),
        event_id=event_id,
        place=place_of(message),
        text=text,
        reply_to=None if answered is None else name_of(answered),
        addressed=named or is_ours(answered, us),
        attachments=attachments,
    )


def words(message: Message, us: Us) -> tuple[str, bool]:
    """The text of *message*, without the bot's name at its beginning; and whether it names the bot.

    Where words hide an address, it stands behind them; what was copied from a message of ours is as it was
    before. Offsets count UTF-16 units, as Telegram does.
    """
    text = message.text if message.text is not None else message.caption or ""
    units, named = text.encode("utf-16-le", "surrogatepass"), False
    for entity in sorted(_entities(message), key=lambda e: e.offset, reverse=True):
        start, end = 2 * entity.offset, 2 * (entity.offset + entity.length)
        said = units[start:end].decode("utf-16-le", "replace")
        if entity.type == MessageEntityType.TEXT_LINK and entity.url and entity.url != said:
            units = units[:end] + f" ({entity.url})".encode("utf-16-le") + units[end:]
        if _names_us(entity, said, us):
            named = True
            if not units[:start].decode("utf-16-le", "replace").strip():
                units = units[end:]
    return unbroken(units.decode("utf-16-le", "replace")).strip(), named


def _names_us(entity: MessageEntity, said: str, us: Us) -> bool:
    if entity.type == MessageEntityType.MENTION:
        return us.is_named(said)
    return (
        entity.type == MessageEntityType.TEXT_MENTION and entity.user is not None and entity.user.id == us.id
    )


def _entities(message: Message) -> Sequence[MessageEntity]:
    return message.entities or message.caption_entities or ()


def _attachments(message: Message) -> tuple[Attachment, ...]:
    """The file that came with it; of a picture, which comes in several sizes, the largest."""
    found: Any = message.effective_attachment
    if found is None:
        return ()
    if isinstance(found, Sequence):
        found = found[-1] if found else None
    kind = "a photo" if isinstance(found, PhotoSize) else f"a {type(found).__name__.lower()}"
    size = getattr(found, "file_size", None)
    name = getattr(found, "file_name", None) or kind
    return (Attachment(name=str(name), size=size if isinstance(size, int) else None),)


# ── commands ─────────────────────────────────────────────────────────────────────────────────

_COMMAND = re.compile(
    r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<bot>[A-Za-z0-9_]+))?(?:\s+(?P<rest>.*))?", re.DOTALL
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A command: its name in small letters, the bot it was said to (None: whoever hears it), the rest."""

    name: str
    bot: str | None
    rest: str

    @property
    def line(self) -> str:
        """As it is typed elsewhere, nothing before it."""
        return f"{self.name} {self.rest}".strip()


def command_in(message: Message, us: Us) -> Said | None:
    """The command that *message* begins with, or that stands behind the bot's name.

    None of what somebody else wrote, and was passed on.
    """
    text = unbroken(message.text if message.text is not None else message.caption or "").strip()
    name, _, rest = text.partition(" ")
    named = name.startswith("@") and us.is_named(name)
    found = _COMMAND.fullmatch(rest.strip() if named else text)
    if found is None or is_passed_on(message):
        return None
    bot = found["bot"] or (us.username if named else None)
    return Said(name=found["name"].lower(), bot=bot, rest=(found["rest"] or "").strip())


def is_passed_on(message: Message) -> bool:
    """Its words are somebody else's: forwarded, or another bot's, put in for its sender."""
    return message.forward_origin is not None or message.via_bot is not None


# ── buttons ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Click:
    """A button that was pressed by *user*. *there*: its message, None where Telegram does not say.

    *where*: the chat of that message, or the private chat of who pressed.
    """

    query: CallbackQuery
    event_id: str
    there: Spot | None
    where: Spot

    @property
    def user(self) -> User:
        return self.query.from_user

    @property
    def account(self) -> Account:
        return account_of(self.user)


def click_of(query: CallbackQuery, event_id: str) -> Click:
    message = query.message  # of an old one Telegram says no more than what it is called
    if message is None:
        return Click(query=query, event_id=event_id, there=None, where=Spot(chat=query.from_user.id))
    here = where(message) if isinstance(message, Message) else Spot(chat=message.chat.id)
    there = Spot(chat=message.chat.id, message=message.message_id)
    return Click(query=query, event_id=event_id, there=there, where=here)
