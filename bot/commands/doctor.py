"""doctor: what of this deployment is well and what is not, line by line, each with its mend.

Nothing that is wrong keeps the rest from being looked at, but for what stands on it. Which words are said
of Slack is adapters.slack.checkup's business; here is what is said of settings, database and people, and
the order. A person's direct messages are written to, and nothing else is changed.
"""

import json
import os
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shlex import quote
from urllib.parse import urlsplit

import aiohttp
from rich import box
from rich.table import Table
from rich.text import Text
from slack_sdk.web.async_client import AsyncWebClient

import bot
from adapters.clock import SystemClock
from adapters.console import text
from adapters.slack.checkup import manifest as manifests
from adapters.slack.checkup import path as paths
from adapters.slack.checkup import token as tokens
from adapters.slack.checkup import trial as trials
from adapters.slack.client import Clients, connections
from adapters.slack.heard.actors import SURFACE as SLACK
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.oauth import INSTALL_PATH
from bot.commands.session import SURFACE, console, person_for, terminal_user
from bot.redaction import REDACTOR, settings_from
from bot.settings import Settings, audit_key, secret_keys
from bot.slack import EVENTS, workspaces_of
from bot.slack_settings import by_socket, check, in_several, is_set_up
from bot.wiring import App, check_folder, opened, sqlite_file
from core.checkup import Finding, State, failed, unchecked, well, wrong
from core.errors import ChatError, ConfigError, GatepostError, StoreError
from core.names import spoken
from core.people import Person, Role, Roster
from core.visible import visible

MARKS = {State.WELL: ("✔", "green"), State.WRONG: ("✖", "bold red"), State.UNCHECKED: ("–", "dim")}
ORDER = (
    "settings",
    "database",
    "app",
    "token",
    "scopes",
    "clock",
    "app token",
    "route",
    "manifest",
    "card",
    "click",
    "command",
    "people",
)
OF_SLACK = frozenset(ORDER) - {"settings", "database", "app", "people"}
NO_SLACK = "Slack is not set up"
MANIFEST = "slack-manifest.yaml"

FORGETFUL: Mapping[str, str] = {
    "FLY_APP_NAME": "Fly",
    "K_SERVICE": "Cloud Run",
    "KUBERNETES_SERVICE_HOST": "Kubernetes",
    "RAILWAY_ENVIRONMENT_NAME": "Railway",
    "RENDER": "Render",
}
"""Platforms by a variable that they set, whose disk is new with each deploy unless a volume was added.

One that never has a volume (DYNO) is refused by the settings.
"""


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
    looking = _Looking(settings=settings, environ=environ)
    async with AsyncExitStack() as closing:
        looking.found.append(_settings(settings))
        app = await closing.enter_async_context(_app(looking))
        if is_set_up(settings):
            session = await closing.enter_async_context(connections())
            await _slack(looking, app, session, as_)
        else:
            if app is not None:
                looking.found.append(await _people(app, told=None))
            looking.found += [unchecked(name, NO_SLACK) for name in ORDER if name in OF_SLACK]
    said = {each.name: each for each in looking.found}
    return [said.get(name) or unchecked(name, "the app does not open") for name in ORDER]


@dataclass(kw_only=True, slots=True)
class _Looking:
    """What is looked at, and what was found by now."""

    settings: Settings
    environ: Mapping[str, str]
    clock: SystemClock = field(default_factory=SystemClock)
    found: list[Finding] = field(default_factory=list)

    def is_well(self, name: str) -> bool:
        return any(each.name == name and each.state is State.WELL for each in self.found)


async def _slack(looking: _Looking, app: App | None, session: aiohttp.ClientSession, as_: str | None) -> None:
    """Everything that is asked of Slack, or as Slack."""
    settings, found, socket = looking.settings, looking.found, by_socket(looking.settings)
    clients = Clients(session=session, base_url=settings.slack_api_url)
    client = await _client(settings, app, clients)
    if isinstance(client, Finding):
        found += [client, *(unchecked(name, "there is no token") for name in OF_SLACK - {client.name})]
        return
    told = await tokens.whose(client, looking.clock)
    found += [tokens.token(told), tokens.scopes(told), tokens.clocks(told)]
    found.append(await _app_token(settings, clients))
    path = _path(looking, session)
    found.append(await _route(path, socket=socket))
    found.append(_manifest(settings, socket=socket))
    if app is None:
        return
    found.append(await _people(app, told))
    user = await _user(app, told, as_)
    if isinstance(user, Finding):
        found += [user, *(unchecked(name, "there is no card") for name in ("click", "command"))]
        return
    trial = trials.Trial(
        client=client,
        bot=told.bot,
        user=user,
        clock=looking.clock,
        path=path if looking.is_well("route") else None,
    )
    found += await _tried(trial, found, told.workspace or "", socket=socket)


