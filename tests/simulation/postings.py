"""What must be so of posts: that no place is flooded, and that nothing that waits is out of sight (I39)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.cards import Card
from core.ids import TaskRef
from core.moves.common import card_key
from core.parks import Park, ParkKind
from core.ports import ON_REQUEST
from core.rendering import Digest
from core.routes import HOUR, digest_key, hour_of
from core.testing.chat import MemoryChat
from core.testing.memory.rows import PostRow, Rows
from core.testing.memory.table import Wrote
from core.work import PostKind
from tests.simulation.process import CARDS
from tests.simulation.rules import demand

if TYPE_CHECKING:
    from tests.simulation.watching import Watch


def check(watch: Watch, w: Wrote) -> None:
    """After a post was written. Raises Violation where its place has more cards than an hour may."""
    before: PostRow | None = w.before
    row: PostRow = w.after
    if row.post.kind is not PostKind.CARD or row.post.shown_at in (None, ON_REQUEST):
        return
    if before is not None and before.post.shown_at == row.post.shown_at:
        return
    if row.post.folded:
        watch.seen["card folded"] += 1
        return
    until = row.post.shown_at
    assert until is not None
    there = [other.post for other in watch.rows.posts.under("place", row.post.org, row.post.place)]
    cards = [p for p in there if p.kind is PostKind.CARD and p.chat_ref and p.shown_at is not None]
    recent = sum(until - HOUR < p.shown_at <= until for p in cards if p.shown_at is not None)
    demand(recent <= CARDS, f"I39: {recent} cards came to {row.post.route} within an hour")


def in_sight(watch: Watch, rows: Rows, chat: MemoryChat) -> None:
    """Raises Violation where a call waits, its card is settled, and nobody is shown it."""
    for park in rows.parks.under("open", True):
        if park.kind is not ParkKind.APPROVAL:
            continue
        row = _card(rows, park)
        demand(row is not None, f"I39: {park.id} waits, and has no card")
        assert row is not None
        if row.owed or row.state == "sending":
            continue  # it will be
        if row.state == "dead":
            watch.seen["app told of a card out of sight"] += 1
            demand(park.id in watch.told, f"I39: {park.id} waits, its card is dead, and nobody was told")
        elif row.post.folded:
            _told_of(rows, chat, row, park)
        else:
            view = chat.view(row.post.chat_ref)
            shown = isinstance(view, Card) and any(r.token == park.token and not r.status for r in view.rows)
            demand(shown, f"I39: {park.id} waits, and its card was dropped")


def _card(rows: Rows, park: Park) -> PostRow | None:
    call = None if park.call_id is None else rows.calls.get(park.org, park.call_id)
    task = rows.task(TaskRef(org=park.org, task_id=park.task_id))
    assert call is not None and task is not None
    number = call.number if call.round is None else None
    return rows.posts.one("dedup", park.org, card_key(task, call.episode, call.round, number))


def _told_of(rows: Rows, chat: MemoryChat, card: PostRow, park: Park) -> None:
    """The digest of a folded card shows the park, or will."""
    assert card.post.shown_at is not None
    key = digest_key(card.post.place, hour_of(card.post.shown_at).isoformat())
    digest = rows.posts.one("dedup", card.post.org, key)
    demand(digest is not None, f"I39: {park.id} is folded into no digest")
    assert digest is not None
    if digest.owed or digest.state == "sending":
        return
    demand(digest.state != "dead", f"I39: {park.id} is folded into a dead digest")
    view = chat.view(digest.post.chat_ref)
    call = None if park.call_id is None else rows.calls.get(park.org, park.call_id)
    task = rows.task(TaskRef(org=park.org, task_id=park.task_id))
    assert task is not None and call is not None
    version = f"v{park.version}" if park.version > 1 else ""
    told = isinstance(view, Digest) and (
        view.more > 0 or f"{task.code}.{call.number}{version}" in {line.code for line in view.waiting}
    )
    demand(told, f"I39: {park.id} is folded, and its digest does not tell of it")
