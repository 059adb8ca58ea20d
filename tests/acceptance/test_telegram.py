"""What people do in Telegram, over both databases: the scenarios, by webhook, within Telegram's own limits."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path

import pytest

from core.ports import Query
from core.tasks import TaskState
from core.testing import says
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED, U1
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.conftest import Templates, migrated
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Message
from tests.postgres import Server


@pytest.fixture(params=["sqlite", "postgres"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[TelegramOffice]:
    """The shop's people in Telegram, over each database, in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, the trail is whole, and Telegram
    had nothing to refuse.
    """
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated(request.param, tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(telegram_office(planted))
        yield made
        assert await made.is_whole()
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []


async def parked(office: TelegramOffice, *script: object) -> Message:
    """Ada asked for something in the group, and its card is there."""
    office.opens(list(script or REFUND_SCRIPT))  # type: ignore[arg-type]
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    return office.card


# ── messages ─────────────────────────────────────────────────────────────────────────────────


async def test_a_private_message_starts_a_task_that_speaks_there(office: TelegramOffice) -> None:
    office.opens([says("Hello.")])
    await office.asks(office.ada, "hello <there> & you")
    await office.last.works()
    (task,) = await office.store.ledger.find(ORG, Query())
    assert (task.goal, task.requester, task.thread_ref) == ("hello <there> & you", U1.id, str(office.ada.id))
    assert task.state is TaskState.DONE
    assert "Hello." in office.told(office.ada)[-1]


async def test_in_a_group_a_task_speaks_in_replies_to_the_message_that_began_it(office: TelegramOffice) -> None:
    card = await parked(office)
    assert card.chat is office.ops
    assert card.reply_to is not None
    assert card.reply_to.text == "@gatepost_bot refund the mug"


# ── buttons ──────────────────────────────────────────────────────────────────────────────────


async def test_a_call_that_is_approved_runs_once_and_its_card_ends_by_an_edit(office: TelegramOffice) -> None:
    card = await parked(office)
    pressed = await office.telegram.presses(office.ada, card, "Approve")
    assert (pressed.text, pressed.alert) == ("t-1.1 approved by U1. A worker runs it.", False)
    await office.last.works()
    assert office.world.effects == [REFUNDED]
    assert card.labels == []
    assert "✔ Approved by U1, " in card.text


async def test_an_edited_field_is_looked_at_once_more_before_it_runs(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.presses(office.ada, card, "Edit")
    assert card.labels
    await office.telegram.presses(office.ada, card, "amount")
    question = office.telegram.said(office.ops)[-1]
    await office.telegram.replies(office.ada, question, "7.50")
    again = office.card
    assert office.world.effects == []
    await office.telegram.presses(office.ada, again, "Approve")
    await office.last.works()
    assert office.world.effects == [("refund", "A1", Decimal("7.5"))]
