"""Whose the token is, what its bot hears in groups, what its menus offer: asked of Telegram.

No token is in any of the words.
"""

from dataclasses import dataclass
from typing import Final

from telegram import BotCommandScope, User
from telegram.constants import BotCommandScopeType

from adapters.telegram.client import BotClient
from adapters.telegram.errors import called
from adapters.telegram.heard.setup import offered
from core.checkup import Finding, sentence, unchecked, well, wrong
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone, StoreError
from core.visible import visible

TOKEN: Final = (
    "TELEGRAM_BOT_TOKEN is what @BotFather shows of your bot under /mybots, API Token; one that was revoked "
    "is good no more"
)
PRIVACY: Final = (
    "to have it hear only what is meant for it, turn Group Privacy on (@BotFather, /mybots, Bot Settings), "
    "then take it out of its groups and add it again"
)
WHERE: Final = {
    BotCommandScopeType.DEFAULT: "elsewhere",
    BotCommandScopeType.ALL_GROUP_CHATS: "in groups",
    BotCommandScopeType.ALL_PRIVATE_CHATS: "in private chats",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What Telegram said when it was asked whose the token is: *bot*, or *error*, why it said nothing."""

    bot: User | None = None
    error: ChatError | None = None

    @property
    def address(self) -> str:
        """The bot as a link; with words for its name where that is not known."""
        return f"https://t.me/{visible(self.bot.username or '') if self.bot else '<your bot>'}"

    @property
    def called(self) -> str:
        """@gatepost_bot"""
        return f"@{visible(self.bot.username or '')}" if self.bot else "the bot"


async def whose(client: BotClient) -> Told:
    """What Telegram says of the client's token."""
    try:
        return Told(bot=await client.me())
    except ChatError as error:
        return Told(error=error)


def token(told: Told) -> Finding:
    """Whether Telegram knows it, and which bot it is of."""
    name = "telegram token"
    if told.bot is None:
        error = told.error or ChatError()
        return wrong(name, sentence(error), reaching(error) or TOKEN)
    return well(name, f"it is of the bot {visible(told.bot.first_name)} ({told.called})")


def reaching(error: ChatError | StoreError) -> str | None:
    """The mend where Telegram refused nothing, but could not be asked."""
    if isinstance(error, StoreError):
        return "see that the database runs"
    if isinstance(error, ChatBusy):
        return "try again then"
    if isinstance(error, ChatForbidden | ChatGone):
        return None
    return "see that this machine reaches Telegram (TELEGRAM_API_URL), past every proxy and firewall"


def privacy(bot: User) -> Finding:
    """What it hears in groups: either way it answers only what is meant for it."""
    name = "telegram privacy"
    if bot.can_read_all_group_messages is None:
        return unchecked(name, "Telegram did not say what the bot hears in groups")
    if bot.can_read_all_group_messages:
        return well(
            name, "off: it hears all that is said in groups, and leaves alone what is not for it", PRIVACY
        )
    return well(name, "on: in groups it hears what is meant for it, and nothing else")


async def commands(client: BotClient) -> Finding:
    """Whether the menus of each kind of chat offer the commands of this version."""
    name = "telegram commands"
    differs: list[str] = []
    told = False
    try:
        for scope, expected in offered():
            found = await called(client.api.get_my_commands(scope=scope))
            told = told or bool(found)
            if list(found) != list(expected):
                differs.append(_difference(scope, [c.command for c in found], [c.command for c in expected]))
    except ChatError as error:
        return wrong(name, sentence(error), reaching(error) or "Telegram's own words say what it wants")
    if differs:
        return wrong(
            name,
            f"the menus are not this version's: {'; '.join(differs)}" if told else "the menus are empty",
            "start the web process, or restart it: it tells Telegram its commands",
        )
    return well(name, "the menus of private chats and groups offer this version's")


def _difference(scope: BotCommandScope, found: list[str], expected: list[str]) -> str:
    where = WHERE.get(BotCommandScopeType(scope.type), scope.type)
    if not found:
        return f"{where} there are none"
    missing = [command for command in expected if command not in found]
    more = [visible(command) for command in found if command not in expected]
    said = [f"{', '.join(missing)} missing"] if missing else []
    said += [f"{', '.join(more)} too many"] if more else []
    return f"{where} {' and '.join(said) or 'they say or stand otherwise'}"
