"""What a plain Python function takes: its parameters as a JSON Schema, and arguments as it wants them.

Closed on purpose: an annotation that is not in the table is refused where the function is declared, rather
than guessed at when a model calls it. Knows nothing of tools, risks and servers.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

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
    dict: "object",
}


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
                "Decimal, bool, list, dict, Literal and unions of these"
            )
        if not parameter.required and isinstance(parameter.default, (str, bool, int, float)):
            made["default"] = parameter.default
        properties[parameter.name] = made
    required = [parameter.name for parameter in taken if parameter.required]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def fitted(value: Json, annotation: Any) -> Any:
    """*value* as *annotation* has it, where that loses no digit; else as it is.

    A whole number becomes the int, float or Decimal asked for; a Decimal becomes a float only if the
    float says the same digits.
    """
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return fitted(value, inner[0])
    if origin in (typing.Union, types.UnionType):
        tried = (fitted(value, one) for one in inner)
        return next((one for one in tried if type(one) is not type(value)), value)
    if isinstance(value, list) and origin is list:
        return [fitted(one, inner[0]) for one in value]
    if isinstance(value, dict) and origin is dict:
        return {name: fitted(one, inner[1]) for name, one in value.items()}
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return _number(value, annotation)
    return value


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


def _schema(annotation: Any) -> dict[str, Json] | None:
    """None for what is not in the table."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is None:
        name = _SIMPLE.get(annotation) if isinstance(annotation, type) else None
        return None if name is None else {"type": name}
    if origin is typing.Annotated:
        return _described(inner[0], inner[1:])
    if origin is typing.Literal:
        return {"enum": list(inner)}
    if origin in (typing.Union, types.UnionType):
        return _union(inner)
    if origin is list and (items := _schema(inner[0])) is not None:
        return {"type": "array", "items": items}
    if origin is dict and inner[0] is str and (values := _schema(inner[1])) is not None:
        return {"type": "object", "additionalProperties": values}
    return None


def _described(annotation: Any, metadata: tuple[Any, ...]) -> dict[str, Json] | None:
    made = _schema(annotation)
    words = next((one for one in metadata if isinstance(one, str)), None)
    return made if made is None or words is None else {**made, "description": words}


def _union(branches: tuple[Any, ...]) -> dict[str, Json] | None:
    made = [_schema(branch) for branch in branches]
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
