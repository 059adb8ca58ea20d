"""Edit as typed fields: what a form asks for each argument that may be changed, and what its texts mean.

Made from the tool's schema and the arguments as they are. A text that was left as it stood changes nothing,
to the digit; what was typed is read by the type the schema has there, so that a text never becomes an object
where the schema takes none. A modal, a prompt and a command line fill the same form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

from core import schemas
from core.arguments import read, shown
from core.canonical import dump
from core.errors import BadArguments
from core.shown import shown_value
from core.tasks import Json
from core.tools import Tool, misfits, patch, typed
from core.visible import raw, visible

LONGEST_FIELD: Final = 20_000
"""Characters of one field that a person types (bad-inputs.md 35); what is longer stays as it is."""

Typed: TypeAlias = str | bool | Sequence[str]
"""What a surface has of one field: a text, a tick, or the lines or choices of a list."""


class Kind(StrEnum):
    """How a field is asked for."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"  # one of its choices
    DATE = "date"  # 2025-01-31, or a time with it
    LIST = "list"  # one item a line; of the choices, where there are some
    JSON = "json"  # whatever is nested, written as JSON


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """One field: what it is called and asks for, and *value*, the argument as it is, as the field's text."""

    name: str
    kind: Kind
    label: str
    description: str = ""
    required: bool = False
    limits: str = ""  # more than 0, at most 100
    choices: tuple[str, ...] = ()
    value: str = ""
    present: bool = True  # the argument is given; a field that is not, and stays empty, changes nothing

    @property
    def multiline(self) -> bool:
        """Whether its text may have several lines."""
        return self.kind in (Kind.TEXT, Kind.LIST, Kind.JSON)


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """The fields of one call that a person may change, in the tool's order."""

    tool: Tool
    args: Mapping[str, Json]
    inputs: tuple[Input, ...]

    def input(self, name: str) -> Input | None:
        return next((one for one in self.inputs if one.name == name), None)


def form(tool: Tool, args: Mapping[str, Json]) -> Form:
    """The form of a call of *tool* with *args*: only what is editable is in it."""
    inputs = tuple(_input(tool, args, name) for name in tool.properties if name in tool.editable)
    return Form(tool=tool, args=args, inputs=inputs)


# ── what is asked ────────────────────────────────────────────────────────────────────────────


def _input(tool: Tool, args: Mapping[str, Json], name: str) -> Input:
    said, types = schemas.declared(tool.parameters, name), schemas.types(tool.parameters, name)
    kind = _kind(said, types, args.get(name))
    choices = _choices(said, kind)
    return Input(
        name=name,
        kind=kind,
        label=visible(str(said.get("title") or name.replace("_", " "))),
        description=visible(str(said.get("description", ""))),
        required=name in tool.parameters.get("required", ()),
        limits=", ".join(words.format(_plain(said[key])) for key, words in _LIMITS.items() if key in said),
        choices=choices,
        value=_text(kind, args[name], choices) if name in args else "",
        present=name in args,
    )


def _kind(said: Mapping[str, Json], types: frozenset[str], value: Json) -> Kind:
    one = types - {"null"}
    if "enum" in said:
        return Kind.CHOICE
    if one == {"boolean"}:
        return Kind.BOOLEAN
    if one and one <= {"number", "integer"}:
        return Kind.NUMBER
    if one == {"array"} and _by_lines(said.get("items"), value):
        return Kind.LIST
    if one & {"array", "object"} or isinstance(value, list | dict):
        return Kind.JSON
    return Kind.DATE if one == {"string"} and said.get("format") in _DATES else Kind.TEXT


_DATES: Final = frozenset({"date", "date-time"})
_ITEMS: Final = frozenset({"string", "number", "integer"})


def _by_lines(items: Json, value: Json) -> bool:
    """Whether each item is a line: plain ones, none of which is empty or has a line break or blanks about."""
    if not isinstance(items, dict) or not (items.get("type") in _ITEMS or "enum" in items):
        return False
    given = value if isinstance(value, list) else []
    texts = [one for one in given if isinstance(one, str)]
    return all(text == text.strip() != "" and "\n" not in text for text in texts)


def _choices(said: Mapping[str, Json], kind: Kind) -> tuple[str, ...]:
    items = said.get("items")
    of = items if kind is Kind.LIST and isinstance(items, dict) else said
    return tuple(map(shown_value, of.get("enum", ())))


def _text(kind: Kind, value: Json, choices: Sequence[str]) -> str:
    """*value* as the text of its field; nothing in it is hidden, and `raw` has it again."""
    if kind is Kind.CHOICE:
        return shown_value(value)
    if value is None:
        return ""
    if kind is Kind.LIST and isinstance(value, list):
        if choices:  # as they are named there, that each is read as itself again
            return "\n".join(map(shown_value, value))
        return "\n".join(visible(one) if isinstance(one, str) else dump(one) for one in value)
    if kind is Kind.BOOLEAN and isinstance(value, bool):
        return "yes" if value else "no"
    return visible(value, lines=True) if isinstance(value, str) else visible(dump(value))


