"""Tools: what an agent may call, how its arguments are checked, and how one is run without leaking an error.

A tool's handler is a plain function of somebody's app. Around it stands one of the two broad `except` of the
project: whatever the handler does, the call gets its one result (I38), and "failed" is only said of what
provably did not go out (C18). Knows nothing of rows, chats and the gate's table.
"""

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias
from urllib.parse import urlsplit

from core import arguments, canonical, results, schemas
from core.arguments import shown
from core.calls import MODEL_PURE_RISKS, Outcome, ParksAs
from core.errors import BadArguments, NeedsConnect, ToolError, ToolFailed
from core.gate import Risk
from core.ids import CallId, OrgId, PersonId, TaskId
from core.model import ToolSpec
from core.ports import Clock
from core.signatures import Parameter, bound, parameters, schema_of
from core.tasks import Json
from core.visible import line, visible

logger = logging.getLogger(__name__)

P = ParamSpec("P")

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", re.ASCII)
"""What every model service takes as a tool's name."""

_ADDRESS = re.compile(r"https?://[!-\[\]-~]+", re.ASCII)
"""What every reader of addresses takes alike: no blank and no backslash, nothing but ASCII."""

TIMEOUT_SECONDS = 60.0
"""Longer than an ordinary HTTP client waits, shorter than a person who watches."""

MAX_ERROR = 500
"""Characters of an error that the model reads."""

MAX_ACCOUNT = 80
"""Characters of an account's name, which the model reads as ours: a name, and no room for a letter."""

_ROUND = str.maketrans("[]", "()")
"""Our notes begin with a word in brackets."""

MAX_URL = 2000
"""Characters of an address that every browser takes."""

MAY_HAVE_GONE_OUT = "it may have gone out: do not repeat it"

EVERY = frozenset({"*"})
"""As *editable*: every argument."""

SERVER_OWNED = frozenset({"organization", "organization_id", "owner", "owner_id", "account", "account_id"})
"""Arguments that only the server fills in (C1, I36). A model's are dropped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolContext:
    """Whose call this is. A handler that declares a parameter of this type gets it; the model never sees it.

    *call_id* stays the same however often the call is run: the idempotency key for a provider that takes one.
    """

    org: OrgId
    task_id: TaskId
    task_code: str
    call_id: CallId
    agent: str
    account: str | None = None
    owner: PersonId | None = None

    def server_owned(self) -> dict[str, str | None]:
        """The value of each name in `SERVER_OWNED`."""
        return {
            "organization": self.org,
            "organization_id": self.org,
            "owner": self.owner,
            "owner_id": self.owner,
            "account": self.account,
            "account_id": self.account,
        }


Handler: TypeAlias = Callable[[Mapping[str, Json], ToolContext], Awaitable[object]]
"""Called with checked arguments; what it returns is the result, what it raises an error for the model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """Something an agent may call. Usually made by `@tool` out of a function.

    *parameters* takes no property it does not list, unless it says so. *check* raises ToolFailed or
    NeedsConnect where the call must not run as things stand. *precondition* answers what the approver is
    to see of the world, as JSON; approved, the call runs only while it still answers the same.
    *reconcile* looks at the destination after a call whose end is unknown: True, it went out; False, it
    did not; None, nobody can tell. *preview* answers what a card shows of what the call would do. *sent_key*
    answers what makes two of its calls the same send. *concurrent*: as a read it runs beside others.
    *egress*: the argument with the address it goes to, which a stranger's words may have chosen. *taints*:
    the result is words from outside. Raises ToolError where the declaration is wrong.
    """

    name: str
    description: str
    risk: Risk
    parameters: dict[str, Json]
    handler: Handler
    editable: frozenset[str] = EVERY
    check: Handler | None = None
    precondition: Handler | None = None
    reconcile: Handler | None = None
    preview: Handler | None = None
    sent_key: Callable[[Mapping[str, Json]], object] | None = None
    concurrent: bool = True
    egress: str | None = None
    timeout_seconds: float | None = TIMEOUT_SECONDS  # None: as long as it takes
    taints: bool = False
    parks_as: ParksAs | None = None
    server_owned: frozenset[str] = SERVER_OWNED  # names that are not the model's to give

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ToolError(f"{shown(self.name, 80)}: a tool's name is letters, digits, _ and -, 64 at most")
        try:
            schemas.check_schema(self.parameters)
        except ToolError as error:
            raise ToolError(f"{self.name}: {error}") from None
        # Its own copy, so that a digest taken now holds later.
        object.__setattr__(self, "parameters", schemas.closed(deepcopy(self.parameters)))
        if taken := self.properties.keys() & self.server_owned:
            names = ", ".join(sorted(taken))
            raise ToolError(f"{self.name}: {names} is filled in by the server and can't be an argument")
        if self.editable == EVERY:
            object.__setattr__(self, "editable", frozenset(self.properties))
        if strange := self.editable - self.properties.keys():
            raise ToolError(f"{self.name}: editable names {', '.join(sorted(strange))}, not an argument")
        if self.egress is not None and self.egress not in self.properties:
            raise ToolError(f"{self.name}: egress names {self.egress}, not an argument")
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < float("inf"):
            raise ToolError(f"{self.name}: the timeout must be more than 0 seconds, or None for no timeout")

    @property
    def properties(self) -> Mapping[str, Json]:
        found: Mapping[str, Json] = self.parameters.get("properties", {})
        return found

    @property
    def pure(self) -> bool:
        """Nobody outside sees its calls: they may be run again (C20)."""
        return self.risk.value in MODEL_PURE_RISKS

    @property
    def digest(self) -> str:
        """Names the version of the tool that a person approves a call of."""
        return canonical.digest(
            {
                "name": self.name,
                "description": self.description,
                "risk": self.risk.value,
                "parameters": self.parameters,
                "editable": sorted(self.editable),
            }
        )

    def destination(self, args: Mapping[str, Json]) -> str | None:
        """The host that a call with *args* goes to, empty where none can be read; None: it goes nowhere."""
        if self.egress is None:
            return None
        address = args.get(self.egress)
        if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
            return ""
        try:
            return urlsplit(address).hostname or ""
        except ValueError:
            return ""

    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description, parameters=deepcopy(self.parameters))


