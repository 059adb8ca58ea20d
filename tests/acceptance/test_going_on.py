"""What keeps work going on: runs that break off, workers that leave, models that fail, events that break."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from adapters.clock import SystemClock
from adapters.store import tables
from core.agents import Limits
from core.calls import CallState, Outcome
from core.errors import ModelBusy, ModelRefused, ParkWithdrawn, StoreError
from core.ids import EventKey, OrgId, Run, WorkerId
from core.intake import TRIES
from core.model import ModelReply, Request
from core.parks import Choice, ParkKind, ParkState
from core.people import OrgState, Person, Role
from core.ports import Clock
from core.rendering import Place, card_of
from core.tasks import Json, Task, TaskState
from core.testing import ByHistory, Line, ManualClock, ScriptedModel, calls, says
from core.work import Event, EventKind, Received
from core.worker import Worker
from tests.acceptance.shop import (
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    ORG,
    PAST,
    REFUND,
    REFUND_SCRIPT,
    SURFACE,
    U1,
    U2,
    HandClock,
    Shop,
    Street,
    agent,
    audited,
    decisions,
    results,
    words,
)

READ = calls(("read_order", {"id": "A1"}))
TWO = calls(("send_note", NOTE), ("refund", REFUND))
PATIENCE_SECONDS = 60
"""How long a test waits for what must come; far longer than it takes."""


class HurriedClock(SystemClock):
    """This machine's time, in which everybody sleeps a tenth as long."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 10)


def worker(shop: Shop, clock: Clock, lease_seconds: float = 60.0) -> Worker:
    """Another worker in the shop's process."""
    name = WorkerId(shop.desk.ids.new())
    return Worker(desk=shop.desk, clock=clock, worker_id=name, lease_seconds=lease_seconds)


def by_hand(shop: Shop) -> ManualClock:
    """The shop's worker lives by this clock from now on."""
    clock = HandClock()
    shop.worker = worker(shop, clock)
    return clock


@asynccontextmanager
async def at_work(shop: Shop, made: Worker) -> AsyncIterator[tuple[asyncio.Task[None], asyncio.Event]]:
    """*made* works, and what stops it; nothing is sealed meanwhile, so that the trail can be looked at."""
    assert await shop.store.leases.take("seal", "nobody", 3600) is not None
    stop = asyncio.Event()
    working = asyncio.create_task(made.work(stop))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            yield working, stop
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def reserved(street: Street) -> tuple[int, int]:
    """The tokens that are reserved and that are used, in all hours."""
    held, used = await street.sql.one("SELECT sum(reserved), sum(used) FROM usage")
    return int(held or 0), int(used or 0)


async def outcomes(shop: Shop, task: Task) -> list[Outcome | None]:
    """What came of each call of the task, in their order; None while it is open."""
    return [c.outcome for c in (await shop.story(task)).calls]


# ── a run that breaks off (T3, I20) ──────────────────────────────────────────────────────────


class Torn(ByHistory):
    """Breaks the first time it is asked about the goal ``break``; *again*: it was asked once more."""

    def __init__(self, script: Sequence[Line]) -> None:
        super().__init__(script)
        self.again = asyncio.Event()
        self.asked = 0

    async def reply(self, request: Request) -> ModelReply:
        if request.turns[-1].text == "break":
            self.asked += 1
            if self.asked == 1:
                raise RuntimeError("torn")
            self.again.set()
        return await super().reply(request)


def _of_goal(request: Request) -> ModelReply:
    return says("Done.") if request.turns[-1].text == "break" else READ


@pytest.mark.rule("T3", "I20")
async def test_a_run_that_broke_off_is_taken_up_again_by_the_same_worker_once_its_lease_ran_out(
    street: Street, caplog: pytest.LogCaptureFixture
) -> None:
    model = Torn([_of_goal, says("Read.")])
    shop = street.open(model)
    reading = street.world.hold("before read_order")
    torn, other = await shop.ask("break"), await shop.ask("read")
    living = worker(shop, HurriedClock(), lease_seconds=2)
    async with at_work(shop, living) as (working, stop):
        await model.again.wait()
        await reading.reached.wait()
        reading.go.set()
        stop.set()
        await working
    said = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert said == [f"a run of {torn.id} broke off"]
    caplog.clear()  # the one error that this test is about

    story = await shop.story(torn)
    assert model.asked == 2
    assert [actor for actor, _ in audited(story, "record_reply")] == [f"worker:{living.worker_id}"]
    assert story.task.epoch >= 2
    await shop.run()
    assert [(await shop.task(t)).state for t in (torn, other)] == [TaskState.DONE, TaskState.DONE]
    assert shop.effects == [("read_order", "A1")]


