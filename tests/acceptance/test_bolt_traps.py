"""What a bot on Bolt may lose, send or answer wrongly: each trap of docs/chat.md, through our own route.

Over one database: what the store does with what it is given is the contract tests' business.
"""

import asyncio
import json
import re
import sqlite3
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adapters.slack import client
from adapters.slack.client import connections
from adapters.slack.heard.listening import Pace
from adapters.slack.heard.signed import sign
from adapters.web.door import Door
from bot.serving import PATHS
from core.parks import ParkState
from core.testing import calls, says
from tests.acceptance.command_line import ROOT
from tests.acceptance.processes import Web, without
from tests.acceptance.shop import PAST, REFUND_SCRIPT, REFUNDED
from tests.acceptance.slack_office import SlackOffice, slack_office, words_of
from tests.acceptance.slack_processes import EVENTS, town_at
from tests.conftest import Templates, migrated
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import (
    SIGNING_SECRET,
    Message,
    Trouble,
    cut,
    hangs,
    html,
    http_error,
    refusal,
    too_many,
)
from tests.postgres import Server
from tests.wire import asked, served

OAUTH = ("install", "oauth_redirect")
FORM = "application/x-www-form-urlencoded"
VIEW = {"id": "V1", "type": "modal", "callback_id": "of_1_0", "hash": "1", "state": {"values": {}}}
CHALLENGE = json.dumps({"type": "url_verification", "challenge": "a-challenge"}).encode()


@pytest.fixture
async def url(tmp_path: Path, postgres_server: Server, templates: Templates) -> AsyncIterator[str]:
    async with migrated("sqlite", tmp_path, postgres_server, templates) as made:
        yield made


@pytest.fixture
async def office(url: str) -> AsyncIterator[SlackOffice]:
    """The shop's people in Slack; afterwards Slack has found no fault, and nothing was answered late."""
    async with AsyncExitStack() as closing:
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(slack_office(planted))
        yield made
        assert await made.is_whole()


@pytest.fixture
async def door() -> AsyncIterator[SlackOffice]:
    """The same over a store in memory, for what does not get far: the script has nothing to say."""
    async with slack_office(MemoryPlanted()) as made:
        made.opens([])
        yield made
        assert await made.planted.count("inbox") == 0


async def parked(office: SlackOffice, *script: object) -> Message:
    """Ada asked for something in a channel, and its card is in the thread."""
    office.opens(list(script or REFUND_SCRIPT))  # type: ignore[arg-type]
    await office.slack.says(office.ada, office.ops, "refund the mug", mention=True)
    await office.last.works()
    return office.card


async def states(office: SlackOffice) -> list[ParkState]:
    return [park.state for park in (await office.story()).parks]


# ── an event is stored, or comes again ───────────────────────────────────────────────────────


@pytest.mark.rule("K21", "K22", "I21")
async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_taken_when_it_comes_again(
    office: SlackOffice,
) -> None:
    office.opens([says("Hello.")])
    async with without(office.planted, "inbox"):
        said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
    assert [(d.status, d.retry) for d in said.deliveries] == [(503, n) for n in range(4)] * 2
    assert (await office.slack.redelivers(said.answered)).status == 200
    await office.last.works()
    assert (await office.task()).goal == "hello"


@pytest.mark.rule("K21")
async def test_an_event_at_which_we_break_is_not_acknowledged(
    door: SlackOffice, caplog: pytest.LogCaptureFixture
) -> None:
    broken = {"type": "message", "user": door.ada.id, "text": "no time, no channel"}
    tries = await door.slack.delivers_event(broken, door.slack.team)
    assert [d.status for d in tries] == [500] * 4
    assert "KeyError" in caplog.text


@pytest.mark.rule("C6", "K21")
async def test_a_click_that_could_not_be_decided_is_refused_and_may_be_made_again(
    office: SlackOffice,
) -> None:
    card = await parked(office)
    async with without(office.planted, "parks"):
        assert (await office.slack.clicks(office.ada, card, "approve")).status == 503
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


# ── three seconds ────────────────────────────────────────────────────────────────────────────


