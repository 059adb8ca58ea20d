"""Who may decide what: the rules of an organization, its people as they are today, and self-approval."""

from dataclasses import replace
from typing import Any

import pytest

from core.approvers import deciders, lets_run, may_decide, said_of, why_not
from core.ids import OrgId, PersonId
from core.parks import Choice, DecisionKind
from core.people import ANY, ApprovalRule, Organization, Person, Role, Roster
from tests.contract import factories

ORG = OrgId("org")


def person(name: str, *roles: Role, left: bool = False) -> Person:
    return Person(org=ORG, id=PersonId(f"id-{name}"), name=name, roles=frozenset(roles), left=left)


ADA, BEN, EVE = person("Ada", Role.OWNER), person("Ben", Role.APPROVER), person("Eve", Role.MEMBER)
CLEO = person("Cleo", Role.OWNER, Role.APPROVER)
REFUND = factories.call(org=ORG, tool="refund", risk="spend")


def roster(*rules: ApprovalRule, people: tuple[Person, ...] = (ADA, BEN, EVE)) -> Roster:
    return Roster(organization=Organization(id=ORG, name="Bakery", rules=rules), people=people)


def rule(what: str, *who: Person | Role, own: bool | None = None) -> ApprovalRule:
    ids = tuple(str(one) if isinstance(one, Role) else one.id for one in who)
    return ApprovalRule(what=what, who=ids or None, self_approval=own)


def names(at: Roster, *, to_run: bool = False, asked: Person | None = ADA, **over: Any) -> list[str]:
    """Who may decide the refund that *asked* had asked for."""
    task = factories.task(org=ORG, requester=None if asked is None else asked.id)
    park, call = factories.park(org=ORG, **over), REFUND
    return [p.name for p in at.people if may_decide(at, p.id, task, park, call, to_run=to_run)]


@pytest.mark.rule("I14")
def test_without_a_rule_owners_and_approvers_decide_and_may_approve_what_they_asked_for() -> None:
    assert names(roster()) == names(roster(), to_run=True) == ["Ada", "Ben"]
    assert names(roster(), to_run=True, asked=None) == ["Ada", "Ben"]


@pytest.mark.rule("I14")
def test_the_narrowest_rule_that_says_who_holds() -> None:
    rules = [rule(ANY, ADA), rule("spend", BEN), rule("refund", Role.OWNER, own=False)]
    assert names(roster(*rules)) == ["Ada"]
    assert names(roster(*rules[:2])) == ["Ben"]
    assert names(roster(*rules[:1])) == ["Ada"]
    assert names(roster(rule("contact", ADA), rule("mail", ADA))) == ["Ada", "Ben"]


def test_each_attribute_is_of_the_narrowest_rule_that_says_it() -> None:
    rules = (rule("refund", own=False), rule("spend", BEN), rule(ANY, ADA, own=True))
    said = said_of(roster(*rules).organization, REFUND)
    assert said == ApprovalRule(what="refund", who=(BEN.id,), self_approval=False)
    assert said_of(roster(*rules).organization, None) == ApprovalRule(
        what=ANY, who=(ADA.id,), self_approval=True
    )


@pytest.mark.rule("I14")
def test_an_owner_whom_a_rule_does_not_name_does_not_decide() -> None:
    at = roster(rule("spend", BEN))
    assert names(at) == ["Ben"]
    assert why(at, ADA) == "Ben may decide this"


@pytest.mark.rule("I14")
@pytest.mark.parametrize(
    "ben",
    [replace(BEN, left=True), replace(BEN, roles=frozenset({Role.MEMBER})), replace(BEN, org=OrgId("x"))],
    ids=["left", "a member now", "another organization's"],
)
def test_where_nobody_a_rule_names_may_act_the_owners_do(ben: Person) -> None:
    people = tuple(p for p in (ADA, ben, CLEO, EVE) if p.org == ORG)
    assert names(roster(rule("spend", BEN), people=people)) == ["Ada", "Cleo"]
    assert names(roster(rule("spend", Role.APPROVER), people=(ADA, EVE))) == ["Ada"]


