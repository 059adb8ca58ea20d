"""Buttons, their answers, and the command menu of the fake Telegram, within Telegram's limits."""

from typing import Any

import pytest
import telegram as ptb
from aiohttp import web

from core.testing import ManualClock
from tests.fakes.telegram import Answer, Chat, FakeTelegram, Json, Message, User
from tests.fakes.telegram.listening import Listener, error_of, shown

TOO_OLD = "Query is too old and response timeout expired or query id is invalid"


@pytest.fixture
async def card(telegram: FakeTelegram, bot: ptb.Bot, ops: Chat) -> Message:
    rows = [[callback("✅ Approve", "approve:t"), callback("✏️ Edit", "edit:t")], [link("Connect")]]
    return shown(telegram, await bot.send_message(ops.id, "card", reply_markup=keyboard(*rows)))


def callback(label: str, data: str, **more: Any) -> ptb.InlineKeyboardButton:
    return ptb.InlineKeyboardButton(label, callback_data=data, **more)


def link(label: str, url: str = "https://gatepost.example/connect") -> ptb.InlineKeyboardButton:
    return ptb.InlineKeyboardButton(label, url=url)


def keyboard(*rows: list[ptb.InlineKeyboardButton]) -> ptb.InlineKeyboardMarkup:
    return ptb.InlineKeyboardMarkup(rows)


# ── keyboards ────────────────────────────────────────────────────────────────────────────────


async def test_a_keyboard_is_shown_row_by_row(telegram: FakeTelegram, card: Message) -> None:
    assert card.buttons == [["✅ Approve", "✏️ Edit"], ["Connect"]]
    assert card.labels == ["✅ Approve", "✏️ Edit", "Connect"]
    assert telegram.button(card, "Connect")["url"] == "https://gatepost.example/connect"
    assert telegram.faults == []


@pytest.mark.parametrize("style", ["success", "danger", "primary"])
async def test_a_button_has_one_of_three_styles(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, style: str
) -> None:
    sent = await bot.send_message(sam.id, "x", reply_markup=keyboard([callback("A", "a", style=style)]))
    assert telegram.button(shown(telegram, sent), "A")["style"] == style


BAD: list[tuple[Json, str]] = [
    ({"text": "A", "callback_data": "é" * 33}, "Button_data_invalid"),
    ({"text": "A"}, "Can't parse inline keyboard button: text buttons are unallowed in the inline keyboard"),
    (
        {"text": "A", "callback_data": "a", "style": "warning"},
        "Can't parse inline keyboard button: invalid button style specified",
    ),
    (
        {"text": "A", "callback_data": "a", "url": "a.com"},
        "Can't parse inline keyboard button: exactly one of the optional fields must be used",
    ),
    (
        {"text": "A", "url": "http://localhost/x"},
        "Inline keyboard button url 'http://localhost/x' is invalid: wrong http url",
    ),
    (
        {"text": "A", "url": "ftp://a.com"},
        "Inline keyboard button url 'ftp://a.com' is invalid: unsupported url protocol",
    ),
    (
        {"text": "A", "url": "http://a.com:x"},
        "Inline keyboard button url 'http://a.com:x' is invalid: wrong port number specified in the url",
    ),
    ({"text": "A", "copy_text": {"text": "x" * 257}}, "Button_copy_text_invalid"),
]


@pytest.mark.parametrize(("button", "said"), BAD)
async def test_a_button_that_is_none_is_refused_and_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, button: Json, said: str
) -> None:
    markup = {"reply_markup": {"inline_keyboard": [[button]]}}
    assert await error_of(bot.send_message(sam.id, "x", api_kwargs=markup)) == said
    assert [fault.where for fault in telegram.faults] == ["sendMessage"]
    assert telegram.said(sam) == []


