"""Bugs planted one at a time in a copy of core, each of which the walks must find within its budget."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """In *path*, *old* (which stands there once) becomes *new*; *finds*: what a walk then says."""

    name: str
    path: str
    old: str
    new: str
    walks: int = 600
    finds: str = ""


MUTANTS = (
    Mutant(
        name="a parked call is asked again",
        path="core/calls.py",
        old="return self.state is CallState.PROPOSED and (",
        new="return self.state in (CallState.PROPOSED, CallState.PARKED) and (",
    ),
    Mutant(
        name="a message behind a parked call spins",
        path="core/plan.py",
        old="    if todo:\n        return _next_call(s, todo)\n",
        new="    if s.unread:\n        return Take()\n    if todo:\n        return _next_call(s, todo)\n",
        finds="the same step twice",
    ),
    Mutant(
        name="a click is lost at rest",
        path="core/moves/waits.py",
        old="        if next_step(state) != planned:\n",
        new="        if hold is not None and next_step(state) != planned:\n",
    ),
    Mutant(
        name="a finish is older than the message just taken",
        path="core/plan.py",
        old="finish=MISSING if reply is None else _finish(work.round)",
        new="finish=_finish(work.round)",
        finds="T9",
    ),
    Mutant(
        name="an effect runs behind an open ask",
        path="core/plan.py",
        old="        elif not held:\n",
        new="        elif held or not held:\n",
        finds="§5",
    ),
    Mutant(
        name="a stop withdraws an executing call",
        path="core/moves/common.py",
        old="return idle and not any(c.state is CallState.EXECUTING for c in work.round)",
        new="return idle",
        walks=3000,
    ),
    Mutant(
        name="a run that lost its task still writes",
        path="core/moves/common.py",
        old="return work.task.state is TaskState.RUNNING and work.task.epoch == run.epoch",
        new="return work.task.state is TaskState.RUNNING",
    ),
    Mutant(
        name="a lost effect runs again",
        path="core/moves/effects.py",
        old="    if not call.pure:\n        return error(Outcome.UNKNOWN, UNKNOWN_WORDS)\n",
        new="",
    ),
    Mutant(
        name="an effect starts after a stop",
        path="core/moves/effects.py",
        old="if work.task.stop_by is not None or work.paused:",
        new="if work.paused:",
        walks=3000,
        finds="I29",
    ),
    Mutant(
        name="a tool that changed while it waited runs all the same",
        path="core/moves/effects.py",
        old="    if tool.digest != call.tool_digest:\n",
        new="    if tool.digest != call.tool_digest and call.pure:\n",
        finds="I30",
    ),
)
