"""Whether Slack and this deployment understand each other: asked of Slack, and of our own path as Slack asks.

What is found is in words for the operator, with the mend; no token and no secret is in any of them. Nothing
is printed here, and in which order things are looked at is the caller's business.
"""

import json
import re
import secrets
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import yaml
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from adapters.slack.errors import called
from adapters.slack.heard.actors import STRANGER
from adapters.slack.heard.bolt import COMMAND
from adapters.slack.heard.route import KINDS
from adapters.slack.heard.signed import WINDOW_SECONDS, sign
from adapters.slack.installed.scopes import SCOPES
from adapters.slack.shown.kit import Block, actions, button, context, header, section
from adapters.slack.words import escaped
from core.cards import Verb
from core.checkup import Finding, State, unchecked, well, wrong
from core.commands import BY_NAME
from core.errors import ChatBusy, ChatError
from core.front import UNKNOWN
from core.people import Role
from core.ports import Clock
from core.visible import line, visible

FAR_SECONDS: Final = 60
"""How far the clocks may be apart: well before Slack's requests are refused for it."""
ANSWER_SECONDS: Final = 3.0
"""After which Slack tells whoever clicked that it did not work."""
PATIENCE_SECONDS: Final = 10.0
"""For the first request: a platform may have to wake the process."""
PLACEHOLDER: Final = "https://YOUR-APP.example.com"
"""The address in the manifest as it is shipped."""

JSON, FORM = KINDS
AGAIN: Final = "add what is missing under OAuth & Permissions of your Slack app, and reinstall it"
TOKEN: Final = (
    "SLACK_BOT_TOKEN is the Bot User OAuth Token (xoxb-…) under OAuth & Permissions of your Slack app; it is "
    "there once the app is installed"
)
APP_TOKEN: Final = (
    "SLACK_APP_TOKEN is one of the App-Level Tokens (xapp-…) under Basic Information of your Slack app; make "
    "it with the scope connections:write"
)
EVERYBODYS: Final = [command.name for command in BY_NAME.values() if command.right is Role.MEMBER][:3]
"""Commands that ``help`` lists first for everybody, whatever else it lists."""
SECRET: Final = "the Signing Secret under Basic Information of your Slack app"


# ── the token ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What Slack said when it was asked whose the token is.

    *bot*: its answer, empty where it refused, and then *error* says why. *granted*: the token's scopes.
    *ahead_seconds*: how far our clock is before Slack's. None where Slack did not say.
    """

    bot: Mapping[str, Any]
    error: ChatError | None
    granted: frozenset[str] | None
    ahead_seconds: float | None

    @property
    def workspace(self) -> str | None:
        """What accounts there begin with; None where the token is no bot's."""
        if not self.bot.get("bot_id"):
            return None
        return self.bot.get("enterprise_id" if self.bot.get("is_enterprise_install") else "team_id")


async def whose(client: AsyncWebClient, clock: Clock) -> Told:
    """What Slack says of the client's token, and how late it is there."""
    headers: dict[str, str] = {}

    async def answered() -> AsyncSlackResponse:
        try:
            response = await client.auth_test()
        except SlackApiError as error:
            headers.update(_by_small_names(error.response.headers))
            raise
        headers.update(_by_small_names(response.headers))
        return response

    asked_at, said, refused = clock.now(), {}, None
    try:
        said = dict(await called(answered()))
    except ChatError as error:
        refused = error
    half = (clock.now() - asked_at) / 2
    scopes = headers.get("x-oauth-scopes")
    return Told(
        bot=said,
        error=refused,
        granted=None if scopes is None else frozenset(filter(None, re.split(r"[,\s]+", scopes))),
        ahead_seconds=_ahead((asked_at + half).timestamp(), headers.get("date", "")),
    )


def _by_small_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _ahead(now: float, date: str) -> float | None:
    try:
        return now - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def token(told: Told) -> Finding:
    """Whether it is a bot's, and of which workspace."""
    if told.error is not None:
        return wrong("token", sentence(told.error), _reaching(told.error) or TOKEN)
    if told.workspace is None:
        return wrong("token", "SLACK_BOT_TOKEN is a person's token, and not the bot's", TOKEN)
    bot, team = (visible(str(told.bot.get(name) or "?")) for name in ("user", "team"))
    return well("token", f"it is of the bot {bot} in the workspace {team} ({visible(told.workspace)})")


def _reaching(error: ChatError) -> str | None:
    """The mend where Slack refused nothing, but could not be asked."""
    if isinstance(error, ChatBusy):
        return "try again then"
    if _refusal(error):
        return None
    return "see that this machine reaches Slack (SLACK_API_URL), past every proxy and firewall"


