"""What docs/agents.md shows is so: its folder, its keys, its commands, and its table of widening."""

import re
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from adapters.folders import KEYS, LIMITS, check_against, load_agents
from bot.cli import app
from bot.demo.shop import Shop
from core.rights import Rights, differences, effective

DOC = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
RISKS = {"refund": "spend", "read_orders": "read"}


def test_the_folder_of_the_page_is_an_agent(tmp_path: Path) -> None:
    (block,) = re.findall(r"```markdown\n(.*?)```", DOC, re.DOTALL)
    (tmp_path / "lead").mkdir()
    (tmp_path / "lead" / "AGENT.md").write_text(block, encoding="utf-8")
    agents = load_agents(tmp_path)
    assert agents["lead"].name == "Sam"
    assert check_against(agents, Shop().tools) == []


def test_the_page_explains_every_key() -> None:
    table = DOC[: DOC.index("## Settings")]
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.+?) \|", table, re.MULTILINE))))
    assert named == set(KEYS)
    assert all(f"`{limit}`" in table for limit in LIMITS)


COMMANDS = re.findall(r"^python -m bot (.+)$", DOC, re.MULTILINE)


@pytest.mark.parametrize("typed", COMMANDS)
def test_each_command_of_the_page_can_be_typed(typed: str) -> None:
    group = typer.main.get_command(app)
    name, under, *rest = typed.split()
    assert isinstance(group, TyperGroup)
    inner = group.commands[name]
    assert isinstance(inner, TyperGroup)
    inner.commands[under].make_context(under, rest)  # raises where an argument is none


def test_the_page_shows_commands() -> None:
    assert len(COMMANDS) >= 13


def rights(cell: str) -> Rights:
    said = [tuple(pair.split(": ")) for pair in cell.strip(" `").split(", ")]
    return Rights(tools=tuple(tool for tool, _ in said), settings=tuple((tool, word) for tool, word in said))


def test_the_pages_table_of_widening_is_what_happens() -> None:
    rows = re.findall(r"^\| (`r.+?`) \| (`r.+?`) \| (`r.+?`) \|$", DOC, re.MULTILINE)
    assert len(rows) == 5
    for was, new, holds in rows:
        now = effective(rights(was), rights(new), RISKS)
        assert differences(now, rights(holds), RISKS) == (), (was, new)