def find(tools: Mapping[str, Tool], name: str) -> Tool | None:
    """The tool of that name; of reads and drafts also the one that differs in case, blanks, ``-`` and ``_``.

    Nothing else is guessed: a call with effects must name its tool exactly (bad-inputs.md 5).
    """
    if (exact := tools.get(name)) is not None:
        return exact
    wanted = _folded(name)
    near = [tool for key, tool in tools.items() if _folded(key) == wanted]
    return near[0] if len(near) == 1 and near[0].pure else None


def _folded(name: str) -> str:
    # ASCII alone: letters of other scripts that look or fold alike name nothing.
    return name.strip().lower().replace("-", "_") if name.isascii() else name


# ── arguments ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True, slots=True)
class Cleaned:
    """Arguments fit to run. *dropped*, to audit: names the model gave that are the server's, sorted."""

    args: dict[str, Json]
    dropped: tuple[str, ...] = ()


def clean(tool: Tool, text: str) -> Cleaned:
    """The arguments in a model's *text*, checked, nothing filled in. Raises BadArguments (C1)."""
    given = arguments.parse(text)
    args = {name: value for name, value in given.items() if name not in tool.server_owned}
    _raise_if(schemas.problems(tool.parameters, args))
    return Cleaned(args=args, dropped=tuple(sorted(given.keys() & tool.server_owned)))


def patch(tool: Tool, args: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json]:
    """*args* with a person's *changes*, every digit as given. Raises BadArguments, by field."""
    wrong: dict[str, str] = {}
    for field, value in changes.items():
        if field not in tool.properties:
            wrong[shown(field)] = "is not an argument of this tool"
        elif field not in tool.editable:
            wrong[field] = "can't be changed; decline it and say what you want instead"
        elif (words := arguments.fault(value)) is not None:
            wrong[field] = f"can't be {words}"
    _raise_if(wrong)
    try:  # by way of text, as whatever is stored: a tuple is a list then, a float its digits
        patched = {**args, **canonical.load(canonical.dump(dict(changes)))}
    except canonical.NotJson as error:
        raise BadArguments({"": str(error)}) from None
    _raise_if(schemas.problems(tool.parameters, patched))
    return patched


