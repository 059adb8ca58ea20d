"""worker: runs tasks until it is told to leave, and prints the terminal's own posts."""

import asyncio
import logging
import os
import signal

from adapters.console import ConsoleSurface
from bot.commands.session import SURFACE, terminal
from bot.settings import Settings
from bot.wiring import App, opened
from core.errors import GatepostError
from core.poster import Poster
from core.worker import Worker

log = logging.getLogger(__name__)

POST_SECONDS = 0.2
OURS = ("bot", "core", "adapters")
LINE = "%(asctime)s %(levelname)s %(name)s %(message)s"


async def work(*, until_idle: bool, posts: bool) -> None:
    """Works until SIGTERM or SIGINT; with *until_idle* until no task can go on by itself."""
    logging.basicConfig(level=logging.WARNING, format=LINE)  # to stderr; stdout is for cards and reports
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
    async with opened(Settings.from_env(os.environ)) as app:
        await run(app, until_idle=until_idle, posts=posts)


async def run(app: App, *, until_idle: bool, posts: bool) -> None:
    """*app*'s worker works, in this process."""
    worker = app.worker()
    poster = poster_of(app) if posts else None
    if until_idle:
        await worker.until_idle()
        await worker.seal()
    else:
        await _until_told(worker, poster)
    if poster is not None:
        await poster.deliver_all()


def poster_of(app: App) -> Poster:
    """What prints the terminal's posts on stdout."""
    surface = ConsoleSurface(terminal(), lambda key: app.desk.agent(key).name)
    return Poster(desk=app.desk, name=SURFACE, surface=surface)


async def _until_told(worker: Worker, poster: Poster | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    log.info("worker %s works", worker.worker_id)
    posting = None if poster is None else asyncio.create_task(_post(poster))
    try:
        await worker.work(stop)
    finally:
        if posting is not None:
            posting.cancel()
            await asyncio.gather(posting, return_exceptions=True)
    log.info("worker %s leaves", worker.worker_id)


async def _post(poster: Poster) -> None:
    while True:
        try:
            await poster.deliver()
        except GatepostError as error:  # the database may be away for a while
            log.warning("posts could not be sent: %s; tried again", error)
        await asyncio.sleep(POST_SECONDS)
