"""The fake Telegram, asked by python-telegram-bot itself: what the bot says, changes and takes away."""

from typing import Any

import pytest
import telegram as ptb
from telegram.error import Forbidden, InvalidToken

from core.testing import ManualClock
from tests.fakes.telegram import Chat, FakeTelegram, User
from tests.fakes.telegram.listening import error_of, shown

APPROVE = ptb.InlineKeyboardMarkup([[ptb.InlineKeyboardButton("Approve", callback_data="approve:t")]])
DECLINE = ptb.InlineKeyboardMarkup([[ptb.InlineKeyboardButton("Decline", callback_data="decline:t")]])


# ── who asks ─────────────────────────────────────────────────────────────────────────────────


async def test_a_token_says_who_it_is(telegram: FakeTelegram, bot: ptb.Bot) -> None:
    me = await bot.get_me()
    assert (me.id, me.username, me.is_bot) == (telegram.bot.id, "gatepost_bot", True)
    assert not me.can_read_all_group_messages
    telegram.privacy = False
    assert (await bot.get_me()).can_read_all_group_messages


async def test_a_token_that_is_none_is_refused(telegram: FakeTelegram) -> None:
    stolen = ptb.Bot("7000000001:AAstolen", base_url=f"{telegram.api_url}/bot")
    with pytest.raises(InvalidToken):
        await stolen.initialize()
    await stolen.shutdown()
    (call,) = telegram.calls
    assert (call.status, call.answer) == (
        401,
        {"ok": False, "error_code": 401, "description": "Unauthorized"},
    )


async def test_a_method_that_is_none_is_a_fault(telegram: FakeTelegram, bot: ptb.Bot) -> None:
    with pytest.raises(ptb.error.EndPointNotFound):
        await bot.do_api_request("shoutMessage")
    assert [fault.where for fault in telegram.faults] == ["shoutMessage"]


async def test_each_request_is_written_down_in_order(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    await bot.send_chat_action(sam.id, "typing")
    await bot.send_message(sam.id, "5", disable_notification=True)
    assert [call.method for call in telegram.calls] == ["getMe", "sendChatAction", "sendMessage"]
    call = telegram.called("sendMessage")[0]
    assert call.payload == {"chat_id": sam.id, "text": "5", "disable_notification": True}
    assert (call.at, call.status, call.chat_id) == (clock.now(), 200, sam.id)
    assert call.answer is not None and call.answer["result"]["text"] == "5"


# ── what is said ─────────────────────────────────────────────────────────────────────────────


async def test_a_message_is_in_its_chat_as_a_reply(telegram: FakeTelegram, bot: ptb.Bot, ops: Chat) -> None:
    first = await bot.send_message(ops.id, "first")
    reply = await bot.send_message(ops.id, "second", reply_parameters=ptb.ReplyParameters(first.message_id))
    assert [message.text for message in telegram.said(ops)] == ["first", "second"]
    assert reply.reply_to_message is not None and reply.reply_to_message.message_id == first.message_id
    assert reply.message_thread_id == first.message_id  # as a supergroup without topics says it
    assert not reply.is_topic_message
    assert telegram.faults == []


async def test_supergroups_count_their_messages_for_themselves_and_all_other_chats_together(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, ops: Chat
) -> None:
    dev, plain = telegram.add_group("dev", sam), telegram.add_group("old", sam, basic=True)
    ids = [(await bot.send_message(chat, "x")).message_id for chat in (ops.id, dev.id, plain.id, sam.id)]
    assert ids == [1, 1, 100, 101]


async def test_a_reply_to_nothing_is_refused_unless_it_may_go_without(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    gone = ptb.ReplyParameters(999)
    said = await error_of(bot.send_message(sam.id, "x", reply_parameters=gone))
    assert said == "Message to be replied not found"
    without = ptb.ReplyParameters(999, allow_sending_without_reply=True)
    assert (await bot.send_message(sam.id, "x", reply_parameters=without)).reply_to_message is None
    assert telegram.faults == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Message text is empty"),
        (" \n\t", "Text must be non-empty"),
        ("x" * 4097, "Message is too long"),
        ("😀" * 2048 + "x", "Message is too long"),
    ],
)
async def test_a_text_of_no_or_too_many_units_is_refused_and_a_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, text: str, said: str
) -> None:
    assert await error_of(bot.send_message(sam.id, text)) == said
    assert [fault.where for fault in telegram.faults] == ["sendMessage"]
    assert telegram.said(sam) == []


