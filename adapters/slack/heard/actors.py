"""Who did something in Slack: the user, their own workspace, and whether that is one of ours.

In a channel that is shared with another company anybody there can press a button. Whoever is of another
workspace than the one the bot is installed in is nobody here, whatever account is linked to them (I14).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.installed.workspaces import Installation, Workspaces
from adapters.slack.places import account_ref
from core.people import Account

SURFACE: Final = "slack"
STRANGER: Final = "Only people of this workspace are listened to here."


@dataclass(frozen=True, kw_only=True, slots=True)
class Actor:
    """*installation*: where it happened. *foreign*: they are of another workspace, or nobody can tell."""

    installation: Installation
    user: str
    account: Account
    foreign: bool


async def actor_of(workspaces: Workspaces, body: Mapping[str, Any]) -> Actor | None:
    """Who did what *body*, a request of Slack's, tells of; None where the bot is not installed there, or
    nobody did. Raises ChatError where that can't be known now."""
    enterprise, team = installed_for(body)
    installation = await workspaces.of(enterprise, team)
    user = _user(body)
    if installation is None or user is None:
        return None
    home = _home(body)
    foreign = not _is_ours(installation, home, body)
    name = installation.name if not foreign else home or "unknown"
    return Actor(
        installation=installation,
        user=user,
        account=Account(surface=SURFACE, ref=account_ref(name, user)),
        foreign=foreign,
    )


def installed_for(body: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The enterprise and the team of the installation that the request is for."""
    view = body.get("view")
    if isinstance(view, Mapping) and view.get("app_installed_team_id"):
        return _id(body.get("enterprise")), view["app_installed_team_id"]
    for one in body.get("authorizations") or ():
        return one.get("enterprise_id"), one.get("team_id")
    enterprise = _id(body.get("enterprise")) or body.get("enterprise_id")
    team = _id(body.get("team")) or body.get("team_id")
    if team is None and isinstance(view, Mapping):
        team = view.get("team_id")
    return enterprise, team


def _user(body: Mapping[str, Any]) -> str | None:
    event = body.get("event")
    if isinstance(event, Mapping):
        return event.get("user") or _id(event.get("message")) or None
    return _id(body.get("user")) or body.get("user_id")


def _home(body: Mapping[str, Any]) -> str | None:
    """The workspace, or enterprise, that the user is of; None where Slack does not say."""
    event = body.get("event")
    if isinstance(event, Mapping):
        said = event.get("user_team") or event.get("source_team") or event.get("team")
        return said or (None if body.get("is_ext_shared_channel") else body.get("team_id"))
    user = body.get("user")
    if isinstance(user, Mapping) and user.get("team_id"):
        return str(user["team_id"])
    return _id(body.get("team")) or body.get("team_id")


def _is_ours(installation: Installation, home: str | None, body: Mapping[str, Any]) -> bool:
    if home is None:
        return False
    if home in (installation.team, installation.enterprise):
        return True
    within = installed_for(body)[0] == installation.enterprise is not None
    return installation.org_wide and within and not body.get("is_ext_shared_channel")


def _id(value: Any) -> str | None:
    """Of an object its id; Slack writes some as bare ids."""
    if isinstance(value, Mapping):
        return value.get("id")
    return value if isinstance(value, str) else None
