"""doctor: what of this deployment is well and what is not, line by line, each with its mend.

Nothing that is wrong keeps the rest from being looked at, but for what stands on it. What is said is
bot.checkup's business; here is the order, and how it is printed. A person's direct messages are written to,
and nothing else is changed.
"""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from adapters.slack.client import connections
from bot import slack_settings
from bot.checkup import slack
from bot.checkup.deployment import app_of, of_keys
from bot.checkup.looking import Looking
from bot.checkup.people import people
from bot.commands.session import console
from bot.redaction import REDACTOR, settings_from
from bot.settings import Settings
from core.checkup import Finding, State, failed, unchecked, well, wrong
from core.errors import ConfigError, GatepostError
from core.names import spoken
from core.visible import visible

MARKS = {State.WELL: ("✔", "green"), State.WRONG: ("✖", "bold red"), State.UNCHECKED: ("–", "dim")}
ORDER = ("settings", "database", "app", *slack.NAMES, "people")


class NotWell(GatepostError):
    """Something is wrong with this deployment."""


async def doctor(as_: str | None, *, as_json: bool) -> None:
    """All that was looked at is printed. Raises NotWell, naming what is wrong, where anything is."""
    found = [REDACTOR.clean(each) for each in await look(os.environ, as_)]
    screen = console()
    if as_json:
        screen.print(json.dumps([asdict(each) for each in found], indent=2), soft_wrap=True)
    else:
        screen.print(_table(found))
    if names := [each.name for each in failed(found)]:
        raise NotWell(f"{spoken(names)} {'is' if len(names) == 1 else 'are'} not well")


def _table(found: Iterable[Finding]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("Check", no_wrap=True)
    table.add_column("What is found, and → what to do", overflow="fold")
    for each in found:
        mark, style = MARKS[each.state]
        said = text(each.said, "dim" if each.state is State.UNCHECKED else "")
        if each.mend:
            said.append("\n→ ", style=style).append(visible(each.mend))
        table.add_row(Text(mark, style=style), text(each.name, "bold"), said)
    return table


# ── in which order ───────────────────────────────────────────────────────────────────────────


async def look(environ: Mapping[str, str], as_: str | None) -> list[Finding]:
    """One finding of each name in ORDER, for the deployment that *environ* sets up."""
    try:
        settings = settings_from(environ)
    except ConfigError as error:
        first = wrong("settings", "they can't be read", str(error))
        return [first, *(unchecked(name, "the settings are wrong") for name in ORDER[1:])]
    looking = Looking(settings=settings, environ=environ)
    async with AsyncExitStack() as closing:
        looking.found.append(_settings(settings))
        app = await closing.enter_async_context(app_of(looking))
        if slack_settings.is_set_up(settings):
            session = await closing.enter_async_context(connections())
            seen = await slack.asked(looking, app, session)
            if app is not None and seen is not None:
                looking.found.append(await people(app, [seen.chat]))
                looking.found += await slack.tried(looking, app, seen, as_)
        else:
            if app is not None:
                looking.found.append(await people(app, []))
            looking.found += [unchecked(name, slack.NOT_SET_UP) for name in slack.NAMES]
    said = {each.name: each for each in looking.found}
    return [said.get(name) or unchecked(name, "the app does not open") for name in ORDER]


def _settings(settings: Settings) -> Finding:
    """What is set for Slack, and whether it and the keys can be used."""
    given = slack.given(settings)
    problems = [*of_keys(settings), *slack.of_settings(settings)]
    if problems:
        return wrong("settings", "; ".join(said for said, _ in problems), "; ".join(m for _, m in problems))
    if not slack_settings.is_set_up(settings):
        return well(
            "settings",
            "the keys can be used; Slack is not set up",
            "for Slack set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (README, Slack)",
        )
    inside = settings.public_url is None and not slack_settings.by_socket(settings)
    return well(
        "settings",
        f"{spoken(given)} {'is' if len(given) == 1 else 'are'} set: Slack by {slack.way(settings)}; "
        "the keys can be used",
        "set PUBLIC_URL, the https address that Slack calls, and it is looked at from there"
        if inside
        else "",
    )
