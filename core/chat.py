"""What a surface tells us: messages, pressed buttons, typed commands; and what it is to answer at once.

Free of any surface. An adapter has verified who wrote or pressed, and parsed its wire format, before it
makes one of these.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.forms import Form
from core.forms import Typed as Filled
from core.ids import Token
from core.people import Account
from core.rendering import View
from core.route import ChatKind
from core.visible import line

LONGEST_WORDS: Final = 40_000
"""Of a message or an answer, in characters: as long as a chat's longest."""
LONGEST_NAME: Final = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a message stands. *thread*: the one it is in, None at a chat's top.

    *opens*: the thread where a task that it opens will speak; None: where it stands.
    """

    chat: str
    kind: ChatKind
    thread: str | None = None
    opens: str | None = None

    @property
    def speaks(self) -> str:
        """Where a task opened here speaks."""
        return self.thread or self.opens or self.chat


@dataclass(frozen=True, kw_only=True, slots=True)
class Attachment:
    """A file that came with a message; nothing of it is read but what the surface says of it."""

    name: str
    size: int | None = None  # bytes

    def __str__(self) -> str:
        size = "" if self.size is None else f" ({self.size:,} bytes)"
        return f"{line(self.name, LONGEST_NAME)}{size}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatMessage:
    """Somebody wrote *text*. *reply_to*: the message it answers, by the surface's name of it.

    *addressed*: it names us, in whatever way its surface has. *edited*: it is an older message's new text.
    *by_bot*: no person wrote it.
    """

    account: Account
    event_id: str
    place: Place
    text: str
    reply_to: str | None = None
    addressed: bool = False
    edited: bool = False
    by_bot: bool = False
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Press:
    """Somebody pressed a button: its *verb* on what *token* names, in the message *chat_ref*.

    *words*: what they wrote with it, such as why. *suggestion*: which of the answers that were suggested they
    took, from 0. *fields*: the texts a form came back with, by name.
    """

    account: Account
    event_id: str
    verb: str
    token: Token
    chat_ref: str | None = None
    words: str | None = None
    suggestion: int | None = None
    fields: Mapping[str, Filled] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Typed:
    """Somebody typed a command, without whatever leads commands there."""

    account: Account
    event_id: str
    text: str
    place: Place | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of words under headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What its sender alone is shown at once: words, a table, or views; nothing at all where all are empty.

    *done*: what was pressed is done, and its card says all that the words say. *asks*: what is still to be
    said before it is done. *form*: the fields to edit. *about*: the code of the call that it is about.
    *pages*: the whole of what a card had no room for; who was shown them (`Front.saw`) may approve it.
    *alone*: its words, too, are for nobody else who may read along. *unknown*: nobody knows its sender here.
    """

    words: str = ""
    done: bool = False
    table: Table | None = None
    views: tuple[View, ...] = ()
    asks: str | None = None
    form: Form | None = None
    about: str = ""
    pages: tuple[str, ...] = ()
    alone: bool = False
    unknown: bool = False


SILENCE: Final = Answer()

Arrived: TypeAlias = ChatMessage | Press | Typed
