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

from adapters.console import Terminal
from bot.redaction import settings_from
from bot.wiring import App, opened
from core.errors import ConfigError, ParkNotFound, TaskNotFound
from core.ids import CallCode, OrgId, call_code, task_number
from core.intake import find_task
from core.people import Account, Person
from core.proposals import storable
from core.tasks import Task

SURFACE = "console"
ORGANIZATION = OrgId("local")
LONGEST_WORDS = 20_000
"""Of a goal or a reason that are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """An open app, and who is at its terminal."""

    app: App
    who: Person
    user: str


def console() -> Console:
    """Standard output, nothing printed to which is taken for markup, numbers to colour or emoji."""
    return Console(highlight=False, markup=False, emoji=False)


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
    """The person called or linked as *as_*, else the one linked to *user*; the first of all founds.

    Raises ConfigError.
    """
    people = app.store.people
    found = await people.by_account(Account(surface=SURFACE, ref=as_ or user))
    if found is not None:
        return found
    organizations = await app.store.ledger.organizations()
    if as_ is None:
        if not organizations:
            account = Account(surface=SURFACE, ref=user)
            return await people.found(ORGANIZATION, ORGANIZATION, user, account)
        raise ConfigError(f"{user} is linked to nobody here; say who you are with --as NAME")
    named = [
        person
        for org in organizations
        for person in (await people.of(org)).people
        if person.name == as_ and not person.left
    ]
    if len(named) == 1:
        return named[0]
    raise ConfigError(f"{'more than one is' if named else 'nobody here is'} called {storable(as_, 80)}")


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
