"""What the web process serves: paths and connections of each chat that is set up; others are not loaded."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from starlette.types import ASGIApp

from adapters.web.background import Background
from bot import slack_settings, telegram_settings
from bot.settings import Settings
from bot.wiring import App


def check(settings: Settings) -> None:
    """Raises ConfigError where a chat's settings can't work."""
    slack_settings.check(settings)
    telegram_settings.check(settings)


@asynccontextmanager
async def chat_faces(app: App, background: Background) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """What answers at the paths of the chats that are set up. Raises ConfigError."""
    check(app.settings)
    faces: dict[str, ASGIApp] = {}
    async with AsyncExitStack() as closing:
        if slack_settings.is_set_up(app.settings):
            from bot.slack import slack_faces  # here: it takes as long to load as all the rest

            faces |= await closing.enter_async_context(slack_faces(app, background))
        if telegram_settings.is_set_up(app.settings):
            from bot.telegram import telegram_faces

            faces |= await closing.enter_async_context(telegram_faces(app, background))
        yield faces
