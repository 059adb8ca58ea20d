"""What docs/tools.md shows is so: every block of it, one after the other."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.clock import SystemClock
from core.calls import Outcome
from core.host import BaseHost
from core.ids import CallId, OrgId, TaskId
from core.running import Seen, check, look, preview, run, went_out
from core.tools import Tool, ToolContext, clean
from tests.contract import factories

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
    "draft_order": '{"items":[{"article":"mug","count":2},{"article":"lamp"}],"tags":["a"],"place":[1,2.5]}',
    "tell_sent": '{"to":"x@example.test","name":"Mara"}',
    "send_offer": '{"to":" X@example.test","text":"hi"}',
    "read_calendar": '{"day":"2026-03-02"}',
    "read_till": "{}",
    "fetch_page": '{"url":"https://example.com/a"}',
}


def test_each_tool_of_the_page_is_called_here(page: dict[str, Any]) -> None:
    assert len(BLOCKS) == 14
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


async def test_the_pages_order_is_made_of_items(page: dict[str, Any]) -> None:
    made = page["draft_order"]
    args = clean(made, CALLS["draft_order"]).args
    assert (await run(made, args, CONTEXT, SystemClock())).result == {"value": 3}


async def test_the_pages_preview_is_the_letter(page: dict[str, Any]) -> None:
    made = page["tell_sent"]
    args = clean(made, CALLS["tell_sent"]).args
    shown = await preview(made, args, CONTEXT, SystemClock())
    assert shown.value == "Dear Mara, your order is on its way. (to x@example.test)"


def test_the_pages_offers_are_the_same_by_their_recipient(page: dict[str, Any]) -> None:
    task, made = factories.task(), page["send_offer"]
    keys = {BaseHost().sent_key(task, made, {"to": to, "text": to}) for to in ("x@a.test", " X@A.test")}
    assert keys == {"send_offer:x@a.test"}
    assert BaseHost().sent_key(task, page["send_mail"], {"to": "x", "text": "hi"}) is None


async def test_the_pages_calendar_wants_its_account(page: dict[str, Any]) -> None:
    page["CONNECTED"].clear()
    ended = await run(page["read_calendar"], {"day": "2026-03-02"}, CONTEXT, SystemClock())
    assert ended.needs is not None and ended.needs.url == "https://shop.example/connect/calendar"


def test_the_pages_till_stands_alone_and_its_page_goes_somewhere(page: dict[str, Any]) -> None:
    assert not page["read_till"].concurrent
    assert page["fetch_page"].destination({"url": "https://example.com/a"}) == "example.com"


def test_only_what_the_page_says_may_be_edited(page: dict[str, Any]) -> None:
    assert page["transfer"].editable == {"amount"}
