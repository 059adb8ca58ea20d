"""Where a chat calls us, asked from outside as it asks: what answers there, and what is wrong with that."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from core.visible import line, visible

PATIENCE_SECONDS: Final = 10.0
"""For the first request: a platform may have to wake the process."""


class Silence(StrEnum):
    """Why nothing answered."""

    LATE = "late"  # not in time
    UNPROVEN = "unproven"  # its certificate is not good
    AWAY = "away"  # nothing is there


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What stands at our address answered."""

    status: int
    kind: str
    body: str
    location: str = ""

    @property
    def is_page(self) -> bool:
        return self.kind.startswith("text/html") or self.body.lstrip()[:1] == "<"


@dataclass(frozen=True, kw_only=True, slots=True)
class Unanswered:
    """Nothing did, within *seconds*. *words*: what was found instead, on one line."""

    why: Silence
    words: str
    seconds: float


Got: TypeAlias = Answered | Unanswered
Post: TypeAlias = Callable[[str, bytes, Mapping[str, str], float], Awaitable[Got]]
"""Sends a body with headers to an address, and waits so many seconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where *chat* calls us. *url*: the whole of it, which ends in *path*; *public*: it is PUBLIC_URL's.

    *settings*: what the web process has to know, so that it serves the chat.
    """

    post: Post
    url: str
    path: str
    public: bool
    chat: str
    settings: str

    @property
    def shown(self) -> str:
        return without_login(self.url)

    async def posted(self, body: bytes, headers: Mapping[str, str], *, seconds: float) -> Got:
        """What *body* is answered with, within *seconds*."""
        return await self.post(self.url, body, headers, seconds)

    def why_not(self, got: Got) -> tuple[str, str]:
        """What is wrong with an answer that is not what the web process should say, and the mend."""
        return self._silent(got) if isinstance(got, Unanswered) else self._said(got)

    def _silent(self, got: Unanswered) -> tuple[str, str]:
        match got.why:
            case Silence.LATE:
                return (
                    f"no answer from {self.shown} within {got.seconds:g} s",
                    "see the web process's log, and how far away its database is",
                )
            case Silence.UNPROVEN:
                return (
                    f"{self.shown} can't prove whose it is: {got.words}",
                    f"{self.chat} calls only where the certificate is good: renew it, or let the platform "
                    "do so",
                )
            case Silence.AWAY:
                return f"{self.shown} can't be reached: {got.words}", self._start

    @property
    def _start(self) -> str:
        start = "see that the web process runs: python -m bot web (web: in the Procfile)"
        if self.public:
            return f"{start}; and that PUBLIC_URL is its address, as others reach it"
        return f"{start}; and that PORT is the one it listens on, or set PUBLIC_URL"

    def _said(self, got: Answered) -> tuple[str, str]:
        said = f"{self.shown} answers {got.status}"
        if got.status in (301, 302, 303, 307, 308):
            return (
                f"{said}: it leads on to {line(got.location, 200)}, where {self.chat} does not follow",
                "let PUBLIC_URL be the address that it ends up at, https included",
            )
        if got.is_page:
            return (
                f"{said} with a page: it is the platform's router, or another app",
                self._start if got.status != 404 else f"nothing is there by that name. {self._start}",
            )
        if got.status in (401, 403):
            return (
                f"{said}: something before the web process asks who is there",
                f"let {self.chat} through to {self.path}: what it did not send is refused there anyway",
            )
        if got.status == 404:
            return (
                f"{said}: the web process serves no {self.chat}",
                f"set {self.settings} for it, too, and restart it; PUBLIC_URL is the address without "
                f"{self.path}",
            )
        if got.status == 503:
            return (
                f"{said}: the web process is not open",
                "its log says why; mostly its database is away, or not migrated",
            )
        if got.status >= 500:
            return said, "its log says what broke"
        return f"{said}, and not as Gatepost does", "let PUBLIC_URL be the address of Gatepost's web process"


def without_login(address: str) -> str:
    """*address* without a user and a password."""
    return visible(re.sub(r"(?<=://).*@", "", address))
