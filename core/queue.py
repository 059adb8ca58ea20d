"""What every queue holds to, whichever store it is in."""

from dataclasses import dataclass

MOST_RUNNING = 100_000
"""More than any fleet runs, and what every store can count to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueSettings:
    """What holds for every organization that has nothing of its own."""

    max_running: int = 50  # five workers' slots; it keeps one organization from taking a whole fleet
    age_seconds: float = 600.0  # longer than an ordinary rush of owners' tasks, shorter than a coffee break
