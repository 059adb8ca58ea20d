"""Another process of the shop, which a test starts, talks to by lines of JSON, and may kill at any moment.

``python -m tests.acceptance.child deciders``: people who click at the same moment as another process's.
``python -m tests.acceptance.child worker``: a worker that has taken one message when it is killed.
"""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import AlreadyDecided
from core.ids import Token
from core.moves.people import Decision
from core.parks import DecisionKind
from core.ports import ParkView
from core.testing import calls, says
from tests.acceptance.shop import NOTE, REFUND, U1, U2, Effect, Shop, Turnstile, World

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = {person.name: person for person in (U1, U2)}
SCRIPTS = {
    "refund": (calls(("refund", REFUND)), says("Refunded.")),
    "send_note": (calls(("send_note", NOTE)), says("Sent.")),
}
SAY_SECONDS = 60.0
"""How long a test waits for a child's line; a loaded machine took 3 s to start one."""


# ── the test's end ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Child:
    """A process that was started, and lines of JSON to it and from it."""

    process: Process

    async def tell(self, said: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(said).encode() + b"\n")
        await self.process.stdin.drain()

    async def hear(self) -> Any:
        """The child's next line. Fails where it ended instead."""
        assert self.process.stdout is not None
        async with asyncio.timeout(SAY_SECONDS):
            line = await self.process.stdout.readline()
        assert line, "the child ended without a word"
        return json.loads(line)

    async def kill(self) -> None:
        """It is gone, in the middle of whatever it did (kill -9)."""
        self.process.kill()
        assert await self.process.wait() == -signal.SIGKILL


@asynccontextmanager
async def started(role: str, *pass_fds: int) -> AsyncIterator[Child]:
    """A child that runs inside the block, and is killed after it if it still does."""
    command = (sys.executable, "-m", "tests.acceptance.child", role)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, cwd=ROOT, pass_fds=pass_fds
    )
    try:
        yield Child(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()  # to the end of its pipes, so that their transports close


class Barrier:
    """Children wait in a read of one shared pipe; one write of a byte for each releases them together."""

    def __init__(self) -> None:
        self.read_end, self._write_end = os.pipe()

    def release(self, children: int) -> None:
        os.write(self._write_end, b"!" * children)

    def close(self) -> None:
        os.close(self.read_end)
        os.close(self._write_end)


# ── the child's end ──────────────────────────────────────────────────────────────────────────


def _tell(said: Any) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _hear() -> Any:
    """The test's next line; None once it has no more."""
    line = sys.stdin.readline()
    return json.loads(line) if line else None


async def deciders() -> None:
    """Each line names clicks: all have seen their card, wait for the barrier, and decide at once."""
    setup = _hear()
    shop = Shop(setup["url"], [], world=World(), pool_size=8)
    while (clicks := _hear()) is not None:
        views = [await shop.find(Token(click["token"]), PEOPLE[click["who"]]) for click in clicks]
        assert all(view.park.open for view in views)
        released = asyncio.Event()
        deciding = [
            asyncio.create_task(_decide(shop, view, click, released))
            for view, click in zip(views, clicks, strict=True)
        ]
        await asyncio.sleep(0)  # each of them waits now
        _tell("ready")
        os.read(setup["barrier"], 1)
        released.set()
        _tell(await asyncio.gather(*deciding))
    await shop.close()


async def _decide(shop: Shop, view: ParkView, click: Any, released: asyncio.Event) -> Any:
    """What came of the click: ``won``, or what its person is told."""
    await released.wait()
    said = {"who": click["who"], "kind": click["kind"]}
    try:
        await shop.decide(view, Decision(kind=DecisionKind(click["kind"])), PEOPLE[click["who"]])
    except AlreadyDecided as error:
        lost = {"decision": error.decision, "by": error.by, "at": error.at.isoformat(), "words": str(error)}
        return {**said, "won": False, **lost}
    return {**said, "won": True}


class WrittenDown(list[Effect]):
    """Effects that also stand in a file, as a remote service keeps what it accepted whoever dies."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = Path(path)

    def append(self, effect: Effect) -> None:
        super().append(effect)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([str(part) for part in effect]) + "\n")


async def worker() -> None:
    """Takes a message, sends its card; with *die*, is in the middle of its tool then. Waits for its end."""
    setup = _hear()
    world = World(effects=WrittenDown(setup["remote"]))
    shop = Shop(setup["url"], SCRIPTS[setup["tool"]], world=world)
    task = await shop.parked()
    _tell({"org": task.org, "task": task.id, "cards": [[post.id, post.rev] for post in await shop.send()]})
    if (place := setup["die"]) is not None:
        line: Turnstile = world.hold(place)
        await shop.approve(await shop.view(task))
        run = asyncio.create_task(shop.run())
        await line.reached.wait()
        _tell("in the middle")
        await run
    await asyncio.Event().wait()


def remote(path: Path) -> Sequence[Any]:
    """What the service that keeps its log at *path* accepted, oldest first."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


if __name__ == "__main__":
    asyncio.run({"deciders": deciders, "worker": worker}[sys.argv[1]]())
