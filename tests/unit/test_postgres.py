"""The suite's own databases: fresh, separate, dropped; and a clear word where there is no server."""

from pathlib import Path

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.ext.asyncio import create_async_engine

from tests import postgres
from tests.postgres import Binaries, PostgresUnavailable, Server, find_binaries, is_open, serve


async def test_a_fresh_database_is_empty_and_takes_writes(database_url: str, database_kind: str) -> None:
    tables = {
        "sqlite": "SELECT count(*) FROM sqlite_master",
        "postgres": "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
    }
    engine = create_async_engine(database_url)
    async with engine.begin() as connection:
        assert (await connection.execute(text(tables[database_kind]))).scalar_one() == 0
        await connection.execute(text("CREATE TABLE t (a int)"))
        assert (await connection.execute(text(tables[database_kind]))).scalar_one() == 1
    await engine.dispose()


async def test_a_database_can_be_copied_from_a_template(postgres_server: Server) -> None:
    await postgres_server.create_database("template_test_a")
    await _run(postgres_server.url("template_test_a"), "CREATE TABLE t AS SELECT 7 AS a")
    await postgres_server.create_database("template_test_b", template="template_test_a")
    try:
        assert await _run(postgres_server.url("template_test_b"), "SELECT a FROM t") == 7
    finally:
        await postgres_server.drop_database("template_test_a")
        await postgres_server.drop_database("template_test_b")


async def test_the_server_speaks_a_supported_version(postgres_server: Server) -> None:
    assert int(postgres_server.version.split(".")[0]) >= postgres.OLDEST_MAJOR
    spoken = await _run(postgres_server.url("postgres"), "SHOW server_version")
    assert spoken == postgres_server.version


async def _run(url: str, statement: str) -> object:
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        result = await connection.execute(text(statement))
        value: object = result.scalar() if result.returns_rows else None
    await engine.dispose()
    return value


def test_a_url_names_its_driver_and_database() -> None:
    server = Server(address="postgresql+asyncpg://u:p@h:5/postgres?host=%2Frun", version="15.1", source="x")
    assert server.url("mine") == "postgresql+asyncpg://u:p@h:5/mine?host=%2Frun"
    assert server.url("mine", driver="psycopg") == "postgresql+psycopg://u:p@h:5/mine?host=%2Frun"


def test_a_machine_without_a_server_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client_only = Binaries(folder=tmp_path, source="pg_config")
    monkeypatch.setattr(postgres, "_candidates", lambda: iter([client_only]))
    with pytest.raises(PostgresUnavailable, match=r"TEST_DATABASE_URL.*pg_config .*no server"):
        find_binaries()


def test_a_given_server_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    url = f"postgresql://me:secret@/db?host={tmp_path}"
    with (
        pytest.raises(PostgresUnavailable, match="TEST_DATABASE_URL") as caught,
        serve({"TEST_DATABASE_URL": url}),
    ):
        pytest.fail("there is no server")
    assert "secret" not in str(caught.value)


def test_a_folder_below_a_closed_one_is_not_open(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True, mode=0o755)
    (tmp_path / "outer").chmod(0o700)
    assert not is_open(inner)


@pytest.mark.parametrize("turn", [1, 2])
async def test_a_migrated_database_has_a_schema_and_is_its_tests_own(migrated_url: str, turn: int) -> None:
    engine = create_async_engine(migrated_url)
    async with engine.begin() as connection:
        tables = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        await connection.execute(text("CREATE TABLE left_behind (a int)"))
    await engine.dispose()
    assert tables
    assert "left_behind" not in tables