@contextmanager
def held(url: str) -> Iterator[sqlite3.Connection]:
    """Nobody else writes to the database; what is begun waits."""
    connection = sqlite3.connect(url.partition(":///")[2])
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    finally:
        connection.close()


def test_what_a_request_may_take_in_all_is_less_than_slack_waits() -> None:
    pace = Pace()
    assert pace.decided + pace.opened < 2.9
    assert pace.stored < 2.9


@pytest.fixture
def impatient(office: SlackOffice) -> None:
    """A decision is soon one that takes too long."""
    office.pace = replace(office.pace, decided=0.2)


@pytest.mark.rule("C6", "I1")
async def test_a_slow_click_is_answered_in_time_and_its_decision_and_private_answer_come_after(
    office: SlackOffice, url: str, impatient: None
) -> None:
    card = await parked(office)
    with held(url):
        assert (await office.slack.clicks(office.ada, card, "approve")).status == 503
        assert (await office.slack.clicks(office.ben, card, "approve")).status == 503
        assert await states(office) == [ParkState.OPEN]
    await office.shown()
    assert await states(office) == [ParkState.DECIDED]
    first, second = sorted(
        [*office.told(office.ada), *office.told(office.ben)], key=lambda w: "at" in w.split()
    )
    assert first.startswith("t-1.1 approved by U") and " approved it at " in second
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C6")
async def test_a_slow_command_is_answered_in_time_and_its_answer_comes_after(
    office: SlackOffice, url: str, impatient: None
) -> None:
    await parked(office)
    with held(url):
        typed = await office.slack.commands(office.ada, office.ops, "/gatepost", "approve t-1.1")
        assert typed.status == 503
    await office.shown()
    assert "approved" in office.told(office.ada)[-1].casefold()
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C6", "C8")
@pytest.mark.parametrize("how", ["taken", "too late"])
async def test_a_slow_form_is_answered_in_time_and_then_says_what_became_of_it(
    office: SlackOffice, url: str, impatient: None, how: str
) -> None:
    card = await parked(office)
    await office.slack.clicks(office.ada, card, "edit")
    if how == "too late":
        await office.slack.clicks(office.ben, card, "approve")
    with held(url):
        assert (await office.slack.submits(office.ada, {"amount": "3"})).status == 503
    await office.shown()
    shown = words_of(office.slack.modal(office.ada).blocks)
    if how == "too late":
        assert "U2 approved it at" in shown
    else:
        assert "t-1.1 approved with changes by U1: amount 10 → 3." in shown
        await office.last.works()
        assert office.world.effects == [("refund", "A1", 3)]


@pytest.mark.rule("K21")
async def test_a_message_that_takes_too_long_to_store_is_put_off_before_slack_gives_up(
    office: SlackOffice, url: str
) -> None:
    office.pace = replace(office.pace, stored=0.1)
    office.opens([says("Hello.")])
    with held(url):
        said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
        assert {d.status for d in said.deliveries} == {503}
    office.pace = Pace()
    office.opens([])
    assert (await office.slack.redelivers(said.answered)).status == 200
    assert await office.planted.count("inbox") == 1


@pytest.mark.rule("C8")
async def test_a_trigger_is_used_once_and_one_that_has_expired_is_told_of(office: SlackOffice) -> None:
    card = await parked(office)
    for action in ("edit", "decline"):
        await office.slack.clicks(office.ada, card, action)
    opened = office.slack.called("views.open")
    assert len({call.payload["trigger_id"] for call in opened}) == len(opened) == 2
    assert all((call.answer or {}).get("ok") for call in opened)
    office.slack.breaks("views.open", refusal("expired_trigger_id"))
    await office.slack.clicks(office.ada, card, "edit")
    await office.shown()
    assert office.told(office.ada) == [
        "Slack opened no form just now. Press it once more, or use the command: /gatepost help edit"
    ]
    assert len(office.slack.called("views.open")) == 3


