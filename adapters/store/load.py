"""Loads a Work: a task's rows as a move, a worker or the plan looks at them.

With the task locked first, everything read afterwards is what it will be until the commit: nobody
else writes the rows of a locked task. What each change reads is made into a statement once and bound
anew: making it took more of a turn's processor time than sending it (bench/turns.py).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import BindParameter, ColumnElement, Executable, Select, and_, bindparam, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database, clock, upsert
from adapters.store.roster import people_of
from adapters.store.rows import (
    call_of,
    event_of,
    message_of,
    organization_of,
    park_of,
    switch_of,
    task_of,
)
from adapters.store.still import still
from adapters.store.tables import (
    calls,
    effect_guards,
    inbox,
    messages,
    organizations,
    parks,
    switches,
    tasks,
    usage,
)
from core.calls import Call, CallState, Outcome
from core.errors import StoreError
from core.ids import CallId, EventKey, TaskRef
from core.parks import Park, ParkState
from core.people import Organization, Switch
from core.tasks import Message, MessageKind, Task
from core.work import EARLIER, Earlier, Event, Need, Work

HOLDS_KEY = or_(
    calls.c.state == CallState.EXECUTING.value,
    calls.c.outcome.in_([Outcome.SUCCEEDED.value, Outcome.UNKNOWN.value]),
)
"""A call that went, or may have gone, out: its effect key is taken (I6)."""


async def find_task(conn: AsyncConnection, ref: TaskRef, *, lock: bool) -> Task | None:
    """The task's row; locked until the transaction ends if *lock*."""
    said = {"of_org": ref.org, "of_task": ref.task_id}
    row = (await conn.execute(_TASK_LOCKED if lock else _TASK, said)).mappings().one_or_none()
    return None if row is None else task_of(row)


OF_ORG: Final[BindParameter[Any]] = bindparam("of_org")
OF_TASK: Final[BindParameter[Any]] = bindparam("of_task")
_TASK: Final = select(tasks).where(tasks.c.org == OF_ORG, tasks.c.id == OF_TASK)
_TASK_LOCKED: Final = _TASK.with_for_update()


async def load_work(db: Database, conn: AsyncConnection, task: Task, need: Need) -> tuple[Work, datetime]:
    """The Work of *task* with what *need* names, and the database's time."""
    if need.starts:
        await still(db, conn, task.org)
    around = await _surroundings(db, conn, task)
    found = await _calls(conn, task, need)
    work = Work(
        task=task,
        organization=around.organization,
        switch=around.switch,
        calls=found,
        parks=await _parks(conn, task, found, need),
        last=await _last(conn, task),
        event=await _new_event(conn, need.event) if need.event is not None else None,
        unread=await _unread(conn, task) if need.unread else (),
        roster=await people_of(conn, around.organization) if need.roster else None,
        daily_tokens=await _daily_tokens(db, conn, task, around.at) if need.usage else None,
        holders=await _holders(conn, task, need.effect_key) if need.effect_key is not None else (),
        elsewhere=await _elsewhere(db, conn, task, need.sent_key, around)
        if need.sent_key is not None
        else (),
        repeated=await _repeated(conn, task, need.event_id) if need.event_id is not None else None,
    )
    return work, around.at


@dataclass(frozen=True, slots=True)
class _Surroundings:
    at: datetime
    organization: Organization
    switch: Switch | None


async def _surroundings(db: Database, conn: AsyncConnection, task: Task) -> _Surroundings:
    said = {"of_org": task.org, "of_agent": task.agent}
    row = (await conn.execute(_around(postgres=db.is_postgres), said)).mappings().one_or_none()
    if row is None:
        raise StoreError(f"the organization of task {task.id} is missing")
    switch = None if row["agent"] is None else switch_of(row)
    return _Surroundings(at=row["at"], organization=organization_of(row), switch=switch)


@cache
def _around(*, postgres: bool) -> Select[Any]:
    own = and_(switches.c.org == organizations.c.id, switches.c.agent == bindparam("of_agent"))
    return (
        select(
            clock(postgres=postgres).label("at"),
            *organizations.c[
                "id", "name", "time_zone", "state", "max_running", "send_window_seconds", "rules"
            ],
            *switches.c["agent", "paused_at", "mode", "settings"],
        )
        .select_from(organizations)
        .outerjoin(switches, own)
        .where(organizations.c.id == OF_ORG)
    )


