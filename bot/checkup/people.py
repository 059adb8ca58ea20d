"""Who is in the organizations, and who of them is in the chats that are set up."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote

from bot.commands.session import SURFACE, person_for, terminal_user
from bot.wiring import App
from core.checkup import Finding, Routed, sentence, unchecked, well, wrong
from core.errors import ConfigError, StoreError
from core.names import spoken
from core.people import Person, Role, Roster
from core.visible import visible

NOBODY = unchecked("people", "there is nobody yet", "python -m bot tasks makes whoever runs it the owner")


@dataclass(frozen=True, kw_only=True, slots=True)
class Chat:
    """A chat that is set up, as people are in it. *title*: its name; *place*: where an account counts.

    *user*: who is behind an account there, None where it does not count. *odd*: what is wrong with its name,
    nothing for "". *linking*: how somebody of that name gets one.
    """

    surface: str
    title: str
    place: str
    user: Callable[[str], str | None]
    odd: Callable[[str], str]
    linking: Callable[[str], str]

    def users(self, roster: Roster, person: Person) -> list[str]:
        """Who *person* is there."""
        refs = [a.ref for p, a in roster.accounts if (p, a.surface) == (person.id, self.surface)]
        return [user for ref in refs if (user := self.user(ref)) is not None]


async def people(app: App, chats: Sequence[Chat]) -> Finding:
    """Whether each organization has an owner in each of *chats*, and somebody sends its cards."""
    try:
        rosters = [await app.store.people.of(org) for org in await app.store.ledger.organizations()]
    except StoreError as error:
        return wrong("people", sentence(error), "see that the database runs")
    if not rosters:
        return NOBODY
    problems: list[tuple[str, str]] = []
    for roster in rosters:
        where = f" of {visible(roster.organization.name)}" if len(rosters) > 1 else ""
        problems += _of_owners(roster, where, chats)
        problems += _of_accounts(roster, where, chats)
        problems += _of_routes(roster, where, {SURFACE, *(chat.surface for chat in chats)})
    if problems:
        return wrong("people", "; ".join(said for said, _ in problems), "; ".join(m for _, m in problems))
    return well("people", _there(rosters, chats))


def _there(rosters: Sequence[Roster], chats: Sequence[Chat]) -> str:
    """Which owners are in which of *chats*."""
    if not chats:
        return _said([p for roster in rosters for p in _owners(roster)])
    titles: dict[str, list[str]] = {}
    for chat in chats:
        here = [p for roster in rosters for p in _owners(roster) if chat.users(roster, p)]
        titles.setdefault(_said(here), []).append(chat.title)
    return "; ".join(f"{said} in {spoken(in_chats)}" for said, in_chats in titles.items())


def _said(owners: Sequence[Person]) -> str:
    names = spoken([visible(p.name) for p in owners])
    return f"{names} {'is an owner' if len(owners) == 1 else 'are owners'}"


def _owners(roster: Roster) -> list[Person]:
    return [p for p in roster.people if Role.OWNER in p.roles and not p.left]


def _of_owners(roster: Roster, where: str, chats: Sequence[Chat]) -> Iterator[tuple[str, str]]:
    owners = _owners(roster)
    name = owners[0].name if owners else "NAME"
    for chat in chats:
        if not any(chat.users(roster, p) for p in owners):
            yield f"no owner{where} has an account {chat.place}", chat.linking(name)


def _of_accounts(roster: Roster, where: str, chats: Sequence[Chat]) -> Iterator[tuple[str, str]]:
    """Accounts that can be nobody's, of people who have no other there."""
    people = {person.id: person for person in roster.people if not person.left}
    for chat in chats:
        for of, account in roster.accounts:
            person, odd = people.get(of), chat.odd(account.ref) if account.surface == chat.surface else ""
            if person is not None and odd and not chat.users(roster, person):
                name = f"{account.surface}:{visible(account.ref)}"
                yield f"{visible(person.name)}'s account {name}{where} {odd}", chat.linking(person.name)


def _of_routes(roster: Roster, where: str, sent: Collection[str]) -> Iterator[tuple[str, str]]:
    """Cards that nobody sends where they go. *sent*: surfaces for which somebody does."""
    for agent, route in roster.routes:
        if route.surface not in sent:
            yield (
                f"the cards of {_whose(agent)}{where} go to {visible(route.surface)}, for which nobody sends",
                f"set that up, or send them to their threads: {elsewhere(agent)} thread",
            )


def _whose(agent: str) -> str:
    return visible(agent) if agent else "all agents"


def elsewhere(agent: str) -> str:
    """The command that sends the cards of *agent* ("": of all), but for where to."""
    return f"python -m bot org route{f' {quote(agent)}' if agent else ''}"


async def routed(app: App, surface: str) -> list[Routed]:
    """All that go to *surface*, of every organization. Raises StoreError."""
    rosters = [await app.store.people.of(org) for org in await app.store.ledger.organizations()]
    return [
        Routed(
            whose=_whose(agent) + (f" of {visible(roster.organization.name)}" if len(rosters) > 1 else ""),
            ref=route.ref,
            elsewhere=elsewhere(agent),
        )
        for roster in rosters
        for agent, route in roster.routes
        if route.surface == surface
    ]


async def user_in(chat: Chat, app: App, as_: str | None, name: str) -> str | Finding:
    """Who whoever is at this terminal is there; or, as the finding *name*, why there is none to write to."""
    try:
        if not await app.store.ledger.organizations():  # else whoever asks first would own the place
            return unchecked(name, NOBODY.said, NOBODY.mend)
        who = await person_for(app, terminal_user(), as_)
        users = chat.users(await app.store.people.of(who.org), who)
    except ConfigError as error:
        said, _, mend = str(error).partition("; ")
        return (unchecked if as_ is None else wrong)(name, said, mend or "say who you are with --as NAME")
    except StoreError as error:
        return unchecked(name, sentence(error))
    if users:
        return users[0]
    return unchecked(name, f"{visible(who.name)} has no account {chat.place}", chat.linking(who.name))
