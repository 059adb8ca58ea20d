"""Secrets are taken out whole, in whatever form they stand, and ordinary words stay as they are."""

import base64
import json
import re
from dataclasses import dataclass
from decimal import Decimal
from time import process_time
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.looks import SHORT
from core.redact import MARK, SHORTEST, Redactor
from core.tasks import Json

VALUE = 'canary/"one"+é\\two'
NAMED = "[secret CANARY]"
KNOWING = Redactor({"CANARY": VALUE})
TELEGRAM = "123456789:AAF" + "x" * 32

FORMS = {
    "plain": VALUE,
    "address": quote(VALUE),
    "address, all of it": quote(VALUE, safe=""),
    "form": quote_plus(VALUE),
    "small hex": re.sub("%..", lambda found: found[0].lower(), quote(VALUE, safe="")),
    "json": json.dumps(VALUE)[1:-1],
    "json, unicode": json.dumps(VALUE, ensure_ascii=False)[1:-1],
    "json in json": json.dumps(json.dumps(VALUE))[3:-3],
    "python": repr(VALUE)[1:-1],
    "base64": base64.b64encode(VALUE.encode()).decode(),
    "base64 of a login": base64.b64encode(f"ada:{VALUE}".encode()).decode(),
    "base64 in a longer one": base64.urlsafe_b64encode(f"xx{VALUE}yy".encode()).decode(),
}

SECRETS = [
    ("sk-proj-abcdefghijklmnop1234", "[secret]"),
    ("key_sk-abcdefghijklmnop1234.", "key_[secret]."),
    ("xoxb-123456789012-abcdefgh", "[secret]"),
    ("xapp-1-A0123-456-abcdef", "[secret]"),
    ("https://hooks.slack.com/services/T0/B0/abcdef", "https://hooks.slack.com/services/[secret]"),
    ("ghp_" + "a1" * 18, "[secret]"),
    ("github_pat_" + "a1" * 30, "[secret]"),
    ("AKIAIOSFODNN7EXAMPLE", "[secret]"),
    (f"https://api.telegram.org/bot{TELEGRAM}/getMe", "https://api.telegram.org/bot[secret]/getMe"),
    ("?jwt=eyJhbGciOiJI.eyJzdWIiOiIx.Sfl-Kxw&x", "?jwt=[secret]&x"),
    ("%20eyJhbGciOiJI.eyJzdWIiOiIx.Sfl-Kxw", "%20[secret]"),
    ("Authorization: Bearer abcdefgh123", "Authorization: Bearer [secret]"),
    ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [secret]"),
    ("{'Authorization': 'token abcdefgh'}", "{'Authorization': 'token [secret]'}"),
    ("sent with bearer abc-def_123", "sent with bearer [secret]"),
    ("postgresql://ada:p@ss:w0rd@db/x", "postgresql://ada:[secret]@db/x"),
    ("a -----BEGIN RSA PRIVATE KEY-----\nMI\n-----END RSA PRIVATE KEY----- b", "a [secret] b"),
    ("a -----BEGIN PRIVATE KEY-----\nMIIEv, which was cut he", "a [secret]"),
    ("password=swordfish&x=1", "password=[secret]&x=1"),
    ("{'password': 'sword \\'fish', 'x': 1}", "{'password': '[secret]', 'x': 1}"),
    ('{"api_key":"abcd, efgh","b":1}', '{"api_key":"[secret]","b":1}'),
    ('{\\"client_secret\\": \\"abcdefgh\\"}', '{\\"client_secret\\": \\"[secret]\\"}'),
    ("token: abc123def", "token: [secret]"),
    ("aws_secret_access_key = abc/defg", "aws_secret_access_key = [secret]"),
]

