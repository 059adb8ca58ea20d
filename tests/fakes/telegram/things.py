"""What there is in the fake Telegram, as a test may look at it: people, chats, what is shown and asked."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


class Refused(Exception):
    """The Bot API answers *code* with *description*; *parameters* is what it says with it.

    *fault*: no state of the world excuses the request, so it is written down as the app's mistake.
    """

    def __init__(
        self, code: int, description: str, *, parameters: Json | None = None, fault: bool = False
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters
        self.fault = fault


@dataclass(kw_only=True, eq=False)
class User:
    """A person or a bot. *blocked*: they blocked our bot; *deactivated*: the account is gone."""

    id: int
    name: str
    username: str | None = None
    is_bot: bool = False
    blocked: bool = False
    deactivated: bool = False

    def to_json(self) -> Json:
        told: Json = {"id": self.id, "is_bot": self.is_bot, "first_name": self.name}
        return told | ({"username": self.username} if self.username else {})


@dataclass(kw_only=True, eq=False)
class Topic:
    """A forum topic; its id is the message that opened it."""

    id: int
    name: str


@dataclass(kw_only=True, eq=False)
class Chat:
    """A chat with its messages in the order they were sent.

    *bot_status*: what the bot is there, as ``getChatMember`` says it. *migrated_to*: the supergroup that it
    was upgraded to. *anonymous*: administrators who write as the group.
    """

    id: int
    type: str
    title: str = ""
    user: User | None = None
    members: dict[int, str] = field(default_factory=dict)
    bot_status: str = "member"
    anonymous: set[int] = field(default_factory=set)
    topics: dict[int, Topic] = field(default_factory=dict)
    migrated_to: int | None = None
    messages: list["Message"] = field(default_factory=list)
    last_message_id: int = 0

    @property
    def is_forum(self) -> bool:
        return bool(self.topics)

    @property
    def is_private(self) -> bool:
        return self.type == "private"

    def to_json(self) -> Json:
        """As messages have it."""
        told: Json = {"id": self.id, "type": self.type}
        if self.user is not None:
            told["first_name"] = self.user.name
            return told | ({"username": self.user.username} if self.user.username else {})
        return told | {"title": self.title} | ({"is_forum": True} if self.is_forum else {})


@dataclass(frozen=True, kw_only=True)
class Found:
    """What Telegram made of a text by itself: a mention, a link, a command ...; in UTF-16 units."""

    type: str
    offset: int
    length: int
    text: str

    def to_json(self) -> Json:
        return {"type": self.type, "offset": self.offset, "length": self.length}


@dataclass(frozen=True, kw_only=True)
class File:
    """A document or photo that somebody sent."""

    id: str
    name: str
    mime: str
    content: bytes = field(repr=False)
    is_photo: bool = False

    def to_json(self) -> Json:
        """As the message has it, under ``document`` or ``photo``."""
        told: Json = {
            "file_id": self.id,
            "file_unique_id": f"u{self.id}",
            "file_size": len(self.content),
        }
        if self.is_photo:
            return {"photo": [told | {"width": 320, "height": 240}]}
        return {"document": told | {"file_name": self.name, "mime_type": self.mime}}


@dataclass(frozen=True, kw_only=True)
class Version:
    """How a message read before it was changed."""

    text: str
    entities: list[Json]
    markup: Json | None


@dataclass(kw_only=True, eq=False)
class Message:
    """A message as it reads now; *versions* is how it read before, oldest first.

    *text* is the caption where there is a *file*. *entities* are those that were given and kept; *found* is
    what Telegram made of the text by itself. *markup* is the inline keyboard; *reply_markup* any other
    markup, such as a ForceReply, that came with it. *service* is what a service message tells.
    """

    chat: Chat
    id: int
    date: datetime
    sender: User | None = None
    sender_chat: Chat | None = None
    text: str = ""
    entities: list[Json] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    file: File | None = None
    markup: Json | None = None
    reply_markup: Json | None = None
    reply_to: "Message | None" = None
    topic: Topic | None = None
    service: Json = field(default_factory=dict)
    forward_origin: Json | None = None
    edited_at: datetime | None = None
    versions: list[Version] = field(default_factory=list)
    link_preview: Json | None = None
    silent: bool = False
    deleted: bool = False

    @property
    def buttons(self) -> list[list[str]]:
        """The labels, row by row."""
        rows = self.markup["inline_keyboard"] if self.markup else []
        return [[button["text"] for button in row] for row in rows]

    @property
    def labels(self) -> list[str]:
        """The labels of all buttons, in reading order."""
        return [label for row in self.buttons for label in row]

    @property
    def forces_reply(self) -> bool:
        """People's clients open a reply to it."""
        return bool(self.reply_markup and self.reply_markup.get("force_reply"))

    @property
    def thread_id(self) -> int | None:
        """As ``message_thread_id`` says it: the topic, or in a supergroup the first message replied to."""
        if self.topic is not None:
            return self.topic.id
        if self.reply_to is None or self.chat.type != "supergroup" or self.chat.is_forum:
            return None
        return self.reply_to.thread_id or self.reply_to.id

    def marked(self, kind: str) -> list[str]:
        """The parts of the text that entities of *kind* mark, given or found."""
        units = self.text.encode("utf-16-le")
        marks = [*self.entities, *(found.to_json() for found in self.found)]
        return [
            units[2 * mark["offset"] : 2 * (mark["offset"] + mark["length"])].decode("utf-16-le")
            for mark in sorted(marks, key=lambda mark: int(mark["offset"]))
            if mark["type"] == kind
        ]

    def to_json(self, *, with_reply: bool = True) -> Json:
        """As answers and updates have it; a message replied to tells of no further one."""
        told: Json = {"message_id": self.id, "date": int(self.date.timestamp()), "chat": self.chat.to_json()}
        marks = [*self.entities, *(found.to_json() for found in self.found)]
        marks.sort(key=lambda mark: (mark["offset"], -mark["length"]))
        words = ("caption", "caption_entities") if self.file else ("text", "entities")
        optional = {
            "from": self.sender.to_json() if self.sender else None,
            "sender_chat": self.sender_chat.to_json() if self.sender_chat else None,
            "message_thread_id": self.thread_id,
            "is_topic_message": True if self.topic else None,
            "edit_date": int(self.edited_at.timestamp()) if self.edited_at else None,
            "forward_origin": self.forward_origin,
            "reply_to_message": self.reply_to.to_json(with_reply=False)
            if self.reply_to and with_reply
            else None,
            words[0]: self.text or None,
            words[1]: marks or None,
            "reply_markup": self.markup,
        }
        told |= {key: value for key, value in optional.items() if value is not None}
        return told | (self.file.to_json() if self.file else {}) | self.service


