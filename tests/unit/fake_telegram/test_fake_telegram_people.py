"""People in the fake Telegram: what reaches a bot, in private, in groups and topics, and as they change."""

from collections.abc import AsyncIterator

import pytest
import telegram as ptb

from tests.fakes.telegram import Chat, FakeTelegram, User
from tests.fakes.telegram.listening import Listener, error_of, listening, shown

ALL = ["message", "edited_message", "callback_query", "my_chat_member", "chat_member"]


@pytest.fixture
async def app(bot: ptb.Bot) -> AsyncIterator[Listener]:
    """It is told of everything."""
    async with listening(bot, allowed_updates=ALL) as app:
        yield app


def heard(app: Listener) -> ptb.Message:
    """The message that the bot was told of last."""
    message = app.last.effective_message
    assert isinstance(message, ptb.Message)
    return message


# ── what reaches a bot with privacy mode ─────────────────────────────────────────────────────


async def test_in_private_all_is_heard(telegram: FakeTelegram, app: Listener, sam: User) -> None:
    await telegram.says(sam, sam, "anything")
    assert (heard(app).text, heard(app).chat.type) == ("anything", "private")


@pytest.mark.parametrize(
    ("text", "reaches"),
    [
        ("anything", False),
        ("/stop t-12", True),
        ("/stop@gatepost_bot t-12", True),
        ("/stop@Gatepost_Bot", True),
        ("please /stop@gatepost_bot", True),
        ("/stop@other_bot", False),
        ("please /stop", False),
        ("hey @gatepost_bot", True),
        ("hey @gatepost_bots", False),
    ],
)
async def test_in_groups_only_what_is_meant_for_the_bot_is_heard(
    telegram: FakeTelegram, app: Listener, sam: User, ops: Chat, text: str, reaches: bool
) -> None:
    await telegram.says(sam, ops, text)
    assert app.texts == ([text] if reaches else [])


async def test_a_reply_to_the_bot_is_heard_and_one_to_others_is_not(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, ops: Chat
) -> None:
    asked = shown(telegram, await bot.send_message(ops.id, "How much?"))
    said = await telegram.replies(sam, asked, "12.50")
    assert heard(app).reply_to_message is not None
    assert heard(app).reply_to_message.message_id == asked.id  # type: ignore[union-attr]
    await telegram.replies(sam, said.message, "or 13")
    assert app.texts == ["12.50"]


async def test_without_privacy_and_as_administrator_all_is_heard_but_other_bots(
    telegram: FakeTelegram, app: Listener, sam: User, ops: Chat
) -> None:
    other = telegram.add_user("Other", is_bot=True)
    ops.members[other.id] = "member"
    telegram.privacy = False
    await telegram.says(sam, ops, "one")
    await telegram.says(other, ops, "/two")
    telegram.privacy = True
    await telegram.promotes_bot(ops)
    await telegram.says(sam, ops, "three")
    telegram.bot_to_bot = True
    await telegram.says(other, ops, "/four")
    assert [text for text in app.texts if text] == ["one", "three", "/four"]
    assert heard(app).from_user is not None and heard(app).from_user.is_bot  # type: ignore[union-attr]


async def test_an_edit_is_told_as_one_by_the_same_rules(
    telegram: FakeTelegram, app: Listener, sam: User, ops: Chat
) -> None:
    said = await telegram.says(sam, ops, "/go")
    await telegram.edits(said.message, "/go on")
    assert app.last.message is None
    assert app.last.edited_message is not None
    assert (app.last.edited_message.text, app.last.edited_message.edit_date) == (
        "/go on",
        telegram.clock.now(),
    )
    await telegram.edits(said.message, "never mind")
    assert app.texts == ["/go", "/go on"]


async def test_a_photo_and_a_document_come_with_their_words_as_caption(
    telegram: FakeTelegram, app: Listener, sam: User
) -> None:
    await telegram.says(sam, sam, "see @sam_b", photo=b"jpg")
    assert (heard(app).text, heard(app).caption, len(heard(app).photo)) == (None, "see @sam_b", 1)
    assert heard(app).parse_caption_entities(["mention"])
    await telegram.says(sam, sam, "this", document=("a.txt", b"text"))
    assert heard(app).document is not None and heard(app).document.file_name == "a.txt"  # type: ignore[union-attr]


