"""Names for the ids of rows, so that one kind is never passed for another.

Ids are UUIDv7 text made outside core (the Ids port), but for the codes people read: task
``t-12``, its third call ``t-12.3``.
"""

import re
from dataclasses import dataclass
from typing import NewType

OrgId = NewType("OrgId", str)
TaskId = NewType("TaskId", str)
CallId = NewType("CallId", str)
ParkId = NewType("ParkId", str)
PersonId = NewType("PersonId", str)
PostId = NewType("PostId", str)
WorkerId = NewType("WorkerId", str)
Token = NewType("Token", str)
"""What a button carries: 128 unpredictable bits, naming one version of one park."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRef:
    """One task of one organization."""

    org: OrgId
    task_id: TaskId


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One worker's stretch of work on a task: what it writes holds only while *epoch* is the task's."""

    org: OrgId
    task_id: TaskId
    epoch: int
    worker: WorkerId

    @property
    def ref(self) -> TaskRef:
        return TaskRef(org=self.org, task_id=self.task_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class EventKey:
    """What makes an inbox row unique: its source and the source's own id."""

    source: str
    event_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CallCode:
    """A call as people write it: ``t-12.3``, or ``t-12.3v2`` for the second version of its park."""

    task_number: int
    call_number: int
    version: int | None = None

    def __str__(self) -> str:
        version = "" if self.version is None else f"v{self.version}"
        return f"t-{self.task_number}.{self.call_number}{version}"


_CALL = re.compile(r"t-([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})(?:v([1-9][0-9]{0,5}))?", re.ASCII)
_TASK = re.compile(r"t-([1-9][0-9]{0,8})", re.ASCII)


def call_code(text: str) -> CallCode | None:
    """The code *text* spells, or None."""
    if (found := _CALL.fullmatch(text)) is None:
        return None
    task, call, version = found.groups()
    return CallCode(
        task_number=int(task), call_number=int(call), version=None if version is None else int(version)
    )


def task_number(text: str) -> int | None:
    """12 for ``t-12``, or None."""
    found = _TASK.fullmatch(text)
    return None if found is None else int(found.group(1))


def task_code(number: int) -> str:
    """``t-12`` for 12."""
    return f"t-{number}"
