"""``python -m bot doctor``: what can be wrong with a deployment is one line each, with its mend."""

import asyncio
import json
import shutil
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import aiohttp
import pytest
import yaml
from slack_sdk.oauth.installation_store.models.bot import Bot
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Message as StarletteMessage
from starlette.types import Receive, Scope, Send

from adapters.clock import SystemClock
from adapters.slack.checkup import manifest as manifests
from adapters.slack.checkup import path as paths
from adapters.slack.checkup import token as tokens
from adapters.slack.heard.route import SlackRoute
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.scopes import SCOPES
from adapters.web.background import Background
from adapters.web.door import Door, nobody
from adapters.web.outside import Outside
from bot.checkup import telegram
from bot.commands.doctor import ORDER, look
from bot.commands.session import person_for
from bot.settings import Settings
from bot.slack import EVENTS, slack_faces, slack_parts
from bot.wiring import opened
from core.checkup import Finding, State
from core.ids import OrgId
from core.outside import Address
from core.people import Account, Role, Route
from core.ports import Query
from core.roster import Add, Link, SetRoute
from tests.acceptance import forking
from tests.acceptance.command_line import ROOT, command_line
from tests.acceptance.slack_office import words_of
from tests.acceptance.test_web_process import BOT, running
from tests.conftest import Templates, migrated
from tests.fakes.slack import (
    APP_TOKEN,
    SIGNING_SECRET,
    FakeSlack,
    Message,
    Trouble,
    User,
    fake_slack,
    html,
    http_error,
    lost,
    refusal,
    too_many,
)
from tests.postgres import Server
from tests.wire import served

OTHER_SECRET = "another-signing-secret"
KEY = "0123456789abcdef" * 4
HERE = [name for name in ORDER if name not in telegram.NAMES]
"""What is looked at where Telegram is not set up."""
ALL_BUT_SOCKET = dict.fromkeys(HERE, State.WELL) | {"app token": State.UNCHECKED}
NO_TELEGRAM = dict.fromkeys(telegram.NAMES, State.UNCHECKED)


@dataclass(kw_only=True)
class Deployment:
    """A deployment in a workspace: *ada* owns it, and is linked; *env*: what it is set up with."""

    slack: FakeSlack
    ada: User
    folder: Path
    env: dict[str, str]
    secrets: list[str] = field(default_factory=list)

    async def looked(self, as_: str | None = None, **env: str | None) -> dict[str, Finding]:
        """What is found, with other variables (None: without it), by name; no secret is in any of it.

        Telegram is not set up, and all that is said of it is that.
        """
        environ = {name: value for name, value in {**self.env, **env}.items() if value is not None}
        found = await look(environ, as_)
        assert [each.name for each in found] == list(ORDER)
        assert all(each.said and (each.mend or each.state is not State.WRONG) for each in found)
        shown = str(found) + str([m.to_json() for c in self.slack.channels.values() for m in c.messages])
        assert [secret for secret in self.all_secrets if secret in shown] == []
        by_name = {each.name: each for each in found}
        in_telegram = [by_name.pop(name) for name in telegram.NAMES]
        assert {each.state for each in in_telegram} == {State.UNCHECKED}
        if by_name["settings"].said != "they can't be read":
            assert {each.said for each in in_telegram} == {telegram.NOT_SET_UP}
        return by_name

    @property
    def all_secrets(self) -> list[str]:
        return [self.slack.team.bot_token, SIGNING_SECRET, OTHER_SECRET, APP_TOKEN, KEY, *self.secrets]

    @property
    def settings(self) -> Settings:
        return Settings.from_env(self.env)

    @property
    def card(self) -> Message:
        """The newest message in ada's direct messages."""
        return self.slack.said(self.slack.dm(self.ada))[-1]

    def writes_manifest(self, base: str = manifests.PLACEHOLDER, **over: Any) -> None:
        (self.folder / "slack-manifest.yaml").write_text(made_manifest(base, **over), encoding="utf-8")


def made_manifest(
    base: str = manifests.PLACEHOLDER, scopes: Any = SCOPES, *, socket: bool = False, addresses: bool = True
) -> str:
    """A manifest, as far as it is looked at."""
    url = {"request_url": f"{base}/slack/events"} if addresses else {}
    command = {"command": "/gatepost", **({"url": f"{base}/slack/events"} if addresses else {})}
    made = {
        "features": {"slash_commands": [command]},
        "oauth_config": {"scopes": {"bot": list(scopes)}},
        "settings": {
            "event_subscriptions": url,
            "interactivity": {"is_enabled": True, **url},
            "socket_mode_enabled": socket,
        },
    }
    return yaml.safe_dump(made)