@pytest.mark.rule("I14")
def test_a_member_decides_nothing_whatever_a_rule_says() -> None:
    at = roster(rule("spend", EVE, BEN), rule(ANY, Role.MEMBER))
    assert names(at) == ["Ben"]
    assert why(at, EVE) == "only owners and approvers decide"


@pytest.mark.rule("I14", "I18")
def test_who_is_not_of_the_organization_or_has_left_decides_nothing() -> None:
    at = roster(people=(ADA, replace(BEN, left=True)))
    assert why(at, BEN) == "you have left this organization"
    assert why(at, person("Mallory", Role.OWNER)) == "you are not of this organization"
    foreign = replace(at, organization=replace(at.organization, id=OrgId("other")))
    assert why(foreign, ADA) == "you are not of this organization"
    assert why(at, Person(org=ORG, id=PersonId("lead"), name="Sam", roles=frozenset(Role))) is not None


@pytest.mark.rule("I14")
def test_a_parks_own_approvers_come_before_every_rule() -> None:
    assert names(roster(rule("refund", BEN)), approvers=(ADA.id,)) == ["Ada"]
    gone = roster(people=(ADA, replace(BEN, left=True)))
    assert names(gone, approvers=(BEN.id,)) == ["Ada"]


@pytest.mark.rule("I14")
def test_without_self_approval_who_asked_may_decline_and_another_approves() -> None:
    at = roster(rule("spend", own=False))
    assert names(at, to_run=True) == ["Ben"]
    assert names(at, to_run=True, asked=BEN) == ["Ada"]
    assert names(at) == names(at, to_run=True, asked=EVE) == ["Ada", "Ben"]
    assert why(at, ADA, to_run=True) == "you asked for this task yourself; Ben may approve it"


@pytest.mark.rule("I14")
def test_without_self_approval_the_owners_stand_in_for_the_only_one_a_rule_names() -> None:
    at = roster(rule("spend", BEN, own=False))
    assert names(at, to_run=True, asked=BEN) == ["Ada"]
    assert names(at, to_run=True, asked=ADA) == ["Ben"]


@pytest.mark.rule("I14")
def test_self_approval_is_on_where_nobody_else_could_approve() -> None:
    off = rule(ANY, own=False)
    assert names(roster(off, people=(ADA, EVE)), to_run=True) == ["Ada"]
    assert names(roster(off, people=(ADA, replace(BEN, left=True))), to_run=True) == ["Ada"]
    only_owners = rule(ANY, Role.OWNER, own=False)  # Ben is not let in where the rule kept him out
    assert names(roster(only_owners), to_run=True) == ["Ada"]


def test_only_what_lets_a_call_run_is_an_approval() -> None:
    runs = {kind for kind in DecisionKind if lets_run(kind)}
    assert runs == {DecisionKind.APPROVE, DecisionKind.EDIT}
    chosen = {choice for choice in Choice if lets_run(DecisionKind.CHOICE, choice)}
    assert chosen == {Choice.SEND_AGAIN}


def test_there_is_always_somebody_who_decides() -> None:
    for rules in ([], [rule("refund", BEN)], [rule(ANY, EVE)], [rule("spend", person("X"), own=False)]):
        at = roster(*rules, people=(ADA,))
        assert deciders(at, factories.park(org=ORG), REFUND) == [ADA]
        assert names(at, to_run=True) == ["Ada"]


def why(at: Roster, who: Person, *, to_run: bool = False) -> str | None:
    task = factories.task(org=ORG, requester=ADA.id)
    said = why_not(at, who.id, task, factories.park(org=ORG), REFUND, to_run=to_run)
    return said and said.removeprefix("This is not yours to decide: ").removesuffix(".")
