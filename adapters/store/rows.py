"""Rows to values and back, one pair of functions a value, each field spelled out.

A row is a mapping by column name, read with the column types of tables.py: times are aware, JSON
is loaded. An unknown state, kind or role is a StoreError that names the row, rather than guessed (I13).
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from functools import wraps
from typing import Any, TypeVar

from sqlalchemy import RowMapping

from core.audit import AuditEntry
from core.calls import Call, CallState, Outcome, ParksAs
from core.errors import StoreError
from core.gate import Verdict
from core.ids import EventKey, OrgId, PostId, TaskId
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import (
    SEND_WINDOW,
    ApprovalRule,
    Organization,
    OrgState,
    Person,
    Role,
    Route,
    Switch,
    SwitchMode,
)
from core.ports import Post, Tried
from core.rights import Rights
from core.roster import rule_row
from core.tasks import Json, Message, MessageKind, Mode, Origin, Taint, Task, TaskState
from core.work import Event, EventKind, PostKind

Row = RowMapping
Values = dict[str, Any]
Value = TypeVar("Value")


def _row_of(table: str, key: str = "id") -> Callable[[Callable[[Row], Value]], Callable[[Row], Value]]:
    """A reader of rows of *table*; of one it can't read it raises StoreError, with what is in *key*."""

    def reader(read: Callable[[Row], Value]) -> Callable[[Row], Value]:
        @wraps(read)
        def reads(row: Row) -> Value:
            try:
                return read(row)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise StoreError(f"{table} {row.get(key)} can't be read: {error}") from error

        return reads

    return reader


def task_row(task: Task) -> Values:
    """The columns of *task*."""
    return {
        "org": task.org,
        "id": task.id,
        "number": task.number,
        "agent": task.agent,
        "label": task.label,
        "origin": task.origin.value,
        "requester": task.requester,
        "mode": task.mode.value,
        "parent_id": task.parent_id,
        "parent_call_id": task.parent_call_id,
        "depth": task.depth,
        "surface": task.surface,
        "chat": task.chat,
        "thread_ref": task.thread_ref,
        "goal": task.goal,
        "schema": task.schema,
        "taint": task.taint.value,
        "read_private": task.read_private,
        "state": task.state.value,
        "reason": task.reason,
        "episode": task.episode,
        "epoch": task.epoch,
        "worker": task.worker,
        "lease_until": task.lease_until,
        "attempts": task.attempts,
        "not_before": task.not_before,
        "prio": task.prio,
        "vrt": task.vrt,
        "round": task.round,
        "next_seq": task.next_seq,
        "next_call_no": task.next_call_no,
        "unread": task.unread,
        "strikes": task.strikes,
        "repeats": task.repeats,
        "stop_by": task.stop_by,
        "wrap": task.wrap,
        "extra_rounds": task.extra_rounds,
        "extra_tokens": task.extra_tokens,
        "tokens_in": task.tokens_in,
        "tokens_out": task.tokens_out,
        "result": task.result,
        "created_at": task.created_at,
        "started_at": task.started_at,
        "ended_at": task.ended_at,
    }


