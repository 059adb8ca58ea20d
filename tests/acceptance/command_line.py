"""The real command line: ``python -m bot`` as processes, over a database, with the example shop behind it.

Most are forked (forking.py), which costs a tenth of what starting the interpreter does. What is about the
start itself, and one whole way through, takes `started_anew`.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, replace
from pathlib import Path

from bot.demo.shop import Books
from tests.acceptance import forking
from tests.acceptance.forking import Forked

ROOT = Path(__file__).resolve().parents[2]
USER = "ada"
KEY = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a command printed, and its exit status."""

    out: str
    err: str
    status: int

    @property
    def words(self) -> str:
        """What was printed, as one line."""
        return " ".join(self.out.split())


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """A terminal whose user is *ada*; every command is a process of its own."""

    env: dict[str, str]
    anew: bool = False
    """Whether each command starts the interpreter, as a person's does; else it is forked, which is sooner."""

    @property
    def started_anew(self) -> "CommandLine":
        """The same terminal, whose commands start the interpreter."""
        return replace(self, anew=True)

    def with_env(self, **changes: str) -> "CommandLine":
        """The same terminal with other variables."""
        return replace(self, env={**self.env, **changes})

    def without(self, name: str) -> "CommandLine":
        """The same terminal without a variable."""
        return replace(self, env={key: value for key, value in self.env.items() if key != name})

    async def start(self, *arguments: str) -> Process | Forked:
        """The command is running, in a process of its own."""
        if not self.anew:
            return await forking.start(arguments, self.env, ROOT)
        command = (sys.executable, "-m", "bot", *arguments)
        return await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=self.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )

    async def run(self, *arguments: str, typed: str = "") -> Said:
        """The command has run, *typed* being its input."""
        process = await self.start(*arguments)
        out, err = await process.communicate(typed.encode())
        assert process.returncode is not None
        return Said(out=out.decode(), err=err.decode(), status=process.returncode)

    async def does(self, *arguments: str, typed: str = "") -> Said:
        """The command has run, and well."""
        said = await self.run(*arguments, typed=typed)
        assert (said.status, said.err) == (0, ""), said.err
        return said

    async def refuses(self, *arguments: str, status: int = 1) -> str:
        """The command has failed with one line, which is answered; a traceback is more than one."""
        said = await self.run(*arguments)
        assert said.status == status, said
        assert said.out == ""
        assert said.err.startswith("error: ") and said.err.count("\n") == 1, said.err
        return said.err.removeprefix("error: ").rstrip("\n")

    async def works(self) -> Said:
        """A worker has done what can be done without a person."""
        return await self.does("worker", "--until-idle")

    @property
    def refunds(self) -> list[tuple[str, str]]:
        """What the shop has paid back: (order, amount), oldest first."""
        path = Path(self.env["SHOP_DB"])
        return [(r.order_id, str(r.amount)) for r in Books(path).refunds()] if path.exists() else []


def command_line(database_url: str, folder: Path) -> CommandLine:
    """A terminal over *database_url*, the shop's file in *folder*."""
    on_postgres = database_url.startswith("postgresql")
    return CommandLine(
        env={
            "PATH": os.environ.get("PATH", ""),
            "LOGNAME": USER,
            "COLUMNS": "90",
            "PYTHONWARNINGS": "error",
            "DATABASE_URL": database_url,
            "SHOP_DB": str(folder / "shop.db"),
            "HOST_APP": "bot.demo.shop:Shop",
            "LEASE_SECONDS": "30",
            **({"AUDIT_KEY": KEY} if on_postgres else {}),
        }
    )