WORDS = [
    "It went out at 10:04 UTC: t-12.3 refund order_id A7, amount 24.00",
    "task-abcdefghijklmnopqrstuvw",
    "token: expired",
    "password: must be long",
    "api_key: None",
    "next_page_token=abcdefgh1, nextPageToken: abc1234",
    "max_tokens=2000, tokens: 123456",
    "a bearer of news, a basic understanding",
    "sqlite+aiosqlite:////tmp/gatepost.db",
    "postgresql+asyncpg://ada@host:5432/db",
    "",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_registered_value_is_found_in_every_form(form: str) -> None:
    text = FORMS[form]
    assert KNOWING.redact(f"before {text} after") == f"before {NAMED} after"


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_what_looks_like_a_secret_is_taken_out_whole(text: str, shown: str) -> None:
    assert Redactor().redact(text) == shown
    assert Redactor().redact(shown) == shown


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_it_is_found_as_well_in_a_long_text(text: str, shown: str) -> None:
    long = " and so on;" * SHORT
    assert Redactor().redact(f"{long} {text}") == f"{long} {shown}"


@pytest.mark.parametrize("text", WORDS)
def test_ordinary_words_stay_as_they_are(text: str) -> None:
    assert Redactor().redact(text) is text
    assert KNOWING.clean(text) is text


def test_of_secrets_that_overlap_no_part_stays() -> None:
    two = Redactor({"ONE": "abcabc", "TWO": "cdefgh"})
    assert two.redact("-abcabcabc-") == "-[secret ONE]-"
    assert two.redact("-abcabcdefgh-") == "-[secret ONE]-"
    assert two.redact("password=xyz-abcabc-more") == "password=[secret ONE]"


def test_of_a_value_of_several_lines_each_is_found() -> None:
    key = Redactor({"KEY": "-----MINE-----\nabcdefghijklmnop\nqrstuvwxyz012345"})
    assert key.redact("│ qrstuvwxyz012345 │") == "│ [secret KEY] │"


def test_a_value_that_could_be_any_word_is_not_registered() -> None:
    short = Redactor({"PIN": "x" * (SHORTEST - 1), "BLANK": " " * SHORTEST})
    assert short.redact("x" * 20) == "x" * 20
    assert short.redact(f"{' ' * 20}x") == f"{' ' * 20}x"


def test_a_value_may_be_registered_later_and_its_first_name_stays() -> None:
    redactor = Redactor()
    assert redactor.redact("wednesday") == "wednesday"
    redactor.register("DAY [1]\n", "wednesday")
    redactor.register("OTHER", "wednesday")
    assert redactor.redact("on wednesday") == "on [secret DAY-1]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    token: str
    url: str | None
    args: dict[str, Json]
    number: int = 123456
    inner: "Shown | None" = None
    lines: tuple[str, ...] = ()


def test_a_value_of_ours_is_cleaned_in_all_its_parts_and_else_left_as_it_is() -> None:
    knowing = Redactor({"PIN": "123456", "CANARY": VALUE})
    plain = Shown(token=VALUE, url="https://x/y?token=abcdef1234", args={"n": Decimal("24.00")})
    assert knowing.clean(plain) is plain
    dirty = Shown(
        token="t",
        url=f"https://x/{quote(VALUE)}",
        args={"pin": 123456, VALUE: [VALUE], "password": "swordfish", "page_token": "swordfish", "n": 1},
        inner=Shown(token="t", url=None, args={}, lines=("fine", f"not {VALUE}")),
    )
    assert knowing.clean(dirty) == Shown(
        token="t",
        url=f"https://x/{NAMED}",
        args={"pin": "[secret PIN]", NAMED: [NAMED], "password": MARK, "page_token": "swordfish", "n": 1},
        inner=Shown(token="t", url=None, args={}, lines=("fine", f"not {NAMED}")),
    )
    assert knowing.clean(dirty).inner is not dirty.inner


def test_of_fields_whose_names_are_secrets_none_goes_missing() -> None:
    named = {f"x={VALUE}": "first", f"y={VALUE}": "second", f"x={NAMED}": "third", "z": "fourth"}
    shown = KNOWING.clean(named)
    assert shown == {f"x={NAMED}": "first", f"y={NAMED}": "second", f"x={NAMED} 2": "third", "z": "fourth"}
    assert KNOWING.clean({"token=aaaaaaaa1": 1, "token=bbbbbbbb2": 2}) == {
        f"token={MARK}": 1,
        f"token={MARK} 2": 2,
    }


@given(
    st.text(alphabet='ab1:=/@"\\ -_.%', max_size=40),
    st.text(alphabet='abé/+"\\ \n', min_size=SHORTEST, max_size=12).filter(str.strip),
)
def test_no_text_keeps_a_registered_value_and_redacting_again_changes_nothing(text: str, value: str) -> None:
    redactor = Redactor({"IT": value})
    once = redactor.redact(f"{text}{value}{text}")
    assert value not in once.replace("[secret IT]", "\0")
    assert redactor.redact(once) == once


LONG = (
    *("the refund of order A7, as asked: ", "canary/", "eyJ", "%20eyJ", ".eyJ12345678", "sk-", "://a:"),
    *("password=", 'password="', "key: ", "123456:", "Bearer ", "authorization: ", "-----BEGIN PRIVATE KEY"),
)


@pytest.mark.parametrize("part", LONG)
def test_time_grows_with_the_text_alone_whatever_stands_in_it(part: str) -> None:
    def seconds(size: int) -> float:
        text = (part * (size // len(part) + 1))[:size]
        began = process_time()
        KNOWING.redact(text)
        return process_time() - began

    short = max(seconds(50_000), 0.001)
    assert seconds(500_000) < short * 60  # ten times the text; a square would be a hundred times


def test_what_can_not_be_read_is_left_to_its_kind() -> None:
    odd: Any = object()
    assert KNOWING.clean(odd) is odd
    assert KNOWING.clean((b"x", None, True)) == (b"x", None, True)
