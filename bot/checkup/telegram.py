"""What is looked at of Telegram, with which settings, and when; the words are adapters.telegram.checkup's."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from shlex import quote
from typing import Final

import aiohttp
from telegram import User, WebhookInfo

from adapters.telegram.checkup import groups as places
from adapters.telegram.checkup import path as paths
from adapters.telegram.checkup import token as tokens
from adapters.telegram.checkup import trial as trials
from adapters.telegram.checkup import updates
from adapters.telegram.client import SURFACE, BotClient, bot_client
from adapters.web.outside import Outside
from bot.checkup.deployment import named
from bot.checkup.looking import Looking
from bot.checkup.people import Chat, routed, user_in
from bot.redaction import REDACTOR
from bot.settings import Settings
from bot.telegram import TelegramParts
from bot.telegram_settings import UPDATES, address, check
from bot.wiring import App
from core.checkup import Finding, failed, sentence, unchecked
from core.errors import ConfigError, StoreError
from core.outside import Address

NAMES: Final = (
    "telegram token",
    "telegram privacy",
    "telegram commands",
    "telegram updates",
    "telegram secret",
    "telegram groups",
    "telegram card",
    "telegram click",
)
"""What is looked at, in this order."""
NOT_SET_UP: Final = "Telegram is not set up"
OF_TOKEN: Final = ("telegram privacy", "telegram commands", "telegram updates", "telegram groups")
"""What Telegram is asked about, once it knows who asks."""

# ── settings ─────────────────────────────────────────────────────────────────────────────────

SETTINGS: Final = ("PUBLIC_URL", "TELEGRAM_BOT_TOKEN", "TELEGRAM_SECRET")
"""What says how the bot is in Telegram; of none of them the value is shown."""


def given(settings: Settings) -> list[str]:
    """What is set for Telegram."""
    return [name for name in SETTINGS if getattr(settings, name.lower()) is not None]


def of_settings(settings: Settings) -> list[tuple[str, str]]:
    """What is wrong with the settings, each with its mend."""
    try:
        check(settings)
    except ConfigError as error:
        return [named(error)]
    return []


def way(settings: Settings) -> str:
    """How updates get here."""
    return "asking" if address(settings) is None else "webhook"


# ── asked of Telegram ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """Telegram, after it was asked. *path*: where its updates come in, None where they come by asking.

    *ours*: Telegram's webhook is that path.
    """

    client: BotClient
    told: tokens.Told
    path: paths.Path | None
    ours: bool

    @property
    def chat(self) -> Chat:
        """As people are in it."""
        return Chat(
            surface=SURFACE,
            title="Telegram",
            place="in Telegram",
            user=lambda ref: ref if is_number(ref) else None,
            odd=lambda ref: "" if is_number(ref) else "is no number",
            linking=self._linking,
        )

    def _linking(self, name: str) -> str:
        return (
            f"python -m bot people invite {quote(name)} shows a link, {self.told.address}?start=…: whoever "
            f"opens it and presses Start is linked; or, by number: python -m bot people link {quote(name)} "
            "telegram:4711"
        )


def is_number(ref: str) -> bool:
    """Whether *ref* is an account as Telegram numbers them."""
    return ref.isascii() and ref.isdecimal() and not ref.startswith("0")


async def asked(looking: Looking, app: App | None, closing: AsyncExitStack) -> Seen:
    """All that is asked of Telegram, or as Telegram, but for the card. *closing* ends its connections."""
    settings, found = looking.settings, looking.found
    assert settings.telegram_bot_token is not None
    token = settings.telegram_bot_token.get_secret_value()
    client = await closing.enter_async_context(bot_client(token, settings.telegram_api_url))
    told = await tokens.whose(client)
    found.append(tokens.token(told))
    path = await _path(settings, closing)
    if told.bot is None:
        found += [unchecked(name, "the token is not well") for name in OF_TOKEN]
        found.append(await _secret(path))
        return Seen(client=client, told=told, path=path, ours=False)
    info = await updates.webhook(client)
    found += [await _secret(path), *await _of_bot(looking, app, client, told, told.bot)]
    found.append(await _updates(looking, app, client, info))
    ours = isinstance(info, WebhookInfo) and info.url == address(settings)
    return Seen(client=client, told=told, path=path, ours=ours)


async def _of_bot(
    looking: Looking, app: App | None, client: BotClient, told: tokens.Told, bot: User
) -> Sequence[Finding]:
    found = [tokens.privacy(bot), await tokens.commands(client)]
    return found if app is None else [*found, await _groups(app, client, told)]


async def _updates(
    looking: Looking, app: App | None, client: BotClient, before: WebhookInfo | Finding
) -> Finding:
    """What became of updates between *before* and now."""
    url = address(looking.settings)
    if isinstance(before, Finding):
        return before
    if url is None:
        return await updates.asked(client, None if app is None else app.store.leases, before)
    now = await updates.webhook(client)
    if isinstance(now, Finding):
        return now
    return updates.Sent(url=url, before=before, now=now, clock=looking.clock).finding()


async def _path(settings: Settings, closing: AsyncExitStack) -> paths.Path | None:
    """Where Telegram's updates come in; None where they come by asking."""
    url = address(settings)
    if url is None:
        return None
    session = await closing.enter_async_context(aiohttp.ClientSession())
    here = Address(
        post=Outside(session).post,
        url=url,
        path=UPDATES,
        public=True,
        chat="Telegram",
        settings="TELEGRAM_BOT_TOKEN",
    )
    return paths.Path(address=here, secrets=settings.telegram_secrets)


async def _secret(path: paths.Path | None) -> Finding:
    if path is None:
        return unchecked("telegram secret", "without PUBLIC_URL Telegram sends nothing: it is asked")
    return await path.finding()


async def _groups(app: App, client: BotClient, told: tokens.Told) -> Finding:
    try:
        routes = await routed(app, SURFACE)
    except StoreError as error:
        return unchecked("telegram groups", sentence(error))
    return await places.groups(client, told, routes)


# ── the card ─────────────────────────────────────────────────────────────────────────────────


async def tried(looking: Looking, app: App, seen: Seen, as_: str | None) -> Sequence[Finding]:
    """What came of a card for whoever is at this terminal, which says so itself at the end."""
    user = await _user(app, seen, as_)
    if isinstance(user, Finding):
        return [user, unchecked("telegram click", "there is no card")]
    pressed = seen.path if seen.ours and looking.is_well("telegram secret") else None
    trial = trials.Trial(
        sending=TelegramParts(app=app, client=seen.client).sending,
        told=seen.told,
        user=int(user),
        clock=looking.clock,
        path=pressed,
    )
    card = await trial.card()
    click = await trial.click() if pressed else unchecked("telegram click", _unpressed(seen))
    found = REDACTOR.clean(failed([*looking.about(NAMES), card, click]))
    return [await trial.ended(found) or card, click]


async def _user(app: App, seen: Seen, as_: str | None) -> str | Finding:
    if seen.told.bot is None:
        return unchecked("telegram card", "the token is not well")
    return await user_in(seen.chat, app, as_, "telegram card")


def _unpressed(seen: Seen) -> str:
    """Why the card is not pressed."""
    if seen.path is None:
        return "Telegram's presses come by asking"
    return "the secret is not well" if seen.ours else "Telegram sends presses elsewhere"
