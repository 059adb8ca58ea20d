"""Who sends to the chats that are set up; the libraries of others are not loaded."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from bot import slack_settings, telegram_settings
from bot.wiring import App
from core.poster import Poster


@asynccontextmanager
async def chat_posters(app: App) -> AsyncIterator[Sequence[Poster]]:
    """A sender for each chat that is set up; their connections are closed afterwards. Raises ConfigError."""
    slack_settings.check_whose(app.settings)
    telegram_settings.check(app.settings)
    posters: list[Poster] = []
    async with AsyncExitStack() as closing:
        if slack_settings.is_set_up(app.settings):
            from bot.slack import slack_parts  # here: it takes as long to load as all the rest

            slack = await closing.enter_async_context(slack_parts(app))
            assert slack is not None
            posters.append(slack.poster(app.process_name()))
        if telegram_settings.is_set_up(app.settings):
            from bot.telegram import telegram_parts

            telegram = await closing.enter_async_context(telegram_parts(app))
            assert telegram is not None
            posters.append(telegram.poster(app.process_name()))
        yield posters
