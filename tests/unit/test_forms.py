"""Edit as typed fields: what is asked, what a text means, and that what is left alone stays to the digit."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from core import tools
from core.canonical import dump
from core.errors import BadArguments
from core.forms import LONGEST_FIELD, Kind, Typed, filled, form
from core.gate import Risk
from core.tasks import Json
from core.tools import Tool, ToolContext

SCHEMA: dict[str, Json] = {
    "type": "object",
    "$defs": {"money": {"type": "number", "exclusiveMinimum": 0, "maximum": 100, "description": "in EUR"}},
    "properties": {
        "to": {"type": "string"},
        "note": {"type": "string", "title": "Your note", "maxLength": 30_000},
        "amount": {"$ref": "#/$defs/money"},
        "count": {"type": "integer", "minimum": 1},
        "urgent": {"type": "boolean"},
        "speed": {"enum": ["slow", "fast", "24", 24, None]},
        "on": {"type": "string", "format": "date"},
        "until": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "string", "minLength": 2}, "maxItems": 3},
        "sizes": {"type": "array", "items": {"type": "number"}},
        "colours": {"type": "array", "items": {"enum": ["red", "blue"]}, "uniqueItems": True},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
        "either": {"type": ["string", "number"]},
        "anything": {},
    },
    "required": ["to", "amount"],
}

ARGS: dict[str, Json] = {
    "to": "ada@example.test",
    "note": "hi\u202e\r\n⟨",
    "amount": Decimal("24.00"),
    "speed": "24",
    "tags": ["one", "two"],
    "lines": [{"n": Decimal("1.50")}],
    "either": "24",
    "anything": {"a": [1, Decimal("2.0")]},
}


async def _nothing(args: Mapping[str, Json], context: ToolContext) -> None:
    raise AssertionError("a form runs nothing")


def tool(**changes: Json) -> Tool:
    parameters = changes.pop("parameters", SCHEMA)
    declared = {"editable": frozenset(parameters["properties"]) - {"to"}, **changes}
    return Tool(
        name="send", description="", risk=Risk.CONTACT, parameters=parameters, handler=_nothing, **declared
    )


def changed(**typed: Typed) -> str:
    return dump(filled(form(tool(), ARGS), typed))


def wrong(**typed: Typed) -> dict[str, str]:
    with pytest.raises(BadArguments) as error:
        filled(form(tool(), ARGS), typed)
    return error.value.problems


# ── what is asked ────────────────────────────────────────────────────────────────────────────


def test_a_form_asks_for_each_argument_by_the_type_its_schema_has() -> None:
    kinds = {one.name: one.kind for one in form(tool(), ARGS).inputs}
    assert kinds == {
        "note": Kind.TEXT,
        "amount": Kind.NUMBER,
        "count": Kind.NUMBER,
        "urgent": Kind.BOOLEAN,
        "speed": Kind.CHOICE,
        "on": Kind.DATE,
        "until": Kind.DATE,
        "tags": Kind.LIST,
        "sizes": Kind.LIST,
        "colours": Kind.LIST,
        "lines": Kind.JSON,
        "either": Kind.TEXT,
        "anything": Kind.JSON,
    }


def test_a_field_has_its_words_its_limits_and_what_it_is_now() -> None:
    asked = {one.name: one for one in form(tool(), ARGS).inputs}
    amount, note, speed = asked["amount"], asked["note"], asked["speed"]
    assert (amount.label, amount.description, amount.required) == ("amount", "in EUR", True)
    assert (amount.limits, amount.value) == ("more than 0, at most 100", "24.00")
    assert (note.label, note.value, note.multiline) == ("Your note", "hi⟨U+202E⟩⟨U+000D⟩\n⟨U+27E8⟩", True)
    assert (speed.choices, speed.value) == (("slow", "fast", '"24"', "24", "null"), '"24"')
    assert (asked["tags"].value, asked["colours"].choices) == ("one\ntwo", ("red", "blue"))
    assert asked["lines"].value == '[{"n":1.50}]'


def test_what_a_list_by_lines_could_not_say_is_asked_for_as_json() -> None:
    for tags in (["a\nb"], ["  a"], [""]):
        (asked,) = [one for one in form(tool(), {**ARGS, "tags": tags}).inputs if one.name == "tags"]
        assert (asked.kind, asked.value) == (Kind.JSON, dump(tags))


# ── what was typed ───────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C8")
def test_what_is_chosen_in_a_list_is_named_so_that_it_is_read_as_itself_again() -> None:
    items = {"type": "array", "items": {"enum": ["24", 24, "true"]}}
    made = form(tool(parameters={"type": "object", "properties": {"sizes": items}}), {"sizes": ["24"]})
    assert made.inputs[0].value == '"24"'
    assert filled(made, {"sizes": f'{made.inputs[0].value}\n"true"'}) == {"sizes": ["24", "true"]}


@pytest.mark.rule("C8")
def test_a_form_sent_back_as_it_came_changes_nothing() -> None:
    made = form(tool(), ARGS)
    assert filled(made, {one.name: one.value for one in made.inputs}) == {}
    assert filled(made, {"urgent": False, "tags": ["one", "two"], "colours": []}) == {}
    assert filled(made, {}) == {}


@pytest.mark.rule("C8")
@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ("amount", "24.0", "24.0"),
        ("amount", " 10.000000000000000000001 ", "10.000000000000000000001"),
        ("count", "3", "3"),
        ("urgent", True, "true"),
        ("urgent", "No", "false"),
        ("speed", "fast", '"fast"'),
        ("speed", "FAST", '"fast"'),
        ("speed", "24", "24"),
        ("speed", "", "null"),
        ("on", "2026-12-06", '"2026-12-06"'),
        ("until", "2026-12-06T13:04:00Z", '"2026-12-06T13:04:00Z"'),
        ("tags", "one\r\n\r\n three \r\n", '["one","three"]'),
        ("tags", ["24", "true"], '["24","true"]'),
        ("sizes", "1\n2.50", "[1,2.50]"),
        ("colours", ["blue"], '["blue"]'),
        ("lines", '[{"n": 2.00}, {}]', '[{"n":2.00},{}]'),
        ("note", '{"a": 1}', '"{\\"a\\": 1}"'),
        ("note", "", '""'),
        ("note", " 24 ", '" 24 "'),
        ("either", "25", "25"),
        ("anything", "[]", "[]"),
    ],
)
def test_what_is_typed_is_read_by_its_fields_type(field: str, typed: Typed, value: str) -> None:
    assert changed(**{field: typed}) == f'{{"{field}":{value}}}'


def test_what_is_typed_is_taken_to_the_byte_and_what_was_spelled_out_is_itself_again() -> None:
    """Bad input 34."""
    typed = "👩\u200d💻 \u202e\u0430\u05d0 e\u0301"
    assert filled(form(tool(), ARGS), {"note": typed}) == {"note": typed}
    assert filled(form(tool(), ARGS), {"note": "ho⟨U+202E⟩⟨U+000D⟩\n⟨U+27E8⟩"}) == {"note": "ho\u202e\r\n⟨"}


@pytest.mark.rule("C8")
@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("amount", "ten", "must be a number"),
        ("amount", "NaN", "must be a number"),
        ("amount", "1e400", "must be a number (a number out of range: 1e400)"),
        ("amount", "250", "must be at most 100"),
        ("amount", "", "must be a number"),
        ("amount", '{"$gt": 1}', "must be a number"),
        ("count", "1.5", "must be a whole number, not 1.5"),
        ("urgent", "perhaps", "must be yes or no"),
        ("speed", "faster", 'must be one of: slow, fast, "24", 24, null'),
        ("on", "6 Dec", "must be a date such as 2025-01-31"),
        ("tags", "a", "0: must have at least 2 characters"),
        ("tags", "aa\nbb\ncc\ndd", "must have at most 3 items"),
        ("sizes", "1\nten", "ten is not a number; write one a line"),
        ("sizes", "1,2", "1,2 is not a number; write one a line"),
        ("colours", "green", "must be one of: red, blue"),
        ("lines", '[{"m": 1, "n": "x"}]', "0.n: must be a number, not text"),
        ("lines", "[", "must be a list, written as JSON"),
        ("anything", "{", "must be written as JSON"),
        ("note", "a\0b", "must be text (not a text with a NUL character)"),
        ("note", "x" * (LONGEST_FIELD + 1), "must have at most 20,000 characters"),
        ("to", "eve@example.test", "can't be changed; decline it and say what you want instead"),
        ("__class__", "x", "is not an argument of this tool"),
        ("bcc", "x", "is not an argument of this tool"),
    ],
)
def test_what_can_not_be_taken_is_said_at_its_field(field: str, typed: str, words: str) -> None:
    (said,) = wrong(**{field: typed}).items()
    assert said[0] == field and said[1].startswith(words)


def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_changed() -> None:
    assert wrong(amount="ten", count="x", note="fine").keys() == {"amount", "count"}


def test_a_value_longer_than_may_be_typed_stays_as_it_is() -> None:
    made = form(tool(), {**ARGS, "note": "x" * 25_000})
    assert filled(made, {one.name: one.value for one in made.inputs}) == {}


def test_a_form_and_a_command_line_read_alike() -> None:
    assert filled(form(tool(), ARGS), {"amount": "12.5"})["amount"] == tools.typed(tool(), "amount", "12.5")
