"""An app whose provider loses its answer, and knows later what it took; HOST_APP of the tests of that."""

import os
from pathlib import Path
from types import MappingProxyType

from core.agents import Agent
from core.gate import Setting
from core.host import BaseHost
from core.testing import calls, says, script_from
from core.tools import tool


def provider() -> Path:
    """There once the provider can be asked."""
    return Path(os.environ["SHOP_DB"]).with_name("provider")


async def is_there() -> bool | None:
    return True if provider().exists() else None


@tool(risk="contact", reconcile=is_there)
async def mail(to: str) -> None:
    """Send a mail."""
    raise ConnectionResetError("reset")


class Losing(BaseHost):
    def __init__(self) -> None:
        self.tools = {"mail": mail}
        allowed = MappingProxyType({"mail": Setting.ALLOW})
        self.agents = {
            "lead": Agent(key="lead", name="Sam", chief=True, tools=("mail",), settings=allowed),
        }
        self.model = script_from([calls(("mail", {"to": "x@example.test"})), says("I sent it, perhaps.")])
