"""Which agent and which task a person's message belongs to. Pure: the tasks around it are looked up before.

In this order: the task it names (``t-12: …``) or replies to; the task of its thread; the one open task of
that chat; one of it that ended a moment ago, which goes on; else a new task, for the chief or for the agent
it names (``scout: …``). ``/new`` opens one whatever else is open. In a chat with others a message counts
only if it is addressed to us, and joins by itself only what its writer asked for.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from core.agents import Agent
from core.ids import PersonId, task_code, task_number
from core.tasks import Task

GOES_ON: Final = timedelta(minutes=30)
"""How long after its end a task is still what a chat is about (issue 4, route)."""


class ChatKind(StrEnum):
    DIRECT = "direct"  # one person and us
    CHANNEL = "channel"  # many people, in threads
    GROUP = "group"  # many people, one after the other
    TOPIC = "topic"  # a part of a group that is a chat of its own


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """A message. *addressed*: it names us, or the chat is between two."""

    text: str
    by: PersonId
    kind: ChatKind
    addressed: bool
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What of the organization's tasks a message may be about, each as it is now.

    *named*: of the code it begins with. *replied*: the one whose message it answers. *thread*: of the
    thread it stands in, those that have not ended first. *chat*: of that chat, newest first.
    """

    named: Task | None = None
    replied: Task | None = None
    thread: Sequence[Task] = ()
    chat: Sequence[Task] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Join:
    """It belongs to *task*: read at its next round, or the start of an episode."""

    task: Task
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stop:
    """Its writer wants *task* to end at its next step."""

    task: Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Open:
    """It is the goal of a new task for *agent*."""

    agent: str
    goal: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Unclear:
    """It may be about any of *tasks*; its writer has to say which."""

    tasks: Sequence[Task]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unaddressed:
    """It is not for us."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Blank:
    """It says nothing that a task could be about; *words*: what its writer is told."""

    words: str = "Say what is to be done."


Routed: TypeAlias = Join | Stop | Open | Unclear | Unaddressed | Blank


def route(said: Said, around: Around, agents: Mapping[str, Agent], chief: str) -> Routed:
    """What *said* belongs to. *agents*: by key; *chief*: the key of who takes what names nobody."""
    text = said.text.strip()
    goal = _after_new(text)
    direct = around.replied or _first(around.thread)
    if not said.addressed and around.named is None and direct is None:
        return Unaddressed()
    if goal is not None:
        return _opened(goal, agents, chief)
    if not text:
        return Blank()
    if around.named is not None:
        return _joined(around.named, words_for(text))
    if (number := number_named(text)) is not None:
        return Blank(words=f"There is no task {task_code(number)}.")
    if direct is not None:
        return _joined(direct, text)
    ours = [t for t in around.chat if said.kind is ChatKind.DIRECT or t.requester == said.by]
    if agent_named(text, agents) is None:
        going_on = [t for t in ours if not t.ended]
        if len(going_on) == 1:
            return _joined(going_on[0], text)
        if going_on:
            return Unclear(tasks=going_on)
        if lately := [t for t in ours if t.ended_at is not None and said.at - t.ended_at < GOES_ON]:
            return _joined(max(lately, key=lambda t: (t.ended_at, t.number)), text)
    if text.casefold() in STOP:
        return Blank(words="Nothing goes on here that you could stop.")
    return _opened(text, agents, chief)


# ── what a message begins with ───────────────────────────────────────────────────────────────

_CODE = re.compile(r"(t-\d+)\s*:\s*", re.IGNORECASE)
_AGENT = re.compile(r"([^\s:]+)\s*:(?:\s+|$)")
_NEW = re.compile(r"/new(?:\s+|$)", re.IGNORECASE)
STOP: Final = frozenset({"stop", "/stop", "stop!", "stop."})
"""The whole of a message that ends its task."""


def number_named(text: str) -> int | None:
    """12 of ``t-12: also check A7``."""
    found = _CODE.match(text.strip())
    return None if found is None else task_number(found[1].lower())


def words_for(text: str) -> str:
    """*text* without the code it begins with."""
    return _CODE.sub("", text.strip(), count=1)


def agent_named(text: str, agents: Mapping[str, Agent]) -> str | None:
    """The key of the agent whom ``scout: …`` names, by key or name, in any case."""
    found = _AGENT.match(text)
    if found is None:
        return None
    said = found[1].casefold()
    return next(
        (key for key, agent in agents.items() if said in (key.casefold(), agent.name.casefold())), None
    )


def is_new(text: str) -> bool:
    """Whether *text* opens a task whatever else is open."""
    return _after_new(text.strip()) is not None


def _after_new(text: str) -> str | None:
    found = _NEW.match(text)
    return None if found is None else text[found.end() :].strip()


def _opened(text: str, agents: Mapping[str, Agent], chief: str) -> Open | Blank:
    agent = agent_named(text, agents)
    goal = text if agent is None else _AGENT.sub("", text, count=1).strip()
    return Open(agent=agent or chief, goal=goal) if goal else Blank()


def _joined(task: Task, text: str) -> Join | Stop | Blank:
    if not text:
        return Blank()
    if text.casefold() in STOP:  # of one that has ended too: a second look must not begin an episode
        return Stop(task=task)
    return Join(task=task, text=text)


def _first(tasks: Sequence[Task]) -> Task | None:
    """Of a thread's tasks the newest that has not ended, else the newest."""
    return max(tasks, key=lambda t: (not t.ended, t.number), default=None)
