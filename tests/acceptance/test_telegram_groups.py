"""Chats of many in Telegram: what is for us and what is not, topics, groups that move or that we leave."""

from collections.abc import AsyncIterator, Sequence

import pytest

from adapters.telegram.client import SURFACE
from core.parks import ParkState
from core.ports import Query
from core.tasks import MessageKind, Task, TaskState
from core.testing import Line, calls, says
from tests.acceptance.shop import ORG, REFUND, REFUND_SCRIPT, REFUNDED, U1, U2
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.contract.planted_memory import MemoryPlanted
from tests.fakes.telegram import Chat, Message, Topic


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        yield made
        assert await made.is_whole()


async def parked(
    office: TelegramOffice, chat: Chat, topic: Topic | None = None, script: Sequence[Line] = REFUND_SCRIPT
) -> Message:
    """Ada asked for a refund in *chat*, and its card is there."""
    office.opens(list(script))
    await office.telegram.says(office.ada, chat, "refund the mug", mention=True, topic=topic)
    await office.last.works()
    return office.card


async def tasks(office: TelegramOffice) -> list[Task]:
    """Every task, oldest first."""
    return sorted(await office.store.ledger.find(ORG, Query()), key=lambda task: task.number)


async def read(office: TelegramOffice) -> list[str]:
    """What people wrote to the first task, after its goal, as far as its agent has read it."""
    story = await office.story()
    return [m.body["text"] for m in story.messages if m.kind is MessageKind.OWNER]


async def cards_go(office: TelegramOffice, chat: Chat) -> None:
    """The cards of every agent go to *chat*."""
    await office.planted.insert("approval_routes", org=ORG, agent="", surface=SURFACE, ref=str(chat.id))


# ── what is for us ───────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I21")
async def test_what_people_say_to_each_other_is_neither_answered_nor_kept(office: TelegramOffice) -> None:
    office.opens([])
    office.telegram.privacy = False
    said = await office.telegram.says(office.ada, office.ops, "the safe's code is 4711")
    await office.telegram.says(office.ben, office.ops, "@gatepost_bot_2 refund everything")
    assert await office.planted.count("inbox") == 0
    await office.telegram.replies(office.ben, said.message, "no: 4712")
    assert [row["body"]["text"] for row in await office.planted.table("inbox")] == [""]
    assert office.told(office.ops) == []


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        ("@gatepost_bot refund the mug", "refund the mug"),
        ("@Gatepost_Bot  refund the mug", "refund the mug"),
        ("😀 @gatepost_bot refund", "😀 @gatepost_bot refund"),
        ("refund it, @gatepost_bot!", "refund it, @gatepost_bot!"),
    ],
)
async def test_who_names_the_bot_asks_for_what_stands_behind_its_name(
    office: TelegramOffice, words: str, goal: str
) -> None:
    office.opens([says("Done.")])
    await office.telegram.says(office.ada, office.ops, words)
    await office.last.works()
    assert [task.goal for task in await tasks(office)] == [goal]


@pytest.mark.parametrize(
    "words", ["@gatepost_bot /approve t-1.1", "@Gatepost_Bot  /Approve@gatepost_bot t-1.1"]
)
async def test_a_command_behind_the_bots_name_is_a_command(office: TelegramOffice, words: str) -> None:
    await parked(office, office.ops)
    await office.telegram.says(office.ben, office.ops, words)
    assert [p.by_person for p in (await office.story()).parks] == [U2.id]


async def test_the_name_alone_is_asked_back(office: TelegramOffice) -> None:
    office.opens([])
    await office.telegram.says(office.ada, office.ops, "@gatepost_bot")
    assert office.told(office.ops) == ["Say what is to be done."]


async def test_a_reply_to_a_card_joins_its_task_whoever_writes_it(office: TelegramOffice) -> None:
    card = await parked(office, office.ops)
    await office.telegram.replies(office.ada, card, "and say sorry")
    await office.telegram.replies(office.ben, card, "and A2")
    await office.telegram.presses(office.ben, card, "Approve")
    await office.last.works()
    assert await read(office) == ["and say sorry", "and A2"]
    assert len(await tasks(office)) == 1


@pytest.mark.rule("I15")
async def test_a_reply_to_a_card_decides_nothing_and_is_told_what_does(office: TelegramOffice) -> None:
    card = await parked(office, office.ops)
    await office.telegram.replies(office.ada, card, "approve")
    assert office.told(office.ops)[-1] == (
        "Words decide nothing. Press a button on the card, or give the command /approve t-1.1."
    )
    assert [p.state for p in (await office.story()).parks] == [ParkState.OPEN]


async def test_who_has_two_tasks_going_on_in_a_group_is_asked_which_is_meant(office: TelegramOffice) -> None:
    office.opens([calls(("refund", REFUND)), calls(("refund", REFUND))])
    for words in ("one", "/new two"):
        await office.asks(office.ada, words, office.ops)
        await office.last.works()
    await office.asks(office.ada, "hurry", office.ops)
    assert office.told(office.ops)[-1] == (
        "Which one? t-2: two; t-1: one. Begin with its code, or with /new."
    )


