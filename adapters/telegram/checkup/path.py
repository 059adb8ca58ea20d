"""Our own path, told as Telegram tells it: what bears our secret is taken, and what does not is refused."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adapters.telegram.heard.webhook import SECRET_HEADER
from core.checkup import Finding, well, wrong
from core.outside import PATIENCE_SECONDS, Address, Answered, Got

NOTHING: Final[Mapping[str, Any]] = {"update_id": 0}
"""An update in which nothing happened; Telegram numbers its own from 1 on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """Where Telegram's updates come in. *secrets*: every one that an update may come with."""

    address: Address
    secrets: Sequence[str]

    async def finding(self) -> Finding:
        """Whether what bears the secret is taken, and all else refused."""
        name, shown = "telegram secret", self.address.shown
        for n, secret in enumerate(self.secrets, 1):
            got = await self._posted(NOTHING, secret, PATIENCE_SECONDS)
            if n > 1 and isinstance(got, Answered) and got.status == 401:
                return wrong(
                    name,
                    f"{shown} refuses TELEGRAM_SECRET's number {n}",
                    "restart the web process, so that it knows all of them",
                )
            if not is_taken(got):
                return wrong(name, *self.why_not(got))
        for other in (None, secrets.token_hex(32)):
            got = await self._posted(NOTHING, other, PATIENCE_SECONDS)
            if is_taken(got):
                return wrong(
                    name,
                    f"{shown} takes what Telegram did not send: anybody could click",
                    "see that PUBLIC_URL leads to Gatepost's web process itself; if it does, tell us "
                    "(SECURITY.md)",
                )
            if not isinstance(got, Answered) or got.status != 401:
                return wrong(name, *self.why_not(got))
        return well(name, f"{shown} takes what bears our secret, and refuses what does not")

    async def told(self, update: Mapping[str, Any], seconds: float) -> Got:
        """What *update* is answered with, as one of Telegram's is."""
        return await self._posted(update, self.secrets[0], seconds)

    async def _posted(self, update: Mapping[str, Any], secret: str | None, seconds: float) -> Got:
        headers = {"Content-Type": "application/json"} | ({} if secret is None else {SECRET_HEADER: secret})
        return await self.address.posted(json.dumps(update).encode(), headers, seconds=seconds)

    def why_not(self, got: Got) -> tuple[str, str]:
        """What is wrong with an answer that is not what the web process should say, and the mend."""
        if isinstance(got, Answered) and got.status == 401 and "not from Telegram" in got.body:
            return (
                f"{self.address.shown} answers 401: the web process knows another secret",
                "let TELEGRAM_BOT_TOKEN and TELEGRAM_SECRET there be the same as here, and restart it",
            )
        return self.address.why_not(got)


def is_taken(got: Got) -> bool:
    """As the web process takes an update: without a word."""
    return isinstance(got, Answered) and got.status == 200 and not got.body
