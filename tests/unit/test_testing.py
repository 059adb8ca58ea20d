"""What core/testing ships: the scripted model, the manual clock, the counting ids."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from adapters.clock import SystemClock
from core.errors import ModelBusy
from core.model import Finish, ModelReply, Request, Turn, WireCall
from core.ports import Clock, Ids, Model
from core.testing import (
    MORNING,
    USAGE,
    CountingIds,
    InvalidHistory,
    ManualClock,
    ScriptedModel,
    ScriptOver,
    calls,
    says,
    script_from,
)

SYSTEM = Turn(role="system", text="You are Sam.")
GOAL = Turn(role="user", text="Refund A7.")


def asking(*ids: str) -> Turn:
    """An assistant turn that calls once for each of *ids*."""
    return Turn(role="assistant", calls=tuple(WireCall(id=i, name="refund", arguments="{}") for i in ids))


def result(call_id: str) -> Turn:
    return Turn(role="tool", call_id=call_id, text="done")


def request(*turns: Turn) -> Request:
    return Request(turns=(SYSTEM, GOAL, *turns), tools=(), max_tokens=100)


def turn_of(reply: ModelReply) -> Turn:
    """The reply as it stands in the next request."""
    return Turn(role="assistant", text=reply.text, calls=reply.calls)


def test_the_parts_are_what_the_ports_ask_for() -> None:
    parts: tuple[Model, Model, Clock, Clock, Ids] = (
        ScriptedModel([]),
        script_from([]),
        ManualClock(),
        SystemClock(),
        CountingIds(),
    )
    assert len(parts) == 5


# ── the script ───────────────────────────────────────────────────────────────────────────────


async def test_a_script_is_answered_line_by_line_and_requests_are_kept() -> None:
    model = ScriptedModel([says("Hello."), ModelBusy(), lambda asked: says(asked.turns[-1].text)])
    assert await model.reply(request()) == says("Hello.")
    with pytest.raises(ModelBusy):
        await model.reply(request())
    assert await model.reply(request()) == says("Refund A7.")
    assert model.requests == [request()] * 3


async def test_a_script_that_is_over_says_so() -> None:
    model = ScriptedModel([says("Hello.")])
    await model.reply(request())
    with pytest.raises(ScriptOver, match="asked for reply 2 of a script of 1") as caught:
        await model.reply(request())
    assert model.broken == [caught.value]


def test_words_and_silence_are_replies() -> None:
    assert says("Hi.", finish=Finish.LENGTH) == ModelReply(
        text="Hi.", finish=Finish.LENGTH, usage=USAGE, model="script"
    )
    assert says(None).text is None


def test_calls_are_written_as_json_and_raw_text_stays_raw() -> None:
    reply = calls(("refund", {"order_id": "A7"}), ("refund", '{"order_id": '), text="One moment.")
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("refund", '{"order_id":"A7"}'),
        ("refund", '{"order_id": '),
    ]
    assert len({call.id for call in reply.calls}) == 2
    assert (reply.text, reply.finish) == ("One moment.", Finish.TOOL_CALLS)


async def test_made_ids_are_unique_over_a_whole_task_and_the_same_in_every_run() -> None:
    async def ids() -> list[str]:
        model = ScriptedModel([calls(("refund", {}), ("refund", {})), calls(("refund", {}))])
        first = await model.reply(request())
        results = [result(call.id) for call in first.calls]
        second = await model.reply(request(turn_of(first), *results))
        return [call.id for call in (*first.calls, *second.calls)]

    made = await ids()
    assert len(set(made)) == 3
    assert await ids() == made


async def test_made_ids_stay_unique_where_earlier_turns_were_compacted_away() -> None:
    kept = asking("call-1-1", "call-2-1")
    reply = await ScriptedModel([calls(("refund", {}))]).reply(
        request(kept, result("call-1-1"), result("call-2-1"))
    )
    assert [call.id for call in reply.calls] == ["call-3-1"]


async def test_ids_somebody_chose_are_left_alone() -> None:
    reply = ModelReply(text=None, calls=asking("x", "x").calls, finish=Finish.TOOL_CALLS)
    assert await ScriptedModel([reply]).reply(request(asking("x"), result("x"))) == reply


async def test_a_script_by_history_goes_on_in_a_new_process() -> None:
    script = [calls(("refund", {"order_id": "A7"})), says("Done.")]
    first = await script_from(script).reply(request())
    again = await script_from(script).reply(request())
    assert again == first
    done = await script_from(script).reply(request(turn_of(first), result(first.calls[0].id)))
    assert done == says("Done.")


# ── I3 ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I3")
async def test_a_history_with_each_result_in_its_place_is_taken() -> None:
    history = request(asking("a", "b"), result("a"), result("b"), GOAL, asking("c"), result("c"))
    assert await ScriptedModel([says("Done.")]).reply(history) == says("Done.")


@pytest.mark.rule("I3")
@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([asking("a")], "ends before the results of a"),
        ([asking("a", "b"), result("a")], "ends before the results of b"),
        ([asking("a"), GOAL, result("a")], r"turn 3 \(user\) comes before the results of a"),
        ([asking("a"), asking("b")], r"turn 3 \(assistant\) comes before the results of a"),
        (
            [asking("a", "b"), result("b"), result("a")],
            "turn 3 is a result of b, where the result of a is due",
        ),
        ([asking("a"), result("a"), result("a")], "turn 4 is a result of a, where no call is open"),
        ([result("a")], "turn 2 is a result of a, where no call is open"),
        ([asking("a"), result("b")], "turn 3 is a result of b, where the result of a is due"),
        ([asking("a", "a"), result("a"), result("a")], "turn 2 has a call whose id is used before"),
        ([asking("a"), result("a"), asking("a"), result("a")], "turn 4 has a call whose id is used before"),
        ([asking("")], "turn 2 has a call whose id is empty"),
        ([SYSTEM], "turn 2 is a system text"),
        ([Turn(role="user", calls=asking("a").calls)], r"turn 2 \(user\) has calls"),
        ([Turn(role="owner", text="Hi.")], "turn 2 has no known role: owner"),
    ],
)
async def test_a_history_no_service_would_take_is_refused(turns: list[Turn], words: str) -> None:
    model = ScriptedModel([says("Done.")])
    with pytest.raises(InvalidHistory, match=words) as caught:
        await model.reply(request(*turns))
    assert model.broken == [caught.value]


# ── time ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_sleep_moves_a_manual_clock_and_lets_others_run() -> None:
    clock = ManualClock()
    seen: list[datetime] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(clock.sleep(3600))
        group.create_task(_note(clock, seen))
    assert clock.now() == MORNING + timedelta(hours=1)
    assert clock.slept == [3600]
    assert seen == [MORNING]


async def _note(clock: Clock, seen: list[datetime]) -> None:
    seen.append(clock.now())


def test_a_manual_clock_is_set_and_advanced_by_hand_in_utc() -> None:
    clock = ManualClock()
    clock.advance(90)
    assert clock.now() == MORNING + timedelta(seconds=90)
    clock.set(datetime.fromisoformat("2025-12-31T23:00:00-02:00"))
    assert clock.now().isoformat() == "2026-01-01T01:00:00+00:00"
    with pytest.raises(ValueError, match="aware"):
        clock.set(datetime(2026, 1, 1))  # noqa: DTZ001  the naive time is the case


async def test_a_timeout_ends_a_longer_sleep_at_its_own_moment() -> None:
    clock = ManualClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(10):
            await clock.sleep(100)
    assert clock.now() == MORNING + timedelta(seconds=10)
    await clock.sleep(1)  # nothing is left of it
    assert clock.now() == MORNING + timedelta(seconds=11)


async def test_a_timeout_ends_a_wait_once_somebody_moves_the_clock() -> None:
    clock = ManualClock()
    waits = asyncio.Event()

    async def wait() -> None:
        async with clock.timeout(10):
            waits.set()
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await waits.wait()
    clock.advance(10)
    with pytest.raises(TimeoutError):
        await waiting


@pytest.mark.parametrize("seconds", [None, 100])
async def test_a_timeout_that_is_not_reached_does_nothing(seconds: float | None) -> None:
    clock = ManualClock()
    async with clock.timeout(seconds):
        await clock.sleep(99)
    assert clock.now() == MORNING + timedelta(seconds=99)


async def test_the_inner_of_two_timeouts_ends_first() -> None:
    clock = ManualClock()
    async with clock.timeout(100):
        with pytest.raises(TimeoutError):
            async with clock.timeout(10):
                await clock.sleep(50)
        await clock.sleep(50)
    assert clock.now() == MORNING + timedelta(seconds=60)


async def test_no_time_at_all_is_already_over() -> None:
    clock = ManualClock()
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await clock.sleep(1)
    assert clock.now() == MORNING


async def test_the_system_clock_is_aware_and_its_timeouts_end() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    await clock.sleep(0)
    with pytest.raises(TimeoutError):
        async with clock.timeout(0):
            await asyncio.Event().wait()
    async with clock.timeout(None):
        pass


# ── ids ──────────────────────────────────────────────────────────────────────────────────────


def test_counted_ids_are_uuids_of_version_7_in_order_and_repeatable() -> None:
    ids = CountingIds()
    made = [ids.new() for _ in range(3)]
    assert made == sorted(set(made))
    assert {UUID(one).version for one in made} == {7}
    again = CountingIds()
    assert [again.new() for _ in range(3)] == made
    assert CountingIds(first=100).new() not in made


def test_counted_nonces_have_the_form_of_real_ones() -> None:
    ids = CountingIds()
    assert [ids.nonce(), ids.nonce()] == ["nonce00000000000000001", "nonce00000000000000002"]
    assert len(ids.nonce()) == 22
