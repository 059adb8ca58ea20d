"""Values with every field set to something plausible, each overridable: what store tests write and compare.

`full_*` set every field to something that is not its default, so that a column that is lost shows.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.rows import (
    audit_row,
    call_row,
    event_row,
    message_row,
    organization_row,
    park_row,
    person_row,
    task_row,
)
from adapters.store.tables import audit, calls, inbox, messages, organizations, parks, people, tasks
from core.audit import AuditEntry
from core.calls import Call, CallState, Outcome, ParksAs
from core.gate import Verdict
from core.ids import CallId, EventKey, OrgId, ParkId, PersonId, Run, TaskId, Token, WorkerId
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import Organization, Person, Role
from core.tasks import Message, MessageKind, Mode, Origin, Taint, Task, TaskState
from core.work import Cause, Change, Entry, Event, EventKind, NewTask

AUDIT_KEY = b"a key that is only for tests"
NOW = datetime(2026, 3, 4, 5, 6, 7, 890123, tzinfo=UTC)
ORG = OrgId("org-a")
OTHER_ORG = OrgId("org-b")
PERSON = PersonId("person-1")
WORKER = WorkerId("worker-1")


class CountingIds:
    """Ids that sort by birth and say so."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self) -> str:
        return f"id-{next(self._numbers):06}"

    def nonce(self) -> str:
        return f"nonce-{next(self._numbers):016}"


def organization(**over: Any) -> Organization:
    return Organization(**{"id": ORG, "name": "Bakery", "time_zone": "Europe/Riga", **over})


def person(**over: Any) -> Person:
    return Person(**{"org": ORG, "id": PERSON, "name": "Ada", "roles": frozenset({Role.OWNER}), **over})


def task(**over: Any) -> Task:
    given = {
        "org": ORG,
        "id": TaskId("task-1"),
        "number": 1,
        "agent": "helper",
        "origin": Origin.OWNER,
        "goal": "write to Bob",
        "surface": "slack",
        "chat": "C1",
        "thread_ref": "C1:123.4",
        "next_seq": 2,
        "created_at": NOW,
    }
    return Task(**{**given, **over})


def full_task(**over: Any) -> Task:
    """No field has its default."""
    given = {
        "label": "label",
        "requester": PERSON,
        "mode": Mode.OBSERVE,
        "parent_id": TaskId("parent"),
        "parent_call_id": "parent-call",
        "depth": 2,
        "goal": {"b": [1, Decimal("24.00"), None], "a": "…"},
        "schema": {"type": "object"},
        "taint": Taint.OUTSIDE,
        "read_private": True,
        "state": TaskState.WAITING,
        "reason": "limit",
        "episode": 3,
        "epoch": 4,
        "worker": WORKER,
        "lease_until": NOW + timedelta(seconds=60),
        "attempts": 1,
        "not_before": NOW + timedelta(seconds=5),
        "prio": 0,
        "vrt": 7,
        "round": 8,
        "next_seq": 9,
        "next_call_no": 10,
        "unread": 2,
        "strikes": 1,
        "repeats": 1,
        "stop_by": PERSON,
        "wrap": True,
        "extra_rounds": 20,
        "extra_tokens": 50_000,
        "tokens_in": 12_345_678_901,
        "tokens_out": 11,
        "result": {"value": Decimal("1.50")},
        "started_at": NOW + timedelta(seconds=1),
        "ended_at": NOW + timedelta(seconds=2),
    }
    return task(**{**given, **over})


def running(**over: Any) -> Task:
    given = {"state": TaskState.RUNNING, "epoch": 1, "worker": WORKER, "lease_until": NOW, "round": 1}
    return task(**{**given, **over})


def run_of(of: Task) -> Run:
    return Run(org=of.org, task_id=of.id, epoch=of.epoch, worker=of.worker or WORKER)


def message(**over: Any) -> Message:
    given = {"seq": 1, "episode": 1, "round": 0, "kind": MessageKind.GOAL, "body": {"text": "go"}, "at": NOW}
    return Message(**{**given, **over})


def call(**over: Any) -> Call:
    given = {
        "org": ORG,
        "id": CallId("call-1"),
        "task_id": TaskId("task-1"),
        "number": 1,
        "episode": 1,
        "round": 1,
        "ordinal": 0,
        "tool": "mail.send",
        "tool_digest": "digest",
        "risk": "contact",
        "pure": False,
        "proposed_args": {"to": "bob@example.com"},
        "args": {"to": "bob@example.com"},
        "args_hash": "hash",
        "verdict": Verdict.ASK,
        "rule": "contact.owner.ask",
    }
    return Call(**{**given, **over})


