"""Who is listened to in Telegram, whatever they do there: people whom the organization knows, by number.

Names and usernames change hands; what hides behind a group, a channel or another bot is nobody. Whoever is
refused is told why where they spoke to us, and nothing comes of it (I14).
"""

from collections.abc import AsyncIterator

import pytest

from adapters.telegram.client import SURFACE
from adapters.telegram.heard.messages import AS_CHANNEL, BOT, HIDDEN, PASSED_ON, TOLD_AGAIN, WELCOME
from adapters.telegram.shown.commands import typed_here
from adapters.telegram.shown.text import JOINER
from core.codes import code_digest
from core.front import UNKNOWN
from core.ids import OrgId, PersonId
from core.parks import DecisionKind, ParkState
from core.people import Account, Organization, Person, Role
from core.ports import Query
from core.roster import Issue
from core.testing import says
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED, U1, U2
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.contract.planted_memory import MemoryPlanted
from tests.fakes.telegram import Chat, Message, User

CODE = "K3QF-7MZA-PLXN-2RTD"
OTHER = OrgId("bakery")
STRANGER = typed_here(UNKNOWN)
USED = "This code is wrong, was used, or has run out."


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        yield made
        assert await made.is_whole()


async def parked(office: TelegramOffice, chat: Chat | None = None) -> Message:
    """Ada asked for a refund in *chat*, the group unless told otherwise, and its card is there."""
    office.opens(list(REFUND_SCRIPT))
    await office.asks(office.ada, "refund the mug", chat or office.ops)
    await office.last.works()
    return office.card


def shown(card: Message) -> str:
    """What *card* says, as it is read."""
    return card.text.replace(JOINER, "")


async def states(office: TelegramOffice) -> list[ParkState]:
    return [park.state for park in (await office.story()).parks]


async def stored(office: TelegramOffice) -> int:
    """Messages in the inbox, beside the one that asked for the refund."""
    return await office.planted.count("inbox") - 1


async def links(office: TelegramOffice, person: Person, user: User) -> None:
    await office.planted.account(person, Account(surface=SURFACE, ref=str(user.id)))


# ── by number ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
async def test_who_is_called_otherwise_now_is_the_same_person(office: TelegramOffice) -> None:
    card = await parked(office)
    office.ada.name, office.ada.username = "Somebody", None
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    assert pressed.text == "t-1.1 approved by U1. A worker runs it."


@pytest.mark.rule("I14")
async def test_who_took_anothers_name_is_nobody(office: TelegramOffice) -> None:
    card = await parked(office)
    office.zoe.name, office.zoe.username, office.ada.username = office.ada.name, office.ada.username, None
    office.telegram.open_private(office.zoe)
    assert (await office.telegram.presses(office.zoe, card, "Approve")).text == STRANGER
    await office.asks(office.zoe, "/approve t-1.1")
    assert office.told(office.zoe) == [STRANGER]
    assert await states(office) == [ParkState.OPEN]
    (refused,) = [e for e in (await office.story()).audit if e.move == "refused"]
    assert refused.actor == f"{SURFACE}:{office.zoe.id}"


# ── who is unknown ───────────────────────────────────────────────────────────────────────────


async def test_who_is_unknown_is_told_how_to_be_known_and_not_over_and_over(office: TelegramOffice) -> None:
    office.opens([])
    await office.telegram.starts(office.zoe)
    for text in ("hello", "/tasks", "hello?"):
        await office.asks(office.zoe, text)
    await office.asks(office.zoe, "hello", office.ops)
    assert (office.told(office.zoe), office.told(office.ops)) == ([WELCOME, STRANGER], [])
    office.clock.advance(TOLD_AGAIN.total_seconds())
    await office.asks(office.zoe, "hello", office.ops)
    assert office.told(office.ops) == [STRANGER]


async def test_who_talks_to_others_is_not_told_that_nobody_knows_them(office: TelegramOffice) -> None:
    office.opens([])
    office.telegram.privacy = False
    said = await office.telegram.says(office.zoe, office.ops, "who wants a coffee?")
    await office.telegram.replies(office.zoe, said.message, "me")
    assert office.told(office.ops) == []


async def test_who_is_known_and_opens_the_chat_is_told_what_may_be_said(office: TelegramOffice) -> None:
    office.opens([])
    await office.telegram.starts(office.ben)
    assert "approve CALL" in office.told(office.ben)[-1]
    assert "pause [AGENT]" not in office.told(office.ben)[-1]


# ── a code ───────────────────────────────────────────────────────────────────────────────────


async def issued(office: TelegramOffice, seconds: float = 600) -> None:
    """Ben has a code with which he may link another account."""
    await office.store.people.save(U1, ORG, Issue(U2.id, code_digest(CODE), seconds))
    office.opens([])