def _refusal(error: ChatError) -> str:
    """Slack's own name for why it refused; empty where it did not."""
    cause = error.__cause__
    response = cause.response if isinstance(cause, SlackApiError) else None
    data = getattr(response, "data", None)  # one that is not in JSON has none
    name = data.get("error") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""


def sentence(error: Exception) -> str:
    """What *error* says, on one line of sane length."""
    return line(str(error), 300)


def scopes(told: Told) -> Finding:
    """Whether the token may do what the bot does, and no more."""
    if told.error is not None:
        return unchecked("scopes", "the token is wrong")
    if told.granted is None:
        return unchecked("scopes", "Slack did not say which the token has")
    missing = [scope for scope in SCOPES if scope not in told.granted]
    more = sorted(told.granted - set(SCOPES))
    if missing:
        return wrong("scopes", f"missing: {', '.join(missing)}", AGAIN)
    remark = f"Gatepost has no use for {visible(', '.join(more))}: take what nothing else needs away"
    return well("scopes", f"all {len(SCOPES)} that it needs", remark if more else "")


def clocks(told: Told) -> Finding:
    """Whether Slack's clock and ours agree."""
    if told.ahead_seconds is None:
        return unchecked("clock", "Slack did not say what time it is")
    apart = round(abs(told.ahead_seconds))
    if apart > FAR_SECONDS:
        side = "ahead of" if told.ahead_seconds > 0 else "behind"
        return wrong(
            "clock",
            f"ours is {apart} s {side} Slack's",
            f"let this machine's clock be set by NTP: signatures are refused from {WINDOW_SECONDS} s on",
        )
    return well("clock", f"within {max(apart, 1)} s of Slack's")


async def app_token(client: AsyncWebClient, app_token: str, *, used: bool) -> Finding:
    """Whether a socket could be opened; none is. *used*: Slack is talked to by Socket Mode."""
    name = "app token"
    unused = "" if used else "HTTP is used, since PUBLIC_URL is set; for Socket Mode leave that unset"
    try:
        await called(client.apps_connections_open(app_token=app_token))
    except ChatError as error:
        return wrong(name, sentence(error), f"{_reaching(error) or APP_TOKEN}{unused and f'. {unused}'}")
    return well(name, "Slack would open a socket", unused)


# ── our path, asked as Slack asks ────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What stands at our address answered."""

    status: int
    kind: str
    body: str
    location: str = ""

    @property
    def is_page(self) -> bool:
        return self.kind.startswith("text/html") or self.body.lstrip()[:1] == "<"


