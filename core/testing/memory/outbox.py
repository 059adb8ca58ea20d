"""The outbox: messages that should exist on a surface, and what became of sending them."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from core.ids import OrgId, PostId, TaskRef, Token
from core.moves.common import card_key
from core.parks import Park
from core.ports import Dead, Later, Maybe, Post, Sent
from core.testing.memory.rows import PostRow, Rows
from core.work import PostKind

LONGEST_WAIT_SECONDS = 3600  # whatever a surface asks for
REPEAT_SECONDS = 5  # after a lost answer: a card or report that is there twice does no harm (K18)


class MemoryOutbox:
    """core.ports.Outbox."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def take(self, n: int, surface: str, visible_seconds: float = 30) -> list[Post]:
        now = self._rows.now()
        sending = self._rows.posts.under("sending", surface)
        under_way = {row.post.route for row in sending if row.due_at > now}
        due = [row for row in self._rows.posts.under("owed", surface) if row.due_at <= now]
        offered = _first_of_each_route(row for row in due if row.post.route not in under_way)
        until = now + timedelta(seconds=visible_seconds)
        with self._rows.transaction():
            return [self._sending(row, until).post for row in offered[:n]]

    async def settle(
        self, post_id: PostId, org: OrgId, rev: int, outcome: Sent | Maybe | Later | Dead
    ) -> None:
        row = self._rows.posts.get(org, post_id)
        if row is None:
            return
        still_owed = row.sent_rev < rev and row.state != "dead"
        if isinstance(outcome, Sent) or still_owed:
            with self._rows.transaction():
                self._rows.posts.update(_settled(row, rev, outcome, self._rows.now()))

    async def learn(self, park_token: Token, chat_ref: str) -> None:
        """The first message heard of is the card; of two (K18) the other one only answers clicks."""
        park = self._rows.parks.one("token", park_token)
        card = None if park is None else self._card_of(park)
        if card is not None and card.post.chat_ref is None:
            with self._rows.transaction():
                self._rows.posts.update(replace(card, post=replace(card.post, chat_ref=chat_ref)))

    def _sending(self, row: PostRow, until: datetime) -> PostRow:
        post = replace(row.post, attempts=row.post.attempts + 1)
        return self._rows.posts.update(replace(row, post=post, state="sending", due_at=until))

    def _card_of(self, park: Park) -> PostRow | None:
        """The card with the park's button; of a park about the task itself, its newest."""
        own = self._rows.posts.under("task", park.org, park.task_id)
        cards = [row for row in own if row.post.kind is PostKind.CARD]
        if park.call_id is None:
            return max(cards, key=lambda row: row.post.id, default=None)
        task = self._rows.task(TaskRef(org=park.org, task_id=park.task_id))
        call = self._rows.calls.get(park.org, park.call_id)
        if task is None or call is None:
            return None
        number = call.number if call.round is None else None
        key = card_key(task, call.episode, call.round, number)
        return next((row for row in cards if row.dedup_key == key), None)


def _first_of_each_route(due: Iterable[PostRow]) -> list[PostRow]:
    first: dict[str, PostRow] = {}
    for row in sorted(due, key=lambda row: (row.prio, row.due_at, row.post.id)):
        first.setdefault(row.post.route, row)
    return list(first.values())


def _settled(row: PostRow, rev: int, outcome: Sent | Maybe | Later | Dead, now: datetime) -> PostRow:
    """What *outcome* of *rev* changes; a newer revision is due, at once if nothing says when."""
    newer = replace(row, state="due", due_at=now)
    match outcome:
        case Sent(chat_ref=chat_ref):
            sent_rev = max(row.sent_rev, rev)
            after = newer if row.post.rev > sent_rev else replace(row, state="sent")
            post = replace(row.post, chat_ref=chat_ref, attempts=0)
            return replace(after, post=post, sent_rev=sent_rev, error=None)
        case Maybe():
            again_at = now + timedelta(seconds=REPEAT_SECONDS)
            return replace(row, state="due", due_at=again_at, error="maybe")
        case Later(seconds=seconds, error=error):
            again_at = now + timedelta(seconds=min(seconds, LONGEST_WAIT_SECONDS))
            return replace(row, state="due", due_at=again_at, error=error)
        case Dead(error=error):
            return replace(newer if row.post.rev > rev else replace(row, state="dead"), error=error)
        case never:
            assert_never(never)
