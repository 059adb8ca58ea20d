"""What is pressed in Telegram: decided, or answered with other buttons, within its request.

Who pressed is answered before anything else is sent: they look at a turning wheel until then. What takes long
is told of afterwards. A menu is the message's own buttons, swapped: what opens one changes nothing.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from adapters.telegram.errors import QueryTooOld, called
from adapters.telegram.heard.prompting import Prompting
from adapters.telegram.heard.telling import ELSEWHERE, Telling, is_for_one
from adapters.telegram.heard.updates import Click
from adapters.telegram.shown.answers import fits_toast, messages_of, shows_whole, toast
from adapters.telegram.shown.keyboards import Keyboard, Pressed, markup, pressed
from adapters.telegram.shown.menus import (
    Menu,
    Question,
    declining,
    fields,
    question_for,
    question_for_field,
    sure,
    value_of,
    values,
)
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.posts import in_words, message_of
from adapters.telegram.shown.text import plain
from core.cards import Verb
from core.chat import SILENCE, Answer, Place, Press, Typed
from core.errors import BadArguments, ChatError, StoreError
from core.forms import Form, Input
from core.front import GONE, Front
from core.ids import Token
from core.parks import Choice
from core.rendering import View
from core.route import ChatKind

log = logging.getLogger(__name__)

ANSWERED_SECONDS: Final = 2.0
"""How long somebody who pressed waits for an answer, before they are told that it goes on."""
GOES_ON: Final = "Still at it: you will be told."
AWAY: Final = "The database is away. It counts as soon as it is back."
"""Telegram delivers the press again then."""
LOOKS: Final = 4
"""That are taken at what a message shows, until it is what is so."""
CHANGED: Final = "Changed. Look at it once more, and decide."
WHY: Final = "Why not?"
CHOOSE: Final = "Choose:"
NOT_ASKED: Final = "I could not ask you just now. Press it once more, or use a command: /help"

Does = Callable[["Buttons", Click, Pressed], Awaitable["Done"]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """What a press came to: what its sender is told, and what is sent once they were."""

    answer: Answer = SILENCE
    then: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Buttons:
    front: Front
    prompting: Prompting
    telling: Telling
    answered_seconds: float = ANSWERED_SECONDS

    async def pressed(self, click: Click) -> None:
        """What was pressed is done, and who pressed was told. Raises StoreError: nothing is done yet."""
        doing = asyncio.ensure_future(self._done(click))
        await asyncio.wait({doing}, timeout=self.answered_seconds)
        late = not doing.done()
        if late:
            await self._answered(click, GOES_ON)
        try:
            done = await doing
        except StoreError:
            if not late:
                await self._answered(click, AWAY)
            raise
        finally:
            doing.cancel()  # where this was cut off; else it has ended
        if late or not await self._told_at_once(click, done.answer):
            await self.telling.tell(click.where, click.user.id, done.answer, quietly=True)
        if done.then is not None:
            await done.then()

    async def _told_at_once(self, click: Click, answer: Answer) -> bool:
        """The wheel stops, with *answer* where it says little; whether that was all of it."""
        if not click.where.private and is_for_one(answer):
            await self._answered(click, ELSEWHERE)
            return False
        short = fits_toast(answer.words)
        shown = await self._answered(click, toast(answer.words), alert=bool(answer.words) and not answer.done)
        rest = replace(answer, words="") if short and shown else answer
        return not messages_of(rest)

    async def _answered(self, click: Click, words: str, *, alert: bool = False) -> bool:
        """Whether who pressed was shown *words*: after a while nobody can be any more."""
        try:
            api = self.telling.sending.client.api
            await called(api.answer_callback_query(click.query.id, text=words or None, show_alert=alert))
        except QueryTooOld as error:
            log.info("a press was too old to be answered: %s", error)
            return False
        except ChatError as error:
            log.warning("a press could not be answered: %s", error)
            return False
        return True

    # ── what a press does ────────────────────────────────────────────────────────────────────

    async def _done(self, click: Click) -> Done:
        said = click.query.data or ""
        if said.startswith("/"):
            return Done(answer=await self._typed(click, said.removeprefix("/")))
        found = pressed(said)
        if found is None:
            return Done(answer=Answer(words=GONE))
        does = _MENUS.get(found.verb, Buttons._decided)
        try:
            return await does(self, click, found)
        except BadArguments as error:
            return Done(answer=Answer(words=error.lines))

    async def _typed(self, click: Click, line: str) -> Answer:
        place = Place(chat=str(click.where), kind=ChatKind.DIRECT if click.where.private else ChatKind.GROUP)
        return await self.front.typed(
            Typed(account=click.account, event_id=click.event_id, text=line, place=place)
        )

    def _press(self, click: Click, found: Pressed, verb: str) -> Press:
        suggestion = found.numbers[0] if verb == Verb.ANSWER and found.numbers else None
        return Press(
            account=click.account,
            event_id=click.event_id,
            verb=verb,
            token=Token(found.token),
            chat_ref=None if click.there is None else str(click.there),
            suggestion=suggestion,
        )

    async def _decided(self, click: Click, found: Pressed) -> Done:
        """A verb of the card's own: its decision is taken, or what is missing is asked for."""
        verb = _DECIDES.get(found.verb, found.verb)
        press = self._press(click, found, verb)
        answer = await self.front.pressed(press)
        if (asks := answer.asks) is not None:
            return Done(then=lambda: self._asks(click, found, question_for(verb, asks, answer.about), verb))
        if answer.pages:
            said = SILENCE if click.where.private else Answer(words=ELSEWHERE, done=True)
            return Done(answer=said, then=lambda: self._reviewed(click, press, answer))
        return Done(answer=answer, then=lambda: self._current(click, press, answer))

    async def _reviewed(self, click: Click, press: Press, answer: Answer) -> None:
        """Who pressed is shown the whole; it is on record where they were shown its end (I32)."""
        told = await self.telling.tell(click.where, click.user.id, answer, quietly=True)
        if told and shows_whole(answer):
            await self.front.saw(press)

    # ── menus ────────────────────────────────────────────────────────────────────────────────

    async def _opened(self, click: Click, found: Pressed, verb: str, menu: Keyboard) -> Done:
        """The message's buttons are *menu*, if nothing stands against *verb*."""
        press = self._press(click, found, verb)
        against = await self.front.begins(press)
        if against.words:
            return Done(answer=against, then=lambda: self._current(click, press, against))
        return Done(then=lambda: self._swapped(click, press, menu))

    async def _declining(self, click: Click, found: Pressed) -> Done:
        return await self._opened(click, found, Verb.DECLINE, declining(found.token))

    async def _sure(self, click: Click, found: Pressed) -> Done:
        return await self._opened(click, found, Verb.APPROVE, sure(found.token, Verb.APPROVE))

    async def _sure_again(self, click: Click, found: Pressed) -> Done:
        return await self._opened(click, found, Choice.SEND_AGAIN, sure(found.token, Choice.SEND_AGAIN))

    async def _why(self, click: Click, found: Pressed) -> Done:
        press = self._press(click, found, Verb.DECLINE)
        against = await self.front.begins(press)
        if against.words:
            return Done(answer=against, then=lambda: self._current(click, press, against))
        question = question_for(Verb.DECLINE, WHY, against.about)
        return Done(then=lambda: self._asks(click, found, question, Verb.DECLINE))

    async def _back(self, click: Click, found: Pressed) -> Done:
        press = self._press(click, found, Verb.APPROVE)
        return Done(then=lambda: self._restored(click, press))

    async def _edits(self, click: Click, found: Pressed) -> Done:
        press = self._press(click, found, Verb.EDIT)
        answer = await self.front.pressed(press)
        if answer.form is None:
            return Done(answer=answer, then=lambda: self._current(click, press, answer))
        menu = fields(answer.form, found.token)
        return Done(then=lambda: self._swapped(click, press, menu))

    async def _field(self, click: Click, found: Pressed) -> Done:
        made, asked, answer = await self._input(click, found)
        if made is None or asked is None:
            return Done(answer=answer)
        menu = values(made, found.token, found.numbers[0])
        if menu is not None:
            press = self._press(click, found, Verb.EDIT)
            return Done(then=lambda: self._swapped(click, press, menu))
        question = question_for_field(asked, answer.about)
        return Done(then=lambda: self._asks(click, found, question, Verb.EDIT, asked.name))

    async def _value(self, click: Click, found: Pressed) -> Done:
        made, asked, answer = await self._input(click, found)
        if made is None or asked is None:
            return Done(answer=answer)
        value = value_of(made, *found.numbers[:2])
        if value is None:
            return Done(answer=Answer(words=GONE))
        press = replace(self._press(click, found, Verb.EDIT), fields={asked.name: value})
        if value == asked.value:
            return Done(then=lambda: self._restored(click, press))
        answer = await self.front.amended(press)
        if not answer.views:
            return Done(answer=answer, then=lambda: self._current(click, press, answer))
        return Done(answer=Answer(words=CHANGED, done=True), then=lambda: self._restored(click, press))

    async def _input(self, click: Click, found: Pressed) -> tuple[Form | None, Input | None, Answer]:
        """The form of the call, and the field that was chosen; else why there is none."""
        answer = await self.front.pressed(self._press(click, found, Verb.EDIT))
        inputs = () if answer.form is None else answer.form.inputs
        if answer.form is None or not found.numbers or found.numbers[0] >= len(inputs):
            return None, None, answer if answer.words else Answer(words=GONE)
        return answer.form, inputs[found.numbers[0]], answer

    # ── what follows ─────────────────────────────────────────────────────────────────────────

    async def _asks(
        self, click: Click, found: Pressed, question: Question, verb: str, name: str | None = None
    ) -> None:
        """Who pressed is asked in the chat where they did; their reply comes to `Prompting`."""
        asked = await self.prompting.ask(
            click.where,
            click.user,
            question,
            token=Token(found.token),
            verb=verb,
            field=name,
            reply_to=None if click.there is None else click.there.message,
        )
        if not asked:
            await self.telling.tell(click.where, click.user.id, Answer(words=NOT_ASKED))

    async def _swapped(self, click: Click, press: Press, menu: Keyboard) -> None:
        """The message has the buttons of *menu*; where it can't be changed, a message of its own has.

        Somebody may have decided meanwhile, and the card have ended before it got a menu: it ends again then.
        """
        try:
            if click.there is not None:
                await self.telling.sending.counted(click.there)
                await self.telling.sending.swap(click.there, markup(menu))
                if not await self.front.waits(press):
                    await self._restored(click, press)
                return
        except ChatError as error:
            log.warning("the buttons of %s could not be changed: %s", click.there, error)
        message = Message(text=plain(CHOOSE), keyboard=menu, tokens=(press.token,))
        await self.telling.send(click.where, [message])

    async def _current(self, click: Click, press: Press, answer: Answer) -> None:
        """The message that was pressed shows what is so now.

        One that a post knows of is revised by who posts; where its press was refused, that may have failed.
        """
        posted = press.chat_ref is not None and await self.front.is_posted(press.chat_ref)
        if press.chat_ref is not None and not (posted and answer.done):
            await self._restored(click, press)

    async def _restored(self, click: Click, press: Press) -> None:
        """The message shows what is so now, with its own buttons: also what became so while it was edited."""
        shown: View | None = None
        for _ in range(LOOKS):
            view = await self.front.view_of(press)
            if view is None or click.there is None or view == shown:
                return
            shown = view
            try:
                await self.telling.sending.counted(click.there)
                await self.telling.sending.edit(click.there, message_of(view), in_words(view))
            except ChatError as error:
                log.warning("the message %s could not be changed: %s", click.there, error)
                return


_MENUS: Final[Mapping[str, Does]] = {
    Menu.DECLINE: Buttons._declining,
    Menu.SURE: Buttons._sure,
    Menu.SURE_AGAIN: Buttons._sure_again,
    Menu.WHY: Buttons._why,
    Menu.BACK: Buttons._back,
    Menu.EDIT: Buttons._edits,
    Menu.FIELD: Buttons._field,
    Menu.VALUE: Buttons._value,
}
_DECIDES: Final[Mapping[str, str]] = {Menu.DECLINE_NOW: Verb.DECLINE}
"""What is decided by a button of a menu's own."""
