"""Telegram asked for its updates: by one process at a time, past none that was not done with.

What processes do here they do in one, and share nothing but the store; as processes: test_telegram_processes.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from telegram.request import HTTPXRequest

from adapters.telegram.client import BotClient, bot_client
from adapters.telegram.heard.polling import LEASE, LEASE_SECONDS, PAUSE_SECONDS, Polling, polled
from adapters.telegram.heard.setup import Setup
from core.ports import Query
from core.testing import ManualClock, says
from tests.acceptance.processes import without
from tests.acceptance.shop import ORG, REFUND_SCRIPT, REFUNDED
from tests.acceptance.telegram_office import SECRET, TelegramOffice, face, telegram_office
from tests.conftest import Templates, migrated
from tests.contract.planted_memory import MemoryPlanted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Trouble, cut, hangs, html, lost, refusal, too_many
from tests.postgres import Server

CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


class Asleep(ManualClock):
    """A clock at which whoever sleeps does so until they are woken."""

    def __init__(self) -> None:
        super().__init__()
        self._wakes, self._falls = asyncio.Event(), asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._falls.set()
        await self._wakes.wait()

    async def falls(self) -> float:
        """Somebody sleeps: for how long."""
        async with asyncio.timeout(10):
            await self._falls.wait()
        return self.slept[-1]

    def wakes(self) -> None:
        """Nobody sleeps."""
        before, self._wakes, self._falls = self._wakes, asyncio.Event(), asyncio.Event()
        before.set()


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        made.opens(list(REFUND_SCRIPT))
        yield made
        assert await made.is_whole()


class Asking:
    """A process that asks Telegram for updates, or would."""

    def __init__(self, office: TelegramOffice, client: BotClient, polling: Polling, clock: Asleep) -> None:
        self.office, self.client, self.polling, self.clock = office, client, polling, clock
        self.keeping = asyncio.create_task(polling.keep())

    async def dies(self) -> None:
        """It is gone, and leaves nothing in order."""
        self.keeping.cancel()
        with suppress(asyncio.CancelledError):
            await self.keeping


@asynccontextmanager
async def asking(office: TelegramOffice, holder: str = "one") -> AsyncIterator[Asking]:
    """A process of its own: nothing of it is shared but the store and Telegram."""
    async with bot_client(office.telegram.token, office.telegram.api_url) as client:
        clock, requests = Asleep(), HTTPXRequest(httpx_kwargs={"trust_env": False})
        listening = face(office.last.desk, clock, office.store, client).listening
        polling = Polling(
            client=client,
            listening=listening,
            requests=requests,
            leases=office.store.leases,
            clock=clock,
            holder=holder,
        )
        process = Asking(office, client, polling, clock)
        yield process
        await process.dies()
        await requests.shutdown()


async def told_apart(one: Asking, other: Asking) -> tuple[Asking, Asking]:
    """Which of them asks, and which waits for its turn."""
    falls = [asyncio.create_task(process.clock.falls()) for process in (one, other)]
    await asyncio.wait(falls, return_when=asyncio.FIRST_COMPLETED)
    waits = falls[0].done()
    for fall in falls:
        fall.cancel()
    return (other, one) if waits else (one, other)


async def all_taken(office: TelegramOffice) -> None:
    """Somebody asks, and there is nothing that was not done with."""
    await office.telegram.wait_for(lambda: office.telegram.polled and not office.telegram.pending)


async def goals(office: TelegramOffice) -> list[str]:
    """Of every task, once what was stored is applied, oldest first."""
    await office.last.works()
    found = await office.store.ledger.find(ORG, Query())
    return [str(task.goal) for task in sorted(found, key=lambda task: task.number)]


def lease_is_over(office: TelegramOffice) -> None:
    """Whoever had it was not heard of for long enough."""
    assert isinstance(office.planted, MemoryPlanted)
    office.planted.clock.advance(LEASE_SECONDS + 1)


# ── the ways of telling ──────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K21", "I21")
async def test_the_webhook_is_taken_away_before_anything_is_asked_and_what_waited_is_there(
    office: TelegramOffice,
) -> None:
    office.telegram.bot_url = "http://127.0.0.1:9"
    await office.asks(office.ada, "/new look around")  # in vain, as yet
    async with asking(office):
        await all_taken(office)
    asked = [call.method for call in office.telegram.calls if call.method in ("deleteWebhook", "getUpdates")]
    assert asked[:2] == ["deleteWebhook", "getUpdates"]
    assert asked.count("deleteWebhook") == 1
    assert await goals(office) == ["look around"]
    office.telegram.refused.clear()


@pytest.mark.rule("K21", "I21")
async def test_what_waited_when_a_webhook_is_set_again_is_told_there(office: TelegramOffice) -> None:
    assert office.telegram.webhook is not None
    url = office.telegram.webhook.url
    async with asking(office):
        await all_taken(office)
    await office.asks(office.ada, "/new look around")
    await Setup(client=office.client, clock=office.clock, url=url, secret=SECRET).done()
    assert [d.status for d in await office.telegram.redelivers()] == [200]
    assert await goals(office) == ["look around"]


async def test_where_updates_are_asked_for_a_press_is_decided_and_answered(office: TelegramOffice) -> None:
    async with asking(office):
        await all_taken(office)
        await office.asks(office.ada, "refund the mug", office.ops)
        await all_taken(office)
        await office.last.works()
        pressed = await office.telegram.presses(office.ada, office.card, "Approve")
        await all_taken(office)
        assert pressed.text == "t-1.1 approved by U1. A worker runs it."
    await office.last.works()
    assert office.world.effects == [REFUNDED]


# ── past none that was not done with ─────────────────────────────────────────────────────────


@pytest.mark.rule("K21", "K22", "I21")
async def test_an_update_is_confirmed_once_it_is_stored_and_not_before(
    tmp_path: Path, postgres_server: Server, templates: Templates
) -> None:
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated("sqlite", tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        office = await closing.enter_async_context(telegram_office(planted))
        office.opens([says("Hello.")])
        one = await closing.enter_async_context(asking(office))
        await all_taken(office)
        async with without(planted, "inbox"):
            await office.asks(office.ada, "hello")
            assert await one.clock.falls() > 0
            assert [update.told["text"] for update in office.telegram.pending] == ["hello"]
        one.clock.wakes()
        await all_taken(office)
        assert await goals(office) == ["hello"]


@pytest.mark.rule("K21", "I21")
async def test_what_was_in_hand_of_a_process_that_died_the_next_one_gets(office: TelegramOffice) -> None:
    never = asyncio.Event()
    async with asking(office) as one:
        await all_taken(office)
        office.telegram.breaks("getMe", hangs(never))
        before = len(office.telegram.called("getMe"))
        await office.asks(office.ada, "/new look around")
        await office.telegram.wait_for(lambda: len(office.telegram.called("getMe")) > before)
        await one.dies()
    assert await office.planted.count("inbox") == 0
    lease_is_over(office)
    async with asking(office, "other"):
        await all_taken(office)
    assert await goals(office) == ["look around"]
    never.set()


@pytest.mark.rule("I1", "I21", "K22")
async def test_what_was_done_but_not_confirmed_changes_nothing_where_the_next_one_gets_it(
    office: TelegramOffice,
) -> None:
    async with asking(office) as one:
        await all_taken(office)
        office.telegram.breaks("getUpdates", cut(), times=None)
        await office.asks(office.ada, "/new look around")
        await one.clock.falls()
        assert len(office.told(office.ada)) == 1
        await one.dies()
    office.telegram.mends()
    assert len(office.telegram.pending) == 1
    lease_is_over(office)
    async with asking(office, "other"):
        await all_taken(office)
    assert await goals(office) == ["look around"]
    assert await office.planted.count("inbox") == 1


@pytest.mark.rule("I21")
async def test_updates_whose_answer_was_lost_on_the_way_are_told_again(office: TelegramOffice) -> None:
    await office.client.api.delete_webhook()
    await office.asks(office.ada, "/new look around")
    office.telegram.breaks("getUpdates", lost())
    async with asking(office) as one:
        await one.clock.falls()
        assert len(office.telegram.pending) == 1
        one.clock.wakes()
        await all_taken(office)
    assert await goals(office) == ["look around"]


@pytest.mark.rule("I21")
async def test_what_cant_be_read_is_kept_and_holds_nobody_up(office: TelegramOffice) -> None:
    office.telegram.held = True
    await office.telegram.tells("message", {"text": "from nobody, nowhere"})
    await office.telegram.tells("callback_query", {"id": "1"})
    await office.asks(office.ada, "/new look around")
    async with asking(office):
        await all_taken(office)
        await office.telegram.releases()
        await all_taken(office)
    rows = await office.planted.table("inbox", state="dead")
    assert [json.loads(row["body"]["raw"]).keys() - {"update_id"} for row in rows] == [
        {"message"},
        {"callback_query"},
    ]
    assert await goals(office) == ["look around"]


async def test_updates_come_in_their_order_whichever_was_told_first(office: TelegramOffice) -> None:
    office.telegram.held = True
    for words in ("/new one", "/new two", "/new three"):
        await office.asks(office.ada, words)
    async with asking(office):
        await all_taken(office)
        await office.telegram.releases([2, 0, 1])
        await all_taken(office)
    assert await goals(office) == ["one", "two", "three"]


# ── one at a time ────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K21")
async def test_of_two_processes_one_asks_and_the_other_goes_on_when_it_has_left(
    office: TelegramOffice,
) -> None:
    async with asking(office) as one, asking(office, "other") as other:
        await office.telegram.wait_for(lambda: office.telegram.polled)
        asks, waiting = await told_apart(one, other)
        await office.asks(office.ada, "/new one")
        await all_taken(office)
        await asks.dies()
        await asks.polling.leave()
        assert office.telegram.pending == []
        await office.asks(office.ada, "/new two")
        waiting.clock.wakes()
        await all_taken(office)
    assert len(office.told(office.ada)) == 2
    assert await goals(office) == ["one", "two"]
    assert {call.status for call in office.telegram.called("getUpdates")} <= {200, None}  # and never 409


@pytest.mark.rule("K21")
async def test_after_a_process_that_died_another_asks_when_its_lease_is_over(office: TelegramOffice) -> None:
    async with asking(office) as one, asking(office, "other") as other:
        await office.telegram.wait_for(lambda: office.telegram.polled)
        asks, waiting = await told_apart(one, other)
        await asks.dies()
        await office.asks(office.ada, "/new look around")
        waiting.clock.wakes()
        await waiting.clock.falls()
        assert len(office.telegram.pending) == 1  # not before
        lease_is_over(office)
        waiting.clock.wakes()
        await all_taken(office)
    assert await goals(office) == ["look around"]


@pytest.mark.rule("K21", "I21")
async def test_who_lost_the_lease_over_one_update_leaves_the_rest_to_whoever_has_it(
    office: TelegramOffice,
) -> None:
    goes_on = asyncio.Event()
    office.telegram.breaks("getMe", hangs(goes_on))
    async with asking(office) as one:
        await all_taken(office)
        office.telegram.held = True
        for words in ("/new one", "/new two"):
            await office.asks(office.ada, words)
        await office.telegram.releases()
        await office.telegram.wait_for(lambda: office.telegram.called("getMe"))
        lease_is_over(office)
        assert await office.store.leases.take(LEASE, "other", LEASE_SECONDS) is not None
        goes_on.set()
        await one.clock.falls()
        assert len(office.told(office.ada)) == 1
    lease_is_over(office)
    async with asking(office, "other"):
        await all_taken(office)
    assert await goals(office) == ["one", "two"]


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("trouble", "seconds"),
    [
        (refusal(409, CONFLICT), LEASE_SECONDS / 3),
        (refusal(401, "Unauthorized"), PAUSE_SECONDS),
        (too_many(7), 7),
        (html(502), PAUSE_SECONDS),
        (html(200), PAUSE_SECONDS),
        (cut(), PAUSE_SECONDS),
        (Trouble(body=b"[]"), PAUSE_SECONDS),
    ],
    ids=["other", "token", "busy", "page", "html", "cut", "list"],
)
async def test_what_telegram_does_not_answer_is_asked_again_in_a_moment(
    office: TelegramOffice, trouble: Trouble, seconds: float
) -> None:
    office.telegram.breaks("getUpdates", trouble)
    async with asking(office) as one:
        assert await one.clock.falls() == seconds
        one.clock.wakes()
        await all_taken(office)
        await office.asks(office.ada, "/new look around")
        await all_taken(office)
    assert await goals(office) == ["look around"]


@pytest.mark.parametrize(
    "body",
    [
        b'{"ok": true, "result": {}}',
        b'{"ok": true, "result": [5, {"message": {}}, {"update_id": "x"}]}',
    ],
)
async def test_what_is_no_update_in_an_answer_is_passed_over(office: TelegramOffice, body: bytes) -> None:
    office.telegram.breaks("getUpdates", Trouble(body=body))
    async with asking(office) as one:
        await all_taken(office)
        assert one.clock.slept == []
        await office.asks(office.ada, "/new look around")
        await all_taken(office)
    assert await goals(office) == ["look around"]


async def test_a_process_that_leaves_confirms_what_it_has_done(office: TelegramOffice) -> None:
    listening = face(office.last.desk, office.clock, office.store, office.client).listening
    never = asyncio.Event()
    async with polled(office.client, listening, office.store.leases, office.clock, "one"):
        await all_taken(office)
        office.telegram.breaks("getUpdates", hangs(never))
        asked = len(office.telegram.called("getUpdates"))
        await office.asks(office.ada, "/tasks")
        await office.telegram.wait_for(lambda: len(office.telegram.called("getUpdates")) > asked)
        assert len(office.telegram.pending) == 1
    assert office.telegram.pending == []
    never.set()


async def test_a_process_that_leaves_has_nothing_told_twice(office: TelegramOffice) -> None:
    listening = face(office.last.desk, office.clock, office.store, office.client).listening
    async with polled(office.client, listening, office.store.leases, office.clock, "one"):
        await all_taken(office)
        await office.asks(office.ada, "/tasks")
        await all_taken(office)
    await office.asks(office.ada, "/agents")
    assert [update.told["text"] for update in office.telegram.pending] == ["/agents"]
    async with polled(office.client, listening, office.store.leases, office.clock, "other"):
        await all_taken(office)
    assert len(office.told(office.ada)) == 2
