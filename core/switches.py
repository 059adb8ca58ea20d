"""What an owner turns, from any surface: an agent's pause, practice and settings; all agents' pause, limit.

A switch beats the deployed folder and outlives a deploy. What a setting can't change is refused where it
is set, with the reason, so that nobody relies on a word that does nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from core.agents import Agent, setting_for
from core.errors import NotYourDecision, SwitchError
from core.gate import Risk, Setting, Verdict, rule
from core.ids import OrgId
from core.nearest import nearest
from core.people import Organization, OrgState, Person, Role, Switch, SwitchMode
from core.queue import MOST_RUNNING
from core.tasks import Json, Mode, Origin, Taint


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing new starts."""


@dataclass(frozen=True, slots=True)
class Resume:
    """What was held goes on."""


@dataclass(frozen=True, slots=True)
class Practice:
    """Reads run, the rest is only recorded; or, not *on*, no longer."""

    on: bool


@dataclass(frozen=True, slots=True)
class Choose:
    """What holds for *key*, a risk or a tool; *setting* None: the folder's word again."""

    key: str
    setting: Setting | None


@dataclass(frozen=True, slots=True)
class Limit:
    """So many tasks of the organization run at once; *max_running* None: as the queue is set."""

    max_running: int | None


SwitchTo: TypeAlias = Pause | Resume | Practice | Choose | Limit


def turned(before: Switch, to: SwitchTo) -> Switch:
    """*before* with the one thing that *to* says changed, the rest as it was.

    Raises SwitchError where *to* is nothing that one agent has.
    """
    match to:
        case Pause():
            return replace(before, paused=True)
        case Resume():
            return replace(before, paused=False)
        case Practice(on=on):
            return replace(before, mode=SwitchMode.OBSERVE if on else SwitchMode.NORMAL)
        case Choose(key=key, setting=setting):
            kept = tuple((k, said) for k, said in before.settings if k != key)
            return replace(before, settings=kept if setting is None else (*kept, (key, str(setting))))
        case Limit():
            raise SwitchError("how many tasks run at once is the organization's, not an agent's")
        case _:
            assert_never(to)


def turned_for_all(before: Organization, to: SwitchTo) -> Organization:
    """*before*, paused, resumed or limited.

    Raises SwitchError where *to* is nothing that a whole organization has.
    """
    match to:
        case Pause():
            return replace(before, state=OrgState.PAUSED)
        case Resume():
            return replace(before, state=OrgState.ACTIVE)
        case Limit(max_running=max_running):
            if max_running is not None and not 1 <= max_running <= MOST_RUNNING:
                raise SwitchError(f"from 1 to {MOST_RUNNING} tasks may run at once; to let none start, pause")
            return replace(before, max_running=max_running)
        case Practice() | Choose():
            raise SwitchError("practice and settings are an agent's, not the organization's")
        case _:
            assert_never(to)


def turn_facts(agent: str | None, before: Switch | Organization, after: Switch | Organization) -> Json:
    """That it was *before* and is *after*, as the audit entry says it; *agent* None: the organization."""
    return {"agent": agent, "before": _said(before), "after": _said(after)}


def _said(of: Switch | Organization) -> Json:
    if isinstance(of, Organization):
        return {"state": of.state, "max_running": of.max_running}
    return {"paused": of.paused, "mode": of.mode, "settings": dict(of.settings)}


def check_owner(by: Person, org: OrgId, today: Person | None) -> None:
    """*by* is an owner of *org* as *today*, their row there, says. Raises NotYourDecision (I14, I18)."""
    if today is None or by.org != org or today.left or Role.OWNER not in today.roles:
        raise NotYourDecision("only an owner may switch this")


# ── what may be chosen ───────────────────────────────────────────────────────────────────────


def check_choice(agent: Agent, tools: Mapping[str, str], switch: Switch | None, to: Choose) -> None:
    """*to* names a risk or a tool of *agent*, and does something. Raises SwitchError with the mend.

    *tools*: the risk of every tool there is, by name. What a switch says of a tool that is gone can still
    be dropped.
    """
    risks = [str(risk) for risk in Risk]
    own = [name for name in agent.tools if name in tools]
    if to.key not in risks and to.key not in own:
        if to.setting is None and switch is not None and to.key in dict(switch.settings):
            return
        near = nearest(to.key, [*risks, *own])
        raise SwitchError(
            f"{to.key} is neither a risk nor a tool of {agent.name}{near}; "
            f"risks: {', '.join(risks)}; tools: {', '.join(own) or 'none'}"
        )
    if to.setting is not None:
        risk = to.key if to.key in risks else tools[to.key]
        if (why := _without_effect(risk, to.setting)) is not None:
            what = to.key if to.key == risk else f"{to.key} ({risk})"
            raise SwitchError(f"{what} {why}, whatever the setting")


_MEANS: Mapping[Setting, Verdict] = {
    Setting.ALLOW: Verdict.RUN,
    Setting.ASK: Verdict.ASK,
    Setting.OBSERVE: Verdict.OBSERVE,
}


def _without_effect(risk: str, setting: Setting) -> str | None:
    """Why *setting* would not do for *risk* what it says, not even in an owner's own task."""
    verdict = _in_an_owners_task(risk, setting)
    if verdict is _MEANS[setting]:
        return None
    if verdict is Verdict.ASK:
        return "always asks"
    return "runs in practice too" if setting is Setting.OBSERVE else "runs without a click in a task of yours"


def _in_an_owners_task(risk: str, setting: str, mode: Mode = Mode.NORMAL) -> Verdict:
    return rule(risk, origin=Origin.OWNER, taint=Taint.NONE, mode=mode, setting=setting).verdict


# ── what holds ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Holds:
    """What holds for one tool of an agent, and what its call does in a task that an owner asked for."""

    tool: str
    risk: str
    setting: str
    verdict: Verdict


def verdict_of(risk: str, setting: str) -> Verdict:
    """What a call of *risk* does by *setting* in a task that an owner asked for."""
    return _in_an_owners_task(risk, setting)


def holding(agent: Agent, tools: Mapping[str, str], switch: Switch | None) -> tuple[Holds, ...]:
    """What holds today for each tool of *agent*, in its order; *tools*: the risks of all there are."""
    practice = switch is not None and switch.mode is SwitchMode.OBSERVE
    found = []
    for tool in (name for name in agent.tools if name in tools):
        risk = tools[tool]
        setting = setting_for(agent, switch, tool=tool, risk=risk)
        verdict = _in_an_owners_task(risk, setting, Mode.OBSERVE if practice else Mode.NORMAL)
        found.append(Holds(tool=tool, risk=risk, setting=setting, verdict=verdict))
    return tuple(found)
