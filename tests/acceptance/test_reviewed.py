"""What a review found could go wrong between one step and the next, each held by the rule it broke."""

import asyncio

import pytest
from sqlalchemy import update

from adapters.store import tables
from core.agents import Agent
from core.calls import Outcome
from core.errors import ModelOverflow, NeedsConnect, ToolFailed
from core.gate import Setting
from core.model import ModelReply, Request
from core.parks import Choice, ParkKind
from core.switches import Pause, Practice, Resume
from core.tasks import Json, MessageKind, Task, TaskState
from core.testing import Line, ScriptedModel, calls, says
from core.tools import tool
from tests.acceptance.shop import (
    NOTE,
    NOTED,
    ORG,
    PAST,
    U1,
    Street,
    Turnstile,
    agent,
    settings,
)
from tests.acceptance.test_window import ALLOWED, BY_TO

POST = calls(("post", {"to": "x"}))
FREE = agent(tools=("post",), settings=settings(contact=Setting.ALLOW))


# ── what was sent, and is looked up ──────────────────────────────────────────────────────────


@pytest.mark.rule("C22", "C23", "I6")
async def test_what_was_sent_again_before_a_look_found_it_out_does_not_go(street: Street) -> None:
    gate = Turnstile()

    async def is_there(to: str) -> bool:
        await gate.cross()
        return True

    @tool(risk="contact", reconcile=is_there)
    async def post(to: str) -> str:
        """Post."""
        await street.world.act("post", to)
        raise TimeoutError

    shop = street.open([POST, says("Gone."), says("Gone, then.")], sam=FREE, tools=[post])
    task = await shop.ask()
    running = asyncio.create_task(shop.run())
    await gate.reached.wait()
    await shop.choose(await shop.view(task, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
    gate.go.set()
    await running
    assert shop.effects == [("post", "x")]
    assert [c.outcome for c in (await shop.story(task)).calls] == [Outcome.SUCCEEDED, Outcome.VOID]


@pytest.mark.rule("C16", "C8", "I6")
async def test_what_is_sent_again_to_another_is_compared_with_what_that_one_got(street: Street) -> None:
    to_y: Json = {**NOTE, "to": "y@example.test"}

    def note(request: Request) -> ModelReply:
        goal = next(turn.text for turn in request.turns if turn.role == "user")
        return calls(("send_note", to_y if goal == "y" else NOTE))

    shop = street.open([note, says("Done."), says("I see.")], sam=ALLOWED, keys=BY_TO)
    street.world.raises["send_note"] = TimeoutError()
    first = await shop.ask("x")
    await shop.run()
    street.world.raises.clear()
    await shop.approve(await shop.view(await shop.parked("x")))
    await shop.ask("y")
    await shop.run()
    sent = list(shop.effects)
    await shop.choose(await shop.view(first, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
    await shop.run()
    await shop.edit(await shop.view(first, 2), {"to": "y@example.test"})
    await shop.run()
    assert shop.effects == sent
    asked = await shop.view(first, 2)
    assert asked.park.open
    assert {e["args"]["to"] for e in asked.park.shown["earlier"]} == {"y@example.test"}


# ── reads and drafts ─────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I10", "I29")
async def test_a_draft_that_was_let_run_is_only_recorded_once_practice_is_on(street: Street) -> None:
    @tool(risk="draft")
    async def write(path: str) -> str:
        """Write."""
        await street.world.act("write", path)
        return "Written."

    script = [calls(("write", {"path": "x"}), text="I write."), says("Practised.")]
    shop = street.open(script, sam=agent(tools=("write",)), tools=[write])

    async def thought(task: Task, text: str) -> None:
        """Between the reply and the draft its agent is paused, and the worker leaves."""
        await shop.store.people.switch(U1, ORG, "sam", Pause())
        shop.worker._stopping = True

    shop.host.thought = thought  # type: ignore[method-assign]
    task = await shop.ask()
    await shop.run()
    assert (shop.effects, (await shop.call(task)).outcome) == ([], None)
    shop.worker._stopping = False
    for to in (Practice(on=True), Resume()):
        await shop.store.people.switch(U1, ORG, "sam", to)
    await shop.run()
    assert (shop.effects, (await shop.call(task)).outcome) == ([], Outcome.OBSERVED)


@pytest.mark.rule("C1", "C12")
@pytest.mark.parametrize("risk", ["read", "draft"])
async def test_a_check_is_asked_before_a_read_or_draft_too(street: Street, risk: str) -> None:
    objects: list[Exception] = [ToolFailed("not yours"), NeedsConnect("Drive")]

    async def check(n: int) -> None:
        raise objects[n]

    @tool(risk=risk, check=check)
    async def peek(n: int) -> str:
        """Look or write."""
        await street.world.act("peek", n)
        return "secret"

    shop = street.open(
        [calls(("peek", {"n": 0}), ("peek", {"n": 1})), says("So be it.")],
        sam=agent(tools=("peek",)),
        tools=[peek],
    )
    task = await shop.parked()
    assert (shop.effects, (await shop.call(task, 1)).result) == ([], {"error": "not yours"})
    assert (await shop.view(task, 2, kind=ParkKind.CONNECT)).park.shown["account"] == "Drive"


# ── words, counts and tokens ─────────────────────────────────────────────────────────────────


@pytest.mark.rule("T11", "T12", "I21")
async def test_words_that_come_while_it_is_being_stopped_start_an_episode(street: Street) -> None:
    shop = street.open([calls(("send_note", NOTE)), says("The other one, then.")], sam=ALLOWED)
    gate = shop.world.hold("before send_note")
    task = await shop.ask()
    running = asyncio.create_task(shop.run())
    await gate.reached.wait()
    await shop.stop(task)
    await shop.say(task, "the other one instead, please")
    gate.go.set()
    await running
    stopped = await shop.task(task)
    assert (stopped.state, stopped.episode, stopped.unread) == (TaskState.STOPPED, 1, 0)
    await street.sql.run(update(tables.inbox).where(tables.inbox.c.state == "new").values(due_at=PAST))
    await shop.run()
    again = await shop.task(task)
    assert (again.state, again.episode) == (TaskState.DONE, 2)
    said = [m.body["text"] for m in (await shop.story(task)).messages if m.kind is MessageKind.OWNER]
    assert said == ["the other one instead, please"]


@pytest.mark.rule("I25", "C16")
async def test_the_same_send_again_and_again_ends_in_a_closing_round(street: Street) -> None:
    send = calls(("send_note", NOTE))
    shop = street.open([send] * 5 + [says("Sent once.")], sam=ALLOWED, keys=BY_TO)
    task = await shop.ask()
    await shop.run()
    outcomes = [c.outcome for c in (await shop.story(task)).calls]
    assert outcomes == [Outcome.SUCCEEDED, *[Outcome.DUPLICATE] * 3, Outcome.REFUSED]
    assert shop.effects == [NOTED]


@pytest.mark.rule("I24")
async def test_no_reservation_is_left_where_a_request_was_not_made_at_once(street: Street) -> None:
    tries = iter([TimeoutError(), None])

    @tool(risk="contact")
    async def post(to: str) -> str:
        """Post."""
        if (error := next(tries)) is not None:
            raise error
        return "Posted."

    @tool(risk="read")
    async def look() -> str:
        """Look."""
        return "y" * 3000

    sam = agent(tools=("post", "look"), settings=settings(contact=Setting.ALLOW))
    script: list[Line] = [POST, calls(("look", {})), ModelOverflow(), says("Done.")]
    shop = street.open(ScriptedModel(script), sam=sam, tools=[post, look])
    task = await shop.ask()
    asked = iter(range(9))

    async def prompt(task: Task, agent: Agent) -> str:
        if next(asked) == 2:  # a reservation is held by then, and the request overflows
            await shop.choose(await shop.view(task, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
        return "You are Sam."

    shop.host.system_prompt = prompt  # type: ignore[method-assign]
    await shop.run()
    assert (await shop.task(task)).state is TaskState.DONE
    assert await street.sql.all("SELECT sum(reserved) FROM usage") == [(0,)]
