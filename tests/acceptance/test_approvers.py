"""Rules about who approves, at the click and at the run: a card in a group, people who come and go."""

from typing import Any

import pytest

from core.calls import CallState, Outcome
from core.errors import NotYourDecision, ParkNotFound
from core.ids import OrgId, PersonId
from core.parks import Choice, DecisionKind, ParkKind, ParkState
from core.people import Person, Role
from core.roster import Add, Remove, RosterChange, SetRoles, SetRule
from core.tasks import TaskState
from core.testing import calls, says
from tests.acceptance.shop import (
    NOTE,
    NOTE_SCRIPT,
    ORG,
    REFUND_SCRIPT,
    REFUNDED,
    U1,
    U2,
    U9,
    Shop,
    Street,
    results,
)

VOID = "Void, not run: who approved it may no longer approve it."


async def change(shop: Shop, *changes: RosterChange) -> None:
    """U1, the owner, said so."""
    for one in changes:
        await shop.store.people.save(U1, ORG, one, surface="chat")


async def refused(shop: Shop, view: Any, who: Person) -> str:
    """What *who* is told who wants to approve, and may not."""
    with pytest.raises(NotYourDecision) as told:
        await shop.approve(view, who=who)
    return str(told.value)


@pytest.mark.rule("I14", "I15", "I18", "C6")
async def test_s13_the_wrong_person_is_told_so_and_the_right_one_still_approves(street: Street) -> None:
    """Bad inputs 38 and 50."""
    shop = street.open(REFUND_SCRIPT)
    await change(shop, SetRule(what="refund", who=(U1.id, U2.id)))
    task = await shop.parked()
    view = await shop.view(task)

    nobody = "This is not yours to decide: only owners and approvers decide."
    assert await refused(shop, view, U9) == nobody
    await shop.say(task, "approve", by=U9)
    await change(shop, SetRule(what="refund", who=(U1.id,)))
    assert await refused(shop, view, U2) == "This is not yours to decide: U1 may decide this."
    await change(shop, SetRule(what="refund", who=None), Remove(U2.id))
    assert "you have left" in await refused(shop, view, U2)
    stranger = Person(org=OrgId("other"), id=PersonId("p-1"), name="U1", roles=frozenset({Role.OWNER}))
    with pytest.raises(ParkNotFound):
        await shop.find(view.park.token, who=stranger)
    await shop.run()

    story = await shop.story(task)
    assert (story.calls[0].state, story.parks[0].state, shop.effects) == (
        CallState.PARKED,
        ParkState.OPEN,
        [],
    )
    await shop.approve(await shop.find(view.park.token))
    await shop.run()
    assert shop.effects == [REFUNDED]


@pytest.mark.rule("C14", "C15", "I14")
@pytest.mark.parametrize(
    "after",
    [
        [SetRule(what="spend", who=(U1.id,))],
        [SetRoles(U2.id, frozenset({Role.MEMBER}))],
        [Remove(U2.id)],
    ],
    ids=["the rule names another", "a member now", "left"],
)
async def test_what_was_approved_is_void_where_the_approver_may_not_by_the_time_it_runs(
    street: Street, after: list[RosterChange]
) -> None:
    shop = street.open(REFUND_SCRIPT)
    task = await shop.parked()
    await shop.approve(await shop.view(task), who=U2)
    await change(shop, *after)
    await shop.run()
    call = await shop.call(task)
    assert (call.outcome, call.result, shop.effects) == (Outcome.VOID, {"error": VOID}, [])
    assert [told for _, told in results(shop.model.requests[1])] == [f"Error: {VOID}"]


@pytest.mark.rule("C14", "I14")
async def test_without_self_approval_who_asked_may_say_no_and_another_says_yes(street: Street) -> None:
    shop = street.open([calls(("send_note", NOTE)), says("No."), *NOTE_SCRIPT])
    await change(shop, SetRule(what="any", self_approval=False))
    first = await shop.parked()
    view = await shop.view(first)
    words = "This is not yours to decide: you asked for this task yourself; U2 may approve it."
    assert await refused(shop, view, U1) == words
    with pytest.raises(NotYourDecision):
        await shop.edit(view, {"text": "hello"})
    declined = await shop.decline(view, "not now")
    assert (declined.park.decision, declined.park.by_person) == (DecisionKind.DECLINE, U1.id)

    second = await shop.parked()
    await shop.approve(await shop.view(second), who=U2)
    await shop.run()
    assert len(shop.effects) == 1


@pytest.mark.rule("C14", "C23", "I14")
async def test_without_self_approval_who_asked_has_nothing_sent_again(street: Street) -> None:
    shop = street.open(NOTE_SCRIPT)
    task = await shop.parked()
    street.world.raises["send_note"] = ConnectionResetError("reset")
    await shop.approve(await shop.view(task))
    await shop.run()
    await change(shop, SetRule(what="contact", self_approval=False))
    unknown = await shop.view(task, kind=ParkKind.UNKNOWN)
    with pytest.raises(NotYourDecision, match="U2 may approve it"):
        await shop.choose(unknown, Choice.SEND_AGAIN)
    await shop.choose(unknown, Choice.DID_NOT)
    assert (await shop.call(task)).outcome is Outcome.FAILED


@pytest.mark.rule("C14", "I14")
async def test_alone_an_owner_approves_also_where_self_approval_is_off(street: Street) -> None:
    shop = street.open([*REFUND_SCRIPT, *REFUND_SCRIPT])
    await change(shop, SetRule(what="any", self_approval=False), Remove(U2.id))
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()
    assert shop.effects == [REFUNDED]

    late = await shop.parked()
    await shop.approve(await shop.view(late))
    await change(shop, Add(name="U3", roles=frozenset({Role.APPROVER})))  # not alone any more
    await shop.run()
    assert (await shop.call(late)).outcome is Outcome.VOID
    assert (await shop.task(late)).state is TaskState.DONE
