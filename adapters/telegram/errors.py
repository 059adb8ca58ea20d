"""What the Bot API refuses, as errors of ours: to wait, for good, or to be tried again."""

from collections.abc import Awaitable
from datetime import timedelta
from typing import Final, TypeVar

from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    RetryAfter,
    TelegramError,
    TimedOut,
)

from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone

Answer = TypeVar("Answer")

LONGEST_WAIT_SECONDS: Final = 3600.0
"""Of what Telegram asks us to wait: more is a mistake of somebody's (bad-inputs.md 91)."""

GONE: Final = (
    "chat not found",
    "chat_id_invalid",
    "group chat was deactivated",
    "message can't be edited",
    "message thread not found",
    "message to edit not found",
    "message_id_invalid",
    "peer_id_invalid",
    "topic_closed",
    "topic_deleted",
    "topic_id_invalid",
    "user not found",
)
FORBIDDEN: Final = (
    "administrator rights",
    "chat_restricted",
    "chat_send_",
    "chat_write_forbidden",
    "have no rights",
    "not enough rights",
)
UNSHOWABLE: Final = (
    "button_",
    "can't parse",
    "entities_too_long",
    "entity_",
    "inline keyboard",
    "message is too long",
    "message_too_long",
    "must be encoded in utf-8",
    "reply markup",
    "reply_markup",
    "text is empty",
)
"""It does not take what is shown: plainer words may get through."""
UNCHANGED: Final = "message is not modified"
TOO_OLD: Final = ("query is too old", "query id is invalid", "query_id_invalid")


class ChatUnshowable(ChatError):
    """Telegram does not take this message as it is."""


class ChatUnchanged(ChatError):
    """The message shows that already."""


class QueryTooOld(ChatError):
    """Who pressed does not wait for an answer any more."""


class ChatTaken(ChatError):
    """Somebody else gets what is sent to this bot: another process that polls, or a webhook."""


class ChatMoved(ChatGone):
    """The group is a supergroup now, and is called *to*."""

    def __init__(self, to: int) -> None:
        super().__init__(f"the group is {to} now")
        self.to = to


async def called(answer: Awaitable[Answer]) -> Answer:
    """What a method of the Bot API answered. Raises ChatBusy, ChatGone, ChatForbidden, else ChatError."""
    try:
        return await answer
    except TelegramError as error:
        raise _error(error) from error
    except (
        AttributeError,
        KeyError,
        TypeError,
    ) as error:  # the library reads whatever came as what it should be
        raise ChatError("Telegram's answer can't be read") from error


def _error(error: TelegramError) -> ChatError:
    words = f"Telegram says {error.message}"
    match error:
        case RetryAfter():
            return ChatBusy(wait_seconds(error.retry_after))
        case ChatMigrated():
            return ChatMoved(error.new_chat_id)
        case Forbidden():
            return ChatForbidden(words)
        case Conflict():
            return ChatTaken(words)
        case InvalidToken() | EndPointNotFound():
            return ChatForbidden("Telegram does not know this bot's token")
        case BadRequest():
            return _refused(error.message.casefold(), words)
        case TimedOut():
            return ChatError("Telegram did not answer in time")
        case _:  # its own words may have the address, with the token in it
            return ChatError(f"Telegram could not be asked: {type(error.__cause__ or error).__name__}")


def _refused(said: str, words: str) -> ChatError:
    kinds: tuple[tuple[tuple[str, ...], type[ChatError]], ...] = (
        ((UNCHANGED,), ChatUnchanged),
        (TOO_OLD, QueryTooOld),
        (UNSHOWABLE, ChatUnshowable),
        (GONE, ChatGone),
        (FORBIDDEN, ChatForbidden),
    )
    return next(
        (kind(words) for begins, kind in kinds if any(one in said for one in begins)), ChatError(words)
    )


def wait_seconds(said: int | timedelta) -> float:
    """How long a RetryAfter asks to wait, from a second to an hour."""
    seconds = said.total_seconds() if isinstance(said, timedelta) else float(said)
    return min(max(seconds, 1.0), LONGEST_WAIT_SECONDS)