@pytest.mark.rule("T10", "T3")
async def test_a_task_whose_process_died_five_times_ends_failed_and_its_calls_have_results(
    street: Street,
) -> None:
    shop = street.open([TWO])
    task = await shop.parked()
    await shop.approve(await shop.view(task, 1))
    await shop.approve(await shop.view(task, 2))
    await street.sql.change_task(task, attempts=5)
    await shop.run()

    ended = await shop.task(task)
    assert (ended.state, ended.reason) == (TaskState.FAILED, "crashes")
    told = {"error": "Not run: the process died again and again at this step."}
    found = (await shop.story(task)).calls
    assert [(c.state, c.outcome, c.result) for c in found] == [(CallState.SETTLED, Outcome.FAILED, told)] * 2
    assert (await shop.report(task)).words == "It gave up: its process died again and again on the same step."
    assert (shop.effects, len(shop.model.requests)) == ([], 1)
    assert await reserved(street) == (0, 120)


# ── what came in and breaks (K40, I21) ───────────────────────────────────────────────────────


async def received(shop: Shop, org: OrgId = ORG, **body: Json) -> EventKey:
    """A message is in the inbox, and nobody has looked at it."""
    key = EventKey(source=SURFACE, event_id=shop.desk.ids.new())
    event = Event(key=key, org=org, kind=EventKind.MESSAGE, body=body)
    assert await shop.store.inbox.receive(event) == Received(key=key)
    return key


async def row_of(street: Street, key: EventKey) -> tuple[str, str | None]:
    """The state of an inbox row, and the task it belongs to."""
    state, task = await street.sql.one(
        "SELECT state, task_id FROM inbox WHERE event_id = :id", id=key.event_id
    )
    return str(state), task


@pytest.mark.rule("I21")
@pytest.mark.parametrize("body", [{}, {"text": None}, {"text": 7, "task": 1}], ids=str)
async def test_a_message_without_words_is_dead_at_once_and_holds_up_none_behind_it(
    street: Street, body: Json
) -> None:
    shop = street.open([says("Done.")])
    bad = await received(shop, person=U1.id, **body)
    good = await received(shop, person=U1.id, text="See to it.", surface=SURFACE, thread="C1")
    assert await shop.intake.sweep() == 2
    assert await row_of(street, bad) == ("dead", None)
    state, task = await row_of(street, good)
    assert (state, task is None) == ("applied", False)


@pytest.mark.rule("I21")
async def test_an_event_that_always_breaks_holds_up_none_behind_it_and_is_dead_after_its_tries(
    street: Street,
) -> None:
    shop = street.open([says("Done.")])
    bad = await received(shop, org=OrgId("nowhere"), person=U1.id, text="See to it.")
    good = await received(shop, person=U1.id, text="See to it.", surface=SURFACE, thread="C1")
    for _ in range(TRIES):
        with pytest.raises(StoreError, match="there is no organization nowhere"):
            await shop.intake.sweep()
        await shop.intake.sweep()
        assert (await row_of(street, bad))[0] == "new"
        assert (await row_of(street, good))[0] == "applied"
        this = tables.inbox.c.event_id == bad.event_id
        await street.sql.run(update(tables.inbox).where(this).values(due_at=PAST))
    await shop.intake.sweep()
    assert await row_of(street, bad) == ("dead", None)
    assert await shop.intake.sweep() == 0


