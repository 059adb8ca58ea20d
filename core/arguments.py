"""A model's arguments, read strictly: what is read is what was written, and can be stored, shown and hashed.

Python's reader takes NaN, repeated names, half characters and any depth; what it would let pass here would
fail, or mean something else, further in (bad-inputs.md 1-2 and 12-18). Knows nothing of tools and schemas.
"""

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import NoReturn

from core.canonical import MAX_DEPTH
from core.errors import BadArguments
from core.tasks import Json

MAX_BYTES = 1024 * 1024
"""Of UTF-8 text: what one input may cost (testing.md, L13)."""

MAX_DIGITS = 1_000
"""Of one number; Python itself refuses to read whole numbers past 4,300."""

MAX_EXPONENT = 308
"""Beyond it a float would be infinite or nothing, and written out the number would fill memory."""

MAX_VALUES = 10_000
"""Names, texts, numbers, lists and objects together: checking each against a schema takes microseconds."""

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_TOO_LONG = 10**MAX_DIGITS
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _Refused(Exception):
    """What is wrong, in words."""


def parse(text: str) -> dict[str, Json]:
    """The arguments that *text* says: whole numbers as int, others as Decimal with the digits written.

    No text at all is no arguments: models send that for tools that take none. Raises BadArguments, about
    the arguments as a whole.
    """
    if not text.strip():
        return {}
    value = read(text)
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.lstrip().startswith("{"):
        raise BadArguments({"": "the arguments must be a JSON object, not a text with JSON in it"})
    raise BadArguments({"": f"the arguments must be a JSON object, not {kind(value)}"})


def read(text: str) -> Json:
    """The one JSON value that *text* says, as strictly as `parse`. Raises BadArguments, about the whole."""
    if len(text) > MAX_BYTES or len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise BadArguments({"": f"longer than {MAX_BYTES:,} bytes"})
    try:
        if nested_too_deep(text):
            raise _Refused(f"nested deeper than {MAX_DEPTH}")
        value = json.loads(
            text,
            parse_int=_whole,
            parse_float=_exact,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        raise BadArguments({"": f"not JSON: {shown(error.msg)} (character {error.pos})"}) from None
    except _Refused as error:
        raise BadArguments({"": str(error)}) from None
    if (words := fault(value)) is not None:
        raise BadArguments({"": words})
    return value


def nested_too_deep(text: str) -> bool:
    """Whether JSON *text* opens more brackets within each other than are read.

    Asked before the reader, which would go one Python call deeper with every bracket.
    """
    depth = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif first in "]}":
            depth -= 1
    return False


def fault(value: Json) -> str | None:
    """Why *value*, a JSON value from anywhere, can't be kept as it is; None if it can."""
    for count, one in enumerate(_walk(value), start=1):
        if count > MAX_VALUES:
            return f"more than {MAX_VALUES:,} values"
        if isinstance(one, str) and (found := _UNSTORABLE.search(one)):
            return "a text with a NUL character" if found[0] == "\0" else "a text with half a character"
        if isinstance(one, int) and abs(one) >= _TOO_LONG:
            return f"a number of more than {MAX_DIGITS:,} digits"
    return None


def kind(value: Json) -> str:
    """What *value* is, as a sentence says it: text, a number, …"""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return "text"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return "a number"


def shown(text: str, limit: int = 200) -> str:
    """*text* on one line, what can't be seen escaped, cut to *limit* characters."""
    part = text[: limit + 1]  # first, so that a huge text costs nothing
    seen = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in part)
    return seen if len(seen) <= limit else f"{seen[: limit - 1]}…"


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_DIGITS:
        raise _Refused(f"a number of more than {MAX_DIGITS:,} digits")
    return int(digits)


def _exact(digits: str) -> Decimal:
    mantissa, _, _ = digits.lower().partition("e")
    if len(mantissa.lstrip("-").replace(".", "")) > MAX_DIGITS:
        raise _Refused(f"a number of more than {MAX_DIGITS:,} digits")
    try:
        number = Decimal(digits)
    except InvalidOperation:  # an exponent past Decimal's own
        raise _Refused(f"a number out of range: {shown(digits, 40)}") from None
    if abs(number.adjusted()) > MAX_EXPONENT or math.isinf(float(number)):
        raise _Refused(f"a number out of range: {shown(digits, 40)}")
    return number


def _constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not a number JSON can say")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _Refused(f"the name {shown(name, 60)} is there twice")
            seen.add(name)
    return made


def _walk(value: Json) -> Iterator[Json]:
    """*value* and all it holds, names included."""
    todo = [value]
    while todo:
        one = todo.pop()
        yield one
        if isinstance(one, dict):
            todo.extend(one)
            todo.extend(one.values())
        elif isinstance(one, (list, tuple)):
            todo.extend(one)
