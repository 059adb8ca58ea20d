"""What a run does just now, in words, for whoever watches."""

from collections.abc import Iterable, Sequence
from typing import Final

from core.calls import Call, CallState, Outcome
from core.gate import Verdict
from core.ids import CallId
from core.parks import Park, ParkKind
from core.plan import Ask, AskModel, Recover, RunEffect, RunReads, RunState, Step
from core.ports import Story
from core.tasks import Task, TaskState
from core.visible import visible


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


def goes(story: Story, episode: int, agent: str) -> str:
    """How an episode goes, from its rows: ``Sam runs read_order… · round 3 · 2 done``."""
    task = story.task
    if task.episode != episode or task.ended:
        return "Finished: see the report."
    name = visible(agent)
    own = [c for c in story.calls if c.episode == episode]
    done = sum(c.outcome is Outcome.SUCCEEDED for c in own)
    said = [_doing(story, own, name), f"round {task.round}", *([f"{done} done"] if done else [])]
    return " · ".join(said)


def _doing(story: Story, own: Sequence[Call], name: str) -> str:
    task = story.task
    if running := [c for c in own if c.state is CallState.EXECUTING]:
        return f"{name} runs {visible(_tools(running))}…"
    waits = [p for p in story.parks if p.open and p.holds]
    if task.state is TaskState.WAITING and waits:
        return f"{name} waits for {_awaited(story, waits)}"
    if task.state in (TaskState.DELAYED, TaskState.HELD):
        return f"{name} goes on as soon as it can"
    if due := [c for c in own if c.state is CallState.APPROVED or _is_read(c)]:
        return f"{name} runs {visible(_tools(due))}…"
    return f"{name} thinks…"


def _is_read(call: Call) -> bool:
    return call.pure and call.state is CallState.PROPOSED and call.verdict is Verdict.RUN


def _awaited(story: Story, waits: Sequence[Park]) -> str:
    """ "your click on t-12.3", or what else it waits for."""
    numbers = {c.id: c.number for c in story.calls}
    for kind, words in _AWAITED.items():
        if codes := [
            _named(story.task, numbers.get(p.call_id or CallId(""))) for p in waits if p.kind is kind
        ]:
            return f"{words} {', '.join(codes)}" if words.endswith("on") else words
    return "an answer"


def _named(task: Task, number: int | None) -> str:
    return task.code if number is None else f"{task.code}.{number}"


_AWAITED: Final = {
    ParkKind.APPROVAL: "your click on",
    ParkKind.CONNECT: "your click on",
    ParkKind.LIMIT: "your click on",
    ParkKind.QUESTION: "your answer on",
    ParkKind.MESSAGE: "your next message",
    ParkKind.REPLY: "an answer from outside",
    ParkKind.CHILD: "a teammate",
}
"""What a task waits for, by the kinds of its parks; the first of them is said."""
