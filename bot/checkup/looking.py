"""One look at a deployment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from adapters.clock import SystemClock
from bot.settings import Settings
from core.checkup import Finding, State

BENEATH: Final = frozenset({"settings", "database", "app", "people"})
"""Findings that are of no one chat."""


@dataclass(kw_only=True, slots=True)
class Looking:
    """What is looked at, and what was found by now."""

    settings: Settings
    environ: Mapping[str, str]
    clock: SystemClock = field(default_factory=SystemClock)
    found: list[Finding] = field(default_factory=list)

    def about(self, names: Collection[str]) -> list[Finding]:
        """What was found of a chat, by the *names* of its findings, and of what every chat stands on."""
        return [each for each in self.found if each.name in BENEATH or each.name in names]

    def is_well(self, name: str) -> bool:
        return any(each.name == name and each.state is State.WELL for each in self.found)
