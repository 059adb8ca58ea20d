"""A host's methods have their time, and being cancelled is no fault of theirs."""

import asyncio
import threading
from collections.abc import Mapping

import pytest

from core.agents import Agent
from core.hooks import HOOK_SECONDS, Hooks, HostFailed
from core.host import BaseHost
from core.tasks import Task
from core.testing import ManualClock
from tests.contract import factories as make

AGENT = Agent(key="sam", name="Sam")


class Hanging(BaseHost):
    agents: Mapping[str, Agent] = {"sam": AGENT}

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def refuse_run(self, task: Task, agent: Agent) -> str | None:
        self.asked.set()
        await asyncio.Event().wait()
        return None

    async def mark(self, task: Task, doing: str) -> None:
        await self.refuse_run(task, AGENT)


async def asked() -> tuple[ManualClock, "asyncio.Task[str | None]"]:
    host, clock = Hanging(), ManualClock()
    asking = asyncio.create_task(Hooks(host=host, clock=clock).refusal(make.task(), AGENT))
    await host.asked.wait()
    return clock, asking


@pytest.mark.rule("I38")
async def test_a_method_that_hangs_has_failed_when_its_time_is_over() -> None:
    clock, asking = await asked()
    clock.advance(HOOK_SECONDS)
    with pytest.raises(HostFailed, match=r"^the app did not answer \(refuse_run\)$"):
        await asking


async def test_news_that_hang_are_given_up_too() -> None:
    host, clock = Hanging(), ManualClock()
    telling = asyncio.create_task(Hooks(host=host, clock=clock).does(make.task(), "Sam thinks…"))
    await host.asked.wait()
    clock.advance(HOOK_SECONDS)
    await telling


async def test_a_run_that_is_cancelled_in_a_method_is_cancelled() -> None:
    _, asking = await asked()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


@pytest.mark.rule("I38")
async def test_a_method_that_is_cancelled_by_itself_has_failed() -> None:
    class Cancels(Hanging):
        async def refuse_run(self, task: Task, agent: Agent) -> str | None:
            raise asyncio.CancelledError

    with pytest.raises(HostFailed):
        await Hooks(host=Cancels(), clock=ManualClock()).refusal(make.task(), AGENT)


@pytest.mark.rule("I38")
async def test_a_plain_method_that_waits_stops_nobody_else_and_has_its_time() -> None:
    go, asked = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    class Plain(BaseHost):
        agents: Mapping[str, Agent] = {"sam": AGENT}

        def refuse_run(self, task: Task, agent: Agent) -> str | None:  # type: ignore[override]
            loop.call_soon_threadsafe(asked.set)
            go.wait(3)
            return None

    clock = ManualClock()
    asking = asyncio.create_task(Hooks(host=Plain(), clock=clock).refusal(make.task(), AGENT))
    try:
        await asked.wait()
        assert not go.is_set()
        clock.advance(HOOK_SECONDS)
        with pytest.raises(HostFailed):
            await asking
    finally:
        go.set()


@pytest.mark.rule("I38")
async def test_a_plain_method_that_raises_stop_iteration_has_failed() -> None:
    class Plain(Hanging):
        def refuse_run(self, task: Task, agent: Agent) -> str | None:  # type: ignore[override]
            raise StopIteration

    with pytest.raises(HostFailed):
        await Hooks(host=Plain(), clock=ManualClock()).refusal(make.task(), AGENT)
