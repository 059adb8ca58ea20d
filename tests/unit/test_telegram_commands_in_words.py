"""What core's words name in backticks, in Telegram: typed with a slash, and nothing that a tap would do."""

import pytest

from adapters.telegram.shown.answers import messages_of, toast
from adapters.telegram.shown.commands import SHOWING, typed_here, with_commands
from core.chat import Answer
from core.commands import BY_NAME
from core.front import GONE, UNKNOWN
from tests.samples.telegram_reading import pieces, takes


def test_a_command_is_as_it_is_typed_here() -> None:
    assert typed_here(UNKNOWN).endswith("say /join with its code.")
    assert toast(GONE) == "This button is no longer valid. /pending shows what waits."
    (made,) = messages_of(Answer(words="Give the command `approve t-1.2`."))
    takes(made)
    assert made.text.words == "Give the command /approve t-1.2."
    assert [p.words for p in pieces(made.text) if "code" in p.kinds] == ["/approve t-1.2"]


def test_what_shows_something_alone_can_be_tapped() -> None:
    (made,) = messages_of(Answer(words=GONE))
    takes(made, "/pending")
    assert SHOWING <= set(BY_NAME)


@pytest.mark.parametrize(
    "words",
    [
        "`approve t-1.2`",
        "`stop`",
        "`pause`",
        "`resume lead`",
        "`pending lead`",
        "x`pending`",
        "`pending`x",
        "`python -m bot web`",
        "`pending\nstop`",
        "/stop `x` /pause",
        "``pending``/stop",
        "`a.example`",
    ],
)
def test_what_people_put_between_backticks_is_nothing_that_a_tap_does(words: str) -> None:
    for said in (words, f"t-1: {words}; t-2: pay `stop`."):
        (made,) = messages_of(Answer(words=said))
        takes(made, *(["/pending"] if "``pending``" in said else []))


def test_words_without_a_command_stay_as_they_are() -> None:
    for words in ("", "`x`", "`python -m bot web`", "it`s `", "`stopping`"):
        assert typed_here(words) == words == with_commands(words).words.replace("\u2060", "")
