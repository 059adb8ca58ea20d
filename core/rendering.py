"""What a post shows now: its view, made from the rows it is about. How it looks is its surface's business."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from core.calls import Call
from core.cards import Card, Row, card, reminder
from core.decisions import Desk
from core.ids import ParkId, TaskRef, Token
from core.parks import Park
from core.people import Roster
from core.ports import ParkView, Post, Story
from core.progress import goes
from core.report import Report, build
from core.routes import is_nobodys, moved
from core.shown import Room
from core.tasks import Json
from core.visible import visible
from core.work import PostKind

NOT_YOURS = "This is no longer yours."
SHOWN_AGAIN_BELOW = "It is shown again below."

LINES = 30
"""Of a digest, at the most: what it can't name is counted (I39)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """A line of ours to a task's thread. *moved*: why it is not in its place."""

    task_code: str
    text: str
    moved: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How a task goes; *over*: its episode has ended, so that a surface may take it away."""

    task_code: str
    text: str
    over: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestLine:
    """One park of a card that is no message of its own. *status*: what became of it; None while it waits."""

    code: str
    title: str
    risk: str
    since: datetime
    status: str | None

    @property
    def how(self) -> str:
        """What is said to see it whole, and to decide on it."""
        return f"show {self.code}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Digest:
    """The cards that were too many for their hour: what waits, then what has been decided (I39).

    *more*: how many lines there would be beyond these.
    """

    lines: tuple[DigestLine, ...]
    more: int
    moved: str | None = None

    @property
    def waiting(self) -> tuple[DigestLine, ...]:
        return tuple(line for line in self.lines if line.status is None)


View: TypeAlias = Card | Report | Notice | Progress | Digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendering:
    """Makes the views of posts, by the rows of *desk*. *room*: how much of the arguments a card shows."""

    desk: Desk
    room: Room | None = None

    async def view(self, post: Post) -> View | None:
        """What *post* shows now, no secret in it (I33); None where that is nothing."""
        return self.desk.redactor.clean(await self._view(post))

    async def farewell(self, copy: Post) -> Notice | None:
        """What the message *copy*, sent on request, says from here on, no more of its card; None: that.

        A direct message is somebody's as long as they are of the organization.
        """
        if not copy.on_request:
            return None
        text = SHOWN_AGAIN_BELOW if copy.shown_again else NOT_YOURS
        if not copy.shown_again and not is_nobodys(await self.desk.store.people.of(copy.org), copy.place):
            return None
        return Notice(task_code=(await self.story(copy)).task.code, text=text)

    async def _view(self, post: Post) -> View | None:
        if post.kind is PostKind.DIGEST:
            return await self._digest(post)
        story = await self.story(post)
        if post.kind is PostKind.PROGRESS:
            return self._progress(story, post)
        why = moved(post.tried)
        if post.kind is PostKind.NOTICE:
            text = self._said(story, post.body)
            return None if text is None else Notice(task_code=story.task.code, text=text, moved=why)
        roster = await self.desk.store.people.of(post.org)
        if post.kind is PostKind.REPORT:
            return replace(report_of(story, roster, post.episode, post.body), moved=why)
        if post.kind is not PostKind.CARD:
            return None
        found = card_of(self.desk, story, roster, place_of(post), self.room)
        return None if found is None else replace(found, moved=why)

    async def story(self, post: Post) -> Story:
        """Everything that the task of *post* did; for a post that is a task's."""
        assert post.task_id is not None
        return await self.desk.store.ledger.story(TaskRef(org=post.org, task_id=post.task_id))

    def recalled(self, story: Story, post: Post) -> Token | None:
        """The button of the park that the reminder *post* is about; None for another post."""
        park = post.body.get("park") if post.kind is PostKind.NOTICE else None
        return next((p.token for p in story.parks if p.id == park), None)

    def _progress(self, story: Story, post: Post) -> Progress | None:
        """One that is over before it was shown is not shown at all."""
        task = story.task
        over = task.ended or task.episode != post.episode
        if over and not post.chat_ref:
            return None
        text = goes(story, post.episode, self.desk.agent(task.agent).name)
        return Progress(task_code=task.code, text=text, over=over)

    def _said(self, story: Story, body: Json) -> str | None:
        """The words of a notice; None where what they are about waits no more."""
        if "text" not in body:
            return self._reminder(story, body["park"])
        about = body.get("while")
        still = about is None or any(park.open for park in story.parks if park.id in about)
        return visible(body["text"], lines=True) if still else None

    def _reminder(self, story: Story, park_id: ParkId) -> str | None:
        """That a park still waits; None where it does not any more."""
        for park, call in self.desk.redactor.clean(pairs_of(story)):  # before its title is cut (I33)
            if park.id == park_id and park.open:
                return reminder(story.task, self.desk.agent(story.task.agent), park, call)
        return None

    async def _digest(self, post: Post) -> Digest | None:
        """One of which nothing is left any more is not shown, if it was not."""
        folded = await self.desk.store.outbox.folded(post)
        found = [line for one in folded for line in await self._lines(one)]
        if not found and not post.chat_ref:
            return None
        lines = sorted(found, key=lambda line: (line.status is not None, line.since))
        return Digest(lines=tuple(lines[:LINES]), more=len(lines[LINES:]))

    async def _lines(self, folded: Post) -> list[DigestLine]:
        story = await self.story(folded)
        roster = await self.desk.store.people.of(folded.org)
        found = card_of(self.desk, story, roster, place_of(folded), self.room)
        since = {park.token: park.created_at for park in story.parks}
        return [] if found is None else [_line(row, since[Token(row.token)]) for row in found.rows]


