"""The outbox: messages that should exist on a surface, and what became of sending them.

A post is a row with a revision, and is due while that is newer than the one sent last. A late word
about an old revision never ends a newer one: where it was sent late, the newer one is due again.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, assert_never

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store import rates
from adapters.store.copies import copy_row, give_way, on_request
from adapters.store.engine import Database
from adapters.store.readable import taken
from adapters.store.rows import Row, call_of, park_of, post_of, task_of, tried_row
from adapters.store.tables import approval_routes, calls, parks, posts, tasks
from core.calls import Call
from core.ids import OrgId, PostId, Token
from core.moves.common import CARD_PRIO, card_key_of
from core.parks import Park
from core.people import Route
from core.ports import ON_REQUEST, SHOWN_AGAIN, Dead, Later, Maybe, Post, Sent, Tried
from core.routes import DIGEST_SECONDS, HOUR, digest_key, heard_of, hour_of
from core.work import PostKind

LONGEST_WAIT_SECONDS = 3600  # whatever a surface asks for
REPEAT_SECONDS = 5  # after a lost answer: a card or report that is there twice does no harm (K18)


_KEY = select(posts.c.org, posts.c.dedup_key)


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
            if post["copy_of"] == SHOWN_AGAIN and isinstance(outcome, Sent) and post["rev"] <= rev:
                await conn.execute(delete(posts).where(*this))
            elif isinstance(outcome, Sent) or _still_owed(post, rev):
                values = _settled(post, rev, outcome, await self._db.now(conn))
                await conn.execute(update(posts).where(*this).values(values))

        await self._db.write(body)

    async def learn(self, park_token: Token, surface: str, chat_ref: str) -> None:
        """The first message heard of is the card; of two (K18) the other one only answers clicks."""

        async def body(conn: AsyncConnection) -> None:
            if await _is_known(conn, surface, chat_ref):
                return
            card = await _card_of(conn, park_token)
            key = None if card is None else (await conn.execute(_KEY.where(*card))).one_or_none()
            if key is None:
                return
            its = or_(posts.c.dedup_key == key.dedup_key, posts.c.copy_of == key.dedup_key)
            cards = select(posts).where(posts.c.org == key.org, posts.c.surface == surface, its)
            found = map(
                post_of, (await conn.execute(cards.order_by(posts.c.id).with_for_update())).mappings()
            )
            if (post := heard_of(list(found), chat_ref)) is not None:
                await _set(conn, post, {"chat_ref": chat_ref})

        await self._db.write(body)

    async def copied(self, park_token: Token, to: Route, chat_ref: str) -> None:
        """Under the task's lock, so that a card is revised before there is a copy, or together with it."""
        this = parks.c.token == park_token

        async def body(conn: AsyncConnection) -> None:
            its_task = exists().where(this, parks.c.org == tasks.c.org, parks.c.task_id == tasks.c.id)
            locked = (await conn.execute(select(tasks).where(its_task).with_for_update())).mappings()
            if (row := locked.one_or_none()) is None or await _is_known(conn, to.surface, chat_ref):
                return
            park = park_of((await conn.execute(select(parks).where(this))).mappings().one())
            copy = copy_row(task_of(row), park, await _call_of(conn, park), to, chat_ref)
            if copy is not None:
                now = await self._db.now(conn)
                await give_way(conn, copy["org"], copy["dedup_key"], now)
                made = {"id": self._db.ids.new(), "due_at": now}
                await conn.execute(self._db.insert(posts).values({**copy, **made}))

        await self._db.write(body)

    async def at(self, surface: str, chat_ref: str) -> Post | None:
        this = (posts.c.surface == surface, posts.c.chat_ref == chat_ref)

        async def body(conn: AsyncConnection) -> Post | None:
            row = (await conn.execute(select(posts).where(*this).limit(1))).mappings().one_or_none()
            return None if row is None else post_of(row)

        return await self._db.read(body)

    # ── elsewhere ────────────────────────────────────────────────────────────────────────────

    async def reroute(self, post: Post, to: Route | None, error: str) -> None:
        async def body(conn: AsyncConnection) -> None:
            row = await _locked(conn, post)
            if row is None:
                return
            now = await self._db.now(conn)
            here = tried_row(Tried(route=post.place, error=error))
            before = row["tried"] or []
            tried = before if before and _place_of(before[-1]) == _place_of(here) else [*before, here]
            await _set(conn, post, {"tried": tried, "shown_at": None, **_rerouted(row, post, to, error, now)})
            if post.folded:
                await self._digest(conn, post, post.shown_at or now, now)

        await self._db.write(body)

    async def move(self, surface: str, old: str, new: str, around: Callable[[str], str] = str) -> None:
        async def body(conn: AsyncConnection) -> None:
            for column in (tasks.c.chat, tasks.c.thread_ref, approval_routes.c.ref, posts.c.route):
                table = column.table
                there = (table.c.surface == surface, _inside(column, old))
                values: dict[str, Any] = {column.name: bindparam("now")}
                if table is posts:
                    again = posts.c.chat_ref.is_not(None) & ~on_request()
                    values["shown_at"] = case((again, None), else_=posts.c.shown_at)
                    values["chat_ref"] = None
                names = (await conn.execute(select(column).where(*there).distinct())).scalars()
                named = [{"was": was, "now": around(f"{new}{was[len(old) :]}")} for was in sorted(names)]
                if named:
                    this = (table.c.surface == surface, column == bindparam("was"))
                    await conn.execute(update(table).where(*this).values(values), named)
            await rates.moved(self._db, conn, surface, old, new)

        await self._db.write(body)

    # ── digests ──────────────────────────────────────────────────────────────────────────────

    async def cards_shown(self, org: OrgId, route: Route) -> int:
        async def body(conn: AsyncConnection) -> int:
            since = await self._db.now(conn) - HOUR
            by_itself = (posts.c.chat_ref.is_not(None), posts.c.shown_at > since)
            cards = select(func.count()).select_from(posts).where(*_cards_at(org, route), *by_itself)
            return int((await conn.execute(cards)).scalar_one())

        return await self._db.read(body)

    async def fold(self, post: Post) -> None:
        async def body(conn: AsyncConnection) -> None:
            row = await _locked(conn, post)
            if row is None:
                return
            now = await self._db.now(conn)
            if row["chat_ref"] is not None or row["shown_at"] == ON_REQUEST:
                await _set(conn, post, {"state": "due", "due_at": now})
                return
            folded_at = row["shown_at"] or now
            sent = _settled(row, post.rev, Sent(chat_ref=""), now)
            await _set(conn, post, {**sent, "chat_ref": None, "shown_at": folded_at})
            await self._digest(conn, post, folded_at, now)

        await self._db.write(body)

    async def folded(self, digest: Post) -> list[Post]:
        since = datetime.fromisoformat(digest.body["hour"])
        when = (posts.c.shown_at >= since, posts.c.shown_at < since + HOUR, posts.c.chat_ref.is_(None))
        wanted = select(posts).where(*_cards_at(digest.org, digest.place), *when)

        async def body(conn: AsyncConnection) -> list[Post]:
            found = await conn.execute(wanted.order_by(posts.c.shown_at, posts.c.id))
            return list(map(post_of, found.mappings()))

        return await self._db.read(body)

    async def show(self, park_token: Token) -> bool:
        async def body(conn: AsyncConnection) -> bool:
            post = await _folded_card(conn, park_token)
            if post is None:
                return False
            now = await self._db.now(conn)
            due = {"state": "due", "due_at": now, "attempts": 0}
            await _set(conn, post, {"shown_at": ON_REQUEST, "sent_rev": 0, "error": None, **due})
            await self._digest(conn, post, post.shown_at or now, now)
            return True

        return await self._db.write(body)

    async def recall(self, park_token: Token) -> bool:
        async def body(conn: AsyncConnection) -> bool:
            post = await _folded_card(conn, park_token)
            if post is not None:
                now = await self._db.now(conn)
                await self._digest(conn, post, post.shown_at or now, now)
            return post is not None

        return await self._db.write(body)

    async def _digest(self, conn: AsyncConnection, card: Post, folded_at: datetime, now: datetime) -> None:
        """The digest that tells, or told, of *card* is due, a revision more."""
        hour = hour_of(folded_at).isoformat()
        due_at = now + timedelta(seconds=DIGEST_SECONDS)
        stays = posts.c.state.in_(["sending", "due"])
        new = self._db.insert(posts).values(
            org=card.org,
            id=self._db.ids.new(),
            dedup_key=digest_key(card.place, hour),
            kind=PostKind.DIGEST.value,
            surface=card.surface,
            route=card.route,
            body={"hour": hour},
            prio=CARD_PRIO,
            due_at=due_at,
        )
        revised = {
            "rev": posts.c.rev + 1,
            "due_at": case((stays, posts.c.due_at), else_=literal(due_at, posts.c.due_at.type)),
            "state": case((stays, posts.c.state), else_="due"),
            "attempts": 0,
            "error": None,
        }
        key = [posts.c.org, posts.c.dedup_key]
        await conn.execute(new.on_conflict_do_update(index_elements=key, set_=revised))

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
            rest = newer if post["rev"] > rev else {"state": "sent"}
            came_at = post["shown_at"] or (now if chat_ref else None)
            done = {"chat_ref": chat_ref, "sent_rev": rev, "shown_at": came_at}
            return {**done, "attempts": 0, "error": None, **rest}
        case Maybe():
            again_at = now + timedelta(seconds=REPEAT_SECONDS)
            return {"state": "due", "due_at": again_at, "error": "maybe"}
        case Later(seconds=seconds, error=error, counts=counts):
            again_at = now + timedelta(seconds=min(seconds, LONGEST_WAIT_SECONDS))
            tries = max(0, post["attempts"] - (not counts))
            return {"state": "due", "due_at": again_at, "attempts": tries, "error": error}
        case Dead(error=error):
            return {"error": error, **(newer if post["rev"] > rev else {"state": "dead"})}
        case never:
            assert_never(never)


