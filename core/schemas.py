"""JSON Schema as Gatepost takes it: draft 2020-12, strict types, refusals in words for people and models.

The checking is the jsonschema library's; what is ours is what it leaves open: exact numbers, formats that are
really checked, unknown keywords and foreign references refused, and the sentences. Knows nothing of tools.

A `pattern` is checked by Python's `re`, on texts of bounded length. Its author is trusted with the time it
takes, until patterns are RE2.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing import Registry

from core import canonical
from core.arguments import kind, shown
from core.errors import ToolError
from core.tasks import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"

MAX_PROBLEMS = 20
"""More than anybody mends in one go."""

MAX_PATTERN_TEXT = 10_000
"""Characters a `pattern` is tried on: the time of an ordinary one may grow with their square."""

MAX_REFERENCES = 20_000
"""Followed for one value. A schema that leads back to itself in two ways doubles its work with each level."""

MAX_SHOWN = 200
"""Characters of one value in a sentence."""

_ONE = frozenset(
    "items contains unevaluatedItems additionalProperties unevaluatedProperties propertyNames "
    "not if then else".split()
)
_SEVERAL = frozenset("allOf anyOf oneOf prefixItems".split())
_NAMED = frozenset("properties patternProperties dependentSchemas $defs".split())
_SAME_VALUE = frozenset("allOf anyOf oneOf not if then else dependentSchemas".split())
_PLAIN = frozenset(
    "$ref $comment title description default examples deprecated readOnly writeOnly type enum const "
    "multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength pattern format "
    "minItems maxItems uniqueItems minContains maxContains minProperties maxProperties required "
    "dependentRequired".split()
)
_AT_ROOT = frozenset(("$schema", "$id"))
_KNOWN = _ONE | _SEVERAL | _NAMED | _PLAIN

Place = tuple[str, ...]


# ── the declaration ──────────────────────────────────────────────────────────────────────────


def check_schema(schema: Json) -> None:
    """*schema* can be checked against, by itself. Raises ToolError with the place and what is wrong."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ToolError("the schema must be a JSON Schema whose root has type object")
    try:
        root = canonical.load(canonical.dump(schema))
    except canonical.NotJson as error:
        raise ToolError(f"the schema is not JSON: {error}") from None
    # The dialect's own schema holds only references that the library brings along.
    for wrong in _Strict(Draft202012Validator.META_SCHEMA).iter_errors(root):
        where = "/".join(map(str, wrong.absolute_path))
        raise ToolError(f"the schema at /{where}: {shown(wrong.message)}")
    places = dict(_places(root, ()))
    for place, part in places.items():
        for words in _faults(place, part, places):
            raise ToolError(f"the schema at /{'/'.join(place)}: {words}")
    _refuse_loops(places)


def closed(schema: dict[str, Json]) -> dict[str, Json]:
    """*schema*, taking no properties but its own, unless it says which others it takes."""
    if "additionalProperties" in schema or "unevaluatedProperties" in schema:
        return schema
    combined = not schema.keys().isdisjoint({"$ref", *_SAME_VALUE})
    return {**schema, "unevaluatedProperties" if combined else "additionalProperties": False}


def _places(part: Json, place: Place) -> Iterator[tuple[Place, Json]]:
    """Every schema within *part*, itself first, by its path."""
    yield place, part
    if isinstance(part, dict):
        for key, inner in _parts(part):
            yield from _places(inner, (*place, *key))


def _parts(part: dict[str, Json]) -> Iterator[tuple[Place, Json]]:
    for keyword, value in part.items():
        if keyword in _ONE:
            yield (keyword,), value
        elif keyword in _SEVERAL:
            for n, inner in enumerate(value):
                yield (keyword, str(n)), inner
        elif keyword in _NAMED:
            for name, inner in value.items():
                yield (keyword, name), inner


def _faults(place: Place, part: Json, places: Mapping[Place, Json]) -> Iterator[str]:
    if not isinstance(part, dict):
        return
    for keyword in part:
        if keyword not in _KNOWN and (place or keyword not in _AT_ROOT):
            yield f"{shown(keyword, 60)} is not a keyword that is known here"
    if part.get("$schema", DIALECT).rstrip("#") != DIALECT:
        yield "only draft 2020-12 is known"
    if "$ref" in part and _target(part["$ref"]) not in places:
        yield f"the reference {shown(part['$ref'], 80)} does not lead to a schema within this one"
    if part.get("format", "date") not in _FORMATS:
        known = ", ".join(sorted(_FORMATS))
        yield f"the format {shown(part['format'], 60)} is not one that is checked ({known})"
    if "pattern" in part:
        try:
            _compiled(part["pattern"])
        except re.error as error:
            yield f"the pattern is not a regular expression: {error}"