async def _client(settings: Settings, app: App | None, clients: Clients) -> AsyncWebClient | Finding:
    """What speaks as the bot: by the token that is set, or in the workspace that was installed last."""
    if settings.slack_bot_token is not None:
        return clients.with_token(settings.slack_bot_token.get_secret_value())
    if app is None or not in_several(settings):
        return unchecked("token", "the app does not open")
    workspaces = workspaces_of(app, clients)
    assert isinstance(workspaces, ManyWorkspaces)
    try:
        return clients.of(await workspaces.newest())
    except ChatError as error:
        mend = f"open {settings.public_url or 'your address'}{INSTALL_PATH} in a browser, and install it"
        return wrong("token", str(error), mend)


async def _tried(
    trial: trials.Trial, before: Iterable[Finding], workspace: str, *, socket: bool
) -> list[Finding]:
    """What came of the card, which says so itself at the end."""
    card = await trial.card()
    if trial.path is None:
        why = "Slack's clicks come by Socket Mode" if socket else "the route is not well"
        rest = [unchecked(name, why) for name in ("click", "command")]
    else:
        rest = [await trial.click(), await trial.command(workspace)]
    found = REDACTOR.clean(failed([*before, card, *rest]))
    return [await trial.ended(found) or card, *rest]


# ── settings ─────────────────────────────────────────────────────────────────────────────────

SETTINGS = (
    "PUBLIC_URL",
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_APP_TOKEN",
    "GATEPOST_SLACK_CLIENT_ID",
    "GATEPOST_SLACK_CLIENT_SECRET",
)
"""What says how the bot is in Slack; of none of them the value is shown."""


def _settings(settings: Settings) -> Finding:
    """What is set for Slack, and whether it and the keys can be used."""
    given = [name for name in SETTINGS if getattr(settings, name.lower()) is not None]
    problems = [*_of_keys(settings), *_of_slack(settings, given)]
    if problems:
        return wrong("settings", "; ".join(said for said, _ in problems), "; ".join(m for _, m in problems))
    if not is_set_up(settings):
        return well(
            "settings",
            "the keys can be used; Slack is not set up",
            "for Slack set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (README, Slack)",
        )
    way = "Socket Mode" if by_socket(settings) else "HTTP"
    inside = settings.public_url is None and not by_socket(settings)
    return well(
        "settings",
        f"{spoken(given)} {'is' if len(given) == 1 else 'are'} set: Slack by {way}; the keys can be used",
        "set PUBLIC_URL, the https address that Slack calls, and it is looked at from there"
        if inside
        else "",
    )


def _of_keys(settings: Settings) -> list[tuple[str, str]]:
    try:
        check_folder(settings.database_url)
    except ConfigError:
        return []  # the database's finding; without its folder there is no place for keys
    problems = []
    for key in (audit_key, secret_keys):
        try:
            key(settings)
        except ConfigError as error:
            problems.append(_named(error))
    return problems


def _of_slack(settings: Settings, given: Sequence[str]) -> list[tuple[str, str]]:
    problems = []
    own = [name for name in given if name.startswith("SLACK_")]
    if own and not is_set_up(settings):
        problems.append(("SLACK_BOT_TOKEN is not set", tokens.TOKEN))
    try:
        check(settings)
    except ConfigError as error:
        problems.append(_named(error))
    if settings.public_url is not None and urlsplit(settings.public_url).scheme != "https":
        problems.append(
            ("PUBLIC_URL is no https address", "Slack calls none but those: begin it with https://")
        )
    return problems


def _named(error: ConfigError) -> tuple[str, str]:
    """The setting, and what its error says of it, which has the mend."""
    name, colon, words = str(error).partition(": ")
    return (f"{name} can't be used", words) if colon else (name, "python -m bot settings says what it is for")


# ── the database and the app ─────────────────────────────────────────────────────────────────


