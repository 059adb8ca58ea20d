"""People: whose an account is, who is in an organization, how the first one gets there, and switches."""

import asyncio
from dataclasses import replace

import pytest

from core.audit import AuditEntry, verify
from core.canonical import load
from core.errors import ConfigError, NotYourDecision, SwitchError
from core.gate import Risk, Setting
from core.ids import OrgId, WorkerId
from core.people import Account, Organization, OrgState, Person, Role, Roster, Switch, SwitchMode
from core.queue import MOST_RUNNING
from core.rights import Rights
from core.switches import Choose, Limit, Pause, Practice, Resume, SwitchTo
from core.tasks import Json
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
    assert await people.of(HOME) == Roster(
        organization=Organization(id=HOME, name="Bakery"), people=(ada,), accounts=((ada.id, ADA),)
    )


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


# ── switches ─────────────────────────────────────────────────────────────────────────────────


def facts(entries: list[AuditEntry]) -> list[tuple[str, str | None, Json]]:
    """Who turned a switch from which surface, and what it was and is, in their order."""
    turned = [e for e in entries if e.move == "switch"]
    return [(e.actor, e.surface, load(e.entry)) for e in turned]


@pytest.mark.rule("I34")
async def test_each_turn_of_an_agents_switch_is_written_with_what_it_was_and_is(planted: Planted) -> None:
    org = await planted.organization("a")
    ada = await planted.person(org, Role.OWNER)
    people, ledger = planted.store.people, planted.store.ledger
    turns: list[SwitchTo] = [
        Choose("spend", Setting.ALLOW),
        Choose("refund", Setting.ASK),
        Pause(),
        Practice(on=True),
        Choose("spend", None),
        Resume(),
        Practice(on=False),
    ]
    assert [await people.switch(ada, org, "lead", to, surface="slack") for to in turns] == [1] * 7
    assert await people.switches(org) == (Switch(agent="lead", settings=(("refund", "ask"),)),)

    entries = await ledger.unsealed(org, 99)
    assert verify(AUDIT_KEY, [], entries, await ledger.head(org)).whole
    said = facts(entries)
    assert [(actor, surface) for actor, surface, _ in said] == [(ada.id, "slack")] * 7
    assert {said["agent"] for _, _, said in said} == {"lead"}
    assert [said["after"] for _, _, said in said][:-1] == [said["before"] for _, _, said in said][1:]
    assert said[3][2] == {
        "agent": "lead",
        "before": {"paused": True, "mode": "normal", "settings": {"spend": "allow", "refund": "ask"}},
        "after": {"paused": True, "mode": "observe", "settings": {"spend": "allow", "refund": "ask"}},
    }


async def test_a_pause_keeps_who_paused_and_when_until_it_is_over(planted: Planted) -> None:
    org = await planted.organization("a")
    ada, eve = await planted.person(org, Role.OWNER), await planted.person(org, Role.OWNER)
    people = planted.store.people
    before = await planted.now()
    await people.switch(ada, org, "lead", Pause())
    await people.switch(eve, org, "lead", Practice(on=True))
    row = await planted.row("switches")
    assert row["paused_by"] == ada.id
    assert before <= row["paused_at"] <= await planted.now()
    await people.switch(eve, org, "lead", Resume())
    row = await planted.row("switches")
    assert (row["paused_by"], row["paused_at"]) == (None, None)


async def test_a_switch_that_stands_so_already_writes_nothing(planted: Planted) -> None:
    org = await planted.organization("a")
    ada = await planted.person(org, Role.OWNER)
    people = planted.store.people
    for to in (Resume(), Practice(on=False), Choose("spend", None)):
        assert await people.switch(ada, org, "lead", to) == 0
        assert await people.switch(ada, org, None, Resume()) == 0
    assert [await people.switch(ada, org, "lead", Pause()) for _ in range(2)] == [1, 0]
    assert [await people.switch(ada, org, None, Pause()) for _ in range(2)] == [1, 0]
    assert await planted.count("audit") == 2