def full_call(**over: Any) -> Call:
    """No field has its default."""
    given = {
        "provider_call_id": "toolu_1",
        "account": "mail:ada",
        "args": {"z": 1, "amount": Decimal("24.00"), "a": [True, None]},
        "parks_as": ParksAs.QUESTION,
        "state": CallState.SETTLED,
        "outcome": Outcome.SUCCEEDED,
        "result": {"value": None},
        "effect_key": "key-1",
        "sent_key": "key-1",
        "epoch": 4,
        "attempts": 2,
        "marked_at": NOW,
        "settled_at": NOW + timedelta(seconds=1),
        "resend_of": CallId("call-0"),
        "late_note": "late",
    }
    return call(**{**given, **over})


def park(**over: Any) -> Park:
    given = {
        "org": ORG,
        "id": ParkId("park-1"),
        "token": Token("token-1"),
        "task_id": TaskId("task-1"),
        "call_id": CallId("call-1"),
        "kind": ParkKind.APPROVAL,
        "holds": True,
        "shown": {"why": "contact"},
        "shown_hash": "hash",
        "created_at": NOW,
    }
    return Park(**{**given, **over})


def full_park(**over: Any) -> Park:
    """No field has its default."""
    given = {
        "version": 2,
        "renderer": "9",
        "choices": (Choice.WENT_OUT, Choice.DID_NOT),
        "approvers": (PERSON, PersonId("person-2")),
        "remind_at": NOW + timedelta(days=1),
        "expires_at": NOW + timedelta(days=7),
        "state": ParkState.DECIDED,
        "decision": DecisionKind.CHOICE,
        "choice": Choice.WENT_OUT,
        "by_person": PERSON,
        "surface": "slack",
        "event_id": "click-1",
        "patch": {"amount": Decimal("2.50")},
        "reason": "because",
        "viewed": {"person-1": "digest"},
        "decided_at": NOW + timedelta(seconds=3),
    }
    return park(**{**given, **over})


def event(**over: Any) -> Event:
    given = {
        "key": EventKey(source="slack", event_id="e-1"),
        "org": ORG,
        "kind": EventKind.MESSAGE,
        "body": {"text": "hello", "person": PERSON},
        "received_at": NOW,
    }
    return Event(**{**given, **over})


def new_task(**over: Any) -> NewTask:
    given = {
        "org": ORG,
        "id": TaskId("task-1"),
        "agent": "helper",
        "origin": Origin.OWNER,
        "goal": "write to Bob",
        "requester": PERSON,
        "prio": 0,
        "surface": "slack",
        "chat": "C1",
        "thread_ref": "C1:123.4",
    }
    return NewTask(**{**given, **over})


def cause(**over: Any) -> Cause:
    given = {"key": EventKey(source="slack", event_id="e-1"), "actor": PERSON, "surface": "slack"}
    return Cause(**{**given, **over})


def entry(**over: Any) -> Entry:
    return Entry(**{"actor": f"worker:{WORKER}", "move": "test", "facts": {"n": Decimal("1.10")}, **over})


def change(of: Task, **over: Any) -> Change:
    """A change that leaves *of* as it is, but for what *over* says."""
    return Change(**{"task": of, "entry": entry(), **over})


async def save(db: Database, *values: Any) -> None:
    """Each value is a row, past every rule: see Planted.save."""

    async def body(conn: AsyncConnection) -> None:
        for value in values:
            table, row = _row_of(value)
            if table is tasks:
                row["queued_at"] = db.clock()  # as whoever queues one says it
            await conn.execute(insert(table).values(row))

    await db.write(body)


async def save_messages(db: Database, of: Task, *rows: Message) -> None:
    """*rows* are the transcript of *of*."""

    async def body(conn: AsyncConnection) -> None:
        await conn.execute(insert(messages), [message_row(row, of.org, of.id) for row in rows])

    await db.write(body)


def _row_of(value: Any) -> tuple[Any, dict[str, Any]]:
    match value:
        case Organization():
            return organizations, organization_row(value, NOW)
        case Person():
            return people, person_row(value, left_at=NOW if value.left else None)
        case Task():
            return tasks, task_row(value)
        case Call():
            return calls, call_row(value)
        case Park():
            return parks, park_row(value)
        case AuditEntry():
            return audit, audit_row(value)
        case Event():
            return inbox, event_row(value, value.received_at or NOW)
        case _:
            raise TypeError(f"no table for {type(value).__name__}")


def numbered_task(number: int, **over: Any) -> Task:
    """Task ``t-number`` with an id of its own."""
    return task(**{"id": TaskId(f"task-{number}"), "number": number, **over})
