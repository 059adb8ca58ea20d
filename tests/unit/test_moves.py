"""What a move refuses to do, where no plan of ours asks for it: the last wall, not the first."""

from dataclasses import replace

import pytest

from core.agents import Agent
from core.calls import Call, CallState, Outcome
from core.errors import IllegalMove
from core.gate import Verdict
from core.ids import CallId, OrgId, Run, TaskId, WorkerId
from core.moves.common import error
from core.moves.effects import settle
from core.people import Organization
from core.tasks import Origin, Task, TaskState
from tests.explorer.rows import START, Rows

ORG, TASK, CALL = OrgId("org"), TaskId("task"), CallId("call")
RUN = Run(org=ORG, task_id=TASK, epoch=1, worker=WorkerId("w"))
SAM = Agent(key="lead", name="Sam")
WITHDRAWN = {CALL: error(Outcome.WITHDRAWN, "Not run: the task was stopped.")}


def rows(state: CallState) -> Rows:
    """A running task whose round has one refund in *state*."""
    task = Task(
        org=ORG,
        id=TASK,
        number=1,
        agent="lead",
        origin=Origin.OWNER,
        goal="refund it",
        state=TaskState.RUNNING,
        epoch=1,
        round=1,
        stop_by="ada",
        created_at=START,
    )
    call = Call(
        org=ORG,
        id=CALL,
        task_id=TASK,
        number=1,
        episode=1,
        round=1,
        ordinal=0,
        tool="refund",
        tool_digest="",
        risk="spend",
        pure=False,
        proposed_args={},
        args={},
        args_hash="",
        verdict=Verdict.RUN,
        rule="spend:owner:allow",
        state=state,
    )
    return Rows(task=task, organization=Organization(id=ORG, name="shop"), people=(), calls={CALL: call})


@pytest.mark.rule("I16", "I29")
def test_a_stop_does_not_withdraw_what_may_have_gone_out() -> None:
    here = rows(CallState.EXECUTING)
    before = dict(here.calls)
    with pytest.raises(IllegalMove, match="settles by its outcome alone"):
        here.apply(settle(RUN, SAM, WITHDRAWN))
    assert (here.calls, here.entries) == (before, [])


@pytest.mark.rule("I29")
@pytest.mark.parametrize("state", [CallState.PROPOSED, CallState.APPROVED])
def test_a_stop_withdraws_what_has_not_started(state: CallState) -> None:
    here = rows(state)
    here.apply(settle(RUN, SAM, WITHDRAWN))
    settled = here.calls[CALL]
    assert (settled.state, settled.outcome) == (CallState.SETTLED, Outcome.WITHDRAWN)


@pytest.mark.rule("I17")
def test_a_run_that_lost_its_task_settles_nothing() -> None:
    here = rows(CallState.APPROVED)
    before = dict(here.calls)
    here.apply(settle(replace(RUN, epoch=0), SAM, WITHDRAWN))
    assert (here.calls, here.entries) == (before, [])
