"""Asking and telling an app's host, whose errors and delays stay there (I38).

What a method answers is needed, or it is only told something. An answer that does not come is
HostFailed, for the loop to wait out; news that nobody takes are logged and gone. The exception's words
reach the log of who debugs, never a model or a chat; those meant to be read are cut and made storable.
"""

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from functools import wraps
from types import NoneType
from typing import Any, Final, ParamSpec
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from core.agents import Agent
from core.arguments import shown
from core.calls import Call
from core.caught import called, caught, words_of
from core.errors import GatepostError, NeedsConnect, ToolFailed
from core.host import BaseHost, same_send
from core.moves.common import Result
from core.parks import ParkKind
from core.people import Organization
from core.ports import Clock, Model, ParkView
from core.proposals import storable
from core.redact import Redactor
from core.running import MAX_ERROR
from core.tasks import Task
from core.tools import Tool
from core.work import Reached

log = logging.getLogger(__name__)

HOOK_SECONDS: Final = 10.0
"""Of one method: an app that looks into its database needs less, and a run should not hang on it."""

NOTIFIED: Final = frozenset(
    {ParkKind.APPROVAL, ParkKind.QUESTION, ParkKind.CONNECT, ParkKind.UNKNOWN, ParkKind.LIMIT}
)
"""Parks that wait for a person's answer; the rest waits for messages, replies and teammates."""

MAX_KEY: Final = 500
"""Characters of what names a send or an address; a longer key is told apart by its digest."""

NO_WORDS: Final = "the app says no"

P = ParamSpec("P")


