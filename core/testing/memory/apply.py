"""Writes a Change: everything one move decided, inside a transaction of the rows.

The rules were checked by the move. Nothing can come between its look and this, so what is checked
here is only what the move can't know: keys that are taken, and inbox rows that are somebody else's.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from core.audit import AuditEntry
from core.canonical import dump
from core.errors import StoreError
from core.ids import EventKey, PostId
from core.moves.common import COPY_PRIO, place_key
from core.people import Route
from core.ports import Post
from core.routes import copy_routes, first_route
from core.tasks import Message, Task, TaskState
from core.testing.memory.rows import EventRow, InboxRow, MessageRow, PostRow, ReachRow, Rows, UsageRow
from core.work import Change, Entry, Event, PostIntent, PostKind, Reach, Spend, TaskEvent, Work, message_rows


def write_change(rows: Rows, work: Work, change: Change, at: datetime) -> None:
    """All of *change* is in the rows. Raises StoreError where they don't take it."""
    task = change.task
    if task.ref != work.task.ref:
        raise StoreError(f"the change of task {work.task.id} is one of another task")
    said = message_rows(work.task, change, at)
    _write_task(rows, work.task, replace(task, next_seq=task.next_seq + len(said)), at)
    write_messages(rows, task, said)
    _write_calls(rows, work, change)
    _write_parks(rows, work, change)
    _write_spend(rows, task, change.spend)
    assign(rows, task, change.assigned)
    settle_applied(rows, task, change.applied)
    _write_news(rows, task, change.news, at)
    _write_posts(rows, work, task, change.posts, at)
    _write_reach(rows, task, change.reach)
    write_events(rows, task, change.events, at)
    write_entry(rows, task, change.entry, at)


# ── the task and its rows ────────────────────────────────────────────────────────────────────


def _write_task(rows: Rows, before: Task, after: Task, at: datetime) -> None:
    """*after* is the task, at the end of its organization's turns if it is queued anew."""
    if (row := rows.tasks.get(before.org, before.id)) is None:
        raise StoreError(f"task {before.id} is not as it was read")
    stays = (before.state, before.prio) == (after.state, after.prio)
    if after.state is TaskState.QUEUED and not stays:
        after = replace(after, vrt=rows.place(after.org, after.prio))
        row = replace(row, queued_at=at, aged=False)
    rows.tasks.update(replace(row, task=after))


def write_messages(rows: Rows, task: Task, said: Iterable[Message]) -> None:
    for message in said:
        rows.messages.insert(MessageRow(org=task.org, task_id=task.id, message=message))


def _write_calls(rows: Rows, work: Work, change: Change) -> None:
    known = {call.id for call in (*work.holders, *work.calls)}
    for call in {call.id: call for call in change.calls}.values():
        (rows.calls.update if call.id in known else rows.calls.insert)(call)


def _write_parks(rows: Rows, work: Work, change: Change) -> None:
    known = {park.id for park in work.parks}
    for park in {park.id: park for park in change.parks}.values():
        (rows.parks.update if park.id in known else rows.parks.insert)(park)


def _write_spend(rows: Rows, task: Task, spend: Iterable[Spend]) -> None:
    for one in spend:
        before = rows.usage.get(task.org, task.agent, one.hour)
        if before is None:
            before = rows.usage.insert(UsageRow(org=task.org, agent=task.agent, hour=one.hour))
        spent = replace(before, reserved=before.reserved + one.reserved, used=before.used + one.used)
        rows.usage.update(spent)


# ── what came in ─────────────────────────────────────────────────────────────────────────────


def assign(rows: Rows, task: Task, keys: Iterable[EventKey]) -> None:
    """New inbox rows belong to *task*, unread; nobody else is offered them."""
    for key in keys:
        row = rows.inbox.get(key)
        if row is None or not _ours(task, row) or row.state != "new":
            raise StoreError(f"inbox row {key.source} {key.event_id} is not as it was read")
        _hand_over(rows, task, row, "taken")


def settle_applied(rows: Rows, task: Task, keys: Iterable[EventKey]) -> None:
    """Inbox rows, new or this task's, are applied; one that was applied before is an error (I21)."""
    for key in keys:
        row = rows.inbox.get(key)
        if row is None or not _ours(task, row) or not _is_free(task, row):
            raise StoreError(f"inbox row {key.source} {key.event_id} is not as it was read")
        _hand_over(rows, task, row, "applied")


def _ours(task: Task, row: InboxRow) -> bool:
    return row.event.org in (None, task.org)


def _is_free(task: Task, row: InboxRow) -> bool:
    return row.state == "new" or (row.state == "taken" and row.event.task_id == task.id)


def _hand_over(rows: Rows, task: Task, row: InboxRow, state: str) -> None:
    event = replace(row.event, org=task.org, task_id=task.id)
    rows.inbox.update(replace(row, event=event, state=state, due_at=None))


