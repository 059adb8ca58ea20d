"""Arguments are read strictly, and what is read is what was written."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import canonical
from core.arguments import MAX_BYTES, MAX_VALUES, fault, parse, read, shown
from core.errors import BadArguments

NUMBERS = st.integers(-(10**30), 10**30) | st.decimals(
    min_value=Decimal("-1e300"), max_value=Decimal("1e300"), allow_nan=False, allow_infinity=False
).filter(lambda d: abs(d.adjusted()) <= 300)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_was_written_is_what_is_read(value: dict[str, Any]) -> None:
    text = canonical.dump(value)
    assert canonical.load(text) == value
    assert parse(text) == value
    assert canonical.digest(parse(text)) == canonical.digest(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"to": ', "not JSON: Expecting value (character 7)", id="bad-input-1-cut"),
        pytest.param("to=ada", "not JSON: Expecting value (character 0)", id="bad-input-1-no-json"),
        pytest.param(
            "{'to': 1}",
            "not JSON: Expecting property name enclosed in double quotes (character 1)",
            id="bad-input-1-python",
        ),
        pytest.param("{} {}", "not JSON: Extra data (character 3)", id="bad-input-1-two"),
        pytest.param("[1]", "the arguments must be a JSON object, not a list", id="bad-input-2-array"),
        pytest.param('"hi"', "the arguments must be a JSON object, not text", id="bad-input-2-string"),
        pytest.param("null", "the arguments must be a JSON object, not null", id="bad-input-2-null"),
        pytest.param("3", "the arguments must be a JSON object, not a number", id="bad-input-2-number"),
        pytest.param(
            '"{\\"a\\": 1}"',
            "the arguments must be a JSON object, not a text with JSON in it",
            id="bad-input-2-encoded-twice",
        ),
        pytest.param(
            '{"body": "Dear Ad', "not JSON: Unterminated string starting at (character 9)", id="bad-input-12"
        ),
        pytest.param('{"a": NaN}', "NaN is not a number JSON can say", id="bad-input-13-nan"),
        pytest.param('{"a": Infinity}', "Infinity is not a number JSON can say", id="bad-input-13-infinity"),
        pytest.param('{"a": -Infinity}', "-Infinity is not a number JSON can say", id="bad-input-13-minus"),
        pytest.param('{"a": 1e999}', "a number out of range: 1e999", id="bad-input-13-overflow"),
        pytest.param('{"a": 1.8e308}', "a number out of range: 1.8e308", id="bad-input-13-just-over"),
        pytest.param('{"a": 1e-999}', "a number out of range: 1e-999", id="bad-input-13-underflow"),
        pytest.param(
            '{"a": 1e9999999999999999999}',
            "a number out of range: 1e9999999999999999999",
            id="bad-input-13-past-decimal",
        ),
        pytest.param('{"a": 1, "a": 2}', "the name a is there twice", id="bad-input-14"),
        pytest.param(
            '{"x": [{"a": 1, "b": 2, "a": 1}]}', "the name a is there twice", id="bad-input-14-deep"
        ),
        pytest.param('{"a": "\\ud800"}', "a text with half a character", id="bad-input-15-escaped"),
        pytest.param('{"a": "\ud800"}', "a text with half a character", id="bad-input-15-raw"),
        pytest.param('{"\\udc00": 1}', "a text with half a character", id="bad-input-15-name"),
        pytest.param('{"a": "x\\u0000"}', "a text with a NUL character", id="bad-input-16"),
        pytest.param('{"\\u0000": 1}', "a text with a NUL character", id="bad-input-16-name"),
        pytest.param("[" * 5_000, "nested deeper than 64", id="bad-input-17-lists"),
        pytest.param('{"a":' * 5_000 + "1" + "}" * 5_000, "nested deeper than 64", id="bad-input-17-objects"),
        pytest.param(
            '{"a": "' + "x" * MAX_BYTES + '"}', "longer than 1,048,576 bytes", id="bad-input-17-size"
        ),
        pytest.param(
            '{"a": "' + "é" * (MAX_BYTES // 2) + '"}', "longer than 1,048,576 bytes", id="bad-input-17-bytes"
        ),
        pytest.param('{"a": ' + "9" * 5_000 + "}", "a number of more than 1,000 digits", id="bad-input-18"),
        pytest.param(
            '{"a": 0.' + "1" * 5_000 + "}", "a number of more than 1,000 digits", id="bad-input-18-decimal"
        ),
        pytest.param('{"a": [' + "1," * MAX_VALUES + "1]}", "more than 10,000 values", id="too-many-values"),
    ],
)
@pytest.mark.rule("C1")
def test_arguments_that_are_not_strict_json_are_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(BadArguments) as refused:
        parse(text)
    assert refused.value.problems == {"": words}


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_text_is_no_arguments(text: str) -> None:
    assert parse(text) == {}


def test_every_digit_of_a_number_is_kept() -> None:
    """Bad input 20."""
    read_back = parse('{"a": 24.00, "b": 24, "c": 0.1000000000000000000001, "d": -1E+2}')
    assert {name: (type(one), str(one)) for name, one in read_back.items()} == {
        "a": (Decimal, "24.00"),
        "b": (int, "24"),
        "c": (Decimal, "0.1000000000000000000001"),
        "d": (Decimal, "-1E+2"),
    }


def test_a_thousand_digits_are_read() -> None:
    assert parse('{"a": ' + "9" * 1_000 + "}") == {"a": 10**1_000 - 1}


def test_sixty_four_levels_are_read_and_can_be_written_again() -> None:
    text = '{"a":' + "[" * 63 + "1" + "]" * 63 + "}"
    assert canonical.dump(parse(text)) == text
    with pytest.raises(BadArguments, match="nested deeper than 64"):
        parse(text.replace("[1]", "[[1]]"))


def test_brackets_quotes_and_escapes_within_texts_are_not_nesting() -> None:
    text = '{"a": "' + "[" * 200 + '\\"{{{\\\\", "b": [1]}'
    assert parse(text) == {"a": "[" * 200 + '"{{{\\', "b": [1]}


def test_whole_characters_and_written_out_escapes_pass() -> None:
    assert parse('{"a": "\\ud83d\\ude00", "b": "\\\\u0000"}') == {"a": "😀", "b": "\\u0000"}


def test_read_takes_any_one_value() -> None:
    assert [read("[1, 2.50]"), read('"x"'), read("null")] == [[1, Decimal("2.50")], "x", None]


def test_a_fault_is_found_in_values_that_were_never_text() -> None:
    assert fault({"a": ["x\0"]}) == "a text with a NUL character"
    assert fault(["\udfff"]) == "a text with half a character"
    assert fault(10**1_000) == "a number of more than 1,000 digits"
    assert fault({"a": [True, None, "é", Decimal("1.0")]}) is None


@given(st.text(), st.integers(5, 300))
def test_shown_text_is_one_visible_line_within_its_limit(text: str, limit: int) -> None:
    seen = shown(text, limit)
    assert len(seen) <= limit
    assert seen.isprintable()
