"""Who is who in the database: organizations, changes of their people and rules, and one-time codes."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from core.audit import AuditEntry, verify
from core.canonical import load
from core.codes import code_digest
from core.errors import InSeveral, NotYourDecision, RosterError, StoreError
from core.ids import OrgId, PersonId
from core.people import Account, ApprovalRule, Organization, Person, Role, Roster, Route
from core.ports import BadCode
from core.roster import Add, Invite, Issue, Link, Remove, RosterChange, SetRoles, SetRoute, SetRule
from core.tasks import Json
from core.work import Lost, Need, Work
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import Planted

SHOP = OrgId("shop")
U1, U2 = Account(surface="slack", ref="T1:U1"), Account(surface="slack", ref="T1:U2")
MEMBER, OWNER = frozenset({Role.MEMBER}), frozenset({Role.OWNER})
CODE = code_digest("ABCD-EFGH")
INVITE = Invite(name="Eve", roles=MEMBER, code_digest=CODE, seconds=3600)


async def team(planted: Planted, org: str = "a") -> Person:
    """The owner of a new organization."""
    return await planted.person(await planted.organization(org), Role.OWNER)


async def trail(planted: Planted, org: OrgId) -> list[AuditEntry]:
    """The organization's entries, each signed."""
    entries = await planted.store.ledger.unsealed(org, 99)
    assert verify(AUDIT_KEY, [], entries, await planted.store.ledger.head(org)).whole
    return entries


# ── organizations ────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_any_number_of_organizations_are_created_each_with_an_owner_who_joins(planted: Planted) -> None:
    people = planted.store.people
    made = [Organization(id=OrgId(name), name=name, time_zone="Europe/Riga") for name in ("Bakery", "Shop")]
    owners = [await people.create(o, "Ada", code_digest(o.name), 60, actor="operator:root") for o in made]
    for organization, owner in zip(made, owners, strict=True):
        assert owner == Person(org=organization.id, id=owner.id, name="Ada", roles=OWNER)
        assert await people.of(organization.id) == Roster(organization=organization, people=(owner,))
        (entry,) = await trail(planted, organization.id)
        assert (entry.actor, entry.move) == ("operator:root", "create")
        assert await people.join(code_digest(organization.name), U1) == owner
    assert await people.everywhere(U1) == tuple(owners)


async def test_an_organizations_name_is_one_that_people_can_tell_apart(planted: Planted) -> None:
    people = planted.store.people
    await people.create(Organization(id=SHOP, name="Shop"), "Ada", CODE, 60, actor="operator:root")
    for name, owner in (("SHOP", "Ada"), ("a@b", "Ada"), ("", "Ada"), ("Other", "Ada\u202e")):
        with pytest.raises(RosterError):
            wrong = Organization(id=OrgId("other"), name=name)
            await people.create(wrong, owner, code_digest("x"), 60, actor="operator:root")
    assert [row["id"] for row in await planted.table("organizations")] == [SHOP]
    assert await planted.count("audit") == 1


async def test_of_many_who_create_one_name_at_once_one_does(planted: Planted) -> None:
    people = planted.store.people
    answers = await asyncio.gather(
        *(
            people.create(
                Organization(id=OrgId(f"o{n}"), name="Shop"), "Ada", f"d{n}", 60, actor="operator:r"
            )
            for n in range(6)
        ),
        return_exceptions=True,
    )
    assert sorted(type(a).__name__ for a in answers) == ["Person"] + ["RosterError"] * 5


@pytest.mark.rule("I14", "I18")
async def test_an_account_of_several_organizations_is_nobody_until_it_is_said_where(planted: Planted) -> None:
    ada, eve = await team(planted, "a"), await team(planted, "b")
    people = planted.store.people
    await planted.account(ada, U1)
    await planted.account(eve, U1)
    with pytest.raises(InSeveral):
        await people.by_account(U1)
    assert [await people.by_account(U1, org) for org in (ada.org, eve.org, OrgId("c"))] == [ada, eve, None]
    assert await people.everywhere(U1) == (ada, eve)
    await people.save(ada, ada.org, SetRoles((await planted.person(ada.org)).id, OWNER))
    await people.save(ada, ada.org, Remove(ada.id))
    assert await people.by_account(U1) == eve


