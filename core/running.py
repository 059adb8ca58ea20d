"""Runs a tool's handler, and the functions beside it, without leaking an error.

Whatever a handler does, its call gets one result (I38), and "failed" is only said of what provably did not go
out (C18). What comes back is redacted before it is cut, and so before any row has it (I33). Knows nothing of
rows, chats and the gate's table.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from core import canonical, results
from core.arguments import shown
from core.calls import Outcome
from core.caught import caught, words_of
from core.errors import NeedsConnect, ToolFailed
from core.ports import Clock
from core.redact import Redactor
from core.tasks import Json
from core.tools import Handler, Tool, ToolContext
from core.visible import line, visible

logger = logging.getLogger(__name__)

MAX_ERROR = 500
"""Characters of an error that the model reads."""

MAX_ACCOUNT = 80
"""Characters of an account's name, which the model reads as ours: a name, and no room for a letter."""

_ROUND = str.maketrans("[]⟨⟩", "()()")
"""Our notes begin with a word in brackets; what is spelled out here is not spelled out again on a card."""

MAX_URL = 2000
"""Characters of an address that every browser takes."""

MAY_HAVE_GONE_OUT = "it may have gone out: do not repeat it"


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """How a call ended: succeeded, failed or unknown; *result* is {"value": …} or {"error": words}.

    *needs*: it failed for want of this account.
    """

    outcome: Outcome
    result: Json
    needs: NeedsConnect | None = None


class _NotYet:
    """No value has come back."""


_MISTAKES = frozenset({ValueError})
"""What a handler raises of arguments it won't take; other mistakes may come after something went out."""
_CAUSES = frozenset({ValueError, TypeError, KeyError, IndexError, LookupError, AttributeError})
"""What such an error may have been raised from: ``except KeyError: raise ValueError("no such order")``."""
_LOOKS_ALONE = Redactor()
"""For who knows no secret by its value; nothing is ever registered with it."""
_BY_NAME = frozenset({"socket.gaierror"})  # by name, since core imports no socket


async def run(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext,
    clock: Clock,
    redactor: Redactor = _LOOKS_ALONE,
) -> ToolResult:
    """The one result of running *tool*: no exception of the handler gets out, only the caller's cancellation.

    A call of an effect is failed if `certain` says of its error that nothing went out, else unknown (C18,
    C19). What comes back from one is a success even where it can't be shown. A handler that is no coroutine
    runs in a thread, which goes on after a timeout; whatever it then returns is discarded (K15).
    """
    value: object = _NotYet
    with caught() as ended:
        async with clock.timeout(tool.timeout_seconds):
            value = await tool.handler(args, context)
        kept = redactor.clean(results.storable(value))
        return ToolResult(outcome=Outcome.SUCCEEDED, result={"value": kept})
    if (error := ended.error) is None or isinstance(error, asyncio.CancelledError):
        return _ended_badly(tool, RuntimeError("cancelled by itself"), redactor)
    _log(tool, error)
    return (_ended_badly if value is _NotYet else _unshowable)(tool, error, redactor)


async def check(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext,
    clock: Clock,
    redactor: Redactor = _LOOKS_ALONE,
) -> str | NeedsConnect | None:
    """None if the tool's own check lets the call run now; else the words why not, or the account it wants.

    A check that breaks, is late, or answers anything but None or True does not let it run. The words are
    read as ours, so those of a tool that hears from outside are left out (I27).
    """
    if tool.check is None:
        return None
    said = await _asked(tool, tool.check, "checked", args, context, clock, redactor)
    if isinstance(said, NeedsConnect):
        return said
    if isinstance(said, _Said) and (said.value is None or said.value is True):
        return None
    words = said.value if isinstance(said, _Said) else said
    own = isinstance(words, str) and words and not tool.taints
    return shown(redactor.redact(str(words)), MAX_ERROR) if own else "its check says no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a tool's precondition answers now; *problem*: why it can't be told, *needs*: for want of what."""

    value: Json = None
    problem: str | None = None
    needs: NeedsConnect | None = None


async def look(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext,
    clock: Clock,
    redactor: Redactor = _LOOKS_ALONE,
) -> Seen:
    """What an approver of this call is to see of the world: its precondition; None where it has none.

    The model reads the problem as ours: of a tool that hears from outside, it has none of its words (I27).
    """
    if tool.precondition is None:
        return Seen()
    said = await _asked(tool, tool.precondition, "looked at", args, context, clock, redactor)
    if isinstance(said, NeedsConnect):
        return Seen(problem=str(said), needs=said)
    if isinstance(said, str):
        return Seen(problem="could not be looked at" if tool.taints else said)
    try:
        return Seen(value=redactor.clean(results.storable(said.value)))
    except canonical.NotJson as error:
        return Seen(problem="could not be looked at" if tool.taints else f"could not be looked at: {error}")


async def preview(
    tool: Tool,
    args: Mapping[str, Json],
    context: ToolContext,
    clock: Clock,
    redactor: Redactor = _LOOKS_ALONE,
) -> Seen:
    """What a card is to show of what this call would do; None where its tool has no preview.

    One that breaks is said on the card: it decides nothing, so it keeps nobody from asking.
    """
    if tool.preview is None:
        return Seen()
    said = await _asked(tool, tool.preview, "previewed", args, context, clock, redactor)
    if isinstance(said, NeedsConnect):
        return Seen(problem=str(said), needs=said)
    if isinstance(said, str):
        return Seen(value=f"({said})")
    try:
        return Seen(value=redactor.clean(results.storable(said.value)))
    except canonical.NotJson as error:
        return Seen(value=f"(could not be previewed: {error})")


