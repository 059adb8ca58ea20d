"""Names of ours for what is in Telegram: a chat and what is in it, with a colon between.

``-100123`` is a group, ``4711`` somebody's private chat, ``-100123:t4`` a topic of a forum, ``-100123:77`` a
message. What posts reply to names its topic, too: ``-100123:t4:77``. ``@4711`` is the private chat of the
account ``4711``.
"""

import re
from dataclasses import dataclass, replace

from core.errors import ChatGone

_NAME = re.compile(
    r"@?(?P<chat>-?[1-9]\d{0,18})(?::t(?P<topic>\d{1,18}))?(?::(?P<message>\d{1,18}))?", re.ASCII
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Spot:
    """A chat, or a topic of one; *message*: a message there, and what is a reply to it."""

    chat: int
    topic: int | None = None
    message: int | None = None

    def __str__(self) -> str:
        topic = None if self.topic is None else f"t{self.topic}"
        return ":".join(str(part) for part in (self.chat, topic, self.message) if part is not None)

    @property
    def name(self) -> str:
        """The name of its chat."""
        return str(self.chat)

    @property
    def private(self) -> bool:
        """It is between one person and us: other chats have negative numbers."""
        return self.chat > 0

    @property
    def around(self) -> "Spot":
        """The chat, or the topic, that it is in."""
        return replace(self, message=None)


def spot(name: str) -> Spot:
    """What *name*, a route or a message, is in Telegram. Raises ChatGone for what is no name there."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ChatGone(f"{name} is no place in Telegram; those are like -100123 or @4711")
    numbers = {key: None if text is None else int(text) for key, text in found.groupdict().items()}
    chat = numbers["chat"]
    assert chat is not None
    return Spot(chat=chat, topic=numbers["topic"], message=numbers["message"])


def around(name: str) -> str:
    """The chat or the topic that *name* is in: a group that grew counts its messages afresh."""
    return str(spot(name).around) if _NAME.fullmatch(name) else name