def typed(tool: Tool, field: str, text: str) -> Json:
    """What a person means by typing *text* for *field*: a value of the type that the schema has there.

    Where it has several, the first that takes the text: null (no text), true or false, a number, a list or
    object, text. Raises BadArguments for the field.
    """
    if field not in tool.properties:
        raise BadArguments({shown(field): "is not an argument of this tool"})
    allowed = schemas.types(tool.parameters, field) or frozenset({"string"})
    misfit: dict[str, str] = {}
    unread: list[str] = []
    for reader, words in (reads for name, reads in _READERS.items() if name in allowed):
        try:
            value = reader(text)
        except ValueError as error:
            unread.append(f"{words} ({error})" if str(error) else words)
            continue
        found = schemas.problems(tool.parameters, {field: value})
        about = {at: said for at, said in found.items() if at.partition(".")[0] == field}
        if not about:
            return value
        misfit = misfit or about
    raise BadArguments(misfit or {field: f"must be {' or '.join(reversed(unread))}"})


def _null(text: str) -> None:
    if text.strip():
        raise ValueError


def _boolean(text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "yes", "false", "no"):
        raise ValueError
    return word in ("true", "yes")


def _number(text: str) -> int | Decimal:
    if not re.fullmatch(r"\s*-?[0-9][0-9.eE+-]*\s*", text, re.ASCII):
        raise ValueError
    value: int | Decimal = _json(text)
    return value


def _json(text: str) -> Json:
    try:
        return arguments.read(text)
    except BadArguments as error:
        words = error.problems[""]
        raise ValueError("" if words.startswith("not JSON") else words) from None


def _words(text: str) -> str:
    if (words := arguments.fault(text)) is not None:
        raise ValueError(f"not {words}")
    if len(text) > arguments.MAX_BYTES:
        raise ValueError(f"not longer than {arguments.MAX_BYTES:,} characters")
    return text


_READERS: Mapping[str, tuple[Callable[[str], Json], str]] = MappingProxyType(
    {
        "null": (_null, "left empty"),
        "boolean": (_boolean, "yes or no"),
        "integer": (_number, "a whole number"),
        "number": (_number, "a number"),
        "array": (_json, "a list, written as JSON"),
        "object": (_json, "an object, written as JSON"),
        "string": (_words, "text"),
    }
)
"""How a typed text is read for each type of JSON Schema, in the order they are tried."""


def _raise_if(problems: Mapping[str, str]) -> None:
    if problems:
        raise BadArguments(problems)


# ── running ──────────────────────────────────────────────────────────────────────────────────


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
_BY_NAME = frozenset({"socket.gaierror"})  # by name, since core imports no socket


async def run(tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock) -> ToolResult:
    """The one result of running *tool*: no exception of the handler gets out, only the caller's cancellation.

    A call of an effect is failed if `certain` says of its error that nothing went out, else unknown (C18,
    C19). What comes back from one is a success even where it can't be shown. A handler that is no coroutine
    runs in a thread, which goes on after a timeout; whatever it then returns is discarded (K15).
    """
    value: object = _NotYet
    try:
        async with clock.timeout(tool.timeout_seconds):
            value = await tool.handler(args, context)
        return ToolResult(outcome=Outcome.SUCCEEDED, result={"value": results.storable(value)})
    except asyncio.CancelledError:
        if _cancelled_from_outside():
            raise
        return _ended_badly(tool, RuntimeError("cancelled by itself"))
    except (Exception, SystemExit) as error:
        _log(tool, error)
        return _ended_badly(tool, error) if value is _NotYet else _unshowable(tool, error)


async def check(
    tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock
) -> str | NeedsConnect | None:
    """None if the tool's own check lets the call run now; else the words why not, or the account it wants.

    A check that breaks, is late, or answers anything but None or True does not let it run. The words are
    read as ours, so those of a tool that hears from outside are left out (I27).
    """
    if tool.check is None:
        return None
    said = await _asked(tool, tool.check, "checked", args, context, clock)
    if isinstance(said, NeedsConnect):
        return said
    if isinstance(said, _Said) and (said.value is None or said.value is True):
        return None
    words = said.value if isinstance(said, _Said) else said
    own = isinstance(words, str) and words and not tool.taints
    return shown(str(words), MAX_ERROR) if own else "its check says no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What a tool's precondition answers now; *problem*: why it can't be told, *needs*: for want of what."""

    value: Json = None
    problem: str | None = None
    needs: NeedsConnect | None = None


