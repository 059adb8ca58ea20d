"""Failures of the Web API that a test asks for: too many requests, no answer, an answer that is none."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tests.fakes.slack.things import Json

BURST: Final = 4
"""Messages that a channel takes at once before it takes one a second; Slack says "short bursts"."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What becomes of a request instead of an answer.

    *until*: it hangs until then and goes on as usual. *lost*: it is done, and the connection drops without an
    answer; *cut*: the connection drops and it is not done.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    error: str | None = None
    until: asyncio.Event | None = None
    lost: bool = False
    cut: bool = False


def too_many(retry_after: str | int | None = 1) -> Trouble:
    """429; *retry_after* is a number of seconds, an HTTP date, or None: the header is missing."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Trouble(status=429, error="ratelimited", headers=headers)


def http_error(status: int = 500) -> Trouble:
    """An answer that is no answer of the API."""
    return Trouble(status=status, body=b"upstream failure", headers={"Content-Type": "text/plain"})


def html(status: int = 200) -> Trouble:
    """A page where JSON is expected."""
    page = b"<!DOCTYPE html><html><body>Slack is down for maintenance</body></html>"
    return Trouble(status=status, body=page, headers={"Content-Type": "text/html"})


def hangs(until: asyncio.Event) -> Trouble:
    """No answer until *until*; then it is done."""
    return Trouble(until=until)


def lost() -> Trouble:
    """Done, and nobody is told."""
    return Trouble(lost=True)


def cut() -> Trouble:
    """Not done, and nobody is told."""
    return Trouble(cut=True)


def refusal(error: str) -> Trouble:
    """``ok: false`` with *error*."""
    return Trouble(error=error)


@dataclass(kw_only=True, eq=False)
class Planned:
    """A trouble that is to come; *times* None is for ever."""

    method: str
    trouble: Trouble
    channel: str | None
    times: int | None

    def meets(self, method: str, payload: Json) -> bool:
        if self.method not in ("*", method) or self.times == 0:
            return False
        return self.channel in (None, payload.get("channel"), payload.get("channel_id"))


@dataclass(kw_only=True, eq=False)
class Troubles:
    """The troubles to come, and Slack's own limit on messages a second where it is switched on."""

    now: Callable[[], datetime]
    limited: bool = False
    planned: list[Planned] = field(default_factory=list)
    _left: dict[str, tuple[float, datetime]] = field(default_factory=dict)

    def take(self, method: str, payload: Json) -> Trouble | None:
        """What becomes of this request, if anything out of the ordinary does."""
        for planned in self.planned:
            if planned.meets(method, payload):
                if planned.times is not None:
                    planned.times -= 1
                return planned.trouble
        if self.limited and method == "chat.postMessage" and self._too_many(str(payload.get("channel"))):
            return too_many(1)
        return None

    def _too_many(self, channel: str) -> bool:
        now = self.now()
        left, at = self._left.get(channel, (float(BURST), now))
        left = min(float(BURST), left + (now - at).total_seconds())
        too_many = left < 1
        self._left[channel] = (left if too_many else left - 1, now)
        return too_many
