"""Ada in the emulated workspace: what she writes, presses and submits, as Slack would tell the bot.

The emulator delivers nothing to an app. So her message is posted there by her own token, and the event, the
press or the submission is sent from here, signed as Slack signs (HMAC, v0). A trigger of a modal is the
emulator's own, good for one view within three seconds.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlencode

import aiohttp

from tests.partners.processes import Failed

APP, BOT_USER = "A0GATEPOST", "U0GATEPOST"
BOT_TOKEN, ADAS_TOKEN = "xoxb-partners-bot", "xoxp-partners-ada"
"""As emulate.config.json has them."""
EVENTS = "/slack/events"
"""Where the bot is told all of it: events, presses and submissions."""
SLACK_WAITS_SECONDS = 3.0

Block = Mapping[str, Any]
Message = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What the bot answered a request of Slack's."""

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> dict[str, Any]:
        """Its JSON; empty where it is none."""
        try:
            found = json.loads(self.text or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def __str__(self) -> str:
        text = f" {self.text[:200]}" if self.text else ""
        return f"{self.status} in {self.seconds:.2f} s{text}"


@dataclass(kw_only=True)
class Workspace:
    """*slack_url*: the emulator. *bot_url*: our web process. *response_url*: where presses are answered."""

    session: aiohttp.ClientSession
    slack_url: str
    bot_url: str
    secret: str
    response_url: str
    team: str = ""
    ada: str = ""
    direct: str = ""
    orders: str = ""
    _number: Iterator[int] = field(default_factory=lambda: count(1))

    async def enter(self) -> None:
        """The ids of the workspace, of Ada and her two conversations are known, as the emulator made them."""
        who = await self.call("auth.test")
        self.team, self.ada = who["team_id"], who["user_id"]
        opened = await self.call("conversations.open", users=BOT_USER)
        self.direct = opened["channel"]["id"]
        channels = (await self.call("conversations.list"))["channels"]
        self.orders = next(channel["id"] for channel in channels if channel["name"] == "orders")

    async def call(self, method: str, token: str = ADAS_TOKEN, **fields: Any) -> dict[str, Any]:
        """What the emulator answered. Raises Failed where it refused."""
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{self.slack_url}/api/{method}"
        async with self.session.post(url, json=fields, headers=headers) as response:
            said: dict[str, Any] = await response.json()
        if said.get("ok") is not True:
            raise Failed(f"the emulator refuses {method}: {said.get('error', said)}")
        return said

    # ── what stands there ────────────────────────────────────────────────────────────────────

    async def messages(self) -> list[Message]:
        """All messages of both conversations, threads included, each with its *channel*, oldest first."""
        found: list[Message] = []
        for channel in (self.direct, self.orders):
            tops = (await self.call("conversations.history", channel=channel, limit=200))["messages"]
            for top in tops:
                thread = await self.call("conversations.replies", channel=channel, ts=top["ts"])
                found += [{**message, "channel": channel} for message in thread["messages"]]
        return sorted(found, key=lambda message: str(message["ts"]))

    # ── what she does ────────────────────────────────────────────────────────────────────────

    async def writes(self, channel: str, text: str) -> str:
        """Her message stands in *channel*, and nobody was told yet; its ts."""
        posted = await self.call("chat.postMessage", channel=channel, text=text)
        return str(posted["ts"])

    async def tells(self, channel: str, ts: str, text: str, *, secret: str | None = None) -> Answered:
        """The bot is told of her message: in a channel, where it names the bot, twice, as Slack does."""
        event = {"type": "message", "user": self.ada, "text": text, "ts": ts, "event_ts": ts}
        event |= {"team": self.team, "channel": channel, "client_msg_id": f"partners-{ts}"}
        if channel == self.direct:
            return await self._event({**event, "channel_type": "im"}, secret)
        first = await self._event({**event, "type": "app_mention"}, secret)
        second = await self._event({**event, "channel_type": "channel"}, secret)
        return second if first.status == 200 else first

    async def presses(self, message: Message, label: str, *, secret: str | None = None) -> Answered:
        """She pressed the button of *message* that says *label*."""
        block, button = button_of(message, label)
        thread = {"thread_ts": message["thread_ts"]} if message.get("thread_ts") else {}
        payload = {
            **await self._common("block_actions"),
            "container": {
                "type": "message",
                "message_ts": message["ts"],
                "channel_id": message["channel"],
                "is_ephemeral": False,
                **thread,
            },
            "channel": {"id": message["channel"], "name": "orders"},
            "message": message,
            "state": {"values": {}},
            "response_url": self.response_url,
            "actions": [
                {
                    "type": "button",
                    "action_id": button["action_id"],
                    "block_id": block.get("block_id", "block"),
                    "value": button.get("value", ""),
                    "text": button["text"],
                    "action_ts": f"{time.time():.6f}",
                }
            ],
        }
        return await self._interaction(payload, secret)

    async def submits(self, view: Mapping[str, Any], changes: Mapping[str, str]) -> Answered:
        """She submitted the modal with *changes* to inputs by name, and all others as they stood."""
        state = {"values": state_of(view, changes)}
        payload = {
            **await self._common("view_submission"),
            "view": {**view, "state": state, "app_installed_team_id": self.team},
            "response_urls": [],
        }
        return await self._interaction(payload, None)

    # ── as Slack sends it ────────────────────────────────────────────────────────────────────

    async def _common(self, kind: str) -> dict[str, Any]:
        made = await self.call("views.generateTriggerId", token=BOT_TOKEN, user_id=self.ada)
        return {
            "type": kind,
            "team": {"id": self.team, "domain": "bakery"},
            "enterprise": None,
            "is_enterprise_install": False,
            "user": {"id": self.ada, "username": "ada", "name": "ada", "team_id": self.team},
            "api_app_id": APP,
            "token": "unused",
            "trigger_id": made["trigger_id"],
        }

    async def _event(self, event: Mapping[str, Any], secret: str | None) -> Answered:
        body = {
            "type": "event_callback",
            "token": "unused",
            "team_id": self.team,
            "api_app_id": APP,
            "event": event,
            "event_id": f"Ev{next(self._number):08d}",
            "event_time": int(time.time()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": self.team,
                    "user_id": BOT_USER,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
        }
        return await self._send(json.dumps(body), "application/json", secret)

    async def _interaction(self, payload: Mapping[str, Any], secret: str | None) -> Answered:
        form = urlencode({"payload": json.dumps(payload)})
        return await self._send(form, "application/x-www-form-urlencoded", secret)

    async def _send(self, body: str, content_type: str, secret: str | None) -> Answered:
        """Raises Failed where the bot does not answer while Slack would wait."""
        at = str(int(time.time()))
        headers = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": at,
            "X-Slack-Signature": signature(secret or self.secret, at, body),
        }
        began = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=SLACK_WAITS_SECONDS)
        try:
            async with self.session.post(
                f"{self.bot_url}{EVENTS}", data=body.encode(), headers=headers, timeout=timeout
            ) as response:
                text = await response.text()
                return Answered(status=response.status, text=text, seconds=time.monotonic() - began)
        except TimeoutError:
            raise Failed(f"the bot did not answer within {SLACK_WAITS_SECONDS:g} s") from None
        except aiohttp.ClientError as error:
            raise Failed(f"the bot could not be asked: {error}") from None


