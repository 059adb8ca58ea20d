"""The chats that cards are sent to: whether the bot is there, and may write."""

from collections.abc import Sequence
from typing import Final

from telegram import ChatFullInfo, ChatMember, ChatMemberRestricted
from telegram.constants import ChatMemberStatus

from adapters.telegram.checkup.token import Told, reaching
from adapters.telegram.client import BotClient
from adapters.telegram.errors import ChatMoved, called
from adapters.telegram.places import Spot, spot
from core.checkup import Finding, Routed, sentence, unchecked, well, wrong
from core.errors import ChatError, ChatForbidden, ChatGone
from core.visible import line

NAME: Final = "telegram groups"
_OUT: Final = frozenset({ChatMemberStatus.LEFT, ChatMemberStatus.BANNED})


class _Trouble(Exception):
    """Cards can't be shown there."""

    def __init__(self, said: str, mend: str) -> None:
        super().__init__(said)
        self.said = said
        self.mend = mend


async def groups(client: BotClient, told: Told, routes: Sequence[Routed]) -> Finding:
    """Whether the cards of *routes* can be shown where they go. Whether a topic is there can't be asked."""
    if not routes:
        return unchecked(
            NAME,
            "no cards go to a chat there by themselves",
            f"to have an agent's cards in a group, add {told.called} and say /start@{told.called[1:]} there",
        )
    names: list[str] = []
    problems: list[tuple[str, str]] = []
    for route in routes:
        try:
            names.append(await _name(client, told, route))
        except _Trouble as trouble:
            problems.append(
                (f"the cards of {route.whose} go to {line(route.ref, 100)}: {trouble.said}", trouble.mend)
            )
    if problems:
        return wrong(NAME, "; ".join(said for said, _ in problems), "; ".join(mend for _, mend in problems))
    return well(NAME, f"the bot is where cards go: {', '.join(dict.fromkeys(names))}")


async def _name(client: BotClient, told: Told, route: Routed) -> str:
    """What the chat is called, where all is well there. Raises _Trouble."""
    try:
        where = spot(route.ref)
    except ChatGone as error:
        raise _Trouble(sentence(error), f"{route.elsewhere} telegram:-100…") from error
    try:
        chat = await called(client.api.get_chat(where.chat))
        if not where.private:
            _may_write(chat, await called(client.api.get_chat_member(where.chat, client.id)), told)
    except ChatMoved as moved:
        raise _Trouble(
            f"the group is a supergroup now, {moved.to}", f"{route.elsewhere} telegram:{moved.to}"
        ) from moved
    except ChatError as error:
        raise _Trouble(sentence(error), _mend(error, where, told, route)) from error
    if where.topic is not None and not chat.is_forum:
        raise _Trouble(
            "it has no topics", f"turn Topics on there, or {route.elsewhere} telegram:{where.chat}"
        )
    return line(chat.title or chat.first_name or where.name, 60)


def _may_write(chat: ChatFullInfo, bot: ChatMember, told: Told) -> None:
    """Raises _Trouble where the bot is not there, or may not write."""
    if bot.status in _OUT:
        raise _Trouble("the bot is not there", f"add {told.called} to it")
    silenced = isinstance(bot, ChatMemberRestricted) and not bot.can_send_messages
    alike = bot.status == ChatMemberStatus.MEMBER and chat.permissions is not None
    if silenced or (alike and chat.permissions and chat.permissions.can_send_messages is False):
        raise _Trouble(
            "the bot may not write there", f"let {told.called} send messages, or make it administrator"
        )


def _mend(error: ChatError, where: Spot, told: Told, route: Routed) -> str:
    if (away := reaching(error)) is not None:
        return away
    if where.private:
        return f"whoever that is opens {told.address} and presses Start; or {route.elsewhere} thread"
    verb = "let it write there" if isinstance(error, ChatForbidden) else "see that the group is still there"
    return f"add {told.called} to the group, and {verb}; or {route.elsewhere} thread"