# ── changes ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_every_change_is_written_with_who_made_it_and_what_it_was_and_is(planted: Planted) -> None:
    ada = await team(planted)
    people, org = planted.store.people, ada.org
    ben = (await people.save(ada, org, Add(name="Ben", roles=MEMBER, accounts=(U2,)))).people[-1]
    cards = Route(surface="slack", ref="T1:C1")
    changes: list[RosterChange] = [
        SetRoles(ben.id, frozenset({Role.APPROVER})),
        Link(ada.id, U1),
        SetRule(what="spend", who=(ben.id, "owner"), self_approval=False),
        SetRoute("lead", cards),
        SetRoute("", cards),
        SetRoute("lead", replace(cards, ref="T1:C2")),
        SetRule(what="spend", self_approval=None),
        Remove(ben.id),
        SetRoute("", None),
    ]
    answers = [await people.save(ada, org, change, surface="slack") for change in changes]
    assert await people.of(org) == answers[-1]
    assert answers[-1] == Roster(
        organization=replace(
            answers[-1].organization, rules=(ApprovalRule(what="spend", who=(ben.id, "owner")),)
        ),
        people=tuple(
            sorted((ada, replace(ben, roles=frozenset({Role.APPROVER}), left=True)), key=lambda p: p.id)
        ),
        accounts=((ada.id, U1),),
        routes=(("lead", Route(surface="slack", ref="T1:C2")),),
    )
    entries = await trail(planted, org)
    assert [(e.actor, e.move) for e in entries] == [(ada.id, "roster")] * 10
    told: list[Json] = [load(e.entry) for e in entries]
    assert [facts["change"] for facts in told] == (
        ["add", "roles", "link", "rule", "route", "route", "route", "rule", "remove", "route"]
    )
    assert told[7] == {
        "change": "rule",
        "before": {
            "rule spend": {"what": "spend", "who": [ben.id, "owner"], "self_approval": False},
        },
        "after": {"rule spend": {"what": "spend", "who": [ben.id, "owner"], "self_approval": None}},
    }


@pytest.mark.rule("I34")
async def test_cards_go_to_several_places_in_the_order_said(planted: Planted) -> None:
    ada = await team(planted)
    people, org = planted.store.people, ada.org
    ops, flood, home = (
        Route(surface=surface, ref=ref)
        for surface, ref in (("slack", "T1/C1"), ("telegram", "-100"), ("console", "ada"))
    )
    await people.save(ada, org, SetRoute("", home))
    await people.save(ada, org, SetRoute("lead", ops, (flood, home)))
    saved = await people.save(ada, org, SetRoute("lead", flood, (ops, home)))
    assert saved.routes == (("", home), ("lead", flood), ("lead", ops), ("lead", home))
    assert await people.of(org) == saved
    assert await people.save(ada, org, SetRoute("lead", flood, (ops, home))) == saved
    facts: Json = load((await trail(planted, org))[-1].entry)
    first, second, third = ({"surface": r.surface, "ref": r.ref} for r in (flood, ops, home))
    assert facts["after"] == {"route lead": {**first, "also": [second, third]}}
    assert facts["before"] == {"route lead": {**second, "also": [first, third]}}
    assert len(await trail(planted, org)) == 3
    fewer = await people.save(ada, org, SetRoute("lead", flood))
    assert fewer.routes == (await people.of(org)).routes == (("", home), ("lead", flood))
    gone = await people.save(ada, org, SetRoute("lead", None))
    assert gone.routes == (await people.of(org)).routes == (("", home),)


