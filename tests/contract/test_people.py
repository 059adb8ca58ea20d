"""People: whose an account is, who is in an organization, and how the first one gets there."""

import asyncio

import pytest

from core.audit import verify
from core.canonical import load
from core.errors import ConfigError
from core.ids import OrgId
from core.people import Account, Organization, Person, Role, Roster
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import Planted

ADA = Account(surface="slack", ref="T1:U1")
HOME = OrgId("home")


@pytest.mark.rule("I14")
async def test_an_account_is_the_persons_it_is_linked_to(planted: Planted) -> None:
    org = await planted.organization("a")
    ada, bob = await planted.person(org, Role.OWNER), await planted.person(org, Role.MEMBER)
    await planted.account(ada, ADA)
    await planted.account(bob, Account(surface="telegram", ref="T1:U1"))
    people = planted.store.people
    assert await people.by_account(ADA) == ada
    assert await people.by_account(Account(surface="slack", ref="T1:U2")) is None


@pytest.mark.rule("I14")
async def test_the_account_of_one_who_left_is_nobodys(planted: Planted) -> None:
    gone = await planted.person(await planted.organization("a"), Role.OWNER, left=True)
    await planted.account(gone, ADA)
    assert await planted.store.people.by_account(ADA) is None


@pytest.mark.rule("I18")
async def test_a_roster_has_the_people_of_one_organization_those_who_left_too(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    stays = await planted.person(org, Role.OWNER, Role.APPROVER)
    left = await planted.person(org, Role.MEMBER, left=True)
    await planted.person(other, Role.OWNER)
    roster = await planted.store.people.of(org)
    assert roster.organization == Organization(id=org, name="A", time_zone="Europe/Riga")
    assert sorted(roster.people, key=lambda person: person.id) == [stays, left]


async def test_there_is_no_roster_of_an_organization_that_is_not_there(planted: Planted) -> None:
    with pytest.raises(LookupError):
        await planted.store.people.of(HOME)


async def test_the_first_owner_founds_the_organization(planted: Planted) -> None:
    people = planted.store.people
    ada = await people.found(HOME, "Bakery", "Ada", ADA)
    assert ada == Person(org=HOME, id=ada.id, name="Ada", roles=frozenset({Role.OWNER}))
    assert await people.by_account(ADA) == ada
    assert await people.of(HOME) == Roster(organization=Organization(id=HOME, name="Bakery"), people=(ada,))


@pytest.mark.rule("I34")
async def test_founding_is_the_trails_first_entry(planted: Planted) -> None:
    ada = await planted.store.people.found(HOME, "Bakery", "Ada", ADA)
    ledger = planted.store.ledger
    (entry,) = await ledger.unsealed(HOME, 9)
    assert (entry.actor, entry.surface, entry.move) == (ada.id, "slack", "found")
    assert load(entry.entry) == {"organization": "Bakery", "owner": "Ada", "account": "T1:U1"}
    assert verify(AUDIT_KEY, [], [entry], await ledger.head(HOME)).whole


async def test_where_an_organization_is_there_nobody_founds_another(planted: Planted) -> None:
    people = planted.store.people
    await people.found(HOME, "Bakery", "Ada", ADA)
    for org in (HOME, OrgId("other")):
        with pytest.raises(ConfigError):
            await people.found(org, "Other", "Eve", Account(surface="slack", ref="T1:U9"))
    assert [row["id"] for row in await planted.table("organizations")] == [HOME]
    assert await planted.count("people") == 1
    assert await planted.count("audit") == 1


async def test_of_many_who_found_at_once_one_does(planted: Planted) -> None:
    people = planted.store.people
    answers = await asyncio.gather(
        *(people.found(OrgId(f"org-{n}"), "Bakery", "Ada", ADA) for n in range(8)), return_exceptions=True
    )
    kinds = sorted(type(answer).__name__ for answer in answers)
    assert kinds == ["ConfigError"] * 7 + ["Person"]
    assert await planted.count("organizations") == 1
