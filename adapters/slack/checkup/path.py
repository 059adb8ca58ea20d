"""Our own path, asked as Slack asks it: what Slack signs is answered, and what it did not sign refused."""

import json
import re
import secrets
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aiohttp

from adapters.slack.heard.route import KINDS
from adapters.slack.heard.signed import sign
from core.checkup import Finding, sentence, well, wrong
from core.ports import Clock
from core.visible import line, visible

ANSWER_SECONDS: Final = 3.0
"""After which Slack tells whoever clicked that it did not work."""
PATIENCE_SECONDS: Final = 10.0
"""For the first request: a platform may have to wake the process."""
JSON, FORM = KINDS
SECRET: Final = "the Signing Secret under Basic Information of your Slack app"


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


@dataclass(frozen=True, slots=True)
class Unreached:
    """Nothing answered: *why*, and the *mend*."""

    why: str
    mend: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """Where Slack's requests come in. *address*: the whole of it; *public*: it is PUBLIC_URL's.

    *signing_secrets*: every one that a request may be signed with.
    """

    session: aiohttp.ClientSession
    address: str
    public: bool
    signing_secrets: Sequence[str]
    clock: Clock

    @property
    def shown(self) -> str:
        return without_login(self.address)

    async def finding(self) -> Finding:
        """Whether what Slack signs is answered, and what it did not sign is refused."""
        name = "route"
        for n, secret in enumerate(self.signing_secrets, 1):
            challenge = secrets.token_hex(16)
            got = await self._challenged(secret, challenge)
            if isinstance(got, Answered) and got.status == 401 and n > 1:
                return wrong(
                    name,
                    f"{self.shown} refuses what is signed with SLACK_SIGNING_SECRET's number {n}",
                    "restart the web process, so that it knows all of them",
                )
            if not _echoes(got, challenge):
                return wrong(name, *self.why_not(got))
        got = await self._challenged(secrets.token_hex(16), challenge := secrets.token_hex(16))
        if isinstance(got, Answered) and got.status == 401:
            return well(name, f"{self.shown} answers Slack, and refuses what Slack did not sign")
        if isinstance(got, Unreached) or got.status != 200:
            return wrong(name, *self.why_not(got))
        return wrong(
            name,
            f"{self.shown} takes what Slack did not sign: anybody could click",
            "see that PUBLIC_URL leads to Gatepost's web process itself; if it does, tell us (SECURITY.md)",
        )

    async def _challenged(self, secret: str, challenge: str) -> Answered | Unreached:
        body = json.dumps({"type": "url_verification", "token": "doctor", "challenge": challenge}).encode()
        return await self.asked(body, JSON, secret=secret, seconds=PATIENCE_SECONDS)

    async def asked(
        self, body: bytes, kind: str, *, secret: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> Answered | Unreached:
        """What *body* is answered with, signed now, as Slack does it."""
        stamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Content-Type": kind,
            "User-Agent": "Gatepost doctor",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": sign(secret or self.signing_secrets[0], stamp, body).decode(),
        }
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.session.post(
                self.address, data=body, headers=headers, timeout=limit, allow_redirects=False
            ) as response:
                return Answered(
                    status=response.status,
                    kind=response.headers.get("content-type", "").lower(),
                    body=await response.text(errors="replace"),
                    location=response.headers.get("location", ""),
                )
        except TimeoutError:
            return Unreached(
                f"no answer from {self.shown} within {seconds:g} s",
                "see the web process's log, and how far away its database is",
            )
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            return Unreached(
                f"{self.shown} can't prove whose it is: {sentence(error)}",
                "Slack calls only where the certificate is good: renew it, or let the platform do so",
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Unreached(f"{self.shown} can't be reached: {sentence(error)}", self._start)

    @property
    def _start(self) -> str:
        start = "see that the web process runs: python -m bot web (web: in the Procfile)"
        if self.public:
            return f"{start}; and that PUBLIC_URL is its address, as others reach it"
        return f"{start}; and that PORT is the one it listens on, or set PUBLIC_URL"

    def why_not(self, got: Answered | Unreached) -> tuple[str, str]:
        """What is wrong with an answer that is not what the web process should say, and the mend."""
        if isinstance(got, Unreached):
            return got.why, got.mend
        said = f"{self.shown} answers {got.status}"
        if got.status in (301, 302, 303, 307, 308):
            return (
                f"{said}: it leads on to {line(got.location, 200)}, where Slack does not follow",
                "let PUBLIC_URL be the address that it ends up at, https included",
            )
        if got.is_page:
            return (
                f"{said} with a page: it is the platform's router, or another app",
                self._start if got.status != 404 else f"nothing is there by that name. {self._start}",
            )
        if got.status == 401 and "not signed by Slack" in got.body:
            return (
                f"{said}: the web process knows another signing secret, or its clock is wrong",
                f"let SLACK_SIGNING_SECRET there be {SECRET}, the same as here, and restart it",
            )
        if got.status in (401, 403):
            return (
                f"{said}: something before the web process asks who is there",
                "let Slack through to /slack/events: what is not signed by it is refused there anyway",
            )
        if got.status == 404:
            return (
                f"{said}: the web process serves no Slack",
                "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET for it, too, and restart it; PUBLIC_URL is the "
                "address without /slack/events",
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


def _echoes(got: Answered | Unreached, challenge: str) -> bool:
    """Whether the answer is the challenge, as plain text or in JSON."""
    return isinstance(got, Answered) and got.status == 200 and challenge in got.body and not got.is_page
