"""What the fake Telegram makes of a text by itself, as the real one does whatever entities come with it."""

import pytest

from tests.fakes.telegram.entities import formatted
from tests.fakes.telegram.found import detect
from tests.fakes.telegram.things import Json

WJ = "\u2060"


def found(text: str, *entities: Json) -> list[tuple[str, str]]:
    """What is found beside the entities: kind and words."""
    result = formatted(text, list(entities), too_long="", blame=lambda error, detail: pytest.fail(error))
    return [(one.type, one.text) for one in result.found]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("ask @sam_b now", "mention", "@sam_b"),
        ("(@everyone)", "mention", "@everyone"),
        ("send @gif", "mention", "@gif"),
        ("see example.com.", "url", "example.com"),
        ("see EXAMPLE.COM/a?b=c#d!", "url", "EXAMPLE.COM/a?b=c#d"),
        ("http://a.b.localnet:8080/x", "url", "http://a.b.localnet:8080/x"),
        ("(https://evil.com/a(b)c)", "url", "https://evil.com/a(b)c"),
        ("at 10.0.0.1 or", "url", "10.0.0.1"),
        ("open README.md", "url", "README.md"),
        ("user:pass@host.com", "url", "user:pass@host.com"),
        ("tg://resolve?domain=x", "url", "tg://resolve?domain=x"),
        ("пример.рф", "url", "пример.рф"),
        ("xn--e1afmkfd.xn--p1ai", "url", "xn--e1afmkfd.xn--p1ai"),
        ("write bob.b+x@mail.example.com!", "email", "bob.b+x@mail.example.com"),
        ("mailto:bob@example.com", "email", "bob@example.com"),
        ("to:bob@example.com", "url", "to:bob@example.com"),
        ("of #refund1", "hashtag", "#refund1"),
        ("buy $GOLD", "cashtag", "$GOLD"),
        ("/approve t-12.3", "bot_command", "/approve"),
        ("try /stop@gatepost_bot t-1", "bot_command", "/stop@gatepost_bot"),
        ("pay 4111 1111 1111 1111", "bank_card_number", "4111 1111 1111 1111"),
    ],
)
def test_telegram_finds(text: str, kind: str, words: str) -> None:
    assert found(text) == [(kind, words)]


@pytest.mark.parametrize(
    "text",
    [
        f"ask @{WJ}sam_b",
        f"see example{WJ}.com",
        f"see example.{WJ}com",
        f"bob@{WJ}example{WJ}.com",
        f"/{WJ}approve t-12",
        f"#{WJ}refund",
        f"https:/{WJ}/localhost/x",
        "a@b.c",
        "me@home",
        "@abc",
        "x@sam_b",
        "report.draft",
        "v1.2.3",
        "256.1.1.1",
        "1.5",
        "e.g. this",
        "a..com",
        "_a_.com",
        "https://localhost/x",
        "ssh://host.example",
        "and/or",
        "//approve",
        "</b>",
        "#12",
        "$gold",
        "4111 1111 1111 1112",
    ],
)
def test_telegram_finds_nothing(text: str) -> None:
    assert found(text) == []


def test_of_what_overlaps_the_first_counts() -> None:
    assert [one.text for one in detect("https://t.me/@sam_b /go@gatepost_bot")] == [
        "https://t.me/@sam_b",
        "/go@gatepost_bot",
    ]


def test_offsets_count_utf_16_units() -> None:
    (one,) = detect("😀😀 @sam_b")
    assert (one.offset, one.length) == (5, 6)


@pytest.mark.parametrize("kind", ["code", "pre"])
def test_nothing_is_found_in_code(kind: str) -> None:
    text = "@sam_b example.com /go"
    assert found(text, {"type": kind, "offset": 0, "length": len(text)}) == []
    assert found(text, {"type": kind, "offset": 7, "length": 4}) == [
        ("mention", "@sam_b"),
        ("bot_command", "/go"),
    ]


@pytest.mark.parametrize("kind", ["bold", "blockquote", "expandable_blockquote"])
def test_all_is_found_in_quotes_and_in_other_type(kind: str) -> None:
    assert found("@sam_b", {"type": kind, "offset": 0, "length": 6}) == [("mention", "@sam_b")]


def test_nothing_is_found_across_the_border_of_a_quote() -> None:
    assert found("ab.example.com", {"type": "blockquote", "offset": 0, "length": 5}) == []


def test_a_given_link_is_the_only_one() -> None:
    link = {"type": "text_link", "offset": 0, "length": 11, "url": "https://other.com"}
    assert found("example.com", link) == []
