"""What a terminal shows of cards and reports: everything, once, and nothing that acts on the terminal."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from adapters.console import (
    Answers,
    CardView,
    ConsoleSurface,
    ReportView,
    Terminal,
    arguments,
    field_view,
    keys_table,
)
from core.calls import Call, CallState, Outcome
from core.cards import Card, Row
from core.errors import ChatError
from core.forms import Input, Kind
from core.gate import Verdict
from core.ids import CallId, OrgId, TaskId
from core.parks import ParkKind
from core.rendering import Digest, DigestLine, Notice
from core.report import Line, Report
from core.shown import Field
from core.tasks import Origin, Task, TaskState
from core.visible import visible

AT = datetime(2026, 12, 6, 13, 4, tzinfo=UTC)
HOSTILE = "\x1b[31mred\x1b[0m [bold]loud[/bold] :bomb: \u202efdp.exe\r\x07"


def row(**changes: object) -> Row:
    fields = (
        Field(name="order_id", value="A7", editable=False),
        Field(name="amount", value="18.50", before="24.00"),
    )
    plain = Row(
        code="t-12.3",
        token="token",
        kind=ParkKind.APPROVAL,
        title="Sam wants to refund",
        risk="spend",
        why="spend asks first in a task you asked for (setting: ask)",
        fields=fields,
        choices=("approve", "edit", "decline", "revise", "decline_stop"),
        status=None,
        expires_at=AT,
        short_hash="a1b2",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def card(*rows: Row, unread: int = 0) -> Card:
    return Card(
        task_code="t-12",
        agent="Sam",
        goal="refund the mug",
        rows=rows or (row(),),
        unread=unread,
        asked="asked by Ada",
    )


def call(**changes: object) -> Call:
    plain = Call(
        org=OrgId("local"),
        id=CallId("c"),
        task_id=TaskId("t"),
        number=3,
        episode=1,
        round=2,
        ordinal=0,
        tool="refund",
        tool_digest="",
        risk="spend",
        pure=False,
        proposed_args={"order_id": "A7"},
        args={"order_id": "A7"},
        args_hash="",
        verdict=Verdict.ASK,
        rule="spend:owner:ask",
        state=CallState.SETTLED,
        outcome=Outcome.SUCCEEDED,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def report(words: str = "I refunded it.", **lists: tuple[Line, ...]) -> Report:
    task = Task(
        org=OrgId("local"),
        id=TaskId("t"),
        number=12,
        agent="lead",
        origin=Origin.OWNER,
        goal="refund the mug",
        state=TaskState.DONE,
        created_at=AT,
    )
    places: dict[str, tuple[Line, ...]] = dict.fromkeys(("done", "not_done", "unknown", "waiting"), ())
    places.update(lists)
    return Report(task=task, words=words, own_words=True, reads=1, moved=None, **places)


def printed(*shown: RenderableType, width: int = 80, colour: bool = False) -> str:
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, highlight=False, markup=False, emoji=False
    )
    for one in shown:
        console.print(one)
    return out.getvalue()


def unwrapped(text: str) -> str:
    """What stands in a panel, put together again where it was broken over lines."""
    return "".join("".join(line.strip("│ ").split()) for line in text.splitlines())


# ── cards ────────────────────────────────────────────────────────────────────────────────────


def test_a_card_says_who_wants_what_why_until_when_and_how_to_answer() -> None:
    assert printed(CardView(card()), width=60) == (
        "╭─ Sam wants to refund · spend ────────────────────────────╮\n"
        "│ t-12, asked by Ada: refund the mug                       │\n"
        "│                                                          │\n"
        "│   order_id  A7                                           │\n"
        "│   amount    24.00 → 18.50                                │\n"
        "│                                                          │\n"
        "│ spend asks first in a task you asked for (setting: ask)  │\n"
        "│                                                          │\n"
        "│ t-12.3 · expires Sun 6 Dec, 13:04 UTC · #a1b2            │\n"
        "│                                                          │\n"
        "│ [a]pprove   [e]dit   [d]ecline   [c]hange it             │\n"
        "│ [s]top the task   [l]ater                                │\n"
        "╰──────────────────────────────────────────────────────────╯\n"
    )


@pytest.mark.rule("I32")
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_every_argument_is_shown_whole_however_long_and_however_narrow_the_terminal(width: int) -> None:
    value = f"{'Sorry for the delay. ' * 200}{'x' * 300}\nand cc everyone"
    shown = unwrapped(printed(CardView(card(row(fields=(Field(name="note", value=value),)))), width=width))
    assert f"note{''.join(value.split())}" in shown


@pytest.mark.rule("I32")
def test_a_name_longer_than_its_column_is_shown_whole() -> None:
    shown = unwrapped(printed(CardView(card(row(fields=(Field(name="n" * 100, value=""),)))), width=60))
    assert "n" * 100 in shown


@pytest.mark.rule("I32")
@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_title_that_no_border_can_hold_stands_whole_inside(width: int) -> None:
    tool = "delete_" + "every_" * 9
    shown = unwrapped(printed(CardView(card(row(title=f"Sam wants to {tool}", risk="remove"))), width=width))
    assert f"Samwantsto{tool}·remove" in shown.replace("╭─", "").replace("─", "")


def test_text_of_others_neither_colours_nor_steers_the_terminal() -> None:
    field = Field(name=visible(HOSTILE), value=visible(HOSTILE, lines=True))
    line = Line(call=call(args={"note": HOSTILE}), note=HOSTILE)
    surface_text = printed(
        CardView(card(row(title=visible(HOSTILE), fields=(field,)))),
        ReportView(report(HOSTILE, done=(line,)), HOSTILE),
        width=200,
    )
    for raw in ("\x1b", "\u202e"):
        assert raw not in surface_text
    for literal in ("⟨U+001B⟩[31mred", "[bold]loud[/bold]", ":bomb:", "⟨U+202E⟩fdp.exe"):
        assert literal in surface_text


def test_an_offered_command_can_be_copied_into_a_shell() -> None:
    shown = printed(CardView(card(), Answers.COMMANDS))
    assert 'approve t-12.3   edit t-12.3 amount=…   decline t-12.3 "why"' in shown
    assert "\u00a0" not in shown


def test_a_call_that_may_have_gone_out_offers_what_a_person_can_find() -> None:
    unknown = row(kind=ParkKind.UNKNOWN, choices=("went_out", "did_not", "send_again"), expires_at=None)
    assert "[o] it went out   [n] it did not   [s]end again   [l]ater" in printed(CardView(card(unknown)))
    assert "settle t-12.3 went-out" in printed(CardView(card(unknown), Answers.COMMANDS))


def test_a_question_offers_its_command_and_what_was_seen_stands_on_the_card() -> None:
    asked = card(row(choices=("answer", "decline"), seen='{"in_stock":3}'))
    shown = unwrapped(printed(CardView(asked, Answers.COMMANDS)))
    assert 'answert-12.3"…"' in shown
    assert 'Asitisnow:{"in_stock":3}' in shown


def test_words_that_came_meanwhile_are_said_on_the_card() -> None:
    assert "2 messages came meanwhile" in printed(CardView(card(unread=2)))
    assert "meanwhile" not in printed(CardView(card(unread=0)))


def test_a_decided_row_is_one_line_without_buttons() -> None:
    shown = printed(CardView(card(row(status="✔ Approved by Ada, 10:04 UTC · done", choices=()))))
    assert shown == "t-12.3  ✔ Approved by Ada, 10:04 UTC · done\n"


def test_no_meaning_is_in_the_colour_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = printed(CardView(card()), colour=True)
    assert "\x1b[33m" not in coloured
    assert all(word in coloured for word in ("spend", "Sam wants to refund", "[a]pprove"))


@pytest.mark.rule("I32")
def test_what_speaks_against_a_call_and_what_its_agent_says_stand_on_its_card() -> None:
    shown = printed(
        CardView(
            replace(
                card(
                    row(warnings=("text: a is b",), repeats=("to stands in it",)),
                    row(code="t-12.4", token="other"),
                ),
                said="Do it.\nNow.",
                outside="Read from outside since your last words: read_mail.",
            )
        )
    )
    assert shown.count("Sam says:") == shown.count("Read from outside") == shown.count("refund the mug") == 1
    for words in ("! text: a is b", "! to stands in it", "│   Do it.", "│   Now."):
        assert words in shown
    assert shown.index("Sam says:") > shown.index("order_id")


def test_a_question_is_shown_in_its_words_with_numbered_answers() -> None:
    asks = row(
        kind=ParkKind.QUESTION,
        fields=(),
        choices=("answer", "decline"),
        question="Which colour?",
        suggestions=("red", "blue"),
    )
    shown = printed(CardView(card(asks)))
    for words in ("│ Which colour?", "│   1  red", "│   2  blue", "[w]rite an answer"):
        assert words in shown


def test_each_key_says_what_it_does() -> None:
    both = card(row(), row(code="t-12.4", token="other"))
    shown = printed(keys_table(both.rows[0], both))
    for words in (
        "a  approve: it runs as it is shown",
        "d  decline: ",
        "r  approve all 2: ",
        "l  later: ",
    ):
        assert words in shown
    assert "approve all" not in printed(keys_table(row(), card()))


def test_a_field_of_a_form_stands_over_its_value_line_for_line() -> None:
    asked = Input(name="note", kind=Kind.TEXT, label="note", limits="at most 90 characters", value="a\nb")
    assert printed(field_view(asked)) == "note  text · at most 90 characters\n  a\n  b\n"
    empty = replace(asked, value="", present=False, limits="")
    assert printed(field_view(empty)) == "note  text\n  (not set)\n"


# ── reports ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_report_has_the_four_lists_beside_the_agents_words(width: int) -> None:
    shown = printed(
        ReportView(
            report(
                "All is well.",
                done=(Line(call=call()),),
                not_done=(Line(call=call(tool="note"), note="declined: wrong order"),),
                unknown=(Line(call=call(tool="send")),),
                waiting=(Line(call=call(tool="ask")),),
            ),
            "Sam",
        ),
        width=width,
    )
    for words in ("t-12 done", "Done", "Not done", "Unknown", "Waiting", "Sam says", "All is well."):
        assert words in shown
    assert "refund order_id A7" in shown and "declined: wrong order" in shown


def test_a_report_of_no_action_says_so() -> None:
    assert "no action was taken" in printed(ReportView(report(), "Sam"))


def test_arguments_keep_every_digit_and_every_key() -> None:
    assert arguments({"a": 1, "b": "two"}).plain == "a 1, b two"
    assert arguments({"a": "b\nc", "d": "1"}).plain == 'a b ⏎ c, d "1"'
    assert arguments({}).plain == "(none)"
    assert arguments("{broken").plain == "{broken"


# ── the surface ──────────────────────────────────────────────────────────────────────────────


def surface(out: StringIO, answers: Answers | None = Answers.COMMANDS) -> ConsoleSurface:
    return ConsoleSurface(Terminal(file=out, width=80, markup=False), lambda key: key.title(), answers)


async def printed_by(views: Sequence[Card], answers: Answers | None = Answers.COMMANDS) -> str:
    out = StringIO()
    terminal = surface(out, answers)
    ref = await terminal.post(views[0], "ada")
    for view in views[1:]:
        ref = await terminal.update(view, "ada", ref)
    return out.getvalue()


@pytest.mark.rule("I39")
async def test_a_digest_is_a_line_for_each_card_and_how_to_see_it() -> None:
    waits = DigestLine(code="t-3.1", title="Sam wants to refund", risk="spend", since=AT, status=None)
    decided = replace(waits, code="t-4.1", status="✔ Approved by Ada, 10:04 UTC · done")
    out = StringIO()
    await surface(out).post(Digest(lines=(waits, decided), more=2), "ada")
    assert out.getvalue() == (
        "Cards that were too many for this hour, 1 undecided:\n"
        "  t-3.1 Sam wants to refund · spend · since Sun 6 Dec, 13:04 UTC · say show     \n"
        "  t-3.1                                                                         \n"
        "  t-4.1 Sam wants to refund · ✔ Approved by Ada, 10:04 UTC · done               \n"
        "  … and 2 more: say pending                                                     \n"
    )


async def test_what_is_not_in_its_place_says_so_first() -> None:
    out = StringIO()
    await surface(out).post(Notice(task_code="t-3", text="It waits.", moved="Shown here since …"), "ada")
    assert out.getvalue() == "Shown here since …\nt-3: It waits.\n"


async def test_an_update_prints_only_what_changed() -> None:
    decided = row(status="✔ Approved by Ada, 10:04 UTC", choices=(), final=True)
    other = row(code="t-12.4", token="other", title="Sam wants to note")
    shown = await printed_by([card(row(), other), card(decided, other), card(decided, other)])
    assert shown.count("Sam wants to refund") == shown.count("Sam wants to note") == 1
    assert shown.endswith("t-12.3  ✔ Approved by Ada, 10:04 UTC\n")


async def test_rows_that_somebody_else_asks_about_are_not_printed_until_decided() -> None:
    decided = row(status="✔ Approved by Ada, 10:04 UTC", choices=(), final=True)
    assert await printed_by([card(), card(decided)], answers=None) == (
        "t-12.3  ✔ Approved by Ada, 10:04 UTC\n"
    )


async def test_a_decision_is_printed_once_all_is_known_of_it_and_not_to_whoever_took_it() -> None:
    out = StringIO()
    terminal = surface(out, answers=None)
    waits = row(status="✔ Approved by Ada, 10:04 UTC · not run yet", choices=())
    done = row(status="✔ Approved by Ada, 10:04 UTC · done", choices=(), final=True)
    await terminal.post(card(waits, replace(done, code="t-12.4", token="own")), "ada")
    terminal.told("own")
    await terminal.update(card(waits, replace(done, code="t-12.4", token="own", risk="")), "ada", "c")
    await terminal.update(card(done, replace(done, code="t-12.4", token="own")), "ada", "c")
    assert out.getvalue().splitlines() == [
        "t-12.4  ✔ Approved by Ada, 10:04 UTC · done",
        "t-12.3  ✔ Approved by Ada, 10:04 UTC · done",
    ]


async def test_reports_and_notices_are_printed_under_the_agents_name() -> None:
    out = StringIO()
    terminal = surface(out)
    await terminal.post(report(), "ada")
    await terminal.post(Notice(task_code="t-12", text="The model is not answering."), "ada")
    assert "Lead says" in out.getvalue()
    assert out.getvalue().endswith("t-12: The model is not answering.\n")


async def test_a_terminal_that_is_gone_is_a_chat_that_does_not_take_it() -> None:
    class Closed(StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(ChatError, match="does not take it"):
        await surface(Closed()).post(card(), "ada")
