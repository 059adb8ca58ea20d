"""A deployment whose bot is in Telegram, for what doctor finds of it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from adapters.web.background import Background
from adapters.web.door import Door
from bot.checkup import slack, telegram
from bot.commands.doctor import ORDER, look
from bot.commands.session import person_for
from bot.settings import Settings
from bot.telegram import telegram_faces
from bot.telegram_settings import UPDATES
from bot.wiring import opened
from core.checkup import Finding, State
from core.people import Account
from core.roster import Link
from tests.acceptance.command_line import command_line
from tests.acceptance.test_doctor import KEY
from tests.conftest import Templates, migrated
from tests.fakes.telegram import (
    FakeTelegram,
    Message,
    Update,
    User,
    Webhook,
    fake_telegram,
)
from tests.partners.processes import free_port
from tests.postgres import Server
from tests.wire import served

SECRET = "a-secret-of-sixteen-and-more"
OTHER_SECRET = "another-secret-of-sixteen"
BENEATH = ("settings", "database", "app", "people")
ALL_BUT_GROUPS = dict.fromkeys([*BENEATH, *telegram.NAMES], State.WELL) | {"telegram groups": State.UNCHECKED}
BY_ASKING = ALL_BUT_GROUPS | dict.fromkeys(("telegram secret", "telegram click"), State.UNCHECKED)
JSON = {"Content-Type": "application/json"}
OTHERS_TOKEN = "7000000002:AAOtherOtherOtherOtherOtherOtherOther"


@dataclass(kw_only=True)
class Deployment:
    """A deployment whose bot is in Telegram: *ada* owns it, and is linked; *env*: what it is set up with."""

    telegram: FakeTelegram
    ada: User
    folder: Path
    env: dict[str, str]
    secrets: list[str] = field(default_factory=list)

    async def looked(self, as_: str | None = None, **env: str | None) -> dict[str, Finding]:
        """What is found, with other variables (None: without it), by name; no secret is in any of it.

        Slack is not set up, and all that is said of it is that.
        """
        environ = {name: value for name, value in {**self.env, **env}.items() if value is not None}
        found = await look(environ, as_)
        assert [each.name for each in found] == list(ORDER)
        assert all(each.said and (each.mend or each.state is not State.WRONG) for each in found)
        shown = str(found) + str([m.to_json() for c in self.telegram.chats.values() for m in c.messages])
        assert [secret for secret in self.all_secrets if secret in shown] == []
        by_name = {each.name: each for each in found}
        assert {by_name.pop(name).said for name in slack.NAMES} == {slack.NOT_SET_UP}
        return by_name

    @property
    def all_secrets(self) -> list[str]:
        return [self.telegram.token, SECRET, OTHER_SECRET, OTHERS_TOKEN, KEY, *self.secrets]

    @property
    def settings(self) -> Settings:
        return Settings.from_env(self.env)

    @property
    def url(self) -> str:
        return f"{self.env['PUBLIC_URL']}{UPDATES}"

    @property
    def card(self) -> Message:
        """The newest message in ada's private chat."""
        return self.telegram.said(self.ada)[-1]

    @property
    def webhook(self) -> Webhook:
        assert self.telegram.webhook is not None
        return self.telegram.webhook

    def waits(self, count: int = 1) -> None:
        """So many updates wait."""
        for n in range(count):
            self.telegram.pending.append(Update(id=n + 1, kind="message", payload={}))


@asynccontextmanager
async def deployment(url: str, folder: Path) -> AsyncIterator[Deployment]:
    """One over a migrated database, whose port is free; afterwards Telegram has found no fault with it."""
    async with fake_telegram() as telegram:
        port = free_port()
        env = command_line(url, folder).env | {
            "PORT": str(port),
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "TELEGRAM_API_URL": telegram.api_url,
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_SECRET": SECRET,
            "AUDIT_KEY": KEY,
            "SECRET_KEY": KEY,
        }
        ada = telegram.add_user("ada", started=True)
        made = Deployment(telegram=telegram, ada=ada, folder=folder, env=env)
        account = Account(surface="telegram", ref=str(ada.id))
        async with opened(made.settings) as app:
            who = await person_for(app, "ada", None)
            await app.store.people.save(who, who.org, Link(who.id, account))
        yield made
        assert telegram.faults == []


@asynccontextmanager
async def standing(
    folder: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Deployment]:
    """A deployment on SQLite, whose folder is the current one, and ada's is the terminal."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.setenv("SHOP_DB", str(folder / "shop.db"))
    async with (
        migrated("sqlite", folder, postgres_server, templates) as url,
        deployment(url, folder) as made,
    ):
        yield made


@asynccontextmanager
async def answering(
    here: Deployment, around: Callable[[ASGIApp], ASGIApp] = lambda app: app
) -> AsyncIterator[None]:
    """Telegram's path is served at PUBLIC_URL as the web process does it, and Telegram was told so.

    *around*: what stands before it.
    """
    door = Door(path=UPDATES, methods=("POST",))
    background = Background()
    async with AsyncExitStack() as ends:
        server = await ends.enter_async_context(served(Starlette(routes=[door.route])))
        here.env["PUBLIC_URL"] = f"http://127.0.0.1:{server.port}"
        app = await ends.enter_async_context(opened(here.settings))
        faces = await ends.enter_async_context(telegram_faces(app, background))
        door.handler = around(faces[UPDATES])
        await here.telegram.wait_for(lambda: here.telegram.commands.get("all_private_chats"))
        yield
        await background.drained(5)


@asynccontextmanager
async def asking(here: Deployment) -> AsyncIterator[None]:
    """The web process is up where nobody can reach it, and asks for updates."""
    del here.env["PUBLIC_URL"]
    background = Background()
    async with AsyncExitStack() as ends:
        app = await ends.enter_async_context(opened(here.settings))
        await ends.enter_async_context(telegram_faces(app, background))
        await here.telegram.wait_for(lambda: here.telegram.commands.get("all_private_chats"))
        await here.telegram.wait_for(lambda: here.telegram.polled)
        yield
        await background.drained(5)


def unchecked(found: dict[str, Finding]) -> set[str]:
    return {name for name, each in found.items() if each.state is State.UNCHECKED} - {"telegram groups"}


Answer = Callable[[Request], Awaitable[Response]]


@asynccontextmanager
async def instead(here: Deployment, answer: Answer) -> AsyncIterator[None]:
    """*answer* stands at PUBLIC_URL, which Telegram knows; all else is as the web process set it up."""
    async with answering(here):
        pass

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await answer(Request(scope, receive))
        await response(scope, receive, send)

    async with served(app) as server:
        here.env["PUBLIC_URL"] = f"http://127.0.0.1:{server.port}"
        here.webhook.url = here.url
        yield