@asynccontextmanager
async def deployment(url: str, folder: Path) -> AsyncIterator[Deployment]:
    """One over a migrated database; afterwards Slack has found no fault with what it was sent."""
    async with fake_slack() as slack:
        slack.team.scopes = set(SCOPES)
        env = command_line(url, folder).env | {
            "PORT": "0",
            "SLACK_API_URL": slack.api_url,
            "SLACK_BOT_TOKEN": slack.team.bot_token,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "AUDIT_KEY": KEY,
            "SECRET_KEY": KEY,
        }
        made = Deployment(slack=slack, ada=slack.add_user("ada"), folder=folder, env=env)
        made.writes_manifest()
        async with opened(made.settings) as app:
            ada = await person_for(app, "ada", None)
            account = Account(surface="slack", ref=f"{slack.team.id}/{made.ada.id}")
            await app.store.people.save(ada, ada.org, Link(ada.id, account))
        yield made
        assert slack.faults == []


@pytest.fixture
async def here(
    tmp_path: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Deployment]:
    """A deployment on SQLite, whose folder is the current one, and ada's is the terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.setenv("SHOP_DB", str(tmp_path / "shop.db"))
    async with (
        migrated("sqlite", tmp_path, postgres_server, templates) as url,
        deployment(url, tmp_path) as made,
    ):
        yield made


@asynccontextmanager
async def answering(settings: Settings) -> AsyncIterator[str]:
    """The port at which Slack's path is served, with what *settings* set up, as the web process does."""
    background = Background()
    async with AsyncExitStack() as ends:
        app = await ends.enter_async_context(opened(settings))
        faces = await ends.enter_async_context(slack_faces(app, background))
        door = Door(path=EVENTS, methods=("POST",), handler=faces.get(EVENTS, nobody))
        server = await ends.enter_async_context(served(Starlette(routes=[door.route])))
        yield str(server.port)
        await background.drained(5)


@pytest.fixture
async def up(here: Deployment) -> AsyncIterator[Deployment]:
    """The same, its web process up."""
    async with answering(here.settings) as port:
        here.env["PORT"] = port
        yield here


def states(found: Mapping[str, Finding]) -> dict[str, State]:
    return {name: each.state for name, each in found.items()}


def only_wrong(found: Mapping[str, Finding]) -> Finding:
    """The one thing that is."""
    (one,) = (each for each in found.values() if each.state is State.WRONG)
    return one


def unchecked(found: Mapping[str, Finding]) -> set[str]:
    return {name for name, each in found.items() if each.state is State.UNCHECKED} - {"app token"}


# ── the command, and a real web process ──────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_where_all_is_well_each_line_says_so_and_the_card_was_clicked_by_the_real_web_process(
    kind: str, tmp_path: Path, postgres_server: Server, templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DB", str(tmp_path / "shop.db"))
    async with (
        migrated(kind, tmp_path, postgres_server, templates) as url,
        deployment(url, tmp_path) as here,
    ):
        env = {name: value for name, value in here.env.items() if name.isupper()}
        async with running(url, tmp_path, module=BOT, **env) as web:
            await web.tells("web is open")
            here.env["PORT"] = str(web.port)
            status, out, err = await doctor(here)
            _, found, _ = await doctor(here, "--json")
            web.stop()
            _, _, log = await web.ends()
    assert (status, err) == (0, "")
    marks = [words[0] for line in out.splitlines() if (words := line.split()) and words[0] in "✔✖–"]
    assert marks == ["✔"] * 6 + ["–"] + ["✔"] * 5 + ["–", "✔"]
    assert "telegram Telegram is not set up" in " ".join(out.split()) and "telegram token" not in out
    read = json.loads(found)
    assert {each["name"]: each["state"] for each in read} == ALL_BUT_SOCKET | NO_TELEGRAM
    assert all(each.keys() == {"name", "state", "said", "mend"} for each in read)
    assert [
        (words_of(m.blocks).splitlines()[0], len(m.history)) for m in here.slack.said(here.slack.dm(here.ada))
    ] == [("Gatepost works here", 2)] * 2
    assert "WARNING" not in log and "ERROR" not in log  # what it was asked leaves no trace there
    assert [secret for secret in here.all_secrets if secret in out + found + log] == []


async def test_what_is_wrong_is_marked_with_its_mend_and_the_status_is_1(up: Deployment) -> None:
    up.env["SLACK_BOT_TOKEN"] = "xoxb-canary-1234567890"
    up.secrets.append("canary")
    status, out, err = await doctor(up)
    assert status == 1
    assert err == "error: token is not well\n"
    lines = out.splitlines()
    (at,) = (n for n, line in enumerate(lines) if "✖" in line)
    assert lines[at].split() == ["✖", "token", "Slack", "says", "invalid_auth"]
    assert lines[at + 1].split()[:3] == ["→", "SLACK_BOT_TOKEN", "is"]
    assert "canary" not in out


