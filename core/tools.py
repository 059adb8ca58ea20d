"""Tools: what an agent may call, how one is declared, and how its arguments are checked.

A tool's handler is a plain function of somebody's app; running.py runs it. Knows nothing of rows, chats and
the gate's table.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, ParamSpec, TypeAlias
from urllib.parse import urlsplit

from core import arguments, canonical, schemas
from core.arguments import shown
from core.calls import MODEL_PURE_RISKS, ParksAs
from core.caught import called
from core.errors import BadArguments, ToolError, ToolFailed
from core.gate import Risk
from core.ids import CallId, OrgId, PersonId, TaskId
from core.model import ToolSpec
from core.signatures import Parameter, bound, parameters, schema_of
from core.tasks import Json

P = ParamSpec("P")

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", re.ASCII)
"""What every model service takes as a tool's name."""

_ADDRESS = re.compile(r"https?://[!-\[\]-~]+", re.ASCII)
"""What every reader of addresses takes alike: no blank and no backslash, nothing but ASCII."""

TIMEOUT_SECONDS = 60.0
"""Longer than an ordinary HTTP client waits, shorter than a person who watches."""

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
        if not (about := misfits(tool, field, value)):
            return value
        misfit = misfit or about
    raise BadArguments(misfit or {field: f"must be {' or '.join(reversed(unread))}"})


def misfits(tool: Tool, field: str, value: Json) -> dict[str, str]:
    """What is wrong with *value* as *field*, whatever the other arguments are, by place within it."""
    found = schemas.problems(tool.parameters, {field: value})
    return {at: said for at, said in found.items() if at.partition(".")[0] == field}


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


def _fit(function: Callable[..., object], keywords: Mapping[str, Any]) -> None:
    """Raises ToolFailed where *function* can't be called so: then nothing of it has run."""
    try:
        inspect.signature(function).bind(**keywords)
    except TypeError as wrong:
        raise ToolFailed(f"TypeError: {wrong}", sent=False) from wrong


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
