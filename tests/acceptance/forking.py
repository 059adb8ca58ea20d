"""A process that has imported what the command line imports, and forks one for each command.

``python -m tests.acceptance.forking PATH``: answers on the socket at PATH. So a command costs its work and no
second of imports, and is a process of its own all the same: with its arguments, environment, folder and
pipes, to be killed and waited for. What the interpreter itself reads of the environment holds from its start
on, so there is a server for each such set of variables. `start` is the test's end.
"""

import asyncio
import atexit
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODULES = (
    "adapters.model_openai",
    "adapters.store",
    "asyncpg",
    "aiosqlite",
    "openai",
    "rich.markup",
    "bot.chat",
    "bot.cli",
    "bot.commands.agents",
    "bot.commands.ask",
    "bot.commands.audit",
    "bot.commands.decide",
    "bot.commands.doctor",
    "bot.commands.look",
    "bot.commands.operate",
    "bot.commands.web",
    "bot.commands.work",
    "bot.demo.play",
    "bot.demo.shop",
    "sqlalchemy.dialects.postgresql.asyncpg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "typer.rich_utils",
    "uvicorn.lifespan.off",
)
"""What a command may import when it gets that far."""

READ_AT_START = ("PYTHON", "LC_", "LANG")
"""How the variables begin that the interpreter reads when it starts."""


# ── the test's end ───────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Forked:
    """A command that was started: as much of `asyncio.subprocess.Process` as tests use."""

    pid: int
    stdin: StreamWriter
    stdout: StreamReader
    stderr: StreamReader
    _keeper: StreamReader
    _to_keeper: StreamWriter
    returncode: int | None = None

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Its exit status, or minus the signal that ended it."""
        if self.returncode is None:
            self.returncode = int(await self._keeper.readline())
            self._to_keeper.close()
            self.stdin.close()
        return self.returncode

    async def communicate(self, typed: bytes = b"") -> tuple[bytes, bytes]:
        """*typed* is its whole input; what it then printed on stdout and stderr, once it has ended."""
        out, err, _ = await asyncio.gather(self.stdout.read(), self.stderr.read(), self._feed(typed))
        await self.wait()
        return out, err

    async def _feed(self, typed: bytes) -> None:
        try:
            self.stdin.write(typed)
            await self.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # it ended without reading all
        self.stdin.close()


async def start(arguments: Sequence[str], env: Mapping[str, str], folder: Path) -> Forked:
    """``python -m bot`` with *arguments* runs in *folder*, its environment being *env*."""
    address = _served(tuple(sorted(item for item in env.items() if item[0].startswith(READ_AT_START))))
    ours, theirs = zip(*(os.pipe() if n else reversed(os.pipe()) for n in range(3)), strict=True)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    said = json.dumps({"arguments": list(arguments), "env": dict(env), "folder": str(folder)}).encode()
    socket.send_fds(connection, [len(said).to_bytes(4, "big")], theirs)
    connection.sendall(said)
    for end in theirs:
        os.close(end)
    keeper, to_keeper = await asyncio.open_unix_connection(sock=connection)
    return Forked(
        pid=int(await keeper.readline()),
        stdin=await _writer(ours[0]),
        stdout=await _reader(ours[1]),
        stderr=await _reader(ours[2]),
        _keeper=keeper,
        _to_keeper=to_keeper,
    )


async def _reader(end: int) -> StreamReader:
    reader = StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", 0)
    )
    return reader


async def _writer(end: int) -> StreamWriter:
    loop = asyncio.get_running_loop()
    protocol = asyncio.streams.FlowControlMixin(loop)
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(end, "wb", 0))
    return StreamWriter(transport, protocol, None, loop)


@cache
def _served(variables: tuple[tuple[str, str], ...]) -> str:
    """The address of this process's server whose interpreter was started with *variables*."""
    folder = tempfile.mkdtemp(prefix="gatepost-")
    address = f"{folder}/forks"
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.acceptance.forking", address],
        cwd=ROOT,
        env={"PATH": os.environ.get("PATH", ""), **dict(variables)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,  # pipes all three, as the commands get them: their streams are these
    )

    def close() -> None:
        server.communicate()  # it leaves at the end of its input
        shutil.rmtree(folder)

    atexit.register(close)
    assert server.stdout is not None
    assert (said := server.stdout.readline()) == b"ready\n", said
    return address


# ── the server's end ─────────────────────────────────────────────────────────────────────────


def serve(address: str) -> bool:
    """Fork a command for each connection until stdin ends, then False. True in the one that is to be it."""
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that a fork's own collections copy nothing of this
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are waited for by nobody
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        os.write(1, b"ready\n")  # past the buffers, which the commands inherit
        while 0 not in select.select([0, listening.fileno()], [], [])[0]:  # nothing is written there: its end
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    keep(connection)
                    return True
    return False


def keep(connection: socket.socket) -> None:
    """Fork the command, say its process, then how it ended, and be gone. Returns in the command's process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, ends, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as reading:
        said = json.loads(reading.read(int.from_bytes(length, "big")))
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(said, ends)
        return
    for end in (0, 1, 2, *ends):
        os.close(end)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def become(said: Mapping[str, Any], ends: Sequence[int]) -> None:
    """This process has the pipes, arguments, environment and folder of the command, and nothing else open."""
    for place, end in enumerate(ends):
        os.dup2(end, place)
    os.closerange(3, max(ends) + 64)
    sys.argv = ["-m", *said["arguments"]]
    os.environ.clear()
    os.environ.update(said["env"])
    os.chdir(said["folder"])


if __name__ == "__main__":
    if serve(sys.argv[1]):
        runpy.run_module("bot", run_name="__main__", alter_sys=True)
