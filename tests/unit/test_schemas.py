"""Schemas are checked strictly, and what does not fit is said in words, by field."""

from decimal import Decimal
from typing import Any

import pytest

from core.arguments import parse
from core.errors import ToolError
from core.schemas import MAX_PATTERN_TEXT, MAX_PROBLEMS, check_schema, closed, problems, types


def of(part: Any, **more: Any) -> dict[str, Any]:
    """A schema whose one property x is *part*."""
    return {"type": "object", "properties": {"x": part}, **more}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ([], "the schema must be a JSON Schema whose root has type object"),
        ({"type": "array"}, "the schema must be a JSON Schema whose root has type object"),
        ({"type": ["object", "null"]}, "the schema must be a JSON Schema whose root has type object"),
        (of({}, **{"x-note": 1}), "/: x-note is not a keyword that is known here"),
        (of({"nullable": True}), "/properties/x: nullable is not a keyword that is known here"),
        (of({"items": {"foo": 1}}), "/properties/x/items: foo is not a keyword that is known here"),
        (of({"$id": "y"}), "/properties/x: $id is not a keyword that is known here"),
        (of({"type": "strin"}), "/properties/x/type: 'strin' is not valid under any of the given schemas"),
        (of({}, required="x"), "/required: 'x' is not of type 'array'"),
        (of({"minimum": "1"}), "/properties/x/minimum: '1' is not of type 'number'"),
        (of({"minimum": float("nan")}), "the schema is not JSON: nan is not a number JSON can say"),
        (of({"enum": [{1}]}), "the schema is not JSON: a set is not JSON"),
        (
            of({"$ref": "https://example.com/s"}),
            "/properties/x: the reference https://example.com/s does not lead to a schema within this one",
        ),
        (
            of({"$ref": "#/$defs/no"}),
            "/properties/x: the reference #/$defs/no does not lead to a schema within this one",
        ),
        (of({"$ref": "#/properties/x"}), "/properties/x refers to itself and to nothing else"),
        (of({}, anyOf=[{"not": {"$ref": "#"}}]), "/ refers to itself and to nothing else"),
        (
            of({"pattern": "("}),
            "/properties/x: the pattern is not a regular expression: "
            "missing ), unterminated subpattern at position 0",
        ),
        (
            of({"format": "zip"}),
            "/properties/x: the format zip is not one that is checked "
            "(date, date-time, duration, email, hostname, ipv4, ipv6, time, uri, uuid)",
        ),
        (
            {"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"},
            "/: only draft 2020-12 is known",
        ),
    ],
)
def test_a_schema_that_can_not_be_checked_against_is_refused(schema: Any, words: str) -> None:
    with pytest.raises(ToolError) as refused:
        check_schema(schema)
    assert str(refused.value).removeprefix("the schema at ") == words


def test_a_schema_may_use_all_of_the_dialect_that_stays_within_it() -> None:
    check_schema(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/tree",
            "type": "object",
            "title": "Tree",
            "$defs": {"a/b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a~1b"}}}},
            "properties": {
                "tree": {"$ref": "#/$defs/a~1b"},
                "self": {"$ref": "#"},
                "price": {"minimum": 0.1},
            },
            "patternProperties": {"^x": {"type": "string"}},
            "if": {"required": ["tree"]},
            "then": {"required": ["self"]},
        }
    )


NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        pytest.param(
            {"type": "integer"}, "true", "must be a whole number, not true", id="bad-input-19-integer"
        ),
        pytest.param(NUMBER, "false", "must be a number, not false", id="bad-input-19-number"),
        pytest.param({"const": 1}, "true", "must be 1", id="bad-input-19-const"),
        pytest.param({"enum": [0, 2]}, "false", "must be one of: 0, 2", id="bad-input-19-enum"),
        pytest.param({"type": "boolean"}, "1", "must be true or false, not 1", id="bad-input-19-boolean"),
        pytest.param({"type": "integer"}, "1.0", None, id="bad-input-20-whole"),
        pytest.param({"type": "integer"}, "1.5", "must be a whole number, not 1.5", id="bad-input-20-part"),
        pytest.param({"const": 1}, "1.0", None, id="bad-input-20-const"),
        (NUMBER, '"5"', "must be a number, not text"),
        (NUMBER, "null", "must be a number, not null"),
        (NUMBER, "[]", "must be a number, not a list"),
        ({"type": "string"}, "{}", "must be text, not an object"),
        ({"type": ["string", "integer", "null"]}, "1.5", "must be text, a whole number or null, not 1.5"),
        ({"minimum": 0.5}, "0.49", "must be at least 0.5"),
        ({"maximum": 100}, "100.01", "must be at most 100"),
        ({"exclusiveMinimum": 0}, "0.0", "must be more than 0"),
        ({"exclusiveMaximum": 1}, "1", "must be less than 1"),
        ({"multipleOf": 0.01}, "24.10", None),
        ({"multipleOf": 0.01}, "24.105", "must be a multiple of 0.01"),
        ({"multipleOf": 0.01}, "1e300", None),
        ({"multipleOf": 3}, "1e-300", "must be a multiple of 3"),
        ({"enum": ["a", None, 2]}, '"c"', "must be one of: a, null, 2"),
        ({"minLength": 1}, '""', "must not be empty"),
        ({"minLength": 2}, '"é"', "must have at least 2 characters"),
        ({"maxLength": 1}, '"ab"', "must have at most 1 character"),
        ({"maxLength": 1}, '"😀"', None),
        ({"minItems": 1}, "[]", "must not be empty"),
        ({"maxItems": 2}, "[1,2,3]", "must have at most 2 items"),
        ({"uniqueItems": True}, "[1, 1.0]", "must not have the same item twice"),
        ({"uniqueItems": True}, '[1, true, "1", [1], {"a": 1}]', None),
        ({"maxProperties": 0}, '{"a": 1}', "must have at most 0 fields"),
        ({"pattern": "^[a-z$]+$"}, '"a$b"', None),
        ({"pattern": "^[a-z$]+$"}, '"ab\\n"', "must have the form ^[a-z$]+$"),
        ({"pattern": "a"}, '"' + "a" * (MAX_PATTERN_TEXT + 1) + '"', "must have at most 10,000 characters"),
        ({"not": {"type": "string"}}, '"a"', "is not allowed"),
        ({"contains": {"const": 1}}, "[2]", "does not fit its schema (contains)"),
        ({"propertyNames": {"maxLength": 1}}, '{"ab": 1}', "has a name that must have at most 1 character"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            '"x"',
            "must be a whole number or null, not text",
        ),
        ({"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}]}, "2", "must be at least 3"),
        ({"oneOf": [NUMBER, {"type": "integer"}]}, "1", "fits more than one of the forms it may have"),
        ({"oneOf": [{"maximum": 1}, {"minimum": 5}]}, "3", "has none of the forms it may have"),
        ({"allOf": [NUMBER, {"maximum": 1}]}, "3", "must be at most 1"),
    ],
)
def test_a_value_that_does_not_fit_is_said_in_words(part: Any, text: str, words: str | None) -> None:
    schema = of(part)
    check_schema(schema)
    assert problems(schema, parse(f'{{"x": {text}}}')) == ({} if words is None else {"x": words})


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-02-29", "2025-02-29"),
        ("date", "2025-01-31", "2025-1-31"),
        ("time", "09:30:00Z", "25:00:00Z"),
        ("date-time", "2025-01-31T09:30:00.5+02:00", "2025-01-31 09:30"),
        ("duration", "P1DT2H", "P"),
        ("email", "ada@example.com", "ada@example.com, eve@example.com"),
        ("email", "a.b+c@xn--bcher-kva.example", "ada"),
        ("hostname", "example.com", "-example.com"),
        ("ipv4", "192.0.2.1", "192.0.2.256"),
        ("ipv6", "2001:db8::1", "2001:::1"),
        ("uri", "https://example.com/a?b=c", "example.com"),
        ("uuid", "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d"),
    ],
)
def test_each_format_that_is_known_is_checked(name: str, good: str, bad: str) -> None:
    schema = of({"type": "string", "format": name})
    check_schema(schema)
    assert problems(schema, {"x": good}) == {}
    assert list(problems(schema, {"x": bad})) == ["x"]
    assert list(problems(schema, {"x": good + "\n"})) == ["x"]


