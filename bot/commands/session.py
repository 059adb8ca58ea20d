"""Who sits at the terminal, and what they type: a person of the database, codes, words, a console.

A terminal is trusted as far as its database is: whoever may open that may name any person in it by
``--as``. What they decide is recorded under that person, with the terminal's own user in the click's id.
"""

import getpass
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rich.console import Console

from adapters.console import Terminal, led
from bot.redaction import settings_from
from bot.wiring import App, opened
from core.chat import LONGEST_WORDS
from core.errors import ConfigError, ParkNotFound, TaskNotFound
from core.ids import CallCode, OrgId, call_code, task_number
from core.intake import find_task
from core.names import listed, same
from core.nearest import nearest
from core.people import Account, Person
from core.proposals import storable
from core.tasks import Task
from core.visible import visible

SURFACE = "console"
ORGANIZATION = OrgId("local")


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """An open app, and who is at its terminal."""

    app: App
    who: Person
    user: str


def console() -> Console:
    """Standard output, nothing printed to which is taken for markup, numbers to colour or emoji."""
    return Console(highlight=False, markup=False, emoji=False)


def say_of(name: str, rest: str) -> None:
    """A line on standard output about who or what is called *name*, which leads it."""
    console().print(led(name, "bold").append(visible(rest)), soft_wrap=True)


def terminal() -> Terminal:
    """The same for a process that goes on when nobody reads it any more."""
    return Terminal(highlight=False, markup=False, emoji=False)


@asynccontextmanager
async def session(as_: str | None) -> AsyncIterator[Session]:
    """The app of the environment's settings, open, and the person *as_* or the terminal's user is.

    Raises ConfigError where that is nobody.
    """
    user = terminal_user()
    async with opened(settings_from(os.environ)) as app:
        yield Session(app=app, who=await person_for(app, user, as_), user=user)


def terminal_user() -> str:
    """The name this terminal's user has on this machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without an entry
        return f"uid-{os.getuid()}"


async def person_for(app: App, user: str, as_: str | None) -> Person:
    """The person linked to or called *as_*, else the one linked to *user*; the first of all founds.

    In several organizations a person is NAME@ORGANIZATION. Raises ConfigError with the names there are.
    """
    people = app.store.people
    account = Account(surface=SURFACE, ref=as_ or user)
    linked = await people.everywhere(account)
    if len(linked) == 1:
        return linked[0]
    if as_ is None and not await app.store.ledger.organizations():
        return await people.found(ORGANIZATION, ORGANIZATION, user, account)
    everybody = await _everybody(app)
    asked = storable(as_ or user, 80)
    found = [one for one in everybody if one.person in linked]
    if not found and as_ is not None:
        found = [one for one in everybody if one.is_called(as_)]
    if len(found) == 1:
        return found[0].person
    if found:
        which = ", ".join(one.full for one in found)
        raise ConfigError(f"{asked} is more than one person here; say which with --as: {which}")
    several = len({one.person.org for one in everybody}) > 1
    names = [one.full if several else one.person.name for one in everybody]
    if as_ is None:
        there = f": {', '.join(names[:20])}" if names else ""
        raise ConfigError(f"{asked} is linked to nobody here; say who you are with --as NAME{there}")
    raise ConfigError(f"nobody here is called {asked}{nearest(as_, names)}{listed(names)}")


@dataclass(frozen=True, slots=True)
class _One:
    """Somebody who is there, and the name of their organization."""

    person: Person
    organization: str

    @property
    def full(self) -> str:
        return f"{self.person.name}@{self.organization}"

    def is_called(self, text: str) -> bool:
        """By their name, or by that and their organization's."""
        name, at, where = text.rpartition("@")
        here = bool(at) and (same(where, self.organization) or where == self.person.org)
        return same(text, self.person.name) or (here and same(name, self.person.name))


async def _everybody(app: App) -> list[_One]:
    """Who is there, in each organization."""
    rosters = [await app.store.people.of(org) for org in await app.store.ledger.organizations()]
    return [_One(p, roster.organization.name) for roster in rosters for p in roster.people if not p.left]


# ── what people type ─────────────────────────────────────────────────────────────────────────


def call_named(text: str) -> CallCode:
    """The call that *text* names. Raises ParkNotFound for what is no code."""
    code = call_code(text.strip().lower())
    if code is None:
        raise ParkNotFound(f"{storable(text, 40)!r} is no call's code; those are like t-12.3")
    return code


async def task_named(session: Session, text: str) -> Task:
    """The task that *text* names. Raises TaskNotFound."""
    number = task_number(text.strip().lower())
    if number is None:
        raise TaskNotFound(f"{storable(text, 40)!r} is no task's code; those are like t-12")
    task = await find_task(session.app.store.ledger, session.who.org, number)
    if task is None:
        raise TaskNotFound(f"there is no task t-{number}")
    return task


def words(text: str) -> str:
    """*text* as rows take it, whatever bytes the terminal sent."""
    return storable(text.strip(), LONGEST_WORDS)
