"""Where the posts of a task go, and where they go next if a place in a chat is dead. Pure.

A card goes where its agent's or its organization's cards go, with copies where these go; else to the thread
of its task, or to an owner where somebody asked who may not decide. Each dead place falls to the next one,
down to somebody's direct messages, and what is shown there says where it was meant to be; a copy falls
nowhere. How a surface finds the place that a Route names is the surface's business.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from core.people import Account, Person, Role, Roster, Route
from core.ports import Post, Tried
from core.tasks import Origin, Task
from core.visible import visible

CARDS_AN_HOUR: Final = 12
"""Of those that come to one place by themselves; the rest is told of in a digest (I39, states.md §5)."""

HOUR: Final = timedelta(hours=1)

DIGEST_SECONDS: Final = 2.0
"""How long a digest waits for more to tell of."""

_MESSAGE: Final = re.compile(r"(?P<chat>.+)[:/][^:/]+", re.DOTALL)
"""A message's name begins with the name of its chat."""

UNREACHED: Final = frozenset({"console"})
"""Surfaces that reach nobody: what is printed there is seen by whoever sits before it."""


def direct(account: Account) -> Route:
    """The direct messages of *account*."""
    return Route(surface=account.surface, ref=f"@{account.ref}")


def is_nobodys(roster: Roster, route: Route) -> bool:
    """It is the direct messages of an account that nobody of the organization has, or has any more."""
    here = {person.id for person in roster.people if not person.left}
    theirs = (direct(account) for holder, account in roster.accounts if holder in here)
    return route.ref.startswith("@") and route not in theirs


def thread(task: Task) -> Route | None:
    """Where *task* speaks; None: nowhere."""
    return None if task.surface is None else Route(surface=task.surface, ref=task.thread_ref or "")


def is_for_others(task: Task) -> bool:
    """Whether what waits in *task* is not for whoever asked for it: its cards go where others are."""
    return task.origin is Origin.MEMBER


def first_route(roster: Roster, task: Task, *, asks: bool) -> Route | None:
    """Where a post of *task* is due first; what *asks* for a decision, where cards go. None: nowhere."""
    if not asks:
        return thread(task)
    return next_route(roster, task, ())


def copy_routes(roster: Roster, task: Task, first: Route) -> tuple[Route, ...]:
    """Where copies are due of a card of *task* that is due at *first*; these fall to no other place."""
    places = roster.places(task.agent) or roster.places("")
    return tuple(dict.fromkeys(route for route in places[1:] if route != first))


def heard_of(cards: Sequence[Post], chat_ref: str) -> Post | None:
    """Which of *cards*, of one park on one surface, the message *chat_ref* is, which nobody knew yet.

    None where each is known to be another message, or it stands in another chat than theirs: it may be one
    that somebody asked for. A name that says no chat is the only card there is.
    """
    chat, unknown = _chat_of(chat_ref), [c for c in cards if c.chat_ref is None and not c.on_request]
    if chat is not None:
        unknown = [card for card in unknown if _is_in(card.route, chat)]
    elif len(cards) > 1:
        return None
    return unknown[0] if len(unknown) == 1 else None


def _chat_of(message: str) -> str | None:
    """What *message* is in, by its name, of which that is the beginning; None where it does not say."""
    found = _MESSAGE.fullmatch(message)
    return None if found is None else found["chat"]


def _is_in(route: str, chat: str) -> bool:
    """*route* is *chat*, or in it; or the direct messages of somebody, whose chat may have a name of its own.

    That one begins as theirs does, with what both are in.
    """
    if route.startswith("@"):
        theirs = route.removeprefix("@")
        around = _chat_of(theirs)
        return theirs == chat or (around is not None and around == _chat_of(chat))
    return route == chat or route.startswith((f"{chat}:", f"{chat}/"))


def next_route(roster: Roster, task: Task, tried: Collection[Route], *, asks: bool = True) -> Route | None:
    """Where a post of *task* is due after all of *tried* were in vain, which is none of them. None: nowhere.

    What *asks* goes only to those who may decide; a report also to whoever asked for the task.
    """
    places = _of_cards(roster, task, tried) if asks else _of_reports(roster, task)
    return next((route for route in places if route not in tried), None)


def hour_of(at: datetime) -> datetime:
    """The hour in whose digest stands what was folded *at*."""
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def digest_key(route: Route, hour: str) -> str:
    """A digest is per (route, hour); its organization is in the key of its row."""
    return f"digest:{route.surface}:{route.ref}:{hour}"


def moved(tried: Sequence[Tried]) -> str | None:
    """Why a post is where it is, by where it should have been; None where it is in its place."""
    return f"Shown here since it could not be shown in {_places(tried)}." if tried else None


def unreachable(tried: Sequence[Tried]) -> str:
    """Why nobody is shown what should have been in all of these."""
    return f"it could not be shown in {_places(tried)}"


def _places(tried: Sequence[Tried]) -> str:
    return "; ".join(f"{visible(t.route.ref)} on {t.route.surface} ({visible(t.error)})" for t in tried)


def _of_cards(roster: Roster, task: Task, tried: Collection[Route]) -> Iterator[Route]:
    for key in (task.agent, ""):
        yield from roster.places(key)[:1]
    home = thread(task)
    asked = None if task.requester is None else roster.person(task.requester)
    owners = [p for p in roster.people if Role.OWNER in p.roles and not p.left]
    own = asked is not None and asked.may_decide
    near = [route.surface for route in (home, *tried) if route is not None]
    if is_for_others(task) and not own:  # its thread may be one where nobody is who could answer
        yield from _direct(roster, owners, first=near)
    if home is not None:
        yield home
    yield from _direct(roster, [asked, *owners] if asked is not None and own else owners, first=near)


def _of_reports(roster: Roster, task: Task) -> Iterator[Route]:
    home = thread(task)
    if home is None:
        return
    yield home
    asked = None if task.requester is None else roster.person(task.requester)
    if asked is not None and not asked.left:
        yield from _direct(roster, [asked], first=[home.surface])


def _direct(roster: Roster, people: Sequence[Person], first: Sequence[str]) -> Iterator[Route]:
    """The direct messages of *people*: on the surfaces named *first*, then on every other one."""
    surfaces = dict.fromkeys((*first, *(account.surface for _, account in roster.accounts)))
    for surface in surfaces:
        for person in people:
            for owner, account in roster.accounts:
                if (owner, account.surface) == (person.id, surface) and surface not in UNREACHED:
                    yield direct(account)
