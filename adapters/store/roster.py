"""An organization's roster: who is in it, what they are linked to, where the cards of its agents go."""

from typing import Any, Final

from sqlalchemy import BindParameter, Select, bindparam, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.rows import person_of
from adapters.store.tables import accounts, approval_routes, people
from core.ids import OrgId, PersonId
from core.people import Account, Organization, Person, Roster, Route
from core.tasks import Task

_OF_ORG: Final[BindParameter[Any]] = bindparam("of_org")
_PEOPLE: Final = select(people).where(people.c.org == _OF_ORG).order_by(people.c.id)
_ACCOUNTS: Final = (
    select(accounts)
    .where(accounts.c.org == _OF_ORG)
    .order_by(accounts.c.person_id, accounts.c.surface, accounts.c.account_ref)
)
_ROUTES: Final = (
    select(approval_routes).where(approval_routes.c.org == _OF_ORG).order_by(approval_routes.c.agent)
)


async def roster_of(conn: AsyncConnection, organization: Organization) -> Roster:
    """All of it."""
    return Roster(
        organization=organization,
        people=await _people(conn, organization.id),
        accounts=await _accounts(conn, organization.id),
        routes=await _routes(conn, organization.id),
    )


async def routing_of(conn: AsyncConnection, organization: Organization, task: Task) -> Roster:
    """As much of it as says where a card of *task* goes first: nobody, where a place is named."""
    routes = await _routes(conn, organization.id)
    if task.surface is not None or {task.agent, ""} & dict(routes).keys():
        return Roster(organization=organization, people=(), routes=routes)
    return await roster_of(conn, organization)


async def _people(conn: AsyncConnection, org: OrgId) -> tuple[Person, ...]:
    return tuple(map(person_of, await _found(conn, _PEOPLE, org)))


async def _accounts(conn: AsyncConnection, org: OrgId) -> tuple[tuple[PersonId, Account], ...]:
    found = await _found(conn, _ACCOUNTS, org)
    return tuple((row["person_id"], Account(surface=row["surface"], ref=row["account_ref"])) for row in found)


async def _routes(conn: AsyncConnection, org: OrgId) -> tuple[tuple[str, Route], ...]:
    found = await _found(conn, _ROUTES, org)
    return tuple((row["agent"], Route(surface=row["surface"], ref=row["ref"])) for row in found)


async def _found(conn: AsyncConnection, query: Select[Any], org: OrgId) -> Any:
    return (await conn.execute(query, {"of_org": org})).mappings().all()
