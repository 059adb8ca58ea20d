"""What an app supplies: its tools and agents, and what only it can know. Each has a default.

The setting HOST_APP names the app's class (``shop.host:Shop``), made once a process without
arguments. Methods may do I/O: none of them is called inside a transaction. What the rows already do
(stopping, messages joining a running task, the audit) needs nothing here.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime

from core.agents import Agent
from core.calls import Call, Outcome
from core.ids import OrgId
from core.ports import Model, ParkView, Secrets
from core.tasks import Json, Task
from core.tools import Tool
from core.vault import NoVault
from core.work import Reached


class BaseHost:
    """An app's host. Set `tools`; leave `agents` empty to have them read from the agents folder.

    Every method may be a coroutine or a plain function, and has ten seconds; a plain one runs in a thread.
    But `sent_key` and `reach_key` look at their arguments alone: as plain functions they run on the event
    loop. One that raises harms no run (docs/host.md): where its answer is needed the task is delayed, what
    it was only told is lost.
    """

    tools: Mapping[str, Tool] = {}
    agents: Mapping[str, Agent] = {}
    chief: str | None = None
    """The agent who takes what is addressed to nobody; None: the agent marked chief, or the only one."""
    vault: Secrets = NoVault()
    """Secrets at rest, of every organization; the bot's own from before `open` on."""
    model: Model | None = None
    """What `model_for` answers; None: the endpoint of the settings."""

    async def open(self) -> None:
        """Called once before anything else, in the process's event loop."""

    async def close(self) -> None:
        """Called once at the process's end."""

    async def secrets(self) -> Mapping[str, str]:
        """Values that nobody may read, by the names that are shown in their place; asked before each run.

        What the vault holds and the settings' own need not be among them.
        """
        return {}

    # ── what a request is made of ────────────────────────────────────────────────────────────

    async def model_for(self, task: Task, agent: Agent) -> Model | None:
        """The model that works on *task*; None: the settings' endpoint. An organization may bring its own."""
        return self.model

    async def system_prompt(self, task: Task, agent: Agent) -> str:
        """Who the agent is. The same for all rounds of a task, so that providers can cache it.

        The agent's skills are added to it.
        """
        title = f", {agent.title}" if agent.title else ""
        return f"You are {agent.name}{title}.\n\n{agent.role}".rstrip()

    async def context(self, org: OrgId) -> Mapping[str, str]:
        """Facts of the business; ``time_zone`` is how its people read times. Default: as its row says."""
        return {}

    async def clock(self, task: Task, at: datetime) -> str:
        """How the time *at*, in the business's time zone, reads; empty: the model is told of none.

        It rides on the first message of a request, never in the system prompt, and is asked once a run
        and quarter of an hour: a request begins like the one before, and providers can cache that.
        """
        return f"It is {at:%A, %d %B %Y, %H:%M} ({at.tzinfo})."

    # ── what may run ─────────────────────────────────────────────────────────────────────────

    async def refuse_run(self, task: Task, agent: Agent) -> str | None:
        """Why *task* may not go on now (no credit left, say), asked before each step; None: it may."""
        return None

    async def token_budget(self, task: Task, agent: Agent) -> int | None:
        """How many tokens *agent* may use in a rolling day; None: any number. Asked once a run."""
        return agent.limits.daily_tokens

    async def before_tool(self, task: Task, call: Call) -> None:
        """*call* is about to run; an effect is not marked yet. A ToolFailed, in words, forbids it."""

    async def after_tool(self, task: Task, call: Call, outcome: Outcome, result: Json) -> None:
        """*call*'s handler is done. A crash in between leaves this out."""

    # ── what is the same, and whom it reaches ────────────────────────────────────────────────

    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        """What makes two sends the same one, such as the recipient and the kind of message.

        Within a task a key goes out once (I6), and another task of the organization asks before it sends
        the same within a day. None: each call is its own. Default: what the tool itself says.
        """
        said = None if tool.sent_key is None else tool.sent_key(args)
        return None if said is None else f"{tool.name}:{said}"

    def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
        """Whom a call writes to, so that an answer from there finds the task (I28). None: nobody."""
        return None

    # ── news ─────────────────────────────────────────────────────────────────────────────────

    async def notify_parked(self, task: Task, parks: Sequence[ParkView], reason: str | None = None) -> None:
        """These parks have opened, and wait for a person: a push, a text message, a mail.

        Their cards are posted without this. A crash in between leaves it out. With a *reason*, they have
        been open for a while, and no chat shows their card: nobody knows of them but by this.
        """

    async def mark(self, task: Task, doing: str) -> None:
        """What the run does next, in words: live progress."""

    async def thought(self, task: Task, text: str) -> None:
        """What the model said beside its calls, as it works."""


def risks_of(host: BaseHost) -> dict[str, str]:
    """The risk of each of the host's tools, by name."""
    return {name: str(tool.risk) for name, tool in host.tools.items()}


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
