"""The bot: wires core and adapters together. The only package that reads the environment.

In a checkout ``core`` and ``adapters`` sit beside this folder; in an installed wheel they ride in
``bot/_app``, so that the wheel claims the one top-level name ``bot``. Either way they are imported by their
plain names, never as ``bot._app.core``, which would be a second copy of every class.

What programs import, ``from bot import BaseHost, tool``, is looked up when it is asked for (PEP 562).
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.agents import Agent
    from core.errors import NeedsConnect, ToolFailed
    from core.gate import Risk
    from core.host import BaseHost
    from core.tools import Tool, ToolContext, tool
    from core.work import Reached

_APP = Path(__file__).with_name("_app")
if _APP.is_dir():
    sys.path.insert(0, str(_APP))

_OFFERED = {
    "Agent": "core.agents",
    "BaseHost": "core.host",
    "NeedsConnect": "core.errors",
    "Reached": "core.work",
    "Risk": "core.gate",
    "Tool": "core.tools",
    "ToolContext": "core.tools",
    "ToolFailed": "core.errors",
    "tool": "core.tools",
}

__all__ = [
    "Agent",
    "BaseHost",
    "NeedsConnect",
    "Reached",
    "Risk",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "tool",
]


def __getattr__(name: str) -> object:
    if name not in _OFFERED:
        raise AttributeError(f"module 'bot' has no attribute {name!r}")
    return getattr(import_module(_OFFERED[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