async def test_the_longest_text_is_taken(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    sent = await bot.send_message(sam.id, "😀" * 2048 + " \n")
    assert sent.text == "😀" * 2048
    assert telegram.faults == []


async def test_control_characters_and_overrides_are_taken_out(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    sent = await bot.send_message(sam.id, "a\x00b\r\nc\u202edcba\u2060")
    assert sent.text == "a b\ncdcba\u2060"


async def test_a_document_keeps_its_name_and_content(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    sent = await bot.send_document(sam.id, b'{"amount": 5}', filename="refund.json", caption=" all of it ")
    assert sent.document is not None and sent.document.file_name == "refund.json"
    message = shown(telegram, sent)
    assert (message.text, sent.caption) == ("all of it", "all of it")
    assert message.file is not None and message.file.content == b'{"amount": 5}'
    again = await bot.send_document(sam.id, sent.document.file_id)
    assert shown(telegram, again).file is message.file
    assert telegram.faults == []


async def test_a_caption_is_shorter_than_a_text(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    await bot.send_document(sam.id, b"x", caption="x" * 1024)
    assert (
        await error_of(bot.send_document(sam.id, b"x", caption="x" * 1025)) == "Message caption is too long"
    )
    assert await error_of(bot.send_document(sam.id, b"")) == "File must be non-empty"
    assert len(telegram.faults) == 2


async def test_an_unknown_action_is_a_fault(telegram: FakeTelegram, bot: ptb.Bot, sam: User) -> None:
    assert await bot.send_chat_action(sam.id, "typing")
    assert await error_of(bot.send_chat_action(sam.id, "thinking")) == "Wrong parameter action in request"
    assert len(telegram.faults) == 1


# ── where it may not be said ─────────────────────────────────────────────────────────────────


async def test_a_bot_may_not_write_first(telegram: FakeTelegram, bot: ptb.Bot) -> None:
    ann = telegram.add_user("Ann")
    said = await error_of(bot.send_message(ann.id, "hi"), Forbidden)
    assert said == "Forbidden: bot can't initiate conversation with a user"
    with pytest.raises(LookupError, match="never pressed start"):
        telegram.private(ann)
    await telegram.starts(ann)
    await bot.send_message(ann.id, "hi")
    assert telegram.faults == []


async def test_who_blocked_the_bot_hears_nothing_until_they_let_it(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    await telegram.blocks(sam)
    assert (
        await error_of(bot.send_message(sam.id, "hi"), Forbidden) == "Forbidden: bot was blocked by the user"
    )
    await telegram.unblocks(sam)
    await bot.send_message(sam.id, "hi")
    sam.deactivated = True
    assert await error_of(bot.send_message(sam.id, "hi"), Forbidden) == "Forbidden: user is deactivated"


async def test_a_chat_that_is_none_or_not_the_bots_is_refused(
    telegram: FakeTelegram, bot: ptb.Bot, ops: Chat, sam: User
) -> None:
    assert await error_of(bot.send_message(-100999, "hi")) == "Chat not found"
    assert await error_of(bot.send_message("@nowhere", "hi")) == "Chat not found"
    away = telegram.add_group("away", sam, bot=False)
    said = await error_of(bot.send_message(away.id, "hi"), Forbidden)
    assert said == "Forbidden: bot is not a member of the supergroup chat"
    await telegram.kicks(ops)
    said = await error_of(bot.send_message(ops.id, "hi"), Forbidden)
    assert said == "Forbidden: bot was kicked from the supergroup chat"
    assert telegram.faults == []


# ── what is changed ──────────────────────────────────────────────────────────────────────────


async def test_an_edit_changes_the_words_and_takes_the_keyboard_away(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    sent = await bot.send_message(sam.id, "card", reply_markup=APPROVE)
    clock.advance(60 * 60 * 24 * 30)  # there is no time after which a bot could not
    edited = await bot.edit_message_text("done", chat_id=sam.id, message_id=sent.message_id)
    assert isinstance(edited, ptb.Message)
    assert (edited.text, edited.reply_markup, edited.edit_date) == ("done", None, clock.now())
    message = shown(telegram, sent)
    assert message.buttons == []
    assert [(version.text, bool(version.markup)) for version in message.versions] == [("card", True)]


async def test_an_edit_that_changes_nothing_is_refused_and_no_fault(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    sent = await bot.send_message(sam.id, "card", reply_markup=APPROVE)
    where: dict[str, Any] = {"chat_id": sam.id, "message_id": sent.message_id}
    said = await error_of(bot.edit_message_text(" card ", reply_markup=APPROVE, **where))
    assert said == (
        "Message is not modified: specified new message content and reply markup are exactly the same as a "
        "current content and reply markup of the message"
    )
    said = await error_of(bot.edit_message_reply_markup(reply_markup=APPROVE, **where))
    assert said.startswith("Message is not modified")
    await bot.edit_message_reply_markup(reply_markup=DECLINE, **where)
    bold = [ptb.MessageEntity(ptb.MessageEntity.BOLD, 0, 4)]
    await bot.edit_message_text("card", entities=bold, reply_markup=DECLINE, **where)
    await bot.edit_message_text("card", reply_markup=DECLINE, **where)
    assert len(shown(telegram, sent).versions) == 3
    assert telegram.faults == []


async def test_only_a_message_that_is_there_and_the_bots_own_can_be_edited(
    telegram: FakeTelegram, bot: ptb.Bot, ops: Chat, sam: User
) -> None:
    said = await error_of(bot.edit_message_text("x", chat_id=ops.id, message_id=999))
    assert said == "Message to edit not found"
    assert telegram.faults == []
    theirs = (await telegram.says(sam, ops, "hello")).message
    said = await error_of(bot.edit_message_text("x", chat_id=ops.id, message_id=theirs.id))
    assert said == "Message can't be edited"
    assert len(telegram.faults) == 1


async def test_a_prompt_to_reply_and_a_document_have_no_text_to_edit(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    forced = ptb.ForceReply(selective=True, input_field_placeholder="12.50")
    prompt = await bot.send_message(sam.id, "The new amount?", reply_markup=forced)
    assert shown(telegram, prompt).forces_reply
    assert shown(telegram, prompt).reply_markup == forced.to_dict()
    said = await error_of(bot.edit_message_text("x", chat_id=sam.id, message_id=prompt.message_id))
    assert said == "Message can't be edited"
    file = await bot.send_document(sam.id, b"x")
    said = await error_of(bot.edit_message_text("x", chat_id=sam.id, message_id=file.message_id))
    assert said == "There is no text in the message to edit"
    assert len(telegram.faults) == 2


async def test_an_edit_too_long_says_so_in_other_words(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User
) -> None:
    sent = await bot.send_message(sam.id, "card")
    said = await error_of(bot.edit_message_text("x" * 4097, chat_id=sam.id, message_id=sent.message_id))
    assert said == "Message_too_long"


async def test_a_message_is_deleted_within_two_days_and_a_card_never_should_be(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, clock: ManualClock
) -> None:
    note, old = await bot.send_message(sam.id, "note"), await bot.send_message(sam.id, "old")
    card = await bot.send_message(sam.id, "card", reply_markup=APPROVE)
    await bot.edit_message_text("done", chat_id=sam.id, message_id=card.message_id)
    await bot.delete_message(sam.id, note.message_id)
    assert telegram.faults == []
    await bot.delete_message(sam.id, card.message_id)
    assert [fault.error for fault in telegram.faults] == ["a card is ended by an edit, never deleted"]
    clock.advance(48 * 60 * 60)
    said = await error_of(bot.delete_message(sam.id, old.message_id))
    assert said == "Message can't be deleted for everyone"
    assert await error_of(bot.delete_message(sam.id, note.message_id)) == "Message to delete not found"
    assert [message.text for message in telegram.said(sam)] == ["old"]
