"""Whether a request is Slack's: signed over its very bytes, and not long ago."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.ports import Clock

WINDOW_SECONDS: Final = 300
"""How old, or how far ahead, a request may be (docs.slack.dev, verifying requests from Slack)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signatures:
    """*secrets*: any of them signs, so that one can be exchanged while requests come in."""

    secrets: Sequence[str]
    clock: Clock

    def hold(self, headers: Mapping[str, str], body: bytes) -> bool:
        """Whether *body*, as it came, is signed by one of the secrets at a time near now."""
        stamp = headers.get("x-slack-request-timestamp", "")
        given = headers.get("x-slack-signature", "")
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 16):
            return False
        if abs(self.clock.now().timestamp() - int(stamp)) > WINDOW_SECONDS:
            return False
        found = [hmac.compare_digest(sign(secret, stamp, body), given.encode()) for secret in self.secrets]
        return any(found)


def sign(secret: str, stamp: str, body: bytes) -> bytes:
    """The signature of *body* at *stamp*, seconds since 1970, as Slack writes it."""
    signed = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256)
    return f"v0={signed.hexdigest()}".encode()
