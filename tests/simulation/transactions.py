"""What must be so after each committed transaction, told by the rows it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from core.audit import AuditEntry
from core.calls import Call, CallState, Outcome
from core.gate import Risk, Verdict
from core.ids import PersonId, TaskRef
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import OrgState, SwitchMode
from core.tasks import Message, MessageKind, Mode, Origin, Taint, Task, TaskState
from core.testing.memory.rows import TaskRow, UsageRow
from core.testing.memory.table import Wrote
from tests.simulation import postings
from tests.simulation.approving import might
from tests.simulation.rules import demand, unread

if TYPE_CHECKING:
    from tests.simulation.watching import Watch

_QUEUE = {
    (TaskState.QUEUED, TaskState.RUNNING),
    (TaskState.QUEUED, TaskState.HELD),
    (TaskState.RUNNING, TaskState.QUEUED),
    (TaskState.DELAYED, TaskState.QUEUED),
    (TaskState.HELD, TaskState.QUEUED),
}
"""T2 and T3: what the queue's statements do by themselves, without an entry."""
_MOVED = {
    (TaskState.RUNNING, TaskState.WAITING),
    (TaskState.RUNNING, TaskState.DELAYED),
    (TaskState.RUNNING, TaskState.QUEUED),
    (TaskState.WAITING, TaskState.QUEUED),
}
_OWN = (Origin.OWNER, Origin.PROGRAM)
_APPROVAL_TTL = timedelta(hours=24)
_RUNS = (DecisionKind.APPROVE, DecisionKind.EDIT)


def check(watch: Watch, wrote: Sequence[Wrote]) -> None:
    """Raises Violation."""
    changed = [w for w in wrote if w.table in _ROWS and not _only_viewed(w)]
    entries = [w.after for w in wrote if w.table == "audit entry" and w.before is None]
    _trail(wrote)
    for entry in entries:
        unread(entry, f"the entry of {entry.move}")
    for w in wrote:
        if w.table == "usage":
            _spends(watch, w)
        if w.table == "post":
            postings.check(watch, w)
    if not changed:
        return
    _one_organization(changed, entries)
    queue = all(w.table == "task" for w in changed) and not entries
    if not queue:
        demand(len(entries) == 1, f"I34: {len(entries)} entries for one change of {changed[0].table}")
        _fenced(watch, changed, entries[0])
    for w in changed:
        _ROWS[w.table](watch, w, entries[0] if entries else None)
    for task in _tasks(watch, changed):
        _waits(watch, task)


def _only_viewed(w: Wrote) -> bool:
    """Somebody read a card to its end, which is kept on its park by itself."""
    before = w.before
    return w.table == "park" and before is not None and replace(before, viewed=w.after.viewed) == w.after


def _trail(wrote: Sequence[Wrote]) -> None:
    """I35: an entry is only ever added, and sealed once."""
    for w in wrote:
        if w.table != "audit entry" or w.before is None:
            continue
        demand(w.after is not None, "I35: an entry was deleted")
        sealed = replace(w.before, seq=w.after.seq, prev_hash=w.after.prev_hash, hash=w.after.hash)
        demand(w.before.seq is None and sealed == w.after, "I35: an entry was changed")


def _spends(watch: Watch, w: Wrote) -> None:
    """I23: an agent's tokens of the last day stay within its budget and one reservation."""
    budget = watch.limits.daily_tokens
    row: UsageRow = w.after
    tasks = [t for t in watch.rows.tasks_of(row.org) if t.agent == row.agent]
    if budget is None or any(t.extra_tokens for t in tasks):
        return
    since = watch.now() - timedelta(hours=24)
    of_day = [u for u in watch.rows.usage if (u.org, u.agent) == (row.org, row.agent) and u.hour > since]
    spent = sum(u.reserved + u.used for u in of_day)
    demand(spent <= budget + watch.limits.reply_tokens, f"I23: {spent} tokens of a budget of {budget}")


def _one_organization(changed: Sequence[Wrote], entries: Sequence[AuditEntry]) -> None:
    if not entries:
        return  # the queue serves all of them at once
    orgs = {_org(w.after or w.before) for w in changed} | {e.org for e in entries}
    demand(len(orgs) == 1, f"I18: one change wrote rows of {sorted(orgs)}")


