"""Loads a Work: exactly the rows that its docstring promises, no more.

Need.starts asks for nothing here: a change awaits nothing, so no switch is turned between its look and its
writing.
"""

from datetime import datetime, timedelta

from core.calls import Call, CallState
from core.errors import StoreError
from core.ids import CallId, TaskRef
from core.parks import Park, ParkState
from core.tasks import Message, MessageKind, Task
from core.testing.memory.rows import Rows, holds_key
from core.work import EARLIER, Earlier, Event, Need, Work


def load_work(rows: Rows, task: Task, need: Need, at: datetime) -> Work:
    """The Work of *task* with what *need* names, as it stands at *at*."""
    around = rows.organizations.get(task.org)
    if around is None:
        raise StoreError(f"the organization of task {task.id} is missing")
    switch = rows.switches.get(task.org, task.agent)
    found = _calls(rows, task, need)
    new = None if need.event is None else rows.inbox.get(need.event)
    return Work(
        task=task,
        organization=around.organization,
        switch=None if switch is None else switch.switch,
        calls=found,
        parks=_parks(rows, task, found, need),
        last=_last(rows, task),
        event=new.event if new is not None and new.state == "new" else None,
        unread=_unread(rows, task) if need.unread else (),
        roster=rows.people_of(around.organization) if need.roster else None,
        daily_tokens=_daily_tokens(rows, task, at) if need.usage else None,
        holders=() if need.effect_key is None else _holders(rows, task, need.effect_key),
        elsewhere=() if need.sent_key is None else _elsewhere(rows, task, need.sent_key, at),
        repeated=None if need.event_id is None else rows.parks.one("event", task.org, need.event_id),
    )


def calls_of(rows: Rows, task: Task) -> list[Call]:
    """Every call of the task, by number."""
    return sorted(rows.calls.under("task", task.org, task.id), key=lambda call: call.number)


def _calls(rows: Rows, task: Task, need: Need) -> tuple[Call, ...]:
    """Open owner calls, then the current round by ordinal, then what Need names."""
    named = {need.call, _call_behind(rows, task, need)}
    placed = [(_place(call, task), call) for call in calls_of(rows, task)]
    wanted = [(place, call) for place, call in placed if place[0] < 2 or call.id in named]
    return tuple(call for _, call in sorted(wanted, key=lambda one: one[0]))


def _call_behind(rows: Rows, task: Task, need: Need) -> CallId | None:
    """The call whose park, of whatever version, has Need's token."""
    park = None if need.token is None else rows.parks.one("token", need.token)
    ours = park is not None and (park.org, park.task_id) == (task.org, task.id)
    return park.call_id if park is not None and ours else None


def _place(call: Call, task: Task) -> tuple[int, int]:
    if call.round is None and not call.settled:
        return 0, call.number
    if (call.episode, call.round) == (task.episode, task.round):
        return 1, call.ordinal
    return 2, call.number


def _parks(rows: Rows, task: Task, found: tuple[Call, ...], need: Need) -> tuple[Park, ...]:
    """All open ones, the latest decision behind each approved call, then what Need names."""
    own = rows.parks.under("task", task.org, task.id)
    own.sort(key=lambda park: (park.created_at, park.version, park.id))
    approved = [call for call in found if call.state is CallState.APPROVED]
    decided = {call.id for call in approved} | {call.resend_of for call in approved}
    latest: dict[CallId, Park] = {}
    for park in own:
        if park.state is ParkState.DECIDED and park.call_id is not None and park.call_id in decided:
            before = latest.get(park.call_id)
            if before is None or _decided_at(park) >= _decided_at(before):
                latest[park.call_id] = park
    of_call = {need.call, _call_behind(rows, task, need)} - {None}
    named = [park for park in own if park.token == need.token or park.call_id in of_call]
    wanted = (*(park for park in own if park.open), *latest.values(), *named)
    return tuple({park.id: park for park in wanted}.values())


def _decided_at(park: Park) -> datetime:
    return park.decided_at or park.created_at


def _last(rows: Rows, task: Task) -> Message | None:
    said = (row.message for row in rows.messages.under("task", task.org, task.id))
    heard = [message for message in said if message.kind is not MessageKind.COMPACT]
    return max(heard, key=lambda message: message.seq, default=None)


def _unread(rows: Rows, task: Task) -> tuple[Event, ...]:
    taken = [row.event for row in rows.inbox.under("task", task.org, task.id) if row.state == "taken"]
    return tuple(sorted(taken, key=in_turn))


def in_turn(event: Event) -> tuple[datetime | None, str, str]:
    """The order of what came in."""
    return event.received_at, event.key.source, event.key.event_id


def _daily_tokens(rows: Rows, task: Task, at: datetime) -> int:
    """Tokens of the last 24 hours, this one included."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    spent = (row for row in rows.usage if (row.org, row.agent) == (task.org, task.agent))
    return sum(row.reserved + row.used for row in spent if row.hour > hour - timedelta(hours=24))


def _holders(rows: Rows, task: Task, effect_key: str) -> tuple[Call, ...]:
    return tuple(c for c in calls_of(rows, task) if c.effect_key == effect_key and holds_key(c))


def _elsewhere(rows: Rows, task: Task, sent_key: str, at: datetime) -> tuple[Earlier, ...]:
    """Other tasks' calls that hold the key inside the organization's window, newest first."""
    around = rows.organizations.get(task.org)
    assert around is not None
    since = at - around.organization.send_window
    found = [c for c in rows.calls.under("sent", task.org, sent_key) if c.task_id != task.id and holds_key(c)]
    recent = [(c.marked_at, c.id, c) for c in found if c.marked_at is not None and c.marked_at > since]
    newest = [call for _, _, call in sorted(recent, key=lambda one: one[:2], reverse=True)[:EARLIER]]
    return tuple(_earlier(rows, call) for call in newest)


def _earlier(rows: Rows, call: Call) -> Earlier:
    task = rows.task(TaskRef(org=call.org, task_id=call.task_id))
    assert task is not None
    return Earlier(call=call, task_number=task.number, agent=task.agent)
