"""Slack with web and worker as processes, over both databases: what dies in between loses nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.parks import ParkState
from core.tasks import TaskState
from tests.acceptance.command_line import command_line
from tests.acceptance.processes import ASKED, PAID, Web, unanswered
from tests.acceptance.slack_office import words_of
from tests.acceptance.slack_processes import EVENTS, SlackTown, told, town_at
from tests.acceptance.test_web_process import Away
from tests.fakes.slack import Delivery, hangs
from tests.wire import refuses, request, wire


@pytest.fixture
async def town(migrated_url: str, tmp_path: Path) -> AsyncIterator[SlackTown]:
    """People in Slack over each database, no process running yet."""
    async with town_at(migrated_url, tmp_path) as made:
        yield made


# ── the whole way ────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "K17", "K20", "K26", "I1")
async def test_from_a_mention_to_the_report_and_the_card_is_edited_to_its_end(town: SlackTown) -> None:
    web, worker = await town.web(), await town.worker()
    asked = await town.asked()
    card = await town.slack.wait_for(lambda: town.cards[0])
    assert (card.thread_ts, town.refunds) == (asked.ts, [])
    await town.slack.clicks(town.ben, card, "approve")
    report = await town.shows("I refunded 24.00 EUR on A7.", after=asked)
    await town.slack.wait_for(lambda: not town.cards)
    assert "✔ Approved by U2" in words_of(card.blocks)
    assert (report.thread_ts, town.refunds) == (asked.ts, [PAID])
    for process in (web, worker):
        process.stop()
    assert [await web.ends(), await worker.ends()] == [0, 0]


@pytest.mark.rule("C8", "K20")
async def test_an_edit_through_the_form_runs_as_it_was_edited(town: SlackTown) -> None:
    await town.web()
    card = await town.parked()
    await town.slack.clicks(town.ada, card, "edit")
    wrong = await town.slack.submits(town.ada, {"amount": "240"})
    assert json.loads(wrong.body)["response_action"] == "errors"
    await town.slack.submits(town.ada, {"amount": "12.5"})
    await town.works()
    assert town.refunds == [("A7", "12.5")]
    assert "amount" in words_of(card.blocks) and town.cards == []
    assert "You changed it from 24.00." in words_of(town.slack.said(town.ops)[-1].blocks)


# ── the web process is killed ────────────────────────────────────────────────────────────────


@pytest.mark.rule("K23", "I21")
async def test_an_event_that_was_acknowledged_outlives_the_process_that_took_it(town: SlackTown) -> None:
    web = await town.web()
    asked = await town.asked()
    await web.dies()
    assert [row["kind"] for row in await town.planted.table("inbox")] == ["message"]
    await town.works()
    (card,) = town.cards
    assert card.thread_ts == asked.ts


@asynccontextmanager
async def dying(town: SlackTown, web: Web) -> AsyncIterator[None]:
    """Slack's requests reach *web*, which is killed when it has answered the first: no answer gets back."""
    async with unanswered(web) as address:
        town.slack.bot_url = address + EVENTS
        yield


@pytest.mark.rule("K22", "I21")
async def test_an_event_whose_acknowledgement_was_lost_comes_again_and_is_one_task(town: SlackTown) -> None:
    async with dying(town, await town.web()):
        said = await town.slack.says(town.ada, town.ops, ASKED, mention=True)
    assert {delivery.status for delivery in said.deliveries} == {None}
    await town.web()
    again_ = [await town.slack.redelivers(delivery) for delivery in said.deliveries]
    assert {delivery.status for delivery in again_} == {200}
    await town.works()
    assert len(await town.planted.table("inbox")) == 1
    assert [story.task.state for story in await town.stories()] == [TaskState.WAITING]
    assert len(town.cards) == 1


@pytest.mark.rule("K22", "K25", "I1", "I21")
@pytest.mark.parametrize("answer", ["came", "was lost"])
async def test_a_click_that_was_decided_is_decided_once_though_its_process_is_gone(
    town: SlackTown, answer: str
) -> None:
    web = await town.web()
    card = await town.parked()
    if answer == "came":
        click = await town.slack.clicks(town.ada, card, "approve")
        assert click.status == 200
        await web.dies()
    else:
        async with dying(town, web):
            click = await town.slack.clicks(town.ada, card, "approve")
        assert click.status is None
    assert [p.state for p in (await town.stories())[0].parks] == [ParkState.DECIDED]
    await town.web()
    assert (await town.slack.delivers(click.sent, click.headers)).status == 200  # the same once more
    await town.slack.clicks(town.ben, card, "approve")  # whoever saw nothing of it presses again
    await town.works()
    assert town.refunds == [PAID]
    assert [words.startswith("U1 approved it at ") for words in told(town.slack, town.ben)] == [True]
    assert "✔ Approved by U1" in words_of(card.blocks)


# ── the worker is killed ─────────────────────────────────────────────────────────────────────


