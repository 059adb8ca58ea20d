"""A card that is posted, edited, clicked through the real route and ended: what every other card needs."""

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from slack_sdk.web.async_client import AsyncWebClient

from adapters.slack.checkup.path import ANSWER_SECONDS, FORM, Path
from adapters.slack.checkup.token import AGAIN, reaching, refusal
from adapters.slack.errors import called
from adapters.slack.heard.actors import STRANGER
from adapters.slack.heard.bolt import COMMAND
from adapters.slack.shown.kit import Block, actions, button, context, header, section
from adapters.slack.words import escaped
from core.cards import Verb
from core.checkup import Finding, sentence, unchecked, well, wrong
from core.commands import BY_NAME
from core.errors import ChatError
from core.front import UNKNOWN
from core.outside import Answered, Unanswered
from core.people import Role
from core.ports import Clock
from core.visible import line, visible

EVERYBODYS: Final = [command.name for command in BY_NAME.values() if command.right is Role.MEMBER][:3]
"""Commands that ``help`` lists first for everybody, whatever else it lists."""


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
        if isinstance(got, Unanswered) or got.status != 200 or got.is_page:
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
    match refusal(error):
        case "missing_scope":
            return AGAIN
        case "messages_tab_disabled" | "cannot_dm_bot":
            return "turn on the Messages Tab under App Home of your Slack app"
        case "channel_not_found" | "user_not_found" | "user_disabled":
            return "link an account that is of the token's workspace: python -m bot people link"
    return reaching(error) or "Slack's own words say what it wants"


def _of_edit(error: ChatError) -> str:
    match refusal(error):
        case "missing_scope":
            return AGAIN
        case "edit_window_closed":
            return (
                "the workspace forbids edits after a while (Slack's admin settings, Message Editing): "
                "let apps edit, or cards stay as they were and are posted anew"
            )
    return reaching(error) or "a card that can't be edited never says what became of it: ask your Slack admin"
