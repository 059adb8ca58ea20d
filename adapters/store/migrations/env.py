"""Runs migrations on the connection that schema.py hands over, all in one transaction."""

from alembic import context
from sqlalchemy import Connection, text

from adapters.store.tables import metadata

LOCK = 7_203_114_968  # any number, the same in every process: who migrates holds it


def run(connection: Connection) -> None:
    """What is missing is applied, or nothing is; a second process waits, then finds nothing missing."""
    postgres = connection.dialect.name == "postgresql"
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=not postgres,
        transactional_ddl=True,  # also on SQLite, whose transactions engine.py begins
    )
    with context.begin_transaction():
        if postgres:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            # After the lock, for which any time may be waited; a table's is not worth an outage.
            connection.execute(text("SET LOCAL lock_timeout = '5s'"))
        context.run_migrations()


run(context.config.attributes["connection"])