async def test_who_is_looked_at_is_said_by_as_and_a_name_that_is_nobodys_is_wrong(up: Deployment) -> None:
    up.env["LOGNAME"] = "u4711"
    status, out, err = await doctor(up, "--as", "ada", "--json")
    assert (status, err) == (0, "")
    assert {each["name"]: each["state"] for each in json.loads(out)} == ALL_BUT_SOCKET | NO_TELEGRAM
    assert (await doctor(up, "--as", "nobody"))[::2] == (1, "error: card is not well\n")


async def test_a_secret_that_comes_back_in_an_error_is_not_printed(up: Deployment) -> None:
    token = up.slack.team.bot_token
    for arguments in ((), ("--json",)):
        up.slack.breaks("auth.test", refusal(f"no {token} here"))
        status, out, err = await doctor(up, *arguments)
        assert status == 1 and "[secret SLACK_BOT_TOKEN]" in out
        assert token not in out + err


async def doctor(here: Deployment, *arguments: str) -> tuple[int, str, str]:
    return await printed(here.env, here.folder, *arguments)


async def printed(env: Mapping[str, str], folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The command's status, and what it printed."""
    process = await forking.start(("doctor", *arguments), env, folder)
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


# ── settings ─────────────────────────────────────────────────────────────────────────────────


async def test_a_setting_that_cannot_be_read_is_named_and_nothing_else_is_looked_at(here: Deployment) -> None:
    found = await here.looked(SECRET_KEY="canary")
    assert "SECRET_KEY: one is shorter" in only_wrong(found).mend
    assert states(found) == dict.fromkeys(HERE, State.UNCHECKED) | {"settings": State.WRONG}
    assert "canary" not in str(found)


async def test_without_slack_its_lines_are_not_set_up_and_all_else_is_well(here: Deployment) -> None:
    found = await here.looked(SLACK_BOT_TOKEN=None, SLACK_SIGNING_SECRET=None)
    assert {name for name in HERE if found[name].state is State.WELL} == {
        "settings",
        "database",
        "app",
        "people",
    }
    assert unchecked(found) == set(HERE) - {"settings", "database", "app", "people", "app token"}
    assert "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET" in found["settings"].mend


async def test_a_signing_secret_without_a_token_is_wrong(here: Deployment) -> None:
    found = only_wrong(await here.looked(SLACK_BOT_TOKEN=None))
    assert (found.name, found.said) == ("settings", "SLACK_BOT_TOKEN is not set")
    assert "OAuth & Permissions" in found.mend


async def test_a_token_without_a_signing_secret_is_wrong_unless_a_socket_is_used(here: Deployment) -> None:
    found = await here.looked(SLACK_SIGNING_SECRET=None)
    assert only_wrong(found).name == "settings"
    assert "without it anybody could click" in found["settings"].mend
    assert unchecked(found) == {"route", "click", "command"}


async def test_slack_calls_no_address_but_https(up: Deployment) -> None:
    found = await up.looked(PUBLIC_URL=f"http://127.0.0.1:{up.env['PORT']}/")
    assert only_wrong(found).said == "PUBLIC_URL is no https address"
    assert found["route"].state is State.WELL
    assert "put http://127.0.0.1" in found["manifest"].mend


async def test_postgres_without_keys_is_told_of_each(up: Deployment, postgres_server: Server) -> None:
    found = await up.looked(
        AUDIT_KEY=None, SECRET_KEY=None, DATABASE_URL="postgresql://u:canary@127.0.0.1:1/no"
    )
    assert found["settings"].said == "AUDIT_KEY can't be used; SECRET_KEY can't be used"
    assert "canary" not in str(found)


# ── the database and the app ─────────────────────────────────────────────────────────────────


async def test_a_database_that_cannot_be_reached_keeps_nothing_of_slack_from_being_looked_at(
    up: Deployment,
) -> None:
    found = await up.looked(DATABASE_URL="postgresql+asyncpg://ada:canary@127.0.0.1:1/shop")
    assert only_wrong(found).name == "database"
    assert "DATABASE_URL" in found["database"].mend
    assert unchecked(found) == {"app", "people", "card", "click", "command"}
    assert "canary" not in str(found)


async def test_a_folder_that_is_missing_is_the_databases_line(up: Deployment) -> None:
    found = await up.looked(DATABASE_URL="sqlite+aiosqlite:////no/such/x.db", AUDIT_KEY=None, SECRET_KEY=None)
    assert only_wrong(found).name == "database"


async def test_a_postgres_without_the_schema_is_told_to_migrate(
    up: Deployment, postgres_server: Server
) -> None:
    await postgres_server.create_database("gatepost_doctor")
    found = await up.looked(DATABASE_URL=postgres_server.url("gatepost_doctor"))
    await postgres_server.drop_database("gatepost_doctor")
    assert (only_wrong(found).name, only_wrong(found).mend) == ("database", "run python -m bot migrate")


async def test_a_sqlite_file_where_disks_are_new_with_each_deploy_is_remarked(up: Deployment) -> None:
    found = await up.looked(RENDER="true")
    assert states(found) == ALL_BUT_SOCKET
    assert found["database"].mend.startswith("this is Render: let migrated.db be on a volume")


async def test_a_copy_without_its_wal_or_cut_short_is_told_as_far_as_it_shows(up: Deployment) -> None:
    """Bad input 90: a file whose tables are all in the -wal, and one of fewer pages than it says."""
    there, copied = up.folder / "there.db", up.folder / "copied.db"
    with closing(sqlite3.connect(there)) as writer:
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("CREATE TABLE t (x)")
        shutil.copy(there, copied)
    found = await up.looked(DATABASE_URL=f"sqlite+aiosqlite:///{copied}")
    assert only_wrong(found).said.startswith(
        "copied.db has nothing in it: it seems to be a copy without its -wal"
    )
    assert copied.stat().st_size == 4096  # nothing was made of it
    whole = (up.folder / "migrated.db").read_bytes()
    copied.write_bytes(whole[: len(whole) // 2])
    found = await up.looked(DATABASE_URL=f"sqlite+aiosqlite:///{copied}")
    assert only_wrong(found).said.startswith("copied.db is cut short")


async def test_a_host_that_is_not_there_is_the_apps_line(up: Deployment) -> None:
    found = await up.looked(HOST_APP="no.such:Host")
    assert (only_wrong(found).name, only_wrong(found).said) == ("app", "it does not open: HOST_APP")
    assert "no.such:Host can't be imported" in found["app"].mend


# ── the token, its scopes, the time ──────────────────────────────────────────────────────────


async def test_all_is_well_and_the_card_says_so_without_its_button(up: Deployment) -> None:
    found = await up.looked()
    assert states(found) == ALL_BUT_SOCKET
    assert "the bot gatepost in the workspace Acme" in found["token"].said
    assert words_of(up.card.blocks).splitlines()[0] == "Gatepost works here"
    assert "actions" not in {block["type"] for block in up.card.blocks}
    assert len(up.card.history) == 2  # it was edited, clicked, and edited
    assert up.slack.called("chat.delete") == []


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked", "account_inactive"])
async def test_a_wrong_token_is_named_with_where_the_right_one_is(up: Deployment, error: str) -> None:
    up.slack.breaks("auth.test", refusal(error))
    found = await up.looked()
    assert only_wrong(found) == Finding(
        name="token", state=State.WRONG, said=f"Slack says {error}", mend=tokens.TOKEN
    )
    assert "OAuth & Permissions" in tokens.TOKEN
    assert unchecked(found) == {"scopes", "card", "click", "command"}


async def test_a_persons_token_is_not_the_bots(up: Deployment) -> None:
    up.slack.breaks("auth.test", told(up, bot_id=""))
    found = await up.looked()
    assert only_wrong(found).said == "SLACK_BOT_TOKEN is a person's token, and not the bot's"


async def test_where_slack_cannot_be_reached_the_mend_is_not_the_token(up: Deployment) -> None:
    found = await up.looked(SLACK_API_URL="http://127.0.0.1:1/api/")
    assert only_wrong(found).name == "token"
    assert "see that this machine reaches Slack" in found["token"].mend
    assert unchecked(found) == {"scopes", "clock", "card", "click", "command"}


async def test_a_scope_that_is_missing_is_named_with_how_to_add_it(up: Deployment) -> None:
    up.slack.team.scopes -= {"files:write"}
    found = await up.looked()
    assert only_wrong(found) == Finding(
        name="scopes",
        state=State.WRONG,
        said="missing: files:write",
        mend="add what is missing under OAuth & Permissions of your Slack app, and reinstall it",
    )


async def test_a_scope_too_many_is_a_remark(up: Deployment) -> None:
    up.slack.team.scopes |= {"admin"}
    found = await up.looked()
    assert states(found) == ALL_BUT_SOCKET
    assert found["scopes"].mend.startswith("Gatepost has no use for admin:")


@pytest.mark.parametrize(
    ("seconds", "words"), [(-90, "ours is 90 s ahead of"), (400, "ours is 400 s behind")]
)
async def test_a_clock_that_is_off_is_told_before_signatures_are_refused(
    up: Deployment, seconds: int, words: str
) -> None:
    up.slack.breaks("auth.test", told(up, ahead=seconds))
    found = await up.looked()
    assert only_wrong(found).name == "clock"
    assert abs(int(found["clock"].said.split()[2]) - abs(seconds)) <= 2
    assert found["clock"].said.split()[4] == words.split()[4]
    assert "signatures are refused from 300 s on" in found["clock"].mend


async def test_a_clock_within_a_minute_is_well(up: Deployment) -> None:
    up.slack.breaks("auth.test", told(up, ahead=50))
    assert states(await up.looked()) == ALL_BUT_SOCKET


def told(here: Deployment, ahead: int = 0, **over: str) -> Trouble:
    """An answer of auth.test, by a clock that is *ahead*."""
    team = here.slack.team
    answer = {
        "ok": True,
        "url": "https://acme.slack.com/",
        "team": team.name,
        "user": "gatepost",
        "team_id": team.id,
        "user_id": team.bot_user_id,
        "bot_id": team.bot_id,
        **over,
    }
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead), usegmt=True)
    headers = {"Content-Type": "application/json", "Date": date, "X-OAuth-Scopes": ",".join(SCOPES)}
    return Trouble(body=json.dumps(answer).encode(), headers=headers)


# ── Socket Mode ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("secret", [None, SIGNING_SECRET])
async def test_in_socket_mode_the_card_is_posted_and_edited_and_nothing_goes_through_the_route(
    secret: str | None, here: Deployment
) -> None:
    here.writes_manifest(socket=True, addresses=False)
    found = await here.looked(SLACK_APP_TOKEN=APP_TOKEN, SLACK_SIGNING_SECRET=secret)
    assert states(found) == dict.fromkeys(HERE, State.WELL) | dict.fromkeys(
        ("route", "click", "command"), State.UNCHECKED
    )
    assert "Socket Mode" in found["settings"].said
    assert found["manifest"].mend == ""
    assert words_of(here.card.blocks).splitlines()[0] == "Gatepost works here"


async def test_an_app_token_that_slack_does_not_take_is_named_with_where_the_right_one_is(
    here: Deployment,
) -> None:
    found = await here.looked(SLACK_APP_TOKEN="xapp-canary-123456", SLACK_SIGNING_SECRET=None)
    assert (only_wrong(found).name, only_wrong(found).mend) == ("app token", tokens.APP_TOKEN)
    assert "canary" not in str(found)
    assert "socket_mode_enabled" in found["manifest"].mend


async def test_with_an_app_token_and_a_public_url_it_is_said_which_is_used(up: Deployment) -> None:
    up.writes_manifest(f"http://127.0.0.1:{up.env['PORT']}")
    found = await up.looked(SLACK_APP_TOKEN=APP_TOKEN, PUBLIC_URL=f"http://127.0.0.1:{up.env['PORT']}")
    assert found["app token"].state is State.WELL
    assert found["app token"].mend.startswith("HTTP is used, since PUBLIC_URL is set")
    assert found["click"].state is State.WELL


# ── the route ────────────────────────────────────────────────────────────────────────────────


async def test_where_nothing_listens_the_web_process_is_to_be_started(here: Deployment) -> None:
    found = await here.looked(PORT="1")
    assert only_wrong(found).name == "route"
    assert "python -m bot web" in found["route"].mend and "PORT" in found["route"].mend
    assert unchecked(found) == {"click", "command"}
    assert words_of(here.card.blocks).startswith("Gatepost does not work here yet\n✖ route: ")


async def test_another_signing_secret_on_one_side_is_told_as_that(up: Deployment) -> None:
    found = await up.looked(SLACK_SIGNING_SECRET=OTHER_SECRET)
    assert only_wrong(found).name == "route"
    assert "knows another signing secret" in found["route"].said
    assert (
        "let SLACK_SIGNING_SECRET there be the Signing Secret under Basic Information" in found["route"].mend
    )
    assert unchecked(found) == {"click", "command"}


async def test_while_the_signing_secret_is_exchanged_the_web_process_has_to_know_both(up: Deployment) -> None:
    found = await up.looked(SLACK_SIGNING_SECRET=f"{SIGNING_SECRET},{OTHER_SECRET}")
    assert "SLACK_SIGNING_SECRET's number 2" in only_wrong(found).said
    assert found["route"].mend.startswith("restart the web process")


@dataclass
class Answers:
    """Whatever is asked, *response*; what Slack's challenge is, with *echo*."""

    response: Response | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.response is not None:
            await self.response(scope, receive, send)
            return
        body = json.loads((await receive())["body"])
        await PlainTextResponse(body["challenge"])(scope, receive, send)


async def test_a_route_that_takes_what_slack_did_not_sign_is_named_as_open_to_anybody(
    here: Deployment,
) -> None:
    async with served(Answers()) as server:
        found = await here.looked(PORT=str(server.port))
    assert only_wrong(found).said.endswith("takes what Slack did not sign: anybody could click")


@pytest.mark.parametrize(
    ("response", "said", "mend"),
    [
        (PlainTextResponse("Not open yet", 503), "the web process is not open", "its log says why"),
        (HTMLResponse("<html>Application error</html>", 503), "the platform's router", "web process runs"),
        (HTMLResponse("<html>No such app</html>", 404), "the platform's router", "nothing is there by that"),
        (HTMLResponse("<html>Hello</html>"), "the platform's router", "PORT is the one"),
        (PlainTextResponse("Not Found", 404), "serves no Slack", "SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET"),
        (PlainTextResponse("who is there?", 401), "asks who is there", "let Slack through"),
        (PlainTextResponse("no", 403), "asks who is there", "let Slack through"),
        (PlainTextResponse("oh", 500), "answers 500", "its log says what broke"),
        (PlainTextResponse("welcome"), "and not as Gatepost does", "let PUBLIC_URL be"),
        (RedirectResponse("https://other.example/x", 301), "it leads on to https://other", "ends up at"),
    ],
)
async def test_each_way_not_to_answer_has_a_mend_of_its_own(
    response: Response, said: str, mend: str, here: Deployment
) -> None:
    async with served(Answers(response)) as server:
        found = await here.looked(PORT=str(server.port))
    assert only_wrong(found).name == "route"
    assert said in found["route"].said and mend in found["route"].mend
    assert unchecked(found) == {"click", "command"}


async def test_an_answer_that_does_not_come_in_slacks_time_is_told_as_that() -> None:
    released = asyncio.Event()

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await released.wait()
        await PlainTextResponse("late")(scope, receive, send)

    async with served(waits) as server, aiohttp.ClientSession() as session:
        address = Address(
            post=Outside(session).post,
            url=f"http://127.0.0.1:{server.port}",
            path=EVENTS,
            public=False,
            chat="Slack",
            settings="all",
        )
        path = paths.Path(address=address, signing_secrets=[SIGNING_SECRET], clock=SystemClock())
        got = await path.asked(b"", paths.FORM, seconds=0.1)
        released.set()
    said, mend = path.why_not(got)
    assert said == f"no answer from {address.url} within 0.1 s"
    assert "how far away its database is" in mend
    assert paths.ANSWER_SECONDS == 3


@pytest.mark.parametrize(
    "trouble",
    [
        html(),
        http_error(502),
        lost(),
        Trouble(body=b"{", headers={"Content-Type": "application/json"}),
        Trouble(body=b"[]", headers={"Content-Type": "application/json"}),
        Trouble(body=b'{"ok": true}', headers={"Content-Type": "application/json"}),
    ],
)
async def test_whatever_answers_in_slacks_place_is_the_tokens_line_and_no_traceback(
    trouble: Trouble, up: Deployment
) -> None:
    up.slack.breaks("auth.test", trouble)
    found = await up.looked()
    assert only_wrong(found).name == "token"
    assert {"card", "click", "command"} <= unchecked(found)


async def test_where_slack_asks_to_wait_so_does_doctor(up: Deployment) -> None:
    up.slack.breaks("auth.test", too_many(7))
    found = only_wrong(await up.looked())
    assert (found.name, found.said, found.mend) == ("token", "the chat asks us to wait 7 s", "try again then")


async def test_a_public_url_is_shown_without_a_password(here: Deployment) -> None:
    found = await here.looked(PUBLIC_URL="https://ada:canary@127.0.0.1:1/x")
    assert found["route"].said.startswith("https://127.0.0.1:1/x/slack/events can't be reached")
    assert "canary" not in str(found)


# ── the manifest ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "state", "words"),
    [
        (made_manifest(), State.WELL, "put https://bot.example for https://YOUR-APP.example.com"),
        (made_manifest("https://bot.example"), State.WELL, ""),
        (made_manifest("https://bot.example.evil"), State.WRONG, "put https://bot.example there"),
        (made_manifest("https://old.example"), State.WRONG, "put https://bot.example there"),
        (made_manifest(scopes=SCOPES[1:]), State.WRONG, "take the one of this version"),
        (made_manifest(scopes=[*SCOPES, "admin"]), State.WRONG, "take the one of this version"),
        ("a: [", State.WRONG, "take the one of this version again"),
        ("just words", State.WRONG, "take the one of this version again"),
    ],
)
def test_the_manifest_is_held_against_the_code_and_the_public_url(
    text: str, state: State, words: str
) -> None:
    found = manifests.manifest(text, "https://bot.example", by_socket=False)
    assert found.state is state
    assert words in found.mend and bool(words) == bool(found.mend)