@asynccontextmanager
async def _app(looking: _Looking) -> AsyncIterator[App | None]:
    """The app, open as for every other command; None where it does not open. What was found is noted."""
    settings, found = looking.settings, looking.found
    database = await _database(looking)
    found.append(database)
    async with AsyncExitStack() as closing:
        app = None
        if database.state is State.WELL:
            try:
                app = await closing.enter_async_context(opened(settings))
            except (GatepostError, OSError) as error:
                name, _, mend = tokens.sentence(error).partition(": ")
                found.append(wrong("app", f"it does not open: {name}", mend or "see README, Use it"))
        else:
            found.append(unchecked("app", "the database is not well"))
        if app is not None:
            agents = len(app.host.agents)
            host = settings.host_app or "the example shop (HOST_APP is not set)"
            found.append(well("app", f"{host}, {agents} agent{'' if agents == 1 else 's'}"))
        yield app


async def _database(looking: _Looking) -> Finding:
    """Whether it can be reached, has this version's schema, and keeps what is written."""
    from adapters import store  # here: it takes a second to import

    settings = looking.settings
    path = sqlite_file(settings.database_url)
    try:
        check_folder(settings.database_url)
        new = path is not None and not path.exists()
        if not new and path is not None and (torn := _torn(path)):
            return wrong(
                "database",
                f"{path.name} {torn}",
                "stop what writes to it and copy it again, the files beside it that begin with its name too",
            )
        current = await store.is_current(settings.database_url)
    except ConfigError as error:
        return wrong("database", *_named(error))
    except (StoreError, OSError) as error:
        said = tokens.sentence(error.__cause__ if isinstance(error.__cause__, OSError) else error)
        return wrong(
            "database", f"it can't be reached: {said}", "see that it runs, and that DATABASE_URL is right"
        )
    if path is not None:
        platform = next((name for variable, name in FORGETFUL.items() if looking.environ.get(variable)), None)
        remark = f"this is {platform}: let {path.name} be on a volume, or it is lost with the next deploy"
        made = (
            ", made just now" if new else ", which is brought to this version's schema" if not current else ""
        )
        return well("database", f"the SQLite file {path.name}{made}", remark if platform else "")
    if not current:
        return wrong("database", "Postgres has not this version's schema", "run python -m bot migrate")
    return well("database", "Postgres, with this version's schema")


def _torn(path: Path) -> str | None:
    """What shows that a SQLite file was copied without its -wal, or in part; most such copies show nothing.

    Bad input 90. Its header says how many pages it has, and whether it is in WAL mode (18 is 2): such a file
    is made with one page, without any table, which is all there is for as long as the rest is in the -wal.
    """
    wal = path.with_name(f"{path.name}-wal")
    if wal.exists() and wal.stat().st_size:
        return None
    with path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        return None  # new, or no database, which opening it says
    size = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    if head[24:28] == head[92:96] and pages * (65536 if size == 1 else size) > path.stat().st_size:
        return "is cut short: it is a part of a copy"
    if head[18] == 2 and pages <= 1:
        return "has nothing in it: it seems to be a copy without its -wal, where what was written is"
    return None


# ── Slack ────────────────────────────────────────────────────────────────────────────────────


async def _app_token(settings: Settings, clients: Clients) -> Finding:
    if settings.slack_app_token is None:
        return unchecked("app token", "Socket Mode is not set up")
    token = settings.slack_app_token.get_secret_value()
    return await tokens.app_token(clients.with_token(token), token, used=by_socket(settings))


def _path(looking: _Looking, session: aiohttp.ClientSession) -> paths.Path | None:
    """Where Slack's requests come in by HTTP; None where nothing signs them, or where is not known."""
    settings = looking.settings
    if not settings.slack_signing_secrets:
        return None
    if settings.public_url is None and settings.port == 0:
        return None
    base = settings.public_url or f"http://127.0.0.1:{settings.port}"
    return paths.Path(
        session=session,
        address=f"{base.rstrip('/')}{EVENTS}",
        public=settings.public_url is not None,
        signing_secrets=settings.slack_signing_secrets,
        clock=looking.clock,
    )


async def _route(path: paths.Path | None, *, socket: bool) -> Finding:
    if socket:
        return unchecked("route", "Slack is talked to by Socket Mode")
    if path is None:
        return unchecked("route", "without SLACK_SIGNING_SECRET, and PORT or PUBLIC_URL, nothing can be sent")
    return await path.finding()