async def test_a_change_that_changes_nothing_writes_nothing(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    before = await people.of(ada.org)
    for change in (SetRoles(ada.id, OWNER), SetRule(what="spend", who=None), SetRoute("", None)):
        assert await people.save(ada, ada.org, change) == before
    assert await planted.count("audit") == 0


@pytest.mark.rule("I14", "I18")
async def test_only_an_owner_by_the_rows_of_today_changes_who_is_who(planted: Planted) -> None:
    ada, foreign = await team(planted, "a"), await team(planted, "b")
    approver = await planted.person(ada.org, Role.APPROVER)
    left = await planted.person(ada.org, Role.OWNER, left=True)
    people = planted.store.people
    before = await people.of(ada.org)
    for who in (approver, left, foreign, replace(approver, roles=OWNER), replace(foreign, org=ada.org)):
        for change in (INVITE, Remove(ada.id), SetRule(what="spend", who=(approver.id,))):
            with pytest.raises(NotYourDecision):
                await people.save(who, ada.org, change)
    with pytest.raises(NotYourDecision):
        await people.save(ada, OrgId("nowhere"), INVITE)
    with pytest.raises(RosterError):  # a foreign id answers like an unknown one
        await people.save(ada, ada.org, Remove(foreign.id))
    assert await people.of(ada.org) == before
    assert (await planted.count("audit"), await planted.count("join_codes")) == (0, 0)


@pytest.mark.rule("I14")
async def test_two_owners_who_remove_each_other_at_once_leave_one(planted: Planted) -> None:
    ada = await team(planted)
    eve = await planted.person(ada.org, Role.OWNER)
    people = planted.store.people
    answers = await asyncio.gather(
        people.save(ada, ada.org, Remove(eve.id)),
        people.save(eve, ada.org, Remove(ada.id)),
        return_exceptions=True,
    )
    assert sorted(type(a).__name__ for a in answers) == ["NotYourDecision", "Roster"]
    assert [p.left for p in (await people.of(ada.org)).people].count(False) == 1


async def test_of_many_who_take_one_name_at_once_one_has_it(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    change = Add(name="Ben", roles=MEMBER)
    answers = await asyncio.gather(
        *(people.save(ada, ada.org, change) for _ in range(5)), return_exceptions=True
    )
    assert sorted(type(a).__name__ for a in answers) == ["Roster"] + ["RosterError"] * 4
    assert await planted.count("people") == 2


@pytest.mark.rule("C15", "I14")
async def test_a_task_is_changed_with_the_rules_of_its_organization_at_hand(planted: Planted) -> None:
    ada = await team(planted)
    task = await planted.task(ada.org)
    saved = await planted.store.people.save(ada, ada.org, SetRule(what="spend", who=("owner",)))

    def look(work: Work, at: datetime) -> tuple[Lost, Roster | None]:
        return Lost(why="only looked"), work.roster

    roster = await planted.store.tasks.change(task.ref, look, Need(roster=True))
    assert roster is not None and roster == saved
    assert roster.organization.rules == (ApprovalRule(what="spend", who=("owner",)),)


# ── codes ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I14", "I34")
async def test_a_code_links_one_account_once(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    eve = (await people.save(ada, ada.org, INVITE)).people[-1]
    assert await people.by_account(U1) is None
    assert await people.join(code_digest("WRONG"), U1) == BadCode()
    assert await people.join(CODE, U1) == eve
    assert await people.join(CODE, U2) == BadCode()
    assert await people.by_account(U1) == eve
    assert (await people.of(ada.org)).accounts == ((eve.id, U1),)
    entries = await trail(planted, ada.org)
    assert [(e.actor, e.surface, e.move) for e in entries] == [
        (ada.id, None, "roster"),
        (eve.id, "slack", "join"),
    ]
    assert load(entries[-1].entry) == {"account": "slack:T1:U1"}
    assert CODE not in "".join(e.entry for e in entries)


@pytest.mark.rule("I14", "I34")
async def test_another_code_voids_the_one_before(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    eve = (await people.save(ada, ada.org, INVITE)).people[-1]
    again = code_digest("WXYZ")
    await people.save(ada, ada.org, Issue(eve.id, again, 60))
    assert await people.join(CODE, U1) == BadCode()
    assert await people.join(again, U1) == eve
    told = load((await trail(planted, ada.org))[1].entry)
    assert told == {"change": "code", "person": eve.id, "before": {}, "after": {}}
    with pytest.raises(RosterError):
        await people.save(ada, ada.org, Issue(PersonId("nobody"), code_digest("V"), 60))


async def test_of_many_who_use_a_code_at_once_one_is_linked(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    await people.save(ada, ada.org, INVITE)
    accounts = [Account(surface="slack", ref=f"T1:U{n}") for n in range(6)]
    answers = await asyncio.gather(*(people.join(CODE, account) for account in accounts))
    assert sorted(type(a).__name__ for a in answers) == ["BadCode"] * 5 + ["Person"]
    assert await planted.count("accounts") == 1


async def test_a_code_runs_out_by_the_databases_time(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    await people.save(ada, ada.org, INVITE)
    code = await planted.row("join_codes")
    assert timedelta(minutes=59) < code["expires_at"] - await planted.now() <= timedelta(hours=1)
    await planted.update("join_codes", {"expires_at": await planted.now()}, digest=CODE)
    assert await people.join(CODE, U1) == BadCode()
    assert (await planted.row("join_codes"))["used_at"] is None


@pytest.mark.rule("I14")
async def test_the_code_of_one_who_left_is_as_good_as_none(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    eve = (await people.save(ada, ada.org, INVITE)).people[-1]
    await people.save(ada, ada.org, Remove(eve.id))
    assert await people.join(CODE, U1) == BadCode()
    assert await people.by_account(U1) is None


async def test_a_code_is_still_good_where_the_account_is_somebody_elses(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    await planted.account(ada, U1)
    eve = (await people.save(ada, ada.org, INVITE)).people[-1]
    with pytest.raises(RosterError, match="already"):
        await people.join(CODE, U1)
    assert await people.join(CODE, U2) == eve


async def test_nobody_is_invited_by_a_code_that_is_somebody_elses(planted: Planted) -> None:
    ada = await team(planted)
    people = planted.store.people
    await people.save(ada, ada.org, INVITE)
    with pytest.raises(StoreError):
        await people.save(ada, ada.org, replace(INVITE, name="Mallory"))
    assert "Mallory" not in [p.name for p in (await people.of(ada.org)).people]
