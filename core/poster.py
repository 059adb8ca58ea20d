"""Sends the posts of one surface: what should exist there is rendered from its rows and handed over.

A post is rendered when it is sent, so that what appears is what is so now. A crash at any line leaves it
due again after a while: a card may then be there twice, and either one answers the same park (K18). What is
shown is rendering.py's business, how it looks and how a chat is reached the surface's.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias, assert_never

from core.cards import Card
from core.decisions import Desk
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone
from core.hooks import Hooks
from core.ports import Clock, Dead, Later, ParkView, Post, Sent, Story, Tried
from core.rendering import Digest, Notice, Progress, Rendering, View, open_on, place_of
from core.routes import CARDS_AN_HOUR, next_route, unreachable
from core.shown import Room
from core.work import PostKind

log = logging.getLogger(__name__)

FIRST_DELAY_SECONDS = 2.0
LONGEST_DELAY_SECONDS = 300.0
TRIES = 12
"""After about half an hour of a failing surface its place is dead; a new revision is due again."""

SENDING_SECONDS = 15.0
"""How long a process that is gone keeps others from sending what it was to send."""


class Surface(Protocol):
    """Shows views. Raises ChatBusy to wait, ChatGone or ChatForbidden for good, else ChatError."""

    async def post(self, view: View, route: str) -> str:
        """*view* is there, anew; what the surface calls it."""
        ...

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        """What *chat_ref* names shows *view* now; what it is called from here on.

        ChatGone also where that message is no more: it is posted anew then.
        """
        ...


@dataclass(frozen=True, slots=True)
class Lost:
    """It can't be shown where it should be."""

    error: str


Outcome: TypeAlias = Sent | Later | Lost


