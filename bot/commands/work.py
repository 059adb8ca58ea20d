"""worker: runs tasks until it is told to leave, and prints the terminal's own posts."""

import asyncio
import logging
import os
import signal

from adapters.console import ConsoleSurface
from bot.commands.session import SURFACE, terminal
from bot.redaction import settings_from
from bot.wiring import App, opened
from core.poster import Poster

log = logging.getLogger(__name__)

OURS = ("bot", "core", "adapters")
LINE = "%(asctime)s %(levelname)s %(name)s %(message)s"


async def work(*, until_idle: bool, posts: bool) -> None:
    """Works until SIGTERM or SIGINT; with *until_idle* until no task can go on by itself."""
    logging.basicConfig(level=logging.WARNING, format=LINE)  # to stderr; stdout is for cards and reports
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    async with opened(settings_from(os.environ)) as app:
        await run(app, until_idle=until_idle, posts=posts)


async def run(app: App, *, until_idle: bool, posts: bool) -> None:
    """*app*'s worker works, in this process."""
    worker = app.worker(posters=[poster_of(app)] if posts else [])
    if until_idle:
        await worker.until_idle()
        return
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    log.info("worker %s works", worker.worker_id)
    await worker.work(stop)
    log.info("worker %s leaves", worker.worker_id)


def poster_of(app: App) -> Poster:
    """What prints the terminal's posts on stdout."""
    surface = ConsoleSurface(terminal(), lambda key: app.desk.agent(key).name)
    return Poster(desk=app.desk, clock=app.clock, name=SURFACE, surface=surface)
