"""Room in a request that is too long, stage one: results of old rounds are cleared, nothing else goes (I26).

A compact row says how far; the rows it covers stay as they are, and only read shorter from then on
(transcript.py). Which results may be cleared is said there too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.calls import Call
from core.canonical import dump
from core.model import Request
from core.tasks import Message, MessageKind
from core.transcript import clearable, covered, result_text
from core.work import NewMessage

BYTES_A_TOKEN: Final = 4
"""Of English text and JSON, roughly; who must be sure waits for the service's own word."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Clearing:
    """What one more compaction takes away: the results of *calls*, in the rows up to *to_seq*."""

    from_seq: int
    to_seq: int
    calls: int

    def row(self) -> NewMessage:
        text = f"{self.calls} results were cleared to make room."
        return NewMessage(
            kind=MessageKind.COMPACT, body={"text": text}, from_seq=self.from_seq, to_seq=self.to_seq
        )


def clearing(messages: Sequence[Message], calls: Sequence[Call]) -> Clearing | None:
    """What can be cleared; None where nothing can, or nothing came since it was last done.

    The newest round keeps its results, which the model has not seen yet, unless they weigh more than all
    that is older: then it is they that don't fit.
    """
    if not messages or messages[-1].kind is MessageKind.COMPACT:
        return None
    gone = covered(messages)
    rounds = [m for m in messages if m.kind is MessageKind.ASSISTANT]
    found = [(m.seq, _clearable(m, calls)) for m in rounds if m.seq not in gone]
    if not any(calls for _, calls in found):
        return None
    *older, newest = found
    chosen = older if _weight(newest[1]) <= sum(_weight(calls) for _, calls in older) else found
    return Clearing(
        from_seq=messages[0].seq, to_seq=chosen[-1][0], calls=sum(len(calls) for _, calls in chosen)
    )


def _clearable(reply: Message, calls: Sequence[Call]) -> list[Call]:
    return [c for c in calls if (c.episode, c.round) == (reply.episode, reply.round) and clearable(c)]


def _weight(calls: Sequence[Call]) -> int:
    return sum(len(result_text(c.result)) for c in calls)


def tokens(request: Request) -> int:
    """About what *request* takes of a model's window, the reply it asks for included."""
    said = sum(_bytes(turn.text or "") for turn in request.turns)
    asked = sum(_bytes(call.name) + _bytes(call.arguments) for turn in request.turns for call in turn.calls)
    offered = sum(_bytes(tool.description) + _bytes(dump(tool.parameters)) for tool in request.tools)
    return (said + asked + offered) // BYTES_A_TOKEN + request.max_tokens


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
