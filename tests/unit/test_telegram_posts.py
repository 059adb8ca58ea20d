"""Reports, notices, how it goes and digests in Telegram: within its limits, and what they cut is a file."""

from dataclasses import replace

import pytest

from adapters.telegram.shown.keyboards import Style
from adapters.telegram.shown.posts import file_of, in_words, message_of
from adapters.telegram.shown.text import Kind, unbroken
from core.calls import Outcome
from core.rendering import Digest, Notice, Progress
from core.report import Report, build
from core.shown import ROOM
from core.tasks import TaskState
from tests.samples import views as samples
from tests.samples.extremes import CARDS, LONG, VIEWS
from tests.samples.shop import ROSTER, call, ran, task
from tests.samples.telegram_reading import pieces, quoted, takes


@pytest.mark.parametrize("name", VIEWS)
def test_telegram_takes_every_other_message(name: str) -> None:
    takes(message_of(VIEWS[name], "n" * 80), "/pending")
    takes(in_words(VIEWS[name]), "/show", "/help", "/pending")


@pytest.mark.parametrize("name", CARDS)
def test_telegram_takes_a_card_in_plain_words(name: str) -> None:
    made = in_words(CARDS[name](ROOM))
    takes(made, "/show", "/help")
    assert made.keyboard == () and made.text.stretches == ()


def done(words: str, calls: int = 1) -> Report:
    made = [
        ran(call("refund", {"amount": n, "order_id": "A7"}, n), Outcome.SUCCEEDED, {})
        for n in range(1, calls + 1)
    ]
    return build(task(state=TaskState.DONE, result={"value": words}), made, (), ROSTER)


def test_a_report_says_what_was_done_and_then_what_the_agent_says() -> None:
    made = message_of(samples.report_done(), "Sam")
    takes(made)
    parts = unbroken(made.text.words).split("\n\n")
    assert parts[0] == "✅ t-41 done\nRefund the mug that arrived broken"
    assert parts[1].startswith("Done\n• refund customer_email mara.lind@example.com, amount 18.50")
    assert parts[2].startswith("Not done\n• send_note to mara.lind@example.com")
    assert parts[2].endswith(" · declined: I call her myself")
    assert parts[3] == "It looked something up once."
    assert parts[4].startswith("Sam says:\nMara has 18.50 USD back")
    assert unbroken(quoted(made.text)[0]) == samples.report_done().words
    assert made.keyboard == () and made.tokens == ()


def test_a_report_of_nothing_says_so() -> None:
    made = message_of(build(task(state=TaskState.STOPPED), (), (), ROSTER))
    assert "Nothing was done in the world." in made.text.words
    assert "How it ended:\nIt was stopped." in made.text.words


def test_an_agents_long_words_are_folded_and_their_rest_is_a_file() -> None:
    words = "".join(f"{n} words " for n in range(900))
    made = message_of(done(words), "Sam")
    takes(made)
    assert {one.kind for one in made.text.stretches} >= {Kind.FOLDED}
    assert file_of(done(words)) == ("t-41 report", words)
    assert unbroken(quoted(made.text)[0])[:-1] == words[: len(unbroken(quoted(made.text)[0])) - 1]
    assert quoted(made.text)[0].endswith("…")
    assert file_of(done("Refunded. See a.example.")) is None


def test_what_a_report_has_no_room_for_is_counted() -> None:
    made = message_of(done("x" * 5_000, calls=120), "Sam")
    takes(made)
    shown = made.text.words.count("• ")
    assert 10 < shown < 120
    assert f"and {120 - shown} more: /show t-41" in made.text.words
    assert [p.words for p in pieces(made.text) if "code" in p.kinds] == ["/show t-41"]


def test_long_lines_of_a_report_leave_room_for_the_agents_words() -> None:
    calls = [
        ran(
            call("send_note", {f"n{i}": "long " * 20 for i in range(9)}, n),
            Outcome.FAILED,
            {"error": "e" * 300},
        )
        for n in range(1, 41)
    ]
    made = message_of(build(task(result={"value": "words " * 400}), calls, (), ROSTER), "Sam")
    takes(made)
    shown = made.text.words.count("• ")
    assert 0 < shown < 20 and f"and {40 - shown} more: /show t-41" in made.text.words
    assert quoted(made.text)[0].endswith("…") and len(quoted(made.text)[0]) > 1_300


def test_a_notice_is_its_words_and_why_it_stands_elsewhere() -> None:
    made = message_of(Notice(task_code="t-1", text="It waits: see /help.", moved="The chat is gone."))
    assert unbroken(made.text.words) == "↪ The chat is gone.\nIt waits: see /help."
    long = Notice(task_code="t-1", text="x " * 4_000)
    takes(message_of(long))
    assert file_of(long) == ("t-1 notice", "x " * 4_000)


def test_how_it_goes_has_a_button_that_stops_it_while_it_does() -> None:
    going = message_of(Progress(task_code="t-41", text="Sam runs refund…", over=False))
    assert going.text.words == "⏳ t-41 · Sam runs refund…"
    assert [(b.words, b.data) for row in going.keyboard for b in row] == [("⏹ Stop", "/stop t-41")]
    over = message_of(Progress(task_code="t-41", text="Finished.", over=True))
    assert (over.text.words, over.keyboard) == ("t-41 · Finished.", ())


def test_each_call_of_a_digest_that_waits_can_be_shown() -> None:
    made = message_of(samples.digest())
    takes(made, "/pending")
    waiting = [f"/show {line.code}" for line in samples.digest().waiting]
    assert [b.data for row in made.keyboard for b in row] == waiting
    assert {b.style for row in made.keyboard for b in row} == {Style.PRIMARY}
    assert "Too many cards for this hour" in made.text.words
    assert made.text.words.endswith("and 7 more: /pending")
    assert "t-40.1 · Sam wants to refund" in made.text.words


def test_a_digest_that_has_no_room_for_all_counts_the_rest() -> None:
    long = replace(samples.digest().lines[0], title=LONG)
    made = message_of(Digest(lines=(long,) * 30, more=2))
    takes(made, "/pending")
    named = made.text.words.count("t-41.1 · ")
    assert named < 30 and f"and {32 - named} more" in made.text.words
    assert sum(map(len, made.keyboard)) == named
    assert message_of(Digest(lines=(), more=0)).text.words == "Nothing of this waits any more"


def test_what_a_card_has_no_room_for_is_a_file_beside_it() -> None:
    card = samples.long_post()
    file = file_of(card)
    assert file is not None
    name, words = file
    assert name == "t-41.1"
    assert "11. Every mug we sell" in words
    assert file_of(samples.refund()) is None


def test_in_plain_words_a_card_says_which_command_answers() -> None:
    made = in_words(samples.refund()).text.words
    assert "amount: 24.00" in unbroken(made)
    assert "Answer it with a command: /show t-41.1, or /help." in made
    assert unbroken(in_words(samples.report_done()).text.words).startswith("t-41 done: Mara has 18.50")
