"""The tasks around a message, looked up, so that `route` can say which it belongs to."""

from collections.abc import Mapping
from datetime import datetime

from core.decisions import Desk
from core.host import chief_of
from core.ids import OrgId, PersonId
from core.ports import Query
from core.route import Around, ChatKind, Routed, Said, route
from core.tasks import Json, Task

AT_MOST = 20
"""Tasks of one chat that are looked at, the newest: older ones that still go on are named or replied to."""


async def routed(desk: Desk, org: OrgId, surface: str, body: Mapping[str, Json], at: datetime) -> Routed:
    """What the message of *body*, an inbox row's, belongs to as the rows are now.

    Raises LookupError where nobody is the chief.
    """
    kind = ChatKind(body["kind"])
    said = Said(
        text=body["text"],
        by=PersonId(body["person"]),
        kind=kind,
        addressed=bool(body.get("addressed")) or kind is ChatKind.DIRECT,
        at=at,
    )
    return route(said, await _around(desk, org, surface, body), desk.host.agents, chief_of(desk.host))


async def _around(desk: Desk, org: OrgId, surface: str, body: Mapping[str, Json]) -> Around:
    async def found(query: Query) -> list[Task]:
        return await desk.store.ledger.find(org, query)

    number, reply, thread = body.get("named"), body.get("reply"), body.get("thread")
    named = await found(Query(number=number, limit=1)) if number is not None else []
    replied = await found(Query(surface=surface, message=reply, limit=1)) if reply is not None else []
    in_thread = (
        await found(Query(surface=surface, thread=thread, limit=AT_MOST)) if thread is not None else []
    )
    chat = await found(Query(surface=surface, chat=body["chat"], limit=AT_MOST))
    return Around(named=_first(named), replied=_first(replied), thread=in_thread, chat=chat)


def _first(tasks: list[Task]) -> Task | None:
    return tasks[0] if tasks else None
