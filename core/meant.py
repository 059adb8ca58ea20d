"""What a message or a press means by what it says, before any row is looked at. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from core.cards import Verb
from core.chat import LONGEST_WORDS, Attachment, ChatMessage, Press
from core.errors import DecisionError
from core.moves.people import Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.ports import ParkView
from core.proposals import storable
from core.route import ChatKind, number_named

DECIDING = frozenset({"approve", "approved", "yes", "ok", "okay", "go ahead", "decline", "declined", "no"})
"""The whole of a message that looks like a decision, and is none (bad-inputs.md 47)."""
_COMMAND = re.compile(r"/?(?:approve|edit|decline|revise|settle)\s+`?t-\d", re.IGNORECASE)
"""The beginning of a command that was said as a message."""


# ── a message ────────────────────────────────────────────────────────────────────────────────


def is_to_us(message: ChatMessage) -> bool:
    """It names us, or stands where nobody else is."""
    return message.addressed or message.place.kind is ChatKind.DIRECT


def is_chatter(message: ChatMessage) -> bool:
    """It stands at the top of a chat of many and names nobody: nothing around it could make it ours."""
    place = message.place
    alone = place.thread is None and message.reply_to is None and number_named(message.text) is None
    return alone and not is_to_us(message)


def looks_decided(text: str) -> bool:
    """Whether its writer may think that *text* decides what waits."""
    said = text.strip()
    return said.casefold().rstrip(".!") in DECIDING or _COMMAND.match(said) is not None


def words_of(message: ChatMessage) -> str:
    """Its words, and what came with them that is not read."""
    text = storable(message.text, LONGEST_WORDS)
    if not message.attachments or not text.strip():
        return text
    return f"{text}\n\n[Attached, not read: {', '.join(map(str, message.attachments))}]"


def told_unread(attachments: Sequence[Attachment]) -> str:
    named = ", ".join(map(str, attachments))
    return f"I can't read {named}: say in words what matters." if named else ""


# ── a press ──────────────────────────────────────────────────────────────────────────────────


def decision_of(press: Press) -> Decision:
    """What *press* says to its park. Raises DecisionError for a verb nobody knows any more."""
    words = storable(press.words.strip(), LONGEST_WORDS) if press.words and press.words.strip() else None
    match press.verb:
        case Verb.DECLINE_STOP:
            return Decision(kind=DecisionKind.DECLINE, reason=words, and_stop=True)
        case Verb.APPROVE | Verb.EDIT | Verb.DECLINE | Verb.REVISE | Verb.ANSWER | Verb.CONNECTED:
            return Decision(kind=DecisionKind(press.verb), reason=words)
        case _ if press.verb in set(Choice):
            return Decision(kind=DecisionKind.CHOICE, choice=Choice(press.verb))
    raise DecisionError("this button is no longer valid; `pending` shows what waits")


def suggested(view: ParkView, n: int) -> str:
    """The answer that was suggested there, as its agent wrote it. Raises DecisionError."""
    suggestions = (view.call.args if view.call else {}).get("suggestions") or ()
    if view.park.kind is not ParkKind.QUESTION or not 0 <= n < len(suggestions):
        raise DecisionError("this answer is no longer there; write it in your own words")
    return str(suggestions[n])


def still_asked(press: Press) -> str | None:
    """What is still to be said before the verb means anything."""
    if press.words is not None and press.words.strip():
        return None
    return _ASKS.get(press.verb)


_ASKS: Final[Mapping[str, str]] = {
    Verb.REVISE: "How should it be changed?",
    Verb.ANSWER: "What is your answer?",
}