@pytest.mark.rule("I21", "T1")
async def test_two_who_apply_one_message_at_once_open_one_task(street: Street) -> None:
    one, other = street.open([says("Done.")]), street.open([says("Done.")])
    await received(one, person=U1.id, text="See to it.", surface=SURFACE, thread="C1")
    (event,) = await one.store.inbox.take(1)
    opened = await asyncio.gather(one.intake.apply(event), other.intake.apply(event))
    again = await one.intake.apply(event)
    assert {t.id for t in (*opened, again) if t is not None} == {t.id for t in opened if t is not None}
    assert await street.sql.one("SELECT count(*) FROM tasks") == (1,)


@pytest.mark.rule("I21", "T7", "K36")
async def test_two_who_apply_one_message_to_a_task_at_once_have_it_read_once(street: Street) -> None:
    one, other = street.open(REFUND_SCRIPT), street.open([])
    task = await one.parked()
    await received(one, person=U1.id, text="also check A7", task=task.number)
    (event,) = await one.store.inbox.take(1)
    await asyncio.gather(one.intake.apply(event), other.intake.apply(event))
    await one.intake.apply(event)
    assert (await one.task(task)).unread == 1

    await one.approve(await one.view(task))
    await one.run()
    assert words(one.model.requests[1]) == ["also check A7"]
    done = await one.intake.apply(event)
    assert done is not None
    assert (done.state, done.episode, done.unread) == (TaskState.DONE, 1, 0)
    assert len(audited(await one.story(task), "incoming")) == 1


# ── between the click and the run (C14, I30) ─────────────────────────────────────────────────


