"""How a task goes, in words, from its rows alone: one table, a line a case."""

from typing import Any

import pytest

from core.calls import CallState, Outcome
from core.gate import Verdict
from core.ids import CallId, ParkId, Token
from core.parks import ParkKind, ParkState
from core.ports import Story
from core.progress import goes
from core.tasks import TaskState
from tests.contract import factories as make


def call(n: int, tool: str, state: CallState, **over: Any) -> Any:
    outcome = Outcome.SUCCEEDED if state is CallState.SETTLED else None
    result = None if outcome is None else {"value": 1}
    said = {"number": n, "ordinal": n, "tool": tool, "state": state, "outcome": outcome, "result": result}
    return make.call(**{"id": CallId(f"call-{n}"), "round": 3, **said, **over})


def park(n: int | None, kind: ParkKind, **over: Any) -> Any:
    call_id = None if n is None else CallId(f"call-{n}")
    ids = {"id": ParkId(f"park-{n}-{kind}"), "token": Token(f"token-{n}-{kind}")}
    return make.park(call_id=call_id, kind=kind, **ids, **over)


def story(state: TaskState, *rows: Any, **over: Any) -> Story:
    return Story(
        task=make.task(number=12, state=state, round=3, **over),
        messages=(),
        calls=tuple(row for row in rows if hasattr(row, "tool")),
        parks=tuple(row for row in rows if hasattr(row, "token")),
        audit=(),
    )


READ = {"pure": True, "verdict": Verdict.RUN}
RUNS, WAITS = TaskState.RUNNING, TaskState.WAITING
DONE = call(1, "read_order", CallState.SETTLED)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (story(RUNS), "Sam thinks… · round 3"),
        (story(RUNS, DONE), "Sam thinks… · round 3 · 1 done"),
        (
            story(RUNS, DONE, call(2, "read_order", CallState.PROPOSED, **READ)),
            "Sam runs read_order… · round 3 · 1 done",
        ),
        (story(RUNS, call(2, "refund", CallState.EXECUTING)), "Sam runs refund… · round 3"),
        (story(RUNS, call(2, "refund", CallState.APPROVED)), "Sam runs refund… · round 3"),
        (
            story(WAITS, call(2, "refund", CallState.PARKED), park(2, ParkKind.APPROVAL)),
            "Sam waits for your click on t-12.2 · round 3",
        ),
        (
            story(
                WAITS,
                call(2, "a", CallState.PARKED),
                park(2, ParkKind.APPROVAL),
                call(3, "b", CallState.PARKED),
                park(3, ParkKind.APPROVAL),
            ),
            "Sam waits for your click on t-12.2, t-12.3 · round 3",
        ),
        (
            story(WAITS, call(2, "ask_owner", CallState.PARKED), park(2, ParkKind.QUESTION)),
            "Sam waits for your answer on t-12.2 · round 3",
        ),
        (story(WAITS, park(None, ParkKind.LIMIT)), "Sam waits for your click on t-12 · round 3"),
        (story(WAITS, park(None, ParkKind.MESSAGE)), "Sam waits for your next message · round 3"),
        (
            story(WAITS, call(2, "mail", CallState.PARKED), park(2, ParkKind.REPLY)),
            "Sam waits for an answer from outside · round 3",
        ),
        (story(WAITS, park(2, ParkKind.APPROVAL, state=ParkState.DECIDED)), "Sam thinks… · round 3"),
        (story(TaskState.DELAYED), "Sam goes on as soon as it can · round 3"),
        (story(TaskState.HELD), "Sam goes on as soon as it can · round 3"),
        (story(TaskState.DONE, DONE), "Finished: see the report."),
        (story(TaskState.STOPPED), "Finished: see the report."),
        (story(RUNS, episode=2), "Finished: see the report."),
    ],
)
def test_how_a_task_goes_is_said_from_its_rows(rows: Story, said: str) -> None:
    assert goes(rows, 1, "Sam") == said


def test_a_name_that_hides_is_made_visible() -> None:
    assert goes(story(RUNS), 1, "S\u202em").startswith("S⟨U+202E⟩m thinks")
