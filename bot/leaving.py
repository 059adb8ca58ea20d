"""The last resort of a process that is to leave: it is gone in time, whatever hangs in it.

A thread of its own, since what hangs may be the event loop itself, or a thread that the interpreter waits
for at its end. Platforms kill 30 s after SIGTERM without a word; this says what it was.
"""

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

LEAVE_SECONDS = 25.0


@dataclass(kw_only=True, slots=True, eq=False)
class Leaving:
    """Once begun, the process is ended by *end* after *seconds* if it has not ended by itself.

    Without *seconds* it never is: for who serves within a process that goes on. *at*: what it waits for just
    now, to be said then.
    """

    seconds: float | None = LEAVE_SECONDS
    end: Callable[[int], object] = os._exit
    at: str = "the open requests"
    _timer: threading.Timer | None = field(default=None, init=False)

    def begin(self) -> None:
        """The time runs; beginning again changes nothing."""
        if self.seconds is None or self._timer is not None:
            return
        self._timer = threading.Timer(self.seconds, self._end, [asyncio.get_running_loop()])
        self._timer.daemon = True  # the process's own end doesn't wait for it
        self._timer.start()

    def reached(self, at: str) -> None:
        """*at* is what it waits for from here on."""
        self.at = at

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        names = sorted(_named(task) for task in asyncio.all_tasks(loop))
        log.error(
            "not gone after %g s, so ended by force; it waited for %s; tasks: %s",
            self.seconds,
            self.at,
            ", ".join(names) or "none",
        )
        self.end(1)


def _named(task: "asyncio.Task[object]") -> str:
    """A task's own name, else the function that it runs."""
    name = task.get_name()
    return getattr(task.get_coro(), "__qualname__", name) if name.startswith("Task-") else name
