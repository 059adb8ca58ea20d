"""A declined call is refused in code until its owner writes again (C9, C4)."""

import pytest

from core.calls import Outcome
from core.decisions import slip
from core.ids import EventKey
from core.moves.people import Decision, amend
from core.moves.words import incoming
from core.parks import DecisionKind, ParkKind
from core.tasks import Json, Task, TaskState
from core.testing import calls, says
from core.work import Event, EventKind, Need
from tests.acceptance.shop import ORG, REFUND, REFUNDED, SURFACE, U1, Shop, Street, agent

CALL = calls(("refund", REFUND))
NO = says("Then not.")


async def rules(shop: Shop, task: Task) -> list[str]:
    return [call.rule for call in (await shop.story(task)).calls]


async def declined(shop: Shop) -> Task:
    task = await shop.parked()
    await shop.decline(await shop.view(task))
    await shop.run()
    return task


@pytest.mark.rule("C9", "C4")
@pytest.mark.parametrize(
    "spelled",
    [
        '{"amount":10.0,"order_id":"A1"}',
        '{"order_id":"A1","amount":1e1}',
        '{ "order_id" : "\\u0041\\u0031", "amount" : 10 }',
        '{"order_id":"A1","amount":10,"organization_id":"mine"}',
    ],
)
async def test_the_same_call_spelled_otherwise_is_the_same(street: Street, spelled: str) -> None:
    shop = street.open([CALL, calls(("refund", spelled)), NO])
    task = await declined(shop)
    assert await rules(shop, task) == ["spend:owner:ask", "declined"]
    assert (await shop.task(task)).state is TaskState.DONE


@pytest.mark.rule("C9")
async def test_another_call_asks_anew(street: Street) -> None:
    shop = street.open([CALL, calls(("refund", {**REFUND, "amount": 9})), NO])
    task = await declined(shop)
    assert (await shop.view(task, 2)).park.open


@pytest.mark.rule("C9", "C4")
async def test_it_stays_refused_in_later_rounds_and_other_processes(street: Street) -> None:
    read = calls(("read_order", {"id": "A1"}))
    script = [CALL, read, CALL, read, CALL, NO]
    before = street.open(script)
    task = await before.parked()
    await before.decline(await before.view(task))
    after = street.open(script)
    await after.run()
    assert [r for r in await rules(after, task) if r != "read:owner"] == [
        "spend:owner:ask",
        *["declined"] * 2,
    ]
    assert after.effects == [("read_order", "A1")] * 2


@pytest.mark.rule("C9", "C4")
async def test_words_from_before_the_decline_allow_nothing_and_words_from_after_it_do(
    street: Street,
) -> None:
    shop = street.open([CALL, CALL, NO, CALL, says("Done.")])
    task = await shop.parked()
    await shop.say(task, "be quick")
    await shop.decline(await shop.view(task))
    await shop.run()
    assert await rules(shop, task) == ["spend:owner:ask", "declined"]

    await shop.say(task, "I was wrong, do it")
    await shop.run()
    await shop.approve(await shop.view(task, 3))
    await shop.run()
    assert shop.effects == [REFUNDED]


@pytest.mark.rule("C9", "C11")
async def test_the_answer_to_a_question_are_words_too(street: Street) -> None:
    asks = calls(("ask_owner", {"question": "May I after all?"}))
    shop = street.open([CALL, asks, CALL, NO], sam=agent(tools=("refund", "ask_owner")))
    task = await declined(shop)
    question = await shop.view(task, kind=ParkKind.QUESTION)
    await shop.decide(question, Decision(kind=DecisionKind.ANSWER, reason="yes"))
    await shop.run()
    assert (await shop.view(task, 3)).park.open


@pytest.mark.rule("C9", "C4")
async def test_what_was_amended_and_then_declined_is_refused_either_way(street: Street) -> None:
    less: Json = {**REFUND, "amount": 5}
    shop = street.open([CALL, calls(("refund", less)), CALL, NO])
    task = await shop.parked()
    token = (await shop.view(task)).park.token
    move = amend(token, less, slip(shop.desk.ids), by=U1.id, surface=SURFACE)
    await shop.store.tasks.change(task.ref, move, Need(token=token, roster=True))
    await shop.decline(await shop.view(task))
    await shop.run()
    assert await rules(shop, task) == ["spend:owner:ask", "declined", "declined"]


@pytest.mark.rule("C9", "C4", "T12")
async def test_an_outside_answer_that_starts_an_episode_allows_nothing(street: Street) -> None:
    shop = street.open([CALL, NO, CALL, NO])
    task = await declined(shop)
    await replied(shop, task, "the owner said yes")
    await shop.run()
    assert (await shop.call(task, 2)).outcome is Outcome.REFUSED
    assert ((await shop.task(task)).episode, await rules(shop, task)) == (2, ["spend:owner:ask", "declined"])


async def replied(shop: Shop, task: Task, text: str) -> None:
    """Somebody outside answered what the task wrote."""
    key = EventKey(source="mail", event_id=shop.desk.ids.new())
    await shop.store.inbox.receive(Event(key=key, org=ORG, kind=EventKind.REPLY, body={"text": text}))
    (event,) = await shop.store.inbox.take(20)
    move = incoming(event, shop.desk.agent(task.agent))
    await shop.store.tasks.change(task.ref, move, Need(event=key))
