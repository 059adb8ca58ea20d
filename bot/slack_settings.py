"""What the settings say of Slack, without its libraries: a process without Slack need not load them."""

from bot.settings import Settings
from core.errors import ConfigError


def is_set_up(settings: Settings) -> bool:
    """Whether the bot is to be in Slack."""
    return settings.slack_bot_token is not None or in_several(settings)


def in_several(settings: Settings) -> bool:
    """Whether it is installed by OAuth, in any number of workspaces."""
    return settings.gatepost_slack_client_id is not None


def by_socket(settings: Settings) -> bool:
    """Whether Slack is talked to by a socket of ours: nobody could reach us otherwise."""
    return settings.slack_app_token is not None and settings.public_url is None


def check_whose(settings: Settings) -> None:
    """Raises ConfigError where it is not clear in which workspaces the bot is."""
    if in_several(settings) != (settings.gatepost_slack_client_secret is not None):
        raise ConfigError(
            "GATEPOST_SLACK_CLIENT_ID and GATEPOST_SLACK_CLIENT_SECRET: set both, from Basic Information of "
            "your Slack app, or neither"
        )
    if in_several(settings) and settings.slack_bot_token is not None:
        raise ConfigError(
            "SLACK_BOT_TOKEN: it is of one workspace, and GATEPOST_SLACK_CLIENT_ID is for several; unset one"
        )


def check(settings: Settings) -> None:
    """The same; raises it too where Slack's requests could not be told from anybody's."""
    check_whose(settings)
    if is_set_up(settings) and not by_socket(settings) and not settings.slack_signing_secrets:
        raise ConfigError(
            "SLACK_SIGNING_SECRET: it is not set, and without it anybody could click; it is under Basic "
            "Information of your Slack app. Where nobody can reach this process from outside, set "
            "SLACK_APP_TOKEN instead, and leave PUBLIC_URL unset"
        )
