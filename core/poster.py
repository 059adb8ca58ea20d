"""Sends the posts of one surface: what should exist there is rendered from its rows and handed over.

A post is rendered when it is sent, so that what appears is what is so now. A crash at any line leaves it
due again after a while: a card may then be there twice, and either one answers the same park (K18). How a
view looks and how a chat is reached is the surface's business.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from core.calls import Call
from core.cards import Card, card, reminder
from core.decisions import Desk
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone
from core.host import BaseHost
from core.ids import ParkId, TaskRef, Token
from core.parks import Park
from core.people import Roster
from core.ports import Dead, Later, ParkView, Post, Sent, Story
from core.report import Report, build
from core.tasks import Json
from core.work import PostKind

log = logging.getLogger(__name__)

FIRST_DELAY_SECONDS = 2.0
LONGEST_DELAY_SECONDS = 300.0
TRIES = 12
"""After about half an hour of a failing surface the post is dead; a new revision of it is due again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A line of ours to a task's thread."""

    task_code: str
    text: str


View: TypeAlias = Card | Report | Notice


class Surface(Protocol):
    """Shows views. Raises ChatBusy to wait, ChatGone or ChatForbidden for good, else ChatError."""

    async def post(self, view: View, route: str) -> str:
        """*view* is there, anew; what the surface calls it."""
        ...

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        """What *chat_ref* names shows *view* now; what it is called from here on."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Poster:
    """Delivers the posts of *name* to *surface*. *room*: characters of arguments that a card shows there."""

    desk: Desk
    name: str
    surface: Surface
    room: int | None = None

    async def deliver(self, n: int = 20) -> int:
        """Up to *n* due posts are there or have their next time; how many there were.

        Taken one at a time: one that can't even be rendered is hidden from the next look, holds nobody
        up, and is dead after its tries (K40).
        """
        for done in range(n):
            posts = await self.desk.store.outbox.take(1, self.name)
            if not posts:
                return done
            post = posts[0]
            outcome = await self._send(post) if post.attempts <= TRIES else Dead(error="tried too often")
            if isinstance(outcome, Later | Dead):
                outcome = self.desk.redactor.clean(outcome)
            await self.desk.store.outbox.settle(post.id, post.org, post.rev, outcome)
        return n

    async def deliver_all(self) -> None:
        """Nothing is due any more."""
        while await self.deliver():
            pass

    async def _send(self, post: Post) -> Sent | Later | Dead:
        view = self.desk.redactor.clean(await self._view(post))
        if view is None:
            return Sent(chat_ref=post.chat_ref or "")
        try:
            if post.chat_ref:
                return Sent(chat_ref=await self.surface.update(view, post.route, post.chat_ref))
            return Sent(chat_ref=await self.surface.post(view, post.route))
        except ChatBusy as busy:
            return Later(seconds=busy.retry_after_seconds, error=str(busy))
        except (ChatForbidden, ChatGone) as gone:
            return Dead(error=str(gone))
        except ChatError as error:
            log.warning("post %s to %s failed: %s", post.id, self.name, error)
            return _later(post, str(error))

    async def _view(self, post: Post) -> View | None:
        """What *post* shows now; None where that is nothing."""
        story = await self.desk.store.ledger.story(_ref(post))
        if post.kind in (PostKind.NOTICE, PostKind.PROGRESS):
            text = post.body["text"] if "text" in post.body else self._reminder(story, post.body["park"])
            return None if text is None else Notice(task_code=story.task.code, text=text)
        roster = await self.desk.store.people.of(post.org)
        if post.kind is PostKind.REPORT:
            return report_of(story, roster, post.episode, post.body)
        if post.kind is PostKind.CARD:
            owner_call = None if post.body is None else post.body["call"]
            return card_of(self.desk, story, roster, Place(post.episode, post.round, owner_call), self.room)
        return None

    def _reminder(self, story: Story, park_id: ParkId) -> str | None:
        """That a park still waits; None where it does not any more."""
        for park, call in pairs_of(story):
            if park.id == park_id and park.open:
                return reminder(story.task, self.desk.agent(story.task.agent), park, call)
        return None


def report_of(story: Story, roster: Roster, episode: int, ending: Json = None) -> Report:
    """The closing report of one *episode* of a task; *ending*: how it ended, if the task has gone on."""
    calls = [c for c in story.calls if c.episode == episode]
    return build(story.task, calls, story.parks, roster, ending)


@dataclass(frozen=True, slots=True)
class Place:
    """What a card is about: a round of an episode, or one owner call by its number."""

    episode: int
    round: int | None
    owner_call: int | None = None


def card_of(desk: Desk, story: Story, roster: Roster, place: Place, room: int | None = None) -> Card | None:
    """The card of *place* on a surface with *room*; None while it has no park to show."""
    shown = [(p, c) for p, c in pairs_of(story) if _is_on(p, c, place)]
    return card(story, shown, roster, desk.host, room) if shown else None


def place(view: ParkView) -> tuple[object, ...]:
    """What is asked on one card: the calls of a round, one that is sent again by itself, a limit."""
    call = view.call
    if call is None or call.round is None:
        return (view.park.id,)
    return view.task.ref, call.episode, call.round


def card_with(
    host: BaseHost, story: Story, roster: Roster, tokens: Collection[Token], room: int | None = None
) -> Card:
    """The card of the parks of these *tokens*, wherever else they stand as well."""
    shown = [(p, c) for p, c in pairs_of(story) if p.token in tokens]
    return card(story, shown, roster, host, room)


def pairs_of(story: Story) -> Sequence[tuple[Park, Call | None]]:
    """Every park of a task with the call it is about."""
    calls = {c.id: c for c in story.calls}
    return [(p, calls.get(p.call_id) if p.call_id else None) for p in story.parks]


def _is_on(park: Park, call: Call | None, place: Place) -> bool:
    here = (place.episode, place.round)
    if call is None:  # about the task itself: a limit
        return (park.shown.get("episode"), park.shown.get("round")) == here
    if call.round is None:
        return call.number == place.owner_call
    return place.owner_call is None and (call.episode, call.round) == here


def _later(post: Post, error: str) -> Later | Dead:
    if post.attempts >= TRIES:
        return Dead(error=error)
    return Later(
        seconds=min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (post.attempts - 1)), error=error
    )


def _ref(post: Post) -> TaskRef:
    return TaskRef(org=post.org, task_id=post.task_id)
