"""Looking up an unknown call at its destination when a person says so (C22).

The tool's `reconcile` is host code with I/O: it runs before the transaction, and what it found is what the
decision says. Where it can't tell, nothing is decided and the card stays.
"""

from core.calls import Call, Outcome
from core.decisions import Answering, Desk
from core.errors import DecisionError
from core.moves.people import Decided, Decision
from core.parks import Choice, DecisionKind, ParkKind
from core.ports import Clock, ParkView
from core.running import went_out
from core.tasks import Task
from core.tools import ToolContext


async def look_up(desk: Desk, clock: Clock, by: Answering, view: ParkView) -> Decided | None:
    """The unknown call of *view* is settled as its destination says; None where that can't tell.

    Nobody who may not decide has anything looked up. Raises DecisionError where there is nothing to look up,
    or no way to, and what `Desk.decide` raises: what somebody said meanwhile stands.
    """
    await desk.may_decide(by.who, view)
    call, waits = view.call, view.park.open and view.park.kind is ParkKind.UNKNOWN
    went: bool | None = None
    if waits and call is not None and call.outcome is Outcome.UNKNOWN:
        tool = desk.host.tools.get(call.tool)
        if tool is None or tool.reconcile is None:
            raise DecisionError(f"nobody but you can tell whether {call.tool} went out")
        went = await went_out(tool, call.args, context_of(view.task, call), clock)
        if went is None:
            return None
    said = Decision(kind=DecisionKind.CHOICE, choice=Choice.LOOK_UP, found=went)
    return await desk.decide(by, view, said)


def context_of(task: Task, call: Call) -> ToolContext:
    """Whose call it is, as its tool's functions get it."""
    return ToolContext(
        org=task.org,
        task_id=task.id,
        task_code=task.code,
        call_id=call.id,
        agent=task.agent,
        account=call.account,
        owner=task.requester,
    )
