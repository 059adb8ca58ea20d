"""How the fake Telegram tells the bot what happens: by webhook or polling, again, late, and out of order."""

import asyncio

import aiohttp
import pytest
import telegram as ptb
from aiohttp import web
from telegram.error import Conflict

from core.testing import ManualClock
from tests.fakes.telegram import SECRET_HEADER, FakeTelegram, User
from tests.fakes.telegram.listening import client, error_of, listening

WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
OTHER = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


# ── by webhook ───────────────────────────────────────────────────────────────────────────────


async def test_a_webhook_is_told_with_its_secret(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    async with listening(bot, secret_token="s3cret", allowed_updates=["message"]) as app:
        said = await telegram.says(sam, sam, "hello")
    assert said.answered.status == 200
    assert app.headers[0][SECRET_HEADER] == "s3cret"
    assert app.last.message is not None
    assert (app.last.message.text, app.last.message.from_user) == ("hello", ptb.User(sam.id, "Sam", False))
    assert telegram.webhook is not None and telegram.webhook.allowed_updates == ["message"]
    assert telegram.pending == []
    assert telegram.faults == []


async def test_what_the_webhook_does_not_take_waits_and_is_tried_again(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    async with listening(bot) as app:
        app.answers = [web.Response(status=500), web.Response(status=500)]
        first = await telegram.says(sam, sam, "one")
        await telegram.says(sam, sam, "two")
        assert first.answered.status == 500
        info = await bot.get_webhook_info()
        assert info.pending_update_count == 2
        assert info.last_error_message == "Wrong response from the webhook: 500 Internal Server Error"
        assert info.last_error_date == clock.now()
        again = await telegram.redelivers()
        assert [delivery.update.id for delivery in again] == [500001, 500002]
        assert app.texts == ["one", "two", "one", "two"]
        assert (await bot.get_webhook_info()).pending_update_count == 0
    assert [delivery.status for delivery in telegram.refused] == [500, 500]


async def test_a_webhook_that_is_not_there_gets_it_when_it_is_back(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    async with listening(bot):
        pass
    said = await telegram.says(sam, sam, "one")
    assert (said.answered.status, said.answered.why) == (None, "Connection refused")
    async with listening(bot) as app:
        await telegram.redelivers()
        assert app.texts == ["one"]


async def test_an_app_behind_a_public_address_is_reached_where_the_test_says(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    async with listening(bot) as app:
        assert telegram.webhook is not None
        here, path = telegram.webhook.url[: -len("/telegram/events")], "/telegram/events"
        await bot.set_webhook(f"https://gatepost.example{path}")
        for telegram.bot_url in (here, here + path):
            await telegram.says(sam, sam, "hello")
    assert app.texts == ["hello", "hello"]


async def test_a_forged_request_goes_out_as_it_is(telegram: FakeTelegram, bot: ptb.Bot) -> None:
    async with listening(bot) as app:
        delivery = await telegram.delivers(b'{"update_id": 7}', {SECRET_HEADER: "guessed"})
        assert (delivery.status, app.headers[0][SECRET_HEADER]) == (200, "guessed")
    assert telegram.refused == []


@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("http://gatepost.example/x", "", "Bad webhook: an https url must be provided for webhook"),
        (
            "https://gatepost.example:8000/x",
            "",
            "Bad webhook: webhook can be set up only on ports 80, 88, 443 or 8443",
        ),
        ("https://gatepost.example/x", "no spaces", "Secret token contains unallowed characters"),
    ],
)
async def test_a_webhook_that_telegram_would_not_reach_is_refused(
    telegram: FakeTelegram, bot: ptb.Bot, url: str, secret: str, said: str
) -> None:
    assert await error_of(bot.set_webhook(url, secret_token=secret or None)) == said
    assert telegram.webhook is None
    assert len(telegram.faults) == 1


async def test_only_allowed_kinds_of_updates_are_told_until_others_are_allowed(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    async with listening(bot, allowed_updates=["edited_message"]) as app:
        said = await telegram.says(sam, sam, "one")
        assert said.deliveries == []
        await bot.set_webhook(str(telegram.webhook and telegram.webhook.url))
        await telegram.edits(said.message, "two")
        assert app.texts == ["two"]
        await bot.set_webhook(str(telegram.webhook and telegram.webhook.url), allowed_updates=[])
        await telegram.says(sam, sam, "three")
        assert app.texts == ["two", "three"]


async def test_updates_that_are_dropped_are_a_fault(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    await bot.delete_webhook(drop_pending_updates=True)
    assert telegram.faults == []
    await telegram.says(sam, sam, "one")
    await bot.delete_webhook(drop_pending_updates=True)
    assert [fault.error for fault in telegram.faults] == ["updates that waited are dropped"]
    assert await bot.get_updates() == ()


# ── again, and out of order ──────────────────────────────────────────────────────────────────


async def test_an_update_comes_again_with_the_same_number(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    async with listening(bot) as app:
        said = await telegram.says(sam, sam, "one")
        await telegram.delivers_again(said.answered.update)
    assert [update.update_id for update in app.updates] == [500001, 500001]


async def test_updates_that_are_held_come_in_any_order(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    async with listening(bot) as app:
        telegram.held = True
        for text in ("one", "two", "three"):
            assert (await telegram.says(sam, sam, text)).deliveries == []
        with pytest.raises(ValueError, match="3 updates are held"):
            await telegram.releases([0])
        assert len(await telegram.releases([2, 0, 1])) == 3
        assert app.texts == ["three", "one", "two"]
        await telegram.says(sam, sam, "four")
        assert app.texts[-1] == "four"


# ── by polling ───────────────────────────────────────────────────────────────────────────────


async def test_updates_are_told_until_a_higher_offset_confirms_them(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    for text in ("one", "two"):
        assert (await telegram.says(sam, sam, text)).deliveries == []
    for _ in range(2):
        updates = await bot.get_updates()
        assert [update.update_id for update in updates] == [500001, 500002]
    (update,) = await bot.get_updates(offset=500002, limit=1)
    assert update.message is not None and update.message.text == "two"
    assert [waiting.id for waiting in telegram.pending] == [500002]
    assert await bot.get_updates(offset=500003) == ()
    assert await bot.get_updates() == ()
    assert telegram.faults == []


async def test_a_poller_waits_for_what_happens(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    polling = asyncio.ensure_future(bot.get_updates(timeout=10))
    await telegram.wait_for(lambda: telegram.polled)
    await telegram.says(sam, sam, "one")
    (update,) = await polling
    assert update.update_id == 500001
    assert not telegram.polled


async def test_a_poller_is_told_nothing_after_its_time(
    telegram: FakeTelegram, bot: ptb.Bot, clock: ManualClock
) -> None:
    polling = asyncio.ensure_future(bot.get_updates(timeout=10))
    await telegram.wait_for(lambda: telegram.polled)
    clock.advance(10)
    assert await polling == ()


async def test_of_two_pollers_the_first_is_refused(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    polling = asyncio.ensure_future(bot.get_updates(timeout=10))
    await telegram.wait_for(lambda: telegram.polled)
    async with client(telegram) as other:
        second = asyncio.ensure_future(other.get_updates(timeout=10))
        assert await error_of(polling, Conflict) == OTHER
        await telegram.says(sam, sam, "one")
        assert len(await second) == 1
    assert telegram.faults == []


async def test_who_polls_while_there_is_a_webhook_is_refused_and_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot
) -> None:
    polling = asyncio.ensure_future(bot.get_updates(timeout=10))
    await telegram.wait_for(lambda: telegram.polled)
    await bot.set_webhook("https://gatepost.example/telegram")
    assert await error_of(polling, Conflict) == "Conflict: terminated by setWebhook request"
    assert telegram.faults == []
    assert await error_of(bot.get_updates(), Conflict) == WEBHOOK_ACTIVE
    assert [fault.where for fault in telegram.faults] == ["getUpdates"]
    await bot.delete_webhook()
    assert await bot.get_updates() == ()


async def test_a_poller_that_went_away_stands_in_nobodys_way(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    polling = asyncio.ensure_future(bot.get_updates(timeout=10))
    await telegram.wait_for(lambda: telegram.polled)
    polling.cancel()
    await telegram.wait_for(lambda: not telegram.polled)
    await telegram.says(sam, sam, "one")
    assert len(await bot.get_updates()) == 1


async def test_a_poller_is_told_again_too_and_in_order_always(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    telegram.held = True
    await telegram.says(sam, sam, "one")
    await telegram.says(sam, sam, "two")
    assert await bot.get_updates() == ()
    await telegram.releases([1, 0])
    assert [update.update_id for update in await bot.get_updates()] == [500001, 500002]
    await bot.get_updates(offset=500003)
    await telegram.delivers_again(telegram.updates[0])
    assert [update.update_id for update in await bot.get_updates(offset=500003)] == [500001]
    assert await bot.get_updates(offset=500003) == ()


async def test_all_but_the_last_updates_are_dropped_by_a_negative_offset_and_that_is_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    for text in ("one", "two"):
        await telegram.says(sam, sam, text)
    assert [update.update_id for update in await bot.get_updates(offset=-5)] == [500001, 500002]
    assert telegram.faults == []
    assert [update.update_id for update in await bot.get_updates(offset=-1)] == [500002]
    assert len(telegram.faults) == 1


async def test_what_waited_for_a_poller_goes_to_a_webhook_that_is_set(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    await telegram.says(sam, sam, "one")
    async with listening(bot) as app:
        await telegram.redelivers()
        assert app.texts == ["one"]


async def test_a_body_that_is_no_text_is_refused(telegram: FakeTelegram, sam: User) -> None:
    async with aiohttp.ClientSession() as session:
        url = f"{telegram.api_url}/bot{telegram.token}/sendMessage"
        body = {"chat_id": sam.id, "text": "as json"}
        async with session.post(url, json=body) as response:
            assert (await response.json())["result"]["text"] == "as json"
        async with session.get(url, params={"chat_id": str(sam.id), "text": "by address"}) as response:
            assert (await response.json())["result"]["text"] == "by address"
        kind = {"Content-Type": "application/json"}
        async with session.post(url, data=b"\xff", headers=kind) as response:
            assert response.status == 400
    assert len(telegram.faults) == 1