def signature(secret: str, at: str, body: str) -> str:
    """Slack's signature of *body*, sent at the second *at*."""
    return "v0=" + hmac.new(secret.encode(), f"v0:{at}:{body}".encode(), hashlib.sha256).hexdigest()


# ── what a message and a modal hold ──────────────────────────────────────────────────────────


def buttons(message: Message) -> Iterator[tuple[Block, Block]]:
    """Each button of a message, with the block it is in."""
    for block in message.get("blocks") or ():
        for element in (*block.get("elements", ()), block.get("accessory") or {}):
            if element.get("type") == "button":
                yield block, element


def labels(message: Message) -> list[str]:
    """What the buttons of a message say, in order."""
    return [str(button["text"]["text"]) for _, button in buttons(message)]


def button_of(message: Message, label: str) -> tuple[Block, Block]:
    """The block and the button that says *label*. Raises Failed where there is none."""
    for block, button in buttons(message):
        if label in str(button["text"]["text"]):
            return block, button
    raise Failed(f"no button says {label}; there are {', '.join(labels(message)) or 'none'}")


def inputs(view: Mapping[str, Any]) -> Iterator[tuple[str, Block]]:
    """Each input of a modal: what it is labelled, in small letters, and its block."""
    for block in view["blocks"]:
        if block["type"] == "input":
            yield str(block["label"]["text"]).lower(), block


def input_named(view: Mapping[str, Any], name: str) -> Block:
    """The block of the input whose label holds *name*. Raises Failed where there is none."""
    found = list(inputs(view))
    for label, block in found:
        if name in label:
            return block
    raise Failed(f"no input is labelled {name}; there are {', '.join(label for label, _ in found) or 'none'}")


def state_of(view: Mapping[str, Any], changes: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """A submission's values: what each input began with, and *changes* by the name in their label."""
    changed = {id(input_named(view, name)): value for name, value in changes.items()}
    return {
        block["block_id"]: {block["element"]["action_id"]: _value(block["element"], changed.get(id(block)))}
        for _, block in inputs(view)
    }


def _value(element: Block, changed: str | None) -> dict[str, Any]:
    kind = str(element["type"])
    if kind.endswith("_select"):
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind == "checkboxes":
        return {"type": kind, "selected_options": element.get("initial_options", [])}
    if kind == "radio_buttons":
        return {"type": kind, "selected_option": element.get("initial_option")}
    return {"type": kind, "value": element.get("initial_value") if changed is None else changed}
