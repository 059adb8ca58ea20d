"""The rows of a roster: read whole under the lock of whoever changes it, and written where they differ."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BindParameter, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.rows import organization_of, person_of, person_row, rules_row
from adapters.store.tables import accounts, approval_routes, organizations, people
from core.ids import OrgId
from core.people import Account, Organization, Roster, Route
from core.routes import is_for_others
from core.tasks import Task

_OF_ORG: Final[BindParameter[Any]] = bindparam("of_org")
_ORGANIZATION: Final = select(organizations).where(organizations.c.id == _OF_ORG)
_PEOPLE: Final = select(people).where(people.c.org == _OF_ORG).order_by(people.c.id)
_ACCOUNTS: Final = (
    select(accounts).where(accounts.c.org == _OF_ORG).order_by(accounts.c.surface, accounts.c.account_ref)
)
_ROUTES: Final = (
    select(approval_routes)
    .where(approval_routes.c.org == _OF_ORG)
    .order_by(approval_routes.c.agent, approval_routes.c.position)
)


async def read_roster(conn: AsyncConnection, org: OrgId) -> Roster:
    """The organization, its people and their accounts, and its routes. Raises LookupError."""
    row = (await conn.execute(_ORGANIZATION, {"of_org": org})).mappings().one_or_none()
    if row is None:
        raise LookupError("no such organization")
    return await _roster_of(conn, organization_of(row))


async def routing_of(conn: AsyncConnection, organization: Organization, task: Task) -> Roster:
    """As much of it as says where a card of *task* goes first: nobody, where a place is named."""
    routes = await _routes(conn, organization.id)
    at_home = task.surface is not None and not is_for_others(task)
    if at_home or {task.agent, ""} & dict(routes).keys():
        return Roster(organization=organization, people=(), routes=routes)
    return await _roster_of(conn, organization)


async def people_of(conn: AsyncConnection, organization: Organization) -> Roster:
    """Who is in it, which is all that a decision asks; neither accounts nor routes."""
    persons = await conn.execute(_PEOPLE, {"of_org": organization.id})
    return Roster(organization=organization, people=tuple(map(person_of, persons.mappings())))


async def _roster_of(conn: AsyncConnection, organization: Organization) -> Roster:
    known = await people_of(conn, organization)
    links = await conn.execute(_ACCOUNTS, {"of_org": organization.id})
    return replace(
        known,
        accounts=tuple((r.person_id, Account(surface=r.surface, ref=r.account_ref)) for r in links),
        routes=await _routes(conn, organization.id),
    )


async def _routes(conn: AsyncConnection, org: OrgId) -> tuple[tuple[str, Route], ...]:
    found = await conn.execute(_ROUTES, {"of_org": org})
    return tuple((r.agent, Route(surface=r.surface, ref=r.ref)) for r in found)


async def write_roster(conn: AsyncConnection, before: Roster, after: Roster, at: datetime) -> None:
    """The rows that said *before* say *after*."""
    org = after.organization.id
    if before.organization.rules != after.organization.rules:
        rules = rules_row(after.organization)
        await conn.execute(update(organizations).where(organizations.c.id == org).values(rules=rules))
    await _write_people(conn, before, after, at)
    for holder, account in sorted(set(before.accounts) - set(after.accounts), key=str):
        own = (accounts.c.surface == account.surface, accounts.c.account_ref == account.ref)
        await conn.execute(
            delete(accounts).where(accounts.c.org == org, accounts.c.person_id == holder, *own)
        )
    for holder, account in sorted(set(after.accounts) - set(before.accounts), key=str):
        link = {"org": org, "surface": account.surface, "account_ref": account.ref, "person_id": holder}
        await conn.execute(insert(accounts).values(link))
    for agent in sorted(dict((*before.routes, *after.routes))):
        if (places := after.places(agent)) == before.places(agent):
            continue
        this = (approval_routes.c.org == org, approval_routes.c.agent == agent)
        await conn.execute(delete(approval_routes).where(*this))
        for n, route in enumerate(places):
            values = {"org": org, "agent": agent, "position": n, "surface": route.surface, "ref": route.ref}
            await conn.execute(insert(approval_routes).values(values))


async def _write_people(conn: AsyncConnection, before: Roster, after: Roster, at: datetime) -> None:
    for person in after.people:
        was = before.person(person.id)
        if was == person:
            continue
        row = person_row(person, at if person.left else None)
        if was is None:
            await conn.execute(insert(people).values(row))
            continue
        this = (people.c.org == person.org, people.c.id == person.id)
        await conn.execute(update(people).where(*this).values(row))
