"""What is looked at of Slack, with which settings, in which order; the words are adapters.slack.checkup's."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

import bot
from adapters.slack.checkup import manifest as manifests
from adapters.slack.checkup import path as paths
from adapters.slack.checkup import token as tokens
from adapters.slack.checkup import trial as trials
from adapters.slack.client import Clients
from adapters.slack.heard.actors import SURFACE
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.oauth import INSTALL_PATH
from adapters.web.outside import Outside
from bot.checkup.deployment import named
from bot.checkup.looking import Looking
from bot.checkup.people import Chat, user_in
from bot.redaction import REDACTOR
from bot.settings import Settings
from bot.slack import EVENTS, workspaces_of
from bot.slack_settings import by_socket, check, in_several, is_set_up
from bot.wiring import App
from core.checkup import Finding, failed, unchecked, wrong
from core.errors import ChatError, ConfigError
from core.outside import Address
from core.visible import visible

NAMES: Final = (
    "token",
    "scopes",
    "clock",
    "app token",
    "route",
    "manifest",
    "card",
    "click",
    "command",
)
"""What is looked at, in this order."""
NOT_SET_UP: Final = "Slack is not set up"
MANIFEST: Final = "slack-manifest.yaml"
IDS: Final = (
    "T… is in the address of Slack in a browser, U… in your profile there under ⋮, Copy member ID; or say "
    "/gatepost join there with a code of python -m bot people invite"
)

# ── settings ─────────────────────────────────────────────────────────────────────────────────

SETTINGS: Final = (
    "PUBLIC_URL",
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_APP_TOKEN",
    "GATEPOST_SLACK_CLIENT_ID",
    "GATEPOST_SLACK_CLIENT_SECRET",
)
"""What says how the bot is in Slack; of none of them the value is shown."""


def given(settings: Settings) -> list[str]:
    """What is set for Slack."""
    return [name for name in SETTINGS if getattr(settings, name.lower()) is not None]


def of_settings(settings: Settings) -> list[tuple[str, str]]:
    """What is wrong with the settings, each with its mend."""
    problems = []
    if any(name.startswith("SLACK_") for name in given(settings)) and not is_set_up(settings):
        problems.append(("SLACK_BOT_TOKEN is not set", tokens.TOKEN))
    try:
        check(settings)
    except ConfigError as error:
        problems.append(named(error))
    insecure = settings.public_url is not None and urlsplit(settings.public_url).scheme != "https"
    if insecure and is_set_up(settings):
        problems.append(
            ("PUBLIC_URL is no https address", "Slack calls none but those: begin it with https://")
        )
    return problems


def way(settings: Settings) -> str:
    """How Slack and this deployment talk."""
    return "Socket Mode" if by_socket(settings) else "HTTP"


# ── asked of Slack ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """Slack, after it was asked. *path*: where its requests come in, None where nothing signs them."""

    client: AsyncWebClient
    told: tokens.Told
    path: paths.Path | None

    @property
    def chat(self) -> Chat:
        """As people are in it."""
        return Chat(
            surface=SURFACE,
            title="Slack",
            place="of this workspace" if self.told.workspace else "in Slack",
            user=self._user,
            odd=lambda ref: "",
            linking=self._linking,
        )

    def _user(self, ref: str) -> str | None:
        where, _, user = ref.rpartition("/")
        return user if self.told.workspace in (None, where) else None

    def _linking(self, name: str) -> str:
        account = f"slack:{visible(self.told.workspace) if self.told.workspace else 'T…'}/U…"
        return f"python -m bot people link {quote(name)} {account}; {IDS}"


async def asked(looking: Looking, app: App | None, session: aiohttp.ClientSession) -> Seen | None:
    """All that is asked of Slack, or as Slack, but for the card; None where there is no token for it."""
    settings, found = looking.settings, looking.found
    clients = Clients(session=session, base_url=settings.slack_api_url)
    client = await _client(settings, app, clients)
    if isinstance(client, Finding):
        found += [client, *(unchecked(name, "there is no token") for name in NAMES if name != client.name)]
        return None
    told = await tokens.whose(client, looking.clock)
    found += [tokens.token(told), tokens.scopes(told), tokens.clocks(told)]
    found.append(await _app_token(settings, clients))
    path = _path(looking, session)
    found.append(await _route(path, socket=by_socket(settings)))
    found.append(_manifest(settings))
    return Seen(client=client, told=told, path=path)


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


async def _app_token(settings: Settings, clients: Clients) -> Finding:
    if settings.slack_app_token is None:
        return unchecked("app token", "Socket Mode is not set up")
    token = settings.slack_app_token.get_secret_value()
    return await tokens.app_token(clients.with_token(token), token, used=by_socket(settings))


def _path(looking: Looking, session: aiohttp.ClientSession) -> paths.Path | None:
    """Where Slack's requests come in by HTTP; None where nothing signs them, or where is not known."""
    settings = looking.settings
    if not settings.slack_signing_secrets:
        return None
    if settings.public_url is None and settings.port == 0:
        return None
    base = settings.public_url or f"http://127.0.0.1:{settings.port}"
    address = Address(
        post=Outside(session).post,
        url=f"{base.rstrip('/')}{EVENTS}",
        path=EVENTS,
        public=settings.public_url is not None,
        chat="Slack",
        settings="SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET",
    )
    return paths.Path(
        address=address,
        signing_secrets=settings.slack_signing_secrets,
        clock=looking.clock,
    )