async def look(tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock) -> Seen:
    """What an approver of this call is to see of the world: its precondition; None where it has none.

    The model reads the problem as ours: of a tool that hears from outside, it has none of its words (I27).
    """
    if tool.precondition is None:
        return Seen()
    said = await _asked(tool, tool.precondition, "looked at", args, context, clock)
    if isinstance(said, NeedsConnect):
        return Seen(problem=str(said), needs=said)
    if isinstance(said, str):
        return Seen(problem="could not be looked at" if tool.taints else said)
    try:
        return Seen(value=results.storable(said.value))
    except canonical.NotJson as error:
        return Seen(problem="could not be looked at" if tool.taints else f"could not be looked at: {error}")


async def preview(tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock) -> Seen:
    """What a card is to show of what this call would do; None where its tool has no preview.

    One that breaks is said on the card: it decides nothing, so it keeps nobody from asking.
    """
    if tool.preview is None:
        return Seen()
    said = await _asked(tool, tool.preview, "previewed", args, context, clock)
    if isinstance(said, NeedsConnect):
        return Seen(problem=str(said), needs=said)
    if isinstance(said, str):
        return Seen(value=f"({said})")
    try:
        return Seen(value=results.storable(said.value))
    except canonical.NotJson as error:
        return Seen(value=f"(could not be previewed: {error})")


async def went_out(tool: Tool, args: Mapping[str, Json], context: ToolContext, clock: Clock) -> bool | None:
    """What the tool finds at the destination of an unknown call; None where it can't tell, or can't look."""
    if tool.reconcile is None:
        return None
    said = await _asked(tool, tool.reconcile, "looked up", args, context, clock)
    return said.value if isinstance(said, _Said) and isinstance(said.value, bool) else None


@dataclass(frozen=True, slots=True)
class _Said:
    value: object


async def _asked(
    tool: Tool, asked: Handler, done: str, args: Mapping[str, Json], context: ToolContext, clock: Clock
) -> "_Said | NeedsConnect | str":
    """What the tool's own function *asked* answers, the account it wants, or the words why it does not."""
    try:
        async with clock.timeout(tool.timeout_seconds):
            return _Said(await asked(args, context))
    except asyncio.CancelledError:
        if _cancelled_from_outside():
            raise
        return f"could not be {done}: cancelled by itself"
    except NeedsConnect as error:
        return _wanted(error)
    except ToolFailed as error:
        return _error_words(tool, error)
    except (Exception, SystemExit) as error:
        _log(tool, error)
        return f"could not be {done}: {_error_words(tool, error)}"


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


def _ended_badly(tool: Tool, error: BaseException) -> ToolResult:
    words = _error_words(tool, error)
    needs = _wanted(error) if isinstance(error, NeedsConnect) else None
    if tool.pure or certain(error):
        return ToolResult(outcome=Outcome.FAILED, result={"error": words}, needs=needs)
    return ToolResult(outcome=Outcome.UNKNOWN, result={"error": f"{words}; {MAY_HAVE_GONE_OUT}"})


def _unshowable(tool: Tool, error: BaseException) -> ToolResult:
    """The handler returned, and what it returned can't be kept: an effect has happened all the same."""
    words = f"its result could not be shown: {_error_words(tool, error)}"
    if tool.pure:
        return ToolResult(outcome=Outcome.FAILED, result={"error": words})
    return ToolResult(outcome=Outcome.SUCCEEDED, result={"value": f"it was done, but {words}"})


def _error_words(tool: Tool, error: BaseException) -> str:
    """For the model: the author's own words, or the type and message; never a traceback (I38)."""
    try:
        said = str(error)
    except Exception:  # an error whose own words fail must still become a result
        said = ""
    if said and isinstance(error, (ToolFailed, NeedsConnect, canonical.NotJson)):
        return shown(said, MAX_ERROR)
    if isinstance(error, TimeoutError) and not said and tool.timeout_seconds is not None:
        return f"no answer within {tool.timeout_seconds:g} s"
    name = type(error).__name__
    return shown(f"{name}: {said}" if said else name, MAX_ERROR)