async def _calls(conn: AsyncConnection, task: Task, need: Need) -> tuple[Call, ...]:
    """Open owner calls, then the current round by ordinal, then what Need names."""
    said = {**_bound(task, need), "of_episode": task.episode, "of_round": task.round}
    query = _calls_query(call=need.call is not None, token=need.token is not None)
    found = [call_of(row) for row in (await conn.execute(query, said)).mappings()]
    return tuple(sorted(found, key=lambda call: _place(call, task)))


def _bound(task: Task, need: Need) -> dict[str, Any]:
    """What the queries of calls and parks are bound to; those that need less take less."""
    said: dict[str, Any] = {"of_org": task.org, "of_task": task.id}
    if need.call is not None:
        said["of_call"] = need.call
    if need.token is not None:
        said["of_token"] = need.token
    return said


@cache
def _calls_query(*, call: bool, token: bool) -> Select[Any]:
    owner = and_(calls.c.round.is_(None), calls.c.state != CallState.SETTLED.value)
    current = and_(calls.c.episode == bindparam("of_episode"), calls.c.round == bindparam("of_round"))
    wanted = [owner, current]
    if call:
        wanted.append(calls.c.id == bindparam("of_call"))
    if token:
        wanted.append(calls.c.id.in_(_CALL_BEHIND))
    return select(calls).where(calls.c.org == OF_ORG, calls.c.task_id == OF_TASK, or_(*wanted))


_CALL_BEHIND: Final = select(parks.c.call_id).where(
    parks.c.org == OF_ORG,
    parks.c.task_id == OF_TASK,
    parks.c.token == bindparam("of_token"),
    parks.c.call_id.is_not(None),
)
"""The call whose park, of whatever version, has this token."""


def _place(call: Call, task: Task) -> tuple[int, int]:
    if call.round is None and not call.settled:
        return 0, call.number
    if (call.episode, call.round) == (task.episode, task.round):
        return 1, call.ordinal
    return 2, call.number


async def _parks(conn: AsyncConnection, task: Task, found: tuple[Call, ...], need: Need) -> tuple[Park, ...]:
    """All open ones, the latest decision behind each approved call, then what Need names."""
    approved = [c for c in found if c.state is CallState.APPROVED]
    decided = {c.id for c in approved} | {c.resend_of for c in approved if c.resend_of is not None}
    query = _parks_query(decided=bool(decided), call=need.call is not None, token=need.token is not None)
    said = {**_bound(task, need), **({"of_decided": sorted(decided)} if decided else {})}
    rows = [park_of(row) for row in (await conn.execute(query, said)).mappings()]
    opened = [p for p in rows if p.open]
    latest = _latest_decided(rows, decided)
    shown = next((p.call_id for p in rows if p.token == need.token and need.token is not None), None)
    of_call = {need.call, shown} - {None}
    named = [p for p in rows if (p.token == need.token) or p.call_id in of_call]
    return tuple({p.id: p for p in (*opened, *latest, *named)}.values())


@cache
def _parks_query(*, decided: bool, call: bool, token: bool) -> Select[Any]:
    wanted = [parks.c.state == ParkState.OPEN.value]
    if decided:
        of = parks.c.call_id.in_(bindparam("of_decided", expanding=True))
        wanted.append(and_(parks.c.state == ParkState.DECIDED.value, of))
    if token:
        wanted.append(parks.c.token == bindparam("of_token"))
        wanted.append(parks.c.call_id.in_(_CALL_BEHIND))
    if call:
        wanted.append(parks.c.call_id == bindparam("of_call"))
    return (
        select(parks)
        .where(parks.c.org == OF_ORG, parks.c.task_id == OF_TASK, or_(*wanted))
        .order_by(parks.c.created_at, parks.c.version, parks.c.id)
    )


def _latest_decided(rows: list[Park], of: set[CallId]) -> list[Park]:
    """For each call of *of*, the park decided last (*rows* by age decide a tie)."""
    latest: dict[CallId, Park] = {}
    for park in rows:
        if park.state is not ParkState.DECIDED or park.call_id is None or park.call_id not in of:
            continue
        before = latest.get(park.call_id)
        if before is None or _decided_at(park) >= _decided_at(before):
            latest[park.call_id] = park
    return list(latest.values())


def _decided_at(park: Park) -> datetime:
    return park.decided_at or park.created_at


async def _last(conn: AsyncConnection, task: Task) -> Message | None:
    said = {"of_org": task.org, "of_task": task.id}
    row = (await conn.execute(_LAST, said)).mappings().one_or_none()
    return None if row is None else message_of(row)


