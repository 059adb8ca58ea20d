"""What one person is told: where they are alone with us all of it, among others only what concerns no call.

Telegram has nothing that one person alone sees in a group: what an answer shows of calls goes to their
private chat, and where they never opened one they are told how.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from telegram import ForceReply

from adapters.telegram.client import SURFACE
from adapters.telegram.places import Spot
from adapters.telegram.sending import Sending
from adapters.telegram.shown.answers import messages_of
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import code, joined, plain
from core.chat import Answer
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone
from core.front import Front
from core.ids import Token
from core.people import Route
from core.ports import Clock

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 5.0
"""How long an answer waits, once, where Telegram asks it to; later nobody waits for it any more."""
ELSEWHERE: Final = "I sent it to you alone."
NOT_BEGUN: Final = "This is for you alone: open t.me/{bot}, press Start, and say it again."


@dataclass(frozen=True, kw_only=True, slots=True)
class Telling:
    front: Front
    sending: Sending
    clock: Clock

    async def tell(
        self,
        where: Spot,
        user: int,
        answer: Answer,
        *,
        reply_to: int | None = None,
        quietly: bool = False,
    ) -> bool:
        """*user*, who did something in *where*, is told *answer*; whether all of it got there.

        *reply_to*: their message. *quietly*: they know where to look for what is for them alone. What can't
        be sent is not: nobody waits for it later.
        """
        messages = messages_of(answer)
        if not messages:
            return True
        if where.private or not is_for_one(answer):
            return await self.send(where, messages, reply_to=None if where.private else reply_to)
        try:
            await self._sent(Spot(chat=user), messages, None)
        except (ChatForbidden, ChatGone):
            bot = await self._name()
            begin = Message(text=plain(NOT_BEGUN.format(bot=bot)))  # our own link, to be followed
            await self.send(where, [begin], reply_to=reply_to)
            return False
        except ChatError as error:
            log.warning("an answer could not be sent: %s", error)
            return False
        if not quietly:
            await self.say(where, ELSEWHERE, reply_to=reply_to)
        return True

    async def _name(self) -> str:
        """The bot's, for a link; what it can't be asked now."""
        try:
            return await self.sending.client.username()
        except ChatError:
            return "…"

    async def say(self, where: Spot, words: str, *, reply_to: int | None = None) -> bool:
        """Words of ours are in *where*, in which a command can be tapped; whether they are."""
        return await self.send(where, [Message(text=plain(words))], reply_to=reply_to)

    async def send(self, where: Spot, messages: Sequence[Message], *, reply_to: int | None = None) -> bool:
        """*messages* are in *where*, whoever reads there; whether they are."""
        try:
            await self._sent(where, messages, reply_to)
        except ChatError as error:
            log.warning("an answer could not be sent: %s", error)
            return False
        return True

    async def name(self, where: Spot, *, reply_to: int | None = None) -> None:
        """Whoever reads in *where* is told what it is called, to be copied, if it can be sent."""
        name = f"{SURFACE}:{where}"
        command = code(f"python -m bot org route AGENT {name}")
        told = joined(
            ["This chat is called ", code(name), ". To have the cards of an agent here: ", command], ""
        )
        await self.send(where, [Message(text=told)], reply_to=reply_to)

    async def _sent(self, where: Spot, messages: Sequence[Message], reply_to: int | None) -> None:
        """What is a card ends with the others of its call from here on. Raises ChatError, StoreError."""
        for message in messages:
            there = await self.one(where, message, reply_to=reply_to)
            if message.token is not None:
                theirs = f"@{where.name}"  # as long as they are of the organization
                place = Route(surface=SURFACE, ref=theirs if where.private else str(where.around))
                await self.front.desk.store.outbox.copied(Token(message.token), place, str(there))

    async def one(
        self, where: Spot, message: Message, *, reply_to: int | None = None, asks: ForceReply | None = None
    ) -> Spot:
        """*message* is in *where*; what it is called. Raises ChatError."""

        async def sent() -> Spot:
            await self.sending.counted(where)
            return await self.sending.send(where, message, message.in_words, reply_to=reply_to, asks=asks)

        try:
            return await sent()
        except ChatBusy as busy:
            if busy.retry_after_seconds > PATIENCE_SECONDS:
                raise
            await self.clock.sleep(busy.retry_after_seconds)
            return await sent()


def is_for_one(answer: Answer) -> bool:
    """It says more than others there may know: more than a decision, which its card tells, or a refusal."""
    return answer.alone or answer.table is not None or bool(answer.views or answer.pages)
