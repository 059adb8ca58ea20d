"""A worker that kills itself at the N-th point of its runs: ``python -m bot.demo.mortal N``.

A point is right before, and right after, each call that a run makes: of the tasks port, of the model, of a
tool's check and handler. So odd N die before something happens, even N after it has happened and before
anybody was told. Idle polling is not counted, so that N means the same in every run.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bot.commands.work import run
from bot.redaction import settings_from
from bot.wiring import opened
from core.decisions import Desk
from core.ids import Run, TaskRef
from core.model import ModelReply, Request
from core.ports import (
    Inbox,
    Leases,
    Ledger,
    Model,
    Outbox,
    Parks,
    People,
    Prompts,
    Queue,
    Rates,
    Secrets,
    Store,
    Tasks,
    Transcript,
)
from core.tasks import Json, Task
from core.tools import Handler, Tool, ToolContext
from core.work import NOTHING, Cause, Duplicate, Fenced, Move, Need, NewTask, R, Work


@dataclass(slots=True)
class Fate:
    """How many points are left."""

    left: int

    def point(self) -> None:
        """One point less; at the last one the process is gone, with nothing tidied up."""
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class MortalTasks:
    """core.ports.Tasks with a point on either side of each call."""

    tasks: Tasks
    fate: Fate

    async def open(self, new: NewTask, cause: Cause) -> Task | Duplicate:
        self.fate.point()
        opened = await self.tasks.open(new, cause)
        self.fate.point()
        return opened

    async def change(self, ref: TaskRef, move: Move[R], need: Need = NOTHING) -> R:
        self.fate.point()
        answer = await self.tasks.change(ref, move, need)
        self.fate.point()
        return answer

    async def load(self, run: Run) -> Work | Fenced:
        self.fate.point()
        work = await self.tasks.load(run)
        self.fate.point()
        return work

    async def transcript(self, ref: TaskRef, after_seq: int = 0) -> Transcript:
        self.fate.point()
        said = await self.tasks.transcript(ref, after_seq)
        self.fate.point()
        return said


@dataclass(frozen=True, slots=True)
class MortalModel:
    """core.ports.Model with a point on either side of each request."""

    model: Model
    fate: Fate

    async def reply(self, request: Request) -> ModelReply:
        self.fate.point()
        reply = await self.model.reply(request)
        self.fate.point()
        return reply


@dataclass(frozen=True, kw_only=True, slots=True)
class MortalStore:
    """core.ports.Store whose tasks are mortal."""

    whole: Store
    tasks: Tasks
    queue: Queue
    inbox: Inbox
    outbox: Outbox
    parks: Parks
    people: People
    ledger: Ledger
    leases: Leases
    secrets: Secrets
    rates: Rates
    prompts: Prompts

    async def close(self) -> None:
        await self.whole.close()


def mortal_store(store: Store, fate: Fate) -> Store:
    """*store*, its tasks port with points."""
    return MortalStore(
        whole=store,
        tasks=MortalTasks(store.tasks, fate),
        queue=store.queue,
        inbox=store.inbox,
        outbox=store.outbox,
        parks=store.parks,
        people=store.people,
        ledger=store.ledger,
        leases=store.leases,
        secrets=store.secrets,
        rates=store.rates,
        prompts=store.prompts,
    )


def mortal_tool(tool: Tool, fate: Fate) -> Tool:
    """*tool* with points around its check and its handler; to a model and to an approval the same tool."""
    check = None if tool.check is None else _mortal(tool.check, fate)
    return replace(tool, handler=_mortal(tool.handler, fate), check=check)


def _mortal(handler: Handler, fate: Fate) -> Handler:
    async def handle(args: Mapping[str, Json], context: ToolContext) -> object:
        fate.point()
        result = await handler(args, context)
        fate.point()
        return result

    return handle


async def work(n: int) -> None:
    """A worker works until it is told to leave, or dies at point *n*."""
    fate = Fate(n)
    async with opened(settings_from(os.environ)) as app:
        host = app.host
        host.tools = {name: mortal_tool(tool, fate) for name, tool in host.tools.items()}
        host.model = None if host.model is None else MortalModel(host.model, fate)
        desk = Desk(store=mortal_store(app.store, fate), host=host, ids=app.desk.ids)
        await run(replace(app, desk=desk), until_idle=False, posters=[])


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(work(int(sys.argv[1])))
