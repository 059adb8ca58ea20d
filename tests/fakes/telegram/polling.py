"""How the bot gets its updates: getUpdates, setWebhook, deleteWebhook, getWebhookInfo."""

import ipaddress
import re
from typing import Any, Final
from urllib.parse import urlsplit

from tests.fakes.telegram.delivery import Delivering
from tests.fakes.telegram.methods import method, words
from tests.fakes.telegram.things import Call, Json, Refused, Webhook

WEBHOOK_ACTIVE: Final = (
    "Conflict: can't use getUpdates method while webhook is active; "
    "use deleteWebhook to delete the webhook first"
)
SECRET: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")
PORTS: Final = frozenset({443, 80, 88, 8443})
BATCH: Final = 100


@method("getUpdates")
async def get_updates(world: Delivering, call: Call) -> list[Json]:
    """What happened since; what is before *offset* is confirmed, and never told again."""
    if world.webhook is not None:
        raise Refused(409, WEBHOOK_ACTIVE, fault=True)
    _allow(world, call)
    limit = int(call.payload.get("limit") or BATCH)
    offset = int(call.payload.get("offset") or 0)
    if offset < 0 and len(world.pending) > -offset:
        world.fault(call.method, "updates that waited are dropped", str(len(world.pending) + offset))
    updates = await world.polls(
        offset=offset,
        limit=max(1, min(limit, BATCH)),
        seconds=float(call.payload.get("timeout") or 0),
    )
    return [update.payload for update in updates]


@method("setWebhook")
async def set_webhook(world: Delivering, call: Call) -> bool:
    """Updates go to the address; an empty one takes the webhook away."""
    url = words(call, "url")
    if not url:
        return await delete_webhook(world, call)
    secret = words(call, "secret_token")
    _check_address(url)
    if secret and not SECRET.fullmatch(secret):
        raise Refused(400, "Bad Request: secret token contains unallowed characters", fault=True)
    _allow(world, call)
    world.stops_polls("Conflict: terminated by setWebhook request")
    world.webhook = Webhook(
        url=url,
        secret_token=secret,
        allowed_updates=world.allowed,
        max_connections=int(call.payload.get("max_connections") or 40),
        drop_pending_updates=bool(call.payload.get("drop_pending_updates")),
    )
    _drop(world, call)
    return True


@method("deleteWebhook")
async def delete_webhook(world: Delivering, call: Call) -> bool:
    """No webhook; updates wait for getUpdates."""
    world.webhook = None
    _drop(world, call)
    return True


@method("getWebhookInfo")
async def get_webhook_info(world: Delivering, call: Call) -> Json:
    """The webhook, how many updates wait, and what went wrong last."""
    told: Json = {"url": "", "has_custom_certificate": False, "pending_update_count": len(world.pending)}
    if world.allowed is not None:
        told["allowed_updates"] = world.allowed
    hook = world.webhook
    if hook is None:
        return told
    told |= {"url": hook.url, "max_connections": hook.max_connections, "ip_address": "127.0.0.1"}
    if hook.last_error_at is not None:
        told["last_error_date"] = int(hook.last_error_at.timestamp())
        told["last_error_message"] = hook.last_error_message
    return told


def _allow(world: Delivering, call: Call) -> None:
    """Only these kinds of updates from now on; where none are named, those that were allowed before."""
    kinds: Any = call.payload.get("allowed_updates")
    if kinds is None:
        return
    if not isinstance(kinds, list):
        raise Refused(400, "Bad Request: can't parse allowed_updates: expected an Array", fault=True)
    world.allowed = kinds or None


def _drop(world: Delivering, call: Call) -> None:
    if call.payload.get("drop_pending_updates") and world.pending:
        world.fault(call.method, "updates that waited are dropped", str(len(world.pending)))
        world.pending.clear()


def _check_address(url: str) -> None:
    """It is one that Telegram posts to: by HTTPS on a port it knows, or on this machine. Raises Refused."""
    parts = urlsplit(url)
    try:
        local = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        local = False
    if local:
        return
    if parts.scheme != "https":
        raise Refused(400, "Bad Request: bad webhook: An HTTPS URL must be provided for webhook", fault=True)
    if (parts.port or 443) not in PORTS:
        raise Refused(
            400,
            "Bad Request: bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443",
            fault=True,
        )
