"""What chat needs: who may approve what, where cards go, which chat a task speaks in, secrets at rest."""

import sqlalchemy as sa
from alembic import op

from adapters.store.columns import JsonText, Time

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organizations", sa.Column("rules", JsonText(), nullable=True))
    op.create_table(
        "approval_routes",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("org", "agent", name=op.f("pk_approval_routes")),
    )
    op.create_table(
        "secrets",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=False),
        sa.Column("at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "name", name=op.f("pk_secrets")),
    )
    op.add_column("tasks", sa.Column("chat", sa.Text(), nullable=True))
    op.create_index("ix_tasks_chat", "tasks", ["org", "surface", "chat"])
    with op.batch_alter_table("posts") as posts:
        posts.alter_column("task_id", existing_type=sa.Text(), nullable=True)
        posts.add_column(sa.Column("tried", JsonText(), nullable=True))
        posts.add_column(sa.Column("shown_at", Time(), nullable=True))
    op.create_index("ix_posts_shown", "posts", ["org", "surface", "route", "shown_at"])