@pytest.mark.rule("C14", "I14", "I30")
@pytest.mark.parametrize("change", [{"left_at": PAST}, {"roles": [Role.MEMBER.value]}], ids=["left", "role"])
@pytest.mark.parametrize("who", [U1, U2], ids=["owner", "approver"])
async def test_what_somebody_approved_who_may_no_longer_decide_is_void(
    street: Street, who: Person, change: dict[str, Any]
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await shop.approve(await shop.view(task), who=who)
    this = (tables.people.c.org == ORG, tables.people.c.id == who.id)
    await street.sql.run(update(tables.people).where(*this).values(change))
    await shop.run()

    call = await shop.call(task)
    why = "Void, not run: who approved it may no longer approve it."
    assert (call.outcome, call.result) == (Outcome.VOID, {"error": why})
    assert shop.effects == []
    assert [told for _, told in results(shop.model.requests[1])] == [f"Error: {why}"]


@pytest.mark.rule("C23", "C14")
async def test_what_somebody_had_sent_again_who_then_left_is_void(street: Street) -> None:
    shop = street.open([*NOTE_SCRIPT, says("It was not sent.")])
    task = await shop.parked()
    street.world.raises["send_note"] = ConnectionResetError("reset")
    await shop.approve(await shop.view(task))
    await shop.run()
    del street.world.raises["send_note"]
    unknown = await shop.view(task, kind=ParkKind.UNKNOWN)
    await shop.choose(unknown, Choice.SEND_AGAIN, who=U2)
    await street.sql.run(update(tables.people).where(tables.people.c.id == U2.id).values(left_at=PAST))
    await shop.run()
    assert await outcomes(shop, task) == [Outcome.UNKNOWN, Outcome.VOID]
    assert shop.effects == []


@pytest.mark.rule("I29", "T11")
async def test_a_click_after_the_stop_of_a_running_task_is_refused(street: Street) -> None:
    shop = street.open([TWO])
    by_hand(shop)
    task = await shop.parked()
    sending = street.world.hold("before send_note")
    await shop.approve(await shop.view(task, 1))
    refund = await shop.view(task, 2)
    run = asyncio.create_task(shop.run())
    await sending.reached.wait()

    assert await shop.stop(task) is TaskState.RUNNING
    with pytest.raises(ParkWithdrawn, match="is being stopped"):
        await shop.approve(refund, who=U2)
    assert (await shop.find(refund.park.token)).park.open
    sending.go.set()
    await run

    assert await outcomes(shop, task) == [Outcome.SUCCEEDED, Outcome.WITHDRAWN]
    assert (await shop.find(refund.park.token)).park.state is ParkState.WITHDRAWN
    assert shop.effects == [NOTED]
    assert len(decisions(await shop.story(task))) == 1


@pytest.mark.rule("C9", "T11", "I34")
@pytest.mark.parametrize("and_stop", [True, False], ids=["and stop", "alone"])
async def test_the_audit_of_a_decline_says_whether_it_was_a_stop_too(street: Street, and_stop: bool) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await shop.decline(await shop.view(task), "no", and_stop=and_stop)
    ((by, facts),) = decisions(await shop.story(task))
    assert (by, facts["decision"], facts.get("stop", False)) == (U1.id, "decline", and_stop)


@pytest.mark.rule("I17", "C17", "K13")
async def test_what_a_lost_run_reports_late_stands_on_the_unknowns_card(street: Street) -> None:
    slow, shop = street.open(NOTE_SCRIPT), street.open(NOTE_SCRIPT)
    by_hand(slow)
    task = await slow.parked()
    sending = street.world.hold("before send_note")
    await slow.approve(await slow.view(task))
    run = asyncio.create_task(slow.run())
    await sending.reached.wait()
    await street.sql.change_task(task, lease_until=PAST)
    await shop.run()

    async def why() -> tuple[str, int]:
        """What the unknown's row says, and the revision of the card it is on."""
        story = await shop.story(task)
        card = card_of(shop.desk, story, await shop.store.people.of(ORG), Place(1, 1))
        assert card is not None
        (said,) = [row.why for row in card.rows if row.kind is ParkKind.UNKNOWN]
        (rev,) = await street.sql.one(
            "SELECT rev FROM posts WHERE task_id = :task AND kind = 'card'", task=task.id
        )
        return said, int(rev)

    before, rev = await why()
    assert "afterwards" not in before
    sending.go.set()
    await run

    said = "Its worker said afterwards: succeeded: reported after its run had lost the task."
    assert await why() == (f"{before} {said}", rev + 1)
    assert await outcomes(shop, task) == [Outcome.UNKNOWN]


# ── a model that fails (T8, T10, I24) ────────────────────────────────────────────────────────


class Slow(ScriptedModel):
    """The first reply takes until *answer* is set; *asked*: it has been asked for."""

    def __init__(self, script: Sequence[Line]) -> None:
        super().__init__(script)
        self.asked, self.answer = asyncio.Event(), asyncio.Event()

    async def reply(self, request: Request) -> ModelReply:
        if not self.requests:
            self.asked.set()
            await self.answer.wait()
        return await super().reply(request)


@pytest.mark.rule("T10", "I21", "I24")
@pytest.mark.parametrize("paused", [False, True], ids=["", "and a pause"])
async def test_words_that_come_while_the_model_refuses_are_read_before_the_task_fails(
    street: Street, paused: bool
) -> None:
    model = Slow([ModelRefused("too rude"), says("Checked.")])
    shop = street.open(model)
    task = await shop.ask()
    run = asyncio.create_task(shop.run())
    await model.asked.wait()
    await shop.say(task, "also check A7")
    if paused:
        await street.sql.change_organization(state=OrgState.PAUSED.value)
    model.answer.set()
    await run
    if paused:
        assert (await shop.task(task)).state is TaskState.HELD
        assert await reserved(street) == (0, 0)
        await street.sql.change_organization(state=OrgState.ACTIVE.value)
        await shop.run()

    assert [r.turns[-1].text for r in shop.model.requests] == ["See to it.", "also check A7"]
    done = await shop.task(task)
    assert (done.state, done.result) == (TaskState.DONE, {"value": "Checked."})
    assert (done.episode, done.unread) == (1, 0)
    assert await reserved(street) == (0, 120)


@pytest.mark.rule("T8", "T10", "I23", "I24")
@pytest.mark.parametrize(
    ("error", "state"),
    [(ModelRefused("no"), TaskState.FAILED), (ModelBusy(), TaskState.DELAYED)],
    ids=["refused", "busy"],
)
@pytest.mark.parametrize("before", [(), (READ,)], ids=["at first", "after a read"])
async def test_what_was_reserved_for_a_request_that_failed_is_given_back(
    street: Street, before: tuple[Line, ...], error: Exception, state: TaskState
) -> None:
    shop = street.open(ScriptedModel([*before, error]))
    task = await shop.ask()
    await shop.run()
    assert (await shop.task(task)).state is state
    assert await reserved(street) == (0, 120 * len(before))


async def loosen_messages(street: Street) -> None:
    """The database lets the transcript be rewritten, so that a test may move its times."""
    if street.sql.db.is_postgres:
        await street.sql.run("ALTER TABLE messages DISABLE TRIGGER USER")
        return
    kept = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'messages'"
    for (name,) in await street.sql.all(kept):
        await street.sql.run(f"DROP TRIGGER {name}")


MINUTE = timedelta(minutes=1)


@pytest.mark.rule("T8")
@pytest.mark.parametrize(
    ("stuck_for", "least", "most"),
    [
        (timedelta(0), MINUTE / 2, MINUTE / 2),
        (MINUTE, MINUTE, 1.5 * MINUTE),
        (7 * MINUTE, 7 * MINUTE, 7.5 * MINUTE),
        (timedelta(hours=10), 15 * MINUTE, 15 * MINUTE),
    ],
    ids=["fresh", "a minute", "seven minutes", "ten hours"],
)
async def test_a_model_that_stays_away_is_waited_for_about_as_long_again_as_it_was_away(
    street: Street, stuck_for: timedelta, least: timedelta, most: timedelta
) -> None:
    shop = street.open(ScriptedModel([ModelBusy()] * 9))
    task = await shop.ask()
    await loosen_messages(street)
    before = await street.sql.now()
    this = tables.messages.c.task_id == task.id
    await street.sql.run(update(tables.messages).where(this).values(at=before - stuck_for))
    await shop.run()

    after = await street.sql.now()
    delayed = await shop.task(task)
    assert delayed.state is TaskState.DELAYED
    assert delayed.not_before is not None
    assert before + least <= delayed.not_before <= after + most


# ── limits ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T6", "T7")
async def test_two_days_on_a_card_use_up_none_of_a_tasks_time(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT, sam=agent(limits=Limits(seconds=60)))
    clock = by_hand(shop)
    clock.set(await street.sql.now())
    task = await shop.parked()
    waited = timedelta(days=2)
    clock.advance(waited.total_seconds())
    await street.sql.change_task(task, started_at=await street.sql.now() - waited)
    await shop.approve(await shop.view(task))
    await shop.run()
    done = await shop.task(task)
    assert (done.state, done.result) == (TaskState.DONE, {"value": "Refunded."})


@pytest.mark.rule("T6", "T7", "I24")
async def test_a_run_over_its_time_asks_how_far_and_goes_on_with_more_rounds(street: Street) -> None:
    def slowly(request: Request) -> ModelReply:
        clock.advance(61)
        return READ

    shop = street.open([slowly, says("All read.")], sam=agent(limits=Limits(seconds=60)))
    clock = by_hand(shop)
    async with asyncio.timeout(PATIENCE_SECONDS):
        task = await shop.parked()
    view = await shop.view(task, kind=ParkKind.LIMIT)
    assert view.park.choices == (Choice.MORE_ROUNDS, Choice.STOP)
    assert view.park.shown["limit"] == "time"
    assert len(shop.model.requests) == 1
    assert await reserved(street) == (0, 120)

    await shop.choose(view, Choice.MORE_ROUNDS)
    await shop.run()
    done = await shop.task(task)
    assert (done.state, done.result) == (TaskState.DONE, {"value": "All read."})
    assert await reserved(street) == (0, 240)


@pytest.mark.rule("T6", "T7")
@pytest.mark.parametrize(
    ("limits", "lifts"),
    [
        (Limits(rounds=1), Choice.MORE_ROUNDS),
        (Limits(tokens=100), Choice.MORE_TOKENS),
        (Limits(daily_tokens=100), Choice.MORE_TOKENS),
    ],
    ids=["rounds", "tokens", "daily tokens"],
)
async def test_a_limit_offers_what_lifts_it_and_the_stop(
    street: Street, limits: Limits, lifts: Choice
) -> None:
    hard = limits.daily_tokens is not None
    script = [READ, *([] if hard else [says("So far.")]), says("All read.")]
    shop = street.open(ScriptedModel(script), sam=agent(limits=limits))
    by_hand(shop).set(await street.sql.now())  # tokens are counted by the hours of the worker's clock
    task = await shop.parked()
    view = await shop.view(task, kind=ParkKind.LIMIT)
    assert view.park.choices == (lifts, Choice.STOP)
    await shop.choose(view, lifts)
    await shop.run()
    done = await shop.task(task)
    assert (done.state, done.result) == (TaskState.DONE, {"value": "All read."})
    assert await reserved(street) == (0, 120 * len(shop.model.requests))


@pytest.mark.rule("I23", "T7")
async def test_more_tokens_of_a_budget_that_is_far_overdrawn_let_the_task_go_on(street: Street) -> None:
    shop = street.open([READ, says("All read.")], sam=agent(limits=Limits(daily_tokens=100)))
    at = await street.sql.now()
    by_hand(shop).set(at)
    hour = at.replace(minute=0, second=0, microsecond=0)
    await street.sql.insert("usage", org=ORG, agent="sam", hour=hour, reserved=0, used=200_000)
    task = await shop.parked()
    await shop.choose(await shop.view(task, kind=ParkKind.LIMIT), Choice.MORE_TOKENS)
    await shop.run()
    done = await shop.task(task)
    assert (done.state, done.extra_tokens) == (TaskState.DONE, 249_900)


# ── a worker that leaves (T8) ────────────────────────────────────────────────────────────────


@pytest.fixture
def patched() -> Iterator[pytest.MonkeyPatch]:
    """What is undone before the street is closed."""
    with pytest.MonkeyPatch.context() as patching:
        yield patching


@pytest.mark.rule("T2", "T8", "I20")
async def test_what_a_stopping_worker_was_just_claiming_is_not_lost(
    street: Street, patched: pytest.MonkeyPatch
) -> None:
    shop = street.open([says("Done.")])
    tasks = [await shop.ask() for _ in range(3)]
    claimed, go = asyncio.Event(), asyncio.Event()
    claim = shop.store.queue.claim

    async def held_up(worker_id: WorkerId, n: int, lease_seconds: float) -> list[Run]:
        """The claim is committed, and its answer on its way."""
        runs = await claim(worker_id, n, lease_seconds)
        claimed.set()
        await go.wait()
        return runs

    patched.setattr(shop.store.queue, "claim", held_up)
    async with at_work(shop, worker(shop, HurriedClock())) as (working, stop):
        await claimed.wait()
        stop.set()
        go.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await working

    assert {(await shop.task(t)).state for t in tasks} == {TaskState.QUEUED}
    assert shop.model.requests == []
    patched.undo()
    await shop.run()
    assert {(await shop.task(t)).state for t in tasks} == {TaskState.DONE}
    assert len(shop.model.requests) == 3


@pytest.mark.rule("T8", "C17")
async def test_a_stopping_worker_keeps_its_leases_and_waits_for_the_effect_under_way(
    street: Street, patched: pytest.MonkeyPatch
) -> None:
    shop = street.open(NOTE_SCRIPT)
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    sending = street.world.hold("before send_note")
    beats: asyncio.Queue[int] = asyncio.Queue()
    heartbeat = shop.store.queue.heartbeat

    async def heard(worker_id: WorkerId, runs: Sequence[Run], lease_seconds: float) -> list[Any]:
        held = await heartbeat(worker_id, runs, lease_seconds)
        beats.put_nowait(len(held))
        return held

    patched.setattr(shop.store.queue, "heartbeat", heard)
    async with at_work(shop, worker(shop, HurriedClock(), lease_seconds=6)) as (working, stop):
        await sending.reached.wait()
        stop.set()
        while not beats.empty():
            beats.get_nowait()
        assert [await beats.get() for _ in range(3)] == [1, 1, 1]
        assert not working.done()
        sending.go.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await working

    assert await outcomes(shop, task) == [Outcome.SUCCEEDED]
    assert (await shop.task(task)).state is TaskState.QUEUED
    assert len(shop.model.requests) == 1
    await shop.run()
    assert (await shop.task(task)).state is TaskState.DONE
    assert shop.effects == [NOTED]
