"""What Slack refuses, as errors of ours: how long to wait, what is gone, what may be tried again."""

import asyncio
from collections.abc import Awaitable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.errors import (
    LONGEST_WAIT_SECONDS,
    USUAL_WAIT_SECONDS,
    ChatUnshowable,
    called,
    wait_seconds,
)
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone


def refused(error: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Awaitable[Any]:
    """A call that Slack refuses."""

    async def call() -> Any:
        response = AsyncSlackResponse(
            client=None,
            http_verb="POST",
            api_url="chat.postMessage",
            req_args={},
            data={"ok": False, "error": error} if error else b"<html>",
            headers=dict(headers or {}),
            status_code=status,
        )
        raise SlackApiError("refused", response)  # type: ignore[no-untyped-call]

    return call()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("channel_not_found", ChatGone),
        ("is_archived", ChatGone),
        ("message_not_found", ChatGone),
        ("cant_update_message", ChatGone),
        ("edit_window_closed", ChatGone),
        ("not_in_channel", ChatForbidden),
        ("missing_scope", ChatForbidden),
        ("msg_blocks_too_long", ChatUnshowable),
        ("invalid_blocks", ChatUnshowable),
        ("invalid_auth", ChatError),
        ("token_revoked", ChatError),
        ("internal_error", ChatError),
        ("what_slack_says_next_year", ChatError),
        ("", ChatError),
    ],
)
async def test_each_refusal_is_an_error_that_says_what_can_be_done(error: str, kind: type[ChatError]) -> None:
    with pytest.raises(ChatError) as raised:
        await called(refused(error))
    assert type(raised.value) is kind


async def test_too_many_requests_are_waited_out_as_slack_says() -> None:
    for answer in (
        refused("ratelimited", 429, {"Retry-After": "5"}),
        refused("ratelimited", 200, {"Retry-After": "5"}),
    ):
        with pytest.raises(ChatBusy) as raised:
            await called(answer)
        assert raised.value.retry_after_seconds == 5


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ({"Retry-After": "5"}, 5),
        ({"retry-after": "0"}, 1),
        ({}, USUAL_WAIT_SECONDS),
        ({"Retry-After": "soon"}, USUAL_WAIT_SECONDS),
        ({"Retry-After": "-3"}, USUAL_WAIT_SECONDS),
        ({"Retry-After": "999999"}, LONGEST_WAIT_SECONDS),
    ],
)
def test_a_wait_is_as_long_as_slack_says_and_an_hour_at_most(said: Mapping[str, str], seconds: float) -> None:
    assert wait_seconds(said) == seconds


def test_a_wait_may_be_a_date() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < wait_seconds({"Retry-After": at}) <= 90


@pytest.mark.parametrize(
    "broken",
    [TimeoutError(), aiohttp.ServerDisconnectedError(), ConnectionResetError(), ValueError("no JSON")],
    ids=str,
)
async def test_whatever_breaks_on_the_way_may_be_tried_again(broken: Exception) -> None:
    async def call() -> Any:
        raise broken

    with pytest.raises(ChatError) as raised:
        await called(call())
    assert type(raised.value) is ChatError


async def test_a_call_that_is_cancelled_stays_cancelled() -> None:
    async def call() -> Any:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await called(call())
