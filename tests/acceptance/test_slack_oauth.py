"""The app is installed from a browser, by way of Slack, and its token kept; or a page says what mends it."""

import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from slack_bolt.oauth import async_internals
from slack_sdk.oauth.installation_store import FileInstallationStore
from slack_sdk.oauth.state_store import FileOAuthStateStore
from slack_sdk.web.async_client import AsyncWebClient
from starlette.applications import Starlette
from starlette.routing import Route

from adapters.sealing import FernetSealer
from adapters.slack.installed.installs import SealedInstallations
from adapters.slack.installed.many_workspaces import ManyWorkspaces
from adapters.slack.installed.oauth import INSTALL_PATH, REDIRECT_PATH, SlackOAuth, slack_oauth
from adapters.slack.installed.scopes import SCOPES
from adapters.slack.installed.states import OAuthStates
from adapters.slack.installed.workspaces import Installation
from core.errors import ConfigError
from core.redact import Redactor
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.slack_oauth import OAuthServer, giving_tokens

# slack_sdk signs its request for a token with what aiohttp 4 will no longer have; we stay below 4.
pytestmark = pytest.mark.filterwarnings("ignore:BasicAuth is deprecated:DeprecationWarning")

APP, SECRET = "1111.2222", "client-secret-canary"
TOKEN = "xoxb-canary-0123456789"
REFRESH = "xoxe-1-canary-0123456789"
PUBLIC = "https://bot.example"
INSTALL = PUBLIC + INSTALL_PATH
COOKIE = "slack-app-oauth-state"

GRANTED = {
    "app_id": "A1",
    "authed_user": {"id": "U1"},
    "scope": ",".join(SCOPES),
    "token_type": "bot",
    "access_token": TOKEN,
    "bot_user_id": "U0BOT",
    "team": {"id": "T1", "name": "Acme & <b>Sons</b>"},
    "enterprise": None,
    "is_enterprise_install": False,
}
"""What Slack answers a code with."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """What a browser was answered."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(kw_only=True)
class Browser:
    """One person's, with its cookies, at the bot's own addresses."""

    app: Starlette
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, **query: str) -> Page:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": urlencode(query).encode(),
            "headers": [(b"cookie", cookie.encode())] if cookie else [],
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        self._take(value for name, value in headers if name == "set-cookie")
        body = b"".join(one.get("body", b"") for one in sent[1:])
        return Page(status=sent[0]["status"], headers=dict(headers), text=body.decode())

    def _take(self, lines: Any) -> None:
        for line in lines:
            for name, morsel in SimpleCookie(line).items():
                assert morsel["secure"] and morsel["httponly"] and morsel["samesite"] == "lax"
                if morsel["expires"].endswith("1970 00:00:00 GMT"):
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = morsel.value

    async def goes_to_slack(self) -> str:
        """The state that it has to come back with."""
        page = await self.get(INSTALL_PATH)
        (state,) = parse_qs(urlsplit(page.headers["location"]).query)["state"]
        return state


@dataclass(kw_only=True)
class Bot:
    """The bot's two addresses, over one database."""

    sql: SqlPlanted
    slack: OAuthServer
    redactor: Redactor = field(default_factory=Redactor)
    keys: list[str] = field(default_factory=lambda: ["k" * 32])

    @property
    def installs(self) -> SealedInstallations:
        return SealedInstallations(
            rows=self.sql.db, client_id=APP, sealer=FernetSealer(self._keys), redactor=self.redactor
        )

    def _keys(self) -> list[str]:
        if not self.keys:
            raise ConfigError("SECRET_KEY: it is not set")
        return self.keys

    def oauth(self, public_url: str | None = PUBLIC, client: AsyncWebClient | None = None) -> SlackOAuth:
        return slack_oauth(
            client=client or self.slack.client,
            client_secret=SECRET,
            public_url=public_url,
            installs=self.installs,
            states=OAuthStates(rows=self.sql.db),
        )

    def browser(self) -> Browser:
        oauth = self.oauth()
        routes = [Route(INSTALL_PATH, oauth.install), Route(REDIRECT_PATH, oauth.redirected)]
        return Browser(app=Starlette(routes=routes))

    async def known(self, enterprise: str | None, team: str) -> Installation | None:
        many = ManyWorkspaces(
            installs=self.installs,
            leases=self.sql.store.leases,
            client=self.slack.client,
            client_secret=SECRET,
        )
        return await many.of(enterprise, team)

    async def installed(self) -> int:
        return await self.sql.count("slack_bots") + await self.sql.count("slack_installations")


