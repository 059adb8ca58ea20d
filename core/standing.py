"""Why a task that nobody has to answer does not go on just now, in words, as its rows say it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from core.agents import Agent
from core.audit import AuditEntry
from core.ids import OrgId
from core.moves.ends import WHY
from core.people import Organization, OrgState, Switch
from core.ports import People
from core.tasks import Task, TaskState
from core.visible import visible


def stands_still(
    task: Task, name: str, organization: Organization, switches: Sequence[Switch], now: datetime
) -> str | None:
    """Why *task*, of the agent called *name*, does not go on though it waits for no person; None: it does."""
    match task.state:
        case TaskState.HELD if organization.state is OrgState.PAUSED:
            return "everything is paused"
        case TaskState.HELD if any(s.agent == task.agent and s.paused for s in switches):
            return f"{name} is paused"
        case TaskState.HELD:
            return "as many tasks run as may at once"
        case TaskState.DELAYED if task.not_before is not None:
            return f"tried again at {task.not_before.astimezone(UTC):%H:%M:%S} UTC"
        case TaskState.RUNNING if task.lease_until is not None and task.lease_until < now:
            return "its worker was lost; another takes it up"
    return None


async def held_back(people: People, org: OrgId, agent: Agent) -> str | None:
    """That new work of *agent* does not start just now, for whoever asks for it; None: it does."""
    if (await people.of(org)).organization.state is OrgState.PAUSED:
        return "Everything is paused: it starts once an owner says `resume`."
    if any(s.agent == agent.key and s.paused for s in await people.switches(org)):
        return f"{visible(agent.name)} is paused: it starts once an owner says `resume {visible(agent.key)}`."
    return None


def broke_off(task: Task) -> str | None:
    """That the runs before broke off at this very step, if they did."""
    if not task.attempts:
        return None
    times = "once" if task.attempts == 1 else f"{task.attempts} times"
    return f"its run broke off {times} at this step"


def notice(task: Task, audit: Sequence[AuditEntry]) -> str | None:
    """What was said when *task* was delayed last: the model or the app is away."""
    if task.state is not TaskState.DELAYED:
        return None
    given_back = [json.loads(one.entry) for one in audit if one.move == "give_back"]
    return next((str(facts[WHY]) for facts in reversed(given_back) if facts.get(WHY)), None)
