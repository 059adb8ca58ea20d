"""The outbox: messages that should exist on a surface, and what became of sending them."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from core.ids import OrgId, PostId, TaskRef, Token
from core.moves.common import CARD_PRIO, COPY_PRIO, SHOWN_AGAIN_PRIO, card_key_of, copy_key, shown_again_key
from core.parks import Park
from core.people import Route
from core.ports import ON_REQUEST, SHOWN_AGAIN, Dead, Later, Maybe, Post, Sent, Tried
from core.routes import DIGEST_SECONDS, HOUR, digest_key, heard_of, hour_of
from core.testing.memory.chats import moved
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
        if row.post.copy_of == SHOWN_AGAIN and isinstance(outcome, Sent) and row.post.rev <= rev:
            with self._rows.transaction():
                self._rows.posts.delete(row)
        elif isinstance(outcome, Sent) or still_owed:
            with self._rows.transaction():
                self._rows.posts.update(_settled(row, rev, outcome, self._rows.now()))

    async def at(self, surface: str, chat_ref: str) -> Post | None:
        return next((row.post for row in self._rows.posts.under("message", surface, chat_ref)), None)

    async def learn(self, park_token: Token, surface: str, chat_ref: str) -> None:
        """The first message heard of is the card; of two (K18) the other one only answers clicks."""
        if self._rows.posts.under("message", surface, chat_ref):
            return
        park = self._rows.parks.one("token", park_token)
        card = None if park is None else self._card_of(park)
        if card is None:
            return
        rows = [card, *self._rows.posts.under("copies", card.post.org, card.dedup_key)]
        here = [row.post for row in rows if row.post.surface == surface]
        if (post := heard_of(here, chat_ref)) is not None:
            row = next(row for row in rows if row.post is post)
            with self._rows.transaction():
                self._rows.posts.update(replace(row, post=replace(post, chat_ref=chat_ref)))

    async def copied(self, park_token: Token, to: Route, chat_ref: str) -> None:
        park = self._rows.parks.one("token", park_token)
        task = None if park is None else self._rows.task(TaskRef(org=park.org, task_id=park.task_id))
        if park is None or task is None:
            return
        call = None if park.call_id is None else self._rows.calls.get(park.org, park.call_id)
        card, number = card_key_of(task, park, call), None if call is None else call.number
        if card is None or self._rows.posts.under("message", to.surface, chat_ref):
            return
        post = Post(
            id=PostId(self._rows.ids.new()),
            org=park.org,
            task_id=park.task_id,
            kind=PostKind.CARD,
            episode=park.shown["episode"] if call is None else call.episode,
            round=park.shown["round"] if call is None else call.round,
            surface=to.surface,
            route=to.ref,
            body=None if number is None else {"call": number},
            rev=1,
            chat_ref=chat_ref,
            attempts=0,
            shown_at=ON_REQUEST,
            copy_of=card,
        )
        key = copy_key(card, number, to)
        row = PostRow(post=post, dedup_key=key, prio=COPY_PRIO, due_at=self._rows.now())
        with self._rows.transaction():
            self._give_way(park.org, key)
            self._rows.posts.insert(replace(row, sent_rev=1, state="sent") if park.open else row)

    def _give_way(self, org: OrgId, key: str) -> None:
        """The message that is the copy of *key* is none any more, and is due to say so, if there is one."""
        rows = self._rows.posts
        before = rows.one("dedup", org, key)
        if before is None:
            return
        if not before.post.chat_ref:
            rows.delete(before)
            return
        own = shown_again_key(key, before.post.chat_ref)
        if (older := rows.one("dedup", org, own)) is not None:
            rows.delete(older)
        post = replace(before.post, copy_of=SHOWN_AGAIN, rev=before.post.rev + 1, attempts=0)
        after = replace(before, post=post, dedup_key=own, prio=SHOWN_AGAIN_PRIO, error=None)
        sending = before.state == "sending"
        rows.update(after if sending else replace(after, state="due", due_at=self._rows.now()))

    # ── elsewhere ────────────────────────────────────────────────────────────────────────────

    async def reroute(self, post: Post, to: Route | None, error: str) -> None:
        row = self._row(post)
        if row is None:
            return
        before, here = row.post.tried, Tried(route=post.place, error=error)
        tried = before if before and before[-1].route == here.route else (*before, here)
        with self._rows.transaction():
            now = self._rows.now()
            after = _rerouted(row, post, to, error, now)
            self._rows.posts.update(replace(after, post=replace(after.post, tried=tried, shown_at=None)))
            if post.folded:
                self._digest(post, post.shown_at or now)

    async def move(self, surface: str, old: str, new: str, around: Callable[[str], str] = str) -> None:
        rows = self._rows

        def named(ref: str | None) -> str | None:
            inside = ref is not None and (ref == old or ref.startswith(f"{old}:"))
            return around(f"{new}{ref[len(old) :]}") if ref is not None and inside else ref

        with rows.transaction():
            for task_row in rows.tasks:
                task = task_row.task
                if task.surface == surface:
                    chat, thread = named(task.chat), named(task.thread_ref)
                    if (chat, thread) != (task.chat, task.thread_ref):
                        rows.tasks.update(replace(task_row, task=replace(task, chat=chat, thread_ref=thread)))
            for route in rows.approval_routes:
                ref = named(route.ref)
                if route.surface == surface and ref is not None and ref != route.ref:
                    rows.approval_routes.update(replace(route, ref=ref))
            for row in rows.posts:
                ref = named(row.post.route)
                if row.post.surface == surface and ref is not None and ref != row.post.route:
                    stays = row.post.chat_ref is None or row.post.on_request
                    shown_at = row.post.shown_at if stays else None
                    post = replace(row.post, route=ref, chat_ref=None, shown_at=shown_at)
                    rows.posts.update(replace(row, post=post))
            moved(rows, surface, old, new)

    # ── digests ──────────────────────────────────────────────────────────────────────────────

    async def cards_shown(self, org: OrgId, route: Route) -> int:
        since = self._rows.now() - HOUR
        cards = (row.post for row in self._cards_at(org, route) if row.post.chat_ref is not None)
        return sum(card.shown_at is not None and card.shown_at > since for card in cards)

    async def fold(self, post: Post) -> None:
        row = self._row(post)
        if row is None:
            return
        now = self._rows.now()
        with self._rows.transaction():
            if row.post.chat_ref is not None or row.post.shown_at == ON_REQUEST:
                self._rows.posts.update(replace(row, state="due", due_at=now))
                return
            folded_at = row.post.shown_at or now
            after = _settled(row, post.rev, Sent(chat_ref=""), now)
            card = replace(after.post, chat_ref=None, shown_at=folded_at)
            self._rows.posts.update(replace(after, post=card))
            self._digest(post, folded_at)

    async def folded(self, digest: Post) -> list[Post]:
        since = datetime.fromisoformat(digest.body["hour"])
        cards = [row.post for row in self._cards_at(digest.org, digest.place) if row.post.chat_ref is None]
        there = [(c.shown_at, c.id, c) for c in cards if c.shown_at is not None]
        found = [one for one in there if since <= one[0] < since + HOUR]
        return [card for _, _, card in sorted(found, key=lambda one: one[:2])]

    async def show(self, park_token: Token) -> bool:
        row = self._folded_card(park_token)
        if row is None:
            return False
        now = self._rows.now()
        with self._rows.transaction():
            post = replace(row.post, shown_at=ON_REQUEST, attempts=0)
            self._rows.posts.update(replace(row, post=post, sent_rev=0, state="due", due_at=now, error=None))
            self._digest(row.post, row.post.shown_at or now)
        return True

    async def recall(self, park_token: Token) -> bool:
        row = self._folded_card(park_token)
        if row is not None:
            with self._rows.transaction():
                self._digest(row.post, row.post.shown_at or self._rows.now())
        return row is not None

    def _digest(self, card: Post, folded_at: datetime) -> None:
        """The digest that tells, or told, of *card* is due, a revision more."""
        hour = hour_of(folded_at).isoformat()
        due_at = self._rows.now() + timedelta(seconds=DIGEST_SECONDS)
        key = digest_key(card.place, hour)
        before = self._rows.posts.one("dedup", card.org, key)
        if before is None:
            self._rows.posts.insert(_new_digest(PostId(self._rows.ids.new()), card, hour, due_at))
            return
        post = replace(before.post, rev=before.post.rev + 1, attempts=0)
        after = replace(before, post=post, error=None)
        stays = before.state in ("sending", "due")
        self._rows.posts.update(after if stays else replace(after, state="due", due_at=due_at))

    def _cards_at(self, org: OrgId, route: Route) -> list[PostRow]:
        return [row for row in self._rows.posts.under("place", org, route) if row.post.kind is PostKind.CARD]

    def _row(self, post: Post) -> PostRow | None:
        """The row of *post*, if it still is where *post* was taken."""
        row = self._rows.posts.get(post.org, post.id)
        return row if row is not None and row.post.place == post.place else None

    def _folded_card(self, token: Token) -> PostRow | None:
        """The card with the button of *token*, if it is folded."""
        park = self._rows.parks.one("token", token)
        card = None if park is None else self._card_of(park)
        return card if card is not None and card.post.folded else None

    def _sending(self, row: PostRow, until: datetime) -> PostRow:
        post = replace(row.post, attempts=row.post.attempts + 1)
        return self._rows.posts.update(replace(row, post=post, state="sending", due_at=until))

    def _card_of(self, park: Park) -> PostRow | None:
        """The card with the park's button; of a park about the task itself, its newest."""
        own = self._rows.posts.under("task", park.org, park.task_id)
        cards = [row for row in own if row.post.kind is PostKind.CARD and row.post.copy_of is None]
        if park.call_id is None:
            return max(cards, key=lambda row: row.post.id, default=None)
        task = self._rows.task(TaskRef(org=park.org, task_id=park.task_id))
        call = self._rows.calls.get(park.org, park.call_id)
        if task is None or call is None:
            return None
        key = card_key_of(task, park, call)
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
            after = newer if row.post.rev > rev else replace(row, state="sent")
            came_at = row.post.shown_at or (now if chat_ref else None)
            post = replace(row.post, chat_ref=chat_ref, attempts=0, shown_at=came_at)
            return replace(after, post=post, sent_rev=rev, error=None)
        case Maybe():
            again_at = now + timedelta(seconds=REPEAT_SECONDS)
            return replace(row, state="due", due_at=again_at, error="maybe")
        case Later(seconds=seconds, error=error, counts=counts):
            again_at = now + timedelta(seconds=min(seconds, LONGEST_WAIT_SECONDS))
            post = replace(row.post, attempts=max(0, row.post.attempts - (not counts)))
            return replace(row, post=post, state="due", due_at=again_at, error=error)
        case Dead(error=error):
            return replace(newer if row.post.rev > rev else replace(row, state="dead"), error=error)
        case never:
            assert_never(never)


def _rerouted(row: PostRow, post: Post, to: Route | None, error: str, now: datetime) -> PostRow:
    if to is None:
        return _settled(row, post.rev, Dead(error=error), now)
    there = replace(row.post, surface=to.surface, route=to.ref, chat_ref=None, attempts=0)
    return replace(row, post=there, sent_rev=0, error=error, state="due", due_at=now)


def _new_digest(digest_id: PostId, card: Post, hour: str, due_at: datetime) -> PostRow:
    post = Post(
        id=digest_id,
        org=card.org,
        task_id=None,
        kind=PostKind.DIGEST,
        episode=1,
        round=None,
        surface=card.surface,
        route=card.route,
        body={"hour": hour},
        rev=1,
        chat_ref=None,
        attempts=0,
    )
    return PostRow(post=post, dedup_key=digest_key(card.place, hour), prio=CARD_PRIO, due_at=due_at)
