"""A conversation that no longer fits its model: old results are cleared, once, and nothing else goes."""

import pytest

from core.calls import Outcome
from core.errors import ModelOverflow
from core.gate import Setting
from core.model import ModelReply, Request
from core.ports import Story
from core.tasks import Json, MessageKind, Taint, Task, TaskState
from core.testing import Line, ScriptedModel, calls, says
from core.tools import Tool, tool
from core.transcript import CLEARED
from tests.acceptance.shop import NOTE, REFUND, Shop, Street, agent, audited, settings

LONG = "x" * 4000
READ = calls(("read_mail", {"id": "m1"}))
OTHER = calls(("read_mail", {"id": "m2"}))
CLERK = agent(tools=("read_mail", "read_order", "send_note", "refund"))


@tool(risk="read", taints=True)
async def read_mail(id: str) -> str:
    """Read a mail."""
    return f"{id}: {LONG}"


def opened(street: Street, *script: Line, tools: tuple[Tool, ...] = (read_mail,), **limits: Json) -> Shop:
    return street.open(ScriptedModel(script), tools=tools, sam=agent(tools=CLERK.tools, **limits))


def told(request: Request) -> list[str | None]:
    """Each result in *request*, in order: its words, a long one by its first two, out of its fence."""
    return [unfenced(t.text)[:2] if len(t.text or "") > 300 else t.text for t in tools_in(request)]


def unfenced(text: str) -> str:
    """The words inside a fence."""
    return "\n".join(line[2:] for line in text.split("\n") if line.startswith("| "))


def tools_in(request: Request) -> list[Json]:
    return [turn for turn in request.turns if turn.role == "tool"]


def compactions(story: Story) -> int:
    return sum(m.kind is MessageKind.COMPACT for m in story.messages)


async def done(shop: Shop) -> Task:
    task = await shop.ask()
    await shop.run()
    return await shop.task(task)


@pytest.mark.rule("I26")
async def test_an_overflow_clears_old_results_and_the_task_goes_on(street: Street) -> None:
    shop = opened(street, READ, OTHER, ModelOverflow(), says("Both read."))
    task = await done(shop)
    story = await shop.story(task)
    assert (task.state, task.result) == (TaskState.DONE, {"value": "Both read."})
    assert told(shop.model.requests[2]) == ["m1", "m2"]
    assert told(shop.model.requests[3]) == [CLEARED, "m2"]
    assert [m.kind for m in story.messages] == ["goal", "assistant", "assistant", "compact", "assistant"]
    assert [facts["kind"] for _, facts in audited(story, "note")] == ["compact"]
    assert story.calls[0].result["value"] == f"m1: {LONG}", "the row keeps what was returned"


@pytest.mark.rule("I26")
async def test_all_but_what_a_tool_returned_is_still_in_the_request(street: Street) -> None:
    script = (
        calls(("refund", REFUND)),
        calls(("send_note", NOTE)),
        READ,
        OTHER,
        ModelOverflow(),
        says("Refunded, not noted."),
    )
    shop = opened(street, *script, settings=settings(spend=Setting.ASK))
    task = await shop.parked()
    await shop.edit(await shop.view(task), {"amount": 5})
    await shop.run()
    await shop.decline(await shop.view(task), "no mails today")
    await shop.run()

    before, after = shop.model.requests[4:6]
    changed = [n for n, pair in enumerate(zip(before.turns, after.turns, strict=True)) if pair[0] != pair[1]]
    assert [after.turns[n].text for n in changed] == [CLEARED]
    assert unfenced(before.turns[changed[0]].text or "") == f"m1: {LONG}"
    assert after.tools == before.tools
    ended = await shop.task(task)
    assert (ended.state, ended.taint) == (TaskState.DONE, Taint.OUTSIDE)


@pytest.mark.rule("I26")
@pytest.mark.parametrize("rounds", [(READ,), (READ, OTHER)], ids=["one round", "two rounds"])
async def test_what_still_does_not_fit_fails_after_one_compaction(
    street: Street, rounds: tuple[ModelReply, ...]
) -> None:
    shop = opened(street, *rounds, *[ModelOverflow("the key is hunter2")] * 9)
    task = await done(shop)
    assert (task.state, task.reason) == (TaskState.FAILED, "size")
    assert task.result == {"error": "The conversation no longer fits the model."}
    assert (compactions(await shop.story(task)), len(shop.model.requests)) == (1, len(rounds) + 2)
    assert await street.sql.posts(task) == {"report": 1}


async def test_with_nothing_to_clear_it_fails_at_once(street: Street) -> None:
    shop = opened(street, calls(("read_order", {"id": "A1"})), ModelOverflow())
    task = await done(shop)
    assert (task.state, task.reason) == (TaskState.FAILED, "size")
    assert compactions(await shop.story(task)) == 0


@pytest.mark.rule("I26")
async def test_the_newest_results_go_too_where_it_is_they_that_do_not_fit(street: Street) -> None:
    shop = opened(street, READ, ModelOverflow(), says("Too long for me."))
    assert (await done(shop)).state is TaskState.DONE
    assert told(shop.model.requests[2]) == [CLEARED]


async def test_rounds_after_a_compaction_are_whole_until_the_next(street: Street) -> None:
    third = calls(("read_mail", {"id": "m3"}))
    script = (READ, OTHER, ModelOverflow(), third, ModelOverflow(), says("All read."))
    shop = opened(street, *script)
    task = await done(shop)
    assert task.state is TaskState.DONE
    assert [told(r) for r in shop.model.requests[3:]] == [
        [CLEARED, "m2"],
        [CLEARED, "m2", "m3"],
        [CLEARED, CLEARED, "m3"],
    ]
    assert compactions(await shop.story(task)) == 2


async def test_a_closing_round_that_does_not_fit_ends_the_task(street: Street) -> None:
    limits = CLERK.limits.__class__(rounds=1)
    shop = opened(street, READ, ModelOverflow(), ModelOverflow(), limits=limits)
    task = await done(shop)
    assert (task.state, task.reason) == (TaskState.FAILED, "size")
    assert len(shop.model.requests) == 3


async def test_a_known_window_is_kept_before_the_service_complains(street: Street) -> None:
    limits = CLERK.limits.__class__(window=2000, reply_tokens=400)
    shop = opened(street, READ, OTHER, says("Both read."), limits=limits)
    assert (await done(shop)).state is TaskState.DONE
    assert [told(r) for r in shop.model.requests] == [[], ["m1"], [CLEARED, "m2"]]


async def test_an_effect_that_returned_much_is_still_said_to_be_done(street: Street) -> None:
    @tool(risk="contact")
    async def send_note(to: str, text: str) -> str:
        """Send a note."""
        return LONG

    note = calls(("send_note", NOTE))
    allowed = settings(contact=Setting.ALLOW)
    shop = opened(street, note, ModelOverflow(), says("Sent."), tools=(send_note,), settings=allowed)
    task = await done(shop)
    assert (task.state, (await shop.call(task)).outcome) == (TaskState.DONE, Outcome.SUCCEEDED)
    assert told(shop.model.requests[2]) == ["Done. What it returned was cleared to make room."]