async def test_a_forward_says_where_it_was_written(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User
) -> None:
    card = shown(telegram, await bot.send_message(sam.id, "card"))
    await telegram.says(sam, sam, "card", forward=card)
    origin = heard(app).forward_origin
    assert isinstance(origin, ptb.MessageOriginUser) and origin.sender_user.id == telegram.bot.id
    await telegram.says(sam, sam, "hearsay", forward=True)
    assert isinstance(heard(app).forward_origin, ptb.MessageOriginHiddenUser)


async def test_an_anonymous_administrator_writes_as_the_group_and_presses_by_name(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, ops: Chat
) -> None:
    await telegram.promotes_anonymous(sam, ops)
    await telegram.says(sam, ops, "/approve t-12")
    assert heard(app).from_user is not None and heard(app).sender_chat is not None
    assert heard(app).from_user.id == 1087968824  # type: ignore[union-attr]
    assert heard(app).sender_chat.id == ops.id  # type: ignore[union-attr]
    keyboard = ptb.InlineKeyboardMarkup([[ptb.InlineKeyboardButton("Approve", callback_data="a")]])
    card = shown(telegram, await bot.send_message(ops.id, "card", reply_markup=keyboard))
    await telegram.presses(sam, card, "Approve")
    assert app.last.callback_query is not None and app.last.callback_query.from_user.id == sam.id


async def test_who_writes_as_a_channel_has_no_name(
    telegram: FakeTelegram, app: Listener, sam: User, ops: Chat
) -> None:
    news = telegram.add_channel("news")
    await telegram.says(sam, ops, "/approve t-12", as_channel=news)
    assert heard(app).from_user is not None and heard(app).sender_chat is not None
    assert (heard(app).from_user.is_bot, heard(app).sender_chat.id) == (True, news.id)  # type: ignore[union-attr]


async def test_nobody_writes_where_they_are_not(telegram: FakeTelegram, sam: User, ops: Chat) -> None:
    ann = telegram.add_user("Ann")
    with pytest.raises(ValueError, match="isn't in ops"):
        await telegram.says(ann, ops, "hi")
    with pytest.raises(LookupError):
        await telegram.says(ann, ann, "hi")
    with pytest.raises(ValueError, match="several messages"):
        await telegram.says(sam, sam, "x" * 4097)
    said = await telegram.says(sam, sam, "hi")
    with pytest.raises(ValueError, match="not there to be replied to"):
        await telegram.says(sam, ops, "hi", reply_to=said.message)


# ── topics ───────────────────────────────────────────────────────────────────────────────────


async def test_what_is_said_in_a_topic_is_a_reply_to_its_opening(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, ops: Chat
) -> None:
    topic = telegram.add_topic(ops, "refunds")
    await telegram.says(sam, ops, "/go", topic=topic)
    assert (heard(app).message_thread_id, heard(app).is_topic_message) == (topic.id, True)
    assert heard(app).chat.is_forum
    opening = heard(app).reply_to_message
    assert opening is not None and opening.forum_topic_created is not None
    sent = await bot.send_message(ops.id, "going", message_thread_id=topic.id)
    assert (sent.message_thread_id, sent.is_topic_message) == (topic.id, True)
    reply = await telegram.replies(sam, shown(telegram, sent), "why?")
    assert reply.message.topic is topic
    assert [message.text for message in telegram.said(ops, topic=topic)] == ["going"]
    await telegram.says(sam, ops, "/general")
    assert heard(app).message_thread_id is None
    assert telegram.faults == []


async def test_a_topic_that_is_none_is_refused(
    telegram: FakeTelegram, bot: ptb.Bot, sam: User, ops: Chat
) -> None:
    said = await error_of(bot.send_message(ops.id, "x", message_thread_id=77))
    assert said == "Message thread not found"
    assert telegram.faults == []
    with pytest.raises(ValueError, match="no supergroup"):
        telegram.add_topic(telegram.add_group("old", sam, basic=True), "refunds")


