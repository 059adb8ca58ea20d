"""What one task sent, another of the organization sends only with a click that showed it."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.calls import CallState
from core.gate import Risk, Setting
from core.model import ModelReply, Request
from core.parks import Choice, ParkKind
from core.ports import ParkView
from core.tasks import Json, Task, TaskState
from core.testing import Line, calls, says
from tests.acceptance.shop import NOTE, NOTED, PAST, REFUND, REFUNDED, Shop, Street, agent, settings, words

BY_TO = {"send_note": "to", "refund": "order_id"}
ALLOWED = agent(settings=settings(contact=Setting.ALLOW, spend=Setting.ALLOW, change=Setting.ALLOW))
AGAIN: Json = {"to": "x@example.test", "text": "hi again"}
NOTED_AGAIN = ("send_note", "x@example.test", "hi again")
OTHER: Json = {"to": "y@example.test", "text": "hi again"}
BY_GOAL = {"again": AGAIN, "other": OTHER}


def note(request: Request) -> ModelReply:
    """What the task's goal says is sent."""
    goal = next(turn.text for turn in request.turns if turn.role == "user")
    return calls(("send_note", BY_GOAL.get(goal or "", NOTE)))


DONE = says("Done.")
SCRIPT: tuple[Line, ...] = (note, DONE, says("I see."))


def opened(street: Street, script: Sequence[Line] = SCRIPT, **over: Any) -> Shop:
    return street.open(script, **{"sam": ALLOWED, "keys": BY_TO, **over})


async def sent(shop: Shop, goal: str = "one") -> Task:
    """A task that sent its note."""
    task = await shop.ask(goal)
    await shop.run()
    assert (await shop.task(task)).state is TaskState.DONE
    return task


def earlier(view: ParkView) -> list[tuple[str, str, Json]]:
    """What the card says was sent before: where, by which tool, and what."""
    return [(e["code"], e["tool"], e["args"]) for e in view.park.shown["earlier"]]


# ── asked anew ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C16", "I6", "C15")
@pytest.mark.parametrize(
    ("tool", "args", "effect"), [("send_note", NOTE, NOTED), ("refund", REFUND, REFUNDED)], ids=str
)
async def test_what_another_task_sent_asks_and_shows_it_though_it_would_run_alone(
    street: Street, tool: str, args: Json, effect: Json
) -> None:
    shop = opened(street, [calls((tool, args)), DONE])
    first = await sent(shop)

    second = await shop.parked()
    view = await shop.view(second)
    assert shop.effects == [effect]
    assert (view.park.version, earlier(view)) == (1, [(f"{first.code}.1", tool, args)])
    (row,) = (await shop.drawn(second)).rows
    assert row.why == "It asks since another task sent the same, or may have."
    (line,) = row.earlier
    assert line.startswith(f"{first.code}.1 by Sam, ") and line.endswith(" · done")

    await shop.approve(view)
    await shop.run()
    assert shop.effects == [effect, effect]


@pytest.mark.rule("C16", "I6")
async def test_a_click_from_before_does_not_let_it_go(street: Street) -> None:
    shop = opened(street, sam=agent())
    tasks = [await shop.parked("one"), await shop.parked("again")]
    views = [await shop.view(task) for task in tasks]
    await shop.approve(views[0])
    await shop.run()
    await shop.approve(views[1])
    await shop.run()

    assert shop.effects == [NOTED]
    again = await shop.view(tasks[1])
    assert (again.park.version, len(earlier(again))) == (2, 1)
    await shop.approve(again)
    await shop.run()
    assert shop.effects == [NOTED, NOTED_AGAIN]


@pytest.mark.rule("C16", "I6")
async def test_a_click_lets_go_only_what_it_displayed(street: Street) -> None:
    shop = opened(street)
    await sent(shop)
    second, third = await shop.parked("again"), await shop.parked("again")
    views = [await shop.view(task) for task in (second, third)]
    await shop.approve(views[0])
    await shop.run()
    await shop.approve(views[1])
    await shop.run()
    assert shop.effects == [NOTED, NOTED_AGAIN]
    again = await shop.view(third)
    assert [code for code, _, _ in earlier(again)] == [f"{second.code}.1", "t-1.1"]


@pytest.mark.rule("C16", "C8")
async def test_an_edit_that_makes_it_the_same_as_an_earlier_one_asks_anew(street: Street) -> None:
    shop = opened(street, sam=agent())
    tasks = [await shop.parked("one"), await shop.parked("other")]
    await shop.approve(await shop.view(tasks[0]))
    await shop.run()
    await shop.edit(await shop.view(tasks[1]), {"to": "x@example.test"})
    await shop.run()
    assert shop.effects == [NOTED]
    view = await shop.view(tasks[1])
    assert (view.park.version, len(earlier(view))) == (3, 1)
    await shop.edit(view, {"to": "y@example.test"})
    await shop.run()
    assert shop.effects == [NOTED, ("send_note", "y@example.test", "hi again")]


