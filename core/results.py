"""What a tool's handler returned, as JSON that a row can hold and a model can read."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum

from core import canonical
from core.tasks import Json

MAX_BYTES = 1024 * 1024
"""Of JSON text; what one result may cost to store, and to load again with every round."""


def storable(value: object) -> Json:
    """*value* as JSON: dataclasses become objects, sets sorted lists, floats the Decimal of their digits.

    Half characters and NUL, which rows can't hold, are written out. Raises NotJson for what JSON can't say,
    and for more than `MAX_BYTES`.
    """
    made = _plain(value, depth=1)  # the one is for {"value": …}
    size = len(canonical.dump(made).encode())
    if size > MAX_BYTES:
        raise canonical.NotJson(f"{size:,} bytes, more than {MAX_BYTES:,}")
    return made


def _plain(value: object, depth: int) -> Json:
    match value:
        case None | bool() | Decimal():
            return value
        case Enum():
            return _plain(value.value, depth)
        case str():
            return _text(value)
        case int():
            return int(value)
        case float():
            return Decimal(float.__repr__(value))
    if depth > canonical.MAX_DEPTH:
        raise canonical.NotJson(f"nested deeper than {canonical.MAX_DEPTH}")
    return _container(value, depth + 1)


def _container(value: object, depth: int) -> Json:
    match value:
        case Mapping():
            return {_key(name): _plain(one, depth) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one, depth) for one in value]
        case set() | frozenset():
            return sorted((_plain(one, depth) for one in value), key=canonical.canonical)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: _plain(getattr(value, field.name), depth) for field in fields(value)}
    raise canonical.NotJson(f"a {type(value).__name__} is not JSON")


def _key(name: object) -> str:
    if isinstance(name, str):
        return _text(name)
    if isinstance(name, int) and not isinstance(name, bool):
        return str(name)
    raise canonical.NotJson(f"a key must be text, not {type(name).__name__}")


def _text(value: str) -> str:
    return value.encode(errors="backslashreplace").decode().replace("\0", "\\u0000")
