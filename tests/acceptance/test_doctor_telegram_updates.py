"""``python -m bot doctor`` on how Telegram's updates get here: by webhook or by asking, and nobody else's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from adapters.telegram.heard.updates import ALLOWED
from core.checkup import State
from tests.acceptance.telegram_deployment import (
    ALL_BUT_GROUPS,
    BY_ASKING,
    OTHER_SECRET,
    SECRET,
    Deployment,
    answering,
    asking,
    instead,
    standing,
    unchecked,
)
from tests.acceptance.test_doctor import only_wrong, states
from tests.conftest import Templates
from tests.fakes.telegram import (
    Webhook,
)
from tests.postgres import Server


@pytest.fixture
async def here(
    tmp_path: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Deployment]:
    """A deployment; nothing answers at its address."""
    async with standing(tmp_path, postgres_server, templates, monkeypatch) as made:
        yield made


@pytest.fixture
async def up(here: Deployment) -> AsyncIterator[Deployment]:
    """The same, its web process up."""
    async with answering(here):
        yield here


# ── updates, by webhook ──────────────────────────────────────────────────────────────────────


async def test_a_webhook_of_somebody_elses_is_named_without_what_may_be_a_secret(up: Deployment) -> None:
    up.webhook.url = "https://ada:canary@other.example/hook?key=canary"
    found = await up.looked()
    assert only_wrong(found).name == "telegram updates"
    assert found["telegram updates"].said == "Telegram sends this bot's updates to https://other.example/hook"
    assert "another deployment has this bot's token" in found["telegram updates"].mend
    assert unchecked(found) == {"telegram click"}
    assert found["telegram click"].said == "Telegram sends presses elsewhere"
    assert up.card.text.startswith("Gatepost does not work here yet\n\n✖ telegram updates: ")
    assert up.card.found == []  # nothing in it is a link


async def test_without_a_webhook_the_web_process_is_to_be_started(up: Deployment) -> None:
    up.telegram.webhook = None
    found = only_wrong(await up.looked())
    assert (found.name, found.said.partition(":")[0]) == (
        "telegram updates",
        "Telegram sends this bot's updates nowhere",
    )
    assert "start the web process" in found.mend


@pytest.mark.parametrize("left_out", ALLOWED)
async def test_a_kind_of_update_that_telegram_leaves_out_is_named(left_out: str, up: Deployment) -> None:
    up.telegram.allowed = [kind for kind in ALLOWED if kind != left_out]
    found = only_wrong(await up.looked())
    assert (found.name, found.said) == ("telegram updates", f"Telegram leaves out {left_out}")
    assert "restart the web process" in found.mend


async def test_where_telegram_names_no_kinds_it_sends_all_that_are_needed(up: Deployment) -> None:
    up.telegram.allowed = None
    assert states(await up.looked()) == ALL_BUT_GROUPS


@pytest.mark.parametrize(
    ("why", "mend"),
    [
        ("Wrong response from the webhook: 401 Unauthorized", "it tells Telegram the secret that it knows"),
        ("Wrong response from the webhook: 503 Service Unavailable", "its database is away"),
        ("SSL error {error:0A000086:SSL routines::certificate verify failed}", "the certificate is good"),
        ("Connection refused", "others reach it at PUBLIC_URL"),
        ("", "others reach it at PUBLIC_URL"),
    ],
)
async def test_updates_that_wait_since_a_delivery_failed_are_wrong_with_the_mend_of_why(
    why: str, mend: str, up: Deployment
) -> None:
    up.webhook.last_error_at = up.telegram.clock.now() - timedelta(minutes=3, seconds=5)
    up.webhook.last_error_message = why
    up.waits(2)
    found = only_wrong(await up.looked())
    assert found.name == "telegram updates"
    assert found.said == f"2 updates wait: a delivery failed 3 min ago: {why or 'nobody knows why'}"
    assert mend in found.mend


async def test_a_delivery_that_failed_and_has_come_since_is_a_remark(up: Deployment) -> None:
    up.webhook.last_error_at, up.webhook.last_error_message = up.telegram.clock.now(), "Connection refused"
    found = await up.looked()
    assert states(found) == ALL_BUT_GROUPS
    assert found["telegram updates"].mend == (
        "a delivery failed just now: Connection refused; all has come since"
    )


async def test_one_that_failed_long_ago_is_not_spoken_of(up: Deployment) -> None:
    up.webhook.last_error_at = up.telegram.clock.now() - timedelta(minutes=11)
    up.waits()
    found = await up.looked()
    assert states(found) == ALL_BUT_GROUPS
    assert found["telegram updates"].mend == "1 update waits"


async def test_updates_that_become_more_while_it_is_looked_are_wrong(up: Deployment) -> None:
    async def more() -> None:
        await up.telegram.wait_for(lambda: up.telegram.called("getMyCommands"))
        up.waits(4)

    up.waits()
    found, _ = await asyncio.gather(up.looked(), more())
    assert only_wrong(found).said == "5 updates wait, and they become more"


# ── updates, by asking ───────────────────────────────────────────────────────────────────────


async def test_where_our_own_process_asks_and_nobody_else_all_is_well(here: Deployment) -> None:
    async with asking(here):
        here.waits()
        found = await here.looked()
    assert states(found) == BY_ASKING
    assert "Telegram by asking" in found["settings"].said
    assert found["telegram updates"].said == "the web process here asks Telegram for them, nobody else"
    assert (here.card.text, len(here.card.versions)) == ("Gatepost works here", 2)


async def test_looking_takes_no_update_away(here: Deployment) -> None:
    del here.env["PUBLIC_URL"]
    here.waits(3)
    waiting = list(here.telegram.pending)
    found = await here.looked()
    assert here.telegram.pending == waiting
    assert found["telegram updates"].said == "nobody asks Telegram for this bot's updates"
    assert "start the web process" in found["telegram updates"].mend


async def test_a_webhook_that_is_set_keeps_updates_from_whoever_asks(here: Deployment) -> None:
    del here.env["PUBLIC_URL"]
    here.telegram.webhook = Webhook(url="https://other.example/hook")
    found = await here.looked()
    assert found["telegram updates"].said == (
        "a webhook is set, to https://other.example/hook: nobody gets updates by asking"
    )
    assert "start the web process here, which takes it away" in found["telegram updates"].mend
    assert here.telegram.called("getUpdates") == []


@asynccontextmanager
async def somebody_asking(here: Deployment) -> AsyncIterator[None]:
    """Another process asks, and again as soon as it is answered."""

    async def asks() -> None:
        url = f"{here.telegram.api_url}/bot{here.telegram.token}/getUpdates?timeout=20"
        async with aiohttp.ClientSession() as session:
            while True:
                async with session.get(url) as response:
                    await response.read()

    going = asyncio.create_task(asks())
    await here.telegram.wait_for(lambda: here.telegram.polled)
    yield
    going.cancel()
    await asyncio.gather(going, return_exceptions=True)


async def test_another_who_asks_beside_our_own_process_is_told(here: Deployment) -> None:
    async with asking(here), somebody_asking(here):
        found = only_wrong(await here.looked())
    assert (found.name, found.said) == ("telegram updates", "somebody else asks for this bot's updates, too")
    assert "another deployment has this bot's token" in found.mend


async def test_another_who_asks_where_nobody_here_does_is_told(here: Deployment) -> None:
    del here.env["PUBLIC_URL"]
    async with somebody_asking(here):
        found = await here.looked()
    assert found["telegram updates"].said == "somebody else asks for this bot's updates, and nobody here"


# ── the secret ───────────────────────────────────────────────────────────────────────────────


async def test_another_secret_on_one_side_is_told_as_that(up: Deployment) -> None:
    found = await up.looked(TELEGRAM_SECRET=OTHER_SECRET)
    assert only_wrong(found).name == "telegram secret"
    assert found["telegram secret"].said == f"{up.url} answers 401: the web process knows another secret"
    assert "TELEGRAM_SECRET there be the same" in found["telegram secret"].mend
    assert found["telegram click"].said == "the secret is not well"


async def test_a_secret_that_is_made_of_the_token_is_looked_at_as_one_that_is_set(here: Deployment) -> None:
    del here.env["TELEGRAM_SECRET"]
    async with answering(here):
        assert states(await here.looked()) == ALL_BUT_GROUPS


async def test_while_the_secret_is_exchanged_the_web_process_has_to_know_both(up: Deployment) -> None:
    found = only_wrong(await up.looked(TELEGRAM_SECRET=f"{SECRET},{OTHER_SECRET}"))
    assert found.said == f"{up.url} refuses TELEGRAM_SECRET's number 2"
    assert found.mend.startswith("restart the web process")


async def test_a_path_that_takes_what_telegram_did_not_send_is_named_as_open_to_anybody(
    here: Deployment,
) -> None:
    async def takes_all(request: Request) -> Response:
        return Response()

    async with instead(here, takes_all):
        found = only_wrong(await here.looked())
    assert found.name == "telegram secret"
    assert found.said.endswith("takes what Telegram did not send: anybody could click")


async def test_a_path_that_takes_any_secret_is_named_as_open_to_anybody(here: Deployment) -> None:
    async def takes_any(request: Request) -> Response:
        return Response(status_code=200 if "x-telegram-bot-api-secret-token" in request.headers else 401)

    async with instead(here, takes_any):
        assert only_wrong(await here.looked()).said.endswith("anybody could click")


@pytest.mark.parametrize(
    ("response", "said", "mend"),
    [
        (PlainTextResponse("Not open yet", 503), "the web process is not open", "its log says why"),
        (HTMLResponse("<html>No such app</html>", 404), "the platform's router", "nothing is there by that"),
        (PlainTextResponse("Not Found", 404), "serves no Telegram", "set TELEGRAM_BOT_TOKEN for it, too"),
        (PlainTextResponse("who is there?", 401), "asks who is there", "let Telegram through"),
        (PlainTextResponse("welcome"), "and not as Gatepost does", "let PUBLIC_URL be"),
    ],
)
async def test_each_way_not_to_answer_has_a_mend_of_its_own(
    response: Response, said: str, mend: str, here: Deployment
) -> None:
    async def answers(request: Request) -> Response:
        return response

    async with instead(here, answers):
        found = await here.looked()
    assert only_wrong(found).name == "telegram secret"
    assert said in found["telegram secret"].said and mend in found["telegram secret"].mend
    assert unchecked(found) == {"telegram click"}


async def test_where_nothing_listens_the_web_process_is_to_be_started(here: Deployment) -> None:
    found = await here.looked()
    assert found["telegram secret"].state is State.WRONG
    assert "python -m bot web" in found["telegram secret"].mend