@pytest.mark.rule("C16", "C19")
@pytest.mark.parametrize(("choice", "asks"), [(None, True), (Choice.WENT_OUT, True), (Choice.DID_NOT, False)])
async def test_what_may_have_gone_out_counts_until_somebody_says_it_did_not(
    street: Street, choice: Choice | None, asks: bool
) -> None:
    shop = opened(street)
    street.world.raises["send_note"] = ConnectionResetError("reset")
    first = await shop.ask()
    await shop.run()
    if choice is not None:
        await shop.choose(await shop.view(first, kind=ParkKind.UNKNOWN), choice)
    street.world.raises.clear()
    second = await shop.ask("again")
    await shop.run()
    assert (await shop.call(second)).state is (CallState.PARKED if asks else CallState.SETTLED)
    assert shop.effects == ([] if asks else [NOTED_AGAIN])


@pytest.mark.rule("C9", "C13", "C23")
@pytest.mark.parametrize("ends", ["declined", "expired"])
async def test_what_was_to_be_sent_again_and_was_not_is_told_to_the_model(street: Street, ends: str) -> None:
    shop, view, first = await asked_again(street)
    if ends == "declined":
        await shop.decline(view, "once is enough")
    else:
        await street.sql.change_park(view.park, expires_at=PAST)
    await shop.run()
    assert shop.effects == [NOTED_AGAIN]
    (told,) = [text for text in words(shop.model.requests[-1]) if "had send_note sent again" in text]
    assert told.startswith("[note] The owner had send_note sent again. Result: Error: ")
    assert ("once is enough" if ends == "declined" else "Expired, not run") in told
    assert (await shop.task(first)).state is TaskState.DONE


@pytest.mark.rule("C16", "C23", "I6")
async def test_what_is_sent_again_asks_too_if_another_task_sent_it_meanwhile(street: Street) -> None:
    shop, view, _ = await asked_again(street)
    await shop.approve(view)
    await shop.run()
    assert shop.effects == [NOTED_AGAIN, NOTED]
    assert words(shop.model.requests[-1])[-1].endswith("Result: Sent.")


async def asked_again(street: Street) -> tuple[Shop, ParkView, Task]:
    """An owner had an unknown note sent again, which another task sent meanwhile: so it asks first."""
    shop = opened(street)
    street.world.raises["send_note"] = ConnectionResetError("reset")
    first = await shop.ask()
    await shop.run()
    street.world.raises.clear()
    second = await shop.parked("again")
    await shop.approve(await shop.view(second))
    await shop.run()
    assert shop.effects == [NOTED_AGAIN]

    await shop.choose(await shop.view(first, kind=ParkKind.UNKNOWN), Choice.SEND_AGAIN)
    await shop.run()
    assert shop.effects == [NOTED_AGAIN]
    view = await shop.view(first, 2)
    assert [code for code, _, _ in earlier(view)] == [f"{second.code}.1"]
    return shop, view, first


# ── not asked ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C16")
@pytest.mark.parametrize(
    ("ago", "window", "asks"),
    [
        (timedelta(hours=23, minutes=59), None, True),
        (timedelta(hours=24, minutes=1), None, False),
        (timedelta(hours=2), 3600, False),
        (timedelta(hours=30), 48 * 3600, True),
    ],
    ids=str,
)
async def test_it_counts_for_a_day_or_as_long_as_the_organization_says(
    street: Street, ago: timedelta, window: int | None, asks: bool
) -> None:
    shop = opened(street)
    call = await shop.call(await sent(shop))
    assert call.marked_at is not None
    await street.sql.change_call(call, marked_at=call.marked_at - ago)
    await street.sql.change_organization(send_window_seconds=window)
    await shop.ask("again")
    await shop.run()
    assert shop.effects == [NOTED] if asks else [NOTED, NOTED_AGAIN]


@pytest.mark.rule("C16")
async def test_without_a_key_of_the_hosts_there_is_nothing_to_compare(street: Street) -> None:
    shop = opened(street, keys={})
    tasks = [await sent(shop), await sent(shop)]
    assert shop.effects == [NOTED, NOTED]
    assert [(await shop.call(task)).sent_key for task in tasks] == [None, None]


@pytest.mark.rule("C16")
@pytest.mark.parametrize("risk", [Risk.ROUTINE, Risk.CHANGE])
async def test_only_contact_and_spend_are_compared_with_other_tasks(street: Street, risk: Risk) -> None:
    shop = opened(street)
    shop.host.tools = {**shop.host.tools, "send_note": replace(shop.host.tools["send_note"], risk=risk)}
    await sent(shop)
    await sent(shop)
    assert shop.effects == [NOTED, NOTED]


# ── two at once ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C16", "I6")
async def test_of_two_tasks_that_send_the_same_at_once_one_asks(street: Street) -> None:
    shops = [opened(street), opened(street)]
    tasks = [await shops[0].ask(), await shops[0].ask()]
    await asyncio.gather(*(shop.run() for shop in shops))
    assert street.world.effects == [NOTED]
    states = [(await shops[0].call(task)).state for task in tasks]
    assert sorted(states) == [CallState.PARKED, CallState.SETTLED]


@pytest.mark.rule("C16", "I39")
async def test_a_card_shows_the_beginning_of_what_was_sent_before(street: Street) -> None:
    letter = calls(("send_note", {**NOTE, "text": "x" * 5000}))
    shop = opened(street, [letter, DONE, letter])
    await sent(shop)
    (row,) = (await shop.drawn(await shop.parked())).rows
    (line,) = row.earlier
    assert "x… (the first 1,000 of 5," in line and line.endswith(" · done")
    assert len(line) < 1200