_LIMITS: Final[Mapping[str, str]] = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def _plain(value: Json) -> str:
    return visible(dump(value))


# ── what was typed ───────────────────────────────────────────────────────────────────────────


def changes_in(form: Form, typed: Mapping[str, Typed]) -> dict[str, Json]:
    """What *typed* says of each field it names, one left as it is included.

    So that an edit which names a field and changes nothing is an approval (bad-inputs.md 32). Raises what
    `filled` raises.
    """
    same = {name: form.args[name] for name in typed if name in form.args}
    return {**same, **filled(form, typed)}


def filled(form: Form, given: Mapping[str, Typed]) -> dict[str, Json]:
    """The changes that *given* asks for, by argument; nothing for a field that is left as it stands.

    Raises BadArguments with what is wrong, by field, all at once; nothing is changed then.
    """
    changes: dict[str, Json] = {}
    wrong: dict[str, str] = {}
    for name, value in given.items():
        try:
            asked = form.input(name)
            if asked is None:
                raise BadArguments(_refused(form, name))
            if not _same(asked, value):
                changes[name] = _value(form, asked, _text_of(value))
        except BadArguments as error:
            wrong |= _at_fields(error.problems)
    if wrong:
        raise BadArguments(wrong)
    if changes:
        patch(form.tool, form.args, changes)  # what one field says may forbid what another does
    return changes


def _at_fields(problems: Mapping[str, str]) -> dict[str, str]:
    """*problems* by the field they are to be shown at: what is wrong within it is said along."""
    made: dict[str, str] = {}
    for at, words in problems.items():
        name, _, within = at.partition(".")
        made.setdefault(name, f"{within}: {words}" if within else words)
    return made


def _refused(form: Form, name: str) -> dict[str, str]:
    if name in form.tool.properties:
        return {name: "can't be changed; decline it and say what you want instead"}
    return {shown(name): "is not an argument of this tool"}


def _same(asked: Input, value: Typed) -> bool:
    """Whether the field says what it said before; a tick that was never there and is not set is none."""
    if value is False and not asked.present:
        return True
    text = _text_of(value)
    return text == asked.value if asked.kind is Kind.TEXT else text.strip() == asked.value.strip()


def _text_of(value: Typed) -> str:
    """*value* as one text, its line ends as ours."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = value if isinstance(value, str) else "\n".join(value)
    return text.replace("\r\n", "\n")


def _value(form: Form, asked: Input, text: str) -> Json:
    if len(text) > LONGEST_FIELD:
        raise BadArguments({asked.name: f"must have at most {LONGEST_FIELD:,} characters"})
    said = schemas.declared(form.tool.parameters, asked.name)
    match asked.kind:
        case Kind.CHOICE:
            return _one_of(asked, text, said["enum"])
        case Kind.LIST:
            return _items(form, asked, text, said["items"])
        case Kind.TEXT:
            return typed(form.tool, asked.name, raw(text))
        case Kind.JSON if not schemas.types(form.tool.parameters, asked.name):
            return _anything(asked, text)
        case _:
            return typed(form.tool, asked.name, raw(text.strip()))


def _one_of(asked: Input, text: str, allowed: Sequence[Json]) -> Json:
    """The allowed value that *text* names; in another case too, where that names one alone."""
    wanted = text.strip()
    exact = [one for one in allowed if shown_value(one) == wanted]
    found = exact or [one for one in allowed if shown_value(one).lower() == wanted.lower()]
    if len(found) == 1:
        return found[0]
    if not wanted and None in allowed:
        return None
    raise BadArguments({asked.name: f"must be one of: {shown(', '.join(asked.choices))}"})


def _items(form: Form, asked: Input, text: str, items: Mapping[str, Json]) -> Json:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if "enum" in items:
        made = [_one_of(asked, line, items["enum"]) for line in lines]
    else:
        made = [raw(line) if items["type"] == "string" else _number(asked, line) for line in lines]
    if wrong := misfits(form.tool, asked.name, made):
        raise BadArguments(wrong)
    return made


def _number(asked: Input, line: str) -> Json:
    try:
        value = read(line)
    except BadArguments:
        value = None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise BadArguments({asked.name: f"{shown(line, 40)} is not a number; write one a line"})
    return value


def _anything(asked: Input, text: str) -> Json:
    try:
        return read(raw(text))
    except BadArguments as error:
        raise BadArguments({asked.name: f"must be written as JSON: {error}"}) from None
