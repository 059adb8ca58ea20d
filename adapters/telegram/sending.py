"""How a message gets to Telegram: with its entities, else once in plain words; counted against the limits.

What a chat takes is counted in rows, so that every process counts together: Telegram refuses a bot that
writes more than about 30 messages a second, one a second to a person, 20 a minute to a group
(core.telegram.org/bots/faq, "My bot is hitting limits").
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from telegram import ForceReply, InlineKeyboardMarkup, LinkPreviewOptions, ReplyParameters
from telegram import Message as Sent

from adapters.telegram.client import SURFACE, BotClient
from adapters.telegram.errors import ChatMoved, ChatUnchanged, ChatUnshowable, called
from adapters.telegram.places import Spot
from adapters.telegram.shown.keyboards import markup
from adapters.telegram.shown.message import Message
from core.errors import ChatBusy
from core.ports import Rate, Rates

log = logging.getLogger(__name__)

T = TypeVar("T")

OVERALL: Final = (Rate(count=25, seconds=1),)
PRIVATE: Final = (Rate(count=3, seconds=4),)
GROUP: Final = (Rate(count=3, seconds=3), Rate(count=20, seconds=61))
"""Each a second longer than Telegram's: what was counted first may be longer on its way than what follows."""
KEPT: Final = 5
"""Of a group's 20 a minute: what goes by leaves so many to cards and reports."""
LONGEST_OF_A_CHAT: Final = 61.0
"""Seconds. Telegram does not say whether it refuses what goes to a chat, or the whole bot; a group's limit is
of a minute, so that a longer wait is taken for the bot's: who goes on writing is refused for longer."""
NO_PREVIEW: Final = LinkPreviewOptions(is_disabled=True)

Moved = Callable[[str, str], Awaitable[None]]
"""Tells that the chat of the first name has the second one from here on."""


def limits(where: Spot) -> Mapping[str, Sequence[Rate]]:
    """What may go to the chat of *where*, and to all of Telegram."""
    return {where.name: PRIVATE if where.private else GROUP, "": OVERALL}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sending:
    """*moved*: is told where a group has become a supergroup.

    A *plain* message says the same without entities; it is sent, once, where Telegram refuses the other.
    """

    client: BotClient
    rates: Rates
    moved: Moved

    async def may_go(self, where: Spot, *, goes_by: bool = False, followed_by: int = 0) -> None:
        """One message more may go to *where*, and is counted. Raises ChatBusy.

        *goes_by*: it is no card. *followed_by*: so many may go there right after it, too.
        """
        wait = await self.rates.take(SURFACE, limits(where), KEPT if goes_by else followed_by)
        if wait > 0:
            raise ChatBusy(wait)

    async def counted(self, where: Spot) -> None:
        """One message more goes to *where*, whatever the limits say: somebody waits for it.

        Raises ChatBusy where Telegram itself said to wait: what is sent then makes the wait longer.
        """
        wait = await self.rates.take(SURFACE, {where.name: (), "": ()})
        if wait > 0:
            raise ChatBusy(wait)

    async def send(
        self,
        where: Spot,
        message: Message,
        plain: Message | None = None,
        *,
        asks: ForceReply | None = None,
        reply_to: int | None = None,
    ) -> Spot:
        """*message* is in the chat of *where*, as a reply to its message: the new message's name.

        *asks*: it wants a reply. *reply_to*: instead of where's own. Raises ChatError.
        """

        async def sent(shown: Message, where: Spot) -> Sent:
            answered = where.message if reply_to is None else reply_to
            return await self._called(
                where,
                self.client.api.send_message(
                    where.chat,
                    shown.text.words,
                    entities=shown.text.entities(),
                    link_preview_options=NO_PREVIEW,
                    message_thread_id=where.topic,
                    reply_parameters=None
                    if answered is None
                    else ReplyParameters(message_id=answered, allow_sending_without_reply=True),
                    reply_markup=asks or markup(shown.keyboard),
                ),
            )

        try:
            there = await self._shown(where, message, plain, sent)
        except ChatMoved as moved:
            where = await self._followed(where, moved)
            there = await self._shown(where, message, plain, sent)
        return Spot(chat=there.chat.id, message=there.message_id)

    async def edit(self, there: Spot, message: Message, plain: Message | None = None) -> None:
        """The message *there* is *message* now. Raises ChatError; ChatGone: it can't be edited any more."""

        async def edited(shown: Message, where: Spot) -> object:
            return await self._called(
                where,
                self.client.api.edit_message_text(
                    shown.text.words,
                    chat_id=where.chat,
                    message_id=where.message,
                    entities=shown.text.entities(),
                    link_preview_options=NO_PREVIEW,
                    reply_markup=markup(shown.keyboard),
                ),
            )

        try:
            await self._shown(there, message, plain, edited)
        except ChatUnchanged:
            return
        except ChatMoved as moved:
            await self._followed(there, moved)
            raise

    async def swap(self, there: Spot, keyboard: InlineKeyboardMarkup | None) -> None:
        """The message *there* has other buttons. Raises ChatError."""
        try:
            await self._called(
                there,
                self.client.api.edit_message_reply_markup(
                    chat_id=there.chat, message_id=there.message, reply_markup=keyboard
                ),
            )
        except ChatUnchanged:
            return

    async def file(self, there: Spot, topic: int | None, name: str, words: str) -> None:
        """*words* are a file in the chat, a reply to the message *there*. Raises ChatError."""
        await self._called(
            there,
            self.client.api.send_document(
                there.chat,
                words.encode(),
                filename=name,
                message_thread_id=topic,
                disable_content_type_detection=True,
                reply_parameters=ReplyParameters(
                    message_id=there.message or 0, allow_sending_without_reply=True
                ),
            ),
        )

    async def _shown(
        self,
        where: Spot,
        message: Message,
        plain: Message | None,
        send: Callable[[Message, Spot], Awaitable[T]],
    ) -> T:
        try:
            return await send(message, where)
        except ChatUnshowable as error:
            if plain is None:
                raise
            log.warning("a message to %s is shown in plain words: %s", where, error)
            return await send(plain, where)

    async def _called(self, where: Spot, request: Awaitable[T]) -> T:
        """What Telegram answers; where it asks to wait, every process knows of it."""
        try:
            return await called(request)
        except ChatBusy as busy:
            wait = busy.retry_after_seconds
            await self.rates.hold(SURFACE, where.name, wait)
            if wait > LONGEST_OF_A_CHAT:
                await self.rates.hold(SURFACE, "", wait)
            raise

    async def _followed(self, where: Spot, moved: ChatMoved) -> Spot:
        await self.moved(where.name, str(moved.to))
        return Spot(chat=moved.to, topic=where.topic)
