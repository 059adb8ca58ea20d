"""Telegram with web and worker as processes: what dies in between loses nothing, what moves drops nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adapters.telegram.client import SURFACE
from adapters.telegram.heard.buttons import GOES_ON
from core.parks import ParkState
from core.people import Account
from tests.acceptance.processes import ASKED, PAID, Web, unanswered
from tests.acceptance.shop import U1, U2
from tests.acceptance.slack_office import words_of
from tests.acceptance.slack_processes import town_at
from tests.acceptance.telegram_processes import (
    HOOK,
    PUBLIC_URL,
    TelegramTown,
    in_telegram,
    telegram_town,
)
from tests.fakes.telegram import SECRET_HEADER, Message, fake_telegram, hangs
from tests.wire import refuses, request, wire

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
on_postgres = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)


@asynccontextmanager
async def dying(town: TelegramTown, web: Web) -> AsyncIterator[None]:
    """Telegram's requests reach *web*, which is killed once it answers the first: no answer gets back."""
    async with unanswered(web) as address:
        town.telegram.bot_url = address
        yield


@pytest.fixture
async def town(migrated_url: str, tmp_path: Path) -> AsyncIterator[TelegramTown]:
    """People in Telegram, no process running yet."""
    async with telegram_town(migrated_url, tmp_path) as made:
        yield made


@pytest.mark.rule("C6", "K17", "K20", "K26", "I1")
async def test_from_a_mention_to_the_report_by_a_webhook_that_sets_itself(town: TelegramTown) -> None:
    web, worker = await town.web(), await town.worker()
    assert town.telegram.webhook is not None and town.telegram.webhook.url == HOOK
    asked = await town.asks()
    card = await town.telegram.wait_for(lambda: town.cards[0], seconds=20)
    assert (card.reply_to, town.refunds) == (asked.message, [])
    pressed = await town.telegram.presses(town.ben, card, "Approve")
    assert pressed.text in (
        "t-1.2 approved by U2. A worker runs it.",
        GOES_ON,
    )  # busy
    report = await town.shows("I refunded 24.00 EUR on A7.")
    await town.telegram.wait_for(lambda: not town.cards, seconds=20)
    assert "✔ Approved by U2" in card.text
    assert (report.reply_to, town.refunds) == (asked.message, [PAID])
    for process in (web, worker):
        process.stop()
    assert [await web.ends(), await worker.ends()] == [0, 0]


@on_postgres
@pytest.mark.rule("K22", "K25", "I1", "I21")
async def test_what_was_taken_by_a_process_that_was_killed_comes_again_and_counts_once(
    town: TelegramTown,
) -> None:
    async with dying(town, await town.web()):
        said = await town.asks()
    assert [delivery.status for delivery in said.deliveries] == [None]
    second = await town.web()
    assert [again.status for again in await town.telegram.redelivers()] == [200]
    await town.works()
    (card,) = town.cards
    button = approve_of(card)
    async with dying(town, second):
        pressed = await town.telegram.presses(town.ada, card, "Approve")
    assert [delivery.status for delivery in pressed.deliveries] == [None]
    assert [p.state for story in await town.stories() for p in story.parks] == [ParkState.DECIDED]
    await town.web()
    assert [again.status for again in await town.telegram.redelivers()] == [200]
    late = await town.telegram.presses(town.ben, card, button, stale=True)
    assert late.text.startswith("U1 approved it at ")
    await town.time_passes()
    await town.works()
    assert (town.refunds, len(await town.planted.table("inbox"))) == ([PAID], 1)
    assert "✔ Approved by U1" in card.text


def approve_of(card: Message) -> str:
    """What its button says to us."""
    assert card.markup is not None
    return str(card.markup["inline_keyboard"][0][0]["callback_data"])


