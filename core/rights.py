"""What a folder lets its agent do, and which of it holds while a wider folder waits for an owner's yes.

Rights are the tools and, for each, what its setting resolves to. Less is immediate and is kept: to get it
back takes a yes again. The roles' words, limits and triggers are no rights. An agent of code has no digest
and what its code gives it. Source: states.md §4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from core.agents import Agent, setting_for
from core.gate import Setting
from core.tasks import Json

_UPWARDS: Final = (Setting.OBSERVE, Setting.ASK, Setting.ALLOW)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """The tools an agent may name, and its settings, by risk or by tool."""

    tools: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()


def rights_of(agent: Agent) -> Rights:
    """What *agent*'s folder says."""
    return Rights(tools=agent.tools, settings=tuple((k, str(s)) for k, s in agent.settings.items()))


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What one tool gains or loses; None: it is not among the tools."""

    tool: str
    before: Setting | None
    after: Setting | None

    @property
    def widens(self) -> bool:
        return _height(self.after) > _height(self.before)


def differences(old: Rights, new: Rights, risks: Mapping[str, str]) -> tuple[Difference, ...]:
    """What *new* gives or takes tool by tool; *risks*: of every tool there is, as it is today."""
    found = []
    for tool in dict.fromkeys((*old.tools, *new.tools)):
        before, after = _resolved(old, tool, risks), _resolved(new, tool, risks)
        if before is not after:
            found.append(Difference(tool=tool, before=before, after=after))
    return tuple(found)


def widens(old: Rights, new: Rights, risks: Mapping[str, str]) -> bool:
    """Some tool may do more by *new*: it is added, or its setting is nearer to allow."""
    return any(d.widens for d in differences(old, new, risks))


def effective(old: Rights, new: Rights, risks: Mapping[str, str]) -> Rights:
    """*new* where it does not widen *old*; else of each tool the less that the two say."""
    if not widens(old, new, risks):
        return new
    kept: dict[str, Setting] = {}
    for tool in new.tools:
        before, after = _resolved(old, tool, risks), _resolved(new, tool, risks)
        if before is not None and after is not None:
            kept[tool] = min(before, after, key=_height)
    return Rights(tools=tuple(kept), settings=tuple((tool, str(s)) for tool, s in kept.items()))


def with_rights(agent: Agent, rights: Rights) -> Agent:
    """*agent*, but for what it may do."""
    settings = {key: Setting(said) for key, said in rights.settings}
    return replace(agent, tools=rights.tools, settings=MappingProxyType(settings))


def rights_facts(agent: str, was: Rights | None, now: Rights, *, folder: str) -> Json:
    """That the rights were *was* and are *now*, as the audit entry says it; *folder*: its digest."""
    return {
        "agent": agent,
        "folder": folder,
        "before": None if was is None else _said(was),
        "after": _said(now),
    }


def _said(rights: Rights) -> Json:
    return {"tools": list(rights.tools), "settings": dict(rights.settings)}


def _resolved(rights: Rights, tool: str, risks: Mapping[str, str]) -> Setting | None:
    if tool not in rights.tools:
        return None
    settings = {key: Setting(said) for key, said in rights.settings}
    bare = Agent(key="", name="", settings=settings)
    return Setting(setting_for(bare, None, tool=tool, risk=risks.get(tool, "")))


def _height(setting: Setting | None) -> int:
    return -1 if setting is None else _UPWARDS.index(setting)
