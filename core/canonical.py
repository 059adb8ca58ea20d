"""JSON that keeps every digit: how values are written to rows, and how they are hashed.

Numbers a model or a person wrote are int or Decimal, never float, so that what is shown, hashed
and run is what was written (bad-inputs.md 20).
"""

import hashlib
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from core.tasks import Json

MAX_DEPTH = 64
"""Nesting that is still written or read; far above any real argument, far below Python's stack."""


_quoted: Callable[[str], str] = json.JSONEncoder(ensure_ascii=False).encode
"""Made once: json.dumps makes an encoder for each text, and every hash and row is many texts."""


class NotJson(ValueError):
    """A value that JSON can't say, or text that is not strict JSON."""


def dump(value: Json) -> str:
    """*value* as compact JSON text, keys in their order, every digit kept. Raises NotJson."""
    return _write(value, number=_digits, sort=False, depth=0)


def canonical(value: Json) -> str:
    """The one text all equal values share: keys sorted, 24.00, 24.0 and 24 alike. Raises NotJson."""
    return _write(value, number=_plain, sort=True, depth=0)


def digest(value: Json) -> str:
    """SHA-256 of the canonical text, in hex."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def load(text: str) -> Json:
    """What *text* says, numbers with a point or an exponent as Decimal. For text that we wrote."""
    return json.loads(text, parse_float=Decimal)


def _write(value: Json, *, number: Callable[[Any], str], sort: bool, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise NotJson(f"nested deeper than {MAX_DEPTH}")
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float, Decimal)):
        return number(value)
    if isinstance(value, dict):
        items = sorted(value.items()) if sort else value.items()
        inner = (f"{_key(k)}:{_write(v, number=number, sort=sort, depth=depth + 1)}" for k, v in items)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_write(v, number=number, sort=sort, depth=depth + 1) for v in value) + "]"
    raise NotJson(f"a {type(value).__name__} is not JSON")


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJson("text with half a character (a lone surrogate)") from None
    return _quoted(value)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise NotJson(f"a key must be text, not {type(key).__name__}")
    return _text(key)


def _digits(value: int | float | Decimal) -> str:
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise NotJson(f"{value} is not a number JSON can say")
        return str(value).lower()
    if not math.isfinite(value):
        raise NotJson(f"{value} is not a number JSON can say")
    return repr(value)


def _plain(value: int | float | Decimal) -> str:
    """The shortest digits of the same number: 2.50e1 → 25."""
    exact = Decimal(_digits(value))
    if exact == 0:
        return "0"
    sign, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    exponent += len(text) - len(bare)
    return f"{'-' if sign else ''}{bare}" + (f"e{exponent}" if exponent else "")