def _org(row: Any) -> str:
    return str(row.task.org if isinstance(row, TaskRow) else row.org)


def _fenced(watch: Watch, changed: Sequence[Wrote], entry: AuditEntry) -> None:
    """I17: what a run writes, its task still has; but a late note."""
    run = watch.writer
    if run is None:
        return
    demand(
        entry.actor == f"worker:{run.worker}", f"I34: {entry.actor} is said to have written for {run.worker}"
    )
    if entry.rule == "late":
        return
    before = next((w.before.task for w in changed if w.table == "task" and w.before is not None), None)
    task = before or watch.rows.task(run.ref)
    owned = task is not None and task.state is TaskState.RUNNING and task.epoch == run.epoch
    demand(owned, f"I17: a run of epoch {run.epoch} wrote {entry.move}, its task is {task and task.state}")


def _tasks(watch: Watch, changed: Sequence[Wrote]) -> list[Task]:
    found = {}
    for w in changed:
        if w.table == "task":
            found[w.after.task.ref] = w.after.task
        elif w.table in ("call", "park"):
            ref = TaskRef(org=w.after.org, task_id=w.after.task_id)
            if (task := watch.rows.task(ref)) is not None:
                found[ref] = task
    return list(found.values())


# ── tasks ────────────────────────────────────────────────────────────────────────────────────


def _task(watch: Watch, w: Wrote, entry: AuditEntry | None) -> None:
    before: Task | None = None if w.before is None else w.before.task
    task: Task = w.after.task
    watch.seen[f"task {task.state}"] += 1
    if before is None:
        demand(task.state in (TaskState.QUEUED, TaskState.HELD), f"T1: a task opened {task.state}")
        return
    demand(task.epoch >= before.epoch and task.episode >= before.episode, "I16: an epoch shrank")
    narrower = before.origin in _OWN and task.origin is Origin.MEMBER  # a member wrote in it
    demand(task.origin is before.origin or narrower, "§2: an origin changed")
    demand(before.taint is Taint.NONE or task.taint is Taint.OUTSIDE, "§4: a taint was cleared")
    if before.ended and task.episode == before.episode:
        demand(task.state is before.state, f"T13: {before.state} became {task.state}")
    if before.ended and task.episode > before.episode:
        demand(task.state in (TaskState.QUEUED, TaskState.HELD), f"T12: an episode began {task.state}")
        return
    if before.state is task.state:
        return
    pair = (before.state, task.state)
    allowed = pair in _QUEUE if entry is None else pair in _MOVED or task.ended
    demand(allowed, f"§2: {before.state} became {task.state} by {entry.move if entry else 'the queue'}")
    if pair == (TaskState.QUEUED, TaskState.RUNNING):
        demand(task.epoch == before.epoch + 1, "T2: a claim did not raise the epoch")
        demand(not _paused(watch, task), "T2: a paused task was claimed")


def _paused(watch: Watch, task: Task) -> bool:
    org = watch.rows.organizations.get(task.org)
    switch = watch.rows.switches.get(task.org, task.agent)
    paused = org is not None and org.organization.state is OrgState.PAUSED
    return paused or (switch is not None and switch.switch.paused)


def _waits(watch: Watch, task: Task) -> None:
    parks = watch.rows.parks.under("task", task.org, task.id)
    holding = [p for p in parks if p.open and p.holds]
    if task.state is TaskState.WAITING:
        demand(bool(holding), "I19: it waits, and nothing holds it")
    if task.ended:
        demand(not holding, "T9: it ended, and a park still holds it")
        calls = watch.rows.calls.under("task", task.org, task.id)
        demand(all(c.settled for c in calls), "T10: it ended with a call that has no result")
    for call_id in {p.call_id for p in holding if p.call_id is not None}:
        demand(sum(p.call_id == call_id for p in holding) == 1, "C5: a call has two open cards")


# ── calls ────────────────────────────────────────────────────────────────────────────────────


def _call(watch: Watch, w: Wrote, entry: AuditEntry | None) -> None:
    before: Call | None = w.before
    call: Call = w.after
    task = watch.rows.task(TaskRef(org=call.org, task_id=call.task_id))
    assert entry is not None and task is not None
    if before is None:
        _proposed(watch, call)
    elif before.settled:
        _stays(before, call, entry)
        return
    if call.outcome is not None:
        watch.seen[f"outcome {call.outcome}"] += 1
    if call.state is CallState.EXECUTING and (before is None or before.state is not CallState.EXECUTING):
        _marked(watch, task, before or call, call)