def _manifest(settings: Settings, *, socket: bool) -> Finding:
    """Of the manifest here, else of the checkout's."""
    places = (Path(MANIFEST), Path(bot.__file__).resolve().parents[1] / MANIFEST)
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        return unchecked(
            "manifest", f"there is no {MANIFEST} here", "it is at the top of Gatepost's checkout"
        )
    words = found.read_text(encoding="utf-8", errors="replace")
    return manifests.manifest(words, settings.public_url, by_socket=socket)


# ── people ───────────────────────────────────────────────────────────────────────────────────

NOBODY = unchecked("people", "there is nobody yet", "python -m bot tasks makes whoever runs it the owner")
IDS = (
    "T… is in the address of Slack in a browser, U… in your profile there under ⋮, Copy member ID; or say "
    "/gatepost join there with a code of python -m bot people invite"
)


async def _people(app: App, told: tokens.Told | None) -> Finding:
    """Whether each organization has an owner in Slack, and its cards go where somebody sends them.

    *told*: None where Slack is not set up.
    """
    try:
        rosters = [await app.store.people.of(org) for org in await app.store.ledger.organizations()]
    except StoreError as error:
        return wrong("people", tokens.sentence(error), "see that the database runs")
    if not rosters:
        return NOBODY
    problems: list[tuple[str, str]] = []
    names: list[str] = []
    for roster in rosters:
        where = f" of {visible(roster.organization.name)}" if len(rosters) > 1 else ""
        owners = [p for p in roster.people if Role.OWNER in p.roles and not p.left]
        there = [p for p in owners if told is None or _users(roster, p, told.workspace)]
        names += [visible(p.name) for p in there]
        if not there:
            owner = owners[0].name if owners else "NAME"
            place = "of this workspace" if told and told.workspace else "in Slack"
            problems.append((f"no owner{where} has an account {place}", _linking(owner, told)))
        problems += _of_routes(roster, where, {SURFACE} if told is None else {SURFACE, SLACK})
    if problems:
        return wrong("people", "; ".join(said for said, _ in problems), "; ".join(m for _, m in problems))
    verb = "is an owner" if len(names) == 1 else "are owners"
    return well("people", f"{spoken(names)} {verb}{'' if told is None else ' in Slack'}")


def _of_routes(roster: Roster, where: str, sent: Collection[str]) -> Iterator[tuple[str, str]]:
    """Cards that nobody sends where they go. *sent*: surfaces for which somebody does."""
    for agent, route in roster.routes:
        if route.surface not in sent:
            whose = visible(agent) if agent else "all agents"
            back = f"python -m bot org route {f'{quote(agent)} ' if agent else ''}thread"
            yield (
                f"the cards of {whose}{where} go to {visible(route.surface)}, for which nobody sends",
                f"set that up, or send them to their threads: {back}",
            )


async def _user(app: App, told: tokens.Told, as_: str | None) -> str | Finding:
    """The Slack user that whoever is at this terminal is; or why there is none to write to."""
    if told.workspace is None:
        return unchecked("card", "the token is not well")
    try:
        if not await app.store.ledger.organizations():  # else whoever asks first would own the place
            return unchecked("card", NOBODY.said, NOBODY.mend)
        who = await person_for(app, terminal_user(), as_)
        users = _users(await app.store.people.of(who.org), who, told.workspace)
    except ConfigError as error:
        said, _, mend = str(error).partition("; ")
        return (unchecked if as_ is None else wrong)("card", said, mend or "say who you are with --as NAME")
    except StoreError as error:
        return unchecked("card", tokens.sentence(error))
    if users:
        return users[0]
    return unchecked(
        "card", f"{visible(who.name)} has no account of this workspace", _linking(who.name, told)
    )


def _users(roster: Roster, person: Person, workspace: str | None) -> list[str]:
    """Who *person* is in Slack; *workspace*: None for any."""
    refs = [a.ref.rpartition("/") for p, a in roster.accounts if (p, a.surface) == (person.id, SLACK)]
    return [user for where, _, user in refs if workspace in (None, where)]


def _linking(name: str, told: tokens.Told | None) -> str:
    workspace = None if told is None else told.workspace
    account = f"slack:{visible(workspace) if workspace else 'T…'}/U…"
    return f"python -m bot people link {quote(name)} {account}; {IDS}"
