"""The rights of agents' folders that hold: as first seen, narrowed since, or accepted by an owner."""

import sqlalchemy as sa
from alembic import op

from adapters.store.columns import JsonText, Time

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rights",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("tools", JsonText(), nullable=True),
        sa.Column("settings", JsonText(), nullable=True),
        sa.Column("hosts", JsonText(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("by_person", sa.Text(), nullable=True),
        sa.Column("at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "agent", name=op.f("pk_rights")),
    )
