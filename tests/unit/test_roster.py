"""What owners may change about who is who, and what is refused, with its mend."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.codes import code_digest, new_code
from core.errors import NotYourDecision, RosterError
from core.ids import OrgId, PersonId
from core.names import check_name, listed, named
from core.people import Account, ApprovalRule, Organization, Person, Role, Roster, Route
from core.roster import (
    Add,
    Invite,
    Link,
    Remove,
    RosterChange,
    SetRoles,
    SetRoute,
    SetRule,
    changed,
    check_what,
    joined,
    place_named,
    roster_facts,
    who_named,
)

ORG, NEW = OrgId("org"), PersonId("new")
OWNER, APPROVER, MEMBER = (frozenset({role}) for role in Role)
ADA = Person(org=ORG, id=PersonId("ada"), name="Ada", roles=OWNER)
BEN = Person(org=ORG, id=PersonId("ben"), name="Ben", roles=APPROVER)
GONE = Person(org=ORG, id=PersonId("gone"), name="Gus", roles=OWNER, left=True)
U1, U2 = Account(surface="slack", ref="T1:U1"), Account(surface="slack", ref="T1:U2")
TEAM = Roster(
    organization=Organization(id=ORG, name="Bakery"), people=(ADA, BEN, GONE), accounts=((ADA.id, U1),)
)
EVE = Add(name="Eve", roles=MEMBER)


def after(*changes: RosterChange, team: Roster = TEAM) -> Roster:
    for change in changes:
        team = changed(team, ADA, change, NEW)
    return team


def refused(change: RosterChange, team: Roster = TEAM) -> str:
    with pytest.raises(RosterError) as error:
        changed(team, ADA, change, NEW)
    return str(error.value)


@pytest.mark.rule("I14")
@pytest.mark.parametrize(
    "by",
    [
        BEN,
        GONE,
        replace(BEN, roles=OWNER),
        replace(ADA, org=OrgId("other")),
        Person(org=ORG, id=PersonId("lead"), name="Sam", roles=OWNER),
    ],
    ids=["an approver", "one who left", "one who claims to be", "a foreign one", "an agent"],
)
def test_only_an_owner_of_today_changes_anything(by: Person) -> None:
    changes = (EVE, Remove(BEN.id), SetRule(what="spend", who=(BEN.id,)), SetRoute(agent="", route=None))
    for change in changes:
        with pytest.raises(NotYourDecision):
            changed(TEAM, by, change, NEW)


def test_who_is_added_is_there_with_roles_and_accounts() -> None:
    team = after(Add(name="Eve", roles=MEMBER, accounts=(U2,)))
    assert team.person(NEW) == Person(org=ORG, id=NEW, name="Eve", roles=MEMBER)
    assert team.accounts == ((ADA.id, U1), (NEW, U2))
    assert after(Invite(name="Eve", roles=MEMBER, code_digest="d", seconds=9)).accounts == TEAM.accounts


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "at least one character"),
        (" Eve", "no space around it"),
        ("x" * 81, "longer than 80"),
        ("E\u202eve", "hidden characters"),
        ("Eve\nOwner", "hidden characters"),
        ("B\u0435n", "mixes Cyrillic and Latin letters, which look alike"),
        ("eve@bakery", "has @ in it"),
        ("Eve,Ben", "has , in it"),
        ("Owners", "a word of the commands"),
        ("BEN", "there is a person called BEN already"),
        ("\uff22\uff25\uff2e", "already"),  # BEN in wide letters
    ],
)
def test_a_name_that_misleads_is_refused(name: str, words: str) -> None:
    assert words in refused(replace(EVE, name=name))


@pytest.mark.rule("I14")
def test_no_card_goes_to_somebody_who_has_left() -> None:
    other = SetRoute(agent="", route=Route(surface=U2.surface, ref="C1"))
    own = [
        SetRoute(agent=f"a{n}", route=Route(surface=U2.surface, ref=f"{at}{U2.ref}"))
        for n, at in ((1, ""), (2, "@"))
    ]
    assert after(Link(BEN.id, U2), other, *own, Remove(BEN.id)).routes == after(other).routes


def test_the_mend_for_who_is_no_approver_can_be_typed_and_takes_no_role_away() -> None:
    mary = replace(EVE, name="Mary Ann")
    team = after(mary)
    assert refused(SetRule(what="any", who=(NEW,)), team).endswith("people role 'Mary Ann' approver member")


def test_the_name_of_one_who_left_is_free() -> None:
    assert after(replace(EVE, name="Gus")).person(NEW) is not None
    check_name("Anna-Maria d’Arc", ["Anna"])


def test_a_person_has_a_role() -> None:
    assert refused(replace(EVE, roles=frozenset())).startswith("a person has at least one role: owner")
    assert refused(SetRoles(BEN.id, frozenset())).startswith("a person has at least one role")


@pytest.mark.rule("I14")
def test_the_last_owner_stays_one() -> None:
    words = "Ada is the last owner; make somebody else an owner first"
    assert refused(SetRoles(ADA.id, APPROVER)) == words
    assert refused(Remove(ADA.id)) == words
    two = after(SetRoles(BEN.id, OWNER))
    assert [p.left for p in after(Remove(ADA.id), team=two).people] == [True, False, True]


@pytest.mark.rule("I14")
def test_who_is_removed_has_left_and_their_accounts_are_nobodys() -> None:
    team = after(Link(BEN.id, U2), Remove(BEN.id))
    assert team.person(BEN.id) == replace(BEN, left=True)
    assert team.accounts == ((ADA.id, U1),)
    assert refused(Remove(BEN.id), team) == "this person is not there any more"
    assert refused(Link(GONE.id, U2)) == "this person is not there any more"


@pytest.mark.rule("I14")
def test_an_account_is_one_persons() -> None:
    assert refused(Link(BEN.id, U1)) == "slack:T1:U1 is the account of Ada already"
    assert after(Link(ADA.id, U1)) == TEAM
    left = replace(TEAM, accounts=((GONE.id, U2),))
    assert after(Link(BEN.id, U2), team=left).accounts == ((BEN.id, U2),)
    with pytest.raises(RosterError, match="of Ada already"):
        joined(TEAM, BEN.id, U1)


@pytest.mark.parametrize("spelt", ["slack", "slack:", ":U1", "Slack:U1", "sl4ck:U1", "slack:U\u200b1"])
def test_what_names_no_place_is_refused(spelt: str) -> None:
    with pytest.raises(RosterError):
        place_named(spelt)
    assert place_named("telegram:-100:7") == ("telegram", "-100:7")


def test_a_rule_changes_what_is_said_and_keeps_the_rest() -> None:
    ruled = after(SetRule(what="spend", who=(BEN.id,)), SetRule(what="spend", self_approval=False))
    assert ruled.organization.rules == (ApprovalRule(what="spend", who=(BEN.id,), self_approval=False),)
    assert after(SetRule(what="spend", who=None), team=ruled).organization.rules == (
        ApprovalRule(what="spend", self_approval=False),
    )
    assert after(SetRule(what="spend", who=None, self_approval=None), team=ruled) == TEAM


def test_a_rule_names_people_who_may_decide() -> None:
    eve = after(EVE)
    words = "Eve is no approver yet; say first: python -m bot people role Eve approver member"
    assert refused(SetRule(what="spend", who=(NEW,)), eve) == words
    assert "not there any more" in refused(SetRule(what="spend", who=(GONE.id,)))
    assert "not there any more" in refused(SetRule(what="spend", who=("lead",)))
    assert "not there any more" in refused(SetRule(what="spend", who=("member",)))
    assert "names somebody" in refused(SetRule(what="spend", who=()))
    assert "a rule is about" in refused(SetRule(what="", who=(BEN.id,)))


def test_words_of_a_rule_mean_people_and_roles() -> None:
    assert who_named(TEAM, "ben, ADA") == (BEN.id, ADA.id)
    assert who_named(TEAM, "owners") == ("owner",)
    assert who_named(TEAM, "approver,owners,Ben") == ("approver", "owner", BEN.id)
    assert who_named(TEAM, "default") is None
    with pytest.raises(RosterError, match=r"called Bne \(did you mean Ben\?\); there are Ada and Ben"):
        who_named(TEAM, "Bne")
    with pytest.raises(RosterError, match="nobody here is called Gus"):
        named(TEAM, "Gus")


def test_a_rule_about_nothing_there_is_is_refused_naming_the_nearest() -> None:
    for what in ("any", "spend", "refund"):
        check_what(what, ["refund"])
    with pytest.raises(RosterError, match=r"spnd is neither a risk nor a tool \(did you mean spend\?\)"):
        check_what("spnd", ["refund"])
    with pytest.raises(RosterError, match=r"tools: refund; any is every call"):
        check_what("owner", ["refund"])


def test_routes_are_by_agent_and_dropped_by_none() -> None:
    cards, leads = Route(surface="slack", ref="T1:C1"), Route(surface="console", ref="ada")
    team = after(SetRoute("lead", leads), SetRoute("", cards))
    assert team.routes == (("", cards), ("lead", leads))
    assert after(SetRoute("", None), team=team).routes == (("lead", leads),)
    assert "no surface" in refused(SetRoute("", Route(surface="Slack", ref="C1")))


def test_a_route_names_each_place_once_and_copies_need_a_first_one() -> None:
    cards, leads = Route(surface="slack", ref="T1:C1"), Route(surface="console", ref="ada")
    team = after(SetRoute("lead", leads, (cards,)), SetRoute("", cards))
    assert team.routes == (("", cards), ("lead", leads), ("lead", cards))
    assert (team.places("lead"), team.places(""), team.places("ann")) == ((leads, cards), (cards,), ())
    assert after(SetRoute("lead", cards), team=team).routes == (("", cards), ("lead", cards))
    assert refused(SetRoute("lead", leads, (cards, leads))) == "console:ada is named twice"
    assert "a place that the cards go to first" in refused(SetRoute("lead", None, (cards,)))
    assert "no surface" in refused(SetRoute("lead", cards, (Route(surface="Slack", ref="C1"),)))


@pytest.mark.rule("I14")
def test_where_somebody_has_left_who_cards_went_to_first_they_go_to_the_next_place() -> None:
    other = Route(surface=U2.surface, ref="C1")
    own = Route(surface=U2.surface, ref=f"@{U2.ref}")
    assert after(Link(BEN.id, U2), SetRoute("a", own, (other,)), Remove(BEN.id)).places("a") == (other,)


def test_the_trail_says_what_is_another_now_and_no_code() -> None:
    change = Invite(name="Eve", roles=MEMBER, code_digest="secret", seconds=9)
    told: Mapping[str, Any] = roster_facts(TEAM, after(change), change)
    eve = {"name": "Eve", "roles": ["member"], "left": False}
    assert told == {"change": "invite", "before": {}, "after": {"person new": eve}}
    gone = roster_facts(TEAM, after(SetRoles(BEN.id, OWNER)), SetRoles(BEN.id, OWNER))
    assert gone["before"] == {"person ben": {"name": "Ben", "roles": ["approver"], "left": False}}


def test_long_lists_of_names_are_cut() -> None:
    assert listed([]) == ""
    assert listed(["Ada"]) == "; there is Ada"
    assert listed("abc", most=2) == "; there are a, b and 1 more"


# ── codes ────────────────────────────────────────────────────────────────────────────────────


def test_a_code_is_sixteen_letters_in_groups_and_reads_however_it_is_typed() -> None:
    code = new_code("nonce")
    assert [len(group) for group in code.split("-")] == [4, 4, 4, 4]
    assert code_digest(code) == code_digest(f" {code.lower().replace('-', ' ')}\n")
    assert code_digest(code.replace("O", "0").replace("I", "1").replace("B", "8")) == code_digest(code)
    assert len({new_code(str(n)) for n in range(1000)}) == 1000
    assert code.replace("-", "") not in code_digest(code)