@dataclass(kw_only=True, eq=False)
class Answer:
    """What answerCallbackQuery said: a passing note, or an alert that must be closed."""

    text: str = ""
    alert: bool = False
    url: str = ""


@dataclass(kw_only=True, eq=False)
class Query:
    """A pressed button that waits for its answer."""

    id: str
    user: User
    data: str
    made_at: datetime
    message: Message | None
    answer: Answer | None = None


@dataclass(kw_only=True, eq=False)
class Update:
    """Something the bot is told; *kind* is the field of *payload* that holds it."""

    id: int
    kind: str
    payload: Json

    @property
    def told(self) -> Json:
        """What the update is about: its message, query, or change of membership."""
        told: Json = self.payload[self.kind]
        return told


@dataclass(kw_only=True, eq=False)
class Delivery:
    """One request to the webhook and what it answered; *status* is None where it answered nothing."""

    update: Update
    url: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    status: int | None = None
    body: str = ""
    seconds: float = 0.0
    why: str = ""

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


@dataclass(kw_only=True, eq=False)
class Webhook:
    """What setWebhook said."""

    url: str
    secret_token: str = ""
    allowed_updates: list[str] | None = None
    max_connections: int = 40
    drop_pending_updates: bool = False
    last_error_at: datetime | None = None
    last_error_message: str = ""


@dataclass(kw_only=True, eq=False)
class Call:
    """One request to the Bot API, with what was answered: None if nothing was."""

    method: str
    payload: Json
    at: datetime
    token: str
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict, repr=False)
    mimes: dict[str, str] = field(default_factory=dict, repr=False)
    status: int | None = None
    answer: Json | None = None

    @property
    def chat_id(self) -> int | None:
        chat_id = self.payload.get("chat_id")
        return chat_id if isinstance(chat_id, int) else None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something the app did that Telegram refuses, or that is a mistake although Telegram takes it."""

    where: str
    error: str
    details: tuple[str, ...] = ()
