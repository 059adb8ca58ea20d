"""A task that waits for no person and does not go on says why."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.audit import AuditEntry
from core.ids import OrgId, TaskId
from core.people import Organization, OrgState, Switch
from core.standing import broke_off, notice, stands_still
from core.tasks import Origin, Task, TaskState

ORG = OrgId("org")
AT = datetime(2026, 11, 29, 10, 4, 5, tzinfo=UTC)
TASK = Task(org=ORG, id=TaskId("t"), number=1, agent="sam", origin=Origin.OWNER, goal="x", created_at=AT)
HELD, DELAYED = replace(TASK, state=TaskState.HELD), replace(TASK, state=TaskState.DELAYED, not_before=AT)
RUNNING = replace(TASK, state=TaskState.RUNNING, lease_until=AT)
OPEN, PAUSED = Organization(id=ORG, name="Org"), Organization(id=ORG, name="Org", state=OrgState.PAUSED)


@pytest.mark.parametrize(
    ("task", "organization", "paused", "words"),
    [
        (HELD, PAUSED, True, "everything is paused"),
        (HELD, OPEN, True, "Sam is paused"),
        (HELD, OPEN, False, "as many tasks run as may at once"),
        (DELAYED, OPEN, False, "tried again at 10:04:05 UTC"),
        (RUNNING, OPEN, False, "its worker was lost; another takes it up"),
        (replace(RUNNING, lease_until=AT + timedelta(seconds=9)), OPEN, False, None),
        (TASK, PAUSED, True, None),
    ],
)
def test_why_a_task_stands_still_is_said(
    task: Task, organization: Organization, paused: bool, words: str | None
) -> None:
    switches = (Switch(agent="kim", paused=True), Switch(agent="sam", paused=paused))
    assert stands_still(task, "Sam", organization, switches, AT + timedelta(seconds=1)) == words


def test_how_often_its_run_broke_off_is_said() -> None:
    assert broke_off(TASK) is None
    assert broke_off(replace(TASK, attempts=1)) == "its run broke off once at this step"
    assert broke_off(replace(TASK, attempts=3)) == "its run broke off 3 times at this step"


def test_who_is_away_is_said_as_it_was_when_the_task_was_delayed_last() -> None:
    def gave_back(facts: str) -> AuditEntry:
        return AuditEntry(
            org=ORG,
            id="e",
            at=AT,
            actor="worker:w",
            surface=None,
            move="give_back",
            rule=None,
            task_id=TASK.id,
            call_id=None,
            entry=facts,
        )

    trail = [
        gave_back('{"delayed":true,"why":"old"}'),
        gave_back('{"delayed":true,"why":"The model is away."}'),
    ]
    assert notice(DELAYED, [*trail, gave_back('{"delayed":false}')]) == "The model is away."
    assert notice(TASK, trail) is None
    assert notice(DELAYED, []) is None
