"""One look at a deployment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adapters.clock import SystemClock
from bot.settings import Settings
from core.checkup import Finding, State


@dataclass(kw_only=True, slots=True)
class Looking:
    """What is looked at, and what was found by now."""

    settings: Settings
    environ: Mapping[str, str]
    clock: SystemClock = field(default_factory=SystemClock)
    found: list[Finding] = field(default_factory=list)

    def is_well(self, name: str) -> bool:
        return any(each.name == name and each.state is State.WELL for each in self.found)
