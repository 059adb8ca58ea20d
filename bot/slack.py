"""Slack in this process: its parts from the settings, what answers at its paths, who sends its posts."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiohttp
from starlette.types import ASGIApp

from adapters.slack.actors import SURFACE
from adapters.slack.bolt import bolt_app
from adapters.slack.client import Clients
from adapters.slack.listening import Listening
from adapters.slack.private import Private
from adapters.slack.route import SlackRoute
from adapters.slack.signed import Signatures
from adapters.slack.socket import SocketMode
from adapters.slack.surface import SlackSurface
from adapters.slack.workspaces import OneWorkspace, Workspaces
from adapters.web.background import Background
from bot.settings import Settings
from bot.wiring import App
from core.errors import ChatError, ConfigError
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


def is_set_up(settings: Settings) -> bool:
    """Whether the bot is to be in Slack."""
    return settings.slack_bot_token is not None


def by_socket(settings: Settings) -> bool:
    """Whether Slack is talked to by a socket of ours: nobody could reach us otherwise."""
    return settings.slack_app_token is not None and settings.public_url is None


def check(settings: Settings) -> None:
    """Raises ConfigError where Slack's requests could not be told from anybody's."""
    if is_set_up(settings) and not by_socket(settings) and not settings.slack_signing_secrets:
        raise ConfigError(
            "SLACK_SIGNING_SECRET: it is not set, and without it anybody could click; it is under Basic "
            "Information of your Slack app. Where nobody can reach this process from outside, set "
            "SLACK_APP_TOKEN instead, and leave PUBLIC_URL unset"
        )


@asynccontextmanager
async def slack_parts(app: App) -> AsyncIterator[SlackParts | None]:
    """Slack's parts, None where it is not set up; their connections are closed afterwards."""
    token = app.settings.slack_bot_token
    if token is None:
        yield None
        return
    async with aiohttp.ClientSession() as session:
        clients = Clients(session=session, base_url=app.settings.slack_api_url)
        workspaces = OneWorkspace(client=clients.with_token(token.get_secret_value()))
        yield SlackParts(app=app, workspaces=workspaces, clients=clients)


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
        faces: dict[str, ASGIApp] = {}
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
