"""What the README shows is so: its host, its agent folder, its commands, and what programs import."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bot
from adapters.folders import check_against, load_agents
from core.gate import Risk
from core.host import BaseHost, chief_of

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(begins: str) -> str:
    """The one fenced block that begins with these words."""
    found = [b for b in re.findall(r"```(?:\w*)\n(.*?)```", README, re.DOTALL) if b.startswith(begins)]
    assert len(found) == 1
    return str(found[0])


async def test_the_host_of_the_readme_is_one(tmp_path: Path) -> None:
    names: dict[str, type[BaseHost]] = {}
    exec(block("from bot import"), names)
    shop = names["Shop"]()
    assert {name: t.risk for name, t in shop.tools.items()} == {"read_order": Risk.READ, "refund": Risk.SPEND}
    folder = tmp_path / "sam"
    folder.mkdir()
    (folder / "AGENT.md").write_text(block("---\nname: Sam"), encoding="utf-8")
    shop.agents = load_agents(tmp_path)
    assert check_against(shop.agents, shop.tools) == []
    assert chief_of(shop) == "sam"


COMMANDS = sorted(set(re.findall(r"^python -m bot ([a-z]+(?: verify)?)", README, re.MULTILINE)))


def test_the_readme_names_commands() -> None:
    assert len(COMMANDS) >= 9


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_readme_is_there(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", *command.split(), "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", bot.__all__)
def test_what_programs_import_is_offered(name: str) -> None:
    assert getattr(bot, name).__name__ == name
    assert name in dir(bot)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        bot.nonsense  # noqa: B018