def test_the_shipped_manifest_is_of_this_version_and_has_the_placeholder() -> None:
    found = manifests.manifest((ROOT / "slack-manifest.yaml").read_text("utf-8"), None, by_socket=False)
    assert found.state is State.WELL, found.said
    assert manifests.PLACEHOLDER in found.mend


# ── the card ─────────────────────────────────────────────────────────────────────────────────


async def test_where_cards_cannot_be_edited_that_line_alone_is_wrong(up: Deployment) -> None:
    up.slack.edits_closed = True
    found = await up.looked()
    assert only_wrong(found).name == "card"
    assert found["card"].said == "it can't be edited: Slack says edit_window_closed"
    assert "Message Editing" in found["card"].mend
    assert found["click"].state is found["command"].state is State.WELL


async def test_a_card_that_can_be_edited_once_and_not_at_its_end_is_not_well(up: Deployment) -> None:
    async def closes() -> None:
        await up.slack.wait_for(lambda: up.slack.called("chat.update"))
        up.slack.edits_closed = True

    found, _ = await asyncio.gather(up.looked(), closes())
    assert len(up.card.history) == 1
    assert only_wrong(found).name == "card"


async def test_where_the_card_cannot_be_posted_nothing_is_clicked(up: Deployment) -> None:
    up.slack.breaks("chat.postMessage", refusal("messages_tab_disabled"))
    found = await up.looked()
    assert only_wrong(found).name == "card"
    assert "Messages Tab" in found["card"].mend
    assert unchecked(found) == {"click", "command"}