def _rerouted(row: Row, post: Post, to: Route | None, error: str, now: datetime) -> dict[str, Any]:
    if to is None:
        return _settled(row, post.rev, Dead(error=error), now)
    place = {"surface": to.surface, "route": to.ref, "chat_ref": None}
    return {**place, "sent_rev": 0, "attempts": 0, "error": error, "state": "due", "due_at": now}


def _place_of(tried: dict[str, Any]) -> tuple[str, str]:
    return tried["surface"], tried["ref"]


def _inside(column: ColumnElement[Any], chat: str) -> ColumnElement[bool]:
    """It names *chat*, or something in it: a thread is called after its chat."""
    return or_(column == chat, column.startswith(f"{chat}:", autoescape=True))


def _cards_at(org: OrgId, route: Route) -> tuple[ColumnElement[bool], ...]:
    here = (posts.c.org == org, posts.c.surface == route.surface, posts.c.route == route.ref)
    return (*here, posts.c.kind == PostKind.CARD.value)


async def _is_known(conn: AsyncConnection, surface: str, chat_ref: str) -> bool:
    """Some post is the message *chat_ref*."""
    named = select(posts.c.id).where(posts.c.surface == surface, posts.c.chat_ref == chat_ref)
    return (await conn.execute(named.limit(1))).one_or_none() is not None


