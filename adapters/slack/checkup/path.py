"""Our own path, asked as Slack asks it: what Slack signs is answered, and what it did not sign refused."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from adapters.slack.heard.route import KINDS
from adapters.slack.heard.signed import sign
from core.checkup import Finding, well, wrong
from core.outside import PATIENCE_SECONDS, Address, Answered, Got, Unanswered
from core.ports import Clock

ANSWER_SECONDS: Final = 3.0
"""After which Slack tells whoever clicked that it did not work."""
JSON, FORM = KINDS
SECRET: Final = "the Signing Secret under Basic Information of your Slack app"


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """Where Slack's requests come in. *signing_secrets*: every one that a request may be signed with."""

    address: Address
    signing_secrets: Sequence[str]
    clock: Clock

    @property
    def shown(self) -> str:
        return self.address.shown

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
        if isinstance(got, Unanswered) or got.status != 200:
            return wrong(name, *self.why_not(got))
        return wrong(
            name,
            f"{self.shown} takes what Slack did not sign: anybody could click",
            "see that PUBLIC_URL leads to Gatepost's web process itself; if it does, tell us (SECURITY.md)",
        )

    async def _challenged(self, secret: str, challenge: str) -> Got:
        body = json.dumps({"type": "url_verification", "token": "doctor", "challenge": challenge}).encode()
        return await self.asked(body, JSON, secret=secret, seconds=PATIENCE_SECONDS)

    async def asked(
        self, body: bytes, kind: str, *, secret: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> Got:
        """What *body* is answered with, signed now, as Slack does it."""
        stamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Content-Type": kind,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": sign(secret or self.signing_secrets[0], stamp, body).decode(),
        }
        return await self.address.posted(body, headers, seconds=seconds)

    def why_not(self, got: Got) -> tuple[str, str]:
        """What is wrong with an answer that is not what the web process should say, and the mend."""
        if isinstance(got, Answered) and got.status == 401 and "not signed by Slack" in got.body:
            return (
                f"{self.shown} answers 401: the web process knows another signing secret, or its clock is "
                "wrong",
                f"let SLACK_SIGNING_SECRET there be {SECRET}, the same as here, and restart it",
            )
        return self.address.why_not(got)


def _echoes(got: Got, challenge: str) -> bool:
    """Whether the answer is the challenge, as plain text or in JSON."""
    return isinstance(got, Answered) and got.status == 200 and challenge in got.body and not got.is_page
