"""Slack by a socket that we open: the same as over HTTP, one process at a time, and nothing taken twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.heard.socket import LEASE, SocketMode
from core.parks import ParkState
from core.testing import says
from tests.acceptance.processes import PAID, Running, without
from tests.acceptance.shop import PAST, REFUND_SCRIPT, REFUNDED, HandClock
from tests.acceptance.slack_office import SlackOffice, answered, slack_office
from tests.acceptance.slack_processes import SlackTown, told, town_at
from tests.conftest import Templates, migrated
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack import APP_TOKEN, Message, hangs, http_error, refusal
from tests.postgres import Server

# ── processes ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def town(migrated_url: str, tmp_path: Path) -> AsyncIterator[SlackTown]:
    """People in Slack, which reaches nobody but by a socket: no process has said where it listens."""
    async with town_at(migrated_url, tmp_path, SLACK_APP_TOKEN=APP_TOKEN) as made:
        made.slack.by_socket = True
        yield made


async def opened(town: SlackTown) -> Running:
    """A web process that has the socket."""
    before = len(town.slack.sockets.opened)
    web = await town.web()
    await town.slack.wait_for(lambda: len(town.slack.sockets.opened) > before)
    return web


async def lease(planted: Planted) -> dict[str, Any]:
    (row,) = [row for row in await planted.table("leases") if row["name"] == LEASE]
    return row


@pytest.mark.rule("C6", "C8", "K20", "I1")
async def test_from_a_mention_to_the_report_by_socket_and_on_leaving_it_is_closed_and_free(
    town: SlackTown,
) -> None:
    web = await opened(town)
    asked = await town.asked()
    await town.works()
    (card,) = town.cards
    await town.slack.clicks(town.ada, card, "edit")
    await town.slack.submits(town.ada, {"amount": "12.5"})
    await town.slack.clicks(town.ben, card, "approve", stale=True)
    await town.slack.commands(town.ben, town.ops, "/gatepost", "tasks")
    await town.works()
    assert town.refunds == [("A7", "12.5")]
    assert [m.thread_ts for m in town.slack.thread(asked)] == [asked.ts] * 2
    assert any("t-1" in words for words in told(town.slack, town.ben))
    assert {d.kind for d in town.slack.deliveries} == {"events_api", "interactive", "slash_commands"}
    web.stop()
    assert await web.ends() == 0
    assert (town.slack.sockets.open, town.slack.sockets.most) == ([], 1)
    assert (await lease(town.planted))["expires_at"] < await town.planted.now()


@pytest.mark.rule("K23", "I1")
@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_a_second_process_has_the_socket_once_the_first_was_killed_and_its_lease_is_over(
    town: SlackTown,
) -> None:
    first = await opened(town)
    await town.asked()
    await town.works()
    await town.web()
    await first.dies()
    await town.slack.wait_for(lambda: not town.slack.sockets.open)
    assert len(town.slack.sockets.opened) == 1
    await town.planted.update("leases", {"expires_at": PAST}, name=LEASE)
    await town.slack.wait_for(lambda: town.slack.sockets.open)
    (card,) = town.cards
    await town.slack.clicks(town.ada, card, "approve")
    await town.works()
    assert (town.refunds, town.slack.sockets.most) == ([PAID], 1)


# ── one process's part in it ─────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Turns(HandClock):
    """Who sleeps goes on when told to."""

    asleep: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        await self.go.wait()
        self.go.clear()

    async def next(self) -> None:
        """What is done between two sleeps has been done once more."""
        await self.asleep.wait()
        self.asleep.clear()
        self.go.set()
        await self.asleep.wait()


@pytest.fixture
async def office(tmp_path: Path, postgres_server: Server, templates: Templates) -> AsyncIterator[SlackOffice]:
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated("sqlite", tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(slack_office(planted))
        made.slack.by_socket = True
        yield made
        assert await made.is_whole()


@asynccontextmanager
async def keeping(office: SlackOffice, holder: str = "one") -> AsyncIterator[tuple[SocketMode, Turns]]:
    """A process keeps the socket, if it can have it; it was looked once."""
    clock = Turns()
    mode = SocketMode(
        app=office.route.app, app_token=APP_TOKEN, leases=office.store.leases, clock=clock, holder=holder
    )
    task = asyncio.create_task(mode.keep())
    try:
        await clock.asleep.wait()
        yield mode, clock
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await mode.leave()


async def parked(office: SlackOffice) -> Message:
    await office.slack.says(office.ada, office.ops, "refund the mug", mention=True)
    await office.last.works()
    return office.card


async def test_one_process_has_the_socket_until_it_leaves(office: SlackOffice) -> None:
    office.opens([])
    sockets = office.slack.sockets
    async with keeping(office) as (first, _), keeping(office, "other") as (_, other):
        await other.next()
        assert len(sockets.opened) == 1
        await first.leave()
        await office.slack.wait_for(lambda: not sockets.open)
        await other.next()
        assert (len(sockets.open), len(sockets.opened), sockets.most) == (1, 2, 1)
    await office.slack.wait_for(lambda: not sockets.open)


async def test_who_has_lost_the_lease_closes_its_socket(office: SlackOffice) -> None:
    """A process that was paused, say: another one has it meanwhile."""
    office.opens([])
    async with keeping(office) as (_, paused):
        await office.planted.update("leases", {"expires_at": PAST}, name=LEASE)
        async with keeping(office, "other"):
            await paused.next()
            await office.slack.wait_for(lambda: len(office.slack.sockets.open) == 1)
            assert office.slack.sockets.open == office.slack.sockets.opened[1:]


@pytest.mark.rule("K21", "K22", "I21")
async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_taken_when_it_comes_again(
    office: SlackOffice,
) -> None:
    office.opens([says("Hello.")])
    async with keeping(office):
        office.slack.patience = 0.2
        async with without(office.planted, "inbox"):
            said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
        assert {(d.status, d.why) for d in said.deliveries} == {(None, "http_timeout")}
        assert office.slack.sockets.acks == []
        office.slack.patience = 3.0
        assert (await office.slack.redelivers(said.answered)).status == 200
        await office.last.works()
    assert (await office.task()).goal == "hello"
    office.slack.late.clear()


@pytest.mark.rule("C6", "I1", "I21")
async def test_an_envelope_that_comes_twice_is_taken_once(office: SlackOffice) -> None:
    office.opens(list(REFUND_SCRIPT))
    async with keeping(office):
        card = await parked(office)
        click = await office.slack.clicks(office.ada, card, "approve")
        twice = [office.slack.delivers_interaction(click.payload) for _ in range(2)]
        assert [d.status for d in await asyncio.gather(*twice)] == [200, 200]
        await office.shown()
        assert office.told(office.ada) == []  # it is their own click: nobody else was sooner
        await office.last.works()
    assert [p.state for p in (await office.story()).parks] == [ParkState.DECIDED]
    assert office.world.effects == [REFUNDED]


@pytest.mark.rule("C8", "I1", "I21")
async def test_a_form_and_a_command_whose_envelopes_come_twice_are_taken_once(office: SlackOffice) -> None:
    office.opens([*REFUND_SCRIPT, says("Again.")])
    async with keeping(office):
        card = await parked(office)
        await office.slack.clicks(office.ada, card, "edit")
        await office.slack.submits(office.ada, {"amount": "3"})
        form = next(d for d in reversed(office.slack.deliveries) if d.payload["type"] == "view_submission")
        assert answered(await office.slack.delivers_interaction(form.payload)) == answered(form)
        command = await office.slack.commands(office.ada, office.ops, "/gatepost", "new look into A7")
        assert (await office.slack.delivers_command(command.payload)).status == 200
        await office.last.works()
    assert office.world.effects == [("refund", "A1", 3)]
    assert len(await office.planted.table("tasks")) == 2


async def closed_by_slack(office: SlackOffice, how: str) -> None:
    match how:
        case "asks for another one":
            await office.slack.sockets.disconnect()
        case "closes it":
            await office.slack.sockets.close()
        case "drops it":
            for connection in office.slack.sockets.open:
                transport = connection.socket._req.transport  # type: ignore[union-attr]
                assert transport is not None
                transport.abort()


@pytest.mark.parametrize("how", ["asks for another one", "closes it", "drops it"])
async def test_a_socket_that_slack_ends_is_opened_again(office: SlackOffice, how: str) -> None:
    office.opens([says("Hello.")])
    async with keeping(office) as (_, clock):
        await closed_by_slack(office, how)
        await clock.next()
        await office.slack.wait_for(
            lambda: len(office.slack.sockets.opened) == 2 and len(office.slack.sockets.open) == 1
        )
        said = await office.slack.says(office.ada, office.ops, "hello", mention=True)
        assert {d.status for d in said.deliveries} == {200}
        await office.last.works()
    assert (await office.task()).goal == "hello"


@pytest.mark.parametrize("how", ["refused", "broken", "hanging"])
async def test_a_socket_that_slack_does_not_give_is_asked_for_again_and_the_lease_goes_on(
    office: SlackOffice, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.heard.socket.OPENED_SECONDS", 0.2)
    office.opens([])
    trouble = {
        "refused": refusal("invalid_auth"),
        "broken": http_error(503),
        "hanging": hangs(asyncio.Event()),
    }[how]
    office.slack.breaks("apps.connections.open", trouble)
    async with keeping(office) as (_, clock):
        assert office.slack.sockets.open == []
        before = await lease(office.planted)
        await clock.next()
        after = await lease(office.planted)
        assert (len(office.slack.sockets.open), after["epoch"]) == (1, before["epoch"])
        assert after["expires_at"] > before["expires_at"]


async def test_a_store_that_is_away_ends_the_socket_until_it_is_back_and_keeps_nobody_from_leaving(
    office: SlackOffice,
) -> None:
    """Without it nothing could be taken: Slack keeps what it has, or gives it to another process."""
    office.opens([])
    async with keeping(office) as (mode, clock):
        async with without(office.planted, "leases"):
            await clock.next()
            await office.slack.wait_for(lambda: not office.slack.sockets.open)
        await clock.next()
        assert len(office.slack.sockets.open) == 1
        async with without(office.planted, "leases"):
            await mode.leave()
        await office.slack.wait_for(lambda: not office.slack.sockets.open)
