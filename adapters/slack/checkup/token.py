"""Whose the token is, what it may do, what time it is at Slack: asked of Slack, in words for the operator.

No token is in any of them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.errors import called
from adapters.slack.heard.signed import WINDOW_SECONDS
from adapters.slack.installed.scopes import SCOPES
from core.checkup import Finding, sentence, unchecked, well, wrong
from core.errors import ChatBusy, ChatError
from core.ports import Clock
from core.visible import visible

FAR_SECONDS: Final = 60
"""How far the clocks may be apart: well before Slack's requests are refused for it."""
AGAIN: Final = "add what is missing under OAuth & Permissions of your Slack app, and reinstall it"
TOKEN: Final = (
    "SLACK_BOT_TOKEN is the Bot User OAuth Token (xoxb-…) under OAuth & Permissions of your Slack app; it is "
    "there once the app is installed"
)
APP_TOKEN: Final = (
    "SLACK_APP_TOKEN is one of the App-Level Tokens (xapp-…) under Basic Information of your Slack app; make "
    "it with the scope connections:write"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What Slack said when it was asked whose the token is.

    *bot*: its answer, empty where it refused, and then *error* says why. *granted*: the token's scopes.
    *ahead_seconds*: how far our clock is before Slack's. None where Slack did not say.
    """

    bot: Mapping[str, Any]
    error: ChatError | None
    granted: frozenset[str] | None
    ahead_seconds: float | None

    @property
    def workspace(self) -> str | None:
        """What accounts there begin with; None where the token is no bot's."""
        if not self.bot.get("bot_id"):
            return None
        return self.bot.get("enterprise_id" if self.bot.get("is_enterprise_install") else "team_id")


async def whose(client: AsyncWebClient, clock: Clock) -> Told:
    """What Slack says of the client's token, and how late it is there."""
    headers: dict[str, str] = {}

    async def answered() -> AsyncSlackResponse:
        try:
            response = await client.auth_test()
        except SlackApiError as error:
            headers.update(_by_small_names(error.response.headers))
            raise
        headers.update(_by_small_names(response.headers))
        return response

    asked_at, said, refused = clock.now(), {}, None
    try:
        said = dict(await called(answered()))
    except ChatError as error:
        refused = error
    half = (clock.now() - asked_at) / 2
    scopes = headers.get("x-oauth-scopes")
    return Told(
        bot=said,
        error=refused,
        granted=None if scopes is None else frozenset(filter(None, re.split(r"[,\s]+", scopes))),
        ahead_seconds=_ahead((asked_at + half).timestamp(), headers.get("date", "")),
    )


def _by_small_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _ahead(now: float, date: str) -> float | None:
    try:
        return now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def token(told: Told) -> Finding:
    """Whether it is a bot's, and of which workspace."""
    if told.error is not None:
        return wrong("token", sentence(told.error), reaching(told.error) or TOKEN)
    if told.workspace is None:
        return wrong("token", "SLACK_BOT_TOKEN is a person's token, and not the bot's", TOKEN)
    bot, team = (visible(str(told.bot.get(name) or "?")) for name in ("user", "team"))
    return well("token", f"it is of the bot {bot} in the workspace {team} ({visible(told.workspace)})")


def reaching(error: ChatError) -> str | None:
    """The mend where Slack refused nothing, but could not be asked."""
    if isinstance(error, ChatBusy):
        return "try again then"
    if refusal(error):
        return None
    return "see that this machine reaches Slack (SLACK_API_URL), past every proxy and firewall"


def refusal(error: ChatError) -> str:
    """Slack's own name for why it refused; empty where it did not."""
    cause = error.__cause__
    response = cause.response if isinstance(cause, SlackApiError) else None
    data = getattr(response, "data", None)  # one that is not in JSON has none
    name = data.get("error") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""


def scopes(told: Told) -> Finding:
    """Whether the token may do what the bot does, and no more."""
    if told.error is not None:
        return unchecked("scopes", "the token is wrong")
    if told.granted is None:
        return unchecked("scopes", "Slack did not say which the token has")
    missing = [scope for scope in SCOPES if scope not in told.granted]
    more = sorted(told.granted - set(SCOPES))
    if missing:
        return wrong("scopes", f"missing: {', '.join(missing)}", AGAIN)
    remark = f"Gatepost has no use for {visible(', '.join(more))}: take what nothing else needs away"
    return well("scopes", f"all {len(SCOPES)} that it needs", remark if more else "")


def clocks(told: Told) -> Finding:
    """Whether Slack's clock and ours agree."""
    if told.ahead_seconds is None:
        return unchecked("clock", "Slack did not say what time it is")
    apart = round(abs(told.ahead_seconds))
    if apart > FAR_SECONDS:
        side = "ahead of" if told.ahead_seconds > 0 else "behind"
        return wrong(
            "clock",
            f"ours is {apart} s {side} Slack's",
            f"let this machine's clock be set by NTP: signatures are refused from {WINDOW_SECONDS} s on",
        )
    return well("clock", f"within {max(apart, 1)} s of Slack's")


async def app_token(client: AsyncWebClient, app_token: str, *, used: bool) -> Finding:
    """Whether a socket could be opened; none is. *used*: Slack is talked to by Socket Mode."""
    name = "app token"
    unused = "" if used else "HTTP is used, since PUBLIC_URL is set; for Socket Mode leave that unset"
    try:
        await called(client.apps_connections_open(app_token=app_token))
    except ChatError as error:
        return wrong(name, sentence(error), f"{reaching(error) or APP_TOKEN}{unused and f'. {unused}'}")
    return well(name, "Slack would open a socket", unused)