async def test_data_has_64_bytes_and_a_keyboard_100_buttons(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    row = [callback("A", "x" * 64)] * 8
    await bot.send_message(sam.id, "x", reply_markup=keyboard(*[row] * 12, row[:4]))
    assert telegram.faults == []
    said = await error_of(bot.send_message(sam.id, "x", reply_markup=keyboard(*[row] * 13)))
    assert said == "Reply markup is too long"
    assert len(telegram.faults) == 1


async def test_what_does_not_fit_a_row_or_has_no_words_is_dropped_and_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    nine = keyboard([callback(str(place), "a") for place in range(9)])
    sent = await bot.send_message(sam.id, "x", reply_markup=nine)
    assert len(shown(telegram, sent).labels) == 8
    nameless = {"reply_markup": {"inline_keyboard": [[{"text": "", "callback_data": "a"}]]}}
    sent = await bot.send_message(sam.id, "x", api_kwargs=nameless)
    assert shown(telegram, sent).markup is None
    assert [fault.error for fault in telegram.faults] == [
        "more than 8 buttons in a row: the rest is dropped",
        "a button without words is dropped",
    ]


async def test_a_placeholder_has_64_characters_and_an_edit_takes_no_prompt(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, card: Message
) -> None:
    longest, longer = (ptb.ForceReply(input_field_placeholder="x" * count) for count in (64, 65))
    await bot.send_message(sam.id, "x", reply_markup=longest)
    assert telegram.faults == []
    said = await error_of(bot.send_message(sam.id, "x", reply_markup=longer))
    assert said == "Reply markup placeholder is invalid"
    prompt: Any = longest
    said = await error_of(
        bot.edit_message_text("x", chat_id=card.chat.id, message_id=card.id, reply_markup=prompt)
    )
    assert said == "Inline keyboard expected"
    assert len(telegram.faults) == 2


# ── presses ──────────────────────────────────────────────────────────────────────────────────


async def test_a_press_is_told_and_its_answer_seen(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, card: Message
) -> None:
    async def approve(update: ptb.Update) -> web.Response:
        assert update.callback_query is not None
        await update.callback_query.answer("Approved ✓", show_alert=True)
        return web.Response()

    app.answers = [approve]
    pressed = await telegram.presses(sam, card, "✅ Approve")
    query = app.last.callback_query
    assert query is not None and isinstance(query.message, ptb.Message)
    assert (query.data, query.from_user.id, query.message.message_id) == ("approve:t", sam.id, card.id)
    assert isinstance(pressed.answer, Answer)
    assert (pressed.text, pressed.alert) == ("Approved ✓", True)
    unanswered = await telegram.presses(sam, card, "Edit")
    assert (unanswered.answer, unanswered.text, unanswered.alert) == (None, "", False)
    assert unanswered.deliveries[-1].status == 200


async def test_only_a_button_that_is_there_can_be_pressed_unless_it_is_stale(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, card: Message
) -> None:
    with pytest.raises(LookupError, match="no button is 'Decline'"):
        await telegram.presses(sam, card, "Decline")
    with pytest.raises(ValueError, match=r"gatepost\.example"):
        await telegram.presses(sam, card, "Connect")
    ann = telegram.add_user("Ann", started=True)
    with pytest.raises(ValueError, match="isn't in ops"):
        await telegram.presses(ann, card, "Approve")
    await telegram.presses(sam, card, "edit:t")
    assert app.last.callback_query is not None and app.last.callback_query.data == "edit:t"
    await bot.edit_message_text("done", chat_id=card.chat.id, message_id=card.id)
    with pytest.raises(LookupError):
        await telegram.presses(sam, card, "Approve")
    await telegram.presses(sam, card, "approve:t", stale=True)
    assert app.last.callback_query.data == "approve:t"


async def test_several_buttons_alike_are_told_apart_by_their_whole_label(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User
) -> None:
    both = keyboard([callback("Decline", "a"), callback("Decline and stop", "b"), callback("Stop", "c")])
    message = shown(telegram, await bot.send_message(sam.id, "x", reply_markup=both))
    await telegram.presses(sam, message, "Decline")
    assert app.last.callback_query is not None and app.last.callback_query.data == "a"
    with pytest.raises(LookupError, match="several"):
        telegram.button(message, "Dec")


async def test_an_old_message_is_inaccessible_or_not_told_at_all(
    telegram: FakeTelegram, app: Listener, sam: User, card: Message
) -> None:
    await telegram.presses(sam, card, "Approve", inaccessible=True)
    assert app.last.callback_query is not None
    message = app.last.callback_query.message
    assert message is not None and not message.is_accessible
    assert (message.message_id, message.chat.id) == (card.id, card.chat.id)
    await telegram.presses(sam, card, "Approve", without_message=True)
    assert app.last.callback_query is not None and app.last.callback_query.message is None


async def test_a_press_is_answered_once_and_soon(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, card: Message, clock: ManualClock
) -> None:
    async def press() -> str:
        return (await telegram.presses(sam, card, "Approve")).query.id

    first, second = await press(), await press()
    await bot.answer_callback_query(first)
    assert await error_of(bot.answer_callback_query(first)) == TOO_OLD
    assert await error_of(bot.answer_callback_query("12345")) == TOO_OLD
    clock.advance(14)
    await bot.answer_callback_query(second)
    third = await press()
    clock.advance(15)
    assert await error_of(bot.answer_callback_query(third)) == TOO_OLD
    telegram.query_age = 0
    assert await error_of(bot.answer_callback_query(await press())) == TOO_OLD
    assert telegram.faults == []


async def test_an_answer_has_200_characters(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, card: Message
) -> None:
    query = (await telegram.presses(sam, card, "Approve")).query
    assert await error_of(bot.answer_callback_query(query.id, "x" * 201)) == "Message_too_long"
    assert len(telegram.faults) == 1
    await bot.answer_callback_query(query.id, "x" * 200)
    assert query.answer is not None and not query.answer.alert


# ── the menu ─────────────────────────────────────────────────────────────────────────────────


async def test_commands_are_kept_by_scope(telegram: FakeTelegram, bot: ptb.Bot, ops: Chat) -> None:
    everywhere, there = [("help", "What there is")], [("stop", "Stop a task")]
    await bot.set_my_commands(everywhere)
    await bot.set_my_commands(there, scope=ptb.BotCommandScopeChat(ops.id))
    await bot.set_my_commands(there, scope=ptb.BotCommandScopeAllGroupChats(), language_code="de")
    assert list(telegram.commands) == ["default", f"chat:{ops.id}", "all_group_chats:de"]
    (command,) = await bot.get_my_commands(scope=ptb.BotCommandScopeChat(ops.id))
    assert (command.command, command.description) == ("stop", "Stop a task")
    await bot.delete_my_commands()
    assert await bot.get_my_commands() == ()
    assert await error_of(bot.get_my_commands(ptb.BotCommandScopeChat(5))) == "Chat not found"
    assert telegram.faults == []


@pytest.mark.parametrize(
    ("commands", "said"),
    [
        ([("Stop", "Stop a task")], "Bot_command_invalid"),
        ([("s" * 33, "Stop a task")], "Bot_command_invalid"),
        ([("stop", " ")], "Bot_command_description_invalid"),
        ([("stop", "x" * 257)], "Bot_command_description_invalid"),
        ([("stop", "Stop a task")] * 101, "Bot_commands_too_much"),
    ],
)
async def test_commands_have_their_limits(
    telegram: FakeTelegram, bot: ptb.Bot, commands: list[tuple[str, str]], said: str
) -> None:
    assert await error_of(bot.set_my_commands(commands)) == said
    assert len(telegram.faults) == 1
    await bot.set_my_commands([("s" * 32, "x" * 256)] * 100)
    assert len(telegram.faults) == 1
