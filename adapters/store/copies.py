"""Copies of cards: posts that show a card once more, elsewhere, and are revised whenever it is."""

from sqlalchemy import ColumnElement, Label, and_, exists, false

from adapters.store.engine import Database
from adapters.store.rows import Values
from adapters.store.tables import posts
from core.calls import Call
from core.moves.common import CARD_PRIO, card_key_of, copy_key, place_key
from core.parks import Park
from core.people import Roster, Route
from core.ports import ON_REQUEST
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
    return {
        "org": task.org,
        "dedup_key": copy_key(to, chat_ref),
        "kind": PostKind.CARD.value,
        "task_id": task.id,
        "episode": park.shown["episode"] if call is None else call.episode,
        "round": park.shown["round"] if call is None else call.round,
        "surface": to.surface,
        "route": to.ref,
        "shown_at": ON_REQUEST,
        "body": None if call is None else {"call": call.number},
        "rev": 1,
        "sent_rev": 1 if park.open else 0,
        "chat_ref": chat_ref,
        "prio": CARD_PRIO,
        "state": "sent" if park.open else "due",
        "copy_of": key,
    }
