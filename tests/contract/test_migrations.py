"""The schema: reached from nothing, by anybody, once; and what the database itself refuses."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, delete, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from adapters.store import is_current, migrate, upgrade
from adapters.store.engine import Database, connected, make_engine, writing_engine
from adapters.store.rows import audit_row
from adapters.store.schema import REVISIONS
from adapters.store.tables import approval_routes, audit, messages, metadata, queue_floor, schema_compat
from adapters.store.upgrade import revisions
from adapters.store.url import async_url
from core.audit import AuditEntry
from core.errors import StoreError
from tests.contract import factories as make
from tests.contract.factories import AUDIT_KEY, NOW, ORG, save_messages

ROOT = Path(__file__).resolve().parents[2]
ENTRY = AuditEntry(
    org=ORG,
    id="entry-1",
    at=NOW,
    actor="person-1",
    surface="slack",
    move="decide",
    rule="C7",
    task_id=None,
    call_id=None,
    entry="{}",
)
SEAL = {"seq": 1, "prev_hash": "0", "hash": "1"}


def database(url: str) -> Database:
    return Database(url, ids=make.CountingIds(), audit_key=AUDIT_KEY)


@pytest.fixture
async def db(migrated_url: str) -> AsyncIterator[Database]:
    opened = database(migrated_url)
    yield opened
    await opened.close()


async def run(db: Database, statement: Any, values: Any = None) -> None:
    async def body(conn: AsyncConnection) -> None:
        await conn.execute(statement, values)

    await db.write(body)


# ── reaching it ──────────────────────────────────────────────────────────────────────────────


async def test_an_empty_database_is_behind_until_it_is_migrated(database_url: str) -> None:
    assert not await is_current(database_url)
    await migrate(database_url)
    assert await is_current(database_url)


async def test_migrating_again_changes_nothing(migrated_url: str) -> None:
    await migrate(migrated_url)
    assert await is_current(migrated_url)


async def test_several_processes_may_migrate_at_once(database_url: str) -> None:
    code = "import asyncio, sys; from adapters.store import migrate; asyncio.run(migrate(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", code, database_url, env=environment)
        for _ in range(3)
    ]
    assert [await process.wait() for process in processes] == [0, 0, 0]
    assert await is_current(database_url)


async def test_the_migrations_lead_to_the_tables_of_the_code(db: Database) -> None:
    def differences(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": False}
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), metadata))

    assert len(metadata.tables) > 20
    assert await db.read(lambda conn: conn.run_sync(differences)) == []


async def test_where_cards_went_before_copies_were_known_is_where_they_go(database_url: str) -> None:
    def to_0007(connection: Connection) -> None:
        config = upgrade._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "0007")

    async with connected(writing_engine(make_engine(async_url(database_url), pool_size=None))) as conn:
        await conn.run_sync(to_0007)
    opened = database(database_url)
    old = "INSERT INTO approval_routes (org, agent, surface, ref) VALUES ('a', 'sam', 'slack', 'C1')"
    await run(opened, text(old))
    assert not await is_current(database_url)
    await migrate(database_url)
    await run(opened, text(old.replace("sam", "by a process of the last release")))

    async def body(conn: AsyncConnection) -> list[tuple[str, int, str]]:
        rows = await conn.execute(select(approval_routes).order_by(approval_routes.c.agent))
        return [(row.agent, row.position, row.ref) for row in rows]

    kept = [("by a process of the last release", 0, "C1"), ("sam", 0, "C1")]
    assert await opened.read(body) == kept
    await run(opened, insert(approval_routes).values(org="a", agent="sam", position=1, surface="s", ref="r"))
    with pytest.raises(StoreError):
        await run(opened, text(old))
    await opened.close()


async def test_each_prio_has_its_floor(db: Database) -> None:
    async def body(conn: AsyncConnection) -> list[tuple[int, int]]:
        rows = await conn.execute(
            select(queue_floor.c.prio, queue_floor.c.floor).order_by(queue_floor.c.prio)
        )
        return [(row.prio, row.floor) for row in rows]

    assert await db.read(body) == [(0, 0), (1, 0)]


async def test_a_newer_schema_is_left_alone_if_this_tree_may_still_run_on_it(
    db: Database, migrated_url: str
) -> None:
    await run(db, text("UPDATE alembic_version SET version_num = '9999'"))
    await migrate(migrated_url)
    assert await is_current(migrated_url)


async def test_a_schema_too_new_for_this_tree_is_refused(db: Database, migrated_url: str) -> None:
    await run(db, text("UPDATE alembic_version SET version_num = '9999'"))
    await run(db, update(schema_compat).values(oldest=99))
    assert not await is_current(migrated_url)
    with pytest.raises(StoreError, match="too new"):
        await migrate(migrated_url)


# ── what it refuses ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I35")
async def test_an_audit_entry_can_be_sealed_once_and_else_neither_changed_nor_removed(db: Database) -> None:
    await run(db, insert(audit).values(audit_row(ENTRY)))
    written = audit_row(ENTRY)
    refused: list[Any] = [delete(audit)]
    refused += [update(audit).values({column: "other"}) for column in written if column not in (*SEAL, "at")]
    refused += [update(audit).values(at=NOW.replace(year=2020)), update(audit).values(seq=1)]
    refused += [update(audit).values(**SEAL, mac="other")]
    assert len(refused) == 14
    for statement in refused:
        with pytest.raises(StoreError) as caught:
            await run(db, statement)
        assert "audit entries are kept" in str(caught.value.__cause__)
    await run(db, update(audit).values(SEAL))
    for statement in (delete(audit), update(audit).values(SEAL), update(audit).values(seq=None)):
        with pytest.raises(StoreError):
            await run(db, statement)


async def test_a_message_can_be_neither_changed_nor_removed(db: Database) -> None:
    await save_messages(db, make.task(), make.message())
    for statement in (delete(messages), update(messages).values(body={"text": "other"})):
        with pytest.raises(StoreError) as caught:
            await run(db, statement)
        assert "messages are kept" in str(caught.value.__cause__)


@pytest.mark.rule("I35")
@pytest.mark.parametrize("database_kind", ["postgres"])
@pytest.mark.parametrize("table", ["audit", "messages"])
async def test_no_table_of_what_happened_can_be_emptied(db: Database, table: str) -> None:
    with pytest.raises(StoreError):
        await run(db, text(f"TRUNCATE {table}"))


@pytest.mark.rule("I35")
@pytest.mark.parametrize("database_kind", ["sqlite"])
async def test_an_insert_or_replace_replaces_nothing(db: Database) -> None:
    await run(db, insert(audit).values({**audit_row(ENTRY), **SEAL}))
    await save_messages(db, make.task(), make.message())
    same_id = {**audit_row(ENTRY), "mac": "other"}
    same_seq = {**audit_row(ENTRY), **SEAL, "id": "entry-2"}
    for values in (same_id, same_seq):
        with pytest.raises(StoreError):
            await run(db, insert(audit).prefix_with("OR REPLACE").values(values))
    with pytest.raises(StoreError):
        await run(
            db,
            insert(messages)
            .prefix_with("OR REPLACE")
            .values(org=ORG, task_id="task-1", seq=1, kind="goal", at=NOW),
        )


def test_the_revisions_this_tree_knows_are_those_of_its_folder() -> None:
    assert revisions() == REVISIONS
