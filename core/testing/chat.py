"""A chat in memory: a surface whose rooms can be looked at, and whose people write, press and type.

It can misbehave as real ones do: *trouble* decides what becomes of each post and update, and what people do
may arrive late, twice, or in another order. It keeps a platform's limit on messages a second.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from core.cards import Card, Row
from core.chat import SILENCE, Answer, Arrived, Attachment, ChatMessage, Place, Press, Typed
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone
from core.forms import Typed as Filled
from core.front import Front
from core.ids import Token
from core.people import Account
from core.ports import Clock
from core.rendering import View
from core.report import Report
from core.route import ChatKind

A_SECOND: Final = 1
"""Messages that a room takes within a second, before it asks to wait; edits are not counted."""


class Trouble(StrEnum):
    """What goes wrong with one message on its way there."""

    LOST_BEFORE = "lost before"  # it never got there
    LOST_AFTER = "lost after"  # it is there, and nobody was told
    BUSY = "busy"  # too many: try again later
    REFUSED = "refused"  # we are not let in (any more)
    GONE = "gone"  # there is no such place


Troubles: TypeAlias = Callable[[str, str], Trouble | None]
"""Of an operation (post, update) and a route: what goes wrong with it, or nothing."""


def no_trouble(operation: str, route: str) -> Trouble | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """A message in a room, as it reads now, and as it read before."""

    ref: str
    route: str
    view: View
    at: datetime
    before: tuple[View, ...] = ()


@dataclass(kw_only=True, slots=True)
class MemoryChat:
    """core.poster.Surface. *limited*: a room takes no more than its share a second.

    *busy_seconds*: how long it asks to wait, where trouble says that it is busy.
    """

    clock: Clock
    name: str = "chat"
    trouble: Troubles = no_trouble
    limited: bool = False
    busy_seconds: float = 5.0
    shown: dict[str, Shown] = field(default_factory=dict)
    _next: int = 0

    # ── what is posted ───────────────────────────────────────────────────────────────────────

    async def post(self, view: View, route: str) -> str:
        trouble = self.trouble("post", route)
        _before(trouble, route, self.busy_seconds)
        if self.limited and self._too_many(route):
            raise ChatBusy(1.0)
        ref = f"m{self.count()}"
        self.shown[ref] = Shown(ref=ref, route=route, view=view, at=self.clock.now())
        _after(trouble)
        return ref

    async def update(self, view: View, route: str, chat_ref: str) -> str:
        trouble = self.trouble("update", route)
        _before(trouble, route, self.busy_seconds)
        was = self.shown.get(chat_ref)
        if was is None:
            raise ChatGone(f"there is no message {chat_ref}")
        self.shown[chat_ref] = replace(was, view=view, before=(*was.before, was.view))
        _after(trouble)
        return chat_ref

    def _too_many(self, route: str) -> bool:
        now = self.clock.now()
        return (
            sum((now - m.at).total_seconds() < 1 for m in self.shown.values() if m.route == route) >= A_SECOND
        )

    def count(self) -> int:
        """A number nobody had before."""
        self._next += 1
        return self._next

    def view(self, ref: str | None) -> View | None:
        """What the message of that name shows now; None where there is none."""
        found = None if ref is None else self.shown.get(ref)
        return None if found is None else found.view

    # ── what is to be seen ───────────────────────────────────────────────────────────────────

    def room(self, route: str) -> list[View]:
        """What is to be read there now, oldest first."""
        return [m.view for m in self.shown.values() if m.route == route]

    def cards(self) -> Iterator[tuple[Shown, Row]]:
        """Every row of every card, newest message first."""
        for message in reversed(self.shown.values()):
            if isinstance(message.view, Card):
                yield from ((message, row) for row in message.view.rows)

    def row(self, code: str) -> Row:
        """The row of *code*, ``t-1.2``, that waits, or its newest. Raises LookupError."""
        return self._found(code)[1]

    def button(self, code: str) -> tuple[str, Row]:
        """The message that has the row of *code*, and the row."""
        message, row = self._found(code)
        return message.ref, row

    def _found(self, code: str) -> tuple[Shown, Row]:
        found = [(m, row) for m, row in self.cards() if row.code.partition("v")[0] == code]
        if not found:
            raise LookupError(f"no card shows {code}")
        return next(((m, row) for m, row in found if row.status is None), found[0])

    def reports(self) -> list[Report]:
        return [m.view for m in self.shown.values() if isinstance(m.view, Report)]


def _before(trouble: Trouble | None, route: str, busy_seconds: float) -> None:
    match trouble:
        case Trouble.LOST_BEFORE:
            raise ChatError("the connection broke")
        case Trouble.BUSY:
            raise ChatBusy(busy_seconds)
        case Trouble.REFUSED:
            raise ChatForbidden(f"we may not write to {route}")
        case Trouble.GONE:
            raise ChatGone(f"there is no {route}")
        case _:
            return


def _after(trouble: Trouble | None) -> None:
    if trouble is Trouble.LOST_AFTER:
        raise ChatError("the connection broke")


# ── people ───────────────────────────────────────────────────────────────────────────────────


@dataclass(kw_only=True, slots=True)
class Seat:
    """Somebody at *chat*, in *place*. *front*: the process that what they do gets to.

    Each thing they do has an event id of its own; `again` brings the last one once more.
    """

    chat: MemoryChat
    front: Front
    account: Account
    place: Place
    done: list[Arrived] = field(default_factory=list)

    async def says(
        self,
        text: str,
        *,
        reply_to: str | None = None,
        addressed: bool = False,
        edited: bool = False,
        by_bot: bool = False,
        attachments: Sequence[Attachment] = (),
    ) -> Answer:
        """They wrote *text*."""
        message = ChatMessage(
            account=self.account,
            event_id=self._event_id(),
            place=self.place,
            text=text,
            reply_to=reply_to,
            addressed=addressed,
            edited=edited,
            by_bot=by_bot,
            attachments=tuple(attachments),
        )
        return await self.brings(message)

    async def presses(
        self, code: str, verb: str, *, words: str | None = None, fields: Mapping[str, Filled] | None = None
    ) -> Answer:
        """They pressed the button *verb* of the newest card's row *code*."""
        chat_ref, row = self.chat.button(code)
        return await self.brings(self.press(row, verb, chat_ref=chat_ref, words=words, fields=fields))

    def press(
        self,
        row: Row,
        verb: str,
        *,
        chat_ref: str | None = None,
        words: str | None = None,
        fields: Mapping[str, Filled] | None = None,
    ) -> Press:
        """What pressing *verb* on *row* is, to be brought whenever."""
        return Press(
            account=self.account,
            event_id=self._event_id(),
            verb=verb,
            token=Token(row.token),
            chat_ref=chat_ref,
            words=words,
            fields=fields,
        )

    async def types(self, text: str) -> Answer:
        """They typed the command *text*."""
        typed = Typed(account=self.account, event_id=self._event_id(), text=text, place=self.place)
        return await self.brings(typed)

    async def brings(self, arrived: Arrived) -> Answer:
        """*arrived* gets to the front, and its answer to them."""
        self.done.append(arrived)
        match arrived:
            case ChatMessage():
                return await self.front.said(arrived)
            case Press():
                answer = await self.front.pressed(arrived)
                if answer.pages:  # read to their end
                    await self.front.saw(arrived)
                return answer
            case Typed():
                return await self.front.typed(arrived)

    async def again(self) -> Answer:
        """What they did last arrives once more, as a platform that got no answer sends it."""
        return await self.brings(self.done[-1]) if self.done else SILENCE

    def _event_id(self) -> str:
        return f"{self.account.ref}-{self.chat.count()}"


DIRECT: Final = Place(chat="D1", kind=ChatKind.DIRECT)
