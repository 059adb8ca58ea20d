"""What somebody asked to see in Telegram: one message a call in a chat, and theirs while they are here."""

from collections.abc import AsyncIterator

import pytest

from tests.acceptance.shop import U2
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.contract.planted_memory import MemoryPlanted


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        yield made


async def test_a_card_that_is_asked_for_again_has_buttons_in_its_newest_message_alone(
    office: TelegramOffice,
) -> None:
    card = await office.parked()
    for _ in range(2):
        await office.asks(office.ben, "/show t-1.1")
    await office.last.works()
    older, newer = office.telegram.said(office.ben)
    assert (older.text, older.labels) == ("It is shown again below.", [])
    assert newer.labels != []
    await office.presses(office.ada, "Approve", on=card)
    await office.last.works()
    assert (newer.labels, older.text) == ([], "It is shown again below.")


@pytest.mark.rule("I14")
async def test_whoever_left_sees_nothing_of_what_becomes_of_what_they_asked_for(
    office: TelegramOffice,
) -> None:
    card = await office.parked()
    await office.asks(office.ben, "/show t-1.1")
    await office.asks(office.eve, "/show t-1.1", office.ops)
    (theirs,) = office.telegram.said(office.ben)
    assert theirs.labels != []
    await office.leaves(U2)
    await office.presses(office.ada, "Approve", on=card)
    await office.last.works()
    assert (theirs.text, theirs.labels) == ("This is no longer yours.", [])
    assert office.telegram.said(office.ben) == [theirs]
    assert "Approved by U1" in card.text