async def orphaned(town: SlackTown) -> None:
    """A card is in Slack, and the worker that posted it was killed before it heard so."""
    worker = await town.worker()
    release = asyncio.Event()
    town.slack.breaks("chat.postMessage", hangs(release))
    await town.asked()
    await town.slack.wait_for(lambda: town.slack.called("chat.postMessage"))
    await worker.dies()
    release.set()
    await town.slack.wait_for(lambda: town.cards)
    await town.time_passes()


@pytest.mark.rule("K18", "K19", "K20")
async def test_a_card_that_nobody_knows_of_counts_when_it_is_pressed_and_is_edited_then(
    town: SlackTown,
) -> None:
    await town.web()
    await orphaned(town)
    (card,) = town.cards
    await town.slack.clicks(town.ada, card, "approve")
    await town.works()
    assert town.refunds == [PAID]
    assert "✔ Approved by U1" in words_of(card.blocks)
    assert len(town.slack.said(town.ops)) == 2  # it and the report: it was not posted again


@pytest.mark.rule("K18", "I1")
async def test_of_two_cards_of_one_call_either_works_once(town: SlackTown) -> None:
    await town.web()
    await orphaned(town)
    await town.works()
    orphan, card = town.cards
    await town.slack.clicks(town.ada, orphan, "approve")
    await town.slack.clicks(town.ben, card, "approve")
    await town.works()
    assert town.refunds == [PAID]
    assert "✔ Approved by U1" in words_of(card.blocks)
    await town.slack.clicks(town.ben, orphan, "decline")  # stale buttons still answer
    await town.slack.wait_for(lambda: len(told(town.slack, town.ben)) == 2)
    assert all(words.startswith("U1 approved it at ") for words in told(town.slack, town.ben))


