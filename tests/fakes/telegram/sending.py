"""What the bot says and changes: sendMessage, sendDocument, the edits, deleteMessage, sendChatAction."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.entities import CAPTION, TEXT, Formatted, formatted
from tests.fakes.telegram.markup import markups
from tests.fakes.telegram.methods import method, number, own_message, words, writable
from tests.fakes.telegram.things import Call, Chat, File, Json, Message, Refused, Topic, Version

NOT_MODIFIED: Final = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the "
    "same as a current content and reply markup of the message"
)
DELETABLE: Final = timedelta(hours=48)
FILE_BYTES: Final = 50 * 1024 * 1024
ACTIONS: Final = frozenset(
    "typing upload_photo record_video upload_video record_voice upload_voice upload_document choose_sticker "
    "find_location record_video_note upload_video_note".split()
)


@method("sendMessage")
async def send_message(world: Delivering, call: Call) -> Json:
    """A message of the bot is in the chat."""
    chat = writable(world, call)
    if not words(call, "text"):
        raise Refused(400, "Bad Request: message text is empty", fault=True)
    text = _formatted(world, call, "text", "entities", TEXT, "message is too long")
    return _said(world, call, chat, text).to_json()


@method("sendDocument")
async def send_document(world: Delivering, call: Call) -> Json:
    """A file of the bot is in the chat."""
    chat = writable(world, call)
    caption = _formatted(
        world, call, "caption", "caption_entities", CAPTION, "message caption is too long", empty=True
    )
    return _said(world, call, chat, caption, file=_file(world, call)).to_json()


@method("editMessageText")
async def edit_message_text(world: Delivering, call: Call) -> Json:
    """The message reads anew; without a keyboard, its keyboard is gone."""
    chat = writable(world, call)
    message = _editable(world, call, chat)
    if message.file is not None:
        raise Refused(400, "Bad Request: there is no text in the message to edit", fault=True)
    if not words(call, "text"):
        raise Refused(400, "Bad Request: message text is empty", fault=True)
    text = _formatted(world, call, "text", "entities", TEXT, "MESSAGE_TOO_LONG")
    return _changed(world, message, text, _keyboard(world, call)).to_json()


@method("editMessageReplyMarkup")
async def edit_message_reply_markup(world: Delivering, call: Call) -> Json:
    """The message has another keyboard, or none."""
    message = _editable(world, call, writable(world, call))
    same = Formatted(text=message.text, entities=message.entities, found=message.found)
    return _changed(world, message, same, _keyboard(world, call)).to_json()


@method("deleteMessage")
async def delete_message(world: Delivering, call: Call) -> bool:
    """The message is gone. A card never should be: that is a fault, even where Telegram lets it go."""
    chat = writable(world, call)
    message = own_message(world, call, chat, "message to delete not found", "message can't be deleted")
    had_keyboard = message.markup is not None or any(version.markup for version in message.versions)
    if had_keyboard:
        world.fault(call.method, "a card is ended by an edit, never deleted", message.text)
    if world.clock.now() - message.date >= DELETABLE:
        raise Refused(400, "Bad Request: message can't be deleted for everyone", fault=True)
    message.deleted = True
    chat.messages.remove(message)
    return True


@method("sendChatAction")
async def send_chat_action(world: Delivering, call: Call) -> bool:
    """For some seconds the chat says that the bot is typing, or the like."""
    writable(world, call)
    if words(call, "action").lower() not in ACTIONS:
        raise Refused(400, "Bad Request: wrong parameter action in request", fault=True)
    return True


# ── what is written ──────────────────────────────────────────────────────────────────────────


def _formatted(
    world: Delivering, call: Call, text: str, entities: str, limit: int, too_long: str, *, empty: bool = False
) -> Formatted:
    """The text of the request as it is kept. Raises Refused."""
    if call.payload.get("parse_mode"):
        raise Refused(400, "Bad Request: can't parse entities: this Telegram takes entities only", fault=True)
    return formatted(
        words(call, text),
        call.payload.get(entities),
        limit=limit,
        empty=empty,
        too_long=too_long,
        blame=_blame(world, call),
    )


def _blame(world: Delivering, call: Call) -> Callable[[str, str], None]:
    return lambda error, detail: world.fault(call.method, error, detail)


def _keyboard(world: Delivering, call: Call) -> Json | None:
    """The inline keyboard of an edit, which takes no other markup. Raises Refused."""
    inline, other = markups(call.payload.get("reply_markup"), _blame(world, call))
    if other is not None:
        raise Refused(400, "Bad Request: inline keyboard expected", fault=True)
    return inline


def _said(world: Delivering, call: Call, chat: Chat, text: Formatted, *, file: File | None = None) -> Message:
    """The message is there. Raises Refused."""
    inline, other = markups(call.payload.get("reply_markup"), _blame(world, call))
    reply_to = _replied(world, call, chat)
    topic = _topic(call, chat, reply_to)
    return world.post(
        chat,
        sender=world.bot,
        text=text.text,
        entities=text.entities,
        found=text.found,
        file=file,
        markup=inline,
        reply_markup=other,
        reply_to=reply_to or world.opening(chat, topic),
        topic=topic,
        link_preview=call.payload.get("link_preview_options"),
        silent=bool(call.payload.get("disable_notification")),
    )


def _replied(world: Delivering, call: Call, chat: Chat) -> Message | None:
    """The message that is replied to. Raises Refused, unless the request says to send without it."""
    asked: Any = call.payload.get("reply_parameters") or {}
    if not isinstance(asked, dict):
        raise Refused(400, "Bad Request: object expected as reply parameters", fault=True)
    message_id = asked.get("message_id", call.payload.get("reply_to_message_id"))
    if not message_id:
        return None
    if asked.get("chat_id") not in (None, chat.id):
        raise Refused(400, "Bad Request: the fake knows no replies across chats", fault=True)
    try:
        return world.message(chat, int(message_id))
    except LookupError:
        without = asked.get("allow_sending_without_reply", call.payload.get("allow_sending_without_reply"))
        if without:
            return None
        raise Refused(400, "Bad Request: message to be replied not found") from None


def _topic(call: Call, chat: Chat, reply_to: Message | None) -> Topic | None:
    """The topic that the message goes to; a reply without a topic goes to that of its message."""
    if call.payload.get("message_thread_id") is None:
        return reply_to.topic if reply_to else None
    thread_id = number(call, "message_thread_id", "invalid message thread identifier specified")
    if thread_id not in chat.topics:
        raise Refused(400, "Bad Request: message thread not found")
    topic = chat.topics[thread_id]
    if reply_to is not None and reply_to.topic is not topic:
        raise Refused(400, "Bad Request: message to be replied not found")
    return topic


def _file(world: Delivering, call: Call) -> File:
    """The file that came with the request, or one that is known already. Raises Refused."""
    if call.files:
        name, content = next(iter(call.files.values()))
        if not content:
            raise Refused(400, "Bad Request: file must be non-empty", fault=True)
        if len(content) > FILE_BYTES:
            raise Refused(413, "Request Entity Too Large", fault=True)
        return world.new_file(name, content, mime=call.mimes.get(next(iter(call.files)), ""))
    known = world.files.get(words(call, "document"))
    if known is None:
        raise Refused(400, "Bad Request: wrong remote file identifier specified", fault=True)
    return known


# ── what is changed ──────────────────────────────────────────────────────────────────────────


def _editable(world: Delivering, call: Call, chat: Chat) -> Message:
    """A message of the bot that came with no markup but an inline keyboard. Raises Refused."""
    message = own_message(world, call, chat, "message to edit not found", "message can't be edited")
    if message.reply_markup is not None:
        raise Refused(400, "Bad Request: message can't be edited", fault=True)
    return message


def _changed(world: Delivering, message: Message, text: Formatted, markup: Json | None) -> Message:
    """The message reads so. Raises Refused where it does already."""
    if (text.text, text.entities, markup) == (message.text, message.entities, message.markup):
        raise Refused(400, NOT_MODIFIED)
    message.versions.append(Version(text=message.text, entities=message.entities, markup=message.markup))
    message.text, message.entities, message.found = text.text, text.entities, text.found
    message.markup = markup
    message.edited_at = world.clock.now()
    world.changed()
    return message
