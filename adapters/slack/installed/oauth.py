"""The app installed in a workspace by OAuth, with Bolt's flow, told everything that it would guess.

Bolt reads environment names of its own and, by them, makes stores of files; so nothing is left for it to look
up. It is not given to Bolt's app either, which makes such a store for a flow all the same: the two addresses
are answered here.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from slack_bolt.adapter.starlette.async_handler import to_async_bolt_request, to_starlette_response
from slack_bolt.error import BoltError
from slack_bolt.oauth.async_callback_options import AsyncCallbackOptions, AsyncFailureArgs, AsyncSuccessArgs
from slack_bolt.oauth.async_oauth_flow import AsyncOAuthFlow
from slack_bolt.oauth.async_oauth_settings import AsyncOAuthSettings
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.oauth.installation_store.models.installation import Installation
from slack_sdk.web.async_client import AsyncWebClient
from starlette.requests import Request
from starlette.responses import Response

from adapters.slack.errors import called
from adapters.slack.installed.installs import SealedInstallations
from adapters.slack.installed.oauth_pages import HEADERS, failed_page, installed_page
from adapters.slack.installed.scopes import SCOPES
from adapters.slack.installed.states import STATE_SECONDS, OAuthStates
from core.errors import ChatError, ConfigError, GatepostError

log = logging.getLogger(__name__)

INSTALL_PATH: Final = "/slack/install"
REDIRECT_PATH: Final = "/slack/oauth_redirect"


@dataclass(frozen=True, kw_only=True, slots=True)
class SlackOAuth:
    """The two addresses of an installation, both for GET."""

    flow: AsyncOAuthFlow
    install_url: str

    async def install(self, request: Request) -> Response:
        """INSTALL_PATH: the browser is on its way to Slack, with the state that it has to come back with."""
        return await self._answered(self.flow.handle_installation, request)

    async def redirected(self, request: Request) -> Response:
        """REDIRECT_PATH: the bot is installed and its token kept, or a page says what mends it."""
        return await self._answered(self.flow.handle_callback, request)

    async def _answered(
        self, step: Callable[[AsyncBoltRequest], Awaitable[BoltResponse]], request: Request
    ) -> Response:
        try:
            return to_starlette_response(await step(to_async_bolt_request(request, b"")))
        except GatepostError as error:
            log.error("an installation in Slack went no further: %s", error)
            return Response(failed_page("storage_error", self.install_url), status_code=503, headers=HEADERS)


def slack_oauth(
    *,
    client: AsyncWebClient,
    client_secret: str,
    public_url: str | None,
    installs: SealedInstallations,
    states: OAuthStates,
) -> SlackOAuth:
    """The installation of the app whose installations *installs* keeps. *client*: of its Slack, no token.

    Raises ConfigError, naming PUBLIC_URL or SECRET_KEY, where nobody could install it.
    """
    installs.check()
    base = _base(public_url)
    install_url = base + INSTALL_PATH
    settings = AsyncOAuthSettings(
        client_id=installs.client_id,
        client_secret=client_secret,
        scopes=SCOPES,
        user_scopes=(),
        redirect_uri=base + REDIRECT_PATH,
        install_path=INSTALL_PATH,
        install_page_rendering_enabled=False,
        redirect_uri_path=REDIRECT_PATH,
        authorization_url=urljoin(client.base_url, "/oauth/v2/authorize"),
        installation_store=installs,
        installation_store_bot_only=True,
        state_store=states,
        state_expiration_seconds=STATE_SECONDS,
        logger=log,
    )
    settings.callback_options = _callbacks(settings, install_url)
    return SlackOAuth(
        flow=_Flow(client=client, settings=settings, installs=installs), install_url=install_url
    )


def _base(public_url: str | None) -> str:
    if public_url is None:
        raise ConfigError("PUBLIC_URL: it is not set, and Slack sends who installs the app back to it")
    if urlsplit(public_url).scheme != "https":
        raise ConfigError("PUBLIC_URL: Slack sends who installs the app back to an https:// address alone")
    return public_url.rstrip("/")


def _callbacks(settings: AsyncOAuthSettings, install_url: str) -> AsyncCallbackOptions:
    cookie_gone = {**HEADERS, "Set-Cookie": settings.state_utils.build_set_cookie_for_deletion()}

    async def success(args: AsyncSuccessArgs) -> BoltResponse:
        return BoltResponse(status=200, headers={**cookie_gone}, body=installed_page(args.installation))

    async def failure(args: AsyncFailureArgs) -> BoltResponse:
        page = failed_page(args.reason, install_url)
        return BoltResponse(status=args.suggested_status_code, headers={**cookie_gone}, body=page)

    return AsyncCallbackOptions(success=success, failure=failure)


class _Flow(AsyncOAuthFlow):
    """Bolt's flow, whose three steps that talk to others are ours."""

    def __init__(
        self, *, client: AsyncWebClient, settings: AsyncOAuthSettings, installs: SealedInstallations
    ) -> None:
        super().__init__(client=client, logger=log, settings=settings)
        self._installs = installs

    async def build_authorize_url(self, state: str, request: AsyncBoltRequest) -> str:
        """Bolt's has *request*'s team in it as it came, by which a link could ask for more than SCOPES."""
        asked = {
            "state": state,
            "client_id": self.settings.client_id,
            "scope": ",".join(SCOPES),
            "user_scope": "",
            "redirect_uri": self.settings.redirect_uri or "",
        }
        return f"{self.settings.authorization_url}?{urlencode(asked)}"

    async def run_installation(self, code: str) -> Installation | None:
        """What Slack gives for *code*; None, and the log says why, where it is no bot."""
        try:
            return await self._given(code)
        except ChatError as error:
            log.warning("an installation in Slack was not confirmed: %s", error)
            return None

    async def store_installation(self, request: AsyncBoltRequest, installation: Installation) -> None:
        """It is kept. Raises BoltError, after which Bolt shows the page for it."""
        try:
            await self._installs.async_save(installation)
        except GatepostError as error:
            log.error("an installation in Slack could not be kept: %s", error)
            raise BoltError("not kept") from error

    async def _given(self, code: str) -> Installation:
        said = await called(
            self.client.oauth_v2_access(
                code=code,
                client_id=self.settings.client_id,
                client_secret=self.settings.client_secret,
                redirect_uri=self.settings.redirect_uri,
            )
        )
        token = said.get("access_token")
        if not isinstance(token, str) or not token or said.get("token_type") != "bot":
            raise ChatError("Slack's answer has no token of the bot")
        installation = _installation(said)
        self._installs.hide(installation)  # before it is sent anywhere, and an error may show it
        who = await called(self.client.auth_test(token=token))
        installation.bot_id = who.get("bot_id")
        if installation.is_enterprise_install:
            installation.enterprise_url = who.get("url")
        if not installation.bot_id or not installation.bot_user_id:
            raise ChatError("Slack's answer has no bot")
        return installation


def _installation(said: Any) -> Installation:
    """What oauth.v2.access answered. Raises ChatError where it does not say in which place, or for whom."""
    team, enterprise, person = (said.get(name) or {} for name in ("team", "enterprise", "authed_user"))
    org_wide = said.get("is_enterprise_install") is True
    if not (enterprise if org_wide else team).get("id") or not person.get("id") or not said.get("app_id"):
        raise ChatError("Slack's answer does not say where the app was installed")
    return Installation(
        app_id=said["app_id"],
        enterprise_id=enterprise.get("id"),
        enterprise_name=enterprise.get("name"),
        team_id=None if org_wide else team["id"],
        team_name=None if org_wide else team.get("name"),
        bot_token=said["access_token"],
        bot_user_id=said.get("bot_user_id"),
        bot_scopes=said.get("scope") or "",
        bot_refresh_token=said.get("refresh_token"),
        bot_token_expires_in=said.get("expires_in"),
        user_id=person["id"],
        is_enterprise_install=org_wide,
        token_type="bot",
    )
