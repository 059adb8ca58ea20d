"""Slack in this process: its parts from the settings, what answers at its paths, who sends its posts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from starlette.routing import request_response
from starlette.types import ASGIApp

from adapters.slack.client import Clients, connections
from adapters.slack.heard.actors import SURFACE
from adapters.slack.heard.bolt import bolt_app
from adapters.slack.heard.listening import Listening
from adapters.slack.heard.private import Private
from adapters.slack.heard.route import SlackRoute
from adapters.slack.heard.signed import Signatures
from adapters.slack.heard.socket import SocketMode
from adapters.slack.installed.installs import SealedInstallations
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.oauth import INSTALL_PATH, REDIRECT_PATH, slack_oauth
from adapters.slack.installed.states import OAuthStates
from adapters.slack.installed.workspaces import OneWorkspace, Workspaces
from adapters.slack.surface import SlackSurface
from adapters.web.background import Background
from bot.slack_settings import by_socket, check, check_whose, in_several, is_set_up
from bot.wiring import App, database_of, sealer_of
from core.errors import ChatError
from core.front import Front
from core.poster import Poster
from core.shown import ROOM

EVENTS = "/slack/events"


@dataclass(frozen=True, kw_only=True, slots=True)
class SlackParts:
    """What both the web process and the one that sends need."""

    app: App
    workspaces: Workspaces
    clients: Clients

    def poster(self, holder: str) -> Poster:
        """The sender of Slack's posts; one of all those there are sends, by lease."""
        surface = SlackSurface(
            workspaces=self.workspaces,
            clients=self.clients,
            agent_name=lambda key: self.app.desk.agent(key).name,
        )
        return Poster(
            desk=self.app.desk,
            clock=self.app.clock,
            name=SURFACE,
            surface=surface,
            holder=holder,
            room=ROOM,
        )


@asynccontextmanager
async def slack_parts(app: App) -> AsyncIterator[SlackParts | None]:
    """Slack's parts, None where it is not set up; their connections are closed afterwards.

    Raises ConfigError where the settings don't say whose bot it is.
    """
    check_whose(app.settings)
    if not is_set_up(app.settings):
        yield None
        return
    async with connections() as session:
        clients = Clients(session=session, base_url=app.settings.slack_api_url)
        yield SlackParts(app=app, workspaces=workspaces_of(app, clients), clients=clients)


def workspaces_of(app: App, clients: Clients) -> OneWorkspace | ManyWorkspaces:
    """Where the bot is: in the workspace of its token, or in those that it was installed in."""
    token, secret = app.settings.slack_bot_token, app.settings.gatepost_slack_client_secret
    if token is not None:
        return OneWorkspace(client=clients.with_token(token.get_secret_value()))
    assert secret is not None
    return ManyWorkspaces(
        installs=_installs(app),
        leases=app.store.leases,
        client=clients.with_token(""),
        client_secret=secret.get_secret_value(),
    )


def _installs(app: App) -> SealedInstallations:
    client_id = app.settings.gatepost_slack_client_id
    assert client_id is not None
    return SealedInstallations(
        rows=database_of(app.store),
        client_id=client_id,
        sealer=sealer_of(app.settings),
        redactor=app.desk.redactor,
    )


def _oauth_faces(app: App, clients: Clients) -> dict[str, ASGIApp]:
    """The addresses by which the app is installed. Raises ConfigError where nobody could."""
    secret = app.settings.gatepost_slack_client_secret
    assert secret is not None
    oauth = slack_oauth(
        client=clients.with_token(""),
        client_secret=secret.get_secret_value(),
        public_url=app.settings.public_url,
        installs=_installs(app),
        states=OAuthStates(rows=database_of(app.store)),
    )
    return {
        INSTALL_PATH: request_response(oauth.install),
        REDIRECT_PATH: request_response(oauth.redirected),
    }


@asynccontextmanager
async def slack_faces(app: App, background: Background) -> AsyncIterator[Mapping[str, ASGIApp]]:
    """What answers at Slack's paths, or keeps its socket open. Raises ConfigError."""
    check(app.settings)
    async with slack_parts(app) as parts:
        if parts is None:
            yield {}
            return
        front = Front(desk=app.desk, clock=app.clock, surface=SURFACE, room=ROOM)
        listening = Listening(
            front=front,
            workspaces=parts.workspaces,
            clients=parts.clients,
            afterwards=background,
            private=Private(clients=parts.clients, afterwards=background),
        )
        bolt = bolt_app(listening, parts.clients)
        if isinstance(parts.workspaces, OneWorkspace):
            with suppress(ChatError):  # asked again by the first request
                await parts.workspaces.known()
        secrets = app.settings.slack_signing_secrets
        faces = _oauth_faces(app, parts.clients) if in_several(app.settings) else {}
        if secrets:
            faces[EVENTS] = SlackRoute(app=bolt, signatures=Signatures(secrets=secrets, clock=app.clock))
        if not by_socket(app.settings):
            yield faces
            return
        assert app.settings.slack_app_token is not None
        socket = SocketMode(
            app=bolt,
            app_token=app.settings.slack_app_token.get_secret_value(),
            leases=app.store.leases,
            clock=app.clock,
            holder=app.process_name(),
        )
        keeping = asyncio.create_task(socket.keep(), name="Slack's socket")
        try:
            yield faces
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            await socket.leave()