def _proposed(watch: Watch, call: Call) -> None:
    known = call.risk in set(Risk)
    demand(known or call.verdict is Verdict.REFUSE, f"I13: {call.tool} of risk {call.risk} is {call.verdict}")


def _stays(before: Call, call: Call, entry: AuditEntry) -> None:
    """I16, I7: settled once; an unknown becomes known by a person's word or a look."""
    if replace(before, late_note=call.late_note) == call:
        return
    demand(before.outcome is Outcome.UNKNOWN, f"I16: a {before.outcome} call changed by {entry.move}")
    demand(entry.move in ("decide", "found_out"), f"I7: {entry.move} turned an unknown into {call.outcome}")
    known = call.outcome in (Outcome.SUCCEEDED, Outcome.FAILED)
    demand(known and call.result == before.result, "I16: a settled call has another result")


def _marked(watch: Watch, task: Task, before: Call, call: Call) -> None:
    """C15: the last look before it may go out."""
    watch.seen["marked"] += 1
    demand(before.state in (CallState.PROPOSED, CallState.APPROVED), f"C15: a {before.state} call was marked")
    demand(task.stop_by is None, "I29: an effect started after the stop")
    demand(not _paused(watch, task), "I29: an effect started after the pause")
    if before.state is CallState.APPROVED:
        _still_approved(watch, task, call)
    if call.pure:
        return
    demand(call.effect_key is not None, "I6: an effect without a key")
    demand(task.mode is Mode.NORMAL, f"I9: a task that only looks started {call.tool}")
    row = watch.rows.switches.get(task.org, task.agent)
    switch = None if row is None else row.switch
    demand(switch is None or switch.mode is SwitchMode.NORMAL, "I10: an effect started in practice")
    parks = [p for p in watch.rows.parks.under("task", task.org, task.id) if p.call_id == call.id]
    resent = call.resend_of is not None
    decided = [p for p in parks if p.state is ParkState.DECIDED and p.shown_hash == call.args_hash]
    if not decided and not resent:
        own = task.origin in _OWN and task.taint is Taint.NONE
        demand(own, f"I11: {call.tool} started undecided in a task of {task.origin}, taint {task.taint}")
        demand(not _a_member_wrote(watch, task), f"I11: {call.tool} started undecided on a member's word")
        demand(call.risk not in (Risk.REMOVE, Risk.PROFILE), f"I12: {call.tool} started undecided")
        asks = call.verdict is Verdict.ASK
        demand(not asks, f"I4: {call.tool} asks, and started undecided")
    for park in decided:
        fresh = park.decided_at is not None and watch.now() - park.decided_at <= _APPROVAL_TTL
        demand(fresh or len(decided) > 1, "C14: an approval older than a day let it run")
    if call.verdict is Verdict.RUN and call.round is not None and not decided:
        _behind(watch, call)


def _a_member_wrote(watch: Watch, task: Task) -> bool:
    """Eve, who approves nothing, asked for it or wrote in it."""
    hers = {said.text for said in watch.written.values() if said.by.startswith("eve-")}
    rows = watch.rows.messages.under("task", task.org, task.id)
    told = (row.message.body for row in rows if row.message.kind is MessageKind.OWNER)
    return task.goal in hers or any(body.get("text") in hers for body in told)


def _still_approved(watch: Watch, task: Task, call: Call) -> None:
    """I14: whoever let it run might do so now, by the people and the rules of now."""
    parks = watch.rows.parks.under("task", task.org, task.id)
    said = [p for p in parks if p.call_id == call.id and p.decision in _RUNS]
    said = said or [p for p in parks if p.call_id == call.resend_of and p.choice is Choice.SEND_AGAIN]
    by = max(said, key=lambda p: p.version).by_person if said else None
    demand(by is not None, f"I4: nobody approved {call.tool}, which started as approved")
    assert by is not None
    allowed = might(watch.rows, by, task, call, runs=True)
    demand(allowed, f"I14: {call.tool} started on the word of {by}, who may not approve it any more")