# ── who belongs where ────────────────────────────────────────────────────────────────────────


async def test_start_opens_the_private_chat_with_what_the_link_carried(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener
) -> None:
    ann = telegram.add_user("Ann", username=None)
    await telegram.starts(ann, "token_1")
    assert (heard(app).text, heard(app).chat.id) == ("/start token_1", ann.id)
    assert heard(app).from_user == ptb.User(ann.id, "Ann", False)
    assert heard(app).from_user.username is None  # type: ignore[union-attr]
    await telegram.blocks(ann)
    assert app.last.my_chat_member is not None
    change = app.last.my_chat_member
    assert (change.old_chat_member.status, change.new_chat_member.status) == ("member", "kicked")
    await telegram.starts(ann)
    assert (app.updates[-2].my_chat_member is not None, heard(app).text) == (True, "/start")


async def test_the_bot_hears_where_it_is_added_and_thrown_out(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User
) -> None:
    away = telegram.add_group("away", sam, bot=False)
    assert (await telegram.says(sam, away, "/go")).deliveries == []
    await telegram.adds_bot(away, by=sam)
    first, second = app.updates
    assert first.my_chat_member is not None and first.my_chat_member.from_user.id == sam.id
    assert first.my_chat_member.new_chat_member.status == "member"
    assert second.message is not None and second.message.new_chat_members[0].id == bot.id
    await telegram.kicks(away)
    assert app.last.my_chat_member is not None
    assert app.last.my_chat_member.new_chat_member.status == "kicked"
    assert (await telegram.says(sam, away, "/go")).deliveries == []


async def test_members_come_go_and_rise(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User, ops: Chat
) -> None:
    ann = telegram.add_user("Ann")
    assert (await bot.get_chat_member(ops.id, ann.id)).status == "left"
    await telegram.joins(ann, ops)
    assert heard(app).new_chat_members[0].id == ann.id
    await telegram.promotes(ann, ops)
    assert app.last.chat_member is not None
    member = await bot.get_chat_member(ops.id, ann.id)
    assert isinstance(member, ptb.ChatMemberAdministrator) and not member.is_anonymous
    await telegram.leaves(ann, ops)
    assert heard(app).left_chat_member is not None
    assert await error_of(bot.get_chat_member(ops.id, 5)) == "User not found"
    assert (await bot.get_chat_member(ops.id, bot.id)).status == "member"
    assert (await bot.get_chat(ops.id)).title == "ops"


async def test_a_group_that_migrates_has_another_id_and_none_of_its_messages(
    telegram: FakeTelegram, bot: ptb.Bot, app: Listener, sam: User
) -> None:
    old = telegram.add_group("ops", sam, basic=True)
    sent = await bot.send_message(old.id, "card")
    new = await telegram.migrates(old)
    leaving, arriving = (update.message for update in app.updates)
    assert leaving is not None and arriving is not None
    assert (leaving.chat.id, leaving.migrate_to_chat_id) == (old.id, new.id)
    assert (arriving.chat.id, arriving.migrate_from_chat_id) == (new.id, old.id)
    for call in (
        bot.send_message(old.id, "more"),
        bot.edit_message_text("done", chat_id=old.id, message_id=sent.message_id),
    ):
        with pytest.raises(ptb.error.ChatMigrated) as caught:
            await call
        assert caught.value.new_chat_id == new.id
    assert telegram.calls[-1].answer is not None
    assert telegram.calls[-1].answer["description"] == (
        "Bad Request: group chat was upgraded to a supergroup chat"
    )
    said = await error_of(bot.edit_message_text("x", chat_id=new.id, message_id=sent.message_id))
    assert said == "Message to edit not found"
    assert (await bot.send_message(new.id, "more")).chat.type == "supergroup"
    await telegram.says(sam, new, "/go")
    assert telegram.faults == []
    with pytest.raises(ValueError, match="basic=True"):
        await telegram.migrates(new)
