"""What a run does just now, in words, for whoever watches."""

from collections.abc import Iterable

from core.calls import Call
from core.plan import Ask, AskModel, Recover, RunEffect, RunReads, RunState, Step


def step_words(step: Step, state: RunState) -> str | None:
    """ "Sam thinks…"; None where the step is of no interest."""
    name = state.agent.name
    match step:
        case AskModel():
            return f"{name} thinks…"
        case RunReads(calls=calls):
            return f"{name} runs {_tools(calls)}…"
        case RunEffect(call=call):
            return f"{name} runs {call.tool}…"
        case Ask(calls=calls):
            return f"{name} asks about {_tools(calls)}…"
        case Recover(calls=calls):
            return f"{name} finds {_tools(calls)} cut off by a crash…"
        case _:
            return None


def _tools(calls: Iterable[Call]) -> str:
    return ", ".join(dict.fromkeys(c.tool for c in calls))
