"""What a folder lets its agent do, and which of it holds while a wider folder waits for an owner's yes.

Rights are the tools, for each what its setting resolves to, and the hosts where one may go without a click
after reading a stranger's words. Less is immediate and is kept: to get it
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
    """The tools an agent may name, its settings, by risk or by tool, and its allowed hosts."""

    tools: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    hosts: tuple[str, ...] = ()


def rights_of(agent: Agent) -> Rights:
    """What *agent*'s folder says."""
    settings = tuple((k, str(s)) for k, s in agent.settings.items())
    return Rights(tools=agent.tools, settings=settings, hosts=agent.hosts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What one tool, or the way to one host, gains or loses; None: it is not there."""

    tool: str
    before: Setting | None
    after: Setting | None
    is_host: bool = False

    @property
    def widens(self) -> bool:
        return _height(self.after) > _height(self.before)


def differences(old: Rights, new: Rights, risks: Mapping[str, str]) -> tuple[Difference, ...]:
    """What *new* gives or takes, tool by tool and host by host; *risks*: of every tool, as it is today."""
    found = []
    for tool in dict.fromkeys((*old.tools, *new.tools)):
        before, after = _resolved(old, tool, risks), _resolved(new, tool, risks)
        if before is not after:
            found.append(Difference(tool=tool, before=before, after=after))
    for host in dict.fromkeys((*old.hosts, *new.hosts)):
        before, after = (Setting.ALLOW if host in of.hosts else None for of in (old, new))
        if before is not after:
            found.append(Difference(tool=host, before=before, after=after, is_host=True))
    return tuple(found)


def widens(old: Rights, new: Rights, risks: Mapping[str, str]) -> bool:
    """Something may do more by *new*: a tool or host is added, or a setting is nearer to allow."""
    return any(d.widens for d in differences(old, new, risks))


def effective(old: Rights, new: Rights, risks: Mapping[str, str]) -> Rights:
    """*new* where it does not widen *old*; else of each tool and host the less that the two say."""
    if not widens(old, new, risks):
        return new
    kept: dict[str, Setting] = {}
    for tool in new.tools:
        before, after = _resolved(old, tool, risks), _resolved(new, tool, risks)
        if before is not None and after is not None:
            kept[tool] = min(before, after, key=_height)
    settings = tuple((tool, str(s)) for tool, s in kept.items())
    return Rights(tools=tuple(kept), settings=settings, hosts=tuple(h for h in new.hosts if h in old.hosts))


def with_rights(agent: Agent, rights: Rights) -> Agent:
    """*agent*, but for what it may do."""
    settings = {key: Setting(said) for key, said in rights.settings}
    return replace(agent, tools=rights.tools, settings=MappingProxyType(settings), hosts=rights.hosts)


def rights_facts(agent: str, was: Rights | None, now: Rights, *, folder: str) -> Json:
    """That the rights were *was* and are *now*, as the audit entry says it; *folder*: its digest."""
    return {
        "agent": agent,
        "folder": folder,
        "before": None if was is None else _said(was),
        "after": _said(now),
    }


def _said(rights: Rights) -> Json:
    return {"tools": list(rights.tools), "settings": dict(rights.settings), "hosts": list(rights.hosts)}


def _resolved(rights: Rights, tool: str, risks: Mapping[str, str]) -> Setting | None:
    if tool not in rights.tools:
        return None
    settings = {key: Setting(said) for key, said in rights.settings}
    bare = Agent(key="", name="", settings=settings)
    return Setting(setting_for(bare, None, tool=tool, risk=risks.get(tool, "")))


def _height(setting: Setting | None) -> int:
    return -1 if setting is None else _UPWARDS.index(setting)