@pytest.mark.rule("C8")
async def test_a_form_that_slack_is_slow_to_open_does_not_hold_the_click_up(
    office: SlackOffice,
) -> None:
    office.pace = replace(office.pace, opened=0.1)
    card = await parked(office)
    release = asyncio.Event()
    office.slack.breaks("views.open", hangs(release))
    assert (await office.slack.clicks(office.ada, card, "edit")).status == 200
    release.set()
    await office.shown()
    assert office.told(office.ada)[0].startswith("Slack opened no form just now.")


# ── what nobody knows ────────────────────────────────────────────────────────────────────────


UNKNOWN_INTERACTIONS: list[dict[str, Any]] = [
    {"type": "block_actions", "actions": [{"action_id": "approve_v0", "value": "p1", "action_ts": "1.0"}]},
    {"type": "block_actions", "actions": [{"action_id": "", "action_ts": "1.0"}]},
    {"type": "view_submission", "view": VIEW | {"private_metadata": "{]"}},
    {"type": "view_submission", "view": VIEW | {"private_metadata": "[1]"}},
    {"type": "view_submission", "view": VIEW | {"private_metadata": '{"verb": "sing", "token": "p1"}'}},
    {"type": "view_closed", "view": VIEW, "is_cleared": False},
    {"type": "shortcut", "callback_id": "of_1_0"},
    {"type": "block_suggestion", "action_id": "a", "block_id": "b", "value": ""},
    {"type": "interactive_message", "callback_id": "c", "actions": [{"name": "a", "type": "button"}]},
    {"type": "dialog_submission", "callback_id": "c", "submission": {}},
    {"type": "workflow_step_edit", "callback_id": "c", "workflow_step": {}},
    {"type": "of_a_newer_slack"},
]
UNKNOWN_EVENTS: list[dict[str, Any]] = [
    {"type": "reaction_added", "user": "U1", "item": {}},
    {"type": "user_change", "user": {"id": "U1", "team_id": "T1"}},
    {"type": "function_executed", "function": {"callback_id": "f"}, "inputs": {}},
    {"type": "assistant_thread_started", "assistant_thread": {"user_id": "U1"}},
    {"type": "tokens_revoked", "tokens": {"oauth": ["U1"]}},
    {"type": "message", "subtype": "of_a_newer_slack", "channel": "C1", "ts": "1.0", "user": "U1"},
    {"type": "message", "subtype": "message_replied", "channel": "C1", "ts": "1.0", "hidden": True},
    {"type": "message", "channel": "C1", "ts": "1.0", "text": "by nobody"},
    {"type": "of_a_newer_slack"},
]


async def test_an_interaction_that_nobody_here_knows_is_answered(door: SlackOffice) -> None:
    slack = door.slack
    for unknown in UNKNOWN_INTERACTIONS:
        trigger = slack.new_trigger(door.ada, slack.team)
        payload = slack.about(door.ada, slack.team) | {"trigger_id": trigger} | unknown
        await slack.delivers_interaction(payload)
    await door.shown()
    assert len(slack.deliveries) == len(UNKNOWN_INTERACTIONS)
    assert [d.payload for d in slack.deliveries if d.status != 200] == []


@pytest.mark.rule("I21")
async def test_an_event_that_nobody_here_knows_is_acknowledged_and_starts_nothing(door: SlackOffice) -> None:
    for event in UNKNOWN_EVENTS:
        await door.slack.delivers_event(event, door.slack.team)
    assert len(door.slack.deliveries) == len(UNKNOWN_EVENTS)
    assert [d.payload["event"] for d in door.slack.deliveries if d.status != 200] == []


async def test_an_old_shortcut_and_another_command_are_answered_with_words(door: SlackOffice) -> None:
    said = await door.slack.says(door.zoe, door.ops, "look into A7")
    assert (await door.slack.uses_shortcut(door.ada, said.message, "of_1_0")).status == 200
    assert door.slack.modal(door.ada).title == "Make it a task"
    assert (await door.slack.commands(door.ada, door.ops, "/of-1-0", "")).status == 200
    assert "approve CALL" in door.told(door.ada)[-1]


