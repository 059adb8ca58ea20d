"""people list, add, invite, link, role, remove, join: who is in the organization, and by which accounts."""

import os
from collections.abc import Sequence
from shlex import quote

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from bot.commands.session import SURFACE, console, say_of, session, terminal_user
from bot.redaction import settings_from
from bot.wiring import opened
from core.codes import CODE_SECONDS, code_digest, new_code
from core.errors import ChatError, RosterError
from core.names import named, same
from core.people import Account, Person, Role, Roster
from core.ports import BadCode
from core.roster import Add, Invite, Issue, Link, Remove, RosterChange, SetRoles, place_named
from core.visible import visible


async def list_people(as_: str | None) -> None:
    """Everybody, those who left last."""
    async with session(as_) as here:
        roster = await here.app.store.people.of(here.who.org)
    console().print(_table(roster))


def _table(roster: Roster) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Name", "Roles", "Accounts", "State"):
        table.add_column(heading, overflow="fold")
    for person in sorted(roster.people, key=lambda p: (p.left, p.name.casefold())):
        accounts = _accounts(roster, person)
        table.add_row(
            text(person.name, "dim" if person.left else "bold"),
            Text(roles_words(person.roles)),
            text(", ".join(accounts)),
            _state(person, accounts),
        )
    return table


def _state(person: Person, accounts: Sequence[str]) -> Text:
    if person.left:
        return Text("left", style="dim")
    return Text("here") if accounts else Text("has not joined", style="yellow")


def _accounts(roster: Roster, person: Person) -> list[str]:
    return [f"{a.surface}:{a.ref}" for holder, a in roster.accounts if holder == person.id]


def roles_words(roles: frozenset[Role]) -> str:
    """``owner, approver``, the mightiest first."""
    return ", ".join(role for role in Role if role in roles)


# ── changes ──────────────────────────────────────────────────────────────────────────────────


async def add(name: str, roles: Sequence[Role], accounts: Sequence[str], as_: str | None) -> None:
    """Somebody is there whose accounts are known."""
    links = tuple(_account(spelt) for spelt in accounts)
    roster = await _save(Add(name=name, roles=frozenset(roles), accounts=links), as_)
    person = named(roster, name)
    joins = (
        ", ".join(_accounts(roster, person)) or f"no account yet: python -m bot people invite {quote(name)}"
    )
    say_of(person.name, f" is there: {roles_words(person.roles)}; {joins}")


async def invite(name: str, roles: Sequence[Role], as_: str | None) -> None:
    """Somebody is there who joins by a code, which is shown; who was there already has another one."""
    async with session(as_) as here:
        people, org = here.app.store.people, here.who.org
        there = [p for p in (await people.of(org)).people if not p.left and same(p.name, name)]
        if there and roles:
            raise RosterError(f"{there[0].name} is here already; their roles: python -m bot people role")
        code = new_code(here.app.desk.ids.nonce())
        digest = code_digest(code)
        change: RosterChange
        if there:
            change = Issue(there[0].id, digest, CODE_SECONDS)
        else:
            new = frozenset(roles or [Role.MEMBER])
            change = Invite(name=name, roles=new, code_digest=digest, seconds=CODE_SECONDS)
        roster = await people.save(here.who, org, change, surface=SURFACE)
    person = named(roster, name)
    say_of(person.name, f" is invited: {roles_words(person.roles)}.")
    await show_code(person.name, code)


async def show_code(name: str, code: str) -> None:
    """The one-time code, and where to say it."""
    screen = console()
    hours = f"{CODE_SECONDS / 3600:g}"
    screen.print(
        f"A code for {visible(name)}, good once within {hours} hours, shown only here:\n", soft_wrap=True
    )
    screen.print(Text(f"    {code}\n", style="bold"))
    screen.print(f"In their terminal:      python -m bot people join {code}", soft_wrap=True)
    screen.print(f"In Slack:               /gatepost join {code}", soft_wrap=True)
    screen.print(f"In Telegram:            {await _in_telegram(code)}", soft_wrap=True)


async def _in_telegram(code: str) -> str:
    """A link that says the code to the bot, where this process can learn the bot's name; else the command."""
    token = (settings := settings_from(os.environ)).telegram_bot_token
    if token is None:
        return f"/join {code}"
    from adapters.telegram.client import bot_client  # here: it takes a while to load

    async with bot_client(token.get_secret_value(), settings.telegram_api_url) as client:
        try:
            return f"https://t.me/{await client.username()}?start={code}"
        except ChatError:
            return f"/join {code}"


async def link(name: str, account: str, as_: str | None) -> None:
    """The account is the person's, too."""
    async with session(as_) as here:
        people, org = here.app.store.people, here.who.org
        person = named(await people.of(org), name)
        await people.save(here.who, org, Link(person.id, _account(account)), surface=SURFACE)
    say_of(person.name, f" is linked to {account.strip()}.")


async def role(name: str, roles: Sequence[Role], as_: str | None) -> None:
    """The person has these roles and no others."""
    async with session(as_) as here:
        people, org = here.app.store.people, here.who.org
        before = named(await people.of(org), name)
        roster = await people.save(here.who, org, SetRoles(before.id, frozenset(roles)), surface=SURFACE)
    now = named(roster, name)
    said = roles_words(now.roles)
    say_of(
        now.name, f": {said} already." if now == before else f": {said}; before: {roles_words(before.roles)}."
    )


async def remove(name: str, as_: str | None) -> None:
    """The person has left."""
    async with session(as_) as here:
        people, org = here.app.store.people, here.who.org
        person = named(await people.of(org), name)
        await people.save(here.who, org, Remove(person.id), surface=SURFACE)
    say_of(person.name, " has left. What they approved and has not started by now does not run.")


async def join(code: str) -> None:
    """This terminal's user is whom the code is for."""
    user = terminal_user()
    async with opened(settings_from(os.environ)) as app:
        person = await app.store.people.join(code_digest(code), Account(surface=SURFACE, ref=user))
        if isinstance(person, BadCode):
            raise RosterError(
                "this code is not good (any more): ask an owner for python -m bot people invite"
            )
        organization = (await app.store.people.of(person.org)).organization
    say_of(
        user, f" is {visible(person.name)} of {visible(organization.name)} now, {roles_words(person.roles)}."
    )


async def _save(change: RosterChange, as_: str | None) -> Roster:
    async with session(as_) as here:
        return await here.app.store.people.save(here.who, here.who.org, change, surface=SURFACE)


def _account(spelt: str) -> Account:
    surface, ref = place_named(spelt)
    return Account(surface=surface, ref=ref)