@pytest.fixture
async def bot(migrated_url: str) -> AsyncIterator[Bot]:
    """A bot over a fresh database of each kind."""
    sql = SqlPlanted(migrated_url)
    async with giving_tokens() as slack:
        slack.grants = {"code-1": {**GRANTED}}
        yield Bot(sql=sql, slack=slack)
    await sql.close()


# ── installed ────────────────────────────────────────────────────────────────────────────────


async def test_who_goes_to_slack_and_agrees_has_the_bot_in_their_workspace(bot: Bot) -> None:
    browser = bot.browser()
    page = await browser.get(INSTALL_PATH)
    there = urlsplit(page.headers["location"])
    state = browser.cookies[COOKIE]
    assert (page.status, page.text) == (302, "")
    assert f"{there.scheme}://{there.netloc}{there.path}" == f"{bot.slack.url}/oauth/v2/authorize"
    assert parse_qsl(there.query, keep_blank_values=True) == [
        ("state", state),
        ("client_id", APP),
        ("scope", ",".join(SCOPES)),
        ("user_scope", ""),
        ("redirect_uri", PUBLIC + REDIRECT_PATH),
    ]
    done = await browser.get(REDIRECT_PATH, code="code-1", state=state)
    assert done.status == 200
    assert bot.slack.asked == [
        {
            "code": "code-1",
            "redirect_uri": PUBLIC + REDIRECT_PATH,
            "client_id": APP,
            "client_secret": SECRET,
        }
    ]
    assert await bot.known(None, "T1") == Installation(
        team="T1", enterprise=None, token=TOKEN, bot_user="U0BOT", bot_id="B1"
    )
    assert browser.cookies == {}


async def test_the_page_says_where_the_bot_is_and_what_is_next(bot: Bot) -> None:
    browser = bot.browser()
    page = await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    assert "Gatepost is in Acme &amp; &lt;b&gt;Sons&lt;/b&gt;." in page.text
    assert "<b>" not in page.text and TOKEN not in page.text
    assert "python -m bot people invite" in page.text and "/gatepost join CODE" in page.text
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert (page.headers["cache-control"], page.headers["referrer-policy"]) == ("no-store", "no-referrer")


async def test_an_enterprise_is_installed_as_a_whole_and_named_so(bot: Bot) -> None:
    whole = {"team": None, "enterprise": {"id": "E1", "name": "Acme Group"}, "is_enterprise_install": True}
    bot.slack.grants["code-1"] |= whole
    browser = bot.browser()
    page = await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    found = await bot.known("E1", "T7")
    assert "Gatepost is in Acme Group." in page.text
    assert found is not None and (found.name, found.token, found.org_wide) == ("E1", TOKEN, True)


async def test_a_token_that_ends_is_kept_with_what_renews_it(bot: Bot) -> None:
    bot.slack.grants["code-1"] |= {"refresh_token": REFRESH, "expires_in": 43200}
    browser = bot.browser()
    await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    found = await bot.installs.async_find_bot(enterprise_id=None, team_id="T1")
    assert found is not None and found.bot_refresh_token == REFRESH
    assert found.bot_token_expires_at is not None
    assert abs(found.bot_token_expires_at - datetime.now(UTC).timestamp() - 43200) < 60


async def test_what_slack_gives_of_a_persons_own_is_not_kept(bot: Bot) -> None:
    bot.slack.grants["code-1"] |= {
        "authed_user": {"id": "U1", "access_token": "xoxp-canary-0123456789", "scope": "search:read"},
        "incoming_webhook": {"url": "https://hooks.slack.com/services/T1/B1/canary"},
    }
    browser = bot.browser()
    await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    row = await bot.sql.row("slack_installations")
    assert (row["user_id"], row["user_token"], row["incoming_webhook_url"]) == ("U1", None, None)


