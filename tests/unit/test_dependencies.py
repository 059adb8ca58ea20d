"""The check of declared dependencies: what counts as used, and what it complains about."""

from pathlib import Path

import pytest

from tests.dependencies import (
    IN_URLS,
    PACKAGES,
    ROOT,
    WAITING,
    Code,
    complaints,
    declared,
    import_names,
    read_code,
)

SOURCE = '''
"""Speaks of asyncpg in prose only."""
import yaml.nodes, os
from sqlalchemy import select

def connect() -> None:
    """And of aiosqlite."""
    import uuid_utils
    return f"postgresql+psycopg://{os.sep}"
'''


def code(*imports: str, strings: tuple[str, ...] = ()) -> Code:
    return Code(files=1, imports=frozenset(imports), strings=frozenset(strings))


def check(
    dependency: str,
    used: Code,
    *,
    adapters: Code | None = None,
    waiting: dict[str, str] | None = None,
    in_urls: tuple[str, ...] = (),
) -> list[str]:
    installed = {"pyyaml": {"yaml", "_yaml"}, "asyncpg": {"asyncpg"}}
    return complaints([dependency], installed, used, adapters or code(), waiting or {}, in_urls)


def test_imports_are_read_wherever_they_stand_and_docstrings_are_not_strings(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "module.py").write_text(SOURCE, encoding="utf-8")
    read = read_code([tmp_path])
    assert read.files == 1
    assert read.imports == {"yaml", "os", "sqlalchemy", "uuid_utils"}
    assert read.strings == {"postgresql+psycopg://"}


def test_a_dependency_is_known_by_its_name_without_extras_and_versions() -> None:
    text = '[project]\ndependencies = ["PyYAML>=6", "sqlalchemy[asyncio]>=2,<3", "a_b.c; os_name"]'
    assert declared(text) == ["pyyaml", "sqlalchemy", "a-b-c"]


def test_a_distribution_may_provide_several_names() -> None:
    assert import_names({"yaml": ["PyYAML"], "_yaml": ["PyYAML", "PyYAML"]}) == {"pyyaml": {"yaml", "_yaml"}}


def test_a_dependency_that_is_imported_is_fine() -> None:
    assert check("pyyaml", code("yaml")) == []


def test_a_dependency_that_nothing_imports_is_not() -> None:
    assert check("pyyaml", code("os")) == ["pyyaml is a dependency that nothing uses"]


def test_a_dependency_may_wait_for_code_to_come() -> None:
    assert check("pyyaml", code(), waiting={"pyyaml": "folders"}) == []


def test_waiting_ends_with_the_first_import() -> None:
    assert check("pyyaml", code("yaml"), waiting={"pyyaml": "folders"}) == [
        "pyyaml is used: take it off the list of those that wait for folders"
    ]


def test_an_exemption_of_something_else_is_complained_about() -> None:
    assert check("pyyaml", code("yaml"), waiting={"gone": "x"}, in_urls=("away",)) == [
        "gone is exempt but not a dependency",
        "away is exempt but not a dependency",
    ]


@pytest.mark.parametrize(
    ("strings", "expected"),
    [(("postgresql+asyncpg",), []), ((), ["asyncpg is a dependency that nothing uses"])],
)
def test_a_driver_is_used_if_adapters_name_it(strings: tuple[str, ...], expected: list[str]) -> None:
    assert check("asyncpg", code(), adapters=code(strings=strings), in_urls=("asyncpg",)) == expected


def test_a_dependency_that_is_not_installed_is_complained_about() -> None:
    assert check("missing", code("missing")) == ["missing is not installed, so what it provides is unknown"]


def test_the_repository_has_dependencies_and_code_and_its_exemptions_are_among_them() -> None:
    dependencies = declared((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(dependencies) > 10
    assert {*WAITING, *IN_URLS} <= set(dependencies)
    assert read_code(ROOT / package for package in PACKAGES).files > 5
