"""Whole tasks over HTTP with a service that breaks in every way it may, on both databases.

Two partners: `llmock`, which others wrote to break clients and which judges ours, and our own server for what
it can't do to a reply that is not streamed.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock

from adapters.clock import SystemClock
from adapters.model_openai import OpenAIModel
from core.calls import Outcome
from core.gate import Setting
from core.plan import NudgeWhy
from core.tasks import Task, TaskState
from core.testing import ManualClock
from core.tools import tool
from core.transcript import CLEARED, NUDGES
from tests.acceptance.shop import PAST, REFUNDED, Shop, Street, agent, settings
from tests.fakes.openai_server import Answer, OpenAIServer, call, completion, error, serving

ALLOWED = agent(settings=settings(spend=Setting.ALLOW))
REFUND_ARGUMENTS = '{"order_id": "A1", "amount": 10}'


def asked(
    street: Street, base_url: str, clock: SystemClock | ManualClock, timeout: float = 5, **over: Any
) -> Shop:
    """A shop whose model is that service."""
    shop = street.open([], **{"sam": ALLOWED, **over})
    shop.host.model = OpenAIModel(
        "small-1", clock=clock, api_key="k", base_url=base_url, timeout_seconds=timeout, jitter=lambda: 0.0
    )
    return shop


async def done(shop: Shop) -> Task:
    task = await shop.ask()
    await go_on(shop)
    return await shop.task(task)


async def go_on(shop: Shop) -> None:
    """Everything runs that can; then the model's connections are closed."""
    assert isinstance(shop.host.model, OpenAIModel)
    try:
        await shop.run()
    finally:
        await shop.host.model.close()


# ── llmock ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def partner(llmock: LLMock) -> LLMock:
    """llmock, which says what it is told rather than calling what it likes."""
    return llmock.tool_mode("off")


def refunding(partner: LLMock) -> LLMock:
    return partner.call_tool("refund", {"order_id": "A1", "amount": 10}).reply("Refunded.")


async def test_a_client_of_ours_is_judged_resilient_and_an_effect_goes_out_once(
    street: Street, partner: LLMock
) -> None:
    refunding(partner.rate_limit(times=2, retry_after=0.05).fail(503))
    shop = asked(street, partner.base_url(), SystemClock())
    task = await done(shop)
    assert (task.state, task.result) == (TaskState.DONE, {"value": "Refunded."})
    assert shop.effects == [REFUNDED]
    assert [r.status for r in partner.requests] == [429, 429, 503, 200, 200]
    partner.assert_resilient(strict=True)


@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
async def test_a_broken_call_has_its_result_and_the_task_goes_on(
    street: Street, partner: LLMock, kind: str
) -> None:
    refunding(refunding(partner.break_tool_call(kind)))
    shop = asked(street, partner.base_url(), SystemClock())
    task = await done(shop)
    first = await shop.call(task)
    assert (first.outcome, task.state) == (Outcome.REFUSED, TaskState.DONE)
    assert shop.effects == []
    history = partner.requests[1].body["messages"]
    assert [m["role"] for m in history] == ["system", "user", "assistant", "tool"]


@pytest.mark.rule("T8")
async def test_an_outage_delays_the_task_until_it_is_over(street: Street, partner: LLMock) -> None:
    partner.outage()
    shop = asked(street, partner.base_url(), ManualClock())
    task = await shop.ask()
    await go_on(shop)
    assert (await shop.task(task)).state is TaskState.DELAYED
    assert [post.kind for post in await shop.send()] == ["notice"]
    assert len(partner.requests) == 4, "the retries, and no more"

    refunding(partner.reset().tool_mode("off"))
    await street.sql.change_task(task, not_before=PAST)
    healed = asked(street, partner.base_url(), SystemClock())
    await go_on(healed)
    assert ((await shop.task(task)).state, shop.effects) == (TaskState.DONE, [REFUNDED])


@tool(risk="read")
async def read_mail(id: str) -> str:
    """Read a mail."""
    return "x" * 8000


