"""What docs/tools.md shows is so: every block of it, one after the other."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import SystemClock
from core.calls import Outcome
from core.ids import CallId, OrgId, TaskId
from core.tools import Seen, Tool, ToolContext, check, clean, look, run, went_out

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CONTEXT = ToolContext(
    org=OrgId("o"), task_id=TaskId("t"), task_code="t-1", call_id=CallId("c-1"), agent="lead"
)


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    return names


CALLS = {
    "read_order": '{"order_id":"A7"}',
    "refund": '{"order_id":"A7","amount":18.50}',
    "send_mail": '{"to":"x@example.test","text":"hi"}',
    "transfer": '{"to":"DE1234","amount":99.99}',
    "refund_checked": '{"order_id":"A7","amount":24.00}',
    "reserve": '{"item":"mug","count":2}',
    "post_letter": '{"to":"x"}',
    "read_mail": '{"mail_id":"m1"}',
}


def test_each_tool_of_the_page_is_called_here(page: dict[str, Any]) -> None:
    assert len(BLOCKS) == 8
    assert {name for name, value in page.items() if isinstance(value, Tool)} == CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
async def test_each_tool_of_the_page_runs(page: dict[str, Any], name: str) -> None:
    made = page[name]
    args = clean(made, CALLS[name]).args
    assert await check(made, args, CONTEXT, SystemClock()) is None
    assert (await run(made, args, CONTEXT, SystemClock())).outcome is Outcome.SUCCEEDED


async def test_the_pages_check_refuses_what_is_more_than_was_paid(page: dict[str, Any]) -> None:
    made = page["refund_checked"]
    args = clean(made, '{"order_id":"A7","amount":24.01}').args
    assert await check(made, args, CONTEXT, SystemClock()) == "that is more than was paid"


async def test_the_pages_precondition_is_what_an_approver_sees(page: dict[str, Any]) -> None:
    made = page["reserve"]
    args = clean(made, CALLS["reserve"]).args
    assert await look(made, args, CONTEXT, SystemClock()) == Seen(value={"in_stock": 3})


async def test_the_pages_letter_can_be_looked_up(page: dict[str, Any]) -> None:
    made = page["post_letter"]
    assert await went_out(made, {"to": "x"}, CONTEXT, SystemClock()) is True


def test_only_what_the_page_says_may_be_edited(page: dict[str, Any]) -> None:
    assert page["transfer"].editable == {"amount"}
