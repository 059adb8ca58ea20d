"""Writes a Change: everything one move decided, into the transaction that holds its task's lock.

The rules were checked by the move on the locked rows. What is checked here is only that the rows
still are what the move saw, so that a bug is an error and never a silent overwrite.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    Table,
    TextClause,
    Update,
    bindparam,
    case,
    insert,
    literal,
    or_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.copies import copy_rows, is_copied, on_request
from adapters.store.engine import Database, upsert
from adapters.store.order import place
from adapters.store.roster import routing_of
from adapters.store.rows import Values, audit_row, call_row, event_row, message_row, park_row, task_row
from adapters.store.tables import (
    audit,
    calls,
    events,
    inbox,
    messages,
    parks,
    posts,
    reach_keys,
    tasks,
    usage,
)
from adapters.store.words import said
from core.audit import AuditEntry
from core.calls import Call
from core.canonical import dump
from core.errors import StoreError
from core.ids import EventKey, OrgId
from core.moves.common import COPY_PRIO
from core.parks import Park
from core.people import Route
from core.routes import first_route, thread
from core.tasks import Message, Task, TaskState
from core.work import Change, Entry, Event, PostIntent, Reach, Spend, TaskEvent, Work, message_rows


async def write_change(db: Database, conn: AsyncConnection, work: Work, change: Change, at: datetime) -> None:
    """All of *change* is in the transaction. Raises StoreError where a row is not as *work* has it."""
    task = change.task
    if task.ref != work.task.ref:
        raise StoreError(f"the change of task {work.task.id} is one of another task")
    rows = message_rows(work.task, change, at)
    await _update_task(db, conn, work.task, task, at, next_seq=task.next_seq + len(rows))
    await insert_messages(conn, task, rows)
    await _write_calls(conn, work, change.calls)
    await _write_parks(conn, work, change.parks)
    await _write_spend(db, conn, task, change.spend)
    await assign(conn, task, change.assigned)
    await settle_applied(conn, task, change.applied)
    await _insert_news(db, conn, task, change.news, at)
    await _write_posts(db, conn, work, task, change.posts, at)
    await _write_reach(db, conn, task, change.reach)
    await insert_events(db, conn, task, change.events, at)
    await insert_entry(db, conn, task, change.entry, at)


# ── the task and its rows ────────────────────────────────────────────────────────────────────


async def _update_task(
    db: Database, conn: AsyncConnection, before: Task, after: Task, at: datetime, *, next_seq: int
) -> None:
    values = _changed(task_row(before), {**task_row(after), "next_seq": next_seq})
    values["state"] = after.state.value  # there is always something to set
    placed = (before.state, before.prio) == (after.state, after.prio)
    if after.state is TaskState.QUEUED and not placed:
        values |= {"vrt": next_place(db, after.org, after.prio), "queued_at": at, "aged": False}
    statement = update(tasks).where(
        tasks.c.org == before.org,
        tasks.c.id == before.id,
        tasks.c.state == before.state.value,
        tasks.c.epoch == before.epoch,
    )
    await _exactly_one(conn, statement.values(values), f"task {before.id}")


def next_place(db: Database, org: OrgId, prio: int) -> TextClause:
    """SQL: where a task queued now stands among those of its organization and prio."""
    template = "({place})".replace("{place}", place(":place_org", ":place_prio"))
    return said(template, db.dialect).bindparams(place_org=org, place_prio=prio)


async def insert_messages(conn: AsyncConnection, task: Task, rows: Iterable[Message]) -> None:
    """*rows* are in the transcript; a seq that is there already is a stale writer's, and an error."""
    await _insert(conn, messages, [message_row(row, task.org, task.id) for row in rows])


async def _write_calls(conn: AsyncConnection, work: Work, changed: Iterable[Call]) -> None:
    known = {c.id: c for c in (*work.holders, *work.calls)}
    after = {c.id: c for c in changed}.values()
    for call in after:
        if (before := known.get(call.id)) is not None and before != call:
            statement = update(calls).where(
                calls.c.org == work.task.org,
                calls.c.id == before.id,
                calls.c.task_id == work.task.id,
                calls.c.state == before.state.value,
                calls.c.epoch.is_not_distinct_from(before.epoch),
            )
            values = {**_changed(call_row(before), call_row(call)), "state": call.state.value}
            await _exactly_one(conn, statement.values(values), f"call {call.id}")
    await _insert(conn, calls, [call_row(c) for c in after if c.id not in known])


