"""A card that is sent, edited, pressed through the real route and ended: what every other card needs."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from adapters.telegram.checkup.path import Path, is_taken
from adapters.telegram.checkup.token import Told, reaching
from adapters.telegram.places import Spot
from adapters.telegram.sending import Sending
from adapters.telegram.shown.keyboards import Button, Keyboard, Style, data, markup
from adapters.telegram.shown.menus import Menu
from adapters.telegram.shown.message import Message
from adapters.telegram.shown.text import Part, bold, cut_to, italic, joined, plain, safe
from core.cards import LABELS, Verb
from core.checkup import Finding, sentence, unchecked, well, wrong
from core.errors import ChatError, ChatForbidden, ChatGone, StoreError
from core.ports import Clock

CARD: Final = "telegram card"
CLICK: Final = "telegram click"
ANSWER_SECONDS: Final = 5.0
"""After which whoever pressed looks at a turning wheel for too long."""
BLOCKED: Final = ("blocked", "deactivated")


@dataclass(kw_only=True, slots=True)
class Trial:
    """A card in the private chat with *user*, which is edited, pressed and ended, never deleted.

    *path*: where it is pressed; None: nowhere. *token*: of the card's button; it stands for nothing, so that
    a press decides nothing and leaves nothing behind. Its verb is one that is answered without a word.
    """

    sending: Sending
    told: Told
    user: int
    clock: Clock
    path: Path | None
    token: str = field(default_factory=lambda: f"doctor-{secrets.token_hex(4)}", init=False)
    _there: Spot | None = field(default=None, init=False)

    async def card(self) -> Finding:
        """Whether it can be sent there, and edited."""
        where = Spot(chat=self.user)
        try:
            await self.sending.counted(where)
            self._there = await self.sending.send(where, self._shown("It was sent."))
        except (ChatError, StoreError) as error:
            return wrong(CARD, f"it can't be sent: {sentence(error)}", self._of_send(error))
        words = "It was sent and edited; next it is pressed."
        return await self._edited(self._shown(words)) or well(
            CARD, "it was sent to your private chat with the bot, and edited"
        )

    async def ended(self, failed: Iterable[Finding]) -> Finding | None:
        """It says what came of all, without its button; what is wrong with that, if anything is."""
        if self._there is None:
            return None
        found = list(failed)
        title = "Gatepost does not work here yet" if found else "Gatepost works here"
        lines: list[Part] = [safe(f"✖ {each.name}: {each.said}\n→ {each.mend}") for each in found]
        return await self._edited(_message(title, *lines))

    async def _edited(self, message: Message) -> Finding | None:
        assert self._there is not None
        try:
            await self.sending.counted(self._there)
            await self.sending.edit(self._there, message)
        except (ChatError, StoreError) as error:
            mend = reaching(error) or "a card that can't be edited never says what became of it: tell us"
            return wrong(CARD, f"it can't be edited: {sentence(error)}", mend)
        return None

    def _shown(self, words: str) -> Message:
        note = plain("python -m bot doctor presses this by itself; there is nothing for you to do")
        return _message("Gatepost is looked at", plain(words), italic(note), keyboard=self._keyboard)

    @property
    def _keyboard(self) -> Keyboard:
        label = LABELS[Verb.APPROVE]
        return ((Button(words=label, data=data(Menu.BACK, self.token), style=Style.SUCCESS),),)

    def _of_send(self, error: ChatError | StoreError) -> str:
        said = str(error)
        if any(word in said for word in BLOCKED):
            return f"unblock {self.told.called}, or link an account that is there: python -m bot people link"
        if isinstance(error, ChatForbidden | ChatGone):
            return (
                f"open {self.told.address} in Telegram and press Start: before that no bot may write to you"
            )
        return reaching(error) or "Telegram's own words say what it wants"

    # ── as Telegram would send it ────────────────────────────────────────────────────────────

    async def click(self) -> Finding:
        """Whether a press on it is taken, in the time that whoever pressed waits."""
        if self.path is None or self._there is None:
            return unchecked(CLICK, "there is nothing to press")
        got = await self.path.told(self._pressed(self._there), ANSWER_SECONDS)
        if is_taken(got):
            return well(CLICK, f"one on the card is taken within {ANSWER_SECONDS:g} s")
        return wrong(CLICK, *self.path.why_not(got))

    def _pressed(self, there: Spot) -> Mapping[str, Any]:
        shown = self._shown("It was sent and edited; next it is pressed.")
        keyboard = markup(shown.keyboard)
        chat = {"id": there.chat, "type": "private", "first_name": "doctor"}
        now = int(self.clock.now().timestamp())
        return {
            "update_id": 2**40 + secrets.randbelow(2**62 - 2**40),  # no number that Telegram gives
            "callback_query": {
                "id": secrets.token_hex(8),
                "from": {"id": self.user, "is_bot": False, "first_name": "doctor"},
                "chat_instance": secrets.token_hex(8),
                "data": data(Menu.BACK, self.token),
                "message": {
                    "message_id": there.message,
                    "date": now,
                    "edit_date": now,
                    "chat": chat,
                    "from": self.told.bot.to_dict() if self.told.bot else None,
                    "text": shown.text.words,
                    "entities": [entity.to_dict() for entity in shown.text.entities()],
                    "reply_markup": keyboard.to_dict() if keyboard else None,
                },
            },
        }


def _message(title: str, *parts: Part, keyboard: Keyboard = ()) -> Message:
    return Message(text=cut_to(joined([bold(plain(title)), *parts], "\n\n")), keyboard=keyboard)
