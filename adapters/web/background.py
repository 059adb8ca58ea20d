"""What goes on after an answer was given: a private answer to who clicked, a home page to publish.

Only what may be lost: what must happen is a row of the database before the answer is given.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from core.caught import caught

log = logging.getLogger(__name__)


class Background:
    """Keeps tasks until they end. Their errors are logged, and concern nobody else."""

    def __init__(self) -> None:
        # asyncio itself keeps no task: one that nobody refers to may be gone in the middle
        self._going: dict[asyncio.Task[None], str] = {}
        self._over = False

    def start(self, work: Coroutine[Any, Any, object], what: str) -> None:
        """*work* goes on by itself; logs call it *what*. Once all is drained, nothing is started any more."""
        if self._over:
            work.close()
            return log.error("%s was not started: the process leaves", what)
        task = asyncio.create_task(_logged(work, what), name=what)
        self._going[task] = what
        task.add_done_callback(self._ended)
        # cancelled before its first step, the task never gets to the work, which would warn that nobody did
        task.add_done_callback(lambda _: work.close())

    async def drained(self, seconds: float) -> None:
        """Nothing goes on any more: what did not end within *seconds* is cut off, and logged by its name."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while self._going and loop.time() < until:  # what goes on may start more
            await asyncio.wait(self._going, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED)
        self._over = True
        if not (late := dict(self._going)):
            return
        log.error("cut off after %g s: %s", seconds, ", ".join(late.values()))
        for task in late:
            task.cancel()
        await asyncio.wait(late)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._going.pop(task, None)


async def _logged(work: Coroutine[Any, Any, object], what: str) -> None:
    with caught() as ended:
        await work
    if ended.error is not None:
        log.error("%s failed", what, exc_info=ended.error)
