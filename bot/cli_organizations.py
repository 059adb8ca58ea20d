"""``org``: names, arguments and help. What a command does is imported when it is called."""

from enum import StrEnum
from typing import Annotated

import typer

from bot.options import As, run

org = typer.Typer(
    help="Organizations: who approves what, where cards go; pause, resume and limit all agents."
)


@org.command(epilog="Example: python -m bot org create Bakery --owner Ada --time-zone Europe/Riga")
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the organization is called.")],
    owner: Annotated[str, typer.Option(metavar="PERSON", help="Its first owner, who joins by a code.")],
    time_zone: Annotated[str, typer.Option(metavar="ZONE", help="Where it is: Europe/Riga.")] = "UTC",
) -> None:
    """Make an organization, and show its owner's one-time code."""
    from bot.commands import organizations

    run(organizations.create(name, owner, time_zone))


@org.command("list", epilog="Example: python -m bot org list")
def list_organizations() -> None:
    """List the organizations of the database."""
    from bot.commands import organizations

    run(organizations.list_organizations())


class OnOff(StrEnum):
    """What a rule says of self-approval."""

    ON = "on"
    OFF = "off"
    DEFAULT = "default"


@org.command(
    epilog="Examples: python -m bot org rules; "
    "python -m bot org rules spend --by Ben,owners --self-approval off"
)
def rules(
    what: Annotated[
        str | None, typer.Argument(metavar="RISK|TOOL|any", help="Whose rule is set. Default: list all.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="WHO", help="Names, owners, approvers, with commas between; or default."),
    ] = None,
    self_approval: Annotated[
        OnOff | None, typer.Option(help="Whether who asked for a task may approve its calls.")
    ] = None,
    as_: As = None,
) -> None:
    """Show who approves what, or set it for a risk, a tool or any call."""
    from bot.commands import organizations

    if what is None:
        if by is not None or self_approval is not None:
            raise typer.BadParameter("say what of: a risk, a tool, or any", param_hint="RISK|TOOL|any")
        run(organizations.rules(as_))
        return
    run(organizations.rule(what, by, None if self_approval is None else self_approval.value, as_))


@org.command(
    epilog="Examples: python -m bot org route slack:T1/C1; python -m bot org route lead console:ada; "
    "python -m bot org route lead slack:T1/C1 telegram:-100123; python -m bot org route lead thread"
)
def route(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT] SURFACE:REF...|thread",
            help="Whose cards (default: of all without an own place), and where they go: they to the first "
            "place, copies of them to the others. Default: list all.",
        ),
    ] = None,
    as_: As = None,
) -> None:
    """Show where cards go, or send them to channels or people instead of their task's thread."""
    from bot.commands import organizations

    if not words:
        run(organizations.routes(as_))
    elif len(words) == 1 or ":" in words[0]:
        run(organizations.route("", words, as_))
    else:
        run(organizations.route(words[0], words[1:], as_))


@org.command("pause", epilog="Example: python -m bot org pause")
def pause_all(as_: As = None) -> None:
    """Pause every agent of the organization."""
    from bot.commands import agents as switching

    run(switching.pause_all(as_))


@org.command("resume", epilog="Example: python -m bot org resume")
def resume_all(as_: As = None) -> None:
    """Let the organization's agents go on."""
    from bot.commands import agents as switching

    run(switching.resume_all(as_))


@org.command(epilog="Examples: python -m bot org limit 20; python -m bot org limit none")
def limit(
    tasks: Annotated[str, typer.Argument(metavar="N|none", help="How many. none: as MAX_RUNNING says.")],
    as_: As = None,
) -> None:
    """Set how many tasks of the organization run at once."""
    from bot.commands import agents as switching

    if tasks != "none" and not (tasks.isascii() and tasks.isdigit()):
        raise typer.BadParameter("write a number, or none", param_hint="N|none")
    run(switching.limit(None if tasks == "none" else int(tasks), as_))
