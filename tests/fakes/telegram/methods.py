"""The methods of the Bot API by name, and how they read what they are given."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, TypeVar

from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.things import Call, Chat, Message, Refused

Run: TypeAlias = Callable[[Delivering, Call], Awaitable[Any]]
"""Of the world and the request: what is answered as ``result``."""

R = TypeVar("R", bound=Run)

METHODS: Final[dict[str, Run]] = {}

WRITTEN: Final = frozenset(
    "text caption parse_mode callback_query_id url secret_token action document photo command description "
    "language_code business_connection_id ip_address message_effect_id inline_message_id".split()
)
"""Arguments that are texts as they stand; the others are written as JSON."""


def method(name: str) -> Callable[[R], R]:
    """The decorated function answers *name*, in whatever case it is asked for."""

    def register(run: R) -> R:
        METHODS[name.lower()] = run
        return run

    return register


def decoded(name: str, value: str) -> Any:
    """The argument *name* of a form."""
    if name in WRITTEN:
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def number(call: Call, name: str, missing: str) -> int:
    """The argument, a whole number. Raises Refused."""
    value = call.payload.get(name)
    try:
        return int(str(value))
    except ValueError:
        raise Refused(400, f"Bad Request: {missing}", fault=True) from None


def words(call: Call, name: str) -> str:
    """The argument as a text; empty where it isn't given."""
    value = call.payload.get(name)
    return "" if value is None else str(value)


def writable(world: Delivering, call: Call) -> Chat:
    """The chat of ``chat_id``, if the bot may write there. Raises Refused where it may not."""
    chat_id = call.payload.get("chat_id")
    if chat_id in (None, ""):
        raise Refused(400, "Bad Request: chat_id is empty", fault=True)
    user = world.users.get(chat_id) if isinstance(chat_id, int) else None
    chat = world.chats.get(chat_id) if isinstance(chat_id, int) else None
    if user is not None:
        if user.deactivated:
            raise Refused(403, "Forbidden: user is deactivated")
        if user.is_bot:
            raise Refused(403, "Forbidden: bot can't send messages to bots")
        if chat is None:
            raise Refused(403, "Forbidden: bot can't initiate conversation with a user")
        if user.blocked:
            raise Refused(403, "Forbidden: bot was blocked by the user")
    if chat is None:
        raise Refused(400, "Bad Request: chat not found")
    if chat.migrated_to is not None:
        raise Refused(
            400,
            "Bad Request: group chat was upgraded to a supergroup chat",
            parameters={"migrate_to_chat_id": chat.migrated_to},
        )
    if chat.bot_status in ("left", "kicked") and not chat.is_private:
        what = {"kicked": "was kicked from", "left": "is not a member of"}[chat.bot_status]
        raise Refused(403, f"Forbidden: bot {what} the {chat.type} chat")
    if chat.bot_status == "restricted":
        raise Refused(400, "Bad Request: not enough rights to send text messages to the chat")
    return chat


def own_message(world: Delivering, call: Call, chat: Chat, missing: str, others: str) -> Message:
    """The bot's message of ``message_id``. Raises Refused."""
    message_id = number(call, "message_id", "message identifier is not specified")
    try:
        message = world.message(chat, message_id)
    except LookupError:
        raise Refused(400, f"Bad Request: {missing}") from None
    if message.sender is not world.bot:
        raise Refused(400, f"Bad Request: {others}", fault=True)
    return message
