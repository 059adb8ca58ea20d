"""The app that docs/host.md shows works as it stands, and its table names every method of a host."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import bot
from core.host import BaseHost
from core.running import run
from core.tasks import TaskState
from core.testing import CountingIds, ManualClock, MemoryStore, ScriptedModel, calls, says
from tests.acceptance.shop import Street, agent, results
from tests.unit.test_tools_page import CONTEXT

PAGE = (Path(__file__).parents[2] / "docs" / "host.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


async def test_the_app_of_the_page_refunds_with_a_click_in_its_own_database(
    street: Street, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path / 'shop.db'}")
    names: dict[str, Any] = {"__name__": "shop"}
    exec(BLOCKS[0], names)
    app = names["Shop"]()
    app.agents = {"sam": agent(tools=tuple(app.tools))}
    app.model = ScriptedModel(
        [
            calls(("read_order", {"order_id": "A7"})),
            calls(("refund", {"order_id": "A7", "amount": 24})),
            calls(("refund", {"order_id": "A7", "amount": 12})),
            says("Refunded."),
        ]
    )
    shop = street.open([])
    object.__setattr__(shop.desk, "host", app)
    await app.open()
    try:
        async with app.sessions.begin() as session:
            session.add(names["Order"](id="A7", paid="24.00"))
        task = await shop.parked()
        assert app.pushed == [f"{task.code} waits: approval"]
        await shop.edit(await shop.view(task), {"amount": 18})
        await shop.run()
        await shop.approve(await shop.view(task))
        await shop.run()

        async with app.sessions() as session:
            paid = (await session.execute(select(names["Refund"]))).scalars().all()
        call = await shop.call(task, 2)
        assert [(row.call_id, row.order_id, row.amount) for row in paid] == [(call.id, "A7", "18")]
        assert (await shop.task(task)).state is TaskState.DONE
        first, last = app.model.requests[0], app.model.requests[-1]
        assert first.turns[1].text.endswith("[note] It is Monday, 05 January 2026, 09:00 (Europe/Lisbon).")
        assert "the same thing already went out" in (results(last)[0][1] or "")
    finally:
        await app.close()


async def test_the_tool_of_the_page_opens_what_its_organization_keeps() -> None:
    async def ask_the_shop(item: str, key: str) -> str:
        return f"{item} by {key}"

    names: dict[str, Any] = {name: getattr(bot, name) for name in bot.__all__} | {
        "ask_the_shop": ask_the_shop
    }
    exec(BLOCKS[1], names)
    app = names["Shop"]()
    app.vault = MemoryStore(clock=ManualClock(), ids=CountingIds()).secrets
    stock, context, clock = app.tools["stock"], CONTEXT, ManualClock()
    wanted = await run(stock, {"item": "mug"}, context, clock)
    assert wanted.needs is not None and wanted.needs.account == "the shop's account"
    await app.connected(context.org, "p-1", "canary-0001")
    found = await run(stock, {"item": "mug"}, context, clock)
    assert found.result == {"value": "mug by canary-0001"}


def test_the_app_is_about_sixty_lines() -> None:
    app, _ = BLOCKS
    assert 50 <= sum(bool(line.strip()) for line in app.splitlines()) <= 60


def test_every_method_of_a_host_is_in_the_table() -> None:
    methods = {n for n, _ in inspect.getmembers(BaseHost, inspect.isfunction) if not n.startswith("_")}
    named = set(re.findall(r"`(\w+)\(", PAGE[PAGE.index("## What is asked") : PAGE.index("## When one")]))
    assert len(methods) > 12
    assert methods == named


@pytest.mark.parametrize("attribute", ["tools", "agents", "chief", "model"])
def test_what_a_host_has_is_in_the_table(attribute: str) -> None:
    assert hasattr(BaseHost, attribute)
    assert f"`{attribute}`" in PAGE
