"""DATABASE_URL as platforms write it."""

import pytest

from adapters.store.url import async_url
from core.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("postgres://u:p@h:5/db", "postgresql+asyncpg://u:p@h:5/db"),
        ("postgresql://u:p@h/db", "postgresql+asyncpg://u:p@h/db"),
        ("postgresql+asyncpg://u:p@h/db", "postgresql+asyncpg://u:p@h/db"),
        (
            "postgresql://u:p@h/db?sslmode=require&channel_binding=require",
            "postgresql+asyncpg://u:p@h/db?ssl=require",
        ),
        ("postgresql://u:p%40ss@/db?host=/run/pg", "postgresql+asyncpg://u:p%40ss@/db?host=%2Frun%2Fpg"),
        ("sqlite:///gatepost.db", "sqlite+aiosqlite:///gatepost.db"),
        ("sqlite+aiosqlite:////var/g.db", "sqlite+aiosqlite:////var/g.db"),
    ],
)
def test_a_url_becomes_one_of_an_async_driver(given: str, made: str) -> None:
    assert async_url(given).render_as_string(hide_password=False) == made


@pytest.mark.parametrize(
    "given",
    [
        "",
        "hunter2",
        "mysql://u:hunter2@h/db",
        "postgresql+psycopg2://u:hunter2@h/db",
        "postgresql://u:hunter2@h:hunter2/db",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:g?mode=memory&uri=true",
    ],
)
def test_any_other_is_refused_by_the_variables_name_and_without_its_password(given: str) -> None:
    with pytest.raises(ConfigError, match="DATABASE_URL") as caught:
        async_url(given)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