@dataclass(kw_only=True, slots=True)
class Poster:
    """Delivers the posts of *name* to *surface*.

    *leaving*: `deliver` takes nothing more once the one in hand is done. *holder*: the process, where all of
    them share the surface and one alone is to send; None: each shows what it takes. *most*: of cards that
    come to one place by themselves in an hour. *room*: how much of the arguments cards show there.
    """

    desk: Desk
    clock: Clock
    name: str
    surface: Surface
    holder: str | None = None
    most: int = CARDS_AN_HOUR
    room: Room | None = None
    leaving: bool = field(default=False, init=False)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _epoch: int | None = field(default=None, init=False)
    _asked_at: datetime | None = field(default=None, init=False)

    async def deliver(self, n: int = 20) -> int:
        """Up to *n* due posts are there or have their next time; how many there were.

        Taken one at a time: one that can't even be rendered is hidden from the next look, holds nobody
        up, and is dead after its tries (K40). None are taken while another process is the one who sends.
        """
        async with self._turn:
            for done in range(n):
                ours = not self.leaving and await self._leads()
                posts = await self.desk.store.outbox.take(1, self.name) if ours else []
                if not posts:
                    return done
                await self._deliver(posts[0])
        return n

    async def deliver_all(self, seconds: float | None = None) -> None:
        """Nothing is due any more that this process may send; or nothing more is begun after *seconds*."""
        async with self._turn:  # what is in hand is done
            self.leaving = False
        until = None if seconds is None else self.clock.now() + timedelta(seconds=seconds)
        while (until is None or self.clock.now() < until) and await self.deliver(1):
            pass

    async def leave(self) -> None:
        """Another process may send at once."""
        if self._epoch is not None:
            await self.desk.store.leases.drop(self._lease, self._epoch)
            self._epoch = None

    # ── who sends ────────────────────────────────────────────────────────────────────────────

    @property
    def _lease(self) -> str:
        return f"outbox:{self.name}"

    async def _leads(self) -> bool:
        """Whether this process sends. Asked and renewed three times in the lease's length.

        Who has lost it since the last look sends one more at most: a card may be there twice (K18).
        """
        if self.holder is None:
            return True
        now = self.clock.now()
        pause = timedelta(seconds=SENDING_SECONDS / 3)
        if self._asked_at is None or abs(now - self._asked_at) >= pause:
            self._epoch = await self.desk.store.leases.take(self._lease, self.holder, SENDING_SECONDS)
            self._asked_at = now
        return self._epoch is not None

    # ── one post ─────────────────────────────────────────────────────────────────────────────

    async def _deliver(self, post: Post) -> None:
        """*post* is there, or due again later, or elsewhere, or dead."""
        if post.attempts > TRIES:  # it broke each time: no other place mends it
            await self._given_up(post, "tried too often")
            return
        farewell = await self._rendering.farewell(post)
        if farewell is not None:
            await self._ended(post, farewell)
            return
        view = await self._rendering.view(post)
        if view is None or await self._is_recalled(post):
            await self._settle(post, Sent(chat_ref=post.chat_ref or ""))
        elif await self._is_folded(post):
            await self.desk.store.outbox.fold(post)
        else:
            await self._show(post, view)

    async def _show(self, post: Post, view: View) -> None:
        outcome = await self._send(post, view)
        match outcome:
            case Sent() | Later():
                await self._settle(post, outcome)
            case Lost(error=error):
                await (
                    self._elsewhere(post, view, error) if post.copy_of is None else self._over(post, error)
                )
            case never:
                assert_never(never)

    async def _send(self, post: Post, view: View) -> Outcome:
        try:
            return Sent(chat_ref=await self._handed(post, view))
        except ChatBusy as busy:
            return Later(
                seconds=busy.retry_after_seconds, error=self.desk.redactor.redact(str(busy)), counts=False
            )
        except (ChatForbidden, ChatGone) as gone:
            return Lost(self.desk.redactor.redact(str(gone)))
        except ChatError as error:
            log.warning("post %s to %s failed: %s", post.id, self.name, error)
            return _later(post, self.desk.redactor.redact(str(error)))

    async def _handed(self, post: Post, view: View) -> str:
        """What the message that shows *view* is called: a new one, where the old one is gone."""
        if post.chat_ref:
            try:
                return await self.surface.update(view, post.route, post.chat_ref)
            except ChatGone:
                if post.on_request or not _matters(view):
                    raise
        elif post.on_request:
            raise ChatGone("the message is gone")
        return await self.surface.post(view, post.route)

    async def _settle(self, post: Post, outcome: Sent | Later | Dead) -> None:
        await self.desk.store.outbox.settle(post.id, post.org, post.rev, outcome)

    # ── too many ─────────────────────────────────────────────────────────────────────────────

    async def _is_folded(self, post: Post) -> bool:
        """A card stands in a digest: as it did, or since its place has had its cards for this hour (I39)."""
        if post.kind is not PostKind.CARD or post.chat_ref or post.copy_of is not None:
            return False
        if post.shown_at is not None:
            return post.folded
        return await self.desk.store.outbox.cards_shown(post.org, post.place) >= self.most

    async def _is_recalled(self, post: Post) -> bool:
        """A reminder of what stands in a digest is given there."""
        if post.kind is not PostKind.NOTICE or "park" not in post.body or post.chat_ref:
            return False
        token = self._rendering.recalled(await self._rendering.story(post), post)
        return token is not None and await self.desk.store.outbox.recall(token)

    # ── dead places ──────────────────────────────────────────────────────────────────────────

    async def _given_up(self, post: Post, error: str) -> None:
        """*post* is dead where it is."""
        if post.copy_of is not None:
            await self._over(post, error)
            return
        await self.desk.store.outbox.reroute(post, None, error)
        await self._nowhere(post, error)

    async def _over(self, copy: Post, error: str) -> None:
        """Nothing more is done for *copy*: what it shows is shown where its card is."""
        gone: Sent | Dead = Sent(chat_ref=copy.chat_ref or "") if copy.on_request else Dead(error=error)
        await self._settle(copy, gone)

    async def _ended(self, copy: Post, farewell: Notice) -> None:
        """The message of *copy* says *farewell* if it can, and is no copy any more."""
        outcome = await self._send(copy, farewell) if copy.chat_ref else None
        await self._settle(copy, outcome if isinstance(outcome, Later) else Sent(chat_ref=""))

    async def _elsewhere(self, post: Post, view: View, error: str) -> None:
        """What matters is due at its next place; else, or where there is none, *post* is dead."""
        if isinstance(view, Digest):
            for card in await self.desk.store.outbox.folded(post):
                await self._moved_on(card, error)
        if isinstance(view, Digest) or not _matters(view):
            await self._settle(post, Dead(error=error))
        else:
            await self._moved_on(post, error)

    async def _moved_on(self, post: Post, error: str) -> None:
        """Told before it is written that nothing is left: a crash in between only tells it again."""
        story = await self._rendering.story(post)
        roster = await self.desk.store.people.of(post.org)
        tried = [*(t.route for t in post.tried), post.place]
        to = next_route(roster, story.task, tried, asks=_asks(post))
        if to is None:
            await self._nowhere(post, error, story)
        await self.desk.store.outbox.reroute(post, to, error)

    async def _nowhere(self, post: Post, error: str, story: Story | None = None) -> None:
        """The app is told of what waits on a card that no chat shows."""
        if post.kind is not PostKind.CARD:
            return
        story = story or await self._rendering.story(post)
        waiting = [ParkView(park=p, task=story.task, call=c) for p, c in open_on(story, place_of(post))]
        tried = [t for t in post.tried if t.route != post.place]  # it may have been tried here before
        reason = unreachable([*tried, Tried(route=post.place, error=error)])
        log.error("nobody is shown the card of %s: %s", story.task.code, reason)
        await self._hooks.unreachable(story.task, waiting, reason)

    @property
    def _rendering(self) -> Rendering:
        return Rendering(desk=self.desk, room=self.room)

    @property
    def _hooks(self) -> Hooks:
        return Hooks(host=self.desk.host, clock=self.clock, redactor=self.desk.redactor)


def _matters(view: View) -> bool:
    """Somebody has to see it, wherever that is: what waits, what was done. Not what goes by, or is over."""
    if isinstance(view, Card):
        return view.open
    return not isinstance(view, Progress)


def _asks(post: Post) -> bool:
    return post.kind is PostKind.CARD or (post.kind is PostKind.NOTICE and "park" in post.body)


def _later(post: Post, error: str) -> Later | Lost:
    if post.attempts >= TRIES:
        return Lost(error)
    return Later(
        seconds=min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (post.attempts - 1)), error=error
    )
