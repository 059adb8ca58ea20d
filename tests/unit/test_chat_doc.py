"""What docs/chat.md says of commands is what the table says, and what the command line has."""

import re
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from bot.cli import app
from core.commands import COMMANDS, Command

DOC = (Path(__file__).parents[2] / "docs" / "chat.md").read_text(encoding="utf-8")


def test_the_page_lists_every_command_as_the_table_has_it() -> None:
    rows = re.findall(r"^\| `(.+?)` \| (.+?) \| (owner|approver|member) \| `(.+?)` \|$", DOC, re.MULTILINE)
    shown = [(usage.replace("\\|", "|"), words, right, shell) for usage, words, right, shell in rows]
    assert shown == [(c.usage, c.words, str(c.right), c.shell) for c in COMMANDS]


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.shell != "--help"], ids=lambda c: c.name)
def test_every_command_is_on_the_command_line(command: Command) -> None:
    found = typer.main.get_command(app)
    for name in command.shell.split():
        assert isinstance(found, TyperGroup)
        found = found.commands[name]
    if command.shell == command.name:
        assert found.help == command.words
