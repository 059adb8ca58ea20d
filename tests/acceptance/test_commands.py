"""What people type in a chat, line by line, and what it is answered: one table for every surface."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.cards import Card
from core.chat import SILENCE
from core.commanded import MANY
from core.commands import COMMANDS, SETTLING, Kind, listed, parse
from core.errors import CommandError
from core.parks import Choice
from core.people import Role
from tests.acceptance.office import Office
from tests.acceptance.shop import REFUND_SCRIPT, U1, U2, U9
from tests.contract.planted_memory import MemoryPlanted

LINES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "commands.yaml").read_text()
)


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    """U1's task waits for a click on a refund."""
    made = Office(planted=MemoryPlanted())
    await made.people()
    made.opens(list(REFUND_SCRIPT))
    assert await made.seat(U1).says("refund the mug") == SILENCE
    await made.last.works()
    yield made


async def test_every_line_of_the_table_is_answered_as_it_says(office: Office) -> None:
    seats = {person.name: office.seat(person) for person in (U1, U2, U9)}
    for line in LINES:
        answer = await seats[line["who"]].types(line["types"])
        rows = [] if answer.table is None else [list(row) for row in answer.table.rows]
        cards = [row.code for view in answer.views if isinstance(view, Card) for row in view.rows]
        told = {"words": answer.words, "rows": rows, "cards": cards}
        meant = {"words": line["answers"], "rows": line.get("rows", []), "cards": line.get("cards", [])}
        told["words"] = _as_far(meant["words"], answer.words)
        assert told == meant, line["types"]


def _as_far(meant: str, words: str) -> str:
    """*words*, with what *meant* leaves open left open."""
    pattern = ".*".join(map(re.escape, meant.split("…")))
    return meant if re.fullmatch(pattern, words, re.DOTALL) else words


async def test_a_command_that_arrives_twice_opens_one_task(office: Office) -> None:
    ada = office.seat(U1)
    first = await ada.types("new look around")
    assert (first.words, await ada.again()) == ("t-2 opened for Sam: look around", first)
    (task,) = [await office.task(2)]
    assert (task.chat, task.thread_ref) == ("D1", "D1")


async def test_the_trail_of_a_task_names_who_moved_it(office: Office) -> None:
    ada = office.seat(U1)
    await ada.types("approve t-1.1")
    answer = await ada.types("audit t-1")
    assert answer.table is not None
    moves = {(row[2], row[3]) for row in answer.table.rows}
    assert ("U1", "decide") in moves
    assert {row[1] for row in answer.table.rows} == {"t-1"}


async def test_the_trail_ends_with_what_was_done_last_though_nobody_seals_it(office: Office) -> None:
    ada = office.seat(U1)
    for _ in range(MANY):
        await ada.types("pause")
        await ada.types("resume")
    await ada.types("stop t-1")
    answer = await ada.types("audit")
    assert answer.table is not None
    assert (len(answer.table.rows), answer.table.rows[-1][1:4]) == (MANY, ("t-1", "U1", "stop"))


@pytest.mark.parametrize("role", list(Role))
async def test_help_lists_what_a_role_may_use_and_nothing_else(office: Office, role: Role) -> None:
    person = {Role.OWNER: U1, Role.APPROVER: U2, Role.MEMBER: U9}[role]
    answer = await office.seat(person).types("help")
    assert answer.table is not None
    reach = {Role.OWNER: set(Role), Role.APPROVER: {Role.APPROVER, Role.MEMBER}, Role.MEMBER: {Role.MEMBER}}
    mine = [command for command in COMMANDS if command.right in reach[role]]
    assert answer.table.rows == listed(mine)
    assert 9 < len(mine) <= len(COMMANDS)


def test_each_commands_example_is_how_it_is_written() -> None:
    assert len(COMMANDS) > 20
    for command in COMMANDS:
        line = parse(command.example)
        assert line.command == command
        asked = {a.name for a in command.arguments if not a.optional and a.kind is not Kind.CHANGES}
        assert asked <= set(line.values)


def test_every_choice_of_a_park_can_be_typed() -> None:
    assert set(SETTLING) == {str(choice).replace("_", "-") for choice in Choice}


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ('a=1 b="two words"', {"a": "1", "b": "two words"}),
        ("b=“two words” c=", {"b": "two words", "c": ""}),
        (r'b="say \"hi\" \\ now"', {"b": r'say "hi" \ now'}),
        ('b="two\nlines"', {"b": "two\nlines"}),
        ("a=x=y", {"a": "x=y"}),
    ],
)
def test_values_with_blanks_are_quoted(text: str, changes: dict[str, str]) -> None:
    assert parse(f"edit t-1.2 {text}").changes == changes


@pytest.mark.parametrize("text", ['a="open', "a=“open", "=1", "a=1 b", '"a=1'])
def test_what_is_not_field_and_value_is_refused_whole(text: str) -> None:
    with pytest.raises(CommandError, match="as field=value"):
        parse(f"edit t-1.2 {text}")


def test_words_of_a_command_stay_as_they_were_typed() -> None:
    assert parse("revise t-1.2 “half”  of it — please").values["HOW"] == "“half”  of it — please"
