"""Copies of cards: posts that show a card once more, elsewhere, and are revised whenever it is."""

from datetime import datetime

from sqlalchemy import ColumnElement, Label, and_, delete, exists, false, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store.engine import Database
from adapters.store.rows import Values
from adapters.store.tables import posts
from core.calls import Call
from core.moves.common import COPY_PRIO, SHOWN_AGAIN_PRIO, card_key_of, copy_key, place_key, shown_again_key
from core.parks import Park
from core.people import Roster, Route
from core.ports import ON_REQUEST, SHOWN_AGAIN
from core.routes import copy_routes
from core.tasks import Task
from core.work import PostIntent, PostKind


def is_copied(task: Task, intent: PostIntent) -> Label[bool]:
    """Whether the card of *intent* has copies: nobody makes one while the lock of *task* is held."""
    if intent.kind is not PostKind.CARD:
        return false().label("copied")
    other = posts.alias("other")
    return exists().where(other.c.org == task.org, other.c.copy_of == intent.dedup_key).label("copied")


def on_request() -> ColumnElement[bool]:
    """Post.on_request."""
    return and_(posts.c.copy_of.is_not(None), posts.c.shown_at == ON_REQUEST)


def copy_rows(db: Database, roster: Roster, task: Task, first: Values) -> list[Values]:
    """The posts that show the new post *first* of *task* where its cards go, too; of a card alone."""
    if first["kind"] != PostKind.CARD.value:
        return []
    places = copy_routes(roster, task, Route(surface=first["surface"], ref=first["route"]))
    return [
        {
            **first,
            "id": db.ids.new(),
            "dedup_key": place_key(first["dedup_key"], to),
            "surface": to.surface,
            "route": to.ref,
            "copy_of": first["dedup_key"],
        }
        for to in places
    ]


def copy_row(task: Task, park: Park, call: Call | None, to: Route, chat_ref: str) -> Values | None:
    """The post of *chat_ref* at *to*, which shows *park* alone; None where no card shows it."""
    key = card_key_of(task, park, call)
    if key is None:
        return None
    number = None if call is None else call.number
    return {
        "org": task.org,
        "dedup_key": copy_key(key, number, to),
        "kind": PostKind.CARD.value,
        "task_id": task.id,
        "episode": park.shown["episode"] if call is None else call.episode,
        "round": park.shown["round"] if call is None else call.round,
        "surface": to.surface,
        "route": to.ref,
        "shown_at": ON_REQUEST,
        "body": None if number is None else {"call": number},
        "rev": 1,
        "sent_rev": 1 if park.open else 0,
        "chat_ref": chat_ref,
        "prio": COPY_PRIO,
        "state": "sent" if park.open else "due",
        "copy_of": key,
    }


async def give_way(conn: AsyncConnection, org: str, key: str, now: datetime) -> None:
    """The message that is the copy of *key* is none any more, and is due to say so, if there is one."""
    this = (posts.c.org == org, posts.c.dedup_key == key)
    before = (await conn.execute(select(posts).where(*this).with_for_update())).mappings().one_or_none()
    if before is None:
        return
    if not before["chat_ref"]:
        await conn.execute(delete(posts).where(*this))
        return
    own = shown_again_key(key, before["chat_ref"])
    await conn.execute(delete(posts).where(posts.c.org == org, posts.c.dedup_key == own))
    again = {"dedup_key": own, "copy_of": SHOWN_AGAIN, "prio": SHOWN_AGAIN_PRIO}
    revised = {"rev": before["rev"] + 1, "attempts": 0, "error": None}
    due = {} if before["state"] == "sending" else {"state": "due", "due_at": now}
    await conn.execute(update(posts).where(*this).values({**again, **revised, **due}))
