"""audit verify: whether the trail is whole, and which entry is not."""

import os
import secrets

from adapters.ids import SystemIds
from bot.commands.session import console
from bot.redaction import REDACTOR, settings_from
from bot.settings import Settings, audit_key
from bot.wiring import sqlite_file
from core.audit import AuditEntry, Finding, Flaw, Verified
from core.audit import verify as verified
from core.errors import ConfigError, GatepostError
from core.ids import OrgId
from core.ports import Ledger, Store

PAGE = 1000
LEASE_SECONDS = 10.0
UNSEALED = 100_000


class NotWhole(GatepostError):
    """The audit trail is not whole."""


async def verify(database: str | None) -> None:
    """Says that the trail is whole, or raises NotWhole with a line for each finding."""
    settings = settings_from({**os.environ, **({"DATABASE_URL": database} if database else {})})
    store, key = await _opened(settings)
    try:
        organizations = await store.ledger.organizations()
        await _seal(store, organizations)
        found = {org: await check(store.ledger, org, key) for org in organizations}
    finally:
        await store.close()
    _judge(found)


async def _opened(settings: Settings) -> tuple[Store, bytes]:
    """The store as it is: nothing is made or migrated. Raises ConfigError."""
    path = sqlite_file(settings.database_url)
    if path is not None:
        if not path.is_file():
            raise ConfigError(f"DATABASE_URL: there is no file {path}")
        if settings.audit_key is None and not path.with_name(f"{path.name}.key").is_file():
            raise ConfigError(
                f"AUDIT_KEY: it is not set, and there is no {path.name}.key beside the database; entries "
                "can only be verified with the key that signed them"
            )
    from adapters.store import is_current, open_store

    if not await is_current(settings.database_url):
        raise ConfigError("the database's schema is not this version's: run `python -m bot migrate`")
    key = audit_key(settings)
    return open_store(settings.database_url, audit_key=key, ids=SystemIds(), redactor=REDACTOR), key


async def _seal(store: Store, organizations: list[OrgId]) -> None:
    """What is due is sealed first, unless a worker is the one who does that now."""
    epoch = await store.leases.take("seal", f"verify:{secrets.token_hex(4)}", LEASE_SECONDS)
    if epoch is None:
        return
    for org in organizations:
        while await store.ledger.unsealed(org, 1):
            await store.ledger.seal(org, PAGE)
    await store.leases.drop("seal", epoch)


async def check(ledger: Ledger, org: OrgId, key: bytes) -> Verified:
    """Every entry of *org* against the key, page by page, and the head the organization's row says.

    The head is read after the entries, and what was sealed in between is read too: a head that still
    differs then was changed by hand.
    """
    sealed: list[AuditEntry] = []
    while True:
        last = sealed[-1].seq or 0 if sealed else 0
        if page := await ledger.audit(org, last, PAGE):
            sealed += page
            continue
        head = await ledger.head(org)
        if head.seq <= last or not (more := await ledger.audit(org, last, PAGE)):
            break
        sealed += more
    return verified(key, sealed, await ledger.unsealed(org, UNSEALED), head)


def _judge(found: dict[OrgId, Verified]) -> None:
    for org, result in found.items():
        total = result.sealed + result.unsealed
        edited = [f for f in result.findings if f.flaw is Flaw.EDITED]
        if total and len(edited) >= total:
            raise NotWhole(
                "no entry fits the key: this AUDIT_KEY is not the one they were signed with "
                "(on SQLite it is kept in <database>.key), or every entry was edited"
            )
        if not result.whole:
            name = f"{org}: " if len(found) > 1 else ""
            raise NotWhole("\n".join(f"{name}{finding_words(f)}" for f in result.findings))
    for org, result in found.items():
        name = f"{org}: " if len(found) > 1 else ""
        console().print(name + whole_words(result), soft_wrap=True)
    if not found:
        console().print("0 entries: nothing has happened yet")


def whole_words(result: Verified) -> str:
    """41 entries, sealed up to 41, all whole"""
    total = result.sealed + result.unsealed
    return f"{total} {'entry' if total == 1 else 'entries'}, sealed up to {result.sealed}, all whole"


def finding_words(finding: Finding) -> str:
    """entry 17 was edited"""
    name = f"entry {finding.seq}" if finding.seq is not None else f"unsealed entry {finding.entry_id}"
    match finding.flaw:
        case Flaw.EDITED:
            return f"{name} was edited"
        case Flaw.MISSING:
            return f"{name} is missing"
        case Flaw.MOVED:
            return f"{name} stands where another one stood"
        case Flaw.HEAD:
            return f"the organization's row does not agree with the chain, whose end it has at {finding.seq}"
