"""What a plain Python function takes: its parameters as a JSON Schema, and arguments as it wants them.

Closed on purpose: an annotation that is not in the table is refused where the function is declared, rather
than guessed at when a model calls it. Knows nothing of tools, risks and servers.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from core.errors import ToolError
from core.tasks import Json

_NONE = type(None)
_SIMPLE: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "number",
    _NONE: "null",
    list: "array",
    tuple: "array",
    dict: "object",
}
_SETS: Final = (set, frozenset)
_SEQUENCES: Final = (list, tuple, *_SETS)
_UNIONS: Final = (typing.Union, types.UnionType)
_HASHED: Final = frozenset({"string", "integer", "number", "boolean"})
"""What a set may hold."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One parameter of a function, all of which are passed by keyword."""

    name: str
    annotation: Any  # resolved; None where there is none
    required: bool
    default: Any = None


def parameters(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """The parameters of *function*, in order. Raises ToolError for one that has no name to pass it by."""
    name = getattr(function, "__name__", type(function).__name__)
    hinted = function if inspect.isroutine(function) else getattr(function, "func", type(function).__call__)
    try:
        hints = typing.get_type_hints(hinted, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise ToolError(f"{name}: its annotations can't be read: {error}") from error
    made = []
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ToolError(f"{name}: the parameter {parameter.name} can't be passed by its name")
        required = parameter.default is parameter.empty
        made.append(
            Parameter(
                name=parameter.name,
                annotation=hints.get(parameter.name),
                required=required,
                default=None if required else parameter.default,
            )
        )
    return tuple(made)


def schema_of(taken: tuple[Parameter, ...]) -> dict[str, Json]:
    """The schema of an object with a property for each of *taken*. Raises ToolError, naming the parameter."""
    properties: dict[str, Json] = {}
    for parameter in taken:
        if (made := _schema(parameter.annotation)) is None:
            raise ToolError(
                f"the parameter {parameter.name}: {_named(parameter.annotation)}; known are str, int, float, "
                "Decimal, bool, list, tuple, set, dict, Literal, dataclasses and unions of these"
            )
        if not parameter.required and isinstance(parameter.default, (str, bool, int, float)):
            made["default"] = parameter.default
        properties[parameter.name] = made
    required = [parameter.name for parameter in taken if parameter.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def fitted(value: Json, annotation: Any) -> Any:
    """*value*, which fits the annotation's schema, as *annotation* has it, where that loses no digit.

    A whole number becomes the int, float or Decimal asked for; a Decimal becomes a float only if the float
    says the same digits; lists become tuples and sets, objects dataclasses. Of a union the first branch
    that takes the value.
    """
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return fitted(value, inner[0])
    if origin in _UNIONS:
        branch = next((one for one in inner if _takes(value, one)), None)
        return value if branch is None else fitted(value, branch)
    if isinstance(value, list):
        return _sequence(value, origin or annotation, inner)
    if isinstance(value, dict):
        return _object(value, annotation, origin, inner)
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return _number(value, annotation)
    return value


def _sequence(value: list[Json], kind: Any, inner: tuple[Any, ...]) -> Any:
    if kind not in _SEQUENCES:
        return value
    each = _each(value, kind, inner)
    return kind(fitted(one, annotation) for one, annotation in zip(value, each, strict=False))


def _each(value: list[Json], kind: Any, inner: tuple[Any, ...]) -> tuple[Any, ...]:
    """The annotation of each item."""
    if kind is tuple and inner and inner[-1] is not Ellipsis:
        return inner
    return (inner[0] if inner else None,) * len(value)


def _object(value: dict[str, Json], annotation: Any, origin: Any, inner: tuple[Any, ...]) -> Any:
    if origin is dict:
        return {name: fitted(one, inner[1]) for name, one in value.items()}
    if not _is_made_of_fields(annotation):
        return value
    taken = {name: fitted(value[name], kind) for name, kind in _hints(annotation).items() if name in value}
    return annotation(**taken)


def _takes(value: Json, annotation: Any) -> bool:
    """Whether *value* is one of the annotation's, of a union that it fits somewhere."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _takes(value, inner[0])
    if origin is typing.Literal:
        return any(value == one and type(value) is type(one) for one in inner)
    if origin in _UNIONS:
        return any(_takes(value, one) for one in inner)
    if isinstance(value, list):
        kind = origin or annotation
        each = _each(value, kind, inner)
        fits = kind in _SEQUENCES and (not inner or len(each) == len(value))
        return fits and all(_takes(one, k) for one, k in zip(value, each, strict=False) if k is not None)
    if isinstance(value, dict):
        return _takes_object(value, annotation, origin, inner)
    return _takes_simple(value, annotation)


def _takes_object(value: dict[str, Json], annotation: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    if _is_made_of_fields(annotation):
        hints = _hints(annotation)
        whole = value.keys() <= hints.keys() and _required(annotation) <= value.keys()
        return whole and all(_takes(one, hints[name]) for name, one in value.items())
    return annotation is dict or (origin is dict and all(_takes(one, inner[1]) for one in value.values()))


def _takes_simple(value: Json, annotation: Any) -> bool:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return annotation is (_NONE if value is None else type(value))
    return annotation in (float, Decimal) or (annotation is int and value == int(value))


def _number(value: int | Decimal, annotation: Any) -> int | Decimal | float:
    if annotation is Decimal:
        return Decimal(value)
    if annotation is int and value == int(value):
        return int(value)
    if annotation is float:
        try:
            near = float(value)
        except OverflowError:
            return value
        return near if Decimal(repr(near)) == value else value
    return value


def _schema(annotation: Any, within: tuple[Any, ...] = ()) -> dict[str, Json] | None:
    """None for what is not in the table. *within*: the dataclasses it stands in, none of which it may be."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        return _plain(annotation, within)
    if origin is typing.Annotated:
        return _described(inner[0], inner[1:], within)
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin in _UNIONS:
        return _union(inner, within)
    if origin in _SEQUENCES:
        return _array(origin, inner, within)
    if origin is dict and inner[0] is str and (values := _schema(inner[1], within)) is not None:
        return {"type": "object", "additionalProperties": values}
    return None


def _plain(annotation: Any, within: tuple[Any, ...]) -> dict[str, Json] | None:
    if not isinstance(annotation, type):
        return None
    if annotation in _SETS:
        return {"type": "array", "uniqueItems": True}
    if _is_made_of_fields(annotation):
        return None if annotation in within else _fields(annotation, (*within, annotation))
    name = _SIMPLE.get(annotation)
    return None if name is None else {"type": name}


def _array(kind: Any, inner: tuple[Any, ...], within: tuple[Any, ...]) -> dict[str, Json] | None:
    fixed = kind is tuple and inner[-1:] != (Ellipsis,)
    items = [_schema(one, within) for one in (inner if fixed else inner[:1])]
    known = [one for one in items if one is not None]
    if len(known) < len(items):
        return None
    if fixed:
        exactly = {"minItems": len(known), "maxItems": len(known)}
        return {"type": "array", **({"prefixItems": known} if known else {}), **exactly}
    if kind not in _SETS:
        return {"type": "array", "items": known[0]}
    hashed = known[0].get("type") in _HASHED or "enum" in known[0]
    return {"type": "array", "items": known[0], "uniqueItems": True} if hashed else None


def _fields(made_of: type, within: tuple[Any, ...]) -> dict[str, Json] | None:
    properties = {name: _schema(kind, within) for name, kind in _hints(made_of).items()}
    if any(one is None for one in properties.values()):
        return None
    required = sorted(_required(made_of))
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _is_made_of_fields(annotation: Any) -> bool:
    return isinstance(annotation, type) and dataclasses.is_dataclass(annotation)


def _hints(made_of: Any) -> dict[str, Any]:
    """The annotations of a dataclass's fields that it is made with."""
    hints = typing.get_type_hints(made_of, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(made_of) if field.init}


def _required(made_of: Any) -> set[str]:
    none = dataclasses.MISSING
    fields = dataclasses.fields(made_of)
    return {f.name for f in fields if f.init and f.default is none and f.default_factory is none}


def _described(annotation: Any, metadata: tuple[Any, ...], within: tuple[Any, ...]) -> dict[str, Json] | None:
    made = _schema(annotation, within)
    words = next((one for one in metadata if isinstance(one, str)), None)
    return made if made is None or words is None else {**made, "description": words}


def _union(branches: tuple[Any, ...], within: tuple[Any, ...]) -> dict[str, Json] | None:
    made = [_schema(branch, within) for branch in branches]
    known = [one for one in made if one is not None]
    if len(known) < len(made):
        return None
    if all(one.keys() == {"type"} for one in known):
        return {"type": list(dict.fromkeys(one["type"] for one in known))}
    return {"anyOf": known}


def _named(annotation: Any) -> str:
    if annotation is None:
        return "it has no annotation"
    return f"{getattr(annotation, '__name__', None) or annotation} is not a type that has a schema"


def bound(taken: tuple[Parameter, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments out of *values* that the function declares, as its annotations have them."""
    return {p.name: fitted(values[p.name], p.annotation) for p in taken if p.name in values}
