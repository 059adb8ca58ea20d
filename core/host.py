"""What an app supplies: its tools and agents, and what only it can know. Each has a default.

The setting HOST_APP names the app's class (``shop.host:Shop``), made once a process without
arguments. Methods may do I/O: none of them is called inside a transaction. What the rows already do
(stopping, messages joining a running task, the audit) needs nothing here.
"""

import unicodedata
from collections.abc import Mapping

from core.agents import Agent
from core.ids import OrgId
from core.ports import Model
from core.tasks import Json, Task
from core.tools import Tool


class BaseHost:
    """An app's host. Set `tools`; leave `agents` empty to have them read from the agents folder."""

    tools: Mapping[str, Tool] = {}
    agents: Mapping[str, Agent] = {}
    chief: str | None = None
    """The agent who takes what is addressed to nobody; None: the agent marked chief, or the only one."""
    model: Model | None = None
    """What `model_for` answers; None: the endpoint of the settings."""

    async def open(self) -> None:
        """Called once before anything else, in the process's event loop."""

    async def close(self) -> None:
        """Called once at the process's end."""

    async def model_for(self, task: Task, agent: Agent) -> Model | None:
        """The model that works on *task*; None: the settings' endpoint. An organization may bring its own."""
        return self.model

    async def system_prompt(self, task: Task, agent: Agent) -> str:
        """Who the agent is. The same for all rounds of a task, so that providers can cache it."""
        title = f", {agent.title}" if agent.title else ""
        return f"You are {agent.name}{title}.\n\n{agent.role}".rstrip()

    async def context(self, org: OrgId) -> Mapping[str, str]:
        """Facts of the business; ``time_zone`` is how its people read times. Default: UTC."""
        return {"time_zone": "UTC"}

    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        """What makes two sends the same one, such as the recipient and the kind of message.

        Within a task a key goes out once (I6), and another task of the organization asks before it sends
        the same within a day. None: each call is its own. Default: what the tool itself says.
        """
        said = None if tool.sent_key is None else tool.sent_key(args)
        return None if said is None else f"{tool.name}:{said}"

    async def refuse_run(self, task: Task, agent: Agent) -> str | None:
        """Why *task* may not go on now (no credit left, say), asked before each step; None: it may."""
        return None


def same_send(key: str | None) -> str | None:
    """*key* as it is compared: an address is the same however its accents are composed (bad-inputs.md 21)."""
    return None if key is None else unicodedata.normalize("NFC", key)


def chief_of(host: BaseHost) -> str:
    """The key of the agent who takes what is addressed to nobody. Raises LookupError if that is unclear."""
    if host.chief is not None:
        if host.chief not in host.agents:
            raise LookupError(f"the host's chief {host.chief!r} is none of the agents")
        return host.chief
    chiefs = [a.key for a in host.agents.values() if a.chief]
    if len(chiefs) == 1:
        return chiefs[0]
    if not chiefs and len(host.agents) == 1:
        return next(iter(host.agents))
    raise LookupError("no agent is the chief: set `chief: true` in one AGENT.md")