def _wanted(error: NeedsConnect) -> NeedsConnect:
    """*error* as it can be kept, shown and told, whatever its tool put into it.

    The model reads the account's name as ours, so it can't begin a note of its own (I27). An address that
    would have to be changed is none: what is left of it leads somewhere else.
    """
    account, url = getattr(error, "account", None), getattr(error, "url", None)
    name = line(account, MAX_ACCOUNT).translate(_ROUND).strip() if isinstance(account, str) else ""
    whole = isinstance(url, str) and len(url) <= MAX_URL and visible(url) == url
    kept = NeedsConnect(name or "the account", url if whole else None)
    return error if (type(error), account, url) == (NeedsConnect, kept.account, kept.url) else kept


def _log(tool: Tool, error: BaseException) -> None:
    # Its message may hold what the handler was given: only somebody who debugs sees that.
    level = logging.INFO if isinstance(error, (ToolFailed, NeedsConnect)) else logging.WARNING
    logger.log(level, "tool %s raised %s", tool.name, type(error).__name__)
    logger.debug("tool %s", tool.name, exc_info=error)


def _cancelled_from_outside() -> bool:
    """Whether somebody cancelled the task that runs, rather than the handler something of its own."""
    current = asyncio.current_task()
    return current is None or current.cancelling() > 0


# ── declaring ────────────────────────────────────────────────────────────────────────────────


def tool(
    *,
    risk: Risk | str,
    name: str | None = None,
    description: str | None = None,
    schema: Json = None,
    editable: frozenset[str] | set[str] | None = None,
    check: Callable[..., object] | None = None,
    precondition: Callable[..., object] | None = None,
    reconcile: Callable[..., object] | None = None,
    preview: Callable[..., object] | None = None,
    sent_key: Callable[..., object] | None = None,
    concurrent: bool = True,
    egress: str | None = None,
    timeout: float | None = TIMEOUT_SECONDS,
    taints: bool = False,
    parks_as: ParksAs | None = None,
) -> Callable[[Callable[..., object]], Tool]:
    """The function becomes a Tool: its parameters the arguments, its docstring's first paragraph the words.

    Its annotations give the schema, unless *schema* does. A parameter of type ToolContext and those named in
    `SERVER_OWNED` are filled in by the server. *check*, *precondition*, *reconcile*, *preview* and *sent_key*
    are functions of any of the same parameters. All may be coroutines or plain functions, but for *sent_key*,
    which is a plain one of the arguments alone. Raises ToolError.
    """

    def declare(function: Callable[..., object]) -> Tool:
        named = str(name or getattr(function, "__name__", type(function).__name__))
        try:
            taken = parameters(function)
            mine = tuple(p for p in taken if not _from_server(p))
            made = schema_of(mine) if schema is None else schema
            if schema is not None:
                schemas.check_schema(schema)
                _refuse_mismatch(mine, schema)
            return Tool(
                name=named,
                description=description or _first_paragraph(function) or named.replace("_", " "),
                risk=_risk(risk),
                parameters=made,
                handler=_handler(function, taken),
                editable=EVERY if editable is None else frozenset(editable),
                check=None if check is None else _checker(check, taken),
                precondition=None if precondition is None else _checker(precondition, taken),
                reconcile=None if reconcile is None else _checker(reconcile, taken),
                preview=None if preview is None else _checker(preview, taken),
                sent_key=None if sent_key is None else _key(sent_key, mine),
                concurrent=concurrent,
                egress=egress,
                timeout_seconds=timeout,
                taints=taints,
                parks_as=parks_as,
            )
        except ToolError as error:
            words = str(error)
            raise ToolError(words if words.startswith(f"{named}: ") else f"{named}: {words}") from None

    return declare


def finish(schema: Json) -> Tool:
    """The tool by which a task ends with a result that fits *schema*, extra properties as *schema* has it."""
    return _finish(canonical.dump(schema))


