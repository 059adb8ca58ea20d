"""The fake Slack, asked by slack_sdk's own client: it takes what Slack takes, and refuses the rest."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from core.testing import ManualClock
from tests.fakes.slack import (
    APP_TOKEN,
    CLIENT_ID,
    CLIENT_SECRET,
    SIGNING_SECRET,
    Channel,
    FakeSlack,
    Json,
    Message,
    NotSubmitted,
    Trouble,
    User,
    cut,
    fake_slack,
    hangs,
    html,
    http_error,
    lost,
    refusal,
    too_many,
)
from tests.fakes.slack.samples import (
    BAD,
    BAD_VIEWS,
    CARD,
    GOOD,
    actions,
    asks,
    button,
    modal,
    option,
    plain,
    section,
)

Answer = Callable[[web.Request], Awaitable[web.Response]]


@dataclass
class Bot:
    """An app that answers *answers* in order, then 200, and keeps what it was sent."""

    answers: list[web.Response | Answer] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def payloads(self) -> list[Json]:
        """What was sent, whether as JSON, in a form's ``payload``, or as a form."""
        return [_decoded(body) for body in self.bodies]

    async def serve(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        answer = self.answers.pop(0) if self.answers else web.Response()
        return answer if isinstance(answer, web.Response) else await answer(request)


def _decoded(body: bytes) -> Json:
    if body.startswith(b"{"):
        decoded: Json = json.loads(body)
        return decoded
    form = {key: values[0] for key, values in parse_qs(body.decode(), keep_blank_values=True).items()}
    return json.loads(form["payload"]) if "payload" in form else form


@asynccontextmanager
async def listening(bot: Bot) -> AsyncIterator[str]:
    """The address of *bot*, until the block ends."""
    app = web.Application()
    app.router.add_post("/slack/events", bot.serve)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"
    finally:
        await runner.cleanup()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def slack(clock: ManualClock) -> AsyncIterator[FakeSlack]:
    async with fake_slack(clock=clock) as slack:
        yield slack


@pytest.fixture
async def bot(slack: FakeSlack) -> AsyncIterator[Bot]:
    bot = Bot()
    async with listening(bot) as slack.bot_url:
        yield bot


@pytest.fixture
def client(slack: FakeSlack) -> AsyncWebClient:
    return client_of(slack)


@pytest.fixture
def sam(slack: FakeSlack) -> User:
    return slack.add_user("sam")


@pytest.fixture
def ops(slack: FakeSlack, sam: User) -> Channel:
    return slack.add_channel("ops", sam)


def client_of(slack: FakeSlack, token: str | None = None) -> AsyncWebClient:
    """A client that tries once, so that what the fake does is seen as it is."""
    return AsyncWebClient(token or slack.team.bot_token, base_url=slack.api_url, retry_handlers=[])


async def error_of(call: Awaitable[Any]) -> str:
    """The name of the error that Slack answers."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def problem_of(call: Awaitable[Any]) -> str:
    """The first thing Slack says is wrong with a payload."""
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["response_metadata"]["messages"][0])


async def posted(
    client: AsyncWebClient, slack: FakeSlack, channel: Channel, *blocks: Json, text: str = "words"
) -> Message:
    """A message of the bot that is there."""
    answer = await client.chat_postMessage(channel=channel.id, text=text, blocks=list(blocks) or None)
    return slack.message(channel, answer["ts"])


async def opened(client: AsyncWebClient, slack: FakeSlack, user: User, view: Json) -> None:
    """*user* looks at the modal."""
    await client.views_open(trigger_id=slack.new_trigger(user, slack.team), view=view)


# ── who asks ─────────────────────────────────────────────────────────────────────────────────


async def test_a_token_says_who_it_is_and_what_it_may_do(slack: FakeSlack, client: AsyncWebClient) -> None:
    answer = await client.auth_test()
    assert (answer["user_id"], answer["bot_id"]) == (slack.team.bot_user_id, slack.team.bot_id)
    assert set(answer.headers["x-oauth-scopes"].split(",")) == slack.team.scopes


async def test_a_token_that_is_none_is_refused(slack: FakeSlack) -> None:
    assert await error_of(client_of(slack, "xoxb-stolen").auth_test()) == "invalid_auth"
    assert await error_of(client_of(slack, APP_TOKEN).auth_test()) == "not_allowed_token_type"
    slack.team.revoked = True
    assert await error_of(client_of(slack).auth_test()) == "token_revoked"


async def test_a_request_without_token_is_refused_and_one_with_a_token_field_is_not(
    slack: FakeSlack,
) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{slack.api_url}auth.test") as response:
            assert await response.json() == {"ok": False, "error": "not_authed"}
        token = {"token": slack.team.bot_token}
        async with session.post(f"{slack.api_url}auth.test", data=token) as response:
            assert (await response.json())["ok"]


SCOPED: dict[str, str] = {
    "chat.postMessage": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.postEphemeral": "chat:write",
    "conversations.open": "im:write",
    "users.info": "users:read",
    "team.info": "team:read",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}


@pytest.mark.parametrize("method", SCOPED)
async def test_a_method_needs_its_scope(slack: FakeSlack, client: AsyncWebClient, method: str) -> None:
    slack.team.scopes.discard(SCOPED[method])
    with pytest.raises(SlackApiError) as caught:
        await client.api_call(method)
    assert caught.value.response["error"] == "missing_scope"
    assert caught.value.response["needed"] == SCOPED[method]


async def test_a_method_that_is_none_is_a_fault(slack: FakeSlack, client: AsyncWebClient) -> None:
    assert await error_of(client.api_call("chat.shout")) == "unknown_method"
    assert [(f.where, f.error) for f in slack.faults] == [("chat.shout", "unknown_method")]


async def test_a_body_that_is_no_json_is_refused(slack: FakeSlack) -> None:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {slack.team.bot_token}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{slack.api_url}chat.postMessage", data="{", headers=headers) as response,
    ):
        assert await response.json() == {"ok": False, "error": "invalid_json"}


async def test_each_request_is_written_down(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel, clock: ManualClock
) -> None:
    await client.chat_postMessage(channel=ops.id, text="hello")
    (call,) = slack.called("chat.postMessage")
    assert (call.payload, call.at) == ({"channel": ops.id, "text": "hello"}, clock.now())
    assert call.answer is not None and call.answer["ok"]


# ── messages ─────────────────────────────────────────────────────────────────────────────────


async def test_a_message_is_in_its_channel_and_thread(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    parent = await posted(client, slack, ops, *CARD)
    await client.chat_postMessage(channel=ops.id, text="more", thread_ts=parent.ts)
    assert [m.text for m in slack.said(ops)] == ["words", "more"]
    assert [m.text for m in slack.thread(parent)] == ["more"]
    assert slack.faults == []


async def test_a_thread_that_is_no_parents_is_a_fault_though_slack_takes_it(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    parent = await posted(client, slack, ops)
    reply = await client.chat_postMessage(channel=ops.id, text="more", thread_ts=parent.ts)
    await client.chat_postMessage(channel=ops.id, text="deeper", thread_ts=reply["ts"])
    assert [f.error for f in slack.faults] == ["thread_ts is no parent's"]


async def test_a_message_to_a_user_opens_the_direct_message(
    slack: FakeSlack, client: AsyncWebClient, sam: User
) -> None:
    answer = await client.chat_postMessage(channel=sam.id, text="hello")
    again = await client.conversations_open(users=sam.id)
    assert answer["channel"] == again["channel"]["id"] == slack.dm(sam).id
    assert answer["channel"].startswith("D")
    assert (
        await error_of(client.chat_update(channel=sam.id, ts=answer["ts"], text="x")) == "channel_not_found"
    )


async def test_a_channel_that_the_bot_cannot_write_to_says_why(
    slack: FakeSlack, client: AsyncWebClient, sam: User
) -> None:
    elsewhere = slack.add_channel("elsewhere", sam, bot=False)
    secret = slack.add_channel("secret", sam, bot=False, is_private=True)
    old = slack.add_channel("old", sam, is_archived=True)
    errors = [
        await error_of(client.chat_postMessage(channel=channel, text="x"))
        for channel in (elsewhere.id, secret.id, old.id, "C0NONE")
    ]
    assert errors == ["not_in_channel", "channel_not_found", "is_archived", "channel_not_found"]


async def test_a_message_says_something_and_not_too_much(client: AsyncWebClient, ops: Channel) -> None:
    empty = client.api_call("chat.postMessage", json={"channel": ops.id})
    assert await error_of(empty) == "no_text"
    assert await error_of(client.chat_postMessage(channel=ops.id, text="x" * 40_001)) == "msg_too_long"
    await client.chat_postMessage(channel=ops.id, text="x" * 40_000)


async def test_a_request_without_its_channel_is_refused(client: AsyncWebClient) -> None:
    words = "[ERROR] missing required field: channel"
    assert await problem_of(client.api_call("chat.postMessage", json={"text": "x"})) == words


async def test_an_update_keeps_what_was_there_before(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    message = await posted(client, slack, ops, section("before"))
    await client.chat_update(channel=ops.id, ts=message.ts, text="new", blocks=[section("after")])
    assert message.blocks[0]["text"]["text"] == "after"
    assert message.history[0].blocks[0]["text"]["text"] == "before"
    assert not message.edited


async def test_an_update_with_text_alone_removes_the_blocks(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    message = await posted(client, slack, ops, *CARD)
    await client.chat_update(channel=ops.id, ts=message.ts, text="decided")
    assert (message.text, message.blocks, message.edited) == ("decided", [], True)


async def test_only_its_own_messages_are_changed_by_the_bot(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    theirs = await slack.says(sam, ops, "mine")
    update = client.chat_update(channel=ops.id, ts=theirs.ts, text="x")
    assert await error_of(update) == "cant_update_message"
    assert await error_of(client.chat_delete(channel=ops.id, ts=theirs.ts)) == "cant_delete_message"
    assert await error_of(client.chat_update(channel=ops.id, ts="1.0", text="x")) == "message_not_found"


async def test_the_time_to_edit_may_be_over(slack: FakeSlack, client: AsyncWebClient, ops: Channel) -> None:
    message = await posted(client, slack, ops)
    slack.edits_closed = True
    call = client.chat_update(channel=ops.id, ts=message.ts, text="x")
    assert await error_of(call) == "edit_window_closed"


async def test_a_deleted_message_is_gone(slack: FakeSlack, client: AsyncWebClient, ops: Channel) -> None:
    message = await posted(client, slack, ops)
    await client.chat_delete(channel=ops.id, ts=message.ts)
    assert slack.said(ops) == [] and message.deleted


async def test_an_ephemeral_is_seen_by_one_member_and_cannot_be_updated(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    answer = await client.chat_postEphemeral(channel=ops.id, user=sam.id, text="psst")
    assert [shown.text for shown in slack.shown_to(sam)] == ["psst"]
    update = client.chat_update(channel=ops.id, ts=answer["message_ts"], text="x")
    assert await error_of(update) == "message_not_found"
    ann = slack.add_user("ann")
    assert slack.shown_to(ann) == []
    call = client.chat_postEphemeral(channel=ops.id, user=ann.id, text="psst")
    assert await error_of(call) == "user_not_in_channel"


async def test_who_and_where_can_be_asked(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    message = await posted(client, slack, ops)
    assert (await client.users_info(user=sam.id))["user"]["name"] == "sam"
    assert await error_of(client.users_info(user="U0NONE")) == "user_not_found"
    assert (await client.conversations_info(channel=ops.id))["channel"]["is_member"]
    slack.team.scopes.discard("channels:read")
    assert await error_of(client.conversations_info(channel=ops.id)) == "missing_scope"
    assert (await client.team_info())["team"]["domain"] == "acme"
    link = (await client.chat_getPermalink(channel=ops.id, message_ts=message.ts))["permalink"]
    assert link == f"https://acme.slack.com/archives/{ops.id}/p{message.ts.replace('.', '')}"


async def test_a_form_is_as_good_as_json(slack: FakeSlack, client: AsyncWebClient, ops: Channel) -> None:
    form = {"channel": ops.id, "text": "hi", "blocks": json.dumps(CARD)}
    await client.api_call("chat.postMessage", data=form)
    assert len(slack.said(ops)[0].blocks) == len(CARD)
    form["blocks"] = "[{"
    assert await error_of(client.api_call("chat.postMessage", data=form)) == "invalid_blocks_format"


# ── blocks ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", GOOD)
async def test_good_blocks_are_taken(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel, name: str
) -> None:
    await client.chat_postMessage(channel=ops.id, text="words", blocks=GOOD[name])
    assert slack.faults == []


@pytest.mark.parametrize("name", BAD)
async def test_blocks_beyond_a_limit_are_refused_and_a_fault(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel, name: str
) -> None:
    blocks, where = BAD[name]
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ops.id, text="words", blocks=blocks)
    assert caught.value.response["error"] == "invalid_blocks"
    assert any(f"[json-pointer:{where}" in problem for problem in caught.value.response["errors"])
    assert [f.error for f in slack.faults] == ["invalid_blocks"]
    assert slack.said(ops) == []


async def test_all_texts_of_a_message_together_have_a_limit(client: AsyncWebClient, ops: Channel) -> None:
    whole = [section("x" * 3000)] * 4
    await client.chat_postMessage(channel=ops.id, text="words", blocks=[*whole, section("x" * 1200)])
    beyond = client.chat_postMessage(channel=ops.id, text="words", blocks=[*whole, section("x" * 1201)])
    assert await error_of(beyond) == "msg_blocks_too_long"


async def test_the_limits_of_blocks_hold_for_updates_and_ephemerals_too(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    message = await posted(client, slack, ops)
    bad = [section("x" * 3001)]
    update = client.chat_update(channel=ops.id, ts=message.ts, text="x", blocks=bad)
    ephemeral = client.chat_postEphemeral(channel=ops.id, user=sam.id, text="x", blocks=bad)
    assert [await error_of(update), await error_of(ephemeral)] == ["invalid_blocks"] * 2


# ── views ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", BAD_VIEWS)
async def test_a_view_beyond_a_limit_is_refused_and_a_fault(
    slack: FakeSlack, client: AsyncWebClient, sam: User, name: str
) -> None:
    call = client.views_open(trigger_id=slack.new_trigger(sam, slack.team), view=BAD_VIEWS[name])
    assert await error_of(call) == "invalid_arguments"
    assert [f.error for f in slack.faults] == ["invalid_arguments"]
    assert slack.modals == {}


async def test_a_view_within_the_limits_is_opened(
    slack: FakeSlack, client: AsyncWebClient, sam: User
) -> None:
    most = modal(
        asks("note", initial_value="x" * 3000, max_length=3000),
        *[{"type": "divider"}] * 99,
        title="x" * 24,
        submit="x" * 24,
        close=plain("x" * 24),
        private_metadata="x" * 3000,
        callback_id="x" * 255,
    )
    await opened(client, slack, sam, most)
    assert slack.modal(sam).title == "x" * 24 and slack.faults == []


async def test_a_view_of_too_many_bytes_is_refused(
    slack: FakeSlack, client: AsyncWebClient, sam: User
) -> None:
    huge = modal(*[section("x" * 3000)] * 90)
    call = client.views_open(trigger_id=slack.new_trigger(sam, slack.team), view=huge)
    assert await error_of(call) == "view_too_large"


async def test_a_modal_opens_once_per_trigger(slack: FakeSlack, client: AsyncWebClient, sam: User) -> None:
    trigger = slack.new_trigger(sam, slack.team)
    await client.views_open(trigger_id=trigger, view=modal())
    assert await error_of(client.views_open(trigger_id=trigger, view=modal())) == "exchanged_trigger_id"
    assert await error_of(client.views_open(trigger_id="made.up", view=modal())) == "invalid_trigger_id"


async def test_a_trigger_is_good_for_three_seconds(
    slack: FakeSlack, client: AsyncWebClient, sam: User, clock: ManualClock
) -> None:
    in_time, too_late = (slack.new_trigger(sam, slack.team) for _ in range(2))
    clock.advance(3)
    await client.views_open(trigger_id=in_time, view=modal())
    clock.advance(0.1)
    assert await error_of(client.views_open(trigger_id=too_late, view=modal())) == "expired_trigger_id"


async def test_three_modals_lie_on_each_other_and_no_fourth(
    slack: FakeSlack, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(title="1"))
    for title in ("2", "3"):
        trigger = slack.new_trigger(sam, slack.team, modal=True)
        await client.views_push(trigger_id=trigger, view=modal(title=title))
    assert [view.title for view in slack.modals[sam.id]] == ["1", "2", "3"]
    trigger = slack.new_trigger(sam, slack.team, modal=True)
    assert (
        await error_of(client.views_push(trigger_id=trigger, view=modal(title="4"))) == "push_limit_reached"
    )


async def test_a_view_is_updated_by_its_id_unless_it_changed_or_is_closed(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(title="1"))
    view = slack.modal(sam)
    before = view.hash
    await client.views_update(view_id=view.id, hash=before, view=modal(title="2"))
    assert view.title == "2"
    call = client.views_update(view_id=view.id, hash=before, view=modal(title="3"))
    assert await error_of(call) == "hash_conflict"
    await slack.closes(sam)
    assert await error_of(client.views_update(view_id=view.id, view=modal())) == "not_found"


async def test_a_home_is_published_for_one_user(slack: FakeSlack, client: AsyncWebClient, sam: User) -> None:
    home = {"type": "home", "blocks": [section("waits for you")]}
    await client.views_publish(user_id=sam.id, view=home)
    assert slack.home(sam).blocks[0]["text"]["text"] == "waits for you"
    assert await error_of(client.views_publish(user_id="U0NONE", view=home)) == "user_not_found"


# ── files and installing ─────────────────────────────────────────────────────────────────────


async def test_a_file_is_uploaded_in_three_steps_and_shared_in_a_thread(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    parent = await posted(client, slack, ops)
    await client.files_upload_v2(
        channel=ops.id, thread_ts=parent.ts, filename="all.json", content='{"a": 1}', initial_comment="all"
    )
    (shared,) = slack.thread(parent)
    assert (shared.text, shared.files[0].name, shared.files[0].content) == ("all", "all.json", b'{"a": 1}')
    assert slack.faults == []


async def test_a_file_whose_bytes_never_came_cannot_be_shared(client: AsyncWebClient, ops: Channel) -> None:
    announced = await client.files_getUploadURLExternal(filename="a", length=3)
    call = client.files_completeUploadExternal(files=[{"id": announced["file_id"]}], channel_id=ops.id)
    assert await error_of(call) == "file_not_found"


async def test_a_code_becomes_the_token_of_another_workspace_once(
    slack: FakeSlack, client: AsyncWebClient
) -> None:
    globex = slack.add_team("Globex", enterprise_id="E1")
    code = slack.grants(globex, slack.add_user("ann", team=globex))
    # Not by oauth_v2_access: with this aiohttp, what slack_sdk authenticates by is deprecated.
    app = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "code": code}
    stolen = client.api_call("oauth.v2.access", data=app | {"client_secret": "guess"})
    assert await error_of(stolen) == "bad_client_secret"
    answer = await client.api_call("oauth.v2.access", data=app)
    assert (answer["team"]["id"], answer["enterprise"]["id"]) == (globex.id, "E1")
    assert (await client_of(slack, answer["access_token"]).auth_test())["team"] == "Globex"
    assert await error_of(client.api_call("oauth.v2.access", data=app)) == "invalid_code"


async def test_a_workspace_does_not_see_the_channels_of_another(slack: FakeSlack, ops: Channel) -> None:
    globex = client_of(slack, slack.add_team("Globex").bot_token)
    assert await error_of(globex.chat_postMessage(channel=ops.id, text="x")) == "channel_not_found"


# ── troubles ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("retry_after", ["5", "999999", "Wed, 21 Oct 2026 07:28:00 GMT", None])
async def test_too_many_requests_say_when_to_come_again_or_do_not(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel, retry_after: str | None
) -> None:
    slack.breaks("chat.postMessage", too_many(retry_after))
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ops.id, text="x")
    response = caught.value.response
    assert (response.status_code, response["error"]) == (429, "ratelimited")
    assert response.headers.get("Retry-After") == retry_after
    await client.chat_postMessage(channel=ops.id, text="x")  # it was for one time


async def test_a_trouble_may_be_of_one_channel_and_for_ever(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    other = slack.add_channel("other", sam)
    slack.breaks("chat.postMessage", refusal("internal_error"), channel=ops, times=None)
    for _ in range(3):
        assert await error_of(client.chat_postMessage(channel=ops.id, text="x")) == "internal_error"
    await client.chat_postMessage(channel=other.id, text="x")
    slack.mends()
    await client.chat_postMessage(channel=ops.id, text="x")


@pytest.mark.parametrize("trouble", [http_error(500), http_error(503), html()])
async def test_an_answer_may_be_none_of_the_api(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel, trouble: Trouble
) -> None:
    slack.breaks("chat.postMessage", trouble)
    with pytest.raises((SlackApiError, aiohttp.ClientError, ValueError)):
        await client.chat_postMessage(channel=ops.id, text="x")
    assert slack.said(ops) == []


async def test_a_lost_answer_leaves_the_message_there_and_a_cut_request_does_not(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    slack.breaks("chat.postMessage", lost())
    slack.breaks("chat.postMessage", cut())
    for text in ("lost", "cut"):
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel=ops.id, text=text)
    assert [m.text for m in slack.said(ops)] == ["lost"]


async def test_a_request_hangs_until_it_is_released(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    released = asyncio.Event()
    slack.breaks("chat.postMessage", hangs(released))
    posting = asyncio.ensure_future(client.chat_postMessage(channel=ops.id, text="x"))
    await slack.wait_for(lambda: slack.called("chat.postMessage"))
    assert slack.said(ops) == []
    released.set()
    assert (await posting)["ok"]


async def test_a_channel_takes_one_message_a_second_after_a_burst(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel, clock: ManualClock
) -> None:
    slack.limits_posts()
    for _ in range(4):
        await client.chat_postMessage(channel=ops.id, text="x")
    with pytest.raises(SlackApiError) as caught:
        await client.chat_postMessage(channel=ops.id, text="x")
    assert caught.value.response.headers["Retry-After"] == "1"
    await client.chat_postMessage(channel=slack.add_channel("other", sam).id, text="x")
    clock.advance(1)
    await client.chat_postMessage(channel=ops.id, text="x")


async def test_waiting_ends_with_the_change_that_was_waited_for(
    slack: FakeSlack, client: AsyncWebClient, ops: Channel
) -> None:
    waiting = asyncio.ensure_future(slack.wait_for(lambda: slack.said(ops)[1]))
    for text in ("first", "second"):
        await client.chat_postMessage(channel=ops.id, text=text)
    assert (await waiting).text == "second"
    with pytest.raises(TimeoutError):
        await slack.wait_for(lambda: slack.said(ops)[2], seconds=0.01)


# ── what the app hears ───────────────────────────────────────────────────────────────────────


async def test_what_somebody_says_reaches_the_app_signed(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    said = await slack.says(sam, ops, "hello")
    assert said.answered.status == 200
    ((body, headers),) = zip(bot.bodies, bot.headers, strict=True)
    base = b"v0:" + headers["X-Slack-Request-Timestamp"].encode() + b":" + body
    expected = hmac.new(SIGNING_SECRET.encode(), base, hashlib.sha256).hexdigest()
    assert headers["X-Slack-Signature"] == f"v0={expected}"
    envelope = json.loads(body)
    assert envelope["authorizations"][0]["user_id"] == slack.team.bot_user_id
    event = envelope["event"]
    assert (event["type"], event["user"], event["text"], event["channel"], event["channel_type"]) == (
        "message",
        sam.id,
        "hello",
        ops.id,
        "channel",
    )


async def test_a_mention_is_told_twice_with_the_same_ts(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    said = await slack.says(sam, ops, "help", mention=True)
    events = [payload["event"] for payload in bot.payloads]
    assert [(event["type"], event["ts"]) for event in events] == [
        ("message", said.ts),
        ("app_mention", said.ts),
    ]
    assert len({payload["event_id"] for payload in bot.payloads}) == 2
    await slack.says(sam, slack.dm(sam), "help", mention=True)
    assert [p["event"]["type"] for p in bot.payloads[2:]] == ["message"]


async def test_what_is_said_where_the_bot_is_not_or_may_not_read_is_not_told(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    await slack.says(sam, slack.add_channel("elsewhere", sam, bot=False), "hello")
    slack.team.scopes.discard("channels:history")
    await slack.says(sam, ops, "hello")
    assert bot.bodies == []


async def test_what_is_typed_is_escaped_but_for_references(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    said = await slack.says(sam, ops, f"<@{sam.id}> a & <!channel>")
    assert said.message.text == f"<@{sam.id}> a &amp; &lt;!channel&gt;"


async def test_a_stranger_of_slack_connect_is_told_as_one(slack: FakeSlack, bot: Bot, sam: User) -> None:
    eve = slack.add_user("eve", is_stranger=True)
    shared = slack.add_channel("shared", sam, eve)
    await slack.says(eve, shared, "hello")
    (payload,) = bot.payloads
    assert payload["is_ext_shared_channel"]
    assert payload["team_id"] == slack.team.id
    assert payload["event"]["user_team"] == payload["event"]["source_team"] == eve.team_id


async def test_an_event_is_told_again_until_it_is_accepted(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    bot.answers = [web.Response(status=500), web.Response(status=404)]
    said = await slack.says(sam, ops, "hello")
    assert [delivery.status for delivery in said.deliveries] == [500, 404, 200]
    assert len({payload["event_id"] for payload in bot.payloads}) == 1
    retries = [(h.get("X-Slack-Retry-Num"), h.get("X-Slack-Retry-Reason")) for h in bot.headers]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error")]
    assert slack.refused == said.deliveries[:2] and slack.late == []


async def test_an_event_is_told_four_times_at_most_and_once_where_the_app_says_so(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel, clock: ManualClock
) -> None:
    slack.retry_waits = (0, 60, 300)
    bot.answers = [web.Response(status=500) for _ in range(4)]
    said = await slack.says(sam, ops, "hello")
    assert [delivery.status for delivery in said.deliveries] == [500] * 4
    assert clock.slept == [60, 300]
    bot.answers = [web.Response(status=500, headers={"X-Slack-No-Retry": "1"})]
    assert len((await slack.says(sam, ops, "hello")).deliveries) == 1


async def test_a_late_answer_is_written_down_and_the_event_told_again_meanwhile(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    released = asyncio.Event()

    async def slow(request: web.Request) -> web.Response:
        await released.wait()
        return web.Response()

    slack.patience = 0.05
    bot.answers = [slow]
    said = await slack.says(sam, ops, "hello")
    released.set()
    assert [delivery.status for delivery in said.deliveries] == [None, 200]
    assert slack.late == said.deliveries[:1] and slack.refused == []
    assert bot.headers[1]["X-Slack-Retry-Reason"] == "http_timeout"


async def test_an_accepted_event_can_be_told_again(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    said = await slack.says(sam, ops, "hello")
    await slack.redelivers(said.answered)
    first, second = bot.payloads
    assert first == second and bot.headers[1]["X-Slack-Retry-Num"] == "1"


async def test_edits_deletions_replies_files_and_other_bots_are_told_as_what_they_are(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    parent = (await slack.says(sam, ops, "hello")).message
    await slack.edits(sam, parent, "hello!")
    await slack.says(sam, ops, "all", thread_ts=parent.ts, broadcast=True)
    await slack.says(sam, ops, "see", files=[("a.txt", b"abc")])
    await slack.other_bot_says(ops, "beep", classic=True)
    await slack.other_bot_says(ops, "boop")
    await slack.joins(slack.add_user("ann"), ops)
    await slack.deletes(sam, parent)
    events = [payload["event"] for payload in bot.payloads]
    assert [event.get("subtype") for event in events] == [
        None,
        "message_changed",
        "thread_broadcast",
        "file_share",
        "bot_message",
        None,
        "channel_join",
        "message_deleted",
    ]
    assert (events[1]["message"]["text"], events[1]["previous_message"]["text"]) == ("hello!", "hello")
    assert events[2]["thread_ts"] == parent.ts and events[2]["root"]["text"] == "hello!"
    assert events[3]["files"][0]["name"] == "a.txt"
    assert "user" not in events[4] and all(event["bot_id"] for event in events[4:6])
    assert events[7]["deleted_ts"] == parent.ts and events[7]["hidden"]


async def test_the_app_hears_of_its_own_messages_where_that_is_switched_on(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, ops: Channel
) -> None:
    slack.echoes = True
    message = await posted(client, slack, ops)
    await client.chat_update(channel=ops.id, ts=message.ts, text="x")
    await slack.wait_for(lambda: len(slack.deliveries) == 2 and slack.deliveries[1].accepted)
    posted_event, changed = sorted(
        (payload["event"] for payload in bot.payloads), key=lambda event: event["event_ts"]
    )
    assert posted_event["bot_id"] == slack.team.bot_id and changed["subtype"] == "message_changed"


async def test_a_look_at_the_home_is_told(slack: FakeSlack, bot: Bot, sam: User) -> None:
    await slack.opens_home(sam)
    event = bot.payloads[0]["event"]
    assert (event["type"], event["user"], event["tab"]) == ("app_home_opened", sam.id, "home")


async def test_people_write_only_where_slack_lets_them(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    with pytest.raises(ValueError, match="isn't in ops"):
        await slack.says(slack.add_user("ann"), ops, "hello")
    reply = await slack.says(sam, ops, "b", thread_ts=(await slack.says(sam, ops, "a")).ts)
    with pytest.raises(ValueError, match="is a reply"):
        await slack.says(sam, ops, "c", thread_ts=reply.ts)


async def test_a_forged_request_is_sent_as_it_is_and_not_watched(slack: FakeSlack, bot: Bot) -> None:
    bot.answers = [web.Response(status=401)]
    headers = slack.signed(b"{}", secret="guess", at=1)
    delivery = await slack.delivers(b"{}", headers)
    assert delivery.status == 401 and slack.refused == []
    assert bot.bodies == [b"{}"] and bot.headers[0]["X-Slack-Request-Timestamp"] == "1"


async def test_the_challenge_is_asked_signed(slack: FakeSlack, bot: Bot) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(text=(await request.json())["challenge"])

    bot.answers = [echo]
    delivery = await slack.verifies_url()
    assert delivery.body == delivery.payload["challenge"]


# ── clicks ───────────────────────────────────────────────────────────────────────────────────


async def test_a_click_tells_what_is_really_there(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    card = await posted(client, slack, ops, *CARD)
    await slack.clicks(sam, card, "decline")
    (payload,) = bot.payloads
    assert (payload["type"], payload["user"]["id"], payload["team"]["id"]) == (
        "block_actions",
        sam.id,
        slack.team.id,
    )
    (action,) = payload["actions"]
    assert (action["action_id"], action["block_id"], action["value"]) == ("decline", "park:a1b2", "a1b2")
    assert payload["container"] == {
        "type": "message",
        "message_ts": card.ts,
        "channel_id": ops.id,
        "is_ephemeral": False,
    }
    assert payload["message"]["blocks"] == card.blocks


async def test_a_click_on_what_is_not_shown_is_impossible(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    card = await posted(client, slack, ops, *CARD)
    with pytest.raises(LookupError, match="no publish is shown; there are approve of park:a1b2"):
        await slack.clicks(sam, card, "publish")
    with pytest.raises(LookupError, match="ann doesn't see that"):
        await slack.clicks(slack.add_user("ann"), card, "approve")
    await client.chat_update(channel=ops.id, ts=card.ts, text="decided")
    with pytest.raises(LookupError, match="there are no elements"):
        await slack.clicks(sam, card, "approve")
    await slack.clicks(sam, card, "approve", stale=True)
    assert len(bot.bodies) == 1


async def test_of_several_buttons_one_is_told_by_its_value_block_or_text(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    rows = [actions(button("approve", f"Approve {n}", value=str(n)), block_id=f"row{n}") for n in range(3)]
    card = await posted(client, slack, ops, *rows)
    with pytest.raises(LookupError, match="3 elements approve"):
        await slack.clicks(sam, card, "approve")
    await slack.clicks(sam, card, "approve", "0")
    await slack.clicks(sam, card, "approve", block_id="row1")
    await slack.clicks(sam, card, "approve", text="Approve 2")
    assert [payload["actions"][0]["value"] for payload in bot.payloads] == ["0", "1", "2"]


async def test_an_ephemeral_is_clicked_without_its_message(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    await client.chat_postEphemeral(channel=ops.id, user=sam.id, text="x", blocks=[actions(button())])
    await slack.clicks(sam, slack.shown_to(sam)[0], "approve")
    (payload,) = bot.payloads
    assert payload["container"]["is_ephemeral"] and "message" not in payload


async def test_a_link_button_sends_too(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    card = await posted(client, slack, ops, actions(button("connect_open", url="https://example.com")))
    await slack.clicks(sam, card, "connect_open")
    assert bot.payloads[0]["actions"][0]["action_id"] == "connect_open"


async def test_a_choice_in_a_menu_is_told_and_stays(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    options = [option("a", "First"), option("b", "Second")]
    menus = actions(
        {"type": "static_select", "action_id": "pick", "options": options},
        {"type": "overflow", "action_id": "more", "options": options},
        block_id="menus",
    )
    card = await posted(client, slack, ops, menus)
    await slack.clicks(sam, card, "pick", "Second")
    await slack.clicks(sam, card, "more", "a")
    picked, more = bot.payloads
    assert picked["actions"][0]["selected_option"] == options[1]
    assert more["actions"][0]["selected_option"] == options[0]
    assert more["state"]["values"]["menus"]["pick"]["selected_option"] == options[1]
    with pytest.raises(LookupError, match="no option c"):
        await slack.clicks(sam, card, "pick", "c")


async def test_a_button_of_a_home_is_clicked_within_its_view(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await client.views_publish(user_id=sam.id, view={"type": "home", "blocks": [actions(button())]})
    await slack.clicks(sam, slack.home(sam), "approve")
    (payload,) = bot.payloads
    assert payload["container"] == {"type": "view", "view_id": slack.home(sam).id}
    assert payload["view"]["type"] == "home" and "message" not in payload and "channel" not in payload


async def test_the_trigger_of_a_click_opens_a_modal(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    async def opens(request: web.Request) -> web.Response:
        await client.views_open(trigger_id=bot.payloads[-1]["trigger_id"], view=modal(title="Edit refund"))
        return web.Response()

    bot.answers = [opens]
    await slack.clicks(sam, await posted(client, slack, ops, *CARD), "edit")
    assert slack.modal(sam).title == "Edit refund"


async def test_an_organizations_install_has_no_team_in_a_click(bot: Bot, slack: FakeSlack) -> None:
    team = slack.add_team("Globex", enterprise_id="E1", is_enterprise_install=True)
    ann = slack.add_user("ann", team=team)
    ops = slack.add_channel("ops", ann, team=team)
    card = await posted(client_of(slack, team.bot_token), slack, ops, *CARD)
    await slack.clicks(ann, card, "approve")
    (payload,) = bot.payloads
    assert (payload["team"], payload["enterprise"]["id"]) == (None, "E1")
    assert payload["is_enterprise_install"]


# ── modals ───────────────────────────────────────────────────────────────────────────────────


async def test_a_submitted_modal_tells_its_values_and_closes(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    fields = modal(asks("amount", initial_value="24"), asks("note"), private_metadata="a1b2")
    await opened(client, slack, sam, fields)
    await slack.submits(sam, {"note": "sorry"})
    (payload,) = bot.payloads
    assert (payload["type"], payload["view"]["private_metadata"]) == ("view_submission", "a1b2")
    values = payload["view"]["state"]["values"]
    assert values["amount"]["amount"] == {"type": "plain_text_input", "value": "24"}
    assert values["note"]["note"]["value"] == "sorry"
    assert slack.modals[sam.id] == []


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        (asks("note"), "", "required"),
        (asks("note", max_length=3), "abcd", "no longer than 3"),
        (asks("note", min_length=3), "ab", "at least 3"),
    ],
)
async def test_a_modal_is_not_submitted_that_slack_would_not_let_go(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, field: Json, value: str, problem: str
) -> None:
    await opened(client, slack, sam, modal(field))
    with pytest.raises(NotSubmitted, match=problem):
        await slack.submits(sam, {"note": value})
    assert bot.bodies == []


@pytest.mark.parametrize(("value", "fine"), [("12", True), ("1.5", False), ("x", False), ("99", False)])
async def test_a_number_is_a_number_within_its_limits(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, value: str, fine: bool
) -> None:
    field = asks("amount")
    field["element"] = {
        "type": "number_input",
        "action_id": "amount",
        "is_decimal_allowed": False,
        "max_value": "50",
    }
    await opened(client, slack, sam, modal(field))
    if fine:
        assert (await slack.submits(sam, {"amount": value})).accepted
    else:
        with pytest.raises(NotSubmitted):
            await slack.submits(sam, {"amount": value})


async def test_an_optional_field_may_stay_empty_and_an_unknown_one_is_not_filled(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(asks("note", optional=True)))
    with pytest.raises(LookupError, match="0 inputs are called reason; there are note/note"):
        await slack.submits(sam, {"reason": "x"})
    await slack.submits(sam)
    assert bot.payloads[0]["view"]["state"]["values"]["note"]["note"]["value"] is None


async def test_errors_are_shown_at_their_blocks_and_the_modal_stays(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(asks("amount")))
    errors = {"amount": "not a number", "elsewhere": "lost"}
    bot.answers = [web.json_response({"response_action": "errors", "errors": errors})]
    await slack.submits(sam, {"amount": "x"})
    assert slack.modal(sam).errors == {"amount": "not a number"}
    assert [(f.error, f.details) for f in slack.faults] == [("an error at no input block", ("elsewhere",))]
    await slack.submits(sam, {"amount": "1"})
    assert slack.modals[sam.id] == []


async def test_an_answer_shows_another_modal_or_clears_all(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(title="1"))
    bot.answers = [
        web.json_response({"response_action": "update", "view": modal(title="2")}),
        web.json_response({"response_action": "push", "view": modal(title="3")}),
        web.json_response({"response_action": "clear"}),
    ]
    shown = []
    for _ in range(3):
        await slack.submits(sam)
        shown.append([view.title for view in slack.modals[sam.id]])
    assert shown == [["2"], ["2", "3"], []]


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (web.Response(text="ok"), "an answer that is no JSON object"),
        (web.json_response({"response_action": "explode"}), "unknown response_action"),
        (web.json_response({"response_action": "errors"}), "errors name no block"),
        (
            web.json_response({"response_action": "update", "view": modal(title="x" * 25)}),
            "invalid_arguments",
        ),
    ],
)
async def test_an_answer_that_slack_cannot_follow_is_a_fault_and_the_modal_stays(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, answer: web.Response, fault: str
) -> None:
    await opened(client, slack, sam, modal(title="1"))
    bot.answers = [answer]
    await slack.submits(sam)
    assert slack.modal(sam).title == "1" and [f.error for f in slack.faults] == [fault]


async def test_a_refused_submission_leaves_the_modal_there(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal(title="1"))
    bot.answers = [web.Response(status=500)]
    delivery = await slack.submits(sam)
    assert slack.modal(sam).title == "1" and slack.refused == [delivery]


async def test_a_closed_modal_is_told_only_if_wanted(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User
) -> None:
    await opened(client, slack, sam, modal())
    assert await slack.closes(sam) is None
    await opened(client, slack, sam, modal(notify_on_close=True, callback_id="edit"))
    await slack.closes(sam)
    (payload,) = bot.payloads
    assert (payload["type"], payload["view"]["callback_id"], payload["is_cleared"]) == (
        "view_closed",
        "edit",
        False,
    )


# ── commands, shortcuts, response URLs ───────────────────────────────────────────────────────


async def test_a_command_is_answered_in_private(slack: FakeSlack, bot: Bot, sam: User, ops: Channel) -> None:
    bot.answers = [
        web.json_response({"text": "nothing waits"}),
        web.json_response({"text": "all see", "response_type": "in_channel"}),
    ]
    await slack.commands(sam, ops, "/gatepost", "pending")
    assert [shown.text for shown in slack.shown_to(sam)] == ["nothing waits"]
    assert (bot.payloads[0]["command"], bot.payloads[0]["text"]) == ("/gatepost", "pending")
    assert slack.faults == []
    await slack.commands(sam, ops, "/gatepost", "pending")
    assert [f.where for f in slack.faults] == ["command"]


async def test_a_shortcut_tells_of_its_message(slack: FakeSlack, bot: Bot, sam: User, ops: Channel) -> None:
    message = (await slack.says(sam, ops, "do this")).message
    await slack.uses_shortcut(sam, message, "make_task")
    await slack.uses_shortcut(sam, None, "new_task")
    on_message, everywhere = bot.payloads[1:]
    assert (on_message["type"], on_message["message"]["text"]) == ("message_action", "do this")
    assert everywhere["type"] == "shortcut" and "message" not in everywhere
    assert on_message["trigger_id"] != everywhere["trigger_id"]


async def test_a_response_url_answers_in_private_replaces_and_deletes(
    slack: FakeSlack, bot: Bot, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    card = await posted(client, slack, ops, *CARD)
    await slack.clicks(sam, card, "approve")
    hook = AsyncWebhookClient(bot.payloads[0]["response_url"])
    await hook.send(text="not yours")
    assert [shown.text for shown in slack.shown_to(sam)] == ["not yours"]
    await hook.send(text="decided", replace_original=True)
    assert (card.text, card.blocks) == ("decided", [])
    await hook.send(text="all", response_type="in_channel")
    assert [message.text for message in slack.said(ops)] == ["decided", "all"]
    await hook.send(delete_original=True)
    assert [message.text for message in slack.said(ops)] == ["all"]
    assert slack.faults == []


async def test_a_response_url_is_good_for_five_uses_within_half_an_hour(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel, clock: ManualClock
) -> None:
    for _ in range(2):
        await slack.commands(sam, ops, "/gatepost")
    used, expired = (AsyncWebhookClient(payload["response_url"]) for payload in bot.payloads)
    assert [(await used.send(text=str(n))).status_code for n in range(6)] == [200] * 5 + [404]
    clock.advance(30 * 60 + 1)
    assert "expired_url" in (await expired.send(text="late")).body
    assert [f.error for f in slack.faults] == ["used_url", "expired_url"]


async def test_a_response_urls_blocks_have_the_limits_of_a_message(
    slack: FakeSlack, bot: Bot, sam: User, ops: Channel
) -> None:
    await slack.commands(sam, ops, "/gatepost")
    hook = AsyncWebhookClient(bot.payloads[0]["response_url"])
    assert "invalid_blocks" in (await hook.send(text="x", blocks=[section("x" * 3001)])).body
    assert [f.error for f in slack.faults] == ["invalid_blocks"]


# ── Socket Mode ──────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def connected(
    slack: FakeSlack, answer: Callable[[SocketModeRequest], SocketModeResponse | None]
) -> AsyncIterator[SocketModeClient]:
    """slack_sdk's own socket client, which acknowledges with what *answer* says (None: not at all)."""
    client = SocketModeClient(APP_TOKEN, web_client=client_of(slack), ping_interval=60)

    async def heard(socket: Any, request: SocketModeRequest) -> None:
        response = answer(request)
        if response is not None:
            await client.send_socket_mode_response(response)

    client.socket_mode_request_listeners.append(heard)
    slack.by_socket = True
    there = len(slack.sockets.opened)
    await client.connect_to_new_endpoint()
    await slack.wait_for(lambda: len(slack.sockets.opened) > there)
    try:
        yield client
    finally:
        await client.close()  # type: ignore[no-untyped-call]


def ack(request: SocketModeRequest) -> SocketModeResponse:
    return SocketModeResponse(envelope_id=request.envelope_id)


async def test_a_socket_needs_the_apps_token(slack: FakeSlack, client: AsyncWebClient) -> None:
    call = client.apps_connections_open(app_token=slack.team.bot_token)
    assert await error_of(call) == "not_allowed_token_type"
    answer = await client.apps_connections_open(app_token=APP_TOKEN)
    assert answer["url"].startswith("ws://127.0.0.1:")


async def test_everything_goes_through_the_socket(
    slack: FakeSlack, client: AsyncWebClient, sam: User, ops: Channel
) -> None:
    heard: list[SocketModeRequest] = []

    def answer(request: SocketModeRequest) -> SocketModeResponse:
        heard.append(request)
        payload = {"text": "nothing waits"} if request.type == "slash_commands" else None
        return SocketModeResponse(envelope_id=request.envelope_id, payload=payload)

    card = await posted(client, slack, ops, *CARD)
    async with connected(slack, answer):
        await slack.says(sam, ops, "hello")
        await slack.clicks(sam, card, "approve")
        await slack.commands(sam, ops, "/gatepost")
    assert [(r.type, r.accepts_response_payload) for r in heard] == [
        ("events_api", False),
        ("interactive", True),
        ("slash_commands", True),
    ]
    assert heard[1].payload["actions"][0]["action_id"] == "approve"
    assert [shown.text for shown in slack.shown_to(sam)] == ["nothing waits"]
    assert (slack.faults, slack.late, slack.refused) == ([], [], [])
    assert len(slack.sockets.acks) == 3


async def test_an_envelope_without_acknowledgement_comes_again(
    slack: FakeSlack, sam: User, ops: Channel
) -> None:
    heard: list[SocketModeRequest] = []

    def second_time(request: SocketModeRequest) -> SocketModeResponse | None:
        heard.append(request)
        return ack(request) if len(heard) > 1 else None

    slack.patience = 0.05
    async with connected(slack, second_time):
        said = await slack.says(sam, ops, "hello")
    assert [delivery.accepted for delivery in said.deliveries] == [False, True]
    assert [(r.retry_attempt, r.retry_reason) for r in heard] == [(0, ""), (1, "http_timeout")]
    assert heard[0].payload["event_id"] == heard[1].payload["event_id"]
    assert slack.late == said.deliveries[:1]


async def test_an_answer_to_an_event_and_a_made_up_acknowledgement_are_faults(
    slack: FakeSlack, sam: User, ops: Channel
) -> None:
    def answer(request: SocketModeRequest) -> SocketModeResponse:
        return SocketModeResponse(envelope_id=request.envelope_id, payload={"text": "hm"})

    async with connected(slack, answer) as socket:
        await slack.says(sam, ops, "hello")
        await socket.send_socket_mode_response({"envelope_id": "made-up"})
        await slack.wait_for(lambda: len(slack.faults) == 2)
    assert [f.error for f in slack.faults] == [
        "an answer where none is taken",
        "an acknowledgement of nothing that waits for one",
    ]


async def test_two_sockets_at_once_take_turns_and_are_counted(
    slack: FakeSlack, sam: User, ops: Channel
) -> None:
    async with connected(slack, ack), connected(slack, ack):
        for text in ("a", "b"):
            await slack.says(sam, ops, text)
    assert slack.sockets.most == 2
    assert [len(connection.envelopes) for connection in slack.sockets.opened] == [1, 1]


async def test_nobody_connected_is_a_failed_delivery(slack: FakeSlack, sam: User, ops: Channel) -> None:
    slack.by_socket = True
    slack.retry_waits = ()
    said = await slack.says(sam, ops, "hello")
    assert said.answered.why == "connection_failed" and slack.refused == said.deliveries


async def test_a_client_that_is_asked_to_comes_back_on_a_new_socket(
    slack: FakeSlack, sam: User, ops: Channel
) -> None:
    async with connected(slack, ack):
        await slack.sockets.disconnect()
        await slack.wait_for(lambda: len(slack.sockets.opened) == 2 and len(slack.sockets.open) == 1)
        assert (await slack.says(sam, ops, "hello")).answered.accepted
