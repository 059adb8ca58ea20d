"""What must be so at the moment a call reaches the provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.calls import Call, CallState, Outcome
from core.gate import Verdict
from core.ids import TaskRef
from core.parks import Choice, Park, ParkState, shown_hash
from core.people import SEND_WINDOW
from core.tasks import Mode, Task
from core.tools import ToolContext
from tests.simulation.outside import Arrival
from tests.simulation.process import Process
from tests.simulation.rules import demand

if TYPE_CHECKING:
    from tests.simulation.watching import Watch

_WINDOWED = ("contact", "spend")
_NOT_SENT = (CallState.PROPOSED, CallState.PARKED, CallState.APPROVED)


def check(watch: Watch, process: Process, arrival: Arrival, context: ToolContext) -> None:
    """Raises Violation."""
    call = arrival.call
    task = watch.rows.task(TaskRef(org=call.org, task_id=call.task_id))
    assert task is not None
    watch.seen[f"arrived {call.risk}"] += 1
    demand(context.org == call.org, "I36: a handler was given another organization")
    demand(context.owner == task.requester, "I36: a handler was given another owner")
    demand(task.mode is not Mode.WATCH or call.risk == "read", f"I9: a watch task ran {call.tool}")
    demand(task.mode is not Mode.OBSERVE or call.risk == "read", f"I10: in practice {call.tool} ran")
    demand(call.tool == arrival.tool, "I4: another tool ran than the row says")
    demand(call.tool_digest == process.host.tools[call.tool].digest, "I30: the tool is not as it was then")
    if call.pure:  # it may run again, also by a run that lost its task (C20)
        decided = any(p.state is ParkState.DECIDED for p in _parks(watch, call))
        demand(decided or call.verdict is Verdict.RUN, f"C1: {call.tool} ran, which may not run by itself")
        return
    demand(call.state not in _NOT_SENT, f"I2: {call.tool} arrived and is {call.state}")
    demand(call.epoch is not None and call.epoch <= task.epoch, "I2: nobody marked what arrived")
    _once(watch, call)
    _as_recorded(watch, arrival, task)


def _once(watch: Watch, call: Call) -> None:
    before = [a.call for a in watch.provider.accepted if a.call.org == call.org]
    demand(all(c.id != call.id for c in before), f"I7: call {call.number} was sent twice")
    same = [
        c
        for c in before
        if (c.task_id, c.effect_key) == (call.task_id, call.effect_key) and not _resent(c, call)
    ]
    demand(not same, f"I6: the key {call.effect_key} went out twice")
    if call.sent_key is not None and call.risk in _WINDOWED:
        _displayed(watch, call)


def _displayed(watch: Watch, call: Call) -> None:
    """What another task sent within the window goes out again only by a click that showed it (I6, C16)."""
    if call.marked_at is None:
        return
    since = call.marked_at - SEND_WINDOW
    shown = {e["call"] for p in _parks(watch, call) for e in p.shown.get("earlier", ())}
    for other in (a.call for a in watch.provider.accepted):
        same = (other.org, other.sent_key) == (call.org, call.sent_key) and other.task_id != call.task_id
        row = watch.rows.calls.get(other.org, other.id)
        held = row is not None and row.outcome is not Outcome.FAILED
        before = other.marked_at is not None and since < other.marked_at < call.marked_at
        if same and before and held and call.resend_of is None:
            demand(other.id in shown, f"I6: {call.sent_key} went out in two tasks, and nobody was told")


def _resent(first: Call, call: Call) -> bool:
    """A person saw the first attempt and had it sent again (C23)."""
    return call.resend_of is not None


def _as_recorded(watch: Watch, arrival: Arrival, task: Task) -> None:
    """What arrived is what was shown and decided, or what the gate let through (I4, I5, I11, I12)."""
    call = arrival.call
    args = dict(arrival.args)
    demand(args == call.args, f"I4: {call.tool} got {args}, its row says {call.args}")
    hashed = shown_hash(
        org=task.org,
        agent=task.agent,
        tool=call.tool,
        tool_digest=call.tool_digest,
        risk=call.risk,
        account=call.account,
        args=args,
    )
    demand(hashed == call.args_hash, f"I5: {call.tool} got {args}, which is not what was hashed")
    if call.verdict is Verdict.RUN:
        return
    decided = [p for p in _parks(watch, call) if p.state is ParkState.DECIDED]
    demand(any(p.shown_hash == hashed for p in decided), f"I4: nobody decided {call.tool} with {args}")
    pressed = [watch.pressed[p.event_id] for p in decided if p.event_id in watch.pressed]
    saw = any(click.approves and click.args == args for click in pressed)
    demand(saw, f"I4: nobody who approved {call.tool} saw {args}")


def _parks(watch: Watch, call: Call) -> list[Park]:
    parks = watch.rows.parks.under("task", call.org, call.task_id)
    of_call = [p for p in parks if p.call_id == call.id]
    again = [p for p in parks if p.call_id == call.resend_of and p.choice is Choice.SEND_AGAIN]
    return [*of_call, *(again if call.resend_of is not None else [])]


NOT_SENT = frozenset(
    {
        Outcome.FAILED,
        Outcome.OBSERVED,
        Outcome.REFUSED,
        Outcome.DECLINED,
        Outcome.REVISED,
        Outcome.EXPIRED,
        Outcome.WITHDRAWN,
        Outcome.SKIPPED,
        Outcome.VOID,
        Outcome.DUPLICATE,
    }
)
"""Outcomes that say nothing went out (I8)."""