@pytest.mark.rule("I33")
async def test_no_secret_is_in_a_column_a_log_or_a_page(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bot.slack.grants["code-1"] |= {"refresh_token": REFRESH, "expires_in": 43200}
    browser = bot.browser()
    state = await browser.goes_to_slack()
    pages = [await browser.get(REDIRECT_PATH, code=code, state=state) for code in ("code-1", "code-1")]
    bot.slack.refuses = "bad_client_secret"
    other = bot.browser()
    pages.append(await other.get(REDIRECT_PATH, code="code-canary", state=await other.goes_to_slack()))
    rows = [row for table in ("slack_bots", "slack_installations") for row in await bot.sql.table(table)]
    seen = (
        [page.text for page in pages] + [str(row) for row in rows] + [r.getMessage() for r in caplog.records]
    )
    assert (len(rows), [page.status for page in pages]) == (2, [200, 400, 401])
    assert [said for said in seen if "canary" in said] == []
    assert "bad_client_secret" in caplog.text
    assert bot.redactor.redact(f"{TOKEN} {REFRESH}") == (
        "[secret slack/T1/bot_token] [secret slack/T1/bot_refresh_token]"
    )


# ── not installed ────────────────────────────────────────────────────────────────────────────


async def test_a_state_is_good_once_and_for_the_browser_that_has_it(bot: Bot) -> None:
    bot.slack.grants |= {"code-2": {**GRANTED}}
    one, other = bot.browser(), bot.browser()
    state = await one.goes_to_slack()
    stolen = await other.get(REDIRECT_PATH, code="code-1", state=state)
    assert stolen.status == 400 and "finish in the same browser" in stolen.text
    assert (bot.slack.asked, await bot.installed()) == ([], 0)
    cookies = {**one.cookies}
    assert (await one.get(REDIRECT_PATH, code="code-1", state=state)).status == 200
    one.cookies = cookies
    again = await one.get(REDIRECT_PATH, code="code-2", state=state)
    assert again.status == 401 and "or was finished already" in again.text
    assert len(bot.slack.asked) == 1


async def test_who_comes_back_too_late_begins_again(bot: Bot) -> None:
    browser = bot.browser()
    state = await browser.goes_to_slack()
    await bot.sql.update("slack_oauth_states", {"expire_at": datetime.now(UTC).replace(tzinfo=None)})
    page = await browser.get(REDIRECT_PATH, code="code-1", state=state)
    assert page.status == 401 and f"<a href='{INSTALL}'>{INSTALL}</a>" in page.text
    assert (bot.slack.asked, await bot.installed()) == ([], 0)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("access_denied", "It was cancelled at Slack"),
        ("invalid_team_for_non_distributed_app", "Slack says invalid_team_for_non_distributed_app."),
        ("<script>alert(1)</script>", "Begin again at"),
        ("Call 555 at once", "Begin again at"),
        ("{install.__class__}", "Begin again at"),
    ],
)
async def test_what_an_address_says_went_wrong_is_shown_as_a_name_or_not_at_all(
    bot: Bot, error: str, words: str
) -> None:
    page = await bot.browser().get(REDIRECT_PATH, error=error)
    assert page.status == 200 and words in page.text
    assert all(part not in page.text for part in ("script>", "555", "__class__"))


@pytest.mark.parametrize("query", [{}, {"code": "code-1"}, {"state": "made-up", "code": "code-1"}])
async def test_who_did_not_begin_here_gets_nowhere(bot: Bot, query: dict[str, str]) -> None:
    page = await bot.browser().get(REDIRECT_PATH, **query)
    assert (page.status, bot.slack.asked, await bot.installed()) == (400, [], 0)


async def test_who_comes_back_without_a_code_begins_again(bot: Bot) -> None:
    browser = bot.browser()
    page = await browser.get(REDIRECT_PATH, state=await browser.goes_to_slack())
    assert page.status == 401 and "Slack sent no code" in page.text


@pytest.mark.parametrize(
    "odd",
    [
        {"access_token": None},
        {"token_type": "user"},
        {"bot_user_id": None},
        {"team": None},
        {"team": None, "is_enterprise_install": True},
        {"authed_user": None},
        {"access_token": "nobody-is-that"},
    ],
    ids=str,
)
async def test_an_answer_of_slacks_that_is_no_bot_somewhere_is_not_kept(
    bot: Bot, odd: dict[str, Any]
) -> None:
    bot.slack.grants["code-1"] |= odd
    browser = bot.browser()
    page = await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    assert page.status == 401 and "Slack did not confirm the installation" in page.text
    assert await bot.installed() == 0


@pytest.mark.rule("I33")
async def test_a_token_that_slack_then_does_not_know_is_shown_to_nobody_either(bot: Bot) -> None:
    bot.slack.grants["code-1"] |= {"access_token": "nobody-is-that"}
    browser = bot.browser()
    await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    assert bot.redactor.redact("nobody-is-that") == "[secret slack/T1/bot_token]"


