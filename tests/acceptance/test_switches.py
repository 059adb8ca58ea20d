"""What an owner switches, and what it does to the work in hand, on both databases."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from decimal import Decimal

import pytest

from core.agents import Agent
from core.calls import CallState, Outcome
from core.errors import NotYourDecision
from core.gate import Setting
from core.parks import DecisionKind, ParkState
from core.people import Person, Switch
from core.rights import Rights, rights_of
from core.switches import Choose, Pause, Practice, Resume, SwitchTo
from core.tasks import Json, Task, TaskState
from core.testing import calls, says
from core.tools import Tool, ToolContext
from tests.acceptance.shop import (
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    REFUND,
    REFUND_SCRIPT,
    REFUNDED,
    SAM,
    U1,
    U2,
    U9,
    Shop,
    Street,
    agent,
    results,
    settings,
)

TWO_REFUNDS = (calls(("refund", REFUND), ("refund", {"order_id": "B2", "amount": 5})), says("Refunded."))
SECOND_REFUNDED = ("refund", "B2", Decimal(5))


async def turn(shop: Shop, *to: SwitchTo, key: str | None = SAM.key, who: Person = U1) -> None:
    """*who* turned Sam's switch to each of these; with *key* None the organization's."""
    for one in to:
        assert await shop.store.people.switch(who, who.org, key, one) == 1


async def state(shop: Shop, task: Task) -> TaskState:
    return (await shop.task(task)).state


def checked(street: Street, name: str, on_check: Callable[[], Awaitable[None]]) -> Tool:
    """The shop's tool of that name; *on_check* happens in its check, right before it would be marked."""

    async def check(args: Mapping[str, Json], context: ToolContext) -> None:
        await on_check()

    return replace(unhurried(street, name), check=check)


def unhurried(street: Street, name: str) -> Tool:
    """The shop's tool of that name without its timeout, which virtual time reaches while a database works."""
    return replace(street.open([]).host.tools[name], timeout_seconds=None)


# ── pause ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T2", "T3")
@pytest.mark.parametrize("key", [SAM.key, None], ids=["the agent", "the organization"])
async def test_work_of_the_paused_is_held_and_comes_back_on_resume(street: Street, key: str | None) -> None:
    shop = street.open(REFUND_SCRIPT)
    queued = await shop.ask()
    await turn(shop, Pause(), key=key)
    asked_later = await shop.ask()
    await shop.run()
    assert [await state(shop, task) for task in (queued, asked_later)] == [TaskState.HELD] * 2
    assert shop.model.requests == []

    await turn(shop, Resume(), key=key)
    await shop.run()
    assert await state(shop, queued) is TaskState.WAITING


@pytest.mark.rule("I29")
@pytest.mark.parametrize("key", [SAM.key, None], ids=["the agent", "the organization"])
async def test_what_was_approved_is_not_run_while_paused_and_runs_after_the_resume(
    street: Street, key: str | None
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await turn(shop, Pause(), key=key)
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.HELD, [])
    assert (await shop.call(task)).state is CallState.APPROVED

    after = street.open(REFUND_SCRIPT)  # whichever process is there by then
    await turn(after, Resume(), key=key)
    await after.run()
    assert (await state(after, task), after.effects) == (TaskState.DONE, [REFUNDED])


async def test_what_waits_can_be_decided_while_paused_and_runs_after_the_resume(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await turn(shop, Pause())
    await shop.approve(await shop.view(task))
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.HELD, [])
    await turn(shop, Resume())
    await shop.run()
    assert shop.effects == [REFUNDED]


@pytest.mark.rule("I29")
async def test_a_pause_in_the_last_moment_before_the_mark_keeps_the_effect_from_starting(
    street: Street,
) -> None:
    async def pause() -> None:
        if shop.effects == [] and (await shop.store.people.switches(U1.org)) == ():
            await turn(shop, Pause())

    sam = agent(settings=settings(refund=Setting.ALLOW))
    shop = street.open(REFUND_SCRIPT, sam=sam, tools=[checked(street, "refund", pause)])
    task = await shop.ask()
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.HELD, [])
    assert (await shop.call(task)).state is CallState.PROPOSED
    await turn(shop, Resume())
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.DONE, [REFUNDED])


@pytest.mark.rule("I29")
async def test_an_effect_under_way_is_recorded_and_nothing_starts_after_it(street: Street) -> None:
    sam = agent(settings=settings(spend=Setting.ALLOW))
    shop = street.open(TWO_REFUNDS, sam=sam, tools=[unhurried(street, "refund")])
    line = street.world.hold("before refund")
    task = await shop.ask()
    running = asyncio.create_task(shop.run())
    await line.reached.wait()
    await turn(shop, Pause())
    line.go.set()
    await running
    assert shop.effects == [REFUNDED]
    first, second = (await shop.story(task)).calls
    assert (first.outcome, second.state) == (Outcome.SUCCEEDED, CallState.PROPOSED)
    assert await state(shop, task) is TaskState.HELD

    await turn(shop, Resume())
    await shop.run()
    assert shop.effects == [REFUNDED, SECOND_REFUNDED]


