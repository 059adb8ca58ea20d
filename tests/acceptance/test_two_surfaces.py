"""One office in Slack and in Telegram: what waits is decided in either, or at a terminal, and ends in all."""

import asyncio
import logging
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import aiohttp
import pytest

from adapters.slack.installed.scopes import SCOPES
from adapters.telegram.client import SURFACE as TELEGRAM
from core.chat import Place, Typed
from core.front import Front
from core.people import Account, Route
from core.ports import Query
from core.roster import SetRoute
from core.route import ChatKind
from core.testing import Line, says
from tests.acceptance.office import Office
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED, U1, U2, U9, Effect
from tests.acceptance.slack_office import SlackOffice, words_of
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.conftest import Templates, migrated
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import Message as SlackMessage
from tests.fakes.slack import fake_slack, refusal
from tests.fakes.telegram import Message
from tests.postgres import Server
from tests.wire import served

on_sqlite = pytest.mark.parametrize("both", ["sqlite"], indirect=True)

SLACK = "slack"
CONSOLE = "console"
ROOT = Path(__file__).resolve().parents[2]


class AlsoInSlack(SlackOffice):
    """The people of a shop that is there already, in Slack too."""

    async def people(self) -> None:
        self.ada, self.ben, self.eve = [await self._linked(person) for person in (U1, U2, U9)]
        self.ops = self.slack.add_channel("ops", self.ada, self.ben, self.eve)


@dataclass(kw_only=True, slots=True)
class Both:
    """One shop: each person has an account in both, and *ops* is in both."""

    slack: SlackOffice
    telegram: TelegramOffice

    def opens(self, *script: Line) -> None:
        """A bot starts that is in both."""
        self.slack.opens(list(script or REFUND_SCRIPT))
        self.telegram.opens(list(script or REFUND_SCRIPT))

    async def works(self) -> None:
        """Every task goes on until it waits or has ended, and all of it is in both."""
        for office in (self.slack, self.telegram, self.slack):  # what one can't show, the other may have to
            await office.last.works()

    async def cards_go(self, *places: Route) -> None:
        """To the first of them, copies to the others."""
        change = SetRoute(agent="sam", route=places[0], also=places[1:])
        await self.telegram.store.people.save(U1, ORG, change)

    async def parked(self, *script: Line) -> tuple[SlackMessage, Message]:
        """Ada asked for a refund in Slack; it waits on a card in each *ops*."""
        await self.cards_go(self.in_slack, self.in_telegram)
        self.opens(*script)
        await self.asks_in_slack()
        return self.slack.card, self.telegram.card

    async def asks_in_slack(self) -> None:
        """Ada asked for a refund in *ops* of Slack, and it is parked."""
        await self.slack.slack.says(self.slack.ada, self.slack.ops, "refund the mug", mention=True)
        await self.works()

    @property
    def in_slack(self) -> Route:
        return Route(surface=SLACK, ref=f"{self.slack.slack.team.id}/{self.slack.ops.id}")

    @property
    def in_telegram(self) -> Route:
        return Route(surface=TELEGRAM, ref=str(self.telegram.ops.id))

    @property
    def effects(self) -> list[Effect]:
        return self.telegram.world.effects

    def open_cards(self) -> list[object]:
        return [*self.slack.cards(), *self.telegram.cards()]

    async def decided(self) -> list[tuple[str, str | None]]:
        """Who decided where, oldest first."""
        story = await self.telegram.story()
        return [(entry.actor, entry.surface) for entry in story.audit if entry.move == "decide"]