@lru_cache(maxsize=256)
def _finish(text: str) -> Tool:
    """Made once a schema, since each step of a run asks for the tools of its task."""
    schema = canonical.load(text)

    async def handler(args: Mapping[str, Json], context: ToolContext) -> Json:
        return dict(args)

    is_open = isinstance(schema, dict) and schemas.closed(schema) is not schema
    return Tool(
        name="finish",
        description="Finish the task, with this as its result.",
        risk=Risk.READ,  # nobody outside sees it: practice and tasks that only look must end as well
        parameters={**schema, "additionalProperties": True} if is_open else schema,
        handler=handler,
        server_owned=frozenset(),  # a result is words about the world, whatever its fields are called
    )


def _risk(risk: Risk | str) -> Risk:
    try:
        return Risk(risk)
    except ValueError:
        raise ToolError(f"{shown(str(risk), 60)} is not a risk; known are {', '.join(Risk)}") from None


def _from_server(parameter: Parameter) -> bool:
    return parameter.annotation is ToolContext or parameter.name in SERVER_OWNED


def _handler(function: Callable[..., object], taken: tuple[Parameter, ...]) -> Handler:
    """Calls *function* by keyword with what it declares, off the event loop if it is a plain one."""

    async def handler(args: Mapping[str, Json], context: ToolContext) -> object:
        own = {p.name: context for p in taken if p.annotation is ToolContext}
        keywords = bound(taken, {**args, **context.server_owned(), **own})
        _fit(function, keywords)
        return await called(function, **keywords)

    return handler


async def called(function: Callable[P, object], *args: P.args, **keywords: P.kwargs) -> object:
    """What *function*, a coroutine or a plain function, answers; a plain one runs off the event loop."""
    is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # an object with an async __call__
    )
    if is_coroutine:
        said = function(*args, **keywords)
    else:
        said = await asyncio.to_thread(_caught, partial(function, *args, **keywords))
        if isinstance(said, _Raised):
            raise said.error
    return await said if inspect.isawaitable(said) else said


def _fit(function: Callable[..., object], keywords: Mapping[str, Any]) -> None:
    """Raises ToolFailed where *function* can't be called so: then nothing of it has run."""
    try:
        inspect.signature(function).bind(**keywords)
    except TypeError as wrong:
        raise ToolFailed(f"TypeError: {wrong}", sent=False) from wrong


@dataclass(frozen=True, slots=True)
class _Raised:
    error: BaseException


def _caught(function: Callable[[], object]) -> object:
    """An error comes back as a value: a StopIteration put on a future would never wake who awaits it."""
    try:
        return function()
    except (Exception, SystemExit) as error:
        return _Raised(error)


def _checker(function: Callable[..., object], taken: tuple[Parameter, ...]) -> Handler:
    wanted = parameters(function)
    known = {p.name for p in taken} | SERVER_OWNED
    for p in wanted:
        if p.name not in known and p.annotation is not ToolContext and p.required:
            raise ToolError(f"its check takes {p.name}, which the tool does not")
    return _handler(function, wanted)


def _key(function: Callable[..., object], mine: tuple[Parameter, ...]) -> Callable[..., object]:
    """Calls *function* with the arguments it takes of those the model gives."""
    wanted = parameters(function)
    if inspect.iscoroutinefunction(function):
        raise ToolError("its sent_key must be a plain function")
    if strange := {p.name for p in wanted if p.required} - {p.name for p in mine}:
        raise ToolError(f"its sent_key takes {', '.join(sorted(strange))}, which the model does not give")

    def key(args: Mapping[str, Json]) -> object:
        return function(**bound(wanted, args))

    return key


def _refuse_mismatch(mine: tuple[Parameter, ...], schema: Mapping[str, Json]) -> None:
    """Every argument the schema lets through can be passed, and every one that must be is there."""
    names = schema.get("properties", {}).keys()
    if schema.get("additionalProperties") or "patternProperties" in schema:
        raise ToolError("its schema takes other properties than it lists, which the function can't")
    if strange := names - {p.name for p in mine} - SERVER_OWNED:
        raise ToolError(f"its schema has {', '.join(sorted(strange))}, which the function does not take")
    for p in mine:
        if p.required and (p.name not in names or p.name not in schema.get("required", ())):
            raise ToolError(f"the function needs {p.name}, which its schema does not require")


def _first_paragraph(function: Callable[..., object]) -> str:
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0] if inspect.isroutine(function) else ""
    return " ".join(paragraph.split())
