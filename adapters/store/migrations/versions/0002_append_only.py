"""What was said and done is not rewritten: triggers refuse it to the app, and to whoever has its login.

Audit entries may be sealed once (seq, prev_hash and hash set together, from NULL, nothing else
changed); messages may not be touched at all.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SEALED = ("seq", "prev_hash", "hash")
WRITTEN = ("org", "id", "at", "actor", "surface", "move", "rule", "task_id", "call_id", "entry", "mac")
AUDIT = "audit entries are kept as written"
MESSAGES = "messages are kept as written"


def upgrade() -> None:
    statements = _postgres() if op.get_bind().dialect.name == "postgresql" else _sqlite()
    for statement in statements:
        op.execute(sa.text(statement))


def _all(columns: tuple[str, ...], form: str) -> str:
    return " AND ".join(form.format(column) for column in columns)


def _seals(same: str) -> str:
    """SQL: the update only seals. *same*: how to say that a column keeps its value."""
    return " AND ".join(
        (_all(SEALED, "OLD.{0} IS NULL"), _all(SEALED, "NEW.{0} IS NOT NULL"), _all(WRITTEN, same))
    )


def _postgres() -> list[str]:
    seals = _seals("NEW.{0} IS NOT DISTINCT FROM OLD.{0}")
    return [
        f"""
        CREATE FUNCTION gatepost_audit_kept() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'UPDATE' THEN
                IF {seals} THEN
                    RETURN NEW;
                END IF;
            END IF;
            RAISE EXCEPTION '{AUDIT}' USING ERRCODE = 'restrict_violation';
        END $$
        """,
        f"""
        CREATE FUNCTION gatepost_messages_kept() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION '{MESSAGES}' USING ERRCODE = 'restrict_violation';
        END $$
        """,
        *(
            f"CREATE TRIGGER {table}_{name} BEFORE {events} ON {table} "
            f"FOR EACH {each} EXECUTE FUNCTION gatepost_{table}_kept()"
            for table in ("audit", "messages")
            for name, events, each in (
                ("kept", "UPDATE OR DELETE", "ROW"),
                ("not_truncated", "TRUNCATE", "STATEMENT"),
            )
        ),
    ]


def _sqlite() -> list[str]:
    seals = _seals("NEW.{0} IS OLD.{0}")
    return [
        _sqlite_trigger("audit_not_deleted", "DELETE ON audit", AUDIT),
        _sqlite_trigger("audit_only_sealed", f"UPDATE ON audit WHEN NOT ({seals})", AUDIT),
        # REPLACE deletes rows past delete triggers, so the row must not be there yet.
        _sqlite_trigger(
            "audit_not_replaced",
            "INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit AS old WHERE old.org = NEW.org"
            " AND (old.id = NEW.id OR old.seq = NEW.seq))",
            AUDIT,
        ),
        _sqlite_trigger("messages_not_deleted", "DELETE ON messages", MESSAGES),
        _sqlite_trigger("messages_not_edited", "UPDATE ON messages", MESSAGES),
        _sqlite_trigger(
            "messages_not_replaced",
            "INSERT ON messages WHEN EXISTS (SELECT 1 FROM messages AS old"
            " WHERE old.org = NEW.org AND old.task_id = NEW.task_id AND old.seq = NEW.seq)",
            MESSAGES,
        ),
    ]


def _sqlite_trigger(name: str, when: str, words: str) -> str:
    return f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, '{words}'); END"
