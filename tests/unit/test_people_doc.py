"""What docs/people.md shows is so: each of its commands is typed, in order, and prints what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from bot.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "people.md").read_text(encoding="utf-8")
TYPED = re.compile(r"^(\w+)\$ python -m bot (.+)$")
CODE = re.compile(r"\b[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}\b")


def session(page: str) -> list[tuple[str, str, str]]:
    """(user, command, what it printed) of each command on *page*, in order."""
    found: list[tuple[str, str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            if typed := TYPED.match(line):
                found.append((typed[1], typed[2], []))
            else:
                found[-1][2].append(line)
    return [(user, command, tidy("\n".join(lines))) for user, command, lines in found]


def tidy(printed: str) -> str:
    """Without the spaces and empty lines at the ends, which tables have."""
    return "\n".join(line.rstrip() for line in printed.splitlines()).strip("\n")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A terminal over a database that is not there yet, with the example shop."""
    monkeypatch.setenv("DATABASE_URL", f"sqlite+aiosqlite:///{tmp_path / 'gatepost.db'}")
    monkeypatch.setenv("SHOP_DB", str(tmp_path / "shop.db"))
    monkeypatch.setenv("HOST_APP", "bot.demo.shop:Shop")
    monkeypatch.setenv("COLUMNS", "100")
    return monkeypatch


def test_every_command_of_the_page_prints_what_the_page_says(
    terminal: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    codes: dict[str, str] = {}  # of the page, and the real ones they stand for
    commands = session(PAGE)
    assert len(commands) > 20
    for user, command, shown in commands:
        terminal.setenv("LOGNAME", user)
        arguments = [codes.get(word, word) for word in shlex.split(command)]
        with pytest.raises(SystemExit):
            app(arguments)
        said = capsys.readouterr()
        printed = tidy(said.out + said.err)
        codes |= dict(zip(CODE.findall(shown), CODE.findall(printed), strict=True))
        for written, real in codes.items():
            printed = printed.replace(real, written)
        assert printed == shown, command


def test_the_page_shows_every_command_about_people() -> None:
    shown = {" ".join(command.split()[:2]) for _, command, _ in session(PAGE)}
    of_people = {"list", "add", "invite", "link", "role", "remove", "join"}
    of_organizations = {"create", "list", "rules", "route", "pause", "resume"}
    assert shown >= {f"people {name}" for name in of_people} | {f"org {name}" for name in of_organizations}