@pytest.mark.rule("I26")
async def test_a_window_that_is_too_small_for_the_results_is_kept_to_by_clearing_them(
    street: Street, partner: LLMock
) -> None:
    partner.limits(context_window=1500).call_tool("read_mail", {"id": "m1"})
    partner.reply("never said").reply("Read.")  # the first goes with the request that is refused
    reader = replace(ALLOWED, tools=("read_mail",), limits=replace(ALLOWED.limits, reply_tokens=100))
    shop = asked(street, partner.base_url(), SystemClock(), sam=reader, tools=(read_mail,))
    task = await done(shop)
    assert (task.state, task.result) == (TaskState.DONE, {"value": "Read."})
    assert [r.status for r in partner.requests] == [200, 400, 200]
    assert partner.last_request.body["messages"][-1]["content"] == CLEARED
    partner.assert_resilient(strict=True)


@pytest.mark.rule("I26", "T10")
async def test_a_window_that_is_too_small_for_anything_fails_the_task_cleanly(
    street: Street, partner: LLMock
) -> None:
    partner.limits(context_window=10)
    task = await done(asked(street, partner.base_url(), SystemClock()))
    assert (task.state, task.reason) == (TaskState.FAILED, "size")
    assert task.result == {"error": "The conversation no longer fits the model."}
    assert [r.status for r in partner.requests] == [400]


# ── our own ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with serving() as running:
        yield running


ASKS = completion(None, calls=[call("c-1", "refund", REFUND_ARGUMENTS)], finish="tool_calls")
ENDS = completion("Refunded.")
FAULTS = {
    "429": error(429, "slow down", retry_after="0"),
    "500": error(500),
    "cut": replace(ASKS, cuts=True),
    "empty": Answer(),
    "no JSON": Answer(body=b"<html>Bad gateway</html>"),
    "cut JSON": Answer(body=ASKS.body[:-20]),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
async def test_what_a_service_breaks_is_thrown_away_and_asked_again(
    street: Street, server: OpenAIServer, fault: Answer
) -> None:
    server.answers = [fault, ASKS, fault, ENDS]
    shop = asked(street, server.base_url, ManualClock())
    task = await done(shop)
    story = await shop.story(task)
    assert (task.state, task.result, shop.effects) == (TaskState.DONE, {"value": "Refunded."}, [REFUNDED])
    assert [m.kind for m in story.messages] == ["goal", "assistant", "assistant"]
    assert [c.outcome for c in story.calls] == [Outcome.SUCCEEDED]
    assert server.answers == []


async def test_a_service_that_is_too_slow_delays_the_task(street: Street, server: OpenAIServer) -> None:
    server.answers = [Answer(hangs=True)]
    shop = asked(street, server.base_url, SystemClock(), timeout=0.2)
    task = await done(shop)
    assert (task.state, shop.effects) == (TaskState.DELAYED, [])
    assert [m.kind for m in (await shop.story(task)).messages] == ["goal"]


async def test_an_answer_held_back_without_a_word_fails_with_a_reason_people_can_read(
    street: Street, server: OpenAIServer
) -> None:
    server.answers = [completion(None, finish="content_filter")]
    task = await done(asked(street, server.base_url, ManualClock()))
    assert (task.state, task.reason) == (TaskState.FAILED, "refusal")
    assert task.result == {
        "error": "The model refused to answer, or its service held the answer back, without a reason."
    }


async def test_a_refusal_in_words_is_the_answer(street: Street, server: OpenAIServer) -> None:
    server.answers = [completion(None, refusal="I won't.")]
    task = await done(asked(street, server.base_url, ManualClock()))
    assert (task.state, task.result) == (TaskState.DONE, {"value": "I won't."})


async def test_a_text_that_was_cut_is_a_strike_and_asked_for_again(
    street: Street, server: OpenAIServer
) -> None:
    server.answers = [completion("Refu", finish="length"), completion("Done.")]
    task = await done(asked(street, server.base_url, ManualClock()))
    assert (task.state, task.result, task.strikes) == (TaskState.DONE, {"value": "Done."}, 1)
    assert server.bodies[1]["messages"][-1]["content"] == f"[note] {NUDGES[NudgeWhy.CUT]}"


async def test_arguments_that_were_cut_are_refused_not_guessed(street: Street, server: OpenAIServer) -> None:
    cut = completion(None, calls=[call("c-1", "refund", REFUND_ARGUMENTS[:-5])], finish="length")
    server.answers = [cut, completion("Then not.")]
    shop = asked(street, server.base_url, ManualClock())
    task = await done(shop)
    assert ((await shop.call(task)).outcome, shop.effects) == (Outcome.REFUSED, [])
