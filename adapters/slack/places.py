"""Names of ours for what is in Slack: a workspace and what is in it, with a slash between.

``T1/C1`` is a channel, ``T1/C1/1700000000.000100`` a message of it or the thread that it begins, ``@T1/U2``
somebody's direct messages, ``T1/U2`` their account. Where the bot is in one workspace alone its name may be
left out.
"""

import re
from dataclasses import dataclass

from core.errors import ChatGone

_NAME = re.compile(
    r"(?P<at>@?)(?:(?P<workspace>[TE][A-Z0-9]+)/)?(?P<channel>[A-Z][A-Z0-9]+)(?:/(?P<ts>\d+\.\d+))?", re.ASCII
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """A channel, or a person's direct messages; *ts*: a message there, and the thread it begins."""

    workspace: str | None
    channel: str  # or a person's id, whose direct messages are meant
    ts: str | None = None

    def __str__(self) -> str:
        """As a message's name; of a person's direct messages it is not asked for."""
        return "/".join(part for part in (self.workspace, self.channel, self.ts) if part)


def spot(name: str) -> Spot:
    """What *name*, a route or a message, is in Slack. Raises ChatGone for what is no name there."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ChatGone(f"{name} is no place in Slack; those are like T1/C1")
    return Spot(workspace=found["workspace"], channel=found["channel"], ts=found["ts"])


def account_ref(workspace: str, user: str) -> str:
    """The account of *user*; *workspace*: as for a route, so that one person of an enterprise has one."""
    return f"{workspace}/{user}"
