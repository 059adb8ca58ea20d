"""Who is who: organizations, people with accounts on surfaces, and who may decide what."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from core.ids import OrgId, PersonId


class OrgState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"  # nothing new starts


class Role(StrEnum):
    OWNER = "owner"  # decides everything, and who else may
    APPROVER = "approver"  # decides what waits
    MEMBER = "member"  # may ask for work


class SwitchMode(StrEnum):
    NORMAL = "normal"
    OBSERVE = "observe"  # practice


ANY: Final = "any"
"""What a rule is about that holds for every call without a narrower one."""

SEND_WINDOW: Final = timedelta(hours=24)
"""How long what one task sent makes another ask before it sends the same (C16, states.md §5)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """A place in a chat where posts go: a channel, a thread of one, somebody's direct messages."""

    surface: str
    ref: str  # the surface's own name of the place


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalRule:
    """Who may approve calls of *what*: a tool's name, a risk, or ``any``; the narrowest that says it holds.

    *who*: ids of persons, and roles; None: this rule does not say. *self_approval*: whether the one who
    asked for the task may approve it, too; None: this rule does not say.
    """

    what: str
    who: tuple[str, ...] | None = None
    self_approval: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Organization:
    id: OrgId
    name: str
    time_zone: str = "UTC"
    state: OrgState = OrgState.ACTIVE
    max_running: int | None = None  # of its tasks, at once; None: as the queue is set
    send_window: timedelta = SEND_WINDOW
    rules: tuple[ApprovalRule, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """Somebody on a surface, as the surface itself verified: a user of a chat, a terminal's user."""

    surface: str
    ref: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Person:
    org: OrgId
    id: PersonId
    name: str
    roles: frozenset[Role]
    left: bool = False

    @property
    def may_decide(self) -> bool:
        """They decide at all; what in particular, approvers.py says."""
        return not self.left and bool(self.roles & {Role.OWNER, Role.APPROVER})


@dataclass(frozen=True, kw_only=True, slots=True)
class Roster:
    """An organization and its people, those who left included (their names stand in old decisions).

    *accounts*: who is linked to what. *routes*: where the cards of an agent go, by its key (after the first
    one of a key, copies of them); of the key ``""``, those of every agent without one of its own; else to the
    thread of their task.
    """

    organization: Organization
    people: tuple[Person, ...]
    accounts: tuple[tuple[PersonId, Account], ...] = ()
    routes: tuple[tuple[str, Route], ...] = ()

    def places(self, key: str) -> tuple[Route, ...]:
        """Where cards of the agent *key* go, and then copies of them; none: it has no place of its own."""
        return tuple(route for agent, route in self.routes if agent == key)

    def person(self, person_id: PersonId) -> Person | None:
        return next((p for p in self.people if p.id == person_id), None)

    def name(self, person_id: PersonId | None) -> str:
        found = None if person_id is None else self.person(person_id)
        return "somebody" if found is None else found.name


@dataclass(frozen=True, kw_only=True, slots=True)
class Switch:
    """What an owner changed in chat about one agent; the deployed folder stays the default."""

    agent: str
    paused: bool = False
    mode: SwitchMode = SwitchMode.NORMAL
    settings: tuple[tuple[str, str], ...] = ()  # (risk or tool, setting)
