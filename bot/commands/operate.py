"""migrate, agents check, settings: what an operator looks at before anything runs."""

import os
from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from adapters.folders import check_against, load_report
from bot.commands.session import console
from bot.redaction import settings_from
from bot.wiring import agents_folders, check_folder, load_host
from core.agents import Agent
from core.builtins import BUILTINS
from core.errors import GatepostError
from core.host import chief_of
from core.proposals import reserved


class AgentsWrong(GatepostError):
    """Some agents can't be used."""


async def migrate() -> None:
    """The database has this version's schema."""
    from adapters import store

    settings = settings_from(os.environ)
    check_folder(settings.database_url)
    current = await store.is_current(settings.database_url)
    if not current:
        await store.migrate(settings.database_url)
    console().print("The schema was current already." if current else "The schema is current now.")


def check_agents() -> None:
    """Every agent is listed; raises AgentsWrong with a line for each thing that is wrong."""
    settings = settings_from(os.environ)
    host = load_host(settings)
    wrong = [str(e) for e in reserved(host.tools)]
    if not host.agents:
        host.agents, errors = load_report(*agents_folders(settings))
        wrong += [str(e) for e in errors]
    wrong += [str(e) for e in check_against(host.agents, {*host.tools, *BUILTINS})]
    try:
        chief: str | None = chief_of(host)
    except LookupError as error:
        chief = None
        if not wrong:  # the chief may be in a folder that can't be read
            wrong.append(str(error))
    if host.agents:
        console().print(_table(host.agents.values(), chief))
    if wrong:
        raise AgentsWrong("\n".join(wrong))


def _table(agents: Iterable[Agent], chief: str | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("Folder", "Name", "Title", "Tools", "Settings"):
        table.add_column(heading, overflow="fold")
    for agent in agents:
        settings = ", ".join(f"{key}: {said}" for key, said in agent.settings.items())
        name = text(agent.name, "bold")
        table.add_row(
            text(agent.key),
            name.append(" (chief)", "dim") if agent.key == chief else name,
            text(agent.title),
            text(", ".join(agent.tools)),
            text(settings),
        )
    return table


def show_settings() -> None:
    """Every setting with its meaning, its source and its value; of a secret only whether it is set."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Name", no_wrap=True)
    table.add_column("Meaning")
    table.add_column("Source", no_wrap=True)
    table.add_column("Value", overflow="fold")
    for described in settings_from(os.environ).describe():
        table.add_row(
            Text(described.name, style="bold"),
            Text(described.meaning),
            Text(described.source, style="dim" if described.source == "default" else ""),
            text(described.shown),
        )
    console().print(table)