@pytest.mark.rule("I15", "I21")
async def test_what_was_edited_starts_nothing_joins_nothing_and_commands_nothing(
    office: TelegramOffice,
) -> None:
    await parked(office, office.ops)
    office.telegram.privacy = False
    for user, chat, words in (
        (office.ada, office.ops, "hello"),
        (office.ben, office.telegram.private(office.ben), "/tasks"),
    ):
        said = await office.telegram.says(user, chat, words)
        before = (await office.planted.count("inbox"), office.told(chat))
        for new in ("@gatepost_bot refund everything", "/approve@gatepost_bot t-1.1", "stop"):
            await office.telegram.edits(said.message, new)
        assert (await office.planted.count("inbox"), office.told(chat)) == before
    asked = office.ops.messages[0]
    await office.telegram.edits(asked, "@gatepost_bot refund A2 instead")
    assert [(t.goal, t.state) for t in await tasks(office)] == [("refund the mug", TaskState.WAITING)]


async def test_who_comes_and_goes_is_nobodys_business(office: TelegramOffice) -> None:
    office.opens([])
    new = office.telegram.add_user("new")
    await office.telegram.joins(new, office.ops)
    await office.telegram.leaves(new, office.ops)
    assert (await office.planted.count("inbox"), office.told(office.ops)) == (0, [])


async def test_of_a_file_its_words_are_read_and_its_writer_is_told_that_it_is_not(
    office: TelegramOffice,
) -> None:
    office.opens([says("I see.")])
    paper = ("invoice.pdf", b"%PDF-1.7")
    await office.telegram.says(office.ada, office.ops, "pay this", mention=True, document=paper)
    await office.last.works()
    (task,) = await tasks(office)
    assert task.goal == "pay this\n\n[Attached, not read: invoice.pdf (8 bytes)]"
    assert office.told(office.ops)[0] == "I can't read invoice.pdf (8 bytes): say in words what matters."


# ── topics ───────────────────────────────────────────────────────────────────────────────────


async def test_in_a_topic_the_card_and_the_report_are_in_the_topic(office: TelegramOffice) -> None:
    topic = office.telegram.add_topic(office.ops, "Refunds")
    card = await parked(office, office.ops, topic)
    assert card.topic is topic
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    assert pressed.text == "t-1.1 approved by U1. A worker runs it."
    await office.last.works()
    assert (len(office.telegram.said(office.ops, topic=topic)), card.labels) == (2, [])
    assert office.telegram.said(office.ops, topic=topic) == office.telegram.said(office.ops)
    (task,) = await tasks(office)
    place = f"{office.ops.id}:t{topic.id}"
    assert (task.chat, task.thread_ref) == (place, f"{place}:{office.ops.messages[1].id}")


async def test_topics_of_a_group_are_chats_of_their_own(office: TelegramOffice) -> None:
    one = office.telegram.add_topic(office.ops, "Refunds")
    other = office.telegram.add_topic(office.ops, "Mugs")
    card = await parked(office, office.ops, one)
    office.opens([says("Hello."), says("Refunded.")])
    await office.telegram.says(office.ada, office.ops, "hello", mention=True, topic=other)
    await office.telegram.says(office.ada, office.ops, "be quick", mention=True, topic=one)
    await office.last.works()
    assert [(t.goal, t.chat) for t in await tasks(office)] == [
        ("refund the mug", f"{office.ops.id}:t{one.id}"),
        ("hello", f"{office.ops.id}:t{other.id}"),
    ]
    await office.telegram.presses(office.ada, card, "Approve")
    await office.last.works()
    assert await read(office) == ["be quick"]
    (report,) = office.telegram.said(office.ops, topic=other)
    assert "Hello." in report.text


async def test_in_private_nothing_of_a_group_is_joined(office: TelegramOffice) -> None:
    await parked(office, office.ops)
    office.opens([says("Hello.")])
    await office.asks(office.ada, "hello")
    await office.last.works()
    assert [(t.goal, t.chat) for t in await tasks(office)] == [
        ("refund the mug", str(office.ops.id)),
        ("hello", str(office.ada.id)),
    ]
    assert await read(office) == []
    assert "Hello." in office.told(office.ada)[-1]


async def test_what_is_for_one_alone_is_not_said_in_a_topic(office: TelegramOffice) -> None:
    topic = office.telegram.add_topic(office.ops, "Refunds")
    card = await parked(office, office.ops, topic)
    await office.telegram.says(office.ada, office.ops, "/pending", topic=topic)
    assert office.telegram.said(office.ops, topic=topic)[-1].text == "I sent it to you alone."
    (shown,) = office.telegram.said(office.ada)
    assert shown.text == card.text


# ── a group that became a supergroup ─────────────────────────────────────────────────────────