@dataclass
class Recording:
    """Hands every request on to *app*, and keeps the forms."""

    app: SlackRoute
    forms: list[dict[str, str]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = await request.body()
        if request.headers["content-type"] == paths.FORM:
            self.forms.append(dict(parse_qsl(body.decode(), keep_blank_values=True)))

        async def again() -> StarletteMessage:
            return {"type": "http.request", "body": body}

        await self.app(scope, again, send)


async def test_click_and_command_are_made_as_slack_makes_its_own_on_that_message(here: Deployment) -> None:
    async with AsyncExitStack() as ends:
        app = await ends.enter_async_context(opened(here.settings))
        background = Background()
        faces = await ends.enter_async_context(slack_faces(app, background))
        route = faces[EVENTS]
        assert isinstance(route, SlackRoute)
        recording = Recording(route)
        port = (await ends.enter_async_context(served(recording))).port
        assert states(await here.looked(PORT=str(port))) == ALL_BUT_SOCKET
        here.slack.bot_url = f"http://127.0.0.1:{port}{EVENTS}"
        await here.slack.clicks(here.ada, here.card, "approve", stale=True)
        await here.slack.commands(here.ada, here.slack.dm(here.ada), "/gatepost", "help")
        await background.drained(5)
    click, command, slacks_click, slacks_command = recording.forms
    ours, slacks = json.loads(click["payload"]), json.loads(slacks_click["payload"])
    made_up = {"token", "trigger_id", "response_url", "message", "state"}
    for key in ours.keys() | slacks.keys():
        if key == "user":
            assert {k: ours[key][k] for k in ("id", "team_id")} == {
                k: slacks[key][k] for k in ("id", "team_id")
            }
        elif key == "actions":
            assert [a | {"action_ts": ""} for a in ours[key]] == [a | {"action_ts": ""} for a in slacks[key]]
        elif key not in made_up:
            assert ours[key] == slacks[key], key
    assert ours["message"]["ts"] == slacks["message"]["ts"]
    said = {"token", "trigger_id", "response_url", "user_name"}
    assert command.keys() == slacks_command.keys()
    assert {k for k in command if command[k] != slacks_command[k]} <= said


async def test_a_click_decides_nothing_and_leaves_nothing_in_the_database(up: Deployment) -> None:
    async with opened(up.settings) as app:
        before = await app.store.ledger.unsealed(OrgId("local"), 100)
        assert states(await up.looked()) == ALL_BUT_SOCKET
        assert await app.store.ledger.unsealed(OrgId("local"), 100) == before
        assert await app.store.ledger.find(OrgId("local"), Query()) == []


async def test_a_web_process_over_another_database_does_not_know_who_is_known_here(
    here: Deployment, postgres_server: Server, templates: Templates
) -> None:
    (here.folder / "other").mkdir()
    async with (
        migrated("sqlite", here.folder / "other", postgres_server, templates) as url,
        answering(Settings.from_env(here.env | {"DATABASE_URL": url})) as port,
    ):
        found = await here.looked(PORT=port)
    assert only_wrong(found).name == "command"
    assert found["command"].said.startswith("the web process does not know you")
    assert "the same DATABASE_URL" in found["command"].mend
    assert "✖ command" in words_of(here.card.blocks)


# ── people ───────────────────────────────────────────────────────────────────────────────────


async def changed(here: Deployment, *changes: Any) -> None:
    await changed_by_ada(here.settings, *changes)


async def changed_by_ada(settings: Settings, *changes: Any) -> None:
    """ada made the changes."""
    async with opened(settings) as app:
        ada = await person_for(app, "ada", None)
        for change in changes:
            await app.store.people.save(ada, ada.org, change)


async def test_who_is_linked_to_nobody_is_told_how_to_link_and_gets_no_card(up: Deployment) -> None:
    await changed(up, Add(name="Eve", roles=frozenset({Role.MEMBER})))
    found = await up.looked("Eve")
    assert unchecked(found) == {"card", "click", "command"}
    assert found["card"].said == "Eve has no account of this workspace"
    assert f"python -m bot people link Eve slack:{up.slack.team.id}/U…; T… is in" in found["card"].mend
    assert all(each.state is not State.WRONG for each in found.values())
    assert up.slack.called("chat.postMessage") == []


async def test_somebody_else_is_looked_at_by_as(up: Deployment) -> None:
    ben = up.slack.add_user("ben")
    account = Account(surface="slack", ref=f"{up.slack.team.id}/{ben.id}")
    await changed(up, Add(name="Ben", roles=frozenset({Role.MEMBER}), accounts=(account,)))
    assert states(await up.looked("Ben")) == ALL_BUT_SOCKET
    assert [words_of(m.blocks).splitlines()[0] for m in up.slack.said(up.slack.dm(ben))] == [
        "Gatepost works here"
    ]


async def test_a_terminal_whose_user_is_nobody_is_told_to_say_who_they_are(
    up: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "u4711")
    found = await up.looked()
    assert found["card"].state is State.UNCHECKED
    assert found["card"].mend == "say who you are with --as NAME: ada"
    assert only_wrong(await up.looked("nobody")).said == "nobody here is called nobody"


async def test_an_owner_without_an_account_there_is_wrong_with_the_command_that_links_one(
    up: Deployment,
) -> None:
    found = await up.looked(SLACK_BOT_TOKEN=up.slack.add_team("Other").bot_token)
    assert found["people"].said == "no owner has an account of this workspace"
    assert found["people"].mend.startswith("python -m bot people link ada slack:T")
    assert unchecked(found) >= {"card", "click", "command"}


async def test_cards_that_go_where_nobody_sends_are_told_with_the_command_that_turns_them(
    up: Deployment,
) -> None:
    nowhere, somewhere = Route(surface="telegram", ref="-100"), Route(surface="slack", ref="T1/C1")
    await changed(up, SetRoute("lead", nowhere), SetRoute("", somewhere))
    found = await up.looked()
    assert only_wrong(found).said == "the cards of lead go to telegram, for which nobody sends"
    assert found["people"].mend.endswith("python -m bot org route lead thread")


async def test_an_empty_database_has_nobody_and_doctor_makes_nobody_its_owner(
    up: Deployment,
) -> None:
    url = f"sqlite+aiosqlite:///{up.folder / 'new.db'}"
    found = await up.looked(DATABASE_URL=url)
    assert found["database"].said == "the SQLite file new.db, made just now"
    assert found["people"].said == found["card"].said == "there is nobody yet"
    async with opened(Settings.from_env(up.env | {"DATABASE_URL": url})) as app:
        assert await app.store.ledger.organizations() == []


# ── several workspaces ───────────────────────────────────────────────────────────────────────


async def test_an_app_for_several_workspaces_is_looked_at_where_it_was_installed_last(up: Deployment) -> None:
    several = {
        "SLACK_BOT_TOKEN": None,
        "GATEPOST_SLACK_CLIENT_ID": "of-gatepost",
        "GATEPOST_SLACK_CLIENT_SECRET": "secret-of-gatepost",
    }
    found = await up.looked(**several)
    assert found["token"].state is State.WRONG
    assert found["token"].mend == "open your address/slack/install in a browser, and install it"
    assert found["scopes"].state is State.UNCHECKED
    environ = {name: value for name, value in {**up.env, **several}.items() if value is not None}
    async with opened(Settings.from_env(environ)) as app, slack_parts(app) as parts:
        assert parts is not None and isinstance(parts.workspaces, ManyWorkspaces)
        team = up.slack.team
        bot = Bot(
            app_id=team.app_id,
            team_id=team.id,
            bot_token=team.bot_token,
            bot_id=team.bot_id,
            bot_user_id=team.bot_user_id,
            bot_scopes=",".join(SCOPES),
            installed_at=datetime.now(UTC).timestamp(),
        )
        await parts.workspaces.installs.async_save_bot(bot)
    found = await up.looked(**several)
    assert (found["token"].state, found["scopes"].state, found["card"].state) == (State.WELL,) * 3