def _write_news(rows: Rows, task: Task, news: Iterable[Event], at: datetime) -> None:
    for event in news:
        receive(rows, replace(event, org=event.org or task.org), at)


def receive(rows: Rows, event: Event, at: datetime) -> bool:
    """Whether *event* is new; then it is stored, and offered from *at* on."""
    if rows.inbox.get(event.key) is not None:
        return False
    rows.inbox.insert(InboxRow(event=replace(event, received_at=at), due_at=at))
    return True


# ── what goes out, and what is kept ──────────────────────────────────────────────────────────


def _write_posts(rows: Rows, work: Work, task: Task, intents: Iterable[PostIntent], at: datetime) -> None:
    """Each intent is a post at its first route, or the next revision of the one it was, where that is.

    One that is said once stays as it was; of one that has nowhere to go nothing is written. What copies a
    card is revised with it.
    """
    for intent in intents:
        before = rows.posts.one("dedup", task.org, intent.dedup_key)
        for copy in rows.posts.under("copies", task.org, intent.dedup_key):
            rows.posts.update(_revised(copy, intent, at))
        if before is not None and before.post.task_id == task.id:
            if not intent.once:
                rows.posts.update(_revised(before, intent, at))
            continue
        route = first_route(rows.roster(work.organization), task, asks=intent.asks)
        if before is None and route is not None:
            _insert(rows, work, task, route, intent, at)
        elif before is not None and route is not None and not intent.once:
            raise StoreError(f"post {intent.dedup_key} is not as it was read")


def _insert(rows: Rows, work: Work, task: Task, route: Route, intent: PostIntent, at: datetime) -> None:
    """The post of *intent* is due at *route*; of a card, copies are where its cards go, too."""
    first = rows.posts.insert(_first(rows, task, route, intent, at))
    if intent.kind is not PostKind.CARD:
        return
    for to in copy_routes(rows.roster(work.organization), task, route):
        copy = _first(rows, task, to, intent, at)
        post = replace(copy.post, copy_of=first.dedup_key)
        rows.posts.insert(replace(copy, post=post, dedup_key=place_key(first.dedup_key, to)))


def _first(rows: Rows, task: Task, route: Route, intent: PostIntent, at: datetime) -> PostRow:
    post = Post(
        id=PostId(rows.ids.new()),
        org=task.org,
        task_id=task.id,
        kind=intent.kind,
        episode=intent.episode,
        round=intent.round,
        surface=route.surface,
        route=route.ref,
        body=intent.body,
        rev=1,
        chat_ref=None,
        attempts=0,
    )
    due_at = at + timedelta(seconds=intent.after_seconds)
    return PostRow(post=post, dedup_key=intent.dedup_key, prio=intent.prio, due_at=due_at)


def _revised(before: PostRow, intent: PostIntent, at: datetime) -> PostRow:
    """Due again, also where it was dead; but while it is being sent, whoever sends it sees to that.

    One that takes its time, and is due already, is due no later.
    """
    post = replace(
        before.post,
        episode=intent.episode,
        round=intent.round,
        body=before.post.body if intent.body is None else intent.body,
        rev=before.post.rev + 1,
        attempts=0,
    )
    prio = COPY_PRIO if before.post.on_request else intent.prio
    after = replace(before, post=post, prio=prio, error=None)
    if before.state == "sending" or (before.state == "due" and intent.after_seconds):
        return after
    return replace(after, state="due", due_at=at + timedelta(seconds=intent.after_seconds))


def _write_reach(rows: Rows, task: Task, reach: Iterable[Reach]) -> None:
    """An address is the task's once, however often it writes there; the last call counts (I28)."""
    for one in reach:
        row = ReachRow(
            org=task.org,
            surface=one.to.surface,
            address=one.to.address,
            thread_ref=one.to.thread_ref,
            task_id=task.id,
            call_id=one.call_id,
            until=one.until,
        )
        known = rows.reach_keys.get(row.org, row.surface, row.address, row.thread_ref, row.task_id)
        (rows.reach_keys.insert if known is None else rows.reach_keys.update)(row)


def write_events(rows: Rows, task: Task, happened: Iterable[TaskEvent], at: datetime) -> None:
    """*happened* are in the event log, in their order."""
    for event in happened:
        row = EventRow(
            org=task.org,
            id=rows.ids.new(),
            name=event.name,
            task_id=task.id,
            call_id=event.call_id,
            agent=task.agent,
            label=task.label,
            data=rows.redactor.clean(event.data),
            at=at,
        )
        rows.events.insert(row)


def write_entry(rows: Rows, task: Task, entry: Entry, at: datetime) -> None:
    """The change's one audit entry, under its HMAC (I34), without secrets (I33)."""
    written = AuditEntry(
        org=task.org,
        id=rows.ids.new(),
        at=at,
        actor=entry.actor,
        surface=entry.surface,
        move=entry.move,
        rule=entry.rule,
        task_id=task.id,
        call_id=entry.call_id,
        entry=dump(entry.facts),
    )
    rows.write_entry(written)
