"""What a task has read from outside since its owner last wrote, and which arguments repeat it word for word.

A stranger's words may have chosen what an agent proposes; who decides is told which of it stands in them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.calls import Call
from core.canonical import dump
from core.fence import FENCE
from core.tasks import Json, Message, MessageKind

SHORTEST: Final = 6
"""Characters of a value that is looked for: shorter ones stand in any text."""

_OWNERS: Final = frozenset({MessageKind.GOAL, MessageKind.OWNER})
_NAMES: Final = {
    MessageKind.GOAL: "the words that started it",
    MessageKind.EXTERNAL: "an event",
    MessageKind.REPLY: "a reply",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Heard:
    """One text from outside: what brought it, a tool or a kind of message, and its words."""

    source: str
    text: str


def heard(messages: Sequence[Message], calls: Sequence[Call]) -> tuple[Heard, ...]:
    """The texts from outside that are in the transcript after the owner's newest words, in its order."""
    own = [m for m in messages if m.kind in _OWNERS and FENCE not in m.body]
    since = max(((m.episode, m.round) for m in own), default=(0, -1))
    from_seq = max((m.seq for m in own), default=0)
    told = (m for m in messages if m.seq > from_seq and FENCE in m.body)
    brought = (c for c in calls if c.settled and FENCE in c.result and _place(c) > since)
    return (
        *(Heard(source=_NAMES.get(m.kind, str(m.kind)), text=_words(m.body)) for m in told),
        *(Heard(source=c.tool, text=_words(c.result)) for c in sorted(brought, key=lambda c: c.number)),
    )


def _place(call: Call) -> tuple[int, int]:
    return call.episode, call.round or 0


def _words(body: Json) -> str:
    """All its texts and numbers, a line each."""
    found = next((body[key] for key in ("value", "text", "error") if key in body), None)
    return "\n".join(text for _, text in _leaves("", found))


def sources(texts: Sequence[Heard]) -> tuple[str, ...]:
    """Where *texts* came from, in order: ``read_mail (2 times)``, ``a reply``."""
    counts = Counter(one.source for one in texts)
    return tuple(source if n == 1 else f"{source} ({n} times)" for source, n in counts.items())


def repeated(args: Mapping[str, Json], texts: Sequence[Heard]) -> tuple[tuple[str, str], ...]:
    """The arguments, by name and place within, whose value stands in one of *texts*: (argument, source)."""
    found = (
        (name, one.source)
        for name, value in _leaves("", dict(args))
        if len(value.strip()) >= SHORTEST
        for one in texts
        if value.strip() in one.text
    )
    return tuple(dict.fromkeys(found))


def _leaves(name: str, value: Json) -> Iterator[tuple[str, str]]:
    """Every text and number within *value*, by its place: ``items.0.to``."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, (list, tuple)):
        for n, inner in enumerate(value):
            yield from _leaves(f"{name}.{n}" if name else str(n), inner)
    elif value is not None and not isinstance(value, bool):
        yield name, dump(value)