async def _route(path: paths.Path | None, *, socket: bool) -> Finding:
    if socket:
        return unchecked("route", "Slack is talked to by Socket Mode")
    if path is None:
        return unchecked("route", "without SLACK_SIGNING_SECRET, and PORT or PUBLIC_URL, nothing can be sent")
    return await path.finding()


def _manifest(settings: Settings) -> Finding:
    """Of the manifest here, else of the checkout's."""
    places = (Path(MANIFEST), Path(bot.__file__).resolve().parents[1] / MANIFEST)
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        return unchecked(
            "manifest", f"there is no {MANIFEST} here", "it is at the top of Gatepost's checkout"
        )
    words = found.read_text(encoding="utf-8", errors="replace")
    return manifests.manifest(words, settings.public_url, by_socket=by_socket(settings))


# ── the card ─────────────────────────────────────────────────────────────────────────────────


async def tried(looking: Looking, app: App, seen: Seen, as_: str | None) -> Sequence[Finding]:
    """What came of a card for whoever is at this terminal, which says so itself at the end."""
    user = await _user(app, seen, as_)
    if isinstance(user, Finding):
        return [user, *(unchecked(name, "there is no card") for name in ("click", "command"))]
    trial = trials.Trial(
        client=seen.client,
        bot=seen.told.bot,
        user=user,
        clock=looking.clock,
        path=seen.path if looking.is_well("route") else None,
    )
    socket = by_socket(looking.settings)
    return await _tried(trial, looking.about(NAMES), seen.told.workspace or "", socket=socket)


async def _user(app: App, seen: Seen, as_: str | None) -> str | Finding:
    if seen.told.workspace is None:
        return unchecked("card", "the token is not well")
    return await user_in(seen.chat, app, as_, "card")


async def _tried(
    trial: trials.Trial, before: Iterable[Finding], workspace: str, *, socket: bool
) -> list[Finding]:
    card = await trial.card()
    if trial.path is None:
        why = "Slack's clicks come by Socket Mode" if socket else "the route is not well"
        rest = [unchecked(name, why) for name in ("click", "command")]
    else:
        rest = [await trial.click(), await trial.command(workspace)]
    found = REDACTOR.clean(failed([*before, card, *rest]))
    return [await trial.ended(found) or card, *rest]
