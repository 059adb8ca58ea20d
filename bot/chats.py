"""Who sends to the chats that are set up; the libraries of others are not loaded."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bot.slack_settings import check_whose, is_set_up
from bot.wiring import App
from core.poster import Poster


@asynccontextmanager
async def chat_posters(app: App) -> AsyncIterator[Sequence[Poster]]:
    """A sender for each chat that is set up; their connections are closed afterwards. Raises ConfigError."""
    check_whose(app.settings)
    if not is_set_up(app.settings):
        yield []
        return
    from bot.slack import slack_parts  # here: it takes as long to load as all the rest

    async with slack_parts(app) as slack:
        assert slack is not None
        yield [slack.poster(app.process_name())]
