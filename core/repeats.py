"""The repeat guard: the same call with the same result, and nothing done or said in between (I25).

The second time it is answered with a reminder, the third ends in a closing round. What counts is the
result as well: a status asked for until it changes is no repetition.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.calls import Call, Outcome
from core.canonical import digest
from core.fence import FENCE
from core.ids import CallId
from core.moves.common import Result
from core.tasks import Json, Message, MessageKind

REMINDER: Final = (
    "This is the same call with the same result as before. Go on with what you have, or say what is missing."
)
_SAID: Final = frozenset(
    {MessageKind.GOAL, MessageKind.OWNER, MessageKind.EXTERNAL, MessageKind.REPLY, MessageKind.NOTE}
)


def repeated(
    messages: Sequence[Message], before: Iterable[Call], settling: Iterable[tuple[Call, Result]]
) -> dict[CallId, int]:
    """How often each of *settling* came out just so in an earlier round, where it did at all.

    *before*: the task's calls. Counted since the last effect that went through, and since the last
    words from anybody but the model.
    """
    since = max((m.episode, m.round) for m in messages if m.kind in _SAID) if messages else (0, 0)
    counts: dict[str, int] = {}
    for call in sorted(before, key=_place):
        if call.round is None or call.outcome is None or _place(call)[:2] <= since:
            continue
        went = not call.pure and call.outcome is Outcome.SUCCEEDED
        if went or call.outcome is Outcome.ANSWERED:  # something was done, or a person said something
            counts.clear()
        else:
            key = _key(call, Result(outcome=call.outcome, result=call.result))
            counts[key] = counts.get(key, 0) + 1
    found = {call.id: counts.get(_key(call, result), 0) for call, result in settling}
    return {call_id: n for call_id, n in found.items() if n}


def reminded(results: Mapping[CallId, Result], counts: Mapping[CallId, int]) -> dict[CallId, Result]:
    """The results, each repeated one with a reminder beside it."""
    return {
        call_id: _with_reminder(result) if call_id in counts else result
        for call_id, result in results.items()
    }


def _with_reminder(result: Result) -> Result:
    return replace(result, result={**result.result, "reminder": REMINDER})


def _place(call: Call) -> tuple[int, int, int]:
    return call.episode, call.round or 0, call.ordinal


def _key(call: Call, result: Result) -> str:
    told: Json = {k: v for k, v in result.result.items() if k not in ("reminder", FENCE)}
    return digest([call.tool, call.args_hash, call.proposed_args if call.args == {} else None, told])
