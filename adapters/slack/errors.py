"""What Slack's Web API refuses, as errors of ours: to wait, for good, or to be tried again."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone

LONGEST_WAIT_SECONDS: Final = 3600.0
"""Of what Slack asks us to wait: more is a mistake of somebody's (bad-inputs.md 91)."""
USUAL_WAIT_SECONDS: Final = 30.0
"""Where it does not say how long."""

GONE: Final = frozenset(
    {
        "cant_update_message",
        "channel_not_found",
        "edit_window_closed",
        "is_archived",
        "message_not_found",
        "thread_not_found",
        "user_not_found",
    }
)
FORBIDDEN: Final = frozenset(
    {
        "access_denied",
        "cannot_dm_bot",
        "is_inactive",
        "missing_scope",
        "no_permission",
        "not_in_channel",
        "restricted_action",
        "restricted_action_read_only_channel",
        "restricted_action_thread_only_channel",
        "team_access_not_granted",
        "user_disabled",
    }
)
UNSHOWABLE: Final = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
"""It does not take what is shown: plainer words may get through."""


class ChatUnshowable(ChatError):
    """Slack does not take this message as it is."""


async def called(answer: Awaitable[Any]) -> Mapping[str, Any]:
    """What a method of Slack's answered. Raises ChatBusy, ChatGone, ChatForbidden, else ChatError."""
    try:
        return (await answer).data  # type: ignore[no-any-return]
    except SlackApiError as error:
        raise _error(error) from error
    except TimeoutError as error:
        raise ChatError("Slack did not answer in time") from error
    except (aiohttp.ClientError, SlackClientError, asyncio.IncompleteReadError, OSError, ValueError) as error:
        raise ChatError(f"Slack could not be asked: {type(error).__name__}") from error
    except AttributeError as error:  # slack_sdk reads whatever came as an object
        raise ChatError("Slack's answer is no object") from error


def _error(error: SlackApiError) -> ChatError:
    response = error.response
    if isinstance(response, aiohttp.ClientResponse):  # slack_sdk's own for what says it is JSON, and is not
        return ChatError(f"Slack answered {response.status}, and not in JSON")
    status, data = response.status_code, response.data
    if status == 429:
        return ChatBusy(wait_seconds(response.headers))
    name = data.get("error") if isinstance(data, dict) else None
    if not isinstance(name, str):
        return ChatError(f"Slack answered {status}, and not in JSON")
    if name == "ratelimited":
        return ChatBusy(wait_seconds(response.headers))
    words = f"Slack says {name}"
    if name in GONE:
        return ChatGone(words)
    if name in FORBIDDEN:
        return ChatForbidden(words)
    return ChatUnshowable(words) if name in UNSHOWABLE else ChatError(words)


def wait_seconds(headers: Mapping[str, str]) -> float:
    """How long a Retry-After asks to wait: a number of seconds or a date; at most an hour."""
    said = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if said.isascii() and said.isdigit():
        seconds = float(said)
    else:
        try:
            at = parsedate_to_datetime(said)
        except ValueError:
            return USUAL_WAIT_SECONDS
        seconds = (at.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 1.0), LONGEST_WAIT_SECONDS)
