"""What people write in Telegram: a command is done, a reply to a question is taken, words are in the inbox.

A command never comes from words that were passed on, nor from whom nobody can tell: an administrator who
hides, a channel, another bot.
"""

import logging
from collections import deque
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from telegram import Message, User

from adapters.telegram.heard.prompting import STILL_OPEN, Prompting
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.updates import (
    CHANNEL_FEED,
    Said,
    Us,
    account_of,
    answered_by,
    chat_message,
    command_in,
    is_ours,
    is_passed_on,
    kind_of,
    place_of,
    where,
    words,
)
from core.chat import SILENCE, Answer, ChatMessage, Typed
from core.commands import BY_NAME
from core.front import Front
from core.route import ChatKind, is_new, number_named

log = logging.getLogger(__name__)

HIDDEN: Final = (
    "I can't tell who you are: turn off “Remain anonymous” in your administrator rights, and say it again."
)
AS_CHANNEL: Final = "I can't tell who you are: write as yourself, not as a channel."
BOT: Final = "I listen to people only."
PASSED_ON: Final = "I do no command that was passed on: type it yourself."
REMEMBERED: Final = 1_000
TOLD_AGAIN: Final = timedelta(hours=1)
"""After which a stranger is told once more that nobody knows them."""
WELCOME: Final = (
    "This bot acts for its owners, and asks them first. If you are to use it, an owner gives you a code: "
    "open the link that came with it, or say /join and the code."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Messages:
    """*bots*: those that were told that nobody listens to them.

    *strangers*: when those whom nobody knows were told so, the last to write last.
    """

    front: Front
    prompting: Prompting
    telling: Telling
    bots: deque[int] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    strangers: dict[int, datetime] = field(default_factory=dict)

    async def said(self, message: Message, event_id: str, us: Us) -> None:
        """What *message* asks for is done or stored, and its writer was told. Raises StoreError."""
        user = message.from_user
        if user is None or message.is_automatic_forward or user.id == CHANNEL_FEED or user.id == us.id:
            return
        said = self._command(message, us)
        if (why := _why_nobody(message, user)) is not None:
            await self._refused(message, user, said, us, why)
        elif is_passed_on(message) and words(message, us)[0].startswith("/"):
            if kind_of(message) is ChatKind.DIRECT:
                await self._say(message, PASSED_ON)
        elif (said is None or _may_be_words(said)) and await self.prompting.answered(
            message, user, words(message, us)[0], event_id, us
        ):
            return
        elif said is not None:
            await self._typed(message, user, said, event_id, us)
        else:
            await self._heard(message, user, event_id, us)

    # ── words ────────────────────────────────────────────────────────────────────────────────

    async def _heard(self, message: Message, user: User, event_id: str, us: Us) -> None:
        told = chat_message(message, user, event_id, us)
        if told is None:
            return
        alone = kind_of(message) is ChatKind.DIRECT and message.reply_to_message is None
        apart = is_new(told.text) or number_named(told.text) is not None
        if alone and not apart and await self.prompting.is_open(where(message), user):
            await self._say(message, STILL_OPEN)
        else:
            await self._tell(message, user, await self.front.said(told))

    async def _tell(self, message: Message, user: User, answer: Answer) -> None:
        if answer.unknown and self._was_told(user):
            return
        told = await self.telling.tell(where(message), user.id, answer, reply_to=message.message_id)
        if answer.unknown and told:
            self._remember(user)

    def _was_told(self, user: User) -> bool:
        """Whether *user*, whom nobody knows, was told so a short while ago."""
        at = self.strangers.get(user.id)
        return at is not None and self.telling.clock.now() - at < TOLD_AGAIN

    def _remember(self, user: User) -> None:
        self.strangers.pop(user.id, None)
        self.strangers[user.id] = self.telling.clock.now()
        if len(self.strangers) > REMEMBERED:
            del self.strangers[next(iter(self.strangers))]

    async def _say(self, message: Message, words: str) -> None:
        await self.telling.say(where(message), words, reply_to=message.message_id)

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    def _command(self, message: Message, us: Us) -> Said | None:
        """The command for us in *message*. Among others one that we don't have is for another bot.

        Unless it is a reply to us.
        """
        said = command_in(message, us)
        if said is None or kind_of(message) is ChatKind.DIRECT or is_ours(answered_by(message), us):
            return said
        return None if _may_be_words(said) else said

    async def _typed(self, message: Message, user: User, said: Said, event_id: str, us: Us) -> None:
        if said.bot is not None and not us.is_named(said.bot):
            return  # it is another bot's
        opened = said.name == "start" and not said.rest and kind_of(message) is not ChatKind.DIRECT
        if opened and await self.front.knows(account_of(user)):
            await self.telling.name(where(message), reply_to=message.message_id)
            return
        answer = await self._done(message, user, said, event_id, us)
        await self._tell(message, user, answer)

    async def _done(self, message: Message, user: User, said: Said, event_id: str, us: Us) -> Answer:
        """What a command is answered with. `/stop` alone is said to the task of the chat, as words are."""
        if said.name == "cancel":
            return await self.prompting.cancelled(where(message), user)
        if said.name == "stop" and not said.rest:
            told = chat_message(message, user, event_id, us)
            return SILENCE if told is None else await self.front.said(_addressed(told))
        line = said.line
        if said.name in ("start", "settings"):
            code = said.rest if said.name == "start" else ""
            line = f"join {code}" if code else "help"
        typed = Typed(account=account_of(user), event_id=event_id, text=line, place=place_of(message))
        answer = await self.front.typed(typed)
        return Answer(words=WELCOME) if answer.unknown and said.name == "start" else answer

    async def _refused(self, message: Message, user: User, said: Said | None, us: Us, why: str) -> None:
        """Nobody is listened to whom we can't tell; they hear so where they spoke to us, and no bot twice."""
        commanded = said is not None and (said.bot is None or us.is_named(said.bot))
        named = words(message, us)[1] or is_ours(answered_by(message), us)
        if why == BOT and user.id in self.bots:
            return  # two bots would go on for ever
        if why == BOT and commanded:
            self.bots.append(user.id)
        if commanded or (named and why != BOT):
            await self._say(message, why)


def _may_be_words(said: Said) -> bool:
    """It names no command, and nobody whose command it is: /srv may be the new value of a field."""
    known = said.name in BY_NAME or said.name in ("cancel", "start", "settings")
    return not known and said.bot is None


def _addressed(message: ChatMessage) -> ChatMessage:
    return replace(message, text="stop", addressed=True)


def _why_nobody(message: Message, user: User) -> str | None:
    """Why nobody can tell who wrote *message*; None where somebody can."""
    if message.sender_chat is not None:
        return HIDDEN if message.sender_chat.id == message.chat.id else AS_CHANNEL
    return BOT if user.is_bot else None
