"""What owners change about who is who: people, roles, accounts, approval rules, and where cards go.

Pure: a store reads the roster under its lock, asks `changed`, and writes the difference. Only people call
it: nothing here is a tool, so no agent changes who decides about it (threats.md S9).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from shlex import quote
from typing import Final, TypeAlias, assert_never

from core.errors import InSeveral, NotYourDecision, RosterError
from core.gate import Risk
from core.ids import PersonId
from core.names import LONGEST_NAME, check_name, named
from core.nearest import nearest
from core.people import ANY, Account, ApprovalRule, Organization, Person, Role, Roster, Route
from core.tasks import Json
from core.visible import visible

LONGEST_REF: Final = 200
"""Of an account or a place on a surface, as surfaces name them."""

DECIDING: Final = (Role.OWNER, Role.APPROVER)
"""Roles that a rule may name."""


class Kept(Enum):
    """What a change says nothing about."""

    KEPT = "kept"


KEPT: Final = Kept.KEPT


@dataclass(frozen=True, kw_only=True, slots=True)
class Add:
    """Somebody whose accounts are known already."""

    name: str
    roles: frozenset[Role]
    accounts: tuple[Account, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Invite:
    """Somebody who links an account by a code that is good once, for *seconds*."""

    name: str
    roles: frozenset[Role]
    code_digest: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Issue:
    """Another code for somebody who is there; any that they have and did not use is void."""

    person: PersonId
    code_digest: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SetRoles:
    person: PersonId
    roles: frozenset[Role]


@dataclass(frozen=True, slots=True)
class Remove:
    """They have left: their name stays in what they decided, no account is theirs, no cards go there."""

    person: PersonId


@dataclass(frozen=True, slots=True)
class Link:
    """*account* is theirs, too."""

    person: PersonId
    account: Account


@dataclass(frozen=True, kw_only=True, slots=True)
class SetRule:
    """Who approves calls of *what*, and whether whoever asked may; None: this rule does not say."""

    what: str
    who: tuple[str, ...] | Kept | None = KEPT
    self_approval: bool | Kept | None = KEPT


@dataclass(frozen=True, slots=True)
class SetRoute:
    """Where the cards of *agent* go, of ``""`` those of all without their own; None: to the task's thread.

    *also*: where copies of them go.
    """

    agent: str
    route: Route | None
    also: tuple[Route, ...] = ()


RosterChange: TypeAlias = Add | Invite | Issue | SetRoles | Remove | Link | SetRule | SetRoute


def changed(roster: Roster, by: Person, change: RosterChange, new: PersonId) -> Roster:
    """*roster* with the one thing that *change* says; *new*: the id of whom it adds.

    Raises NotYourDecision where *by* is no owner by *roster*, RosterError with the mend where it can't be.
    """
    check_owner(roster, by)
    match change:
        case Add():
            return _linked(_with(roster, new, change.name, change.roles), new, change.accounts)
        case Invite():
            return _with(roster, new, change.name, change.roles)
        case Issue():
            _present(roster, change.person)
            return roster
        case SetRoles():
            was = _present(roster, change.person)
            return _kept_owner(roster, replace(was, roles=_some(change.roles)))
        case Remove():
            gone = replace(_present(roster, change.person), left=True)
            links = tuple((person, a) for person, a in roster.accounts if person != gone.id)
            own = {
                Route(surface=a.surface, ref=ref) for a in _held(roster, gone) for ref in (a.ref, f"@{a.ref}")
            }
            routes = tuple((agent, route) for agent, route in roster.routes if route not in own)
            return replace(_kept_owner(roster, gone), accounts=links, routes=routes)
        case Link():
            return _linked(roster, _present(roster, change.person).id, (change.account,))
        case SetRule():
            return replace(roster, organization=_ruled(roster, change))
        case SetRoute():
            kept = tuple((agent, route) for agent, route in roster.routes if agent != change.agent)
            named = [(change.agent, route) for route in _places(change)]
            return replace(roster, routes=tuple(sorted((*kept, *named), key=_first)))
        case _:
            assert_never(change)


def joined(roster: Roster, person: PersonId, account: Account) -> Roster:
    """*roster* with *account* linked to *person*, who had a code for it. Raises RosterError."""
    return _linked(roster, _present(roster, person).id, (account,))


def check_founding(organization: Organization, owner: str, others: Iterable[str]) -> None:
    """It can exist beside those called *others*, under an *owner* of that name. Raises RosterError."""
    check_name(organization.name, others, "organization")
    check_name(owner, ())


def only(found: Iterable[Person]) -> Person | None:
    """The one of *found*; None of nobody. Raises InSeveral where there is one in each of several places."""
    people = tuple(found)
    if len(people) > 1:
        raise InSeveral
    return people[0] if people else None


def check_owner(roster: Roster, by: Person) -> None:
    """*by* is an owner of this organization as its roster says today. Raises NotYourDecision (I14, I18)."""
    today = roster.person(by.id)
    if today is None or by.org != roster.organization.id or today.left or Role.OWNER not in today.roles:
        raise NotYourDecision("only an owner may change who is who")


# ── people ───────────────────────────────────────────────────────────────────────────────────


def _with(roster: Roster, new: PersonId, name: str, roles: frozenset[Role]) -> Roster:
    check_name(name, (person.name for person in roster.people if not person.left))
    person = Person(org=roster.organization.id, id=new, name=name, roles=_some(roles))
    return replace(roster, people=tuple(sorted((*roster.people, person), key=lambda p: p.id)))


def _some(roles: frozenset[Role]) -> frozenset[Role]:
    if not roles:
        raise RosterError(f"a person has at least one role: {', '.join(Role)}")
    return roles


def _present(roster: Roster, person_id: PersonId) -> Person:
    person = roster.person(person_id)
    if person is None or person.left:
        raise RosterError("this person is not there any more")
    return person


def _kept_owner(roster: Roster, now: Person) -> Roster:
    """*roster* with *now* in place of who they were, an owner still being there."""
    people = tuple(now if person.id == now.id else person for person in roster.people)
    if not any(Role.OWNER in person.roles and not person.left for person in people):
        raise RosterError(f"{now.name} is the last owner; make somebody else an owner first")
    return replace(roster, people=people)


# ── accounts and places ──────────────────────────────────────────────────────────────────────


def _linked(roster: Roster, person: PersonId, accounts: Iterable[Account]) -> Roster:
    there = {p.id for p in roster.people if not p.left}
    holders = {account: holder for holder, account in roster.accounts if holder in there}
    for account in accounts:
        _check_place(account.surface, account.ref)
        holder = holders.get(account, person)
        if holder != person:
            shown = f"{account.surface}:{account.ref}"
            raise RosterError(f"{shown} is the account of {roster.name(holder)} already")
        holders[account] = person
    links = sorted(holders.items(), key=lambda link: (link[0].surface, link[0].ref))
    return replace(roster, accounts=tuple((holder, account) for account, holder in links))


def _held(roster: Roster, person: Person) -> list[Account]:
    return [account for holder, account in roster.accounts if holder == person.id]


def place_named(text: str) -> tuple[str, str]:
    """The surface and the name on it that ``surface:name`` spells. Raises RosterError."""
    surface, colon, ref = text.strip().partition(":")
    if not colon or not surface or not ref:
        shown = visible(text[:LONGEST_REF])
        raise RosterError(f"{shown} names no surface; write surface:name, as in people list")
    _check_place(surface, ref)
    return surface, ref


def _check_place(surface: str, ref: str) -> None:
    word = surface.isascii() and surface.isalpha() and surface.islower()
    if not word or len(surface) > LONGEST_NAME:
        shown = visible(surface[:LONGEST_NAME])
        raise RosterError(f"{shown} is no surface: each is a word in small letters, as in people list")
    if not ref.strip() or len(ref) > LONGEST_REF or visible(ref) != ref:
        raise RosterError(f"{surface}:{visible(ref[:LONGEST_REF])} is no name there; copy it whole")


def _places(change: SetRoute) -> tuple[Route, ...]:
    """Those that *change* names, in order. Raises RosterError."""
    if change.route is None:
        if change.also:
            raise RosterError("copies of cards need a place that the cards go to first")
        return ()
    places = (change.route, *change.also)
    for n, route in enumerate(places):
        _check_place(route.surface, route.ref)
        if route in places[:n]:
            raise RosterError(f"{route.surface}:{route.ref} is named twice")
    return places


def _first(pair: tuple[str, Route]) -> str:
    return pair[0]


# ── rules ────────────────────────────────────────────────────────────────────────────────────


def check_what(what: str, tools: Collection[str]) -> None:
    """A rule may be about *what*: a risk, one of *tools*, or any. Raises RosterError with the nearest."""
    risks = [str(risk) for risk in Risk]
    if what not in {ANY, *risks, *tools}:
        near = nearest(what, [ANY, *risks, *tools])
        tools_said = ", ".join(sorted(tools)) or "none"
        raise RosterError(
            f"{visible(what[:LONGEST_NAME])} is neither a risk nor a tool{near}; "
            f"risks: {', '.join(risks)}; tools: {tools_said}; {ANY} is every call"
        )


_ROLES: Final = {f"{role}{s}": role for role in DECIDING for s in ("", "s")}


def who_named(roster: Roster, words: str) -> tuple[str, ...] | None:
    """What ``Ada,Ben``, ``owners`` or ``approvers`` mean in a rule; ``default``: None. Raises RosterError."""
    if words.strip() == "default":
        return None
    each = [word.strip() for word in words.split(",") if word.strip()]
    found = [str(_ROLES[w]) if w in _ROLES else named(roster, w).id for w in each]
    return tuple(dict.fromkeys(found))


def _ruled(roster: Roster, change: SetRule) -> Organization:
    organization = roster.organization
    if not change.what or len(change.what) > LONGEST_NAME or visible(change.what) != change.what:
        raise RosterError("a rule is about a tool, a risk, or any")
    was = next((r for r in organization.rules if r.what == change.what), ApprovalRule(what=change.what))
    who = was.who if isinstance(change.who, Kept) else change.who
    own = was.self_approval if isinstance(change.self_approval, Kept) else change.self_approval
    if who is not None and not isinstance(change.who, Kept):
        _check_who(roster, who)
    now = ApprovalRule(what=change.what, who=who, self_approval=own)
    others = [r for r in organization.rules if r.what != change.what]
    says = [] if who is None and own is None else [now]
    return replace(organization, rules=tuple(sorted([*others, *says], key=lambda r: r.what)))


def _check_who(roster: Roster, who: tuple[str, ...]) -> None:
    """Everybody of *who* may act on it. Raises RosterError."""
    if not who:
        raise RosterError("a rule names somebody: people, owners, approvers; or say default")
    for one in who:
        if one in DECIDING:
            continue
        person = _present(roster, PersonId(one))
        if not person.may_decide:
            roles = " ".join([Role.APPROVER, *sorted(person.roles)])
            mend = f"python -m bot people role {quote(person.name)} {roles}"
            raise RosterError(f"{person.name} is no approver yet; say first: {mend}")


# ── what is written down ─────────────────────────────────────────────────────────────────────


def roster_facts(before: Roster, after: Roster, change: RosterChange) -> Json:
    """What *change* made of *before*, for its audit entry: only what is another now, and no code."""
    was, now = _said(before), _said(after)
    different = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    whom = {"person": change.person} if isinstance(change, Issue) else {}
    return {
        "change": _WORDS[type(change)],
        **whom,
        "before": {key: was[key] for key in different if key in was},
        "after": {key: now[key] for key in different if key in now},
    }


_WORDS: Final[Mapping[type, str]] = {
    Add: "add",
    Invite: "invite",
    Issue: "code",
    SetRoles: "roles",
    Remove: "remove",
    Link: "link",
    SetRule: "rule",
    SetRoute: "route",
}


def _said(roster: Roster) -> dict[str, Json]:
    """Each person, account, rule and route under a name of its own."""
    said: dict[str, Json] = {
        f"person {p.id}": {"name": p.name, "roles": sorted(p.roles), "left": p.left} for p in roster.people
    }
    said |= {f"account {a.surface}:{a.ref}": person for person, a in roster.accounts}
    said |= {f"rule {r.what}": rule_row(r) for r in roster.organization.rules}
    said |= {f"route {agent}": _places_said(roster.places(agent)) for agent, _ in roster.routes}
    return said


def _places_said(places: Sequence[Route]) -> Json:
    first, *also = ({"surface": route.surface, "ref": route.ref} for route in places)
    return {**first, "also": also} if also else first


def rule_row(rule: ApprovalRule) -> Json:
    """*rule* as JSON has it."""
    who = None if rule.who is None else list(rule.who)
    return {"what": rule.what, "who": who, "self_approval": rule.self_approval}