@pytest.mark.rule("C1")
def test_missing_extra_and_nested_fields_are_reported_by_name() -> None:
    """Bad input 22."""
    item = {
        "type": "object",
        "properties": {"price": NUMBER},
        "additionalProperties": False,
        "required": ["price"],
    }
    schema = closed(of({"type": "array", "items": item}, required=["x", "to"]))
    value = parse('{"x": [{"price": "1"}, {"prize": 1}], "cc": "eve"}')
    assert problems(schema, value) == {
        "to": "is missing",
        "cc": "is not an argument of this tool",
        "x.0.price": "must be a number, not text",
        "x.1.prize": "is not a field that is taken here",
        "x.1.price": "is missing",
    }


def test_a_schema_in_parts_is_closed_over_all_of_them() -> None:
    schema = closed(
        {"type": "object", "$ref": "#/$defs/base", "$defs": {"base": {"properties": {"a": NUMBER}}}}
    )
    check_schema(schema)
    assert problems(schema, {"a": 1}) == {}
    assert problems(schema, {"a": 1, "b": 2}) == {"b": "is not an argument of this tool"}


@pytest.mark.parametrize("key", ["additionalProperties", "unevaluatedProperties"])
def test_a_schema_that_says_what_else_it_takes_is_left_as_it_is(key: str) -> None:
    schema = {"type": "object", key: {"type": "string"}}
    assert closed(schema) is schema


def test_a_schema_may_lead_back_to_itself_further_down() -> None:
    schema = of({"anyOf": [{"$ref": "#"}, NUMBER]})
    check_schema(schema)
    deep: Any = "no"
    for _ in range(60):
        deep = {"x": deep}
    assert list(problems(schema, deep).values()) == ["must be an object or a number, not text"] or problems(
        schema, deep
    )
    assert problems(schema, {"x": {"x": {"x": 1}}}) == {}


def test_a_schema_that_doubles_its_work_with_each_level_is_given_up() -> None:
    branch = {"type": "object", "properties": {"x": {"$ref": "#"}}}
    schema = of({"anyOf": [branch, {**branch, "required": ["y"]}, NUMBER]})
    check_schema(schema)
    deep: Any = "no"
    for _ in range(60):
        deep = {"x": deep}
    assert problems(schema, deep) == {"": "is too deep or too wide to be checked"}
    assert problems(schema, {"x": {"x": {"x": 1}}}) == {}


def test_a_name_from_a_model_is_shown_on_one_line_and_cut() -> None:
    (name,) = problems(closed(of({})), {"a\u202e\n" + "b" * 5_000: 1})
    assert name.startswith("a\\u202e\\nbbb")
    assert len(name) == 200


def test_a_long_value_is_cut_in_the_words() -> None:
    (words,) = problems(of({"type": "integer"}), {"x": Decimal("0." + "1" * 900)}).values()
    assert len(words) < 250


def test_no_more_problems_are_told_than_anybody_mends() -> None:
    assert len(problems(closed(of({})), {f"k{n}": n for n in range(1_000)})) == MAX_PROBLEMS


@pytest.mark.parametrize(
    "value",
    [float("nan"), Decimal("Infinity"), {1, 2}, "\ud800", 10**5_000],
    ids=["nan", "infinity", "set", "half a character", "long"],
)
def test_what_is_no_json_value_fits_nothing(value: Any) -> None:
    assert list(problems(of({}), {"x": value})) == [""]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["integer", "null"]}, {"integer", "null"}),
        ({"anyOf": [NUMBER, {"$ref": "#/$defs/word"}]}, {"number", "string"}),
        ({"enum": ["a", 2]}, {"string", "integer"}),
        ({"const": True}, {"boolean"}),
        ({}, set()),
    ],
)
def test_the_types_of_a_field_are_known_whatever_way_they_are_said(part: Any, expected: set[str]) -> None:
    assert types(of(part, **{"$defs": {"word": {"type": "string"}}}), "x") == expected


def test_a_value_that_was_checked_is_not_counted_on_with_the_schemas_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.schemas.MAX_REFERENCES", 200)
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    assert problems(schema, {"id": "A1"}) == {}
    for _ in range(100):
        check_schema(schema)
