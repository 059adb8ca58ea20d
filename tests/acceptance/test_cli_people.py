"""A second person at a second terminal: invited by code, named by a rule, and the one who approves."""

from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine, command_line
from tests.unit.test_people_doc import CODE

GOAL = "refund the mug that arrived broken"


@pytest.fixture
def ada(tmp_path: Path) -> CommandLine:
    """A terminal over a SQLite file that is not there yet."""
    return command_line(f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}", tmp_path)


@pytest.mark.rule("I14", "C6", "C14")
async def test_whom_a_rule_names_approves_at_their_own_terminal_and_nobody_else(ada: CommandLine) -> None:
    ben = ada.with_env(LOGNAME="ben")
    made = await ada.does("org", "create", "Bakery", "--owner", "Ada")
    await ada.does("people", "join", CODE.findall(made.out)[0])
    invited = await ada.does("people", "invite", "Ben", "--role", "approver")
    await ben.does("people", "join", CODE.findall(invited.out)[0].lower())
    await ada.does("org", "rules", "spend", "--by", "Ben")
    await ada.does("new", GOAL)
    await ada.works()

    words = "This is not yours to decide: Ben may decide this."
    assert await ada.refuses("approve", "t-1.2") == words
    assert (await ben.does("approve", "t-1.2")).out == "t-1.2 approved by Ben. A worker runs it.\n"
    await ada.does("people", "remove", "Ben")
    await ada.works()
    assert "Void, not run: who approved it may no longer approve it." in (await ada.does("show", "t-1")).words
    assert ada.refunds == []
    assert await ben.refuses("pending") == "ben is linked to nobody here; say who you are with --as NAME: Ada"
    assert (await ada.does("audit", "verify")).words.endswith("all whole")
