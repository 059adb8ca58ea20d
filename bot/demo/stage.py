"""The demo's processes: workers that are started and killed, commands that are run, rows that are waited for.

Imports nothing heavy, so that the first worker is under way while this process still imports the rest.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TypeVar

from core.errors import GatepostError

T = TypeVar("T")

OWNER = "ada"
LEASE_SECONDS = "2"
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.02
SLOW_ORDER = "B2"
NOT_INHERITED = ("AUDIT_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "MODEL", "DYNO", "DB_POOL_SIZE")


class DemoFailed(GatepostError):
    """The demo did not show what it promises."""


def environment(folder: Path) -> dict[str, str]:
    """What every process of the demo runs with: its own two files, nobody else's keys."""
    root = Path(__file__).resolve().parents[2]
    agents = next(p for p in (root / "agents", root / "bot" / "_app" / "agents") if p.is_dir())
    path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    return {
        **inherited,
        "DATABASE_URL": f"sqlite+aiosqlite:///{folder / 'gatepost.db'}",
        "SHOP_DB": str(folder / "shop.db"),
        "HOST_APP": "bot.demo.shop:Shop",
        "AGENTS_DIR": str(agents),
        "LEASE_SECONDS": LEASE_SECONDS,
        "LOGNAME": OWNER,  # who the terminal's user is, in every process
        "PYTHONPATH": path,
    }


@dataclass(slots=True)
class Stage:
    """The processes of one demo in *folder*."""

    folder: Path
    env: dict[str, str]
    workers: list[Process] = field(default_factory=list)
    kills: int = 0

    async def start_worker(self, *, kill_at: int | None = None, slow: bool = False) -> Process:
        """A worker process more; *kill_at*: one that dies at that point of its run.

        *slow*: the payment provider hangs on one order, long enough to be killed over it.
        """
        mortal = None if kill_at is None else ["bot.demo.mortal", str(kill_at)]
        command = mortal or ["bot", "worker", "--no-posts"]
        env = {**self.env, "SHOP_SLOW_ORDERS": SLOW_ORDER if slow else ""}
        log = os.open(self.folder / "worker.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", *command, env=env, stdin=DEVNULL, stdout=log, stderr=log
            )
        finally:
            os.close(log)
        self.workers.append(process)
        return process

    async def kill(self, worker: Process) -> None:
        """The process is gone, without a chance to tidy up."""
        worker.send_signal(signal.SIGKILL)
        await worker.wait()
        self.kills += 1

    def found_dead(self) -> bool:
        """Whether no worker is left, the last one killed. Raises DemoFailed if it left in another way."""
        if any(worker.returncode is None for worker in self.workers):
            return False
        if (status := self.workers[-1].returncode) != -signal.SIGKILL:
            raise DemoFailed(f"a worker left with status {status}; worker.log says why")
        self.kills += 1
        return True

    async def leave(self) -> None:
        """Whoever still works was told to leave, and has."""
        for worker in self.workers:
            if worker.returncode is None:
                worker.terminate()
        await asyncio.gather(*(worker.wait() for worker in self.workers))

    async def clear(self) -> None:
        """No process is left, whatever happened."""
        for worker in self.workers:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()

    async def command(self, *arguments: str) -> str:
        """What ``python -m bot`` with *arguments* printed. Raises DemoFailed where it failed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", *arguments, env=self.env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
        out, err = await process.communicate()
        if process.returncode != 0:
            raise DemoFailed(f"`{' '.join(arguments)}` failed: {err.decode(errors='replace').strip()}")
        return out.decode(errors="replace").strip()

    async def until(self, what: str, look: Callable[[], Awaitable[T | None]]) -> T:
        """What *look* answers as soon as that is something. Raises DemoFailed after a while."""
        deadline = monotonic() + PATIENCE_SECONDS
        while (found := await look()) is None:
            if monotonic() > deadline:
                raise DemoFailed(f"waited {PATIENCE_SECONDS:g} s for {what}; worker.log may say why")
            await asyncio.sleep(LOOK_SECONDS)
        return found
