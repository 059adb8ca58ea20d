"""A task that wants a result in a shape ends by `finish`, whatever it may do besides."""

import pytest

from core.agents import Skill
from core.ids import EventKey, TaskId
from core.tasks import Mode, Origin, Prio, Task, TaskState
from core.testing import calls, says
from core.tools import tool
from core.work import Cause, Event, EventKind, NewTask
from tests.acceptance.shop import ORG, Shop, Street, agent, results

SHAPE = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
READ = calls(("read_order", {"id": "A1"}))
FINISH = calls(("finish", {"total": 30}))


async def wanted(shop: Shop, mode: Mode) -> Task:
    """A schedule wants a total."""
    key = EventKey(source="clock", event_id=f"fire-{mode}")
    await shop.store.inbox.receive(Event(key=key, org=ORG, kind=EventKind.FIRE, body={}))
    new = NewTask(
        org=ORG,
        id=TaskId(f"wanted-{mode}"),
        agent="sam",
        origin=Origin.SCHEDULE,
        goal="Add up what A1 cost.",
        schema=SHAPE,
        mode=mode,
        prio=Prio.SELF_STARTED,
    )
    opened = await shop.store.tasks.open(new, Cause(key=key, actor="schedule"))
    assert isinstance(opened, Task)
    return opened


@pytest.mark.rule("T9", "I9", "I10")
@pytest.mark.parametrize("mode", list(Mode))
async def test_practice_and_a_task_that_only_looks_end_with_their_result_too(
    street: Street, mode: Mode
) -> None:
    shop = street.open([READ, FINISH])
    task = await wanted(shop, mode)
    await shop.run()
    ended = await shop.task(task)
    assert (ended.state, ended.result) == (TaskState.DONE, {"value": {"total": 30}})
    assert shop.effects == [("read_order", "A1")]


@pytest.mark.rule("T9")
async def test_a_result_of_another_shape_is_sent_back_and_words_are_no_result(street: Street) -> None:
    shop = street.open([calls(("finish", {"total": "thirty"})), says("It was 30."), FINISH])
    task = await wanted(shop, Mode.NORMAL)
    await shop.run()
    refused = results(shop.model.requests[1])[0][1]
    assert refused == "Error: Not run: total: must be a whole number, not text"
    assert (
        shop.model.requests[2].turns[-1].text
        == "[note] A result was asked for: call the tool `finish` with it."
    )
    assert (await shop.task(task)).result == {"value": {"total": 30}}


@pytest.mark.rule("T9")
@pytest.mark.parametrize("key", ["finish", "close"])
async def test_a_hosts_tool_of_that_name_ends_no_task(street: Street, key: str) -> None:
    """A host's own check of its tools finds it at the start; a run does not count on that."""

    @tool(risk="read", name="finish")
    async def finish(order: str) -> str:
        """Mark an order as finished."""
        return "fine"

    made = calls((key, {"order": "A1"}))
    shop = street.open([made, says("And the rest.")], sam=agent(tools=(key,)))
    shop.host.tools = {key: finish}
    task = await shop.ask()
    await shop.run()
    assert len(shop.model.requests) == 2
    assert (await shop.task(task)).result == {"value": "And the rest."}


async def test_a_hosts_tool_can_not_stand_for_a_built_in_one(street: Street) -> None:
    @tool(risk="read", name="read_skill")
    async def mine(name: str) -> str:
        """Read what is not the skill."""
        return "the host's"

    skill = Skill(name="a", about="b", text="the skill's")
    sam = agent(tools=(), skills=(skill,))
    shop = street.open([calls(("read_skill", {"name": "a"})), says("So.")], sam=sam, tools=[mine])
    await shop.ask()
    await shop.run()
    assert "the skill's" in str(results(shop.model.requests[1])[0][1])
