"""``people``: names, arguments and help. What a command does is imported when it is called."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from bot.options import As, run

people = typer.Typer(help="Who is in the organization, what they may do, and by which accounts.")


class RoleName(StrEnum):
    """A role, as core.people has them."""

    OWNER = "owner"
    APPROVER = "approver"
    MEMBER = "member"


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")]
RoleOption = Annotated[
    list[RoleName] | None, typer.Option("--role", help="May be given more than once. Default: member.")
]


def _roles(names: Sequence[RoleName] | None) -> list[Any]:
    from core.people import Role

    return [Role(name.value) for name in names or ()]


@people.command("list", epilog="Example: python -m bot people list")
def list_people(as_: As = None) -> None:
    """List everybody with roles and accounts, those who left last."""
    from bot.commands import people as who

    run(who.list_people(as_))


@people.command(epilog="Example: python -m bot people add Ben --role approver --account slack:T1/U2")
def add(
    name: NameArgument,
    role: RoleOption = None,
    account: Annotated[
        list[str] | None, typer.Option(metavar="SURFACE:REF", help="May be given more than once.")
    ] = None,
    as_: As = None,
) -> None:
    """Add somebody whose accounts you know."""
    from bot.commands import people as who

    run(who.add(name, _roles(role or [RoleName.MEMBER]), account or [], as_))


@people.command(epilog="Example: python -m bot people invite Eve --role member")
def invite(name: NameArgument, role: RoleOption = None, as_: As = None) -> None:
    """Add somebody who joins by a one-time code; or show another code for who is there."""
    from bot.commands import people as who

    run(who.invite(name, _roles(role), as_))


@people.command(epilog="Example: python -m bot people link Ben telegram:4711")
def link(
    name: NameArgument,
    account: Annotated[
        str, typer.Argument(metavar="SURFACE:REF", help="The account, as its surface names it.")
    ],
    as_: As = None,
) -> None:
    """Link one more account to somebody."""
    from bot.commands import people as who

    run(who.link(name, account, as_))


@people.command(epilog="Example: python -m bot people role Eve approver")
def role(
    name: NameArgument,
    roles: Annotated[list[RoleName], typer.Argument(metavar="ROLE...", help="All they have from now on.")],
    as_: As = None,
) -> None:
    """Set somebody's roles: owner, approver, member."""
    from bot.commands import people as who

    run(who.role(name, _roles(roles), as_))


@people.command(epilog="Example: python -m bot people remove Eve")
def remove(name: NameArgument, as_: As = None) -> None:
    """Say that somebody has left: they decide nothing any more."""
    from bot.commands import people as who

    run(who.remove(name, as_))


@people.command(epilog="Example: python -m bot people join K3QF-7MZA-PLXN-2RTD")
def join(
    code: Annotated[str, typer.Argument(metavar="CODE", help="The one-time code you were given.")],
) -> None:
    """Link this terminal's user to whom a one-time code is for."""
    from bot.commands import people as who

    run(who.join(code))