def _behind(watch: Watch, call: Call) -> None:
    """§5: what needs no click waits for the earlier asks of its round."""
    calls = watch.rows.calls.under("task", call.org, call.task_id)
    for other in calls:
        earlier = (other.episode, other.round) == (call.episode, call.round) and other.ordinal < call.ordinal
        if earlier:
            demand(
                other.state is not CallState.PARKED and not other.asks_person,
                "§5: an effect ran behind an open ask",
            )


# ── parks ────────────────────────────────────────────────────────────────────────────────────


def _park(watch: Watch, w: Wrote, entry: AuditEntry | None) -> None:
    before: Park | None = w.before
    park: Park = w.after
    watch.seen[f"park {park.kind} {park.state}"] += 1
    if before is not None and not before.open:
        demand(before == park, f"I16: a {before.state} park changed")
        return
    if park.state is ParkState.EXPIRED:
        due = park.expires_at is not None and park.expires_at <= watch.now()
        demand(due, "I31: a card expired before its time")
    if park.state is ParkState.DECIDED:
        assert entry is not None
        _decided(watch, park, entry)
    else:
        demand(park.by_person is None and park.decision is None, f"I1: a {park.state} park has a decision")


def _decided(watch: Watch, park: Park, entry: AuditEntry) -> None:
    """I1, I14, I15: once, by a person who may, who really clicked."""
    parks = watch.rows.parks.under("task", park.org, park.task_id)
    same = [
        p
        for p in parks
        if p.id != park.id
        and p.call_id is not None
        and (p.call_id, p.kind, p.version) == (park.call_id, park.kind, park.version)
        and p.state is ParkState.DECIDED
    ]
    demand(not same, f"I1: version {park.version} was decided twice")
    person = None if park.by_person is None else watch.rows.people.get(park.org, park.by_person)
    demand(person is not None, "I14: nobody of the organization decided")
    assert person is not None
    along = park.kind is ParkKind.CONNECT and park.event_id is None  # connected with another card
    task = watch.rows.task(TaskRef(org=park.org, task_id=park.task_id))
    assert task is not None
    runs = park.decision in _RUNS or park.choice is Choice.SEND_AGAIN
    allowed = along or might(watch.rows, person.id, task, watch.call(park.org, park.call_id), runs=runs)
    demand(allowed, f"I14: {person.name} decided, who may not")
    if park.kind is ParkKind.QUESTION and park.event_id in watch.written:
        said = watch.written[park.event_id]  # an owner's words answer a question, and nothing else
        by = said.by
        _applied(watch, said.text)
    elif along:
        leads = [p for p in parks if p.kind is park.kind and p.decided_at == park.decided_at and p.event_id]
        demand(bool(leads), "I15: it is connected, and nobody said so")
        by = leads[0].by_person or PersonId("")
    else:
        click = watch.pressed.get(park.event_id or "")
        demand(click is not None, f"I15: {park.kind} {park.decision} is decided, and nobody clicked")
        assert click is not None
        by = click.by
        seen = click.whole or (click.by, click.token) in watch.read
        demand(seen or not click.approves, "I32: it was approved by somebody who had not seen it whole")
    demand(by == park.by_person, "I14: another person is said to have decided")
    demand(entry.actor == park.by_person, "I34: the trail names another person")
    late = park.expires_at is not None and park.decided_at is not None and park.decided_at >= park.expires_at
    if park.kind is ParkKind.APPROVAL and late:
        swept = [p for p in parks if p.call_id == park.call_id and p.state is ParkState.EXPIRED]
        demand(not swept, "I31: it was decided, and had expired")


# ── words ────────────────────────────────────────────────────────────────────────────────────


def _message(watch: Watch, w: Wrote, entry: AuditEntry | None) -> None:
    demand(w.before is None, "I16: the transcript was rewritten")
    message: Message = w.after.message
    if message.kind in (MessageKind.GOAL, MessageKind.OWNER):
        _applied(watch, message.body["text"])


def _applied(watch: Watch, text: str) -> None:
    demand(text not in watch.texts, f"I21: {text!r} was applied twice")
    watch.texts.add(text)


_ROWS = {"task": _task, "call": _call, "park": _park, "message": _message}