@dataclass(frozen=True, slots=True)
class Unreached:
    """Nothing answered: *why*, and the *mend*."""

    why: str
    mend: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """Where Slack's requests come in. *address*: the whole of it; *public*: it is PUBLIC_URL's.

    *signing_secrets*: every one that a request may be signed with.
    """

    session: aiohttp.ClientSession
    address: str
    public: bool
    signing_secrets: Sequence[str]
    clock: Clock

    @property
    def shown(self) -> str:
        return without_login(self.address)

    async def finding(self) -> Finding:
        """Whether what Slack signs is answered, and what it did not sign is refused."""
        name = "route"
        for n, secret in enumerate(self.signing_secrets, 1):
            challenge = secrets.token_hex(16)
            got = await self._challenged(secret, challenge)
            if isinstance(got, Answered) and got.status == 401 and n > 1:
                return wrong(
                    name,
                    f"{self.shown} refuses what is signed with SLACK_SIGNING_SECRET's number {n}",
                    "restart the web process, so that it knows all of them",
                )
            if not _echoes(got, challenge):
                return wrong(name, *self.why_not(got))
        got = await self._challenged(secrets.token_hex(16), challenge := secrets.token_hex(16))
        if isinstance(got, Answered) and got.status == 401:
            return well(name, f"{self.shown} answers Slack, and refuses what Slack did not sign")
        if isinstance(got, Unreached) or got.status != 200:
            return wrong(name, *self.why_not(got))
        return wrong(
            name,
            f"{self.shown} takes what Slack did not sign: anybody could click",
            "see that PUBLIC_URL leads to Gatepost's web process itself; if it does, tell us (SECURITY.md)",
        )

    async def _challenged(self, secret: str, challenge: str) -> Answered | Unreached:
        body = json.dumps({"type": "url_verification", "token": "doctor", "challenge": challenge}).encode()
        return await self.asked(body, JSON, secret=secret, seconds=PATIENCE_SECONDS)

    async def asked(
        self, body: bytes, kind: str, *, secret: str | None = None, seconds: float = ANSWER_SECONDS
    ) -> Answered | Unreached:
        """What *body* is answered with, signed now, as Slack does it."""
        stamp = str(int(self.clock.now().timestamp()))
        headers = {
            "Content-Type": kind,
            "User-Agent": "Gatepost doctor",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": sign(secret or self.signing_secrets[0], stamp, body).decode(),
        }
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self.session.post(
                self.address, data=body, headers=headers, timeout=limit, allow_redirects=False
            ) as response:
                return Answered(
                    status=response.status,
                    kind=response.headers.get("content-type", "").lower(),
                    body=await response.text(errors="replace"),
                    location=response.headers.get("location", ""),
                )
        except TimeoutError:
            return Unreached(
                f"no answer from {self.shown} within {seconds:g} s",
                "see the web process's log, and how far away its database is",
            )
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            return Unreached(
                f"{self.shown} can't prove whose it is: {sentence(error)}",
                "Slack calls only where the certificate is good: renew it, or let the platform do so",
            )
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Unreached(f"{self.shown} can't be reached: {sentence(error)}", self._start)

    @property
    def _start(self) -> str:
        start = "see that the web process runs: python -m bot web (web: in the Procfile)"
        if self.public:
            return f"{start}; and that PUBLIC_URL is its address, as others reach it"
        return f"{start}; and that PORT is the one it listens on, or set PUBLIC_URL"

    def why_not(self, got: Answered | Unreached) -> tuple[str, str]:
        """What is wrong with an answer that is not what the web process should say, and the mend."""
        if isinstance(got, Unreached):
            return got.why, got.mend
        said = f"{self.shown} answers {got.status}"
        if got.status in (301, 302, 303, 307, 308):
            return (
                f"{said}: it leads on to {line(got.location, 200)}, where Slack does not follow",
                "let PUBLIC_URL be the address that it ends up at, https included",
            )
        if got.is_page:
            return (
                f"{said} with a page: it is the platform's router, or another app",
                self._start if got.status != 404 else f"nothing is there by that name. {self._start}",
            )
        if got.status == 401 and "not signed by Slack" in got.body:
            return (
                f"{said}: the web process knows another signing secret, or its clock is wrong",
                f"let SLACK_SIGNING_SECRET there be {SECRET}, the same as here, and restart it",
            )
        if got.status in (401, 403):
            return (
                f"{said}: something before the web process asks who is there",
                "let Slack through to /slack/events: what is not signed by it is refused there anyway",
            )
        if got.status == 404:
            return (
                f"{said}: the web process serves no Slack",
                "set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET for it, too, and restart it; PUBLIC_URL is the "
                "address without /slack/events",
            )
        if got.status == 503:
            return (
                f"{said}: the web process is not open",
                "its log says why; mostly its database is away, or not migrated",
            )
        if got.status >= 500:
            return said, "its log says what broke"
        return f"{said}, and not as Gatepost does", "let PUBLIC_URL be the address of Gatepost's web process"


def without_login(address: str) -> str:
    """*address* without a user and a password."""
    return visible(re.sub(r"(?<=://).*@", "", address))


def _echoes(got: Answered | Unreached, challenge: str) -> bool:
    """Whether the answer is the challenge, as plain text or in JSON."""
    return isinstance(got, Answered) and got.status == 200 and challenge in got.body and not got.is_page


# ── the manifest ─────────────────────────────────────────────────────────────────────────────


def manifest(text: str, public_url: str | None, *, by_socket: bool) -> Finding:
    """Whether the app that *text* makes is the one that this deployment is."""
    name = "manifest"
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError:
        read = None
    if not isinstance(read, dict):
        return wrong(name, "slack-manifest.yaml can't be read", "take the one of this version again")
    asked = _at(read, "oauth_config", "scopes", "bot") or []
    if set(asked) != set(SCOPES):
        differs = [f"{s} is missing" for s in SCOPES if s not in asked]
        differs += [f"{visible(str(s))} is not needed" for s in asked if s not in SCOPES]
        return wrong(
            name, f"its scopes are not this version's: {', '.join(differs)}", "take the one of this version"
        )
    addresses = _addresses(read)
    if by_socket:
        fits = _at(read, "settings", "socket_mode_enabled") is True
        how = "for Socket Mode set socket_mode_enabled to true and leave the addresses out, in your copy"
        return well(name, "its scopes are the bot's", "" if fits else how)
    if not addresses or any(address.startswith(PLACEHOLDER) for address in addresses):
        here = "your own address (PUBLIC_URL)" if public_url is None else without_login(public_url)
        return well(
            name, "its scopes are the bot's", f"in the copy that Slack gets, put {here} for {PLACEHOLDER}"
        )
    base = None if public_url is None else f"{public_url.rstrip('/')}/"
    others = [address for address in addresses if base is not None and not address.startswith(base)]
    if others:
        return wrong(
            name,
            f"Slack would call {visible(', '.join(sorted(set(others))))}",
            f"put {without_login(public_url or '')} there, in the app's settings too, or correct PUBLIC_URL",
        )
    return well(name, "its scopes are the bot's, and its addresses this deployment's")


