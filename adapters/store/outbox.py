"""The outbox: messages that should exist on a surface, and what became of sending them.

A post is a row with a revision, and is due while that is newer than the one sent. A late word
about an old revision never ends a newer one, and what was sent stays sent.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from sqlalchemy import ColumnElement, Select, Subquery, and_, exists, func, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.readable import taken
from adapters.store.rows import Row, post_of, task_of
from adapters.store.tables import calls, parks, posts, tasks
from core.ids import OrgId, PostId, Token
from core.moves.common import card_key
from core.ports import Dead, Later, Maybe, Post, Sent
from core.work import PostKind

LONGEST_WAIT_SECONDS = 3600  # whatever a surface asks for
REPEAT_SECONDS = 5  # after a lost answer: a card or report that is there twice does no harm (K18)


class SqlOutbox:
    """core.ports.Outbox."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def take(self, n: int, surface: str, visible_seconds: float = 30) -> list[Post]:
        async def body(conn: AsyncConnection) -> list[Post]:
            await self._turn(conn, surface)
            now = await self._db.now(conn)
            due = await taken(conn, _offered(surface, now, n), posts, post_of)
            if due:
                these = tuple_(posts.c.org, posts.c.id).in_([(post.org, post.id) for post in due])
                values = {
                    "state": "sending",
                    "due_at": now + timedelta(seconds=visible_seconds),
                    "attempts": posts.c.attempts + 1,
                }
                await conn.execute(update(posts).where(these).values(values))
            return [replace(post, attempts=post.attempts + 1) for post in due]

        return await self._db.write(body)

    async def settle(
        self, post_id: PostId, org: OrgId, rev: int, outcome: Sent | Maybe | Later | Dead
    ) -> None:
        async def body(conn: AsyncConnection) -> None:
            this = (posts.c.org == org, posts.c.id == post_id)
            post = (await conn.execute(select(posts).where(*this).with_for_update())).mappings().one_or_none()
            if post is None:
                return
            if isinstance(outcome, Sent) or _still_owed(post, rev):
                values = _settled(post, rev, outcome, await self._db.now(conn))
                await conn.execute(update(posts).where(*this).values(values))

        await self._db.write(body)

    async def learn(self, park_token: Token, chat_ref: str) -> None:
        """The first message heard of is the card; of two (K18) the other one only answers clicks."""

        async def body(conn: AsyncConnection) -> None:
            card = await _card_of(conn, park_token)
            if card is not None:
                unknown = (*card, posts.c.chat_ref.is_(None))
                await conn.execute(update(posts).where(*unknown).values(chat_ref=chat_ref))

        await self._db.write(body)

    async def _turn(self, conn: AsyncConnection, surface: str) -> None:
        """Nobody else takes posts of *surface* until this transaction ends.

        Of two that look at once, each could take another post of one route, since neither sees what
        the other has not committed. On SQLite a writer is alone anyway.
        """
        if self._db.is_postgres:
            lock = text("SELECT pg_advisory_xact_lock(hashtextextended('outbox ' || :surface, 0))")
            await conn.execute(lock, {"surface": surface})


def _due(now: datetime) -> ColumnElement[bool]:
    return and_(posts.c.rev > posts.c.sent_rev, posts.c.state != "dead", posts.c.due_at <= now)


def _offered(surface: str, now: datetime, n: int) -> Select[Any]:
    """The first due post of each route on which nothing is under way, locked; at most *n*."""
    first = _in_turn(surface, now)
    return (
        select(posts)
        .join(first, and_(posts.c.org == first.c.org, posts.c.id == first.c.id))
        # Asked again, since the lock is had on the row as it is now, not as it was when looked at.
        .where(first.c.turn == 1, _due(now))
        .order_by(posts.c.prio, posts.c.due_at, posts.c.id)
        .limit(n)
        .with_for_update(of=posts, skip_locked=True)
    )


def _in_turn(surface: str, now: datetime) -> Subquery:
    other = posts.alias("other")
    under_way = exists().where(
        other.c.surface == posts.c.surface,
        other.c.route == posts.c.route,
        other.c.state == "sending",
        other.c.due_at > now,
    )
    turn = func.row_number().over(
        partition_by=posts.c.route, order_by=(posts.c.prio, posts.c.due_at, posts.c.id)
    )
    return (
        select(posts.c.org, posts.c.id, turn.label("turn"))
        .where(posts.c.surface == surface, _due(now), ~under_way)
        .subquery("first")
    )


def _still_owed(post: Row, rev: int) -> bool:
    """What became of *rev* still matters: nobody has sent it, or given it up, meanwhile."""
    return bool(post["sent_rev"] < rev and post["state"] != "dead")


def _settled(post: Row, rev: int, outcome: Sent | Maybe | Later | Dead, now: datetime) -> dict[str, Any]:
    """The columns that *outcome* of *rev* changes; a newer revision is due, at once if nothing says when."""
    newer = {"state": "due", "due_at": now}
    match outcome:
        case Sent(chat_ref=chat_ref):
            sent_rev = max(post["sent_rev"], rev)
            rest = newer if post["rev"] > sent_rev else {"state": "sent"}
            return {"chat_ref": chat_ref, "sent_rev": sent_rev, "attempts": 0, "error": None, **rest}
        case Maybe():
            again_at = now + timedelta(seconds=REPEAT_SECONDS)
            return {"state": "due", "due_at": again_at, "error": "maybe"}
        case Later(seconds=seconds, error=error):
            again_at = now + timedelta(seconds=min(seconds, LONGEST_WAIT_SECONDS))
            return {"state": "due", "due_at": again_at, "error": error}
        case Dead(error=error):
            return {"error": error, **(newer if post["rev"] > rev else {"state": "dead"})}
        case never:
            assert_never(never)


async def _card_of(conn: AsyncConnection, token: Token) -> tuple[ColumnElement[bool], ...] | None:
    """Which post is the card with the button of *token*, if there is such a park."""
    park = (await conn.execute(select(parks).where(parks.c.token == token))).one_or_none()
    if park is None:
        return None
    cards = (posts.c.org == park.org, posts.c.task_id == park.task_id, posts.c.kind == PostKind.CARD.value)
    if park.call_id is None:  # about the task itself: on its newest card
        newest = select(func.max(posts.c.id)).where(*cards).scalar_subquery()
        return (*cards, posts.c.id == newest)
    its_call = select(calls).where(calls.c.org == park.org, calls.c.id == park.call_id)
    call = (await conn.execute(its_call)).one()
    its_task = select(tasks).where(tasks.c.org == park.org, tasks.c.id == park.task_id)
    task = task_of((await conn.execute(its_task)).mappings().one())
    number = call.number if call.round is None else None
    return (*cards, posts.c.dedup_key == card_key(task, call.episode, call.round, number))