@pytest.fixture(params=["sqlite", "postgres"])
async def both(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[Both]:
    """The shop's people in Slack and Telegram, over each database, in which nothing has happened.

    Afterwards: each history that a model saw was valid (I3), no run broke off, the trail is whole, and
    neither had anything to refuse.
    """
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated(request.param, tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        telegram = await closing.enter_async_context(telegram_office(planted))
        slack = await closing.enter_async_context(in_slack_too(telegram))
        yield Both(slack=slack, telegram=telegram)
        assert await slack.is_whole() and await telegram.is_whole()
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []


@asynccontextmanager
async def in_slack_too(office: Office) -> AsyncIterator[SlackOffice]:
    """The same shop with a fake Slack before it, too."""
    async with AsyncExitStack() as closing:
        slack = await closing.enter_async_context(fake_slack(clock=office.clock))
        slack.team.scopes, slack.patience = set(SCOPES), 60.0
        session = await closing.enter_async_context(aiohttp.ClientSession())
        made = AlsoInSlack(
            planted=office.planted, clock=office.clock, world=office.world, slack=slack, session=session
        )
        server = await closing.enter_async_context(served(made))
        slack.bot_url = f"http://127.0.0.1:{server.port}/slack/events"
        await made.people()
        yield made
        await made.background.ended()
        assert (slack.faults, slack.late) == ([], [])


# ── where it is decided ──────────────────────────────────────────────────────────────────────

Decides: TypeAlias = Callable[[Both, SlackMessage, Message], Awaitable[object]]


async def button_in_slack(both: Both, card: SlackMessage, other: Message) -> object:
    return await both.slack.slack.clicks(both.slack.ben, card, "approve")


async def button_in_telegram(both: Both, card: SlackMessage, other: Message) -> object:
    return await both.telegram.telegram.presses(both.telegram.ben, other, "Approve")


async def command_in_slack(both: Both, card: SlackMessage, other: Message) -> object:
    return await both.slack.slack.commands(both.slack.ben, both.slack.ops, "/gatepost", "approve t-1.1")


async def command_in_telegram(both: Both, card: SlackMessage, other: Message) -> object:
    return await both.telegram.telegram.says(both.telegram.ben, both.telegram.ben, "/approve t-1.1")


async def at_a_terminal(both: Both, card: SlackMessage, other: Message) -> object:
    desk, clock = both.telegram.last.desk, both.telegram.clock
    typed = Typed(
        account=Account(surface=CONSOLE, ref="ben"),
        event_id="1",
        text="approve t-1.1",
        place=Place(chat=U2.id, kind=ChatKind.DIRECT),
    )
    return await Front(desk=desk, clock=clock, surface=CONSOLE).typed_by(U2, typed)


@pytest.mark.rule("C6", "C7", "I1", "K20")
@pytest.mark.parametrize(
    ("decides", "where"),
    [
        (button_in_slack, SLACK),
        (button_in_telegram, TELEGRAM),
        (command_in_slack, SLACK),
        (command_in_telegram, TELEGRAM),
        (at_a_terminal, CONSOLE),
    ],
)
async def test_wherever_it_is_approved_it_runs_once_and_every_card_ends_with_the_name_and_the_time(
    both: Both, decides: Decides, where: str
) -> None:
    card, other = await both.parked()
    await decides(both, card, other)
    await both.works()
    assert both.effects == [REFUNDED]
    assert await both.decided() == [(U2.id, where)]
    assert both.open_cards() == []
    ends = {end_of(words_of(card.blocks)), end_of(other.text)}
    assert [end.startswith("✔ Approved by U2, ") for end in ends] == [True]


def end_of(text: str) -> str:
    """The line of a card that says what became of it."""
    return next((line for line in text.splitlines() if line[:1] in ("✔", "✖", "↩")), text)


@on_sqlite
@pytest.mark.rule("C9", "K20")
async def test_what_is_declined_in_telegram_has_its_reason_in_slack_and_never_runs(both: Both) -> None:
    card, other = await both.parked()
    await both.telegram.presses(both.telegram.ben, "Decline", "Say why…", on=other)
    await both.telegram.telegram.replies(
        both.telegram.ben, both.telegram.asked(both.telegram.ops), "it was not broken"
    )
    await both.works()
    assert (both.effects, both.open_cards()) == ([], [])
    ends = {end_of(words_of(card.blocks)), end_of(other.text)}
    assert [end.startswith("✖ Declined by U2, ") for end in ends] == [True]
    assert "it was not broken" in words_of(card.blocks)


# ── at once ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "I1")
async def test_of_two_who_press_at_once_one_wins_and_the_other_is_told_who(both: Both) -> None:
    card, other = await both.parked()
    _, pressed = await asyncio.gather(
        both.slack.slack.clicks(both.slack.ada, card, "approve"),
        both.telegram.telegram.presses(both.telegram.ben, other, "Approve"),
    )
    await both.slack.shown()
    await both.works()
    ((who, where),) = await both.decided()
    assert both.effects == [REFUNDED]
    told = both.slack.told(both.slack.ada)
    if where == SLACK:
        assert (who, pressed.alert) == (U1.id, True)
        assert pressed.text.startswith("U1 approved it at ")
    else:
        assert (who, pressed.alert) == (U2.id, False)
        assert [words.startswith("U2 approved it at ") for words in told] == [True]
    assert both.open_cards() == []


@on_sqlite
@pytest.mark.rule("C6", "I1")
async def test_a_card_that_is_behind_says_who_decided_elsewhere(both: Both) -> None:
    card, other = await both.parked()
    await both.slack.slack.clicks(both.slack.ada, card, "approve")
    pressed = await both.telegram.telegram.presses(both.telegram.ben, other, "Approve")
    assert (pressed.text.startswith("U1 approved it at "), pressed.alert) == (True, True)
    await both.works()
    assert both.effects == [REFUNDED]


# ── an edit ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8", "K20", "I1")
async def test_an_edit_in_telegram_shows_its_version_in_slack_where_it_is_decided(both: Both) -> None:
    card, other = await both.parked()
    before = await newest(both)
    await both.telegram.presses(both.telegram.ben, "Edit", "amount", on=other)
    question = both.telegram.asked(both.telegram.ops)
    await both.telegram.telegram.replies(both.telegram.ben, question, "7.50")
    await both.works()
    assert both.effects == []
    assert "10\n → \n7.50" in words_of(card.blocks)
    stale = await both.telegram.telegram.presses(both.telegram.ada, other, f"approve:{before}", stale=True)
    assert (stale.alert, both.effects) == (True, [])  # nobody has seen it as it is now
    await both.slack.slack.clicks(both.slack.ada, card, "approve")
    await both.works()
    assert both.effects == [("refund", "A1", Decimal("7.5"))]
    assert both.open_cards() == []


async def newest(both: Both) -> str:
    """What the newest button carries."""
    return str(max((await both.telegram.story()).parks, key=lambda park: park.version).token)


@on_sqlite
@pytest.mark.rule("C8", "K20")
async def test_an_edit_in_slack_is_a_decision_and_ends_the_card_in_telegram(both: Both) -> None:
    card, other = await both.parked()
    await both.slack.slack.clicks(both.slack.ada, card, "edit")
    await both.slack.slack.submits(both.slack.ada, {"amount": "5"})
    await both.works()
    assert both.effects == [("refund", "A1", Decimal(5))]
    assert end_of(other.text).startswith("✔ Approved with changes by U1")


# ── what is shown on request ─────────────────────────────────────────────────────────────────


@pytest.mark.rule("K20", "I1")
@pytest.mark.parametrize("asked", ["/show t-1.1", "/pending"])
async def test_what_telegram_shows_on_request_of_a_card_in_slack_ends_with_it(both: Both, asked: str) -> None:
    both.opens()
    await both.asks_in_slack()
    assert both.telegram.cards() == []
    telegram = both.telegram.telegram
    await telegram.says(both.telegram.ben, both.telegram.ben, asked)
    shown = both.telegram.card
    await both.slack.slack.clicks(both.slack.ada, both.slack.card, "approve")
    await both.works()
    assert (both.effects, both.open_cards()) == ([REFUNDED], [])
    assert end_of(shown.text).startswith("✔ Approved by U1, ")


@on_sqlite
@pytest.mark.rule("K20", "I1")
async def test_what_is_shown_on_request_decides_as_its_card_does(both: Both) -> None:
    both.opens()
    await both.asks_in_slack()
    card = both.slack.card
    await both.telegram.telegram.says(both.telegram.ben, both.telegram.ben, "/show t-1.1")
    await both.telegram.presses(both.telegram.ben, "Approve")
    await both.works()
    assert (both.effects, both.open_cards()) == ([REFUNDED], [])
    assert end_of(words_of(card.blocks)).startswith("✔ Approved by U2, ")


# ── a place that is dead ─────────────────────────────────────────────────────────────────────


def slack_is_dead(both: Both) -> None:
    """Whatever is sent there is refused for good."""
    both.slack.slack.breaks("chat.postMessage", refusal("is_archived"), times=None)
    both.slack.slack.breaks("conversations.open", refusal("user_disabled"), times=None)


@pytest.mark.rule("I14", "K18")
async def test_where_slack_is_dead_its_card_goes_to_telegram_and_says_so(both: Both) -> None:
    both.opens()
    slack_is_dead(both)
    await both.asks_in_slack()
    card = both.telegram.card
    assert both.slack.cards() == []
    assert card.chat.user is both.telegram.ada  # who asked, and may decide
    (said,) = [text for text in both.telegram.told(both.telegram.ada) if "Shown here since" in text]
    assert f"it could not be shown in {both.slack.slack.team.id}/" in said
    assert "on slack (Slack says is_archived)" in said
    await both.telegram.presses(both.telegram.ada, "Approve")
    await both.works()
    assert both.effects == [REFUNDED]
    assert end_of(card.text).startswith("✔ Approved by U1, ")
    assert "Refunded." in both.telegram.told(both.telegram.ada)[-1]


@on_sqlite
@pytest.mark.rule("I14")
async def test_where_one_place_of_several_is_dead_what_waits_is_in_the_other_all_the_same(both: Both) -> None:
    await both.cards_go(both.in_telegram, both.in_slack)
    both.opens()
    slack_is_dead(both)
    await both.telegram.asks(both.telegram.ada, "refund the mug", both.telegram.ops)
    await both.works()
    assert [card.chat for card in both.telegram.cards()] == [both.telegram.ops]
    assert "Shown here since" not in both.telegram.card.text
    await both.telegram.presses(both.telegram.ben, "Approve")
    await both.works()
    assert (both.effects, both.open_cards()) == ([REFUNDED], [])


@on_sqlite
@pytest.mark.rule("T1")
async def test_each_task_speaks_where_it_was_asked_for(both: Both) -> None:
    both.opens(says("Hello."))
    await both.slack.slack.says(both.slack.ada, both.slack.ops, "greet slack", mention=True)
    await both.telegram.asks(both.telegram.ben, "greet telegram", both.telegram.ops)
    await both.works()
    tasks = await both.telegram.store.ledger.find(ORG, Query())
    assert sorted((task.surface, task.goal, task.requester) for task in tasks) == [
        (SLACK, "greet slack", U1.id),
        (TELEGRAM, "greet telegram", U2.id),
    ]
    assert (
        len(both.slack.slack.said(both.slack.ops)) == len(both.telegram.telegram.said(both.telegram.ops)) == 1
    )


# ── apart ────────────────────────────────────────────────────────────────────────────────────


def test_neither_may_import_the_other_as_the_linter_is_told() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    apart = [contract["modules"] for contract in told if contract["type"] == "independence"]
    assert [{"adapters.slack", "adapters.telegram"} <= set(modules) for modules in apart] == [True]