@pytest.mark.rule("I14")
async def test_a_link_with_a_code_links_whoever_opens_it_once(office: TelegramOffice) -> None:
    await issued(office)
    await office.telegram.starts(office.zoe, CODE)
    assert office.told(office.zoe) == ["Welcome, U2. /help lists what you may say."]
    roster = await office.store.people.of(ORG)
    assert (U2.id, Account(surface=SURFACE, ref=str(office.zoe.id))) in roster.accounts

    late = office.telegram.add_user("late")
    await office.telegram.starts(late, CODE)
    assert [words.startswith(USED) for words in office.told(late)] == [True]
    assert await office.store.people.everywhere(Account(surface=SURFACE, ref=str(late.id))) == ()


async def test_a_code_that_was_used_tells_its_user_who_they_are(office: TelegramOffice) -> None:
    await issued(office)
    for _ in range(2):
        await office.telegram.starts(office.zoe, CODE)
    assert office.told(office.zoe)[-1] == f"{USED} You are known here as U2."


async def test_a_code_is_taken_as_a_command_too_be_it_copied_from_what_the_bot_said(
    office: TelegramOffice,
) -> None:
    await issued(office)
    await office.telegram.starts(office.zoe)
    copied = office.telegram.said(office.zoe)[0].text.rpartition("say ")[2].partition("join")[0]
    assert copied == f"/{JOINER}"  # or Telegram would make a button of it that says no code
    await office.asks(office.zoe, f"{copied}join {CODE.lower()}")
    assert office.told(office.zoe)[-1] == "Welcome, U2. /help lists what you may say."


async def test_a_link_that_was_opened_and_delivered_again_links_and_answers_once(
    office: TelegramOffice,
) -> None:
    await issued(office)
    await office.telegram.starts(office.zoe, CODE)
    await office.telegram.delivers_again(office.telegram.updates[-1])
    assert office.told(office.zoe) == ["Welcome, U2. /help lists what you may say."]


async def test_a_code_that_has_run_out_links_nobody(office: TelegramOffice) -> None:
    await issued(office, seconds=600)
    assert isinstance(office.planted, MemoryPlanted)
    office.planted.clock.advance(601)
    await office.telegram.starts(office.zoe, CODE)
    assert [words.startswith(USED) for words in office.told(office.zoe)] == [True]


# ── in several organizations, and in none any more ───────────────────────────────────────────


async def in_several(office: TelegramOffice) -> None:
    """Ada is an owner of the bakery, too."""
    baker = Person(org=OTHER, id=PersonId("p-1"), name="Ada", roles=frozenset({Role.OWNER}))
    await office.planted.save(Organization(id=OTHER, name="Bakery"), baker)
    await links(office, baker, office.ada)


