"""Failures of the Bot API that a test asks for: refusals, floods, no answer, an answer that is none."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tests.fakes.telegram.things import Json

OVERALL: Final = 30
"""Messages a second, to everybody together."""

BURST: Final = 3
"""Messages that a private chat takes at once before it takes one a second; Telegram says "short bursts"."""

GROUP: Final = 20
"""Messages a minute in a group."""

POSTS: Final = frozenset({"sendMessage", "sendDocument", "editMessageText", "editMessageReplyMarkup"})


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What becomes of a request instead of an answer.

    *until*: it hangs until then and goes on as usual. *lost*: it is done, and the connection drops without an
    answer; *cut*: the connection drops and it is not done.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    parameters: Json | None = None
    until: asyncio.Event | None = None
    lost: bool = False
    cut: bool = False


def too_many(retry_after: int = 1) -> Trouble:
    """429, to be tried again after so many seconds."""
    return refusal(
        429, f"Too Many Requests: retry after {retry_after}", parameters={"retry_after": retry_after}
    )


def refusal(code: int, description: str, *, parameters: Json | None = None) -> Trouble:
    """``ok: false`` with *description*, such as "Bad Request: chat not found"."""
    return Trouble(status=code, description=description, parameters=parameters)


def html(status: int = 502) -> Trouble:
    """A page where JSON is expected."""
    page = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
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


@dataclass(kw_only=True, eq=False)
class Planned:
    """A trouble that is to come; *times* None is for ever."""

    method: str
    trouble: Trouble
    chat: int | None
    times: int | None

    def meets(self, method: str, payload: Json) -> bool:
        if self.method not in ("*", method) or self.times == 0:
            return False
        return self.chat in (None, payload.get("chat_id"))


@dataclass(kw_only=True, eq=False)
class Troubles:
    """The troubles to come, and Telegram's own flood limits where they are switched on."""

    now: Callable[[], datetime]
    limited: bool = False
    planned: list[Planned] = field(default_factory=list)
    _posts: dict[int, list[datetime]] = field(default_factory=dict)

    def take(self, method: str, payload: Json) -> Trouble | None:
        """What becomes of this request, if anything out of the ordinary does."""
        for planned in self.planned:
            if planned.meets(method, payload):
                if planned.times is not None:
                    planned.times -= 1
                return planned.trouble
        chat_id = payload.get("chat_id")
        if self.limited and method in POSTS and isinstance(chat_id, int):
            wait = self._flood(chat_id)
            return too_many(wait) if wait else None
        return None

    def _flood(self, chat_id: int) -> int:
        """The whole seconds to wait; 0, and the post is counted."""
        now = self.now()
        count, seconds = (GROUP, 60.0) if chat_id < 0 else (BURST, float(BURST))
        wait = max(self._wait(0, now, OVERALL, 1.0), self._wait(chat_id, now, count, seconds))
        if wait <= 0:
            for name in (0, chat_id):
                self._posts.setdefault(name, []).append(now)
            return 0
        return max(1, math.ceil(wait))

    def _wait(self, name: int, now: datetime, count: int, seconds: float) -> float:
        """The seconds until fewer than *count* posts are less than *seconds* old."""
        since = now - timedelta(seconds=seconds)
        posts = self._posts[name] = [at for at in self._posts.get(name, []) if at > since]
        if len(posts) < count:
            return 0.0
        return (posts[-count] - since).total_seconds()