def _target(ref: str) -> Place | None:
    """The place that a reference within the same schema names; None for any other reference."""
    if ref == "#":
        return ()
    if not ref.startswith("#/"):
        return None
    return tuple(
        unquote(step).replace("~1", "/").replace("~0", "~") for step in ref.removeprefix("#/").split("/")
    )


def _refuse_loops(places: Mapping[Place, Json]) -> None:
    """No schema leads back to itself without going into the value: checking it would never end."""
    clear: set[Place] = set()

    def follow(place: Place, above: tuple[Place, ...]) -> None:
        if place in above:
            raise ToolError(f"the schema at /{'/'.join(place)} refers to itself and to nothing else")
        if place in clear:
            return
        for further in _same_value(place, places[place]):
            follow(further, (*above, place))
        clear.add(place)

    for place in places:
        follow(place, ())


def _same_value(place: Place, part: Json) -> Iterator[Place]:
    """The schemas that look at the very value *part* looks at."""
    if not isinstance(part, dict):
        return
    if (target := _target(part.get("$ref", ""))) is not None:
        yield target
    for key, _ in _parts(part):
        if key[0] in _SAME_VALUE:
            yield (*place, *key)


# ── the value ────────────────────────────────────────────────────────────────────────────────


def problems(schema: Json, value: Json) -> dict[str, str]:
    """What is wrong with *value*, by field: ``amount``, ``items.0.price``, the empty name for the whole.

    Empty if nothing is. At most `MAX_PROBLEMS` fields; *schema* is one that `check_schema` lets pass.
    """
    try:
        canonical.dump(value)
    except ValueError as error:  # NotJson; or Python's own, for a whole number past any use
        return {"": shown(str(error))}
    found: dict[str, str] = {}
    counting = _followed.set([0])
    try:
        for wrong in _validator(canonical.dump(schema)).iter_errors(value):
            for field, words in _reports(wrong):
                found.setdefault(field, words)
                if len(found) == MAX_PROBLEMS:
                    return found
    except (RecursionError, _Endless):
        return {"": "is too deep or too wide to be checked"}
    finally:
        _followed.reset(counting)  # else what is checked after it in this context would be counted on
    return found


def types(schema: Json, field: str) -> frozenset[str]:
    """The types that *schema* lets its property *field* have; empty where it does not say."""
    root = canonical.load(canonical.dump(schema))
    places = dict(_places(root, ()))
    return _types(("properties", field), places)


def declared(schema: Json, field: str) -> dict[str, Json]:
    """What *schema* says of its property *field* itself, references followed; of a form or null, the form."""
    places = dict(_places(canonical.load(canonical.dump(schema)), ()))
    part = places.get(("properties", field))
    said: dict[str, Json] = {}
    while isinstance(part, dict):
        said = {**part, **said}
        forms = [one for key in ("anyOf", "oneOf") for one in part.get(key, ()) if one != {"type": "null"}]
        target = _target(part.get("$ref", ""))
        part = places.get(target) if target is not None else forms[0] if len(forms) == 1 else None
    return said


def _types(place: Place, places: Mapping[Place, Json]) -> frozenset[str]:
    part = places.get(place)
    if not isinstance(part, dict):
        return frozenset()
    if "type" in part:
        return frozenset([part["type"]] if isinstance(part["type"], str) else part["type"])
    members = [part["const"]] if "const" in part else part.get("enum", ())
    found = {name for name in _TYPE_WORDS for member in members if _TYPES.is_type(member, name)}
    if found:
        return frozenset(found - {"number"} if "integer" in found else found)
    return frozenset().union(*(_types(inner, places) for inner in _same_value(place, part)))


def _is_number(_: object, value: object) -> bool:
    if isinstance(value, (Decimal, float)):
        return Decimal(value).is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_integer(checker: object, value: object) -> bool:
    if not _is_number(checker, value):
        return False
    return isinstance(value, int) or Decimal(value) == Decimal(value).to_integral_value()  # type: ignore[arg-type]


class _Endless(Exception):
    """More references than `MAX_REFERENCES`."""