def _addresses(read: Mapping[str, Any]) -> list[str]:
    """Where Slack sends to."""
    found = [
        _at(read, "settings", "event_subscriptions", "request_url"),
        _at(read, "settings", "interactivity", "request_url"),
        *(_at(each, "url") for each in _at(read, "features", "slash_commands") or []),
    ]
    return [str(address) for address in found if address]


def _at(read: Any, *keys: str) -> Any:
    for key in keys:
        read = read.get(key) if isinstance(read, Mapping) else None
    return read


# ── a card, and a click on it ────────────────────────────────────────────────────────────────


@dataclass(kw_only=True, slots=True)
class Trial:
    """A card in the direct messages of *user*, which is edited, clicked and ended, never deleted.

    *path*: where it is clicked; None: nowhere. *token*: of the card's button; it stands for nothing, so that
    a click on it decides nothing and leaves nothing behind. *bot*: what Slack says of the token.
    """

    client: AsyncWebClient
    bot: Mapping[str, Any]
    user: str
    clock: Clock
    path: Path | None
    token: str = field(default_factory=lambda: f"doctor-{secrets.token_hex(8)}", init=False)
    _channel: str = field(default="", init=False)
    _message: Mapping[str, Any] = field(default_factory=dict, init=False)

    async def card(self) -> Finding:
        """Whether it can be posted there, and edited."""
        name = "card"
        try:
            posted = await called(
                self.client.chat_postMessage(
                    channel=self.user, text="Gatepost is looked at.", blocks=self._blocks("It was posted.")
                )
            )
        except ChatError as error:
            return wrong(name, f"it can't be posted: {sentence(error)}", _of_post(error))
        self._channel, self._message = str(posted["channel"]), {**posted["message"], "ts": posted["ts"]}
        edit = "It was posted and edited; next it is clicked."
        return await self._edited(edit, self._blocks(edit)) or well(
            name, "it was posted to your direct messages, and edited"
        )

    async def ended(self, failed: Iterable[Finding]) -> Finding | None:
        """It says what came of all, without its button; what is wrong with that, if anything is."""
        if not self._message:
            return None
        found = list(failed)
        title = "Gatepost does not work here yet" if found else "Gatepost works here"
        lines = [section(f"✖ {each.name}: {each.said}\n→ {each.mend}") for each in found]
        return await self._edited(title, [header(title), *lines, context("python -m bot doctor")])

    async def _edited(self, words: str, blocks: list[Block]) -> Finding | None:
        try:
            edited = await called(
                self.client.chat_update(
                    channel=self._channel, ts=self._message["ts"], text=escaped(words), blocks=blocks
                )
            )
        except ChatError as error:
            return wrong("card", f"it can't be edited: {sentence(error)}", _of_edit(error))
        self._message = {**self._message, **(edited.get("message") or {}), "ts": self._message["ts"]}
        return None

    def _blocks(self, words: str) -> list[Block]:
        return [
            header("Gatepost is looked at"),
            section(words),
            actions("doctor", [button("Approve", Verb.APPROVE, self.token)]),
            context("python -m bot doctor clicks this by itself; there is nothing for you to do"),
        ]

    # ── as Slack would send it ───────────────────────────────────────────────────────────────

    async def click(self) -> Finding:
        """Whether a click on it is taken, in the time that Slack gives."""
        name = "click"
        if self.path is None or not self._message:
            return unchecked(name, "there is nothing to click")
        got = await self.path.asked(urlencode({"payload": json.dumps(self._clicked())}).encode(), FORM)
        if isinstance(got, Answered) and got.status == 200 and not got.is_page:
            return well(name, f"one on the card is taken within {ANSWER_SECONDS:g} s")
        return wrong(name, *self.path.why_not(got))

    async def command(self, workspace: str) -> Finding:
        """Whether ``help`` is answered with the commands of whoever typed it."""
        name = "command"
        if self.path is None or not self._message:
            return unchecked(name, "there is nobody to type it")
        got = await self.path.asked(urlencode(self._typed()).encode(), FORM)
        if isinstance(got, Unreached) or got.status != 200 or got.is_page:
            return wrong(name, *self.path.why_not(got))
        words = got.body.replace("\\n", " ")  # JSON's own line breaks
        if all(re.search(rf"\b{command}\b", words) for command in EVERYBODYS):
            return well(name, f"{COMMAND} help is answered: from the signature to your roles all is there")
        if UNKNOWN.split(".")[0] in got.body:
            return wrong(
                name,
                "the web process does not know you, and this one does",
                "give both the same DATABASE_URL and SLACK_BOT_TOKEN, and restart the web process",
            )
        if STRANGER in got.body:
            return wrong(
                name,
                "the web process takes you for somebody of another workspace",
                f"link your account of the workspace {visible(workspace)}",
            )
        return wrong(name, f"it is answered with other words: {line(got.body, 100)}", "the web log says more")

    def _clicked(self) -> Mapping[str, Any]:
        message = dict(self._message)
        blocks = message.get("blocks") or []
        shown: Any = next((b for b in blocks if b.get("block_id") == "doctor"), {"elements": [{}]})
        action = {
            **button("Approve", Verb.APPROVE, self.token),
            **shown["elements"][0],
            "block_id": "doctor",
            "action_ts": f"{self.clock.now().timestamp():.6f}",
        }
        enterprise, whole = self.bot.get("enterprise_id"), bool(self.bot.get("is_enterprise_install"))
        team = self.bot.get("team_id")
        return {
            "type": "block_actions",
            "api_app_id": message.get("app_id"),
            "token": "doctor",
            "user": {"id": self.user, "username": "doctor", "name": "doctor", "team_id": team},
            "team": None if whole else {"id": team, "domain": self._domain},
            "enterprise": {"id": enterprise, "name": ""} if enterprise else None,
            "is_enterprise_install": whole,
            "container": {
                "type": "message",
                "message_ts": message["ts"],
                "channel_id": self._channel,
                "is_ephemeral": False,
            },
            "channel": {"id": self._channel, "name": "directmessage"},
            "message": message,
            "state": {"values": {}},
            "trigger_id": self._trigger,
            "response_url": self._nowhere,
            "actions": [action],
        }

    def _typed(self) -> dict[str, str]:
        enterprise = self.bot.get("enterprise_id")
        return {
            "token": "doctor",
            "team_id": str(self.bot.get("team_id") or ""),
            "team_domain": self._domain,
            "channel_id": self._channel,
            "channel_name": "directmessage",
            "user_id": self.user,
            "user_name": "doctor",
            "command": COMMAND,
            "text": "help",
            "api_app_id": str(self._message.get("app_id") or ""),
            "is_enterprise_install": str(bool(self.bot.get("is_enterprise_install"))).lower(),
            "response_url": self._nowhere,
            "trigger_id": self._trigger,
            **({"enterprise_id": str(enterprise)} if enterprise else {}),
        }

    @property
    def _domain(self) -> str:
        """acme of https://acme.slack.com/"""
        return (urlsplit(str(self.bot.get("url") or "")).hostname or "").partition(".")[0]

    @property
    def _trigger(self) -> str:
        return f"{secrets.token_hex(8)}.doctor"

    @property
    def _nowhere(self) -> str:
        """Where what is told in private goes. Only Slack makes addresses for that; its api.test takes all."""
        return f"{self.client.base_url}api.test"


def _of_post(error: ChatError) -> str:
    match _refusal(error):
        case "missing_scope":
            return AGAIN
        case "messages_tab_disabled" | "cannot_dm_bot":
            return "turn on the Messages Tab under App Home of your Slack app"
        case "channel_not_found" | "user_not_found" | "user_disabled":
            return "link an account that is of the token's workspace: python -m bot people link"
    return _reaching(error) or "Slack's own words say what it wants"


def _of_edit(error: ChatError) -> str:
    match _refusal(error):
        case "missing_scope":
            return AGAIN
        case "edit_window_closed":
            return (
                "the workspace forbids edits after a while (Slack's admin settings, Message Editing): "
                "let apps edit, or cards stay as they were and are posted anew"
            )
    return (
        _reaching(error) or "a card that can't be edited never says what became of it: ask your Slack admin"
    )


def failed(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are wrong."""
    return [each for each in findings if each.state is State.WRONG]
