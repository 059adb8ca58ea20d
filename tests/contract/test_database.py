"""The transaction every port runs in: all or nothing, tried again when another was in the way."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import event, insert, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store import engine as engine_module
from adapters.store.engine import Database, Undo
from adapters.store.tables import leases
from core.errors import StoreError
from tests.contract import factories as make
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted_sql import SqlPlanted


@pytest.fixture
async def db(migrated_url: str) -> AsyncIterator[Database]:
    database = Database(migrated_url, ids=make.CountingIds(), audit_key=AUDIT_KEY)
    yield database
    await database.close()


async def names(db: Database) -> list[str]:
    async def body(conn: AsyncConnection) -> list[str]:
        return list((await conn.execute(select(leases.c.name).order_by(leases.c.name))).scalars())

    return await db.read(body)


async def test_what_a_body_wrote_is_there_once_it_returned(db: Database) -> None:
    async def body(conn: AsyncConnection) -> str:
        await conn.execute(insert(leases).values(name="a"))
        return "answer"

    assert await db.write(body) == "answer"
    assert await names(db) == ["a"]


async def test_what_is_undone_or_raised_from_is_not_there(db: Database) -> None:
    async def undone(conn: AsyncConnection) -> str | Undo[str]:
        await conn.execute(insert(leases).values(name="a"))
        return Undo("answer")

    async def raising(conn: AsyncConnection) -> None:
        await conn.execute(insert(leases).values(name="b"))
        raise ZeroDivisionError

    assert await db.write(undone) == "answer"
    with pytest.raises(ZeroDivisionError):
        await db.write(raising)
    assert await names(db) == []


async def test_a_database_error_is_a_store_error_that_quotes_no_values(db: Database) -> None:
    async def body(conn: AsyncConnection) -> None:
        await conn.execute(insert(leases), [{"name": "secret-name"}])
        await conn.execute(insert(leases), [{"name": "secret-name"}])

    with pytest.raises(StoreError) as caught:
        await db.write(body)
    assert isinstance(caught.value.__cause__, IntegrityError)
    assert "secret-name" not in str(caught.value)


async def test_the_audit_key_shows_in_no_description_of_the_database(db: Database) -> None:
    assert AUDIT_KEY.decode() not in f"{db!r} {db.engine!r} {db}"


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_the_loser_of_a_deadlock_is_run_again_whole(db: Database) -> None:
    async def prepare(conn: AsyncConnection) -> None:
        await conn.execute(insert(leases), [{"name": "a"}, {"name": "b"}])

    await db.write(prepare)
    both_hold_one = asyncio.Barrier(2)
    runs: list[str] = []

    async def lock(first: str, second: str) -> None:
        async def body(conn: AsyncConnection) -> None:
            runs.append(first)
            again = runs.count(first) > 1
            for name in (first, second):
                statement = text("UPDATE leases SET epoch = epoch + 1 WHERE name = :name")
                await conn.execute(statement, {"name": name})
                if name == first and not again:
                    await both_hold_one.wait()

        await db.write(body)

    await asyncio.gather(lock("a", "b"), lock("b", "a"))
    assert len(runs) == 3

    async def epochs(conn: AsyncConnection) -> list[int]:
        return list((await conn.execute(select(leases.c.epoch))).scalars())

    assert await db.read(epochs) == [2, 2]


@pytest.fixture
def other_writer(migrated_url: str) -> sqlite3.Connection:
    """Another process's connection to the SQLite file."""
    path = make_url(migrated_url).database
    assert path is not None
    return sqlite3.connect(path, isolation_level=None)


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_busy_file_is_tried_again_until_it_is_free(
    db: Database, other_writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BUSY_TIMEOUT_MS", 1)
    tries = 0

    def connected(*_: object) -> None:
        nonlocal tries
        tries += 1
        if tries == 3:
            other_writer.execute("ROLLBACK")

    other_writer.execute("BEGIN IMMEDIATE")
    event.listen(db.engine.sync_engine, "checkout", connected)

    async def body(conn: AsyncConnection) -> None:
        await conn.execute(insert(leases).values(name="a"))

    await db.write(body)
    other_writer.close()
    assert tries == 3
    assert await names(db) == ["a"]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_file_that_stays_busy_is_a_store_error(
    db: Database, other_writer: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BUSY_TIMEOUT_MS", 1)
    monkeypatch.setattr(engine_module, "BACKOFF_SECONDS", 0)
    other_writer.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="SQLITE_BUSY"):
        await db.write(lambda conn: conn.execute(insert(leases).values(name="a")))
    other_writer.close()
    assert await names(db) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_writer_locks_from_its_first_statement_and_a_reader_does_not(
    db: Database, other_writer: sqlite3.Connection
) -> None:
    other_writer.execute("PRAGMA busy_timeout = 0")

    async def reading(conn: AsyncConnection) -> None:
        await conn.execute(select(leases))
        other_writer.execute("BEGIN IMMEDIATE")
        other_writer.execute("ROLLBACK")

    await db.read(reading)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await db.write(reading)
    other_writer.close()


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_sqlite_connections_are_set_up_to_keep_what_was_committed(db: Database) -> None:
    async def body(conn: AsyncConnection) -> dict[str, object]:
        wanted = ("journal_mode", "busy_timeout", "synchronous", "foreign_keys")
        return {name: (await conn.execute(text(f"PRAGMA {name}"))).scalar_one() for name in wanted}

    assert await db.read(body) == {
        "journal_mode": "wal",
        "busy_timeout": 5000,
        "synchronous": 2,
        "foreign_keys": 1,
    }


@pytest.mark.parametrize("database_kind", ["postgres"])
async def test_postgres_ends_a_forgotten_transaction(db: Database) -> None:
    async def body(conn: AsyncConnection) -> object:
        return (await conn.execute(text("SHOW idle_in_transaction_session_timeout"))).scalar_one()

    assert await db.read(body) == "30s"


async def test_a_read_sees_one_snapshot(db: Database) -> None:
    async def seen(conn: AsyncConnection) -> list[str]:
        return list((await conn.execute(select(leases.c.name))).scalars())

    async def body(conn: AsyncConnection) -> tuple[list[str], list[str]]:
        before = await seen(conn)
        await db.write(lambda other: other.execute(insert(leases).values(name="a")))
        return before, await seen(conn)

    assert await db.read(body) == ([], [])
    assert await names(db) == ["a"]


@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_a_row_that_somebody_broke_is_an_error_that_says_so_and_the_others_are_read(
    sql: SqlPlanted,
) -> None:
    """bad-input 87; PostgreSQL takes no such text."""
    await sql.save(make.organization(), make.task(), make.call())
    other = await sql.task(make.organization().id, number=99)
    await sql.run("UPDATE calls SET args = '{\"amount\": 12'")
    with pytest.raises(StoreError, match="no JSON any more"):
        await sql.store.ledger.story(make.task().ref)
    assert (await sql.store.ledger.story(other.ref)).task.id == other.id