@pytest.mark.rule("I34")
async def test_an_organization_is_paused_and_resumed_and_has_no_settings(
    planted: Planted,
) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    ada = await planted.person(org, Role.OWNER)
    people, ledger = planted.store.people, planted.store.ledger
    assert await people.switch(ada, org, None, Pause()) == 1
    assert (await people.of(org)).organization.state is OrgState.PAUSED
    assert (await people.of(other)).organization.state is OrgState.ACTIVE
    assert await people.switch(ada, org, None, Resume()) == 1
    assert (await people.of(org)).organization.state is OrgState.ACTIVE
    active, paused = ({"state": state, "max_running": None} for state in ("active", "paused"))
    assert [said for _, _, said in facts(await ledger.unsealed(org, 9))] == [
        {"agent": None, "before": active, "after": paused},
        {"agent": None, "before": paused, "after": active},
    ]
    for to in (Practice(on=True), Choose("spend", Setting.ASK)):
        with pytest.raises(SwitchError, match="practice and settings are an agent's"):
            await people.switch(ada, org, None, to)


@pytest.mark.rule("I34")
async def test_a_limit_is_the_organizations_and_is_lifted_by_none(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    ada = await planted.person(org, Role.OWNER)
    people, ledger = planted.store.people, planted.store.ledger
    turns = [Limit(3), Limit(3), Limit(None), Limit(None)]
    assert [await people.switch(ada, org, None, to, surface="slack") for to in turns] == [1, 0, 1, 0]
    assert await people.switch(ada, org, None, Limit(MOST_RUNNING)) == 1
    assert (await people.of(org)).organization.max_running == MOST_RUNNING
    assert (await people.of(other)).organization.max_running is None
    assert [said["after"] for _, _, said in facts(await ledger.unsealed(org, 9))] == [
        {"state": "active", "max_running": limit} for limit in (3, None, MOST_RUNNING)
    ]
    for wrong in (0, -1, MOST_RUNNING + 1):
        with pytest.raises(SwitchError, match="from 1 to"):
            await people.switch(ada, org, None, Limit(wrong))
    with pytest.raises(SwitchError, match="the organization's"):
        await people.switch(ada, org, "lead", Limit(3))
    assert await planted.count("audit") == 3


@pytest.mark.rule("T2")
async def test_what_an_owner_limits_is_what_the_queue_claims(planted: Planted) -> None:
    org = await planted.organization("a")
    ada = await planted.person(org, Role.OWNER)
    for _ in range(4):
        await planted.task(org)
    await planted.store.people.switch(ada, org, None, Limit(2))
    queue = planted.store.queue
    assert len(await queue.claim(WorkerId("w"), 4, 60)) == 2
    await planted.store.people.switch(ada, org, None, Limit(3))
    await queue.recover(9)
    assert len(await queue.claim(WorkerId("w"), 4, 60)) == 1


@pytest.mark.rule("I14", "I18")
async def test_only_an_owner_by_the_row_of_today_switches(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    ada = await planted.person(org, Role.OWNER)
    approver = await planted.person(org, Role.APPROVER, Role.MEMBER)
    left = await planted.person(org, Role.OWNER, left=True)
    foreign = await planted.person(other, Role.OWNER)
    was = await planted.person(org, Role.MEMBER)
    claims = replace(was, roles=frozenset({Role.OWNER}))
    people = planted.store.people
    for who in (approver, left, foreign, claims, replace(foreign, org=org), replace(ada, org=other)):
        for agent in ("lead", None):
            with pytest.raises(NotYourDecision):
                await people.switch(who, org, agent, Pause())
    with pytest.raises(NotYourDecision):
        await people.switch(ada, OrgId("nowhere"), "lead", Pause())
    assert await planted.count("audit") == 0
    assert await planted.count("switches") == 0


@pytest.mark.rule("I18")
async def test_a_switch_is_of_one_organization(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    people = planted.store.people
    await people.switch(await planted.person(org, Role.OWNER), org, "lead", Pause())
    assert await people.switches(other) == ()
    await people.switch(await planted.person(other, Role.OWNER), other, "lead", Practice(on=True))
    assert await people.switches(org) == (Switch(agent="lead", paused=True),)


async def test_what_several_owners_turn_at_once_all_holds(planted: Planted) -> None:
    org = await planted.organization("a")
    owners = [await planted.person(org, Role.OWNER) for _ in range(3)]
    people = planted.store.people
    turns: list[SwitchTo] = [Pause(), Practice(on=True), *(Choose(risk, Setting.ASK) for risk in Risk)]
    await asyncio.gather(
        *(people.switch(owners[n % 3], org, "lead", to) for n, to in enumerate(turns)),
    )
    (switch,) = await people.switches(org)
    assert (switch.paused, switch.mode) == (True, SwitchMode.OBSERVE)
    assert dict(switch.settings) == {str(risk): "ask" for risk in Risk}
    assert await planted.count("audit") == len(turns)


# ── the rights of folders ────────────────────────────────────────────────────────────────────

FEW = Rights(tools=("note",), settings=(("spend", "ask"), ("contact", "observe")), hosts=("a.example",))
MORE = Rights(tools=("refund", "note"), settings=(("spend", "allow"),))


@pytest.mark.rule("I18", "I34")
async def test_rights_are_kept_as_seen_and_widened_by_an_owner_each_with_its_entry(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    ada = await planted.person(org, Role.OWNER)
    people, ledger = planted.store.people, planted.store.ledger
    assert await people.rights(org, "lead") is None
    assert await people.keep_rights(org, "lead", None, FEW, digest="d1", actor="worker:w1")
    assert await people.rights(org, "lead") == FEW
    assert await people.accept(ada, org, "lead", FEW, MORE, digest="d2", surface="slack")
    assert await people.rights(org, "lead") == MORE
    assert await people.keep_rights(org, "lead", MORE, FEW, digest="d3", actor="worker:w1")
    assert await people.rights(other, "lead") is None
    assert await people.rights(org, "sam") is None

    entries = await ledger.unsealed(org, 9)
    assert verify(AUDIT_KEY, [], entries, await ledger.head(org)).whole
    assert [(e.actor, e.surface, e.move, e.rule) for e in entries] == [
        ("worker:w1", None, "rights", "first"),
        (ada.id, "slack", "accept", None),
        ("worker:w1", None, "rights", "less"),
    ]
    assert load(entries[1].entry) == {
        "agent": "lead",
        "folder": "d2",
        "before": {
            "tools": ["note"],
            "settings": {"spend": "ask", "contact": "observe"},
            "hosts": ["a.example"],
        },
        "after": {"tools": ["refund", "note"], "settings": {"spend": "allow"}, "hosts": []},
    }


async def test_rights_that_were_changed_meanwhile_are_left(planted: Planted) -> None:
    org = await planted.organization("a")
    ada = await planted.person(org, Role.OWNER)
    people = planted.store.people
    answers = await asyncio.gather(
        *(people.keep_rights(org, "lead", None, FEW, digest="d", actor="worker:w") for _ in range(4))
    )
    assert sorted(answers) == [False, False, False, True]
    assert not await people.accept(ada, org, "lead", MORE, MORE, digest="d")
    assert await people.rights(org, "lead") == FEW
    assert await planted.count("audit") == 1


@pytest.mark.rule("I14")
async def test_only_an_owner_accepts(planted: Planted) -> None:
    org = await planted.organization("a")
    approver = await planted.person(org, Role.APPROVER)
    people = planted.store.people
    await people.keep_rights(org, "lead", None, FEW, digest="d", actor="worker:w")
    with pytest.raises(NotYourDecision):
        await people.accept(approver, org, "lead", FEW, MORE, digest="d")
    assert await people.rights(org, "lead") == FEW
