"""A message as it is to be seen: its text, and the buttons under it."""

from dataclasses import dataclass, replace

from adapters.telegram.shown.keyboards import Keyboard
from adapters.telegram.shown.text import Text, cut_to


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """*token*: the one park whose card it is, so that it ends with it; None of all others.

    *tokens*: of all that wait on it.
    """

    text: Text
    keyboard: Keyboard = ()
    tokens: tuple[str, ...] = ()

    @property
    def token(self) -> str | None:
        return self.tokens[0] if len(self.tokens) == 1 else None

    @property
    def in_words(self) -> "Message":
        """The same without entities, for where Telegram does not take them; cut where it has no room.

        Words that were code are longer so: where they are cut, no button answers them (I32).
        """
        text = self.text.plain
        shown = cut_to(text)
        return replace(self, text=shown, keyboard=self.keyboard if shown == text else ())