async def test_that_slack_limits_the_events_is_acknowledged_and_logged(
    door: SlackOffice, caplog: pytest.LogCaptureFixture
) -> None:
    team = door.slack.team
    told = {"type": "app_rate_limited", "team_id": team.id, "minute_rate_limited": 1518467820}
    body = json.dumps(told | {"token": "fake", "api_app_id": team.app_id}).encode()
    assert (await door.slack.delivers(body, door.slack.signed(body))).status == 200
    assert "app_rate_limited" in caplog.text


# ── bodies and heads ─────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
async def test_a_timestamp_that_is_none_is_refused_though_it_is_signed(door: SlackOffice) -> None:
    said = {}
    for stamp in (
        "",
        "now",
        "1e9",
        "-5",
        "0",
        "1.5",
        "9" * 15,
        "9" * 400,
        "0x10",
        "+1",
        "1_000",
        "NaN",
        "1 2",
    ):
        signature = sign(SIGNING_SECRET, stamp, CHALLENGE).decode()
        forged = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature}
        said[stamp] = (await door.slack.delivers(CHALLENGE, door.slack.signed(CHALLENGE) | forged)).status
    assert said == dict.fromkeys(said, 401)


@pytest.mark.rule("I14")
async def test_whoever_asks_for_a_challenge_has_to_sign(door: SlackOffice) -> None:
    """Bad input 53."""
    unsigned = await door.slack.delivers(CHALLENGE, {"Content-Type": "application/json"})
    assert (unsigned.status, "a-challenge" in unsigned.body) == (401, False)
    signed = await door.slack.delivers(CHALLENGE, door.slack.signed(CHALLENGE))
    assert (signed.status, "a-challenge" in signed.body) == (200, True)
    assert (await door.slack.verifies_url()).status == 200


BODIES: list[tuple[str, bytes, int]] = [
    ("text/plain", CHALLENGE, 415),
    ("multipart/form-data; boundary=x", b"--x--", 415),
    ("", CHALLENGE, 415),
    ("application/json", b"{", 400),
    ("application/json", b"", 400),
    ("application/json", b"[1]", 400),
    ("application/json", b'"text"', 400),
    ("application/json", b"[" * 100_000, 400),
    ("application/json", b'{"type": "\xff"}', 400),
    ("application/json; charset=utf-16", '{"type": "x"}'.encode("utf-16"), 400),
    (FORM, b"payload=\xff", 400),
    (FORM, b"payload=%FF", 400),
    (FORM, b"payload=", 400),
    (FORM, b"payload=%7B", 400),
    (FORM, b"payload=[]", 400),
    (FORM, b"payload={}&payload={}", 400),
    (FORM, b"&".join(b"a%d=1" % n for n in range(1000)), 400),
    (FORM, b"", 200),
    (FORM, b"no=payload", 200),
    (FORM, b"{}", 200),
    (FORM, b"ssl_check=1", 200),
    ("Application/JSON; Charset=UTF-8", CHALLENGE, 200),
]


async def test_a_body_that_can_not_be_read_is_refused_once_its_signature_held(door: SlackOffice) -> None:
    """Bad inputs 55 and 102."""
    for kind, body, status in BODIES:
        headers = door.slack.signed(body) | {"Content-Type": kind}
        assert (kind, body[:40], (await door.slack.delivers(body, headers)).status) == (
            kind,
            body[:40],
            status,
        )
        if status != 415:  # which is said unread
            assert (await door.slack.delivers(body + b" ", headers)).status == 401


@pytest.mark.rule("C6", "I1")
async def test_a_click_that_is_in_its_request_twice_decides_nothing(office: SlackOffice) -> None:
    card = await parked(office)
    click = await office.slack.clicks(office.eve, card, "approve")
    mine = click.payload | {"user": click.payload["user"] | {"id": office.ada.id}}
    body = urlencode([("payload", json.dumps(click.payload)), ("payload", json.dumps(mine))]).encode()
    assert (await office.slack.delivers(body, office.slack.signed(body, FORM))).status == 400
    assert await states(office) == [ParkState.OPEN]


async def test_a_command_may_say_any_words(office: SlackOffice) -> None:
    """Bolt takes each form with the word payload in it for an interaction."""
    goals = ("check the payload", "{}", "payload={}", "a&payload=b")
    office.opens([says("Done.")] * len(goals))
    for goal in goals:
        await office.slack.commands(office.ada, office.ops, "/gatepost", f"new {goal}")
    await office.last.works()
    assert [row["goal"] for row in await office.planted.table("tasks")] == list(goals)


