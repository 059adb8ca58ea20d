"""What commands share that run until they are told to stop: where they log, and who tells them."""

import asyncio
import logging
import signal

OURS = ("bot", "core", "adapters")
LINE = "%(asctime)s %(levelname)s %(name)s %(message)s"


def log_to_stderr() -> None:
    """Our own lines are on stderr, of others' only warnings; stdout is for cards and reports."""
    logging.basicConfig(level=logging.WARNING, format=LINE)
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)


def told_to_stop() -> asyncio.Event:
    """Set by SIGTERM or SIGINT, and however many of them come, they do nothing else.

    Not by the loop's own handlers: those are gone with the loop, and a second SIGTERM in the process's last
    moment would count as its being killed.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def told(*_: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, told)
    return stop