class HostFailed(GatepostError):
    """The app did not answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Addressed:
    """What makes an effect the same as another, and whom it reaches; *problem*: the host can't say."""

    key: str | None = None
    reached: Reached | None = None
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """The methods of *host*, each as safe as its caller needs it."""

    host: BaseHost
    clock: Clock
    redactor: Redactor = field(default_factory=Redactor)

    # ── answers that are needed: HostFailed where there is none ──────────────────────────────

    async def refusal(self, task: Task, agent: Agent) -> str | None:
        if agent.key not in self.host.agents:
            return f"There is no agent {agent.key} any more."
        said = await self._answered((str, NoneType), self.host.refuse_run, task, agent)
        return None if said is None else self._words(said)

    async def secrets(self) -> None:
        """What the app keeps secret is shown nowhere from here on."""
        if not _is_default(self.host.secrets):
            said: Mapping[str, str] = await self._answered((Mapping,), self.host.secrets)
            self.redactor.register_all(
                {str(name): value for name, value in said.items() if isinstance(value, str)}
            )

    async def token_budget(self, task: Task, agent: Agent) -> int | None:
        said: int | None = await self._answered((int, NoneType), self.host.token_budget, task, agent)
        return said

    async def model(self, task: Task, agent: Agent) -> Model | None:
        said: Model | None = await self._asked(self.host.model_for, task, agent)
        if said is not None and not callable(getattr(said, "reply", None)):
            raise _strange(self.host.model_for, said)
        return said

    async def system_prompt(self, task: Task, agent: Agent) -> str:
        said: str = await self._answered((str,), self.host.system_prompt, task, agent)
        return said

    # ── answers that have a default ──────────────────────────────────────────────────────────

    async def time(self, task: Task, organization: Organization) -> str:
        """How the time reads now, to the people of the task's organization; empty: it is not said."""
        at = self.clock.now().astimezone(await self.time_zone(organization))
        try:
            said: str = await self._answered((str,), self.host.clock, task, at)
        except HostFailed:
            said = await BaseHost.clock(self.host, task, at)
        return said

    async def time_zone(self, organization: Organization) -> tzinfo:
        """Where the organization's people are, as the host has it, else as its row says."""
        try:
            facts = await self._answered((Mapping,), self.host.context, organization.id)
            named = facts.get("time_zone")
        except HostFailed:
            named = None
        try:
            return ZoneInfo(named if isinstance(named, str) and named else organization.time_zone)
        except (ZoneInfoNotFoundError, OSError, ValueError, TypeError):
            log.warning("%s has a time zone that is none; UTC is taken", organization.id)
            return UTC

    # ── around a tool ────────────────────────────────────────────────────────────────────────

    async def addressed(self, task: Task, tool: Tool, call: Call) -> "Addressed":
        """Where an effect goes, as the host has it. Unsaid, it must not go: it may be there already."""
        try:
            key = await self._asked(_at_once(self.host.sent_key), task, tool, call.args)
            reach_key = _at_once(self.host.reach_key)
            reached = await self._answered((Reached, NoneType), reach_key, task, tool, call.args)
            if reached is not None and not _storable(reached):
                raise _strange(self.host.reach_key, reached)
        except HostFailed:
            return Addressed(problem="the app did not say whom it goes to")
        said = None if key is None or key == "" else storable(str(key), MAX_KEY)
        return Addressed(key=same_send(said), reached=reached)

    async def problem(self, task: Task, call: Call) -> str | None:
        """Why *call* must not run, as the host says before it would; None: it may."""
        try:
            await self._within(self.host.before_tool, task, call)
        except (ToolFailed, NeedsConnect) as refusal:
            return self._words(refusal)
        except HostFailed:
            return "the app could not prepare it"
        return None

    async def ran(self, task: Task, call: Call, result: Result) -> None:
        await self._told(self.host.after_tool, task, call, result.outcome, result.result)

    # ── news ─────────────────────────────────────────────────────────────────────────────────

    async def does(self, task: Task, doing: str | None) -> None:
        if doing is not None:
            await self._told(self.host.mark, task, doing)

    async def thinks(self, task: Task, text: str | None) -> None:
        if text and text.strip():
            await self._told(self.host.thought, task, self.redactor.redact(text))

    async def parked(self, task: Task, parks: Sequence[ParkView]) -> None:
        if waiting := [view for view in parks if view.park.kind in NOTIFIED]:
            await self._told(self.host.notify_parked, task, waiting)

    async def unreachable(self, task: Task, parks: Sequence[ParkView], reason: str) -> None:
        """No chat shows the card of these parks. An app that takes no reason is told of them without it."""
        hook = self.host.notify_parked
        if not parks:
            return
        try:
            inspect.signature(hook).bind(task, parks, reason)
        except TypeError:
            await self._told(hook, task, parks)
        else:
            await self._told(hook, task, parks, reason)

    # ── what all of them share ───────────────────────────────────────────────────────────────

    def _words(self, said: object) -> str:
        """What the app says, as a model can read it, and any database keep it."""
        return shown(self.redactor.redact(words_of(said)), MAX_ERROR) or NO_WORDS

    async def _told(self, hook: Callable[P, object], *args: P.args, **named: P.kwargs) -> None:
        if _is_default(hook):
            return
        try:
            await self._asked(hook, *args, **named)
        except HostFailed:
            pass  # logged where it was raised; whoever was not told can look at the rows

    async def _asked(self, hook: Callable[P, object], *args: P.args, **named: P.kwargs) -> Any:
        try:
            return await self._within(hook, *args, **named)
        except (ToolFailed, NeedsConnect) as error:  # words for a model, where no model asked
            raise _failed(hook, error) from error

    async def _answered(
        self, kinds: tuple[type, ...], hook: Callable[P, object], *args: P.args, **named: P.kwargs
    ) -> Any:
        """What *hook* answers, one of *kinds*; another answer is none."""
        said = await self._asked(hook, *args, **named)
        if not isinstance(said, kinds) or isinstance(said, bool):  # which is an int, and no number is meant
            raise _strange(hook, said)
        return said

    async def _within(self, hook: Callable[P, object], *args: P.args, **named: P.kwargs) -> Any:
        """What *hook*, a coroutine or a plain function, answers in time.

        A plain one that is late goes on in its thread; nobody hears what it answers.
        """
        said: object = None
        with caught() as ended:
            async with self.clock.timeout(HOOK_SECONDS):
                said = await called(hook, *args, **named)
        if ended.error is None:
            return said
        if isinstance(ended.error, ToolFailed | NeedsConnect):
            raise ended.error
        raise _failed(hook, ended.error) from ended.error


def _at_once(hook: Callable[P, object]) -> Callable[P, object]:
    """*hook* on the event loop, though it is a plain one: it only looks at its arguments."""

    @wraps(hook)
    async def asked(*args: P.args, **named: P.kwargs) -> object:
        said = hook(*args, **named)
        return await said if inspect.isawaitable(said) else said

    return asked


def _is_default(hook: Callable[..., Any]) -> bool:
    return getattr(hook, "__func__", None) is getattr(BaseHost, getattr(hook, "__name__", ""), None)


def _storable(reached: Reached) -> bool:
    """Whether each of its words can be kept as it is: an address that had to be changed is another."""
    words: tuple[object, ...] = (reached.surface, reached.address, reached.thread_ref)
    return all(isinstance(w, str) and storable(w, MAX_KEY) == w for w in words)


def _strange(hook: Callable[..., Any], said: object) -> HostFailed:
    name = getattr(hook, "__name__", "a method")
    log.warning("host.%s answered with a %s", name, type(said).__name__)
    return HostFailed(f"the app did not answer ({name})")


def _failed(hook: Callable[..., Any], error: BaseException) -> HostFailed:
    name = getattr(hook, "__name__", "a method")
    log.warning("host.%s raised %s", name, type(error).__name__)
    log.debug("host.%s", name, exc_info=error)
    return HostFailed(f"the app did not answer ({name})")