async def test_another_method_is_refused(door: SlackOffice) -> None:
    site = Door(path="/slack/events", methods=PATHS["/slack/events"], handler=door)
    async with served(site) as server:
        for method in ("GET", "HEAD", "PUT", "DELETE", "OPTIONS"):
            answer = await asked(server.port, method, "/slack/events")
            assert (method, answer.status, answer.headers["allow"]) == (method, 405, "POST")


# ── what we send ─────────────────────────────────────────────────────────────────────────────


def blocks_sent(office: SlackOffice, method: str) -> list[tuple[str, Any]]:
    """Of each request to *method*: its text and its blocks, None where it has none."""
    sent = [call.payload for call in office.slack.called(method)]
    blocks = [one.get("blocks") for one in sent]
    return [
        (one["text"], json.loads(b) if isinstance(b, str) else b) for one, b in zip(sent, blocks, strict=True)
    ]


@pytest.mark.rule("K20")
async def test_an_edit_of_a_message_always_says_what_becomes_of_its_blocks(office: SlackOffice) -> None:
    """With a text alone Slack takes the buttons away; with neither it leaves them there."""
    card = await parked(office)
    await office.planted.update("posts", {"due_at": PAST}, kind="progress")
    await office.last.poster.deliver_all()
    await office.slack.says(office.ada, office.ops, "and hurry", thread_ts=card.thread_ts)
    await office.last.works()
    office.slack.breaks("chat.update", refusal("invalid_blocks"))
    await office.slack.clicks(office.ada, card, "approve")
    await office.last.works()
    await office.planted.update("posts", {"due_at": PAST}, kind="progress")
    await office.last.poster.deliver_all()
    sent = blocks_sent(office, "chat.update")
    assert len(sent) >= 4
    assert all(text for text, _ in sent)
    assert [blocks for _, blocks in sent if not blocks] == [[]]  # the plain words, of which it is told
    assert all(blocks for _, blocks in blocks_sent(office, "chat.postMessage"))
    assert office.cards() == []


@pytest.mark.rule("I32")
async def test_a_card_of_sixteen_long_calls_is_taken_at_the_first_try(office: SlackOffice) -> None:
    notes = [("send_note", {"to": f"c{n}@example.test", "text": f"{n} " * 700}) for n in range(16)]
    await parked(office, calls(*notes), says("Sent."))
    assert [call.status for call in office.slack.called("chat.postMessage")] == [200]
    ((_, blocks),) = blocks_sent(office, "chat.postMessage")
    assert sum(map(len, re.findall(r'"(?:text|fallback)": "((?:[^"\\]|\\.)*)"', json.dumps(blocks)))) < 13_200
    assert len([b for b in blocks if b.get("block_id", "").startswith("park:")]) == 16


# ── what Slack answers ───────────────────────────────────────────────────────────────────────


async def card_post(office: SlackOffice) -> dict[str, Any]:
    (post,) = await office.planted.table("posts", kind="card")
    return post


async def asks(office: SlackOffice, trouble: Trouble, times: int | None = 1) -> dict[str, Any]:
    """The row of a card whose first sending came to *trouble*."""
    office.session = connections()
    try:
        office.opens(list(REFUND_SCRIPT))
        office.slack.breaks("chat.postMessage", trouble, channel=office.ops, times=times)
        await office.slack.says(office.ada, office.ops, "refund the mug", mention=True)
        await office.last.works()
    finally:
        await office.session.close()
    return await card_post(office)


async def seconds_until_due(office: SlackOffice, post: dict[str, Any]) -> float:
    wait: timedelta = post["due_at"] - await office.planted.now()
    return wait.total_seconds()