# ── leaving and coming ───────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K21", "K22")
async def test_told_to_stop_it_answers_what_is_in_flight_and_what_it_owes_in_private(town: SlackTown) -> None:
    web = await town.web()
    card = await town.parked()
    town.slack.bot_url = "http://127.0.0.1:9/slack/events"  # nobody hears of this one yet
    said = await town.slack.says(town.ada, town.ops, "/new refund the poster", mention=True)
    town.slack.bot_url = web.address + EVENTS
    opens, tells = asyncio.Event(), asyncio.Event()
    town.slack.breaks("views.open", hangs(opens))
    town.slack.breaks("chat.postEphemeral", hangs(tells))
    # a private answer: Slack has its request already, and it is not done
    await town.slack.says(town.ada, town.ops, "approve", thread_ts=card.thread_ts)
    await town.slack.wait_for(lambda: town.slack.called("chat.postEphemeral"))
    # an event: the process has its head, and has asked for the rest
    body = said.answered.sent
    headers = {k.lower().replace("-", "_"): v for k, v in town.slack.signed(body).items()}
    head = request("POST", "/slack/events", content_length=str(len(body)), expect="100-continue", **headers)
    async with wire(web.port) as event:
        await event.send(head)
        assert (await event.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        # a click: its form is being opened
        click = asyncio.create_task(town.slack.clicks(town.ben, card, "edit"))
        await town.slack.wait_for(lambda: town.slack.called("views.open"))
        web.stop()
        await refuses(web.port)
        opens.set()
        await event.send(body)
        assert (await event.answer()).status == 200
    assert (await click).status == 200
    with pytest.raises(TimeoutError):  # every request is answered, and it does not leave yet
        async with asyncio.timeout(0.4):
            await web.ends()
    tells.set()
    assert await web.ends() == 0
    assert town.slack.modal(town.ben).title == "Edit refund"
    assert [w.startswith("Words decide nothing.") for w in told(town.slack, town.ada)] == [True]
    await town.works()
    assert [story.task.goal for story in await town.stories()] == [ASKED, "refund the poster"]


@pytest.mark.rule("K21", "I21", "I1")
async def test_two_web_processes_share_nothing_but_the_database(town: SlackTown) -> None:
    one, other = await town.web(), await town.web()
    town.slack.bot_url = one.address + EVENTS
    said = await town.slack.says(town.ada, town.ops, ASKED, mention=True)
    town.slack.bot_url = other.address + EVENTS
    for delivery in said.deliveries:
        assert (await town.slack.redelivers(delivery)).status == 200
    await town.works()
    (card,) = town.cards
    await town.slack.clicks(town.ada, card, "edit")
    town.slack.bot_url = one.address + EVENTS
    await town.slack.submits(town.ada, {"amount": "5"})
    form = next(d for d in reversed(town.slack.deliveries) if d.payload.get("type") == "view_submission")
    town.slack.bot_url = other.address + EVENTS
    assert (await town.slack.delivers(form.sent, form.headers)).status == 200
    await town.slack.clicks(town.ben, card, "approve")
    await town.works()
    assert town.refunds == [("A7", "5")]
    assert len(await town.stories()) == 1


@pytest.mark.rule("I1")
async def test_a_click_in_each_of_two_processes_at_once_is_one_decision(town: SlackTown) -> None:
    one, other = await town.web(), await town.web()
    card = await town.parked()

    async def presses(web: Web, by: str) -> Delivery:
        town.slack.bot_url = web.address + EVENTS
        return await town.slack.clicks(by, card, "approve")

    both = await asyncio.gather(presses(one, town.ada.id), presses(other, town.ben.id))
    assert [delivery.status for delivery in both] == [200, 200]
    await town.works()
    assert town.refunds == [PAID]
    await town.slack.wait_for(lambda: [*told(town.slack, town.ada), *told(town.slack, town.ben)])
    assert len([*told(town.slack, town.ada), *told(town.slack, town.ben)]) == 1


@pytest.fixture
async def away(migrated_url: str, tmp_path: Path) -> AsyncIterator[Away]:
    """The same database, behind an address where nothing answers yet."""
    made = Away(migrated_url, tmp_path)
    yield made
    await made.closed()


@pytest.mark.rule("K21")
async def test_an_event_that_came_while_the_database_was_away_is_taken_when_slack_sends_it_again(
    away: Away, town: SlackTown
) -> None:
    town.line = town.line.with_env(DATABASE_URL=away.url)
    web = await town.listens()
    await web.tells("web can't open yet")
    said = await town.slack.says(town.ada, town.ops, ASKED, mention=True)
    assert [(d.status, d.retry) for d in said.deliveries] == [(503, n) for n in range(4)] * 2
    await town.planted.close()  # a file's last connection brings all of it into the file
    await away.back()
    await web.tells("web is open, after")
    assert (await town.slack.redelivers(said.answered)).status == 200
    await town.works()
    (card,) = town.cards
    assert card.thread_ts == said.ts
    web.stop()
    assert await web.ends() == 0


@pytest.mark.rule("K21", "I21")
async def test_a_new_web_process_takes_over_what_was_begun_with_the_old_one(town: SlackTown) -> None:
    old = await town.web()
    card = await town.parked()
    new = await town.web()  # before the old one is gone, as a platform deploys
    town.slack.bot_url = old.address + EVENTS
    await town.slack.clicks(town.ada, card, "edit")
    old.stop()
    await refuses(old.port)
    said = await town.slack.says(town.ben, town.ops, "hello", mention=True)  # to nobody: Slack tries again
    town.slack.bot_url = new.address + EVENTS
    for delivery in said.deliveries:
        assert delivery.status is None and (await town.slack.redelivers(delivery)).status == 200
    await town.slack.submits(town.ada, {"amount": "7"})
    assert await old.ends() == 0
    await town.works()
    assert town.refunds == [("A7", "7")]
    assert sorted(row["body"]["text"] for row in await town.planted.table("inbox")) == ["hello", ASKED]


@pytest.mark.rule("K21", "I21")
@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
async def test_of_two_workers_one_sends_and_the_other_takes_over_when_it_leaves(town: SlackTown) -> None:
    await town.web()
    old, new = await town.worker(), await town.worker()
    asked = await town.asked()
    card = await town.slack.wait_for(lambda: town.cards[0])
    await town.slack.clicks(town.ada, card, "approve")
    old.stop()
    assert await old.ends() == 0
    await town.shows("I refunded 24.00 EUR on A7.", after=asked)
    await town.slack.wait_for(lambda: "✔ Approved by U1" in words_of(card.blocks))
    reports = [m for m in town.slack.thread(asked) if "I refunded" in words_of(m.blocks)]
    assert (len(reports), town.refunds) == (1, [PAID])
    new.stop()
    assert await new.ends() == 0


@pytest.mark.parametrize("command", ["web", "worker"])
@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"GATEPOST_SLACK_CLIENT_ID": "1.2"}, "GATEPOST_SLACK_CLIENT_ID and GATEPOST_SLACK_CLIENT_SECRET"),
        (
            {
                "GATEPOST_SLACK_CLIENT_ID": "1.2",
                "GATEPOST_SLACK_CLIENT_SECRET": "s",
                "SLACK_BOT_TOKEN": "xoxb",
            },
            "SLACK_BOT_TOKEN: it is of one workspace",
        ),
    ],
)
async def test_settings_that_do_not_say_whose_bot_it_is_are_refused_by_name(
    tmp_path: Path, command: str, env: dict[str, str], named: str
) -> None:
    said = (
        await command_line(f"sqlite:///{tmp_path}/a.db", tmp_path)
        .with_env(AUDIT_KEY="k" * 32, PORT="0", **env)
        .run(command)
    )
    assert said.status == 1
    assert f"error: {named}" in said.err


async def test_a_web_process_without_a_signing_secret_does_not_start(tmp_path: Path) -> None:
    env = {"AUDIT_KEY": "k" * 32, "PORT": "0", "SLACK_BOT_TOKEN": "xoxb-1"}
    said = await command_line(f"sqlite:///{tmp_path}/a.db", tmp_path).with_env(**env).run("web")
    assert (said.status, "SLACK_SIGNING_SECRET: it is not set" in said.err) == (1, True)
