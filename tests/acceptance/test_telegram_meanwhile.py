"""What happens in Telegram while something else does: a decision behind a menu, a death behind a reply."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import pytest

from core.testing import says
from tests.acceptance.shop import REFUND_SCRIPT, REFUNDED, decisions
from tests.acceptance.telegram_office import TelegramOffice, office_over
from tests.conftest import Templates
from tests.fakes.telegram import hangs
from tests.postgres import Server


@pytest.fixture(params=["sqlite"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[TelegramOffice]:
    async with office_over(request.param, tmp_path, postgres_server, templates, caplog) as made:
        yield made


@pytest.mark.rule("C6", "I1")
@pytest.mark.parametrize("pressed", ["Decline", "Edit"])
async def test_a_menu_that_came_after_the_decision_gives_way_to_what_became_of_the_call(
    office: TelegramOffice, pressed: str
) -> None:
    card = await office.parked()
    office.telegram.breaks("editMessageReplyMarkup", hangs(goes_on := asyncio.Event()))
    opening = asyncio.create_task(office.telegram.presses(office.ada, card, pressed))
    await office.telegram.wait_for(lambda: office.telegram.called("editMessageReplyMarkup"))
    await office.telegram.presses(office.ben, card, "Approve")
    await office.last.works()
    goes_on.set()
    await opening
    assert office.world.effects == [REFUNDED]
    assert card.labels == []
    assert "Approved by U2" in card.text


@pytest.mark.rule("C6", "I1")
async def test_a_card_that_was_restored_while_it_ended_has_ended(office: TelegramOffice) -> None:
    card = await office.parked()
    await office.presses(office.ada, "Decline", on=card)
    office.telegram.breaks("editMessageText", hangs(goes_on := asyncio.Event()))
    going_back = asyncio.create_task(office.telegram.presses(office.ada, card, "Back"))
    await office.telegram.wait_for(lambda: office.telegram.called("editMessageText"))
    await office.telegram.says(office.ben, office.ben, "/approve t-1.1")
    await office.last.works()
    goes_on.set()
    await going_back
    assert card.labels == []
    assert "Approved by U2" in card.text


@pytest.mark.rule("C6")
async def test_a_refused_press_brings_a_card_up_to_date_that_missed_its_end(office: TelegramOffice) -> None:
    card = await office.parked()
    await office.telegram.presses(office.ben, card, "Approve")
    refused = await office.telegram.presses(office.ada, card, "Decline")
    assert refused.alert
    assert refused.text.startswith("U2 approved it at ")
    assert card.labels == []


@pytest.mark.rule("C6", "I21")
@pytest.mark.parametrize(
    ("menu", "said", "words"),
    [
        (("Change it",), "half of it", "t-1.1 sent back by U1: half of it."),
        (("Decline", "Say why"), "wrong order", "t-1.1 declined by U1: wrong order."),
    ],
    ids=["revise", "why"],
)
async def test_a_reply_that_comes_again_after_its_process_died_is_answered_as_it_was(
    office: TelegramOffice, menu: tuple[str, ...], said: str, words: str
) -> None:
    await office.parked()
    await office.presses(office.ada, *menu)
    question = office.asked(office.ops)
    prompts = await office.planted.table("prompts")
    await office.telegram.replies(office.ada, question, said)
    reply = office.telegram.updates[-1]
    await office.planted.insert("prompts", **prompts[0])  # it died before it could say that this is over
    office.opens([])
    await office.telegram.delivers_again(reply)
    told = office.told(office.ops)
    assert [one.startswith(words) for one in told[-2:]] == [True, True], told
    assert len(decisions(await office.story())) == 1


@pytest.mark.rule("C8", "I21")
async def test_a_new_value_that_comes_again_after_its_process_died_is_shown_again(
    office: TelegramOffice,
) -> None:
    await office.parked()
    await office.presses(office.ada, "Edit", "amount")
    question = office.asked(office.ops)
    prompts = await office.planted.table("prompts")
    await office.telegram.replies(office.ada, question, "7.50")
    reply = office.telegram.updates[-1]
    await office.planted.insert("prompts", **prompts[0])
    office.opens(list(REFUND_SCRIPT))
    await office.telegram.delivers_again(reply)
    assert [park.version for park in (await office.story()).parks] == [1, 2]
    again = office.card
    assert "7.50" in again.text
    await office.telegram.presses(office.ada, again, "Approve")
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("7.5"))]


async def test_what_a_task_is_about_is_for_who_asks_alone_also_before_it_has_done_anything(
    office: TelegramOffice,
) -> None:
    office.opens([says("Done.")])
    await office.telegram.says(office.ada, office.ada, "/new raise the salary of Bob")
    await office.asks(office.ada, "/show t-1", office.ops)
    assert office.told(office.ops) == ["I sent it to you alone."]
    assert "raise the salary of Bob" in office.told(office.ada)[-1]
