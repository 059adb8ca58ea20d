"""web: answers what comes in over HTTP until it is told to leave."""

import os

from bot.faces import chat_faces, check
from bot.leaving import Leaving
from bot.process import log_to_stderr
from bot.redaction import settings_from
from bot.serving import serve


async def web() -> None:
    """Serves until SIGTERM or SIGINT. Raises ConfigError."""
    log_to_stderr()
    settings = settings_from(os.environ)
    check(settings)
    await serve(settings, chat_faces, leaving=Leaving())
