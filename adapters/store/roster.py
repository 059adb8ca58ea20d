"""The rows of a roster: read whole under the lock of whoever changes it, and written where they differ."""

from datetime import datetime

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.rows import organization_of, person_of, person_row, rules_row
from adapters.store.tables import accounts, approval_routes, organizations, people
from core.ids import OrgId
from core.people import Account, Roster, Route


async def read_roster(conn: AsyncConnection, org: OrgId) -> Roster:
    """The organization, its people and their accounts, and its routes. Raises LookupError."""
    row = (
        (await conn.execute(select(organizations).where(organizations.c.id == org))).mappings().one_or_none()
    )
    if row is None:
        raise LookupError("no such organization")
    persons = await conn.execute(select(people).where(people.c.org == org).order_by(people.c.id))
    links = await conn.execute(
        select(accounts).where(accounts.c.org == org).order_by(accounts.c.surface, accounts.c.account_ref)
    )
    routes = await conn.execute(
        select(approval_routes).where(approval_routes.c.org == org).order_by(approval_routes.c.agent)
    )
    return Roster(
        organization=organization_of(row),
        people=tuple(map(person_of, persons.mappings())),
        accounts=tuple((r.person_id, Account(surface=r.surface, ref=r.account_ref)) for r in links),
        routes=tuple((r.agent, Route(surface=r.surface, ref=r.ref)) for r in routes),
    )


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
    was, now = dict(before.routes), dict(after.routes)
    for agent in sorted(was.keys() | now.keys()):
        if was.get(agent) == now.get(agent):
            continue
        this = (approval_routes.c.org == org, approval_routes.c.agent == agent)
        await conn.execute(delete(approval_routes).where(*this))
        if (route := now.get(agent)) is not None:
            values = {"org": org, "agent": agent, "surface": route.surface, "ref": route.ref}
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
