"""The closing report: what was done, not done, is unknown or waits, from the ledger's rows.

The agent's own words stand beside it, and are never what the lists are made from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.calls import Call, CallState, Outcome
from core.canonical import dump
from core.gate import observed_by
from core.parks import Choice, Park, ParkKind, ParkState
from core.people import Roster
from core.tasks import Json, Task, TaskState
from core.transcript import edited


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One call: its number, the tool, the arguments that count, and what is to be said of it."""

    call: Call
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Every effect of the episode is in exactly one list; reads are counted."""

    task: Task
    words: str  # the agent's own, or why it ended without any
    own_words: bool  # they are the agent's own
    done: tuple[Line, ...]
    not_done: tuple[Line, ...]
    unknown: tuple[Line, ...]
    waiting: tuple[Line, ...]
    reads: int
    moved: str | None = None  # why it is not in its place


_NOT_DONE_WORDS = {
    Outcome.FAILED: "failed",
    Outcome.OBSERVED: "recorded, not run",
    Outcome.REFUSED: "refused",
    Outcome.DECLINED: "declined",
    Outcome.REVISED: "sent back to be changed",
    Outcome.EXPIRED: "nobody decided in time",
    Outcome.WITHDRAWN: "withdrawn: the task ended first",
    Outcome.SKIPPED: "skipped: an earlier action did not go through",
    Outcome.VOID: "void: it was no longer what was approved",
    Outcome.DUPLICATE: "not repeated: the same thing went out before",
}


def build(
    task: Task,
    calls: Sequence[Call],
    parks: Sequence[Park],
    roster: Roster | None = None,
    ending: Json = None,
) -> Report:
    """The report of *task* over these calls, in their order.

    *ending*: the state, reason and result of an episode that is over, as its report's post keeps them.
    """
    if ending is not None:
        state = TaskState(ending["state"])
        task = replace(task, state=state, reason=ending["reason"], result=ending["result"])
    lists: dict[str, list[Line]] = {"done": [], "not_done": [], "unknown": [], "waiting": []}
    reads = 0
    for call in calls:
        if call.pure and call.outcome is Outcome.SUCCEEDED:
            reads += 1
        elif not (call.pure and call.outcome is Outcome.ANSWERED):
            place, note = _place(call, parks, roster)
            lists[place].append(Line(call=call, note=note))
    own = _own_words(task)
    words = own or _words(task)
    return Report(
        task=task,
        words=words,
        own_words=bool(own),
        reads=reads,
        done=tuple(lists["done"]),
        not_done=tuple(lists["not_done"]),
        unknown=tuple(lists["unknown"]),
        waiting=tuple(lists["waiting"]),
    )


def _place(call: Call, parks: Sequence[Park], roster: Roster | None) -> tuple[str, str]:
    own = [p for p in parks if p.call_id == call.id]
    if call.state is not CallState.SETTLED:
        return "waiting", _waits(call)
    if call.outcome is Outcome.UNKNOWN:
        return "unknown", _unknown(own, roster)
    if call.outcome is Outcome.ANSWERED and any(p.kind is ParkKind.CONNECT for p in own):
        return "not_done", "not run: an account was connected first"
    if call.outcome in (Outcome.SUCCEEDED, Outcome.ANSWERED):
        return "done", " · ".join(n for n in (edited(call), _settled_by(call.outcome, own, roster)) if n)
    if call.outcome is Outcome.FAILED and (found := _settled_by(call.outcome, own, roster)):
        return "not_done", found
    reason = next((p.reason for p in own if p.reason and p.state is ParkState.DECIDED), None)
    words = _NOT_DONE_WORDS[call.outcome] if call.outcome else ""
    if call.outcome is Outcome.OBSERVED:
        return "not_done", f"{words} ({observed_by(call.rule)})"
    return "not_done", f"{words}: {reason}" if reason else _why(call, words)


def _why(call: Call, words: str) -> str:
    tells = call.outcome in (Outcome.FAILED, Outcome.REFUSED)
    return f"{words}: {call.result['error']}" if tells and "error" in call.result else words


def _waits(call: Call) -> str:
    if call.state is CallState.EXECUTING:
        return "under way"
    return "approved, not run yet" if call.state is CallState.APPROVED else "waits for a decision"


def _unknown(parks: Sequence[Park], roster: Roster | None) -> str:
    again = next((p for p in parks if p.choice is Choice.SEND_AGAIN), None)
    if again is None:
        return "may have gone out; nobody has said"
    by = roster.name(again.by_person) if roster else "the owner"
    return f"may have gone out; {by} had it sent again"


def _settled_by(outcome: Outcome, parks: Sequence[Park], roster: Roster | None) -> str:
    said = next((p for p in parks if p.choice in (Choice.WENT_OUT, Choice.DID_NOT, Choice.LOOK_UP)), None)
    if said is None:
        return ""
    by = roster.name(said.by_person) if roster else "the owner"
    went = "it went out" if outcome is Outcome.SUCCEEDED else "it did not go out"
    return f"{by} had it looked up: {went}" if said.choice is Choice.LOOK_UP else f"{by} says {went}"


_ENDINGS = {
    "strikes": "It gave up: too many replies in a row led nowhere.",
    "crashes": "It gave up: its process died again and again on the same step.",
    "limit": "It stopped at a limit.",
    "refusal": "The model refused the task.",
    "size": "It gave up: the conversation no longer fits the model.",
    "expired": "It ended: nobody decided in time.",
}


def _own_words(task: Task) -> str:
    """What the agent said at the end, or the result it finished with; empty: nothing."""
    said = (task.result or {}).get("value") if isinstance(task.result, dict) else None
    if said is None or isinstance(said, str):
        return said if said and said.strip() else ""
    return dump(said)


def _words(task: Task) -> str:
    failed = (task.result or {}).get("error") if isinstance(task.result, dict) else None
    if failed:
        return str(failed)
    if task.state is TaskState.STOPPED and task.reason not in _ENDINGS:
        return "It was stopped."
    return _ENDINGS.get(task.reason or "", "")