async def test_resuming_the_organization_leaves_an_agent_paused_that_was(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    await turn(shop, Pause())
    await turn(shop, Pause(), Resume(), key=None)
    task = await shop.ask()
    await shop.run()
    assert await state(shop, task) is TaskState.HELD


# ── practice ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C3", "I10")
async def test_in_practice_reads_run_and_the_rest_is_recorded_without_a_card(street: Street) -> None:
    batch = calls(("read_order", {"id": "A1"}), ("refund", REFUND), ("delete_tag", {"tag": "x"}))
    shop = street.open([batch, says("Done.")])
    await turn(shop, Practice(on=True))
    task = await shop.ask()
    await shop.run()

    story = await shop.story(task)
    assert (story.task.state, story.parks) == (TaskState.DONE, ())
    assert [c.outcome for c in story.calls] == [Outcome.SUCCEEDED, Outcome.OBSERVED, Outcome.OBSERVED]
    assert [c.effect_key for c in story.calls] == [None] * 3
    assert shop.effects == [("read_order", "A1")]
    assert "ractice" in str(results(shop.model.requests[1])[1])
    assert "card" not in await street.sql.posts(task)

    await turn(shop, Practice(on=False))
    await shop.approve(await shop.view(await shop.parked(), 2))
    await shop.run()
    assert shop.effects[1:] == [("read_order", "A1"), REFUNDED]


# ── settings ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C2", "C5")
async def test_spend_that_is_allowed_runs_without_a_click_and_asks_again_once_switched_back(
    street: Street,
) -> None:
    shop = street.open(REFUND_SCRIPT)
    await turn(shop, Choose("spend", Setting.ALLOW))
    task = await shop.ask()
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.DONE, [REFUNDED])
    assert (await shop.call(task)).rule == "spend:owner:allow"

    await turn(shop, Choose("spend", Setting.ASK))
    again = await shop.parked()
    assert (await shop.call(again)).rule == "spend:owner:ask"
    assert shop.effects == [REFUNDED]


ALLOW, ASK, OBSERVE = Setting.ALLOW, Setting.ASK, Setting.OBSERVE


@pytest.mark.parametrize(
    ("folder", "switch", "rule"),
    [
        ({}, {}, "spend:owner:ask"),
        ({"spend": ALLOW}, {}, "spend:owner:allow"),
        ({"spend": ALLOW, "refund": ASK}, {}, "spend:owner:ask"),
        ({"spend": ALLOW}, {"spend": ASK}, "spend:owner:ask"),
        ({"spend": ASK}, {"spend": ALLOW}, "spend:owner:allow"),
        ({"spend": ASK}, {"refund": ALLOW}, "spend:owner:allow"),
        ({"refund": ASK}, {"spend": ALLOW}, "spend:owner:allow"),  # the switch first, whatever it names
        ({}, {"spend": ALLOW, "refund": ASK}, "spend:owner:ask"),
        ({"spend": ALLOW}, {"refund": OBSERVE}, "spend:observe:observe"),
        ({"spend": OBSERVE}, {"spend": ASK}, "spend:owner:ask"),
        ({"spend": ALLOW}, {"contact": ASK}, "spend:owner:allow"),
    ],
)
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_the_switch_beats_the_folder_and_a_tools_word_its_risks(
    street: Street, folder: dict[str, Setting], switch: dict[str, Setting], rule: str
) -> None:
    shop = street.open(REFUND_SCRIPT, sam=agent(settings=folder))
    await turn(shop, *(Choose(key, setting) for key, setting in switch.items()))
    task = await shop.ask()
    await shop.run()
    assert (await shop.call(task)).rule == rule


async def test_a_setting_that_is_dropped_leaves_the_folders_word(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT, sam=agent(settings=settings(spend=ALLOW)))
    await turn(shop, Choose("spend", ASK), Choose("spend", None))
    assert await shop.store.people.switches(U1.org) == (Switch(agent=SAM.key),)
    await shop.ask()
    await shop.run()
    assert shop.effects == [REFUNDED]


@pytest.mark.rule("I12")
async def test_what_always_asks_asks_whatever_somebody_wrote_into_the_switch(street: Street) -> None:
    shop = street.open([calls(("delete_tag", {"tag": "x"})), says("Done.")])
    await turn(shop, Choose("remove", ALLOW), Choose("delete_tag", ALLOW))
    await shop.parked()
    assert shop.effects == []


# ── read again at the mark ───────────────────────────────────────────────────────────────────


