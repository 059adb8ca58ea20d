"""An app that tells its secrets wherever it can: in results, errors, addresses, headers, logs and cards."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from core.agents import Agent
from core.errors import NeedsConnect, ToolFailed
from core.host import BaseHost
from core.ids import OrgId
from core.tasks import Json
from core.tools import Tool, tool

HOST = "canary/host+0002"
VAULT = "canary-vault-0003"
OPENAI = "sk-canary-openai-0001-abcdef"
DATABASE = "canary-database-0004"
UNKNOWN = "ghp_canaryA0005canaryA0005canaryA0005"
"""Registered nowhere, and known by its look."""
CANARIES = (HOST, VAULT, OPENAI, DATABASE, UNKNOWN)

log = logging.getLogger("bot.leaking")


class Leaking(BaseHost):
    """*vault* holds VAULT under SHOP_KEY by the time it opens."""

    def __init__(self) -> None:
        self.tools: Mapping[str, Tool] = {t.name: t for t in (read, fail, refuse, link, pay)}
        self.agents: Mapping[str, Agent] = {"lead": Agent(key="lead", name="Sam", tools=tuple(self.tools))}

    async def open(self) -> None:
        assert await self.vault.get(OrgId("local"), "SHOP_KEY") in (VAULT, None)

    async def secrets(self) -> Mapping[str, str]:
        return {"HOST_KEY": HOST}


def _cause() -> None:
    raise ValueError(f"HTTP 401 from https://shop:{VAULT}@api.shop.test/?key={HOST}")


@tool(risk="read")
async def read() -> Json:
    """Reads."""
    log.info("reads with %s and %s", HOST, {"authorization": f"Bearer {VAULT}"})
    return {"header": {"Authorization": f"Bearer {VAULT}"}, HOST: [UNKNOWN, VAULT], "password": "swordfish"}


@tool(risk="read")
async def fail() -> Json:
    """Fails with a traceback."""
    try:
        _cause()
    except ValueError:
        log.exception("the shop said no to %s", UNKNOWN)
        raise RuntimeError(f"{'x' * 490} {VAULT} {HOST}") from None


@tool(risk="read")
async def refuse() -> Json:
    """Fails in its own words."""
    raise ToolFailed(f"the key {VAULT} is refused")


@tool(risk="read")
async def link() -> Json:
    """Wants an account."""
    raise NeedsConnect(f"the account of {VAULT}", f"https://shop.test/connect?key={VAULT}")


async def _seen(key: str) -> Json:
    return {"balance": 1, "key": key}


async def _preview(key: str) -> Json:
    return f"pays with {key} and {VAULT}"


@tool(risk="spend", precondition=_seen, preview=_preview)
def pay(key: str) -> str:
    """Pays with a key."""
    with Path(os.environ["SHOP_DB"]).open("a", encoding="utf-8") as file:
        file.write(f"{key}\n")
    return f"paid with {key}"
