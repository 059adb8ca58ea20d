"""What runs beside us: each process has a log, and none outlives the run."""

import asyncio
import os
import socket
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
CACHE = ROOT / "build" / "partners"
START_SECONDS = 60.0
LEAVE_SECONDS = 28.0
"""A platform kills after 30; what has not left by then is killed here."""
LOOK_SECONDS = 0.05
TAIL = 12
"""Lines of a log that are shown where something went wrong."""


class Failed(Exception):
    """What was to be seen was not; its words say what was seen instead."""


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: int = tried.getsockname()[1]
        return port


# ── processes ────────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True, slots=True)
class Processes:
    """Those that were started; *folder* holds a log of each."""

    folder: Path
    running: dict[str, Process] = field(default_factory=dict)

    async def start(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        """*command* is running, in the checkout's folder, and its log is *name*'s."""
        log = os.open(self._log(name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.running[name] = await asyncio.create_subprocess_exec(
                *command, cwd=ROOT, env=env, stdin=DEVNULL, stdout=log, stderr=log
            )
        finally:
            os.close(log)

    async def listening(self, name: str, port: int) -> None:
        """The process takes connections at *port*. Raises Failed where it left, or takes too long."""
        deadline = monotonic() + START_SECONDS
        while not await _connects(port):
            self.alive(name)
            if monotonic() > deadline:
                raise Failed(f"{name} did not listen at port {port} within {START_SECONDS:g} s")
            await asyncio.sleep(LOOK_SECONDS)
        self.alive(name)

    def alive(self, name: str) -> None:
        """Raises Failed where the process has left, with the end of its log."""
        status = self.running[name].returncode
        if status is not None:
            raise Failed(f"{name} left with status {status}: {self.tail(name, 3) or 'it said nothing'}")

    async def leave(self, name: str) -> int:
        """The exit status of the process, told to leave. Raises Failed where it had to be killed."""
        process = self.running[name]
        if process.returncode is None:
            process.terminate()
        try:
            return await asyncio.wait_for(process.wait(), LEAVE_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise Failed(f"{name} had not left {LEAVE_SECONDS:g} s after SIGTERM") from None

    async def end(self) -> None:
        """No process is left, whatever happened: told to leave, then killed."""
        for process in self.running.values():
            if process.returncode is None:
                process.terminate()
        waits = [asyncio.create_task(process.wait()) for process in self.running.values()]
        if waits:
            await asyncio.wait(waits, timeout=LEAVE_SECONDS)
        for process in self.running.values():
            if process.returncode is None:
                process.kill()
        await asyncio.gather(*waits)

    def tail(self, name: str, lines: int = TAIL) -> str:
        """The last *lines* of the process's log."""
        log = self._log(name)
        said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        return "\n".join(said.strip().splitlines()[-lines:])

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


async def ran(command: Sequence[str], env: Mapping[str, str]) -> str:
    """What *command* printed. Raises Failed where it failed."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=env, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    out, err = await process.communicate()
    if process.returncode != 0:
        raise Failed(f"`{' '.join(command[1:])}` failed: {err.decode(errors='replace').strip()}")
    return out.decode(errors="replace").strip()


async def _connects(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
