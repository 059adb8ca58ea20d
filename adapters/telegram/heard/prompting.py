"""What somebody is asked to write, as a reply: the new value of a field, a reason, an answer.

What was asked is a row, so that a reply counts in whatever process, once; it is good for a quarter of an
hour, and for whom it was asked. A reply to one that is over says nothing to a task.
"""

import logging
from dataclasses import dataclass
from typing import Final

from telegram import ForceReply, Message, User

from adapters.telegram.client import SURFACE
from adapters.telegram.heard.telling import Telling
from adapters.telegram.heard.updates import Us, account_of, is_ours, where
from adapters.telegram.places import Spot
from adapters.telegram.shown.answers import messages_of
from adapters.telegram.shown.menus import Question, is_question
from core.chat import Answer, Press
from core.errors import BadArguments, ChatError
from core.front import Front
from core.ids import Token
from core.ports import Prompt

log = logging.getLogger(__name__)

SECONDS: Final = 900.0
NOT_YOURS: Final = "This question is for somebody else."
OVER: Final = "This question is over: your reply changes nothing. Press the card's button again."
CANCELLED: Final = "Cancelled: nothing is changed."
NOT_ASKED: Final = "That does not do, and I could not ask you once more. Press the card's button again."
NOTHING: Final = "There is nothing to cancel."
STILL_OPEN: Final = (
    "My question is still open: answer it by a reply to it, or say /cancel. If this is something else, begin "
    "it with /new."
)
IN_WORDS: Final = "Answer in words, please."


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompting:
    front: Front
    telling: Telling

    async def ask(
        self,
        to: Spot,
        user: User,
        question: Question,
        *,
        token: Token,
        verb: str,
        field: str | None = None,
        reply_to: int | None = None,
    ) -> bool:
        """*user* is asked *question* in the chat *to*, and their reply is taken; False: it can't be sent."""
        message = question.to(None if to.private else user)
        asks = ForceReply(selective=True, input_field_placeholder=question.placeholder or None)
        try:
            there = await self.telling.one(to, message, reply_to=reply_to, asks=asks)
        except ChatError:
            return False
        prompt = Prompt(
            surface=SURFACE,
            chat_ref=str(there),
            account=account_of(user).ref,
            token=token,
            verb=verb,
            field=field,
        )
        await self.front.desk.store.prompts.ask(prompt, SECONDS)
        await self._beside(to, there, question)
        return True

    async def _beside(self, to: Spot, there: Spot, question: Question) -> None:
        """What the question has no room for is a file under it. It stands, whatever becomes of that."""
        if question.file is None:
            return
        name, words = question.file
        try:
            await self.telling.sending.counted(to)
            await self.telling.sending.file(there, to.topic, f"{name}.txt", words)
        except ChatError as error:
            log.warning("the file %s could not be put beside its question: %s", name, error)

    async def answered(self, message: Message, user: User, said: str, event_id: str, us: Us) -> bool:
        """*message* answered a question, and what it asked for is done; False where it is a reply to none."""
        answered = message.reply_to_message
        if answered is None:
            return False
        here = where(message)
        name = str(Spot(chat=here.chat, message=answered.message_id))
        prompt = await self.front.desk.store.prompts.asked(SURFACE, name)
        if prompt is None:
            if not (is_ours(answered, us) and is_question(answered.text)):
                return False
            why = OVER
        elif prompt.account != account_of(user).ref:
            why = NOT_YOURS
        elif not said.strip():
            why = IN_WORDS
        else:
            await self._taken(message, user, prompt, said, event_id)
            return True
        await self.telling.say(here, why, reply_to=message.message_id)
        return True

    async def _taken(self, message: Message, user: User, prompt: Prompt, said: str, event_id: str) -> None:
        here = where(message)
        press = Press(
            account=account_of(user),
            event_id=event_id,
            verb=prompt.verb,
            token=prompt.token,
            words=None if prompt.field is not None else said,
            fields=None if prompt.field is None else {prompt.field: said},
        )
        try:
            if prompt.field is not None:
                answer = await self.front.amended(press)
            else:
                answer = await self.front.pressed(press)
        except BadArguments as error:
            again = Question.again(error.lines)
            asked = await self.ask(
                here,
                user,
                again,
                token=prompt.token,
                verb=prompt.verb,
                field=prompt.field,
                reply_to=message.message_id,
            )
            if not asked:
                await self.telling.say(here, NOT_ASKED, reply_to=message.message_id)
            return
        await self.telling.send(here, messages_of(answer), reply_to=message.message_id)
        # last: where this breaks off, the reply comes again, and is answered as it was
        await self.front.desk.store.prompts.close(SURFACE, prompt.chat_ref)

    async def cancelled(self, here: Spot, user: User) -> Answer:
        """What was asked of *user* there is over."""
        prompts = self.front.desk.store.prompts
        found = await prompts.open_in(SURFACE, here.name, account_of(user).ref)
        if found is None or not await prompts.close(SURFACE, found.chat_ref):
            return Answer(words=NOTHING)
        return Answer(words=CANCELLED)

    async def is_open(self, here: Spot, user: User) -> bool:
        """Whether *user* was asked something there that they have not answered."""
        return (
            await self.front.desk.store.prompts.open_in(SURFACE, here.name, account_of(user).ref) is not None
        )
