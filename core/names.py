"""What people and organizations are called: which names may be, and who is meant by one."""

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from core.errors import RosterError
from core.lookalikes import mixed
from core.nearest import nearest
from core.people import Person, Role, Roster
from core.visible import visible

LONGEST_NAME: Final = 80

_TAKEN: Final = frozenset({*Role, "owners", "approvers", "members", "default", "nobody"})
"""Words that commands take for something else than a person."""


def check_name(name: str, others: Iterable[str], what: str = "person") -> None:
    """*name* can be a *what*'s beside *others*. Raises RosterError."""
    shown = visible(name[:LONGEST_NAME])
    if not name.strip() or name != name.strip():
        raise RosterError(f"{_a(what)}'s name has at least one character, and no space around it")
    if len(name) > LONGEST_NAME:
        raise RosterError(f"the name {shown}… is longer than {LONGEST_NAME} characters; take a shorter one")
    if visible(name) != name:
        raise RosterError(f"the name {shown} has hidden characters; type it anew")
    if alike := mixed(name):
        raise RosterError(f"{alike[0]}, which look alike; type the name anew in one alphabet")
    if wrong := {"@", ","} & set(name):
        raise RosterError(f"the name {shown} has {' and '.join(sorted(wrong))} in it; take one without")
    if _folded(name) in _TAKEN:
        raise RosterError(f"{shown} is a word of the commands; take another name")
    if _folded(name) in {_folded(other) for other in others}:
        raise RosterError(f"there is {_a(what)} called {shown} already; add a second name")


def _a(what: str) -> str:
    return f"an {what}" if what[0] in "aeiou" else f"a {what}"


def same(one: str, other: str) -> bool:
    """Whether people would take the two names for one."""
    return _folded(one) == _folded(other)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def named(roster: Roster, name: str) -> Person:
    """Who is there under *name*. Raises RosterError with the nearest."""
    there = [person for person in roster.people if not person.left]
    found = [person for person in there if same(person.name, name)]
    if len(found) == 1:
        return found[0]
    names = [person.name for person in there]
    asked = visible(name[:LONGEST_NAME])
    raise RosterError(f"nobody here is called {asked}{nearest(name, names)}{listed(names)}")


def listed(names: Iterable[str], most: int = 20) -> str:
    """``; there are Ada and Ben``, the first *most* of them."""
    every = list(names)
    shown, more = every[:most], len(every) - most
    if not shown:
        return ""
    words = [*shown, f"{more} more"] if more > 0 else shown
    return f"; there {'is' if len(words) == 1 else 'are'} {spoken(words)}"


def spoken(words: Sequence[str], last: str = "and") -> str:
    """``Ada, Ben and Cleo``; empty of none."""
    *before, end = words or [""]
    return f"{', '.join(before)} {last} {end}" if before else end