_followed: ContextVar[list[int]] = ContextVar("_followed")


def _reference(validator: Validator, ref: str, value: Json, schema: Json) -> Iterator[ValidationError]:
    count = _followed.get([0])  # the default: while a schema itself is checked
    count[0] += 1
    if count[0] > MAX_REFERENCES:
        raise _Endless
    yield from Draft202012Validator.VALIDATORS["$ref"](validator, ref, value, schema)


def _multiple_of(_: Validator, divisor: Json, value: Json, __: Json) -> Iterator[ValidationError]:
    """By fractions: Decimal's own remainder gives up on far-apart exponents."""
    if _is_number(None, value) and Fraction(value) % Fraction(divisor) != 0:
        yield ValidationError("not a multiple")


def _unique(_: Validator, wanted: bool, value: Json, __: Json) -> Iterator[ValidationError]:
    """By canonical text: comparing each with each would take the square of their number."""
    if wanted and isinstance(value, list) and len({canonical.canonical(v) for v in value}) < len(value):
        yield ValidationError("not unique")


def _pattern(_: Validator, pattern: str, value: Json, __: Json) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    if len(value) > MAX_PATTERN_TEXT or not _compiled(pattern).search(value):
        yield ValidationError("no match")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    r"""*pattern* with ``$`` as the end alone: Python's also lets a line's end stand before it."""
    parts = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", pattern, re.DOTALL)
    return re.compile("".join(r"\Z" if part == "$" else part for part in parts))


_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many({"number": _is_number, "integer": _is_integer})
_Strict: type[Validator] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    validators={
        "$ref": _reference,
        "multipleOf": _multiple_of,
        "uniqueItems": _unique,
        "pattern": _pattern,
    },
    type_checker=_TYPES,
)


@lru_cache(maxsize=256)
def _validator(text: str) -> Validator:
    """For the schema *text* says, its numbers exact; the empty registry fetches nothing from anywhere."""
    return _Strict(canonical.load(text), registry=Registry(), format_checker=_CHECKER)


# ── formats ──────────────────────────────────────────────────────────────────────────────────

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)"
_HOST = r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_DURATION = r"P(?=[\dT])(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
_MAIL = r"[^\s@\"(),:;<>\[\]\\]{1,64}@[^\s@\"(),:;<>\[\]\\]{1,255}"


def _of(shape: str, reader: Callable[[str], object] = str) -> Callable[[str], bool]:
    """Whether a text has *shape* (ASCII, any case) and *reader* takes it."""
    compiled = re.compile(shape, re.ASCII | re.IGNORECASE)

    def fits(text: str) -> bool:
        if not compiled.fullmatch(text):
            return False
        try:
            reader(text)
        except ValueError:
            return False
        return True

    return fits


def _absolute(text: str) -> None:
    if not urlsplit(text).scheme:
        raise ValueError("relative")


_FORMATS: Mapping[str, tuple[str, Callable[[str], bool]]] = MappingProxyType(
    {
        "date": ("a date such as 2025-01-31", _of(_DATE, date.fromisoformat)),
        "time": ("a time such as 09:30:00Z", _of(_TIME, time.fromisoformat)),
        "date-time": ("a time such as 2025-01-31T09:30:00Z", _of(f"{_DATE}T{_TIME}", datetime.fromisoformat)),
        "duration": ("a duration such as PT15M", _of(_DURATION)),
        "email": ("an e-mail address", _of(_MAIL)),
        "hostname": ("a host name", _of(_HOST)),
        "ipv4": ("an IPv4 address", _of(r"[0-9.]+", ipaddress.IPv4Address)),
        "ipv6": ("an IPv6 address", _of(r"[0-9a-f:.]+", ipaddress.IPv6Address)),
        "uri": ("a whole address such as https://example.com/", _of(r"[a-z][a-z0-9+.-]*:[!-~]+", _absolute)),
        "uuid": ("a UUID", _of(_UUID)),
    }
)
"""The formats that are checked, each with its words; others are refused rather than let pass unchecked."""

_CHECKER = FormatChecker(formats=())
for _name, (_, _fits) in _FORMATS.items():
    _CHECKER.checks(_name)(lambda value, fits=_fits: not isinstance(value, str) or fits(value))


# ── the sentences ────────────────────────────────────────────────────────────────────────────

_TYPE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "string": "text",
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true or false",
        "array": "a list",
        "object": "an object",
        "null": "null",
    }
)


