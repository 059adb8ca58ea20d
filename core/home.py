"""What somebody finds when they look in: what waits for them, what goes on, what was done today."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

from core.answers import code_of
from core.approvers import may_decide
from core.cards import Card
from core.decisions import Desk
from core.hooks import Hooks
from core.intake import may_stop
from core.parks import ParkKind
from core.people import Person
from core.ports import Clock, Query
from core.rendering import card_with
from core.shown import Room
from core.tasks import Task
from core.visible import line, visible

MOST_CARDS: Final = 10
MOST_LINES: Final = 10
LOOKED_AT: Final = 200
"""Parks, and tasks, that are looked through at the most."""
LONGEST_GOAL: Final = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLine:
    """A task in a list. *stoppable*: the one who looks may stop it."""

    code: str
    agent: str
    goal: str
    state: str
    at: datetime
    stoppable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Home:
    """*waiting*: a card for each park that is theirs to decide, oldest first; *more*: the codes of the rest.

    *going_on* and *done*: newest first; *done*: what ended since midnight in the organization's time zone.
    """

    name: str
    waiting: tuple[Card, ...]
    more: tuple[str, ...]
    going_on: tuple[TaskLine, ...]
    done: tuple[TaskLine, ...]


_OTHERS: Final = frozenset({ParkKind.MESSAGE, ParkKind.REPLY, ParkKind.CHILD})
"""What waits for something else than somebody's click or answer."""


async def home(desk: Desk, clock: Clock, who: Person, room: Room | None) -> Home:
    """What *who* finds, no secret in it (I33). *room*: of the surface, for a card's arguments."""
    roster = await desk.store.people.of(who.org)
    mine = [
        view
        for view in await desk.store.parks.waiting_for(who, LOOKED_AT)
        if view.park.kind not in _OTHERS and may_decide(roster, who.id, view.task, view.park, view.call)
    ]
    cards = [await card_with(desk, v.task.ref, {v.park.token}, room) for v in mine[:MOST_CARDS]]
    found = desk.redactor.clean(await desk.store.ledger.find(who.org, Query(limit=LOOKED_AT)))
    zone = await Hooks(host=desk.host, clock=clock, redactor=desk.redactor).time_zone(roster.organization)
    ended = [task for task in found if task.ended and _is_on(task.ended_at, clock.now(), zone)]
    ended.sort(key=lambda task: (str(task.ended_at), task.number), reverse=True)
    return Home(
        name=visible(roster.organization.name),
        waiting=desk.redactor.clean(tuple(cards)),
        more=tuple(code_of(view) for view in mine[MOST_CARDS:]),
        going_on=_lines(desk, who, [task for task in found if not task.ended]),
        done=_lines(desk, who, ended),
    )


def _is_on(at: datetime | None, now: datetime, zone: tzinfo) -> bool:
    """Whether *at* is on the day that it is in *zone*."""
    return at is not None and at.astimezone(zone).date() == now.astimezone(zone).date()


def _lines(desk: Desk, who: Person, tasks: Sequence[Task]) -> tuple[TaskLine, ...]:
    return tuple(
        TaskLine(
            code=task.code,
            agent=visible(desk.agent(task.agent).name),
            goal=line(task.goal if isinstance(task.goal, str) else "(a value)", LONGEST_GOAL),
            state=str(task.state),
            at=task.ended_at or task.created_at,
            stoppable=not task.ended and may_stop(who, task),
        )
        for task in tasks[:MOST_LINES]
    )