async def _locked(conn: AsyncConnection, post: Post) -> Row | None:
    """The row of *post*, if it still is where *post* was taken."""
    this = (posts.c.org == post.org, posts.c.id == post.id)
    here = (posts.c.surface == post.surface, posts.c.route == post.route)
    return (await conn.execute(select(posts).where(*this, *here).with_for_update())).mappings().one_or_none()


async def _set(conn: AsyncConnection, post: Post, values: dict[str, Any]) -> None:
    await conn.execute(update(posts).where(posts.c.org == post.org, posts.c.id == post.id).values(values))


async def _folded_card(conn: AsyncConnection, token: Token) -> Post | None:
    """The card with the button of *token*, locked, if it is folded."""
    card = await _card_of(conn, token)
    if card is None:
        return None
    row = (await conn.execute(select(posts).where(*card).with_for_update())).mappings().one_or_none()
    post = None if row is None else post_of(row)
    return post if post is not None and post.folded else None


async def _card_of(conn: AsyncConnection, token: Token) -> tuple[ColumnElement[bool], ...] | None:
    """Which post is the card with the button of *token*, if there is such a park."""
    row = (await conn.execute(select(parks).where(parks.c.token == token))).mappings().one_or_none()
    if row is None:
        return None
    park = park_of(row)
    cards = (
        posts.c.org == park.org,
        posts.c.task_id == park.task_id,
        posts.c.kind == PostKind.CARD.value,
        posts.c.copy_of.is_(None),
    )
    if park.call_id is None:  # about the task itself: on its newest card
        newest = select(func.max(posts.c.id)).where(*cards).scalar_subquery()
        return (*cards, posts.c.id == newest)
    its_task = select(tasks).where(tasks.c.org == park.org, tasks.c.id == park.task_id)
    task = task_of((await conn.execute(its_task)).mappings().one())
    return (*cards, posts.c.dedup_key == card_key_of(task, park, await _call_of(conn, park)))


async def _call_of(conn: AsyncConnection, park: Park) -> Call | None:
    its_call = select(calls).where(calls.c.org == park.org, calls.c.id == park.call_id)
    return None if park.call_id is None else call_of((await conn.execute(its_call)).mappings().one())
