"""Who gets this bot's updates: Telegram sends them to one address, or one process asks for them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from telegram import WebhookInfo
from telegram.request import HTTPXRequest

from adapters.telegram.checkup.token import reaching
from adapters.telegram.client import BotClient
from adapters.telegram.errors import ChatTaken, called
from adapters.telegram.heard.polling import ASKED_SECONDS, LEASE, LEASE_SECONDS
from adapters.telegram.heard.updates import ALLOWED
from core.checkup import Finding, sentence, well, wrong
from core.errors import ChatError, StoreError
from core.outside import without_login
from core.ports import Clock, Leases
from core.visible import line

NAME: Final = "telegram updates"
RECENT: Final = timedelta(minutes=10)
"""For how long a delivery that failed is spoken of; Telegram tries one again within a minute or so."""
LONGER_SECONDS: Final = 8
"""How long another's asking is waited for: one that was disturbed may wait for some seconds."""
READ_SECONDS: Final = 10.0
OTHER: Final = (
    "if another deployment has this bot's token, stop it, or give each a bot of its own (@BotFather, /newbot)"
)
OTHERS: Final = f"{OTHER}; then restart the web process here"


async def webhook(client: BotClient) -> WebhookInfo | Finding:
    """What Telegram says of the bot's webhook; the finding, where it says nothing."""
    try:
        return await called(client.api.get_webhook_info())
    except ChatError as error:
        return wrong(NAME, sentence(error), reaching(error) or "Telegram's own words say what it wants")


# ── by webhook ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """Updates that Telegram sends to *url*, ours. *before*, *now*: what it says of them, some time apart."""

    url: str
    before: WebhookInfo
    now: WebhookInfo
    clock: Clock

    def finding(self) -> Finding:
        """Whether all that we need comes here, and does not pile up."""
        if not self.now.url:
            return wrong(
                NAME,
                "Telegram sends this bot's updates nowhere: no webhook is set",
                "start the web process, or restart it: it tells Telegram its address",
            )
        if self.now.url != self.url:
            return wrong(NAME, f"Telegram sends this bot's updates to {shown(self.now.url)}", OTHERS)
        if missing := _missing(self.now):
            return wrong(
                NAME,
                f"Telegram leaves out {', '.join(missing)}",
                "restart the web process: it tells Telegram what it needs",
            )
        return self._arriving()

    def _arriving(self) -> Finding:
        waiting, failed = self.now.pending_update_count, self._failed
        if failed and waiting:
            return wrong(
                NAME, f"{_waiting(waiting)}: {failed}", _of_delivery(self.now.last_error_message or "")
            )
        if waiting > self.before.pending_update_count > 0:
            return wrong(
                NAME,
                f"{_waiting(waiting)}, and they become more",
                "see the web process's log, and how far away its database is",
            )
        remark = f"{failed}; all has come since" if failed else _waiting(waiting) if waiting else ""
        return well(NAME, f"Telegram sends them to {shown(self.url)}", remark)

    @property
    def _failed(self) -> str:
        """What is said of a delivery that failed a short while ago; empty where none did."""
        at = self.now.last_error_date
        if at is None or (ago := self.clock.now() - at) > RECENT:
            return ""
        minutes = max(ago, timedelta()) // timedelta(minutes=1)
        when = f"{minutes} min ago" if minutes else "just now"
        return f"a delivery failed {when}: {line(self.now.last_error_message or 'nobody knows why', 200)}"


def _missing(info: WebhookInfo) -> Sequence[str]:
    """What we need and Telegram leaves out; where it names nothing, it sends all of that."""
    return [kind for kind in ALLOWED if info.allowed_updates and kind not in info.allowed_updates]


def _waiting(count: int) -> str:
    return "1 update waits" if count == 1 else f"{count} updates wait"


def _of_delivery(said: str) -> str:
    if re.search(r"\b401\b", said):
        return "restart the web process: it tells Telegram the secret that it knows"
    if re.search(r"\b50[0-9]\b", said):
        return "see the web process's log; mostly its database is away"
    if re.search("ssl|certificate", said, re.IGNORECASE):
        return "Telegram calls only where the certificate is good: renew it, or let the platform do so"
    return "see that the web process runs, and that others reach it at PUBLIC_URL"


def shown(url: str) -> str:
    """*url* without what may be a secret: a login, a query."""
    return line(without_login(url).partition("?")[0], 200)


# ── by asking ────────────────────────────────────────────────────────────────────────────────


async def asked(client: BotClient, leases: Leases | None, info: WebhookInfo) -> Finding:
    """Whether this deployment, and nobody else, asks Telegram for the bot's updates.

    It is found out by asking, too, which takes nothing away, but ends whoever asks at that moment: ours then
    lets some seconds pass, another does not. *leases*: None where the database is not there.
    """
    if info.url:
        return wrong(
            NAME,
            f"a webhook is set, to {shown(info.url)}: nobody gets updates by asking",
            f"start the web process here, which takes it away, or set PUBLIC_URL; {OTHER}",
        )
    try:
        if leases is not None and await _nobody(leases):
            return await _unasked(client)
        taken = await is_taken(client) and await is_taken(client)
    except (ChatError, StoreError) as error:
        return wrong(NAME, sentence(error), reaching(error) or "Telegram's own words say what it wants")
    if taken:
        return wrong(NAME, "somebody else asks for this bot's updates, too", OTHERS)
    waiting = info.pending_update_count
    said = (
        "nobody else does" if leases is None else "the web process here asks Telegram for them, nobody else"
    )
    return well(NAME, said, _waiting(waiting) if waiting else "")


async def _nobody(leases: Leases) -> bool:
    """Whether no process of this deployment asks."""
    epoch = await leases.take(LEASE, "doctor", LEASE_SECONDS)
    if epoch is None:
        return False
    await leases.drop(LEASE, epoch)
    return True


async def _unasked(client: BotClient) -> Finding:
    if await is_taken(client, LONGER_SECONDS):
        return wrong(NAME, "somebody else asks for this bot's updates, and nobody here", OTHERS)
    return wrong(
        NAME,
        "nobody asks Telegram for this bot's updates",
        "start the web process, which does: python -m bot web; or set PUBLIC_URL, and Telegram sends them",
    )


async def is_taken(client: BotClient, seconds: int = ASKED_SECONDS) -> bool:
    """Whether somebody else began to ask within *seconds*. What waits goes on waiting. Raises ChatError."""
    requests = HTTPXRequest(connection_pool_size=1, httpx_kwargs={"trust_env": False})
    query = urlencode({"timeout": seconds, "limit": 1})
    try:
        await called(
            requests.post(f"{client.api.base_url}/getUpdates?{query}", read_timeout=READ_SECONDS + seconds)
        )
    except ChatTaken:
        return True
    finally:
        await requests.shutdown()
    return False
