"""The model's request, built from rows: every call's result adjacent to it and in order (I3).

The transcript keeps what was said; results stand on the calls. So a request is a pure function of
both, and a task resumed days later asks exactly what it would have asked at once.
"""

from collections.abc import Container, Iterator, Mapping, Sequence

from core.calls import Call, Outcome
from core.canonical import dump
from core.errors import IllegalMove
from core.fence import FENCE, fenced
from core.model import Turn, WireCall
from core.plan import NudgeWhy
from core.tasks import Json, Message, MessageKind

NUDGES: Mapping[NudgeWhy, str] = {
    NudgeWhy.SILENT: "Your reply was empty. Call a tool, or say what came of the task.",
    NudgeWhy.CUT: "Your reply was cut before its end. Say it again, shorter.",
    NudgeWhy.NO_FINISH: "A result was asked for: call the tool `finish` with it.",
}

WRAP_UP = (
    "A limit is reached, so no tool can be called any more. Say in a few words what was done, what was "
    "not, and what is still open."
)

CLEARED = "Done. What it returned was cleared to make room; call it again if it is still needed."
CLEARED_EFFECT = "Done. What it returned was cleared to make room."
WORTH_CLEARING = 200
"""Characters: a shorter result stays, for what little room it takes."""


def wire_id(call: Call) -> str:
    """The id a call has in every request: ours, so that it is unique whatever the provider wrote.

    Nine letters and digits, which every provider's check lets through.
    """
    return f"c{call.number:08d}"


def turns(
    system: str, messages: Sequence[Message], calls: Sequence[Call], *, now: str = "", wrap: bool = False
) -> tuple[Turn, ...]:
    """The whole request's messages, the system text first. Raises IllegalMove while a call is open (I3).

    *now*, how the time reads, rides on the first of them: in the system text it would keep the tools and
    that text, which services cache, from being the same ones as a minute ago.
    """
    by_round: dict[tuple[int, int | None], list[Call]] = {}
    for call in sorted(calls, key=lambda c: (c.episode, c.round or 0, c.ordinal)):
        by_round.setdefault((call.episode, call.round), []).append(call)
    said = [Turn(role="system", text=system)] if system else []
    gone = covered(messages)
    for message in messages:
        said.extend(_turns(message, by_round.get((message.episode, message.round), ()), gone))
    if wrap:
        said.append(Turn(role="user", text=WRAP_UP))
    if now:
        first = next(n for n, turn in enumerate(said) if turn.role == "user")
        said[first] = Turn(role="user", text=f"{said[first].text}\n\n[note] {now}")
    return tuple(said)


def covered(messages: Sequence[Message]) -> Container[int]:
    """The seqs of the rows whose results are cleared. A compact row covers all before what it ends with."""
    ends = [m.to_seq for m in messages if m.kind is MessageKind.COMPACT and m.to_seq is not None]
    return range(max(ends, default=0) + 1)


def clearable(call: Call) -> bool:
    """Its result may be cleared: long, and nothing but what a tool returned.

    What a person decided or answered stays, and that an effect was done, failed or is unknown (I26).
    """
    returned = call.outcome is Outcome.SUCCEEDED and call.parks_as is None
    return returned and len(result_text(call.result)) > WORTH_CLEARING


def _turns(message: Message, calls: Sequence[Call], gone: Container[int]) -> Iterator[Turn]:
    if message.kind is MessageKind.ASSISTANT:
        yield Turn(
            role="assistant",
            text=message.body["text"],
            calls=tuple(WireCall(id=wire_id(c), name=c.tool, arguments=_proposed(c)) for c in calls),
        )
        for call in calls:
            words = result_words(call, cleared=message.seq in gone)
            yield Turn(role="tool", text=words, call_id=wire_id(call))
    elif message.kind is not MessageKind.COMPACT:
        yield Turn(role="user", text=_words(message))


def _proposed(call: Call) -> str:
    """The arguments as the model wrote them; what was no JSON is wrapped, since services parse it again."""
    proposed = call.proposed_args
    return dump({"not_json": proposed} if isinstance(proposed, str) else proposed)


def _words(message: Message) -> str:
    body = message.body
    text = str(body["text"]) if "text" in body else dump(body["value"])
    if FENCE in body:
        return fenced(text, body[FENCE])
    if message.kind is MessageKind.NOTE and body.get("result") is not None:
        return f"[note] {text} Result: {result_text(body['result'])}"
    return f"[note] {text}" if message.kind in (MessageKind.NOTE, MessageKind.NUDGE) else text


def result_text(result: Json) -> str:
    """A result as the model reads it: text as it is, other values as JSON, errors marked as such.

    Words from outside are fenced, the error of a tool that brings such words as well (I27).
    """
    said = fenced(_said(result), result[FENCE]) if FENCE in result else _said(result)
    return f"{said}\n[note] {result['reminder']}" if "reminder" in result else said


def _said(result: Json) -> str:
    if "error" in result:
        return f"Error: {result['error']}"
    value = result["value"]
    if value is None or value == "":
        return "Done; it returned nothing."
    return value if isinstance(value, str) else dump(value)


def result_words(call: Call, *, cleared: bool = False) -> str:
    """A settled call's result, with the difference where a person changed what ran."""
    if not call.settled:
        raise IllegalMove(f"call {call.number} has no result yet, so the model can't be asked (I3)")
    text = result_text(call.result)
    if cleared and clearable(call):
        text = CLEARED if call.pure else CLEARED_EFFECT
    changes = edited(call)
    return f"{changes} {text}" if changes else text


def edited(call: Call) -> str:
    """What the owner changed before it ran, in words; empty where nothing (ports-and-tables.md §4.14)."""
    ran = call.outcome in (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.UNKNOWN, Outcome.DUPLICATE)
    before, after = call.proposed_args, call.args
    if not ran or not isinstance(before, dict) or before == after:
        return ""
    fields = [k for k in (*before, *(k for k in after if k not in before)) if before.get(k) != after.get(k)]
    said = (f"{k} {_value(before, k)} → {_value(after, k)}" for k in fields)
    return f"The owner changed it before it ran: {', '.join(said)}."


def _value(args: Mapping[str, Json], key: str) -> str:
    return dump(args[key]) if key in args else "(not set)"
