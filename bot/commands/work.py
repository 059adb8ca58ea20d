"""worker: runs tasks until it is told to leave, sends what is to be in chats, prints the terminal's posts."""

import asyncio
import logging
import os
from collections.abc import Sequence

from adapters.console import ConsoleSurface
from bot.chats import chat_posters
from bot.commands.session import SURFACE, terminal
from bot.leaving import Leaving
from bot.process import log_to_stderr, told_to_stop
from bot.redaction import settings_from
from bot.wiring import App, opened
from core.poster import Poster

log = logging.getLogger(__name__)


async def work(*, until_idle: bool, posts: bool) -> None:
    """Works until SIGTERM or SIGINT; with *until_idle* until no task can go on by itself."""
    log_to_stderr()
    async with opened(settings_from(os.environ)) as app, chat_posters(app) as chats:
        await run(app, until_idle=until_idle, posters=[*([poster_of(app)] if posts else []), *chats])


async def run(app: App, *, until_idle: bool, posters: Sequence[Poster]) -> None:
    """*app*'s worker works, in this process, and sends what *posters* send."""
    worker = app.worker(posters=posters)
    if until_idle:
        await worker.until_idle()
        return
    stop, leaving = told_to_stop(), Leaving(at="the steps and posts in hand")
    log.info("worker %s works", worker.worker_id)
    told = asyncio.create_task(_begun(stop, leaving), name="the wait for a signal")
    try:
        await worker.work(stop)
    finally:
        told.cancel()
    log.info("worker %s leaves", worker.worker_id)


async def _begun(stop: asyncio.Event, leaving: Leaving) -> None:
    """Once told to stop, the process is gone in time, whatever hangs."""
    await stop.wait()
    leaving.begin()


def poster_of(app: App) -> Poster:
    """What prints the terminal's posts on stdout."""
    surface = ConsoleSurface(terminal(), lambda key: app.desk.agent(key).name)
    return Poster(desk=app.desk, clock=app.clock, name=SURFACE, surface=surface)
