"""Apps whose code breaks, each in its own place; HOST_APP of the tests of what their operator is told."""

from pathlib import Path

import pytest

from bot.settings import Settings
from bot.wiring import load_host, opened
from core.errors import ConfigError
from core.host import BaseHost
from core.tools import tool

HERE = "tests.acceptance.test_wrong_hosts"


@tool(risk="read")
async def look() -> str:
    """Look."""
    return "seen"


class Unmade(BaseHost):
    def __init__(self) -> None:
        raise KeyError("SHOP_DATABASE_URL")


class Unopened(BaseHost):
    async def open(self) -> None:
        raise ConnectionError("nobody there")


class Listed(BaseHost):
    def __init__(self) -> None:
        self.tools = [look]  # type: ignore[assignment]


class Misfiled(BaseHost):
    def __init__(self) -> None:
        self.tools = {"peek": look}


def settings(host: str, tmp_path: Path) -> Settings:
    return Settings.from_env(
        {"HOST_APP": f"{HERE}:{host}", "DATABASE_URL": f"sqlite:///{tmp_path}/a.db", "AUDIT_KEY": "0" * 32}
    )


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("Unmade", "can't be made (KeyError: 'SHOP_DATABASE_URL'; test_wrong_hosts.py:"),
        ("Listed", "must be a mapping"),
        ("Misfiled", "the tool look of"),
    ],
)
def test_a_host_that_breaks_is_said_in_a_line_with_its_place(host: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        load_host(settings(host, tmp_path))
    assert str(told.value).startswith("HOST_APP: ")
    assert words in str(told.value)


async def test_a_host_that_cannot_open_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"could not open .ConnectionError: nobody there; test_wrong_hosts"):
        async with opened(settings("Unopened", tmp_path)):
            raise AssertionError("it opened")
