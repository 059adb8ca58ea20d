"""What the gate says of one tool in one task as its rows stand: the only place that gathers its words."""

from core.agents import Agent, setting_for
from core.gate import Ruling, rule
from core.people import SwitchMode
from core.tasks import Mode
from core.work import Work


def gate(work: Work, agent: Agent, *, tool: str, risk: str) -> Ruling:
    """What the gate says today of *tool* in this task: its origin, taint, mode and settings as they are."""
    task, switch = work.task, work.switch
    practice = switch is not None and switch.mode is SwitchMode.OBSERVE and task.mode is Mode.NORMAL
    return rule(
        risk,
        origin=task.origin,
        taint=task.taint,
        mode=Mode.OBSERVE if practice else task.mode,
        setting=setting_for(agent, switch, tool=tool, risk=risk),
    )
