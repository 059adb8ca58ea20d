"""Parks as people meet them: by a button's token, by a code they type, by what is due.

Each look is inside one organization: what another one has answers like what nobody has (I18).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Select, case, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.rows import audit_row, call_of, park_of, task_of
from adapters.store.tables import audit, calls, connect_states, parks, tasks
from core.audit import refusal
from core.errors import ParkNotFound
from core.ids import CallCode, OrgId, TaskRef, Token
from core.parks import Park, ParkKind, ParkState
from core.people import Person
from core.ports import Due, NotFound, ParkView

_DUE_AT = {Due.EXPIRE: parks.c.expires_at, Due.REMIND: parks.c.remind_at}
_OPEN = parks.c.state == ParkState.OPEN.value


class SqlParks:
    """core.ports.Parks."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def find(self, who: Person, key: Token | CallCode) -> ParkView | NotFound:
        wanted = _by_code(who.org, key) if isinstance(key, CallCode) else _by_token(who.org, key)

        async def body(conn: AsyncConnection) -> ParkView | NotFound:
            found = (await conn.execute(wanted.limit(1))).mappings().one_or_none()
            return NotFound() if found is None else (await _views(conn, who.org, [park_of(found)]))[0]

        return await self._db.read(body)

    async def waiting_for(self, who: Person, limit: int) -> list[ParkView]:
        oldest = select(parks).where(parks.c.org == who.org, _OPEN).order_by(parks.c.created_at, parks.c.id)

        async def body(conn: AsyncConnection) -> list[ParkView]:
            found = (await conn.execute(oldest.limit(limit))).mappings()
            return await _views(conn, who.org, [park_of(row) for row in found])

        return await self._db.read(body)

    async def due(self, kind: Due, n: int) -> list[TaskRef]:
        due_at = _DUE_AT[kind]

        async def body(conn: AsyncConnection) -> list[TaskRef]:
            due = (
                select(parks.c.org, parks.c.task_id)
                .where(_OPEN, due_at <= await self._db.now(conn))
                .group_by(parks.c.org, parks.c.task_id)
                .order_by(func.min(due_at), parks.c.org, parks.c.task_id)
            )
            rows = (await conn.execute(due.limit(n))).all()
            return [TaskRef(org=row.org, task_id=row.task_id) for row in rows]

        return await self._db.read(body)

    async def viewed(self, who: Person, token: Token, digest: str) -> None:
        """Raises ParkNotFound."""

        async def body(conn: AsyncConnection) -> None:
            park = await _locked(conn, who.org, token)
            view = {"person": who.id, "digest": digest, "at": (await self._db.now(conn)).isoformat()}
            this = (parks.c.org == who.org, parks.c.id == park.id)
            await conn.execute(update(parks).where(*this).values(viewed=[*(park.viewed or ()), view]))

        await self._db.write(body)

    async def refused(self, token: Token, actor: str, surface: str | None, why: str) -> None:
        async def body(conn: AsyncConnection) -> None:
            found = (await conn.execute(select(parks).where(parks.c.token == token))).mappings().one_or_none()
            if found is not None:
                park, at = park_of(found), await self._db.now(conn)
                entry = refusal(park, self._db.ids.new(), at, actor=actor, surface=surface, why=why)
                await conn.execute(audit.insert().values(audit_row(self._db.signed(entry))))

        await self._db.write(body)

    async def link(self, who: Person, token: Token, digest: str, seconds: float) -> None:
        """Raises ParkNotFound."""

        async def body(conn: AsyncConnection) -> None:
            park = (await conn.execute(_by_token(who.org, token))).mappings().one_or_none()
            if park is None:
                raise ParkNotFound
            until = await self._db.now(conn) + timedelta(seconds=seconds)
            own = {"org": who.org, "person_id": who.id, "park_id": park["id"], "expires_at": until}
            await conn.execute(insert(connect_states).values(digest=digest, **own))

        await self._db.write(body)

    async def linked(self, who: Person, digest: str) -> Token | NotFound:
        async def body(conn: AsyncConnection) -> Token | NotFound:
            now = await self._db.now(conn)
            state = connect_states.c
            unused = (state.used_at.is_(None), state.expires_at > now)
            theirs = (state.digest == digest, state.org == who.org, state.person_id == who.id)
            use = update(connect_states).where(*theirs, *unused).values(used_at=now).returning(state.park_id)
            park_id = (await conn.execute(use)).scalar_one_or_none()
            query = select(parks.c.token).where(parks.c.org == who.org, parks.c.id == park_id)
            token = (await conn.execute(query)).scalar_one_or_none()
            return NotFound() if token is None else Token(token)

        return await self._db.write(body)


def _by_token(org: OrgId, token: Token) -> Select[Any]:
    return select(parks).where(parks.c.org == org, parks.c.token == token)


def _by_code(org: OrgId, code: CallCode) -> Select[Any]:
    """The parks a person means by *code*, first first: open approvals, other open ones, the newest."""
    wanted = (
        select(parks)
        .join(calls, (calls.c.org == parks.c.org) & (calls.c.id == parks.c.call_id))
        .join(tasks, (tasks.c.org == calls.c.org) & (tasks.c.id == calls.c.task_id))
        .where(parks.c.org == org, tasks.c.number == code.task_number, calls.c.number == code.call_number)
    )
    if code.version is not None:
        wanted = wanted.where(parks.c.version == code.version)
    approval = parks.c.kind == ParkKind.APPROVAL.value
    rank = case((_OPEN & approval, 0), (_OPEN, 1), else_=2)
    return wanted.order_by(rank, parks.c.created_at.desc(), parks.c.id.desc())


async def _views(conn: AsyncConnection, org: OrgId, found: Sequence[Park]) -> list[ParkView]:
    """*found* with their tasks and calls, in the same order."""
    task_ids, call_ids = {p.task_id for p in found}, {p.call_id for p in found if p.call_id is not None}
    task_rows = await conn.execute(select(tasks).where(tasks.c.org == org, tasks.c.id.in_(task_ids)))
    call_rows = await conn.execute(select(calls).where(calls.c.org == org, calls.c.id.in_(call_ids)))
    about = {task.id: task for task in map(task_of, task_rows.mappings())}
    by_id = {call.id: call for call in map(call_of, call_rows.mappings())}
    return [
        ParkView(park=p, task=about[p.task_id], call=None if p.call_id is None else by_id[p.call_id])
        for p in found
    ]


async def _locked(conn: AsyncConnection, org: OrgId, token: Token) -> Park:
    """The park, its task locked first as in every change, which writes parks whole. Raises ParkNotFound."""
    task_id = (
        await conn.execute(_by_token(org, token).with_only_columns(parks.c.task_id))
    ).scalar_one_or_none()
    if task_id is None:
        raise ParkNotFound
    await conn.execute(select(tasks.c.id).where(tasks.c.org == org, tasks.c.id == task_id).with_for_update())
    return park_of((await conn.execute(_by_token(org, token))).mappings().one())
