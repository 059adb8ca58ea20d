"""Whatever a card holds, Slack takes it, and what can be approved there is shown to the character."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adapters.slack.shown.answers import MORE, MOST_MESSAGES, messages_of, modal_of
from adapters.slack.shown.cards import fits
from adapters.slack.shown.home import home_view
from adapters.slack.shown.kit import Block
from adapters.slack.shown.modals import (
    SUBMITTED,
    decline_form,
    edit_form,
    new_task_form,
    review,
    told,
    words_form,
)
from adapters.slack.shown.posts import Message, message_of
from adapters.slack.words import escaped
from core.canonical import dump
from core.cards import Card, Verb, pages
from core.chat import Answer, Table
from core.forms import form
from core.home import Home, TaskLine
from core.shown import ROOM
from core.tasks import Json
from core.tools import Tool
from tests.acceptance.slack_office import words_of
from tests.fakes.slack.limits import check_message, check_view
from tests.fakes.slack.things import Refused
from tests.samples.extremes import CARDS, LONG, TOOL_NAME, VIEWS, card_of, crowd
from tests.samples.reading import arguments, buttons, objects
from tests.samples.shop import AT, TOOLS, call, park, shown
from tests.samples.slack_cards import SAMPLES


def takes(message: Message) -> None:
    """Slack takes *message*, and so does our own count. Raises Refused."""
    check_message(message.text, message.blocks)
    assert fits(message.blocks)


def takes_view(view: Block) -> None:
    check_view(view, "modal", "home")


@cache
def made_of(name: str) -> Card:
    return CARDS[name](ROOM)


@pytest.mark.rule("I32")
@pytest.mark.parametrize("name", CARDS)
def test_slack_takes_a_card_whatever_is_on_it(name: str) -> None:
    made = made_of(name)
    message = message_of(made)
    takes(message)
    assert list(buttons(message.blocks)) or not made.open  # whatever had to go, it can be answered
    for answer in messages_of(Answer(views=(made,), words=LONG)):
        takes(answer)


@pytest.mark.parametrize("name", VIEWS)
def test_slack_takes_every_other_message(name: str) -> None:
    takes(message_of(VIEWS[name], "n" * 80))


def tool(properties: dict[str, Json]) -> Tool:
    return Tool(
        name=TOOL_NAME,
        description="",
        risk=TOOLS["send_note"].risk,
        parameters={"type": "object", "properties": properties},
        handler=TOOLS["send_note"].handler,
    )


_TEXT: Final[Json] = {"type": "string", "title": LONG, "description": LONG * 9, "maxLength": 20_000}
FIELDS: Final[dict[str, tuple[dict[str, Json], dict[str, Json]]]] = {
    "20,000 characters": ({"text": _TEXT, "to": _TEXT}, {"text": "x" * 20_000, "to": LONG}),
    "the longest there are": (
        {f"n{i}": _TEXT for i in range(99)},
        {f"n{i}": "漢" * 2_999 for i in range(99)},
    ),
    "very many": ({f"n{i}": _TEXT for i in range(300)}, {}),
    "long names": ({"n" * 255: _TEXT, "n" * 256: _TEXT}, {"n" * 255: "a", "n" * 256: "a"}),
    "many choices": (
        {
            "a": {"enum": [f"{n}" for n in range(100)]},
            "b": {"enum": [f"{n}" for n in range(101)]},
            "c": {"enum": ["x" * 76, "y"]},
            "d": {"type": "array", "items": {"type": "string", "enum": ["x" * 75, "y"]}},
            "e": {"enum": ["", "\u202e" * 9, None, 1, True]},
        },
        {"a": "7", "b": "7", "c": "y", "d": ["x" * 75, "y"], "e": "\u202e" * 9},
    ),
    "nothing that can be changed": ({"text": _TEXT}, {"text": "x" * 3_001}),
    "no field": ({}, {}),
}


@pytest.mark.parametrize("name", FIELDS)
def test_slack_takes_the_form_of_any_call(name: str) -> None:
    properties, args = FIELDS[name]
    made = tool(properties)
    takes_view(edit_form(form(made, args), "t" * 22, made.name))


@pytest.mark.parametrize("length", [3_000, 30_000, 60_000])
def test_a_review_shows_all_or_is_none(length: int) -> None:
    args = {"to": LONG, "text": "漢" * length, "a" * 80: "\n" * 99}
    card = shown(*[(park(one), one) for one in [call(TOOL_NAME, args)]])
    answer = Answer(views=(card,), pages=pages(card.rows[0]))
    view = review(answer)
    if view is None:
        (message,) = messages_of(answer)
        assert length == 60_000 and "the command line" in str(message.blocks)
        takes(message)
        return
    takes_view(view)
    boxes = [o["elements"][0]["text"] for o in objects(view) if o.get("type") == "rich_text_preformatted"]
    assert "".join(boxes) == "".join(answer.pages)
    assert (view["submit"]["text"], view["callback_id"]) == ("Approve", SUBMITTED)


def test_slack_takes_every_other_form() -> None:
    words = "\u202e" * 40_000
    views = [
        decline_form("t" * 22),
        words_form(Verb.REVISE, "t" * 22, words),
        new_task_form(words, "C" * 99, "C" * 99),
        told(words),
        told(""),
        modal_of(Answer(words=words, views=(crowd(16, ROOM),))),
    ]
    for view in views:
        assert view is not None
        takes_view(view)


def test_what_is_told_in_a_modal_is_told_whole() -> None:
    words = "".join(f"{n} " for n in range(8_000))
    view = told(words)
    takes_view(view)
    assert "".join(block["text"]["text"] for block in view["blocks"]) == words


def test_slack_takes_a_page_of_the_longest_of_everything() -> None:
    line = TaskLine(code="t-999999999", agent=LONG, goal=LONG * 9, state="waiting", at=AT, stoppable=True)
    one = made_of("one of the longest")
    cards = [replace(one, rows=(replace(one.rows[0], token=f"token {n}"),)) for n in range(10)]
    full = Home(
        name=LONG,
        waiting=tuple(cards),
        more=tuple(f"t-{n}.1" for n in range(190)),
        going_on=(line,) * 10,
        done=(line,) * 10,
    )
    view = home_view(full)
    takes_view(view)
    assert view["blocks"][-1]["text"]["text"].startswith("t-999999999")
    takes_view(home_view(replace(full, waiting=(), more=(), going_on=(), done=())))


TABLES: Final = {
    "50 rows of 5": Table(headings=("When", "Task", "Who", "Move", "Rule"), rows=((LONG * 9,) * 5,) * 50),
    "cells of nothing": Table(headings=("A", "B"), rows=(("", ""),) * 50),
    "wide cells of nothing": Table(headings=("A" * 60, "B" * 60), rows=(("", ""), (" \n", "b"))),
    "no rows": Table(headings=("A",), rows=()),
}


@pytest.mark.parametrize("name", TABLES)
def test_slack_takes_every_table_and_every_row_is_in_it(name: str) -> None:
    table = TABLES[name]
    made = messages_of(Answer(words="x" * 3_000, table=table))
    for message in made:
        takes(message)
    assert 1 <= len(made) <= 5
    shows = "\n".join(str(message.blocks) for message in made)
    rows = shows.count("rich_text_section") if "rich_text_list" in shows else shows.count("\\n")
    assert rows >= len(table.rows)


def test_slack_takes_any_words_and_a_table_after_them() -> None:
    for message in messages_of(Answer(words="&" * 40_000, table=TABLES["50 rows of 5"])):
        takes(message)
    assert messages_of(Answer()) == ()


def test_slack_takes_each_sample() -> None:
    assert len(SAMPLES) > 30
    for sample in SAMPLES:
        made = sample.made()
        if "type" in made:
            takes_view(made)
        else:
            check_message(made["text"], made["blocks"])


def test_the_check_finds_fault() -> None:
    with pytest.raises(Refused):
        takes(Message(text="", blocks=[{"type": "divider"}] * 51))


# ── what is shown is what would run ──────────────────────────────────────────────────────────


def approvable(blocks: Sequence[Block]) -> Iterator[dict[str, Json]]:
    """The arguments that stand above each Approve button, since the buttons before it."""
    since: list[Block] = []
    for block in blocks:
        if block["type"] == "rich_text":
            since.append(block)
        if block["type"] == "actions":
            if any(one["action_id"] == Verb.APPROVE for one in block["elements"]):
                merged = {"elements": [part for one in since for part in one["elements"]]}
                yield arguments(merged)
            since = []


def dumped(args: dict[str, Json]) -> dict[str, str]:
    return {name: dump(value) for name, value in args.items()}


@settings(max_examples=300, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**63))
def test_slack_takes_a_card_of_anything(seed: int) -> None:
    made, _ = card_of(Random(seed), ROOM)
    takes(message_of(made))
    takes_view(home_view(Home(name="", waiting=(made,), more=(), going_on=(), done=())))


@pytest.mark.rule("I32")
@settings(max_examples=2_000, deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**63))
def test_every_argument_of_what_may_be_approved_is_read_back_from_the_blocks(seed: int) -> None:
    rng = Random(seed)
    made, runs = card_of(rng, ROOM)
    message = message_of(made)
    wanted = [runs[row.code] for row in made.rows if Verb.APPROVE in row.choices]
    assert [dumped(one) for one in approvable(message.blocks)] == [dumped(one) for one in wanted]
    waiting = [row for row in made.rows if row.status is None]
    if 0 < len(waiting) <= 2:  # on a page more may have no room
        page = Home(name="", waiting=(replace(made, rows=tuple(waiting)),), more=(), going_on=(), done=())
        assert [dumped(one) for one in approvable(home_view(page)["blocks"])] == [
            dumped(one) for one in wanted
        ]


@pytest.mark.rule("I32")
def test_a_call_that_has_no_room_at_all_is_reviewed_and_not_approved() -> None:
    """Shown as on a terminal, where there is any room: no message takes that."""
    pairs = [(park(one), one) for one in (call("send_note", {"text": "x" * 9_000}, n) for n in (1, 2))]
    card = shown(*pairs, room=None)
    assert card.choices == (Verb.APPROVE_REST,)
    message = message_of(card)
    takes(message)
    offered = [one["action_id"] for one in buttons(message.blocks)]
    assert offered == [Verb.REVIEW, Verb.DECLINE, Verb.REVISE] * 2


# ── nothing is read as markup ────────────────────────────────────────────────────────────────

OURS: Final = re.compile(
    r"(?:\S+ (?:read|draft|routine|contact|spend|change|remove|profile) · |read · )?"
    r"t-\d+(?:\.\d+)?(?:v\d+)? · expires "
    r"<!date\^\d+\^\{date_short_pretty\} at \{time\}\|\w+ \d+ \w+, \d\d:\d\d UTC> · #[0-9a-f]{4}"
)
"""A call's risk and code, a moment and a hash: none of it is anybody's words."""


@cache
def shown_of_everything() -> tuple[tuple[str, Any], ...]:
    """By its name, all that is made of the samples and the extremes."""
    return tuple(_made_of_everything())


def _made_of_everything() -> Iterator[tuple[str, Any]]:
    for sample in SAMPLES:
        yield f"the sample {sample.name}", sample.made()
    for name in CARDS:
        message = message_of(made_of(name))
        yield name, {"text": message.text, "blocks": message.blocks}
        yield name, home_view(Home(name=LONG, waiting=(made_of(name),), more=(), going_on=(), done=()))
    for name, view in VIEWS.items():
        message = message_of(view, LONG)
        yield name, {"text": message.text, "blocks": message.blocks}
    for table in TABLES.values():
        for message in messages_of(Answer(words=LONG, table=table)):
            yield "a table", {"text": message.text, "blocks": message.blocks}
    for name, (properties, args) in FIELDS.items():
        yield name, edit_form(form(tool(properties), args), "t", TOOL_NAME)


def test_no_markup_is_made_but_of_words_of_our_own() -> None:
    found = 0
    for name, made in shown_of_everything():
        for one in objects(made):
            assert one.get("type") != "markdown", name
            if one.get("type") == "mrkdwn":
                assert OURS.fullmatch(one["text"]), (name, one)
                found += 1
    assert found > 30


def test_rich_text_names_nobody_and_leads_nowhere() -> None:
    kinds = {one["type"] for _, made in shown_of_everything() for one in objects(made) if "type" in one}
    assert not kinds & {"user", "usergroup", "team", "channel", "broadcast", "link", "emoji", "image"}
    assert {"rich_text_section", "rich_text_preformatted", "date"} <= kinds


def test_an_address_is_opened_by_the_button_of_an_account_alone() -> None:
    links = [one for _, made in shown_of_everything() for one in objects(made) if "url" in one]
    assert {one["action_id"] for one in links} == {"connect_open"}


def test_what_a_notification_says_is_escaped() -> None:
    texts = [made["text"] for _, made in shown_of_everything() if "text" in made]
    assert len(texts) > 30
    for text in texts:
        plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        assert "<" not in text and escaped(plain) == text


def test_an_answer_of_more_messages_than_slack_takes_says_that_there_is_more() -> None:
    messages = messages_of(Answer(words="x" * 100_000))
    assert (len(messages), words_of(messages[-1].blocks)) == (MOST_MESSAGES, MORE)
    shown = modal_of(Answer(words="x" * 100_000))
    assert shown is not None and words_of(shown["blocks"]).endswith(MORE)