@pytest.mark.rule("I18")
async def test_of_several_organizations_a_message_is_for_none_and_a_button_for_its_own(
    office: TelegramOffice,
) -> None:
    card = await parked(office)
    await in_several(office)
    before = await stored(office)
    await office.asks(office.ada, "refund it all")
    await office.asks(office.ada, "/pending")
    several = "This account is linked in several organizations: say in which."
    assert office.told(office.ada) == [several, several]
    assert await stored(office) == before
    await office.telegram.presses(office.ada, card, "Approve")
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("I14")
async def test_who_left_is_unknown_from_then_on(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.leaves(U2)
    assert (await office.telegram.presses(office.ben, card, "Approve")).text == STRANGER
    await office.asks(office.ben, "/decline t-1.1")
    await office.asks(office.ben, "stop")
    assert office.told(office.ben) == [STRANGER]
    assert await states(office) == [ParkState.OPEN]


# ── who hides ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14", "I21")
async def test_an_administrator_who_hides_is_told_so_and_does_nothing(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.promotes_anonymous(office.ada, office.ops)
    await office.asks(office.ada, "stop", office.ops)
    await office.telegram.replies(office.ada, card, "stop")
    for command in ("/approve t-1.1", "/approve@gatepost_bot t-1.1", "/decline@other_bot t-1.1", "/foo"):
        await office.telegram.says(office.ada, office.ops, command)
    assert office.told(office.ops)[1:] == [HIDDEN] * 4
    assert (await states(office), await stored(office)) == ([ParkState.OPEN], 0)


@pytest.mark.rule("I14", "C6")
async def test_the_press_of_an_administrator_who_hides_names_them_and_counts(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.promotes_anonymous(office.ada, office.ops)
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    assert pressed.text == "t-1.1 approved by U1. A worker runs it."
    assert [p.by_person for p in (await office.story()).parks] == [U1.id]


@pytest.mark.rule("I14")
async def test_what_an_administrator_who_hides_says_to_others_is_left_unanswered(
    office: TelegramOffice,
) -> None:
    card = await parked(office)
    office.telegram.privacy = False
    await office.telegram.promotes_anonymous(office.ada, office.ops)
    await office.telegram.says(office.ada, office.ops, "who wants a coffee?")
    assert (office.told(office.ops), await stored(office)) == ([shown(card)], 0)


@pytest.mark.rule("I14")
async def test_who_writes_as_a_channel_is_told_so_and_does_nothing(office: TelegramOffice) -> None:
    await parked(office)
    news = office.telegram.add_channel("news")
    for words in ("@gatepost_bot stop", "/approve t-1.1"):
        await office.telegram.says(office.ada, office.ops, words, as_channel=news)
    assert office.told(office.ops)[1:] == [AS_CHANNEL] * 2
    assert (await states(office), await stored(office)) == ([ParkState.OPEN], 0)


async def test_a_channels_post_in_the_group_that_discusses_it_is_nobodys(office: TelegramOffice) -> None:
    office.opens([])
    said = await office.telegram.says(office.ada, office.ops, "@gatepost_bot hello and /help")
    feed = {"id": 777000, "is_bot": False, "first_name": "Telegram"}
    before = (office.told(office.ops), await office.planted.count("inbox"))
    message = said.message.to_json() | {"from": feed, "is_automatic_forward": True}
    await office.telegram.tells("message", message)
    assert (office.told(office.ops), await office.planted.count("inbox")) == before


@pytest.mark.rule("I14", "I21")
async def test_another_bot_is_refused_its_commands_and_left_unanswered_whoever_it_is_linked_to(
    office: TelegramOffice,
) -> None:
    card = await parked(office)
    office.telegram.bot_to_bot = True
    bot = office.telegram.add_user("other_bot", is_bot=True)
    office.ops.members[bot.id] = "member"
    await links(office, U1, bot)
    await office.asks(bot, "stop", office.ops)
    await office.telegram.replies(bot, card, "stop")
    assert office.told(office.ops)[1:] == []
    await office.telegram.says(bot, office.ops, "/approve t-1.1")
    assert office.told(office.ops)[1:] == [BOT]
    await office.telegram.replies(bot, office.telegram.said(office.ops)[-1], BOT)
    assert office.told(office.ops)[1:] == [BOT]
    assert (await states(office), await stored(office)) == ([ParkState.OPEN], 0)


async def test_what_the_bot_said_itself_is_nobodys(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.tells("message", card.to_json() | {"text": "/approve t-1.1"})
    assert (office.told(office.ops), await stored(office)) == ([shown(card)], 0)


# ── words of somebody else ───────────────────────────────────────────────────────────────────


@pytest.mark.rule("I15")
async def test_a_command_that_was_passed_on_is_not_done(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.says(office.ada, office.ada, "/approve t-1.1", forward=True)
    assert office.told(office.ada) == [PASSED_ON]
    await office.telegram.says(office.ada, office.ops, "/approve@gatepost_bot t-1.1", forward=True)
    assert office.told(office.ops) == [shown(card)]
    assert (await states(office), await stored(office)) == ([ParkState.OPEN], 0)


@pytest.mark.rule("I15")
async def test_a_command_that_another_bot_put_in_is_not_done(office: TelegramOffice) -> None:
    await parked(office)
    said = await office.asks(office.ada, "/help")
    via = office.telegram.add_user("via_bot", is_bot=True).to_json()
    message = said.message.to_json() | {"text": "/approve t-1.1", "via_bot": via}
    await office.telegram.tells("message", message)
    assert office.told(office.ada)[1:] == [PASSED_ON]
    assert (await states(office), await stored(office)) == ([ParkState.OPEN], 0)


async def test_words_that_were_passed_on_are_what_their_sender_asks_for(office: TelegramOffice) -> None:
    office.opens([says("I see.")])
    await office.telegram.says(office.ada, office.ada, "the mug arrived broken", forward=True)
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.requester) == ("the mug arrived broken", U1.id)


# ── who can't be written to ──────────────────────────────────────────────────────────────────


@pytest.mark.rule("I20")
async def test_where_the_bot_was_blocked_the_card_goes_to_the_next_place_and_says_so(
    office: TelegramOffice,
) -> None:
    await office.planted.insert(
        "approval_routes", org=ORG, agent="", surface=SURFACE, ref=f"@{office.ben.id}"
    )
    office.opens([])
    await office.telegram.blocks(office.ben)
    card = await parked(office)
    assert card.chat is office.ops
    moved = f"Shown here since it could not be shown in @{office.ben.id} on telegram"
    assert moved in shown(card) and "blocked" in shown(card)
    await office.telegram.presses(office.ada, card, "Approve")
    await office.last.works()
    assert [p.decision for p in (await office.story()).parks] == [DecisionKind.APPROVE]
    assert office.world.effects == [REFUNDED]


async def test_who_never_opened_the_chat_is_told_how_where_they_asked(office: TelegramOffice) -> None:
    card = await parked(office)
    await links(office, U2, office.zoe)
    await office.telegram.says(office.zoe, office.ops, "/pending")
    begin = office.telegram.said(office.ops)[-1]
    assert begin.text == "This is for you alone: open t.me/gatepost_bot, press Start, and say it again."
    assert begin.marked("url") == ["t.me/gatepost_bot"]  # to be followed
    await office.telegram.starts(office.zoe)
    await office.telegram.says(office.zoe, office.ops, "/pending")
    assert office.told(office.zoe)[1:] == [shown(card)]