def _reports(error: ValidationError) -> Iterator[tuple[str, str]]:
    """The (field, words) that one error of the library comes to."""
    place = tuple(map(str, error.absolute_path))
    value: Json = error.instance
    wanted: Any = error.validator_value
    match error.validator:
        case "required":
            names = [name for name in wanted if name not in value]
            yield from ((_field(*place, name), "is missing") for name in names)
        case "additionalProperties" | "unevaluatedProperties":
            words = "is not a field that is taken here" if place else "is not an argument of this tool"
            names = list(islice(_extra(error), MAX_PROBLEMS))
            yield from ((_field(*place, name), words) for name in names)
            if not names:
                yield _field(*place), "has fields that are not taken here"
        case "anyOf" | "oneOf":
            yield from _alternatives(error, place)
        case _:
            name = "has a name that " if "propertyNames" in error.absolute_schema_path else ""
            yield _field(*place), name + _sentence(str(error.validator), wanted, value)


def _field(*place: str) -> str:
    return shown(".".join(place))


def _extra(error: ValidationError) -> Iterator[str]:
    """Names in the value that its schema has nowhere."""
    schema: Any = error.schema
    value: Any = error.instance
    places = dict(_places(schema, ()))
    known = {place[-1] for place in places if place[-2:-1] == ("properties",)}
    if error.validator == "additionalProperties":
        known = set(schema.get("properties", ()))
    patterns = [re.compile(pattern) for pattern in schema.get("patternProperties", ())]
    for name in value:
        if name not in known and not any(pattern.search(name) for pattern in patterns):
            yield name


def _alternatives(error: ValidationError, place: Place) -> Iterator[tuple[str, str]]:
    """Where one branch alone is of the value's type, what that branch says; else what types there are."""
    branches: dict[object, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(inner.relative_schema_path[0], []).append(inner)
    mistyped: dict[object, Any] = {
        n: inner.validator_value
        for n, branch in branches.items()
        for inner in branch
        if inner.validator == "type" and not inner.relative_path
    }
    fitting = [branch for n, branch in branches.items() if n not in mistyped]
    if len(fitting) == 1:
        for inner in fitting[0]:
            yield from _reports(inner)
    elif not branches:
        yield _field(*place), "fits more than one of the forms it may have"
    elif fitting:
        yield _field(*place), "has none of the forms it may have"
    else:
        names = [n for names in mistyped.values() for n in ([names] if isinstance(names, str) else names)]
        yield _field(*place), _type(list(dict.fromkeys(names)), error.instance)


def _sentence(keyword: str, limit: Json, value: Json) -> str:
    if keyword == "type":
        return _type([limit] if isinstance(limit, str) else limit, value)
    if keyword == "pattern" and len(value) > MAX_PATTERN_TEXT:
        return f"must have at most {MAX_PATTERN_TEXT:,} characters"
    if keyword in _LIMITS:
        return _LIMITS[keyword].format(_text(limit))
    if keyword in _SIZES:
        least, words = _SIZES[keyword]
        if least == "least" and limit == 1:
            return "must not be empty"
        return f"must have at {least} {limit} {words if limit != 1 else words.removesuffix('s')}"
    match keyword:
        case "enum":
            return f"must be one of: {shown(', '.join(map(_text, limit)))}"
        case "format":
            return f"must be {_FORMATS[limit][0]}"
        case "uniqueItems":
            return "must not have the same item twice"
        case "not" | "None":
            return "is not allowed"
        case _:
            return f"does not fit its schema ({keyword})"


_LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "minimum": "must be at least {}",
        "maximum": "must be at most {}",
        "exclusiveMinimum": "must be more than {}",
        "exclusiveMaximum": "must be less than {}",
        "multipleOf": "must be a multiple of {}",
        "const": "must be {}",
        "pattern": "must have the form {}",
    }
)

_SIZES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "minLength": ("least", "characters"),
        "maxLength": ("most", "characters"),
        "minItems": ("least", "items"),
        "maxItems": ("most", "items"),
        "minProperties": ("least", "fields"),
        "maxProperties": ("most", "fields"),
    }
)


def _type(names: list[str], value: Json) -> str:
    words = [_TYPE_WORDS[name] for name in names]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return f"must be {listed}, not {_text(value) if number else kind(value)}"


def _text(value: Json) -> str:
    return shown(value if isinstance(value, str) else canonical.dump(value), MAX_SHOWN)