@pytest.mark.rule("K39")
@pytest.mark.parametrize(
    ("retry_after", "seconds"), [(7, 7), ("date", 90), (None, 30), (999_999, 3600), ("soon", 30), (0, 1)]
)
async def test_a_busy_slack_is_given_the_time_it_asks_for_and_that_outlives_the_process(
    office: SlackOffice, retry_after: int | str | None, seconds: int
) -> None:
    """Bad input 91."""
    if retry_after == "date":
        retry_after = format_datetime(await office.planted.now() + timedelta(seconds=90), usegmt=True)
    post = await asks(office, too_many(retry_after))
    assert seconds - 5 < await seconds_until_due(office, post) <= seconds
    assert (post["attempts"], post["state"]) == (0, "due")  # its own doing it is not
    office.opens(list(REFUND_SCRIPT))
    sent = len(office.slack.called("chat.postMessage"))
    if seconds > 1:
        await office.last.works()
        assert len(office.slack.called("chat.postMessage")) == sent
    await office.planted.update("posts", {"due_at": PAST}, kind="card")


@pytest.mark.rule("K18")
@pytest.mark.parametrize(
    "trouble",
    [
        http_error(500),
        http_error(502),
        http_error(200),
        html(200),
        html(503),
        Trouble(body=b"[1]", headers={"Content-Type": "application/json"}),
        Trouble(body=b"{", headers={"Content-Type": "application/json"}),
        Trouble(body=b"{}", headers={"Content-Type": "application/json"}),
        cut(),
        refusal("internal_error"),
        refusal("an_error_of_a_newer_slack"),
    ],
    ids=lambda t: t.error or ("cut" if t.cut else f"{t.status} {t.body[:8].decode()}"),
)
async def test_a_post_that_slack_did_not_take_is_tried_again(office: SlackOffice, trouble: Trouble) -> None:
    """Bad inputs 92, 98 and 99."""
    post = await asks(office, trouble)
    assert 0 < await seconds_until_due(office, post) <= 2
    assert (post["attempts"], post["state"], bool(post["error"])) == (1, "due", True)


@pytest.mark.rule("K18")
async def test_a_slack_that_hangs_is_waited_for_no_longer_than_the_time_out(
    office: SlackOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bad input 96."""
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.2)
    async with asyncio.timeout(5):
        post = await asks(office, hangs(asyncio.Event()))
    assert (post["attempts"], post["error"]) == (1, "Slack did not answer in time")


@pytest.mark.rule("I39")
@pytest.mark.parametrize(
    "error", ["channel_not_found", "is_archived", "not_in_channel", "restricted_action", "missing_scope"]
)
async def test_a_card_that_its_channel_does_not_take_goes_to_the_next_place(
    office: SlackOffice, error: str
) -> None:
    post = await asks(office, refusal(error), times=None)
    assert (post["state"], [t["error"] for t in post["tried"]]) == ("sent", [f"Slack says {error}"])
    (card,) = office.cards()
    assert card.channel == office.slack.dm(office.ada).id
    assert "could not be shown in" in words_of(card.blocks)


# ── Bolt's own ideas ─────────────────────────────────────────────────────────────────────────


async def test_variables_that_bolt_would_read_make_no_files_and_change_nothing(
    url: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with town_at(url, tmp_path, SLACK_CLIENT_ID="1.2", SLACK_CLIENT_SECRET="secret") as town:
        env = town.line.env | {"HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        env |= {
            "SLACK_SCOPES": "chat:write",
            "SLACK_VERIFICATION_TOKEN": "x",
            "AGENTS_DIR": str(ROOT / "agents"),
        }
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", "web", cwd=home, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        web = Web(process)
        town.started.append(web)
        web.port = int((await web.tells("web listens on")).rpartition(":")[2])
        await web.tells("web is open")
        town.slack.bot_url = web.address + EVENTS
        card = await town.parked()
        await town.slack.clicks(town.ada, card, "approve")
        await town.works()
        assert len(town.refunds) == 1
        assert {call.token for call in town.slack.calls} == {town.slack.team.bot_token}
        assert {call.method for call in town.slack.calls} <= {"auth.test", "chat.postMessage", "chat.update"}
        assert [(await asked(web.port, "GET", f"/slack/{p}")).status for p in OAUTH] == [404, 404]
        web.stop()
        assert await web.ends() == 0
    assert list(home.rglob("*")) == []