async def _write_parks(conn: AsyncConnection, work: Work, changed: Iterable[Park]) -> None:
    known = {p.id: p for p in work.parks}
    after = {p.id: p for p in changed}.values()
    for park in after:
        if (before := known.get(park.id)) is not None and before != park:
            statement = update(parks).where(
                parks.c.org == work.task.org,
                parks.c.id == before.id,
                parks.c.task_id == work.task.id,
                parks.c.state == before.state.value,
            )
            values = {**_changed(park_row(before), park_row(park)), "state": park.state.value}
            await _exactly_one(conn, statement.values(values), f"park {park.id}")
    await _insert(conn, parks, [park_row(p) for p in after if p.id not in known])


async def _write_spend(db: Database, conn: AsyncConnection, task: Task, spend: Iterable[Spend]) -> None:
    # Newest hour first, as load.py locks it: two tasks never hold one each and wait for the other's.
    for one in sorted(spend, key=lambda s: s.hour, reverse=True):
        own = {"org": task.org, "agent": task.agent, "hour": one.hour}
        said = {**own, "reserved": one.reserved, "used": one.used}
        await conn.execute(_spent(postgres=db.is_postgres), said)


@cache
def _spent(*, postgres: bool) -> Executable:
    row = upsert(usage, postgres=postgres).values({c.name: bindparam(c.name) for c in usage.c})
    added = row.excluded
    return row.on_conflict_do_update(
        index_elements=[usage.c.org, usage.c.agent, usage.c.hour],
        set_={"reserved": usage.c.reserved + added.reserved, "used": usage.c.used + added.used},
    )


# ── what came in ─────────────────────────────────────────────────────────────────────────────


async def assign(conn: AsyncConnection, task: Task, keys: Iterable[EventKey]) -> None:
    """New inbox rows belong to *task*, unread; nobody else is offered them."""
    for key in keys:
        values = {"state": "taken", "org": task.org, "task_id": task.id, "due_at": None}
        statement = _inbox_row(task, key).where(inbox.c.state == "new").values(values)
        await _exactly_one(conn, statement, f"inbox row {key.source} {key.event_id}")


async def settle_applied(conn: AsyncConnection, task: Task, keys: Iterable[EventKey]) -> None:
    """Inbox rows, new or this task's, are applied; one that was applied before is an error (I21)."""
    for key in keys:
        values = {"state": "applied", "org": task.org, "task_id": task.id, "due_at": None}
        free = or_(inbox.c.state == "new", (inbox.c.state == "taken") & (inbox.c.task_id == task.id))
        statement = _inbox_row(task, key).where(free).values(values)
        await _exactly_one(conn, statement, f"inbox row {key.source} {key.event_id}")


def _inbox_row(task: Task, key: EventKey) -> Update:
    ours = or_(inbox.c.org.is_(None), inbox.c.org == task.org)
    return update(inbox).where(inbox.c.source == key.source, inbox.c.event_id == key.event_id, ours)


async def _insert_news(
    db: Database, conn: AsyncConnection, task: Task, news: Iterable[Event], at: datetime
) -> None:
    for event in news:
        values = {**event_row(event, at), "org": event.org or task.org}
        await conn.execute(db.insert(inbox).values(values).on_conflict_do_nothing())


# ── what goes out, and what is kept ──────────────────────────────────────────────────────────


async def _write_posts(
    db: Database, conn: AsyncConnection, work: Work, task: Task, intents: Iterable[PostIntent], at: datetime
) -> None:
    """Each intent is a post at its first route, or the next revision of the one it was, where that is.

    One that is said once stays as it was; of one that has nowhere to go nothing is written.

    A revision of a dead post is due again. One that is being sent stays so: whoever sends it sees
    the newer revision when it settles, so two never send one post at once. One that takes its time, and is
    due already, is due no later. What copies a card is revised with it, by a statement of its own only where
    there is such a copy.
    """
    roster = None
    for intent in intents:
        if intent.asks and roster is None:
            roster = await routing_of(conn, work.organization, task)
        route = thread(task) if roster is None else first_route(roster, task, asks=intent.asks)
        own = (posts.c.org == task.org, posts.c.task_id == task.id)
        copies = (*own, posts.c.copy_of == intent.dedup_key)
        if route is None:  # what is somewhere already stays there
            if not intent.once:
                shown = or_(posts.c.dedup_key == intent.dedup_key, copies[-1])
                await conn.execute(update(posts).where(*own, shown).values(_revised(intent, at)))
            continue
        statement = db.insert(posts).values(_post_row(db, task, route, intent, at))
        if intent.once:
            await conn.execute(statement.on_conflict_do_nothing())
            continue
        key, values = [posts.c.org, posts.c.dedup_key], _revised(intent, at)
        upsert = statement.on_conflict_do_update(index_elements=key, set_=values, where=own[-1])
        told = upsert.returning(posts.c.rev, is_copied(task, intent))
        written = (await conn.execute(told)).one_or_none()
        if written is None:
            raise StoreError(f"post {intent.dedup_key} is not as it was read")
        if written.copied:
            await conn.execute(update(posts).where(*copies).values(values))
        if written.rev == 1 and roster is not None:
            first = _post_row(db, task, route, intent, at)
            await _insert(conn, posts, copy_rows(db, roster, task, first))