async def upgraded(office: TelegramOffice, *script: Line, told: bool) -> Chat:
    """A plain group with a card, which is a supergroup now; whether we were *told* so."""
    group = office.telegram.add_group("shop", office.ada, office.ben, basic=True)
    await cards_go(office, group)
    card = await parked(office, group, script=script or REFUND_SCRIPT)
    assert card.chat is group
    office.telegram.held = not told
    return await office.telegram.migrates(group)


async def follows(office: TelegramOffice, new: Chat) -> None:
    """Tasks, routes and messages to come are where the group is now, in reply to none of the old one."""
    task = await office.task()
    assert (task.chat, task.thread_ref) == (str(new.id), str(new.id))
    assert (await office.planted.row("approval_routes"))["ref"] == str(new.id)
    assert {row["route"].partition(":")[0] for row in await office.planted.table("posts")} == {str(new.id)}


@pytest.mark.rule("C6")
async def test_a_group_that_moved_takes_its_tasks_cards_and_routes_along(office: TelegramOffice) -> None:
    new = await upgraded(office, told=True)
    await follows(office, new)
    await office.telegram.says(office.ada, new, "/approve@gatepost_bot t-1.1")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    said = office.told(new)
    assert said[0] == "t-1.1 approved by U1. A worker runs it."
    assert any("✔ Approved by U1" in words for words in said) and "Refunded." in said[-1]


@pytest.mark.rule("C6")
async def test_a_group_that_moved_unheard_is_followed_when_it_refuses_what_is_sent(
    office: TelegramOffice,
) -> None:
    new = await upgraded(office, told=False)
    office.telegram.held = False
    await office.asks(office.ada, "/approve t-1.1")
    await office.last.works()
    await follows(office, new)
    assert office.world.effects == [REFUNDED]
    assert "Refunded." in office.told(new)[-1]


@pytest.mark.rule("C6", "K18")
async def test_a_card_that_still_waits_is_posted_anew_where_the_group_is(office: TelegramOffice) -> None:
    both = calls(("refund", REFUND), ("refund", {**REFUND, "order_id": "A2"}))
    new = await upgraded(office, both, says("Done."), told=False)
    office.telegram.held = False
    await office.asks(office.ada, "/approve t-1.1")
    await office.last.works()
    (again,) = office.telegram.said(new)
    await office.telegram.presses(office.ada, again, "✅ t-1.2")
    await office.last.works()
    assert (len(office.world.effects), again.labels) == (2, [])


@pytest.mark.rule("K18")
async def test_a_card_whose_group_moved_before_it_was_sent_is_posted_where_the_group_is(
    office: TelegramOffice,
) -> None:
    group = office.telegram.add_group("shop", office.ada, basic=True)
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.says(office.ada, group, "refund the mug", mention=True)
    office.telegram.held = True
    new = await office.telegram.migrates(group)
    await office.last.works()
    card = office.card
    assert (card.chat, (await office.task()).chat) == (new, str(new.id))
    await office.telegram.releases()  # what is heard now is known
    await office.telegram.presses(office.ada, card, "Approve")
    await office.last.works()
    assert (office.world.effects, card.labels) == ([REFUNDED], [])


# ── a group that we come to, or leave ────────────────────────────────────────────────────────


async def test_who_brings_the_bot_into_a_group_is_told_what_it_is_called(office: TelegramOffice) -> None:
    office.opens([])
    group = office.telegram.add_group("new", office.ada, bot=False)
    await office.telegram.adds_bot(group, by=office.ada)
    await office.telegram.promotes_bot(group, by=office.ada)
    (named,) = office.telegram.said(group)
    name = f"telegram:{group.id}"
    assert named.marked("code") == [name, f"python -m bot org route AGENT {name}"]
    await office.telegram.says(office.ada, group, "/start")
    assert office.told(group) == [named.text] * 2


async def test_who_opens_a_topic_is_told_what_the_topic_is_called(office: TelegramOffice) -> None:
    office.opens([])
    topic = office.telegram.add_topic(office.ops, "Refunds")
    await office.telegram.says(office.ada, office.ops, "/start@gatepost_bot", topic=topic)
    (named,) = office.telegram.said(office.ops, topic=topic)
    assert named.marked("code")[0] == f"telegram:{office.ops.id}:t{topic.id}"


async def test_nothing_is_said_to_a_stranger_who_brings_the_bot_into_a_group(office: TelegramOffice) -> None:
    office.opens([])
    group = office.telegram.add_group("new", office.zoe, bot=False)
    await office.telegram.adds_bot(group, by=office.zoe)
    assert office.told(group) == []


@pytest.mark.rule("I20")
async def test_where_the_bot_was_thrown_out_the_card_goes_to_whoever_may_decide(
    office: TelegramOffice,
) -> None:
    office.opens(list(REFUND_SCRIPT))
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.telegram.kicks(office.ops, by=office.eve)
    await office.last.works()
    card = office.card
    assert card.chat.user is office.ada
    assert "Shown here since it could not be shown in" in card.text and "kicked" in card.text
    await office.telegram.presses(office.ada, card, "Approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert [p.by_person for p in (await office.story()).parks] == [U1.id]
