"""The shop of the clicks' benchmark: `HOST_APP=bench.clicked_shop:Shop`, with a model by script.

*sam* proposes one refund a task and waits for a click; *lee* reads orders for as long as the load lasts. What
was paid back is a line of a file, which several processes append to: a refund made twice is there twice.
"""

import asyncio
import json
import os
import re
from collections import Counter
from enum import StrEnum
from pathlib import Path

from core.agents import Agent, Limits
from core.host import BaseHost
from core.model import Finish, ModelReply, Request, Usage, WireCall
from core.tasks import Json
from core.tools import ToolContext, tool

FOLDER, THINK = "BENCH_FOLDER", "BENCH_THINK_SECONDS"
"""Variables: the folder of the two files below, and how long the model takes for a reply."""

_ORDER = re.compile(r"refund order (\d+)", re.IGNORECASE)


class Stage(StrEnum):
    PREPARING = "preparing"  # refunds are proposed at once
    LOADED = "loaded"  # every reply takes its time
    OVER = "over"  # whoever goes on ends at once


def set_stage(folder: Path, stage: Stage) -> None:
    """Every process that works with *folder* goes by *stage* from its next reply on."""
    made = folder / "stage.new"
    made.write_text(stage, encoding="utf-8")
    made.replace(folder / "stage")


def refunds(folder: Path) -> Counter[str]:
    """How often money went back, by the call that it went back for."""
    path = folder / "refunds"
    return Counter(path.read_text(encoding="utf-8").split()) if path.exists() else Counter()


def refund_of(order: int) -> str:
    """The words that ask for a refund; its agent is named, or it would join the task before."""
    return f"sam: refund order {order}"


def reading(task: int) -> str:
    """The words that keep *lee* reading."""
    return f"lee: look through the orders, list {task}"


class ScriptModel:
    """core.ports.Model: the next reply by what the history holds."""

    def __init__(self, folder: Path, think_seconds: float) -> None:
        self._folder = folder
        self._think_seconds = think_seconds

    async def reply(self, request: Request) -> ModelReply:
        said = "\n".join(turn.text or "" for turn in request.turns if turn.role == "user")
        made = sum(len(turn.calls) for turn in request.turns)
        order = _ORDER.search(said)
        if order is None:
            await self._thinks(Stage.PREPARING, Stage.LOADED)
            if self._stage is Stage.OVER or not request.tools:
                return _says("I have looked through them.")
            return _calls("read_order", {"id": f"A{made}"}, made)
        await self._thinks(Stage.LOADED)
        if made:
            return _says("It is paid back.")
        return _calls("refund", {"order_id": f"A{order[1]}", "amount": 12}, made)

    @property
    def _stage(self) -> Stage:
        return Stage((self._folder / "stage").read_text(encoding="utf-8"))

    async def _thinks(self, *stages: Stage) -> None:
        if self._stage in stages:
            await asyncio.sleep(self._think_seconds)


def _says(text: str) -> ModelReply:
    usage = Usage(tokens_in=200, tokens_out=20)
    return ModelReply(text=text, finish=Finish.STOP, usage=usage, model="script")


def _calls(name: str, arguments: Json, made: int) -> ModelReply:
    wire = WireCall(id=f"script-{made}", name=name, arguments=json.dumps(arguments))
    usage = Usage(tokens_in=200, tokens_out=20)
    return ModelReply(text=None, calls=(wire,), finish=Finish.TOOL_CALLS, usage=usage, model="script")


class Shop(BaseHost):
    """Made once a process, with what the environment says."""

    agents = {  # noqa: RUF012
        "sam": Agent(key="sam", name="Sam", role="You pay back.", tools=("refund",), chief=True),
        "lee": Agent(
            key="lee",
            name="Lee",
            role="You look through orders.",
            tools=("read_order",),
            limits=Limits(rounds=10_000),  # it ends with the load, not before
        ),
    }

    def __init__(self) -> None:
        folder = Path(os.environ[FOLDER])
        self.model = ScriptModel(folder, float(os.environ[THINK]))

        @tool(risk="read")
        async def read_order(id: str) -> str:
            """Read an order."""
            return f"Order {id}: a mug, 24.00 EUR, paid, on its way since Monday."

        @tool(risk="spend")
        async def refund(order_id: str, amount: int, context: ToolContext) -> str:
            """Pay back some or all of what a customer paid for an order."""
            line = f"{context.call_id}\n".encode()
            file = os.open(folder / "refunds", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, line)  # in one piece, whoever else appends
            finally:
                os.close(file)
            return f"Refunded {amount} EUR on {order_id}."

        self.tools = {"read_order": read_order, "refund": refund}