def _line(row: Row, since: datetime) -> DigestLine:
    return DigestLine(code=row.code, title=row.title, risk=row.risk, since=since, status=row.status)


def report_of(story: Story, roster: Roster, episode: int, ending: Json = None) -> Report:
    """The closing report of one *episode* of a task; *ending*: how it ended, if the task has gone on."""
    calls = [c for c in story.calls if c.episode == episode]
    return build(story.task, calls, story.parks, roster, ending)


@dataclass(frozen=True, slots=True)
class Place:
    """What a card is about: a round of an episode, or one owner call by its number.

    *alone*: the number of the one call of these that it shows; None: it shows all.
    """

    episode: int
    round: int | None
    owner_call: int | None = None
    alone: int | None = None


def place_of(post: Post) -> Place:
    """What the card *post* is about."""
    number = None if post.body is None else post.body["call"]
    if post.copy_of is not None:
        return Place(post.episode, post.round, alone=number)
    return Place(post.episode, post.round, number)


def card_of(desk: Desk, story: Story, roster: Roster, place: Place, room: Room | None = None) -> Card | None:
    """The card of *place* on a surface with *room*; None while it has no park to show."""
    shown = [(p, c) for p, c in pairs_of(story) if _is_on(p, c, place)]
    return card(story, shown, roster, desk.host, room, desk.redactor) if shown else None


def place(view: ParkView) -> tuple[object, ...]:
    """What is asked on one card: the calls of a round, one that is sent again by itself, a limit."""
    call = view.call
    if call is None or call.round is None:
        return (view.park.id,)
    return view.task.ref, call.episode, call.round


async def card_with(desk: Desk, task: TaskRef, tokens: Collection[Token], room: Room | None = None) -> Card:
    """The card, as the rows are now, of the parks of *task* with these *tokens*, wherever else they stand."""
    story, roster = await desk.store.ledger.story(task), await desk.store.people.of(task.org)
    shown = [(p, c) for p, c in pairs_of(story) if p.token in tokens]
    return card(story, shown, roster, desk.host, room, desk.redactor)


def open_on(story: Story, place: Place) -> list[tuple[Park, Call | None]]:
    """The parks that wait on the card of *place*, with their calls."""
    return [(p, c) for p, c in pairs_of(story) if p.open and _is_on(p, c, place)]


def pairs_of(story: Story) -> Sequence[tuple[Park, Call | None]]:
    """Every park of a task with the call it is about."""
    calls = {c.id: c for c in story.calls}
    return [(p, calls.get(p.call_id) if p.call_id else None) for p in story.parks]


def _is_on(park: Park, call: Call | None, place: Place) -> bool:
    if place.alone is not None:
        return call is not None and call.number == place.alone
    here = (place.episode, place.round)
    if call is None:  # about the task itself: a limit
        return (park.shown.get("episode"), park.shown.get("round")) == here
    if call.round is None:
        return call.number == place.owner_call
    return place.owner_call is None and (call.episode, call.round) == here