@on_sqlite
@pytest.mark.rule("K21", "K22")
async def test_told_to_stop_each_process_finishes_what_is_in_hand_and_drops_nothing(
    town: TelegramTown,
) -> None:
    web, worker = await town.web(), await town.worker()
    tells, posts = asyncio.Event(), asyncio.Event()
    town.telegram.breaks("sendMessage", hangs(tells), chat=town.ada)
    town.telegram.breaks("sendMessage", hangs(posts), chat=town.ops)
    # an answer: who asked for it waits
    asking = asyncio.create_task(town.telegram.says(town.ada, town.ada, "/pending"))
    await town.telegram.wait_for(lambda: town.telegram.called("sendMessage"))
    # a card: it is on its way
    await town.asks()
    await town.telegram.wait_for(lambda: len(town.telegram.called("sendMessage")) == 2, seconds=20)
    worker.stop()
    # an update: the process has its head, and has asked for the rest
    hook = town.telegram.webhook
    assert hook is not None
    town.telegram.held = True
    await town.asks("/new refund the poster")
    body = json.dumps(town.telegram.updates[-1].payload).encode()
    headers = {SECRET_HEADER.lower().replace("-", "_"): hook.secret_token}
    head = request(
        "POST",
        "/telegram/updates",
        content_length=str(len(body)),
        content_type="application/json",
        expect="100-continue",
        **headers,
    )
    async with wire(web.port) as update:
        await update.send(head)
        assert (await update.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        web.stop()
        await refuses(web.port)
        await update.send(body)
        assert (await update.answer()).status == 200
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.4):
            await web.ends()
    tells.set()
    posts.set()
    assert (await asking).answered.status == 200
    assert [await web.ends(), await worker.ends()] == [0, 0]
    (row,) = await town.planted.table("posts", kind="card")
    assert (row["state"], len(town.cards)) == ("sent", 1)
    # what comes now is nobody's yet, and what did not get its answer comes again
    (lost,) = await town.telegram.releases()
    assert lost.status is None
    await town.web()
    assert [again.status for again in await town.telegram.redelivers()] == [200]
    await town.works()
    assert [story.task.goal for story in await town.stories()] == [ASKED, "refund the poster"]


@on_sqlite
@pytest.mark.rule("K21", "I21")
async def test_without_an_address_it_asks_for_updates_and_nothing_is_dropped_on_the_way_to_one_and_back(
    town: TelegramTown,
) -> None:
    asking = await town.asking_web()
    await town.asks("/new refund one mug")
    await town.asked_for_all()
    asking.stop()
    assert await asking.ends() == 0
    await town.asks("/new refund two mugs")  # nobody is there
    web = await town.web()
    assert [again.status for again in await town.telegram.redelivers()] == [200]
    web.stop()
    assert await web.ends() == 0
    await town.asks("/new refund three mugs")
    other = await town.asking_web()
    await other.tells("Telegram's webhook is taken away")
    await town.asked_for_all()
    await town.works()
    goals = [story.task.goal for story in await town.stories()]
    assert goals == ["refund one mug", "refund two mugs", "refund three mugs"]


@on_postgres
@pytest.mark.rule("K21", "I21")
async def test_of_two_processes_that_could_ask_one_does_and_the_other_goes_on_when_it_leaves(
    town: TelegramTown,
) -> None:
    one = await town.asking_web()
    await town.telegram.wait_for(lambda: town.telegram.polled)
    other, asked = await town.asking_web(), len(town.telegram.called("getUpdates"))
    await town.telegram.wait_for(lambda: len(town.telegram.called("getUpdates")) > asked)
    await town.asks("/new refund one mug")
    await town.asked_for_all()
    one.stop()
    assert await one.ends() == 0
    await town.asks("/new refund two mugs")
    await town.asked_for_all()
    await town.works()
    assert [story.task.goal for story in await town.stories()] == ["refund one mug", "refund two mugs"]
    assert {call.status for call in town.telegram.called("getUpdates")} <= {200, None}  # and never 409
    other.stop()
    assert await other.ends() == 0


@on_sqlite
@pytest.mark.rule("I1")
async def test_one_process_is_in_slack_and_telegram_and_what_is_decided_in_one_ends_in_both(
    migrated_url: str, tmp_path: Path
) -> None:
    async with (
        fake_telegram() as telegram,
        town_at(migrated_url, tmp_path, PUBLIC_URL=PUBLIC_URL, **in_telegram(telegram)) as town,
    ):
        ada, ben = (telegram.add_user(name, started=True) for name in ("ada", "ben"))
        for person, user in ((U1, ada), (U2, ben)):
            await town.planted.account(person, Account(surface=SURFACE, ref=str(user.id)))
        web = await town.web()
        await web.tells("Telegram sends updates to")
        telegram.bot_url = web.address
        card = await town.parked()
        await telegram.says(ben, ben, "/show t-1.2")
        (shown,) = [message for message in telegram.said(ben) if message.labels]
        await telegram.presses(ben, shown, "Approve")
        await town.works()
        assert (town.refunds, telegram.faults) == ([PAID], [])
        ends = [words_of(card.blocks), shown.text]
        assert ["✔ Approved by U2" in text for text in ends] == [True, True]
