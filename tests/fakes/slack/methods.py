"""The methods of the Web API by name, and how they read what they are given."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from tests.fakes.slack.things import Channel, Json, Refused, Team, User
from tests.fakes.slack.world import World

Run: TypeAlias = Callable[[World, Team, Json], Json]
"""Of the world, the workspace whose token it is, and the arguments: what is answered beside ``ok: true``."""

R = TypeVar("R", bound=Run)


@dataclass(frozen=True, kw_only=True)
class Method:
    """A method, the scope it needs (if any), and the kind of token: bot, app or none."""

    run: Run
    scope: str = ""
    token: str = "bot"


METHODS: Final[dict[str, Method]] = {}


def method(name: str, *, scope: str = "", token: str = "bot") -> Callable[[R], R]:
    """The decorated function answers *name*."""

    def register(run: R) -> R:
        METHODS[name] = Method(run=run, scope=scope, token=token)
        return run

    return register


def required(args: Json, *names: str) -> list[str]:
    """Those arguments, as texts. Raises Refused where one is missing."""
    missing = [f"[ERROR] missing required field: {name}" for name in names if args.get(name) in (None, "")]
    if missing:
        raise Refused("invalid_arguments", response_metadata={"messages": missing})
    return [str(args[name]) for name in names]


def decoded(args: Json, name: str, error: str) -> Any:
    """The argument, read as JSON where it is a text: in a form they all are. Raises Refused(error)."""
    value = args.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise Refused(error) from None


def require_scope(team: Team, *needed: str) -> None:
    """The token was granted one of *needed*. Raises Refused."""
    if not team.scopes.intersection(needed):
        raise Refused("missing_scope", needed=",".join(needed), provided=",".join(sorted(team.scopes)))


def seen_channel(world: World, team: Team, channel_id: str) -> Channel:
    """The channel, if *team* can see it: public, or the bot is in it. Raises Refused."""
    channel = world.channels.get(channel_id)
    if channel is None or channel.team_id != team.id:
        raise Refused("channel_not_found")
    if (channel.is_im or channel.is_private) and team.bot_user_id not in channel.members:
        raise Refused("channel_not_found")
    return channel


def joined_channel(world: World, team: Team, channel_id: str) -> Channel:
    """The channel, if the bot is in it and it is in use. Raises Refused."""
    channel = seen_channel(world, team, channel_id)
    if channel.is_archived:
        raise Refused("is_archived")
    if team.bot_user_id not in channel.members:
        raise Refused("not_in_channel")
    return channel


def seen_user(world: World, team: Team, user_id: str) -> User:
    """The user, if one of *team* or a stranger who shares a channel with it. Raises Refused."""
    user = world.users.get(user_id)
    if user is None:
        raise Refused("user_not_found")
    shared = any(user_id in c.members for c in world.channels.values() if c.team_id == team.id)
    if user.team_id != team.id and not shared:
        raise Refused("user_not_visible")
    return user
