"""org create, list, rules, route: organizations, who approves what in one, and where its cards go."""

import os
from collections.abc import Mapping, Sequence
from zoneinfo import available_timezones

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from bot.commands.people import show_code
from bot.commands.session import SURFACE, Session, console, say_of, session, terminal_user
from bot.redaction import settings_from
from bot.wiring import opened
from core.approvers import among, holding
from core.codes import CODE_SECONDS, code_digest, new_code
from core.errors import RosterError
from core.host import risks_of
from core.ids import OrgId, PersonId
from core.names import listed, spoken
from core.nearest import nearest
from core.people import ANY, Organization, OrgState, Role, Roster, Route
from core.roster import DECIDING, KEPT, Kept, SetRoute, SetRule, check_what, place_named, who_named
from core.visible import visible

# ── organizations ────────────────────────────────────────────────────────────────────────────


async def create(name: str, owner: str, time_zone: str) -> None:
    """The organization exists; its owner's code is shown. For whoever may open the database."""
    zones = available_timezones()
    if zones and time_zone not in zones:
        raise RosterError(f"{visible(time_zone[:80])} is no time zone{nearest(time_zone, zones)}; UTC is one")
    async with opened(settings_from(os.environ)) as app:
        code = new_code(app.desk.ids.nonce())
        made = Organization(id=OrgId(app.desk.ids.new()), name=name, time_zone=time_zone)
        actor = f"operator:{terminal_user()}"
        await app.store.people.create(made, owner, code_digest(code), CODE_SECONDS, actor=actor)
    say_of(name, f" is there, and {visible(owner)} owns it.")
    await show_code(owner, code)


async def list_organizations() -> None:
    """Every organization of the database. For whoever may open it."""
    async with opened(settings_from(os.environ)) as app:
        rosters = [await app.store.people.of(org) for org in await app.store.ledger.organizations()]
    if not rosters:
        console().print("No organizations yet. Make one: python -m bot org create Bakery --owner Ada")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Organization", "State", "Time zone", "Owners", "People"):
        table.add_column(heading, overflow="fold")
    for roster in sorted(rosters, key=lambda r: r.organization.name.casefold()):
        of, there = roster.organization, [p for p in roster.people if not p.left]
        table.add_row(
            text(of.name, "bold"),
            Text("paused", style="red") if of.state is OrgState.PAUSED else Text("works"),
            text(of.time_zone),
            text(", ".join(p.name for p in there if Role.OWNER in p.roles)),
            Text(str(len(there))),
        )
    console().print(table)


# ── rules ────────────────────────────────────────────────────────────────────────────────────


async def rules(as_: str | None) -> None:
    """Each rule, and what holds without one."""
    async with session(as_) as here:
        roster = await here.app.store.people.of(here.who.org)
        risks = risks_of(here.app.host)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Calls of", "Approved by", "That is today", "Who asked may approve"):
        table.add_column(heading, overflow="fold")
    said = [rule.what for rule in roster.organization.rules if rule.what != ANY]
    for what in (*said, ANY):
        rule = holding(roster.organization, *_keys(what, risks))
        table.add_row(
            text(what, "bold"),
            text(_who(roster, rule.who)),
            text(", ".join(p.name for p in among(roster, rule.who))),
            Text("yes" if rule.self_approval else "only if alone"),
        )
    console().print(table)


_OWN: Mapping[str | None, bool | Kept | None] = {None: KEPT, "on": True, "off": False, "default": None}


async def rule(what: str, by: str | None, self_approval: str | None, as_: str | None) -> None:
    """Calls of *what* are approved by *by*, and may or may not be by who asked; None: as it was."""
    what = what.strip()
    async with session(as_) as here:
        people, org, risks = here.app.store.people, here.who.org, risks_of(here.app.host)
        before = await people.of(org)
        if what not in {
            r.what for r in before.organization.rules
        }:  # of a tool that is gone: it can be dropped
            check_what(what, risks)
        who = KEPT if by is None else who_named(before, by)
        change, after = SetRule(what=what, who=who, self_approval=_OWN[self_approval]), before
        if change != SetRule(what=what):  # else it is only asked
            after = await people.save(here.who, org, change, surface=SURFACE)
    now, was = (_holds(roster, what, risks) for roster in (after, before))
    say_of(what, f": {now}." if before == after else f": {now}; before: {was}.")


def _holds(roster: Roster, what: str, risks: Mapping[str, str]) -> str:
    rule = holding(roster.organization, *_keys(what, risks))
    own = "who asked may approve" if rule.self_approval else "who asked may approve only if alone"
    return f"approved by {_who(roster, rule.who)}; {own}"


def _keys(what: str, risks: Mapping[str, str]) -> tuple[str, ...]:
    """The rules that speak of *what*, the narrowest first."""
    return tuple(dict.fromkeys((what, risks.get(what, ANY), ANY)))


def _who(roster: Roster, who: tuple[str, ...] | None) -> str:
    """``owners and Ben``."""
    roles = {str(role): f"{role}s" for role in DECIDING}
    return spoken([roles.get(one) or roster.name(PersonId(one)) for one in who or roles])


# ── routes ───────────────────────────────────────────────────────────────────────────────────


async def routes(as_: str | None) -> None:
    """Where the cards go."""
    async with session(as_) as here:
        roster = await here.app.store.people.of(here.who.org)
        names = {key: agent.name for key, agent in here.app.host.agents.items()}
    own = sorted({agent for agent, _ in roster.routes if agent})
    for agent in own:
        say_of(names.get(agent, agent), f": cards go to {_places(roster.places(agent))}.")
    say_of("All others" if own else "All agents", f": cards go to {_places(roster.places(''))}.")


async def route(agent: str, places: Sequence[str], as_: str | None) -> None:
    """Cards of *agent*, or of all without a place of their own, go to the first place, copies to the rest."""
    change = SetRoute(agent, None)
    if [place.strip() for place in places] != ["thread"]:
        first, *also = map(_route, places)
        change = SetRoute(agent, first, tuple(also))
    async with session(as_) as here:
        key = _agent(here, agent)
        roster = await here.app.store.people.save(here.who, here.who.org, change, surface=SURFACE)
        name = here.app.host.agents[key].name if key else "All agents without a place of their own"
    say_of(name, f": cards go to {_places(roster.places(key))}.")


def _route(place: str) -> Route:
    surface, ref = place_named(place)
    return Route(surface=surface, ref=ref)


def _agent(here: Session, key: str) -> str:
    agents = here.app.host.agents
    if key and key not in agents:
        raise RosterError(f"there is no agent {visible(key)}{nearest(key, agents)}{listed(sorted(agents))}")
    return key


def _places(routes: Sequence[Route]) -> str:
    """``slack:T1/C1, and copies to telegram:-100``."""
    if not routes:
        return "the thread of their task"
    first, *also = (f"{route.surface}:{route.ref}" for route in routes)
    return f"{first}, and copies to {spoken(also)}" if also else first
