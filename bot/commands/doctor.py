"""doctor: what of this deployment is well and what is not, line by line, each with its mend.

Nothing that is wrong keeps the rest from being looked at, but for what stands on it. What is said is
bot.checkup's business; here is the order, and how it is printed. A person's direct messages are written to,
and nothing else is changed.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict

from rich import box
from rich.table import Table
from rich.text import Text

from adapters.console import text
from adapters.slack.client import connections
from bot import slack_settings, telegram_settings
from bot.checkup import slack, telegram
from bot.checkup.deployment import app_of, of_keys
from bot.checkup.looking import Looking
from bot.checkup.people import Chat, people
from bot.commands.session import console
from bot.redaction import REDACTOR, settings_from
from bot.settings import Settings
from bot.wiring import App
from core.checkup import Finding, State, failed, unchecked, well, wrong
from core.errors import ConfigError, GatepostError
from core.names import spoken
from core.visible import visible

MARKS = {State.WELL: ("✔", "green"), State.WRONG: ("✖", "bold red"), State.UNCHECKED: ("–", "dim")}
ORDER = ("settings", "database", "app", *slack.NAMES, *telegram.NAMES, "people")
CHATS = (("slack", slack.NAMES, slack.NOT_SET_UP), ("telegram", telegram.NAMES, telegram.NOT_SET_UP))


class NotWell(GatepostError):
    """Something is wrong with this deployment."""


async def doctor(as_: str | None, *, as_json: bool) -> None:
    """All that was looked at is printed. Raises NotWell, naming what is wrong, where anything is."""
    found = [REDACTOR.clean(each) for each in await look(os.environ, as_)]
    screen = console()
    if as_json:
        screen.print(json.dumps([asdict(each) for each in found], indent=2), soft_wrap=True)
    else:
        screen.print(_table(_shortened(found)))
    if names := [each.name for each in failed(found)]:
        raise NotWell(f"{spoken(names)} {'is' if len(names) == 1 else 'are'} not well")


def _shortened(found: Sequence[Finding]) -> Iterator[Finding]:
    """*found*, with one line for a chat that is not set up, whatever would be looked at there."""
    away = {names[0]: unchecked(chat, said) for chat, names, said in CHATS if _is_away(found, names, said)}
    left_out = {name for _, names, _ in CHATS if names[0] in away for name in names}
    for each in found:
        if each.name in away:
            yield away[each.name]
        elif each.name not in left_out:
            yield each


def _is_away(found: Iterable[Finding], names: Sequence[str], said: str) -> bool:
    return all(each.said == said for each in found if each.name in names)


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
        in_slack = await _slack(looking, app, closing)
        in_telegram = await _telegram(looking, app, closing)
        if app is not None:
            chats: list[Chat] = [seen.chat for seen in (in_slack, in_telegram) if seen is not None]
            looking.found.append(await people(app, chats))
            if in_slack is not None:
                looking.found += await slack.tried(looking, app, in_slack, as_)
            if in_telegram is not None:
                looking.found += await telegram.tried(looking, app, in_telegram, as_)
    said = {each.name: each for each in looking.found}
    return [said.get(name) or unchecked(name, "the app does not open") for name in ORDER]


async def _slack(looking: Looking, app: App | None, closing: AsyncExitStack) -> slack.Seen | None:
    if not slack_settings.is_set_up(looking.settings):
        looking.found += [unchecked(name, slack.NOT_SET_UP) for name in slack.NAMES]
        return None
    return await slack.asked(looking, app, await closing.enter_async_context(connections()))


async def _telegram(looking: Looking, app: App | None, closing: AsyncExitStack) -> telegram.Seen | None:
    if not telegram_settings.is_set_up(looking.settings):
        looking.found += [unchecked(name, telegram.NOT_SET_UP) for name in telegram.NAMES]
        return None
    return await telegram.asked(looking, app, closing)


def _settings(settings: Settings) -> Finding:
    """What is set for chats, and whether it and the keys can be used."""
    problems = [*of_keys(settings), *slack.of_settings(settings), *telegram.of_settings(settings)]
    if problems:
        return wrong("settings", "; ".join(said for said, _ in problems), "; ".join(m for _, m in problems))
    by_slack, by_telegram = slack_settings.is_set_up(settings), telegram_settings.is_set_up(settings)
    if not by_slack and not by_telegram:
        return well(
            "settings",
            "the keys can be used; neither Slack nor Telegram is set up",
            "for Slack set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (README, Slack), for Telegram "
            "TELEGRAM_BOT_TOKEN (README, Telegram)",
        )
    given = slack.given(settings) if by_slack else []
    given += [name for name in telegram.given(settings) if by_telegram and name not in given]
    ways = [f"Slack by {slack.way(settings)}"] if by_slack else []
    ways += [f"Telegram by {telegram.way(settings)}"] if by_telegram else []
    inside = by_slack and settings.public_url is None and not slack_settings.by_socket(settings)
    return well(
        "settings",
        f"{spoken(given)} {'is' if len(given) == 1 else 'are'} set: {', '.join(ways)}; the keys can be used",
        "set PUBLIC_URL, the https address that Slack calls, and it is looked at from there"
        if inside
        else "",
    )