@pytest.mark.rule("C15")
@pytest.mark.parametrize("to", [Choose("spend", OBSERVE), Choose("refund", OBSERVE), Practice(on=True)])
async def test_what_is_only_to_be_recorded_by_the_time_it_would_run_is_not_run_though_approved(
    street: Street, to: SwitchTo
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await turn(shop, to)
    await shop.run()
    call = await shop.call(task)
    assert (call.outcome, call.effect_key, shop.effects) == (Outcome.OBSERVED, None, [])
    (park,) = (await shop.story(task)).parks
    assert (park.state, park.decision) == (ParkState.DECIDED, DecisionKind.APPROVE)


@pytest.mark.rule("C15")
async def test_what_might_run_when_it_was_proposed_asks_if_it_must_by_the_time_it_would_run(
    street: Street,
) -> None:
    async def ask() -> None:
        if not (await shop.store.people.switches(U1.org))[0].settings == (("contact", "ask"),):
            await turn(shop, Choose("contact", ASK))

    shop = street.open(NOTE_SCRIPT, tools=[checked(street, "send_note", ask)])
    await turn(shop, Choose("contact", ALLOW))
    task = await shop.parked()
    assert shop.effects == []
    await shop.approve(await shop.view(task))
    await shop.run()
    assert shop.effects == [NOTED]
    assert (await shop.call(task)).args == NOTE


async def test_what_waits_for_a_click_goes_on_waiting_though_it_would_not_ask_today(street: Street) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await turn(shop, Choose("spend", ALLOW))
    await shop.run()
    assert (await state(shop, task), shop.effects) == (TaskState.WAITING, [])


# ── who ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14")
@pytest.mark.parametrize("who", [U2, U9], ids=["an approver", "a member"])
async def test_who_is_no_owner_switches_nothing(street: Street, who: Person) -> None:
    shop = street.open(REFUND_SCRIPT)
    for key, to in ((SAM.key, Choose("spend", ALLOW)), (SAM.key, Pause()), (None, Pause())):
        with pytest.raises(NotYourDecision):
            await shop.store.people.switch(who, who.org, key, to)
    assert await state(shop, await shop.parked()) is TaskState.WAITING


# ── a folder that asks for more ──────────────────────────────────────────────────────────────


def folder(**over: object) -> Agent:
    """Sam by a folder, which has a digest."""
    return replace(agent(**over), digest=f"folder {sorted(over)}")


async def accept(shop: Shop, was: Rights, who: Person = U1) -> None:
    sam = shop.host.agents[SAM.key]
    assert await shop.store.people.accept(who, who.org, sam.key, was, rights_of(sam), digest=sam.digest)


async def kept(shop: Shop) -> Rights:
    rights = await shop.store.people.rights(U1.org, SAM.key)
    assert rights is not None
    return rights


@pytest.mark.parametrize(
    "wider",
    [{"settings": settings(spend=ALLOW)}, {"settings": settings(refund=ALLOW)}],
    ids=["by risk", "by tool"],
)
async def test_a_folder_that_moves_a_setting_towards_allow_waits_for_an_owner(
    street: Street, wider: dict[str, object]
) -> None:
    first = street.open(REFUND_SCRIPT, sam=folder())
    await first.parked()  # as it was first seen: it asks
    shop = street.open(REFUND_SCRIPT, sam=folder(**wider))
    await shop.parked()
    assert shop.effects == []
    await accept(shop, await kept(shop))
    await shop.ask()
    await shop.run()
    assert shop.effects == [REFUNDED]


async def test_a_tool_that_a_folder_adds_is_not_offered_until_an_owner_accepts(street: Street) -> None:
    first = street.open(NOTE_SCRIPT, sam=folder(tools=("send_note",)))
    await first.parked()
    shop = street.open(REFUND_SCRIPT, sam=folder())
    task = await shop.ask()
    await shop.run()
    assert (await shop.call(task)).rule == "tool"
    assert [spec.name for spec in shop.model.requests[0].tools] == ["send_note"]
    await accept(shop, await kept(shop))
    await shop.parked()
    assert set(await tools_offered(shop)) == set(SAM.tools)


async def tools_offered(shop: Shop) -> list[str]:
    return [spec.name for spec in shop.model.requests[-1].tools]


async def test_what_a_folder_takes_away_is_gone_at_once_and_not_back_by_itself(street: Street) -> None:
    wide = folder(settings=settings(spend=ALLOW))
    first = street.open(REFUND_SCRIPT, sam=wide)
    await first.ask()
    await first.run()
    assert first.effects == [REFUNDED]
    tight = street.open(REFUND_SCRIPT, sam=folder())
    await tight.parked()
    again = street.open(REFUND_SCRIPT, sam=wide)
    await again.parked()
    assert again.effects == [REFUNDED]


async def test_an_owners_switch_holds_over_a_folder_that_waits(street: Street) -> None:
    await street.open(REFUND_SCRIPT, sam=folder()).parked()
    shop = street.open(REFUND_SCRIPT, sam=folder(settings=settings(spend=ALLOW)))
    await turn(shop, Choose("spend", ALLOW))
    await shop.ask()
    await shop.run()
    assert shop.effects == [REFUNDED]


async def test_an_agent_of_code_has_what_its_code_says(street: Street) -> None:
    await street.open(REFUND_SCRIPT).parked()
    shop = street.open(REFUND_SCRIPT, sam=agent(settings=settings(spend=ALLOW)))
    await shop.ask()
    await shop.run()
    assert shop.effects == [REFUNDED]
    assert await shop.store.people.rights(U1.org, SAM.key) is None
