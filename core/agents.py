"""An agent: who works on tasks, what it may use, and how far it may go."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.gate import Setting
from core.people import Switch


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How far one episode of a task may go. Defaults: states.md §5, ports-and-tables.md §4.8."""

    rounds: int = 50
    strikes: int = 3  # silent replies and failed rounds in a row; 10 in the Python face
    tokens: int | None = None  # in + out, over the task
    seconds: float | None = None  # of one run; what waits for somebody spends none
    daily_tokens: int | None = None  # the agent's, over a rolling day
    reply_tokens: int = 4096  # asked of the model for one reply
    window: int | None = None  # tokens the model can take; None: not known
    wrap_up: bool = True  # one closing round without tools before a soft limit ends it


@dataclass(frozen=True, kw_only=True, slots=True)
class Skill:
    """What an agent can read up on: *about* is offered, *text* read on demand."""

    name: str
    about: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent as its folder or program declares it. *settings* are by risk or by tool; a tool's wins."""

    key: str
    name: str
    title: str = ""
    role: str = ""
    label: str | None = None
    chief: bool = False
    tools: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    model: str | None = None
    limits: Limits = field(default_factory=Limits)
    triggers: tuple[Mapping[str, object], ...] = ()
    interactive: bool = False
    skills: tuple[Skill, ...] = ()
    hosts: tuple[str, ...] = ()  # where tools with `egress` go without a click, whatever was read
    digest: str = ""


def may_reach(agent: Agent, host: str) -> bool:
    """Whether *host* is on the agent's list, or within a domain that is: ``.example.com`` is all of it."""
    name = host.lower().rstrip(".")
    return any(name == one or (one.startswith(".") and name.endswith(one)) for one in agent.hosts)


def setting_for(agent: Agent, switch: Switch | None, *, tool: str, risk: str) -> str:
    """What holds for *tool*: the owner's switch, else the folder, else ask; a tool's own word first."""
    for said in (dict(switch.settings) if switch else {}, agent.settings):
        for key in (tool, risk):
            if key in said:
                return str(said[key])
    return Setting.ASK
