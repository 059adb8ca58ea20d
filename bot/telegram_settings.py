"""What the settings say of Telegram, without its library: a process without Telegram need not load it."""

from bot.settings import Settings
from core.errors import ConfigError

UPDATES = "/telegram/updates"


def is_set_up(settings: Settings) -> bool:
    """Whether the bot is to be in Telegram."""
    return settings.telegram_bot_token is not None


def address(settings: Settings) -> str | None:
    """Where Telegram sends updates; None: it is asked for them, since nobody can reach us from outside."""
    if settings.public_url is None:
        return None
    return f"{settings.public_url.rstrip('/')}{UPDATES}"


def check(settings: Settings) -> None:
    """Raises ConfigError where Telegram could not reach us at all."""
    if settings.telegram_secret is not None and not is_set_up(settings):
        raise ConfigError("TELEGRAM_BOT_TOKEN: it is not set, and TELEGRAM_SECRET is; set both, or neither")
    url = address(settings)
    official = settings.telegram_api_url == "https://api.telegram.org"
    if is_set_up(settings) and url is not None and official and not url.startswith("https://"):
        raise ConfigError(
            "PUBLIC_URL: Telegram sends updates by https alone; write https://…, or leave it unset, and "
            "Telegram is asked for them"
        )