@_row_of("tasks")
def task_of(row: Row) -> Task:
    """The task of a row of tasks."""
    return Task(
        org=row["org"],
        id=row["id"],
        number=row["number"],
        agent=row["agent"],
        label=row["label"],
        origin=Origin(row["origin"]),
        requester=row["requester"],
        mode=Mode(row["mode"]),
        parent_id=row["parent_id"],
        parent_call_id=row["parent_call_id"],
        depth=row["depth"],
        surface=row["surface"],
        chat=row["chat"],
        thread_ref=row["thread_ref"],
        goal=row["goal"],
        schema=row["schema"],
        taint=Taint(row["taint"]),
        read_private=row["read_private"],
        state=TaskState(row["state"]),
        reason=row["reason"],
        episode=row["episode"],
        epoch=row["epoch"],
        worker=row["worker"],
        lease_until=row["lease_until"],
        attempts=row["attempts"],
        not_before=row["not_before"],
        prio=row["prio"],
        vrt=row["vrt"],
        round=row["round"],
        next_seq=row["next_seq"],
        next_call_no=row["next_call_no"],
        unread=row["unread"],
        strikes=row["strikes"],
        repeats=row["repeats"],
        stop_by=row["stop_by"],
        wrap=row["wrap"],
        extra_rounds=row["extra_rounds"],
        extra_tokens=row["extra_tokens"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        result=row["result"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
    )


def message_row(message: Message, org: OrgId, task_id: TaskId) -> Values:
    """The columns of *message* of the task of that id."""
    return {
        "org": org,
        "task_id": task_id,
        "seq": message.seq,
        "episode": message.episode,
        "round": message.round,
        "kind": message.kind.value,
        "body": message.body,
        "tokens": message.tokens,
        "from_seq": message.from_seq,
        "to_seq": message.to_seq,
        "epoch": message.epoch,
        "at": message.at,
    }


@_row_of("messages", "seq")
def message_of(row: Row) -> Message:
    """The message of a row of messages."""
    return Message(
        seq=row["seq"],
        episode=row["episode"],
        round=row["round"],
        kind=MessageKind(row["kind"]),
        body=row["body"],
        tokens=row["tokens"],
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        epoch=row["epoch"],
        at=row["at"],
    )


def call_row(call: Call) -> Values:
    """The columns of *call*."""
    return {
        "org": call.org,
        "id": call.id,
        "task_id": call.task_id,
        "number": call.number,
        "episode": call.episode,
        "round": call.round,
        "ordinal": call.ordinal,
        "provider_call_id": call.provider_call_id,
        "tool": call.tool,
        "tool_digest": call.tool_digest,
        "risk": call.risk,
        "pure": call.pure,
        "account": call.account,
        "proposed_args": call.proposed_args,
        "args": call.args,
        "args_hash": call.args_hash,
        "verdict": call.verdict.value,
        "rule": call.rule,
        "parks_as": _word(call.parks_as),
        "state": call.state.value,
        "outcome": _word(call.outcome),
        "result": call.result,
        "effect_key": call.effect_key,
        "sent_key": call.sent_key,
        "epoch": call.epoch,
        "attempts": call.attempts,
        "marked_at": call.marked_at,
        "settled_at": call.settled_at,
        "resend_of": call.resend_of,
        "late_note": call.late_note,
    }


@_row_of("calls")
def call_of(row: Row) -> Call:
    """The call of a row of calls."""
    return Call(
        org=row["org"],
        id=row["id"],
        task_id=row["task_id"],
        number=row["number"],
        episode=row["episode"],
        round=row["round"],
        ordinal=row["ordinal"],
        provider_call_id=row["provider_call_id"],
        tool=row["tool"],
        tool_digest=row["tool_digest"],
        risk=row["risk"],
        pure=row["pure"],
        account=row["account"],
        proposed_args=row["proposed_args"],
        args=row["args"],
        args_hash=row["args_hash"],
        verdict=Verdict(row["verdict"]),
        rule=row["rule"],
        parks_as=_as(ParksAs, row["parks_as"]),
        state=CallState(row["state"]),
        outcome=_as(Outcome, row["outcome"]),
        result=row["result"],
        effect_key=row["effect_key"],
        sent_key=row["sent_key"],
        epoch=row["epoch"],
        attempts=row["attempts"],
        marked_at=row["marked_at"],
        settled_at=row["settled_at"],
        resend_of=row["resend_of"],
        late_note=row["late_note"],
    )


def park_row(park: Park) -> Values:
    """The columns of *park*."""
    return {
        "org": park.org,
        "id": park.id,
        "token": park.token,
        "task_id": park.task_id,
        "call_id": park.call_id,
        "version": park.version,
        "kind": park.kind.value,
        "holds": park.holds,
        "shown": park.shown,
        "shown_hash": park.shown_hash,
        "renderer": park.renderer,
        "choices": [c.value for c in park.choices],
        "approvers": list(park.approvers),
        "created_at": park.created_at,
        "remind_at": park.remind_at,
        "expires_at": park.expires_at,
        "state": park.state.value,
        "decision": _word(park.decision),
        "choice": _word(park.choice),
        "by_person": park.by_person,
        "surface": park.surface,
        "event_id": park.event_id,
        "patch": park.patch,
        "reason": park.reason,
        "viewed": park.viewed,
        "decided_at": park.decided_at,
    }


@_row_of("parks")
def park_of(row: Row) -> Park:
    """The park of a row of parks."""
    return Park(
        org=row["org"],
        id=row["id"],
        token=row["token"],
        task_id=row["task_id"],
        call_id=row["call_id"],
        version=row["version"],
        kind=ParkKind(row["kind"]),
        holds=row["holds"],
        shown=row["shown"],
        shown_hash=row["shown_hash"],
        renderer=row["renderer"],
        choices=tuple(Choice(c) for c in row["choices"] or ()),
        approvers=tuple(row["approvers"] or ()),
        created_at=row["created_at"],
        remind_at=row["remind_at"],
        expires_at=row["expires_at"],
        state=ParkState(row["state"]),
        decision=_as(DecisionKind, row["decision"]),
        choice=_as(Choice, row["choice"]),
        by_person=row["by_person"],
        surface=row["surface"],
        event_id=row["event_id"],
        patch=row["patch"],
        reason=row["reason"],
        viewed=row["viewed"],
        decided_at=row["decided_at"],
    )


def audit_row(audit: AuditEntry) -> Values:
    """The columns of *audit*."""
    return {
        "org": audit.org,
        "id": audit.id,
        "at": audit.at,
        "actor": audit.actor,
        "surface": audit.surface,
        "move": audit.move,
        "rule": audit.rule,
        "task_id": audit.task_id,
        "call_id": audit.call_id,
        "entry": audit.entry,
        "mac": audit.mac,
        "seq": audit.seq,
        "prev_hash": audit.prev_hash,
        "hash": audit.hash,
    }


@_row_of("audit")
def audit_of(row: Row) -> AuditEntry:
    """The audit entry of a row of audit."""
    return AuditEntry(
        org=row["org"],
        id=row["id"],
        at=row["at"],
        actor=row["actor"],
        surface=row["surface"],
        move=row["move"],
        rule=row["rule"],
        task_id=row["task_id"],
        call_id=row["call_id"],
        entry=row["entry"],
        mac=row["mac"],
        seq=row["seq"],
        prev_hash=row["prev_hash"],
        hash=row["hash"],
    )


def event_row(event: Event, received_at: datetime) -> Values:
    """The columns of a new inbox row for *event*, offered from its receipt on."""
    return {
        "source": event.key.source,
        "event_id": event.key.event_id,
        "org": event.org,
        "kind": event.kind.value,
        "body": event.body,
        "received_at": received_at,
        "state": "new",
        "due_at": received_at,
        "attempts": event.attempts,
        "task_id": event.task_id,
    }


@_row_of("inbox", "event_id")
def event_of(row: Row) -> Event:
    """The event of a row of inbox."""
    return Event(
        key=EventKey(source=row["source"], event_id=row["event_id"]),
        org=row["org"],
        kind=EventKind(row["kind"]),
        body=row["body"],
        received_at=row["received_at"],
        attempts=row["attempts"],
        task_id=row["task_id"],
    )


@_row_of("posts")
def post_of(row: Row) -> Post:
    """The post of a row of posts."""
    return Post(
        id=PostId(row["id"]),
        org=OrgId(row["org"]),
        task_id=row["task_id"],
        kind=PostKind(row["kind"]),
        episode=row["episode"],
        round=row["round"],
        surface=row["surface"],
        route=row["route"],
        body=row["body"],
        rev=row["rev"],
        chat_ref=row["chat_ref"],
        attempts=row["attempts"],
        tried=tuple(map(_tried_of, row["tried"] or ())),
        shown_at=row["shown_at"],
        copy_of=row["copy_of"],
    )


def _tried_of(said: Values) -> Tried:
    return Tried(route=Route(surface=said["surface"], ref=said["ref"]), error=said["error"])


def tried_row(tried: Tried) -> Values:
    """What a row of posts keeps of *tried*."""
    return {"surface": tried.route.surface, "ref": tried.route.ref, "error": tried.error}


@_row_of("organizations")
def organization_of(row: Row) -> Organization:
    """The organization of a row of organizations."""
    seconds = row["send_window_seconds"]
    return Organization(
        id=OrgId(row["id"]),
        name=row["name"],
        time_zone=row["time_zone"],
        state=OrgState(row["state"]),
        max_running=row["max_running"],
        send_window=SEND_WINDOW if seconds is None else timedelta(seconds=seconds),
        rules=tuple(map(_rule_of, row["rules"] or ())),
    )


def _rule_of(rule: Json) -> ApprovalRule:
    """The rule that `core.roster.rule_row` wrote."""
    who = rule["who"]
    return ApprovalRule(
        what=rule["what"],
        who=None if who is None else tuple(who),
        self_approval=rule["self_approval"],
    )


def rules_row(organization: Organization) -> Json:
    """The column of its rules; NULL where it has none."""
    return [rule_row(rule) for rule in organization.rules] or None


def organization_row(organization: Organization, created_at: datetime) -> Values:
    """The columns of a new row for *organization*; its counters start by themselves."""
    return {
        "id": organization.id,
        "name": organization.name,
        "time_zone": organization.time_zone,
        "state": organization.state.value,
        "max_running": organization.max_running,
        "send_window_seconds": _window_seconds(organization),
        "rules": rules_row(organization),
        "created_at": created_at,
    }


def _window_seconds(organization: Organization) -> int | None:
    """None for the usual window, so that a new default holds for it too."""
    window = organization.send_window
    return None if window == SEND_WINDOW else round(window.total_seconds())


@_row_of("people")
def person_of(row: Row) -> Person:
    """The person of a row of people."""
    return Person(
        org=row["org"],
        id=row["id"],
        name=row["name"],
        roles=frozenset(Role(r) for r in row["roles"] or ()),
        left=row["left_at"] is not None,
    )


def person_row(person: Person, left_at: datetime | None = None) -> Values:
    """The columns of *person*, who left at *left_at* if they did."""
    return {
        "org": person.org,
        "id": person.id,
        "name": person.name,
        "roles": sorted(r.value for r in person.roles),
        "left_at": left_at,
    }


@_row_of("switches", "agent")
def switch_of(row: Row) -> Switch:
    """The switch of a row of switches."""
    return Switch(
        agent=row["agent"],
        paused=row["paused_at"] is not None,
        mode=SwitchMode(row["mode"]),
        settings=tuple((row["settings"] or {}).items()),
    )


def switch_row(
    org: OrgId, switch: Switch, paused_by: str | None = None, paused_at: datetime | None = None
) -> Values:
    """The columns of *switch*, paused at *paused_at* if it is."""
    return {
        "org": org,
        "agent": switch.agent,
        "paused_by": paused_by,
        "paused_at": paused_at,
        "mode": switch.mode.value,
        "settings": dict(switch.settings),
    }


@_row_of("rights", "agent")
def rights_of(row: Row) -> Rights:
    """The rights of a row of rights."""
    return Rights(
        tools=tuple(row["tools"] or ()),
        settings=tuple((row["settings"] or {}).items()),
        hosts=tuple(row["hosts"] or ()),
    )


def rights_row(org: OrgId, agent: str, rights: Rights) -> Values:
    """What *rights* themselves are in their row."""
    return {
        "org": org,
        "agent": agent,
        "tools": list(rights.tools),
        "settings": dict(rights.settings),
        "hosts": list(rights.hosts),
    }


Kind = TypeVar("Kind", bound=StrEnum)


def _as(kind: type[Kind], word: str | None) -> Kind | None:
    return None if word is None else kind(word)


def _word(value: StrEnum | None) -> str | None:
    return None if value is None else value.value