async def went_out(tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock) -> bool | None:
    """What the tool finds at the destination of an unknown call; None where it can't tell, or can't look."""
    if tool.reconcile is None:
        return None
    said = await _asked(tool, tool.reconcile, "looked up", args, context, clock, _LOOKS_ALONE)
    return said.value if isinstance(said, _Said) and isinstance(said.value, bool) else None


@dataclass(frozen=True, slots=True)
class _Said:
    value: object


async def _asked(
    tool: Tool,
    asked: Handler,
    done: str,
    args: Mapping[str, Json],
    context: ToolContext,
    clock: Clock,
    redactor: Redactor,
) -> "_Said | NeedsConnect | str":
    """What the tool's own function *asked* answers, the account it wants, or the words why it does not."""
    with caught() as ended:
        async with clock.timeout(tool.timeout_seconds):
            return _Said(await asked(args, context))
    match ended.error:
        case None | asyncio.CancelledError():
            return f"could not be {done}: cancelled by itself"
        case NeedsConnect() as error:
            return _wanted(error, redactor)
        case ToolFailed() as error:
            return _error_words(tool, error, redactor)
        case error:
            _log(tool, error)
            return f"could not be {done}: {_error_words(tool, error, redactor)}"


def certain(error: BaseException) -> bool:
    """Whether *error*, out of the handler of an effect, says that nothing went out (C18). The closed set:

    - ToolFailed(sent=False), NeedsConnect: the tool's author says so;
    - a refused connection, a name that does not resolve: nobody was there to send to;
    - exactly ValueError: a handler that won't take its arguments. Not its subclasses, among which are the
      errors of reading an answer (JSONDecodeError, UnicodeDecodeError), nor KeyError, TypeError and the
      like, which may come from reading one;
    - ToolFailed(sent=None): the author says it could not be done. An author who can't know raises
      ToolFailed(…, sent=True).

    But for the first, only where all that it was raised from or during is in the set too: neither a
    ToolFailed made of a read timeout is certain, nor a connection refused at the second attempt.
    """
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if _said_by_author(one):
            continue
        if not _is_certain_alone(one) and (one is error or type(one) not in _CAUSES):
            return False
        todo += (one.__cause__, one.__context__)
    return True


def _said_by_author(error: BaseException) -> bool:
    return isinstance(error, NeedsConnect) or (isinstance(error, ToolFailed) and error.sent is False)


def _is_certain_alone(error: BaseException) -> bool:
    if isinstance(error, ToolFailed):
        return error.sent is None
    if isinstance(error, ConnectionRefusedError) or type(error) in _MISTAKES:
        return True
    return any(_full_name(kind) in _BY_NAME for kind in type(error).mro())


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _ended_badly(tool: Tool, error: BaseException, redactor: Redactor) -> ToolResult:
    words = _error_words(tool, error, redactor)
    needs = _wanted(error, redactor) if isinstance(error, NeedsConnect) else None
    if tool.pure or certain(error):
        return ToolResult(outcome=Outcome.FAILED, result={"error": words}, needs=needs)
    return ToolResult(outcome=Outcome.UNKNOWN, result={"error": f"{words}; {MAY_HAVE_GONE_OUT}"})


def _unshowable(tool: Tool, error: BaseException, redactor: Redactor) -> ToolResult:
    """The handler returned, and what it returned can't be kept: an effect has happened all the same."""
    words = f"its result could not be shown: {_error_words(tool, error, redactor)}"
    if tool.pure:
        return ToolResult(outcome=Outcome.FAILED, result={"error": words})
    return ToolResult(outcome=Outcome.SUCCEEDED, result={"value": f"it was done, but {words}"})


def _error_words(tool: Tool, error: BaseException, redactor: Redactor) -> str:
    """For the model: the author's own words, or the type and message; never a traceback (I38)."""
    said = redactor.redact(words_of(error))
    if said and isinstance(error, (ToolFailed, NeedsConnect, canonical.NotJson)):
        return shown(said, MAX_ERROR)
    if isinstance(error, TimeoutError) and not said and tool.timeout_seconds is not None:
        return f"no answer within {tool.timeout_seconds:g} s"
    name = type(error).__name__
    return shown(f"{name}: {said}" if said else name, MAX_ERROR)


def _wanted(error: NeedsConnect, redactor: Redactor) -> NeedsConnect:
    """*error* as it can be kept, shown and told, whatever its tool put into it.

    The model reads the account's name as ours, so it can't begin a note of its own (I27). An address that
    would have to be changed is none: what is left of it leads somewhere else.
    """
    account, url = getattr(error, "account", None), getattr(error, "url", None)
    name = redactor.redact(account) if isinstance(account, str) else ""
    name = line(name, MAX_ACCOUNT).translate(_ROUND).strip()
    whole = isinstance(url, str) and len(url) <= MAX_URL and redactor.address(visible(url)) == url
    kept = NeedsConnect(name or "the account", url if whole else None)
    return error if (type(error), account, url) == (NeedsConnect, kept.account, kept.url) else kept


def _log(tool: Tool, error: BaseException) -> None:
    # Its message may hold what the handler was given: only somebody who debugs sees that.
    level = logging.INFO if isinstance(error, (ToolFailed, NeedsConnect)) else logging.WARNING
    logger.log(level, "tool %s raised %s", tool.name, type(error).__name__)
    logger.debug("tool %s", tool.name, exc_info=error)