def _revised(intent: PostIntent, at: datetime) -> dict[str, ColumnElement[Any] | Any]:
    stays = posts.c.state.in_(["sending", "due"] if intent.after_seconds else ["sending"])
    return {
        "rev": posts.c.rev + 1,
        "body": posts.c.body if intent.body is None else intent.body,
        "prio": case((on_request(), COPY_PRIO), else_=intent.prio),
        "episode": intent.episode,
        "round": intent.round,
        "due_at": case((stays, posts.c.due_at), else_=literal(_due_at(intent, at), posts.c.due_at.type)),
        "state": case((stays, posts.c.state), else_="due"),
        "attempts": 0,
        "error": None,
    }


def _due_at(intent: PostIntent, at: datetime) -> datetime:
    return at + timedelta(seconds=intent.after_seconds)


def _post_row(db: Database, task: Task, route: Route, intent: PostIntent, at: datetime) -> Values:
    return {
        "org": task.org,
        "id": db.ids.new(),
        "dedup_key": intent.dedup_key,
        "kind": intent.kind.value,
        "task_id": task.id,
        "episode": intent.episode,
        "round": intent.round,
        "surface": route.surface,
        "route": route.ref,
        "body": intent.body,
        "rev": 1,
        "prio": intent.prio,
        "due_at": _due_at(intent, at),
        "state": "due",
    }


async def _write_reach(db: Database, conn: AsyncConnection, task: Task, reach: Iterable[Reach]) -> None:
    """An address is the task's once, however often it writes there; the last call counts (I28)."""
    for one in reach:
        statement = db.insert(reach_keys).values(
            org=task.org,
            surface=one.to.surface,
            address=one.to.address,
            thread_ref=one.to.thread_ref,
            task_id=task.id,
            call_id=one.call_id,
            until=one.until,
        )
        new = statement.excluded
        key = list(reach_keys.primary_key.columns)
        later = {"call_id": new.call_id, "until": new.until}
        await conn.execute(statement.on_conflict_do_update(index_elements=key, set_=later))


async def insert_events(
    db: Database, conn: AsyncConnection, task: Task, happened: Iterable[TaskEvent], at: datetime
) -> None:
    """*happened* are in the event log, in their order."""
    rows = [
        {
            "org": task.org,
            "id": db.ids.new(),
            "name": event.name,
            "task_id": task.id,
            "call_id": event.call_id,
            "agent": task.agent,
            "label": task.label,
            "data": db.redactor.clean(event.data),
            "at": at,
        }
        for event in happened
    ]
    await _insert(conn, events, rows)


async def insert_entry(db: Database, conn: AsyncConnection, task: Task, entry: Entry, at: datetime) -> None:
    """The change's one audit entry, under its HMAC (I34), without secrets (I33)."""
    written = AuditEntry(
        org=task.org,
        id=db.ids.new(),
        at=at,
        actor=entry.actor,
        surface=entry.surface,
        move=entry.move,
        rule=entry.rule,
        task_id=task.id,
        call_id=entry.call_id,
        entry=dump(entry.facts),
    )
    await _insert(conn, audit, [audit_row(db.signed(written))])


# ── statements ───────────────────────────────────────────────────────────────────────────────


async def _insert(conn: AsyncConnection, table: Table, rows: list[Values]) -> None:
    if rows:
        await conn.execute(insert(table), rows)


async def _exactly_one(conn: AsyncConnection, statement: Any, what: str) -> None:
    """*statement* wrote one row. Raises StoreError if *what* it names is not as it was read."""
    if (await conn.execute(statement)).rowcount != 1:
        raise StoreError(f"{what} is not as it was read")


def _changed(before: Values, after: Values) -> Values:
    """The columns whose value is another; the rest, large bodies above all, is not written again."""
    return {name: value for name, value in after.items() if not _same(before[name], value)}


def _same(one: Any, other: Any) -> bool:
    """Whether surely nothing changed. Equal JSON may differ: 24.00 and 24, 1 and true."""
    plain = isinstance(one, (str, datetime)) or type(one) in (int, bool)
    return one is other or (plain and type(one) is type(other) and bool(one == other))
