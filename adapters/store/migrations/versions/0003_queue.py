"""An organization's cap on tasks that run at once, and since when a task waits, so that it ages."""

import sqlalchemy as sa
from alembic import op

from adapters.store.columns import Time

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organizations", sa.Column("max_running", sa.Integer(), nullable=True))
    op.add_column("tasks", sa.Column("queued_at", Time(), nullable=True))
    op.add_column("tasks", sa.Column("aged", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    # Counted by organization at each claim; one more index would be one more entry a claim.
    op.drop_index("ix_tasks_running", "tasks")
    _partial("ix_tasks_running", ["org", "worker"], "state = 'running'")
    op.drop_index("ix_tasks_held", "tasks")
    _partial("ix_tasks_held", ["org", "prio", "vrt", "id"], "state = 'held'")
    _partial("ix_tasks_aged", ["org"], "state = 'queued' AND aged")


def _partial(name: str, columns: list[str], where: str) -> None:
    clause = sa.text(where)
    op.create_index(name, "tasks", columns, sqlite_where=clause, postgresql_where=clause)
