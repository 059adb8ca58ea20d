"""What goes wrong in the fake Telegram because a test says so: refusals, floods, lost and hanging answers."""

import asyncio
from datetime import timedelta

import pytest
import telegram as ptb
from telegram.error import BadRequest, NetworkError, RetryAfter, TimedOut

from core.testing import ManualClock
from tests.fakes.telegram import (
    Chat,
    FakeTelegram,
    Trouble,
    User,
    cut,
    hangs,
    html,
    lost,
    refusal,
    too_many,
)
from tests.fakes.telegram.listening import error_of


async def waits(bot: ptb.Bot, chat_id: int) -> int:
    """The seconds after which the bot may post there again; 0, and it did."""
    try:
        await bot.send_message(chat_id, "x")
    except RetryAfter as refused:
        wait = refused.retry_after
        return int(wait.total_seconds() if isinstance(wait, timedelta) else wait)
    return 0


async def test_a_refusal_comes_as_often_as_told_and_where(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, ops: Chat
) -> None:
    full = refusal(400, "Bad Request: can't parse entities: because")
    telegram.breaks("sendMessage", full, chat=ops, times=2)
    await bot.send_message(sam.id, "x")
    for _ in range(2):
        said = await error_of(bot.send_message(ops.id, "x"), BadRequest)
        assert said == "Can't parse entities: because"
    await bot.send_message(ops.id, "x")
    telegram.breaks("*", full, times=None)
    await error_of(bot.get_me(), BadRequest)
    await error_of(bot.get_me(), BadRequest)
    telegram.mends()
    await bot.get_me()
    assert telegram.faults == []


@pytest.mark.parametrize(
    ("trouble", "kind", "done"),
    [(html(502), NetworkError, 0), (cut(), NetworkError, 0), (lost(), NetworkError, 1)],
)
async def test_an_answer_that_is_none_may_or_may_not_have_been_done(
    telegram: FakeTelegram,
    bot: ptb.Bot,
    sam: User,
    trouble: Trouble,
    kind: type[ptb.error.TelegramError],
    done: int,
) -> None:
    telegram.breaks("sendMessage", trouble)
    await error_of(bot.send_message(sam.id, "x"), kind)
    assert len(telegram.said(sam)) == done
    (call,) = telegram.called("sendMessage")
    assert call.answer is None


async def test_a_request_hangs_until_it_is_released(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    released = asyncio.Event()
    telegram.breaks("sendMessage", hangs(released))
    sending = asyncio.ensure_future(bot.send_message(sam.id, "x"))
    await telegram.wait_for(lambda: telegram.called("sendMessage"))
    assert telegram.said(sam) == []
    released.set()
    assert (await sending).text == "x"


async def test_what_hangs_is_done_although_who_asked_gave_up(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    released = asyncio.Event()
    telegram.breaks("sendMessage", hangs(released))
    await error_of(bot.send_message(sam.id, "x", read_timeout=0.05), TimedOut)
    assert telegram.said(sam) == []
    released.set()
    await telegram.wait_for(lambda: telegram.said(sam))


async def test_too_many_requests_say_when_to_come_again(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    telegram.breaks("sendMessage", too_many(37))
    assert await waits(bot, sam.id) == 37
    (call,) = telegram.called("sendMessage")
    assert call.answer == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 37",
        "parameters": {"retry_after": 37},
    }
    assert await waits(bot, sam.id) == 0


async def test_without_limits_all_is_taken(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    assert [await waits(bot, sam.id) for _ in range(40)] == [0] * 40


async def test_a_private_chat_takes_one_post_a_second_after_a_few(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    telegram.limits_posts()
    assert [await waits(bot, sam.id) for _ in range(4)] == [0, 0, 0, 3]
    clock.advance(3)
    assert await waits(bot, sam.id) == 0
    ann = telegram.add_user("Ann", started=True)
    assert await waits(bot, ann.id) == 0
    assert telegram.faults == []


async def test_a_group_takes_twenty_posts_a_minute_and_edits_count(
    telegram: FakeTelegram, bot: ptb.Bot, ops: Chat, clock: ManualClock
) -> None:
    telegram.limits_posts()
    sent = await bot.send_message(ops.id, "x")
    for place in range(9):
        await bot.edit_message_text(f"{place}", chat_id=ops.id, message_id=sent.message_id)
    clock.advance(20)
    assert [await waits(bot, ops.id) for _ in range(11)] == [0] * 10 + [40]
    await bot.send_chat_action(ops.id, "typing")
    clock.advance(40)
    assert await waits(bot, ops.id) == 0
    telegram.limits_posts(False)
    assert [await waits(bot, ops.id) for _ in range(30)] == [0] * 30


async def test_all_chats_together_take_thirty_posts_a_second(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    telegram.limits_posts()
    groups = [telegram.add_group(f"g{place}", sam) for place in range(31)]
    assert [await waits(bot, group.id) for group in groups] == [0] * 30 + [1]
    clock.advance(1)
    assert await waits(bot, groups[-1].id) == 0