async def test_where_slack_can_not_be_reached_a_page_says_so(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    bot.slack.url = "http://127.0.0.1:1"
    browser = bot.browser()
    page = await browser.get(REDIRECT_PATH, code="code-1", state=await browser.goes_to_slack())
    assert page.status == 401 and "Slack could not be asked" in caplog.text


async def test_what_can_not_be_kept_is_told_in_the_log_and_not_as_done(
    bot: Bot, caplog: pytest.LogCaptureFixture
) -> None:
    browser = bot.browser()
    state = await browser.goes_to_slack()
    bot.keys.clear()
    page = await browser.get(REDIRECT_PATH, code="code-1", state=state)
    assert page.status == 500 and "could not be kept" in page.text
    assert "SECRET_KEY" in caplog.text and "SECRET_KEY" not in page.text
    assert await bot.installed() == 0


async def test_without_a_database_nobody_is_sent_to_slack(bot: Bot) -> None:
    await bot.sql.run("DROP TABLE slack_oauth_states")
    page = await bot.browser().get(INSTALL_PATH)
    assert page.status == 503 and "could not be kept" in page.text and "location" not in page.headers


async def test_a_link_to_the_installation_asks_for_nothing_more(bot: Bot) -> None:
    page = await bot.browser().get(INSTALL_PATH, team="T1&scope=admin\r\nSet-Cookie: a=b", scope="admin")
    assert page.status == 302 and "admin" not in page.headers["location"]


# ── how it is set up ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("public_url", [None, "http://bot.example"])
async def test_without_an_address_that_slack_takes_it_is_not_offered(
    bot: Bot, public_url: str | None
) -> None:
    with pytest.raises(ConfigError, match="PUBLIC_URL"):
        bot.oauth(public_url)


async def test_without_a_key_it_is_not_offered(bot: Bot) -> None:
    bot.keys.clear()
    with pytest.raises(ConfigError, match="SECRET_KEY"):
        bot.oauth()


@pytest.mark.parametrize("public_url", ["https://bot.example/slackbot", "https://bot.example/slackbot/"])
async def test_an_address_with_a_path_of_its_own_is_kept_whole(bot: Bot, public_url: str) -> None:
    settings = bot.oauth(public_url).flow.settings
    assert settings.redirect_uri == "https://bot.example/slackbot/slack/oauth_redirect"


async def test_slack_itself_is_where_its_web_api_is(bot: Bot) -> None:
    flows = [
        bot.oauth(client=AsyncWebClient(base_url=url)).flow
        for url in ("https://slack.com/api/", "https://slack-gov.com/api/")
    ]
    assert [flow.settings.authorization_url for flow in flows] == [
        "https://slack.com/oauth/v2/authorize",
        "https://slack-gov.com/oauth/v2/authorize",
    ]


async def test_names_of_bolts_own_in_the_environment_change_nothing_and_no_file_is_made(
    bot: Bot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    made: list[object] = []
    for store in (FileInstallationStore, FileOAuthStateStore):
        monkeypatch.setattr(store, "__init__", lambda self, **_: made.append(self))
    monkeypatch.setattr(async_internals, "default_installation_stores", {})  # else one of another test
    for name, value in {
        "HOME": str(home),
        "SLACK_CLIENT_ID": "of bolt",
        "SLACK_CLIENT_SECRET": "of bolt",
        "SLACK_SCOPES": "admin",
        "SLACK_USER_SCOPES": "admin",
        "SLACK_REDIRECT_URI": "https://elsewhere.example",
        "SLACK_INSTALL_PATH": "/elsewhere",
        "SLACK_REDIRECT_URI_PATH": "/elsewhere",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home)
    browser = bot.browser()
    page = await browser.get(INSTALL_PATH)
    state = browser.cookies[COOKIE]
    assert "elsewhere" not in page.headers["location"] and "admin" not in page.headers["location"]
    assert (await browser.get(REDIRECT_PATH, code="code-1", state=state)).status == 200
    assert bot.slack.asked[0]["client_id"] == APP
    assert (made, list(home.iterdir())) == ([], [])
    settings = bot.oauth().flow.settings
    assert (settings.client_id, settings.client_secret) == (APP, SECRET)
    assert (settings.install_path, settings.redirect_uri_path) == (INSTALL_PATH, REDIRECT_PATH)
    assert (tuple(settings.scopes or ()), tuple(settings.user_scopes or ())) == (SCOPES, ())
    assert settings.installation_store_bot_only is True


def test_the_bot_asks_for_what_it_needs_and_no_more() -> None:
    assert sorted(SCOPES) == [
        "app_mentions:read",
        "channels:history",
        "chat:write",
        "commands",
        "files:write",
        "groups:history",
        "im:history",
        "mpim:history",
    ]