_LAST: Final = (
    select(messages)
    .where(
        messages.c.org == OF_ORG,
        messages.c.task_id == OF_TASK,
        messages.c.kind != MessageKind.COMPACT.value,
    )
    .order_by(messages.c.seq.desc())
    .limit(1)
)


async def _unread(conn: AsyncConnection, task: Task) -> tuple[Event, ...]:
    query = (
        select(inbox)
        .where(_of_task(inbox.c.org, inbox.c.task_id, task), inbox.c.state == "taken")
        .order_by(inbox.c.received_at, inbox.c.source, inbox.c.event_id)
    )
    return tuple(event_of(row) for row in (await conn.execute(query)).mappings())


async def _daily_tokens(db: Database, conn: AsyncConnection, task: Task, at: datetime) -> int:
    """Tokens of the last 24 hours, this one included, under the lock of this hour's row.

    The lock comes first, so that two tasks of one agent can't both reserve the last tokens.
    """
    hour = at.replace(minute=0, second=0, microsecond=0)
    own = {"org": task.org, "agent": task.agent, "hour": hour}
    await conn.execute(_hour_locked(postgres=db.is_postgres), own)
    said = {"of_org": task.org, "of_agent": task.agent, "since": hour - timedelta(hours=24)}
    return int((await conn.execute(_DAILY, said)).scalar_one())


@cache
def _hour_locked(*, postgres: bool) -> Executable:
    key = [usage.c.org, usage.c.agent, usage.c.hour]
    row = upsert(usage, postgres=postgres).values({c.name: bindparam(c.name) for c in key})
    return row.on_conflict_do_update(index_elements=key, set_={"used": usage.c.used})


_DAILY: Final = select(func.coalesce(func.sum(usage.c.reserved + usage.c.used), 0)).where(
    usage.c.org == OF_ORG, usage.c.agent == bindparam("of_agent"), usage.c.hour > bindparam("since")
)


async def _holders(conn: AsyncConnection, task: Task, effect_key: str) -> tuple[Call, ...]:
    own = _of_task(calls.c.org, calls.c.task_id, task)
    query = select(calls).where(own, calls.c.effect_key == effect_key, HOLDS_KEY).order_by(calls.c.number)
    return tuple(call_of(row) for row in (await conn.execute(query)).mappings())


async def _elsewhere(
    db: Database, conn: AsyncConnection, task: Task, sent_key: str, around: _Surroundings
) -> tuple[Earlier, ...]:
    """Other tasks' calls that hold the key inside the organization's window, newest first.

    The key's guard row is locked first, so that of two tasks that mark the same send at once the second
    sees the first.
    """
    guard = db.insert(effect_guards).values(org=task.org, effect_key=sent_key, touched_at=around.at)
    key = [effect_guards.c.org, effect_guards.c.effect_key]
    await conn.execute(guard.on_conflict_do_update(index_elements=key, set_={"touched_at": around.at}))
    query = (
        select(calls, tasks.c.number.label("task_number"), tasks.c.agent.label("task_agent"))
        .join(tasks, and_(tasks.c.org == calls.c.org, tasks.c.id == calls.c.task_id))
        .where(
            calls.c.org == task.org,
            calls.c.sent_key == sent_key,
            calls.c.marked_at > around.at - around.organization.send_window,
            calls.c.task_id != task.id,
            HOLDS_KEY,
        )
        .order_by(calls.c.marked_at.desc(), calls.c.id.desc())
        .limit(EARLIER)
    )
    rows = (await conn.execute(query)).mappings()
    return tuple(
        Earlier(call=call_of(row), task_number=row["task_number"], agent=row["task_agent"]) for row in rows
    )


async def _new_event(conn: AsyncConnection, key: EventKey) -> Event | None:
    """The inbox row, while nobody has applied it."""
    query = select(inbox).where(
        inbox.c.source == key.source, inbox.c.event_id == key.event_id, inbox.c.state == "new"
    )
    row = (await conn.execute(query)).mappings().one_or_none()
    return None if row is None else event_of(row)


async def _repeated(conn: AsyncConnection, task: Task, event_id: str) -> Park | None:
    query = select(parks).where(parks.c.org == task.org, parks.c.event_id == event_id)
    row = (await conn.execute(query)).mappings().one_or_none()
    return None if row is None else park_of(row)


def _of_task(org: ColumnElement[str], task_id: ColumnElement[str], task: Task) -> ColumnElement[bool]:
    return and_(org == task.org, task_id == task.id)
