"""The audit trail: one entry a change, each under an HMAC at once, sealed into a chain soon after.

The HMAC's key is outside the database, so that whoever can write rows can't write entries. The
chain is appended by one leader after commit: inside the change's transaction it would be a lock
on the whole organization. Verification says up to where the trail is sealed; what is past the
seal is checked entry by entry, but a removed one is not missed there.
"""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from core.canonical import dump
from core.ids import CallId, OrgId, TaskId
from core.parks import Park
from core.tasks import Json

GENESIS = "0" * 64
"""The hash before an organization's first entry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """A row of the trail. *entry* is the exact text of its facts, as written; *mac* covers all before it."""

    org: OrgId
    id: str
    at: datetime
    actor: str
    surface: str | None
    move: str
    rule: str | None
    task_id: TaskId | None
    call_id: CallId | None
    entry: str
    mac: str = ""
    seq: int | None = None
    prev_hash: str | None = None
    hash: str | None = None


def refusal(
    park: Park, entry_id: str, at: datetime, *, actor: str, surface: str | None, why: str
) -> AuditEntry:
    """That *actor* tried to decide *park* and might not; nothing else is written of it."""
    return AuditEntry(
        org=park.org,
        id=entry_id,
        at=at,
        actor=actor,
        surface=surface,
        move="refused",
        rule=None,
        task_id=park.task_id,
        call_id=park.call_id,
        entry=dump({"park": park.id, "version": park.version, "why": why}),
    )


def of_organization(
    org: OrgId,
    entry_id: str,
    at: datetime,
    *,
    actor: str,
    move: str,
    facts: Json,
    surface: str | None = None,
    rule: str | None = None,
) -> AuditEntry:
    """That *actor* changed something of *org* that no task is about: its people, rules, switches, secrets."""
    return AuditEntry(
        org=org,
        id=entry_id,
        at=at,
        actor=actor,
        surface=surface,
        move=move,
        rule=rule,
        task_id=None,
        call_id=None,
        entry=dump(facts),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """Where an organization's chain stands: the last sealed number (0: none), and its hash."""

    seq: int
    hash: str


def signed_text(entry: AuditEntry) -> bytes:
    """The bytes the HMAC covers: every field but the chain's own, unambiguously joined."""
    fields = [
        entry.org,
        entry.id,
        entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        entry.actor,
        entry.surface,
        entry.move,
        entry.rule,
        entry.task_id,
        entry.call_id,
        entry.entry,
    ]
    return dump(fields).encode()


def mac(key: bytes, entry: AuditEntry) -> str:
    """HMAC-SHA256 of the entry under *key*, in hex."""
    return hmac.new(key, signed_text(entry), hashlib.sha256).hexdigest()


def link(previous: str, seq: int, entry: AuditEntry) -> str:
    """The chain's hash at *seq*: over the hash before, the number, the entry and its HMAC."""
    body = b"|".join((previous.encode(), str(seq).encode(), entry.mac.encode(), signed_text(entry)))
    return hashlib.sha256(body).hexdigest()


def chained(head: Head, loose: Iterable[AuditEntry]) -> tuple[list[AuditEntry], Head]:
    """*loose* as the chain's next entries after *head*, and the head after them."""
    sealed: list[AuditEntry] = []
    for entry in loose:
        seq = head.seq + 1
        linked = link(head.hash, seq, entry)
        sealed.append(replace(entry, seq=seq, prev_hash=head.hash, hash=linked))
        head = Head(seq=seq, hash=linked)
    return sealed, head


class Flaw(StrEnum):
    EDITED = "edited"  # its HMAC does not fit its words
    MISSING = "missing"  # its number is not there
    MOVED = "moved"  # it is genuine, but stands where another stood
    HEAD = "head"  # the organization's row says another head


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The entry with which something is wrong; *seq* None: it is not yet sealed."""

    flaw: Flaw
    seq: int | None
    entry_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """What a look at the trail found. Whole where *findings* is empty."""

    sealed: int  # the last number checked
    unsealed: int
    findings: tuple[Finding, ...]

    @property
    def whole(self) -> bool:
        return not self.findings


def verify(key: bytes, sealed: Iterable[AuditEntry], unsealed: Iterable[AuditEntry], head: Head) -> Verified:
    """Every entry checked against its HMAC, its number and its link; each flaw names its entry.

    *sealed* by seq, from 1. An entry inserted by hand has no HMAC that fits (edited), one removed
    leaves its number (missing), and two exchanged fit their HMACs but not their links (moved).
    """
    findings: list[Finding] = []
    previous, expected = GENESIS, 1
    for entry in sealed:
        assert entry.seq is not None
        gap = entry.seq != expected
        findings += [Finding(flaw=Flaw.MISSING, seq=n) for n in range(expected, entry.seq)]
        if not hmac.compare_digest(entry.mac, mac(key, entry)):
            findings.append(Finding(flaw=Flaw.EDITED, seq=entry.seq, entry_id=entry.id))
        elif not gap and (entry.prev_hash != previous or entry.hash != link(previous, entry.seq, entry)):
            findings.append(Finding(flaw=Flaw.MOVED, seq=entry.seq, entry_id=entry.id))
        previous, expected = entry.hash or "", entry.seq + 1
    findings += [Finding(flaw=Flaw.MISSING, seq=n) for n in range(expected, head.seq + 1)]
    if not findings and (head.seq, head.hash) != (expected - 1, previous):
        findings.append(Finding(flaw=Flaw.HEAD, seq=head.seq))
    loose = list(unsealed)
    findings += [
        Finding(flaw=Flaw.EDITED, seq=None, entry_id=e.id)
        for e in loose
        if not hmac.compare_digest(e.mac, mac(key, e))
    ]
    return Verified(sealed=expected - 1, unsealed=len(loose), findings=tuple(findings))
