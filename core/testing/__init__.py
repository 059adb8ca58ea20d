"""What tests need in place of the world: a model by script, time by hand, ids by count, rows in memory.

Shipped, since everyone who writes agents or tools needs them too.
"""

from core.testing.clock import MORNING, ManualClock
from core.testing.ids import CountingIds
from core.testing.memory.store import MemoryStore
from core.testing.script import (
    USAGE,
    ByHistory,
    InvalidHistory,
    Line,
    ScriptedModel,
    ScriptOver,
    calls,
    check_history,
    says,
    script_from,
)

__all__ = [
    "MORNING",
    "USAGE",
    "ByHistory",
    "CountingIds",
    "InvalidHistory",
    "Line",
    "ManualClock",
    "MemoryStore",
    "ScriptOver",
    "ScriptedModel",
    "calls",
    "check_history",
    "says",
    "script_from",
]
