"""A click has one event of its platform: delivered again it is the same, and it decides one thing only."""

import pytest

from core.agents import Limits
from core.errors import AlreadyDecided, DecisionError
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind, ParkState
from core.testing import ScriptedModel, calls, says
from tests.acceptance.shop import REFUND, U2, Street, agent

TWO = [calls(("refund", REFUND), ("refund", {**REFUND, "order_id": "A2"})), says("Done.")]
APPROVE = Decision(kind=DecisionKind.APPROVE)
ANOTHER = "this click decided something else already"


@pytest.mark.rule("C6")
async def test_an_event_that_decided_one_call_decides_no_other(street: Street) -> None:
    shop = street.open(TWO)
    task = await shop.parked()
    one, other = await shop.view(task, 1), await shop.view(task, 2)
    await shop.decide(one, APPROVE, event_id="click-1")
    with pytest.raises(DecisionError, match=ANOTHER):
        await shop.decide(other, APPROVE, event_id="click-1")
    assert (await shop.view(task, 2)).park.state is ParkState.OPEN
    await shop.decide(other, APPROVE, U2, event_id="click-2")
    with pytest.raises(AlreadyDecided):  # what became of it says more
        await shop.decide(other, APPROVE, event_id="click-1")


@pytest.mark.rule("C6")
async def test_an_event_that_lifted_one_tasks_limit_lifts_no_other(street: Street) -> None:
    reads = [calls(("read_order", {"order_id": "A1"})), says("So far.")]
    shop = street.open(ScriptedModel([*reads, *reads]), sam=agent(limits=Limits(rounds=1)))
    one, other = [await shop.view(await shop.parked(), kind=ParkKind.LIMIT) for _ in range(2)]
    more = Decision(kind=DecisionKind.CHOICE, choice=Choice.MORE_ROUNDS)
    await shop.decide(one, more, event_id="click-1")
    again = await shop.decide(one, more, event_id="click-1")
    assert (again.park.id, again.park.state) == (one.park.id, ParkState.DECIDED)
    with pytest.raises(DecisionError, match=ANOTHER):
        await shop.decide(other, more, event_id="click-1")
