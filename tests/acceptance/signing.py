"""An app whose agent reads a mailbox that somebody has to connect first; HOST_APP of the tests of that."""

import os
from pathlib import Path

from core.agents import Agent
from core.errors import NeedsConnect
from core.host import BaseHost
from core.testing import calls, says, script_from
from core.tools import tool

READ = calls(("read_mail", {}))


def mailbox() -> Path:
    """There once it is connected."""
    return Path(os.environ["SHOP_DB"]).with_name("mailbox")


@tool(risk="read")
async def read_mail() -> str:
    """Read the newest mail."""
    if not mailbox().exists():
        raise NeedsConnect("Mail", "https://shop.test/connect/mail")
    return "Dear shop, ..."


class Signing(BaseHost):
    def __init__(self) -> None:
        self.tools = {"read_mail": read_mail}
        self.agents = {"lead": Agent(key="lead", name="Sam", chief=True, tools=("read_mail",))}
        self.model = script_from([READ, READ, says("I read it.")])
