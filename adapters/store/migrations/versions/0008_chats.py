"""How much goes to a chat, what somebody was asked there; copies of cards, and where they go."""

import sqlalchemy as sa
from alembic import op

from adapters.store.columns import JsonText, Time

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rates",
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("times", JsonText(), nullable=False),
        sa.Column("held_until", Time(), nullable=True),
        sa.PrimaryKeyConstraint("surface", "chat", name=op.f("pk_rates")),
    )
    op.drop_table("prompts")  # nothing has written there yet
    op.create_table(
        "prompts",
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("chat", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("chat_ref", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=True),
        sa.Column("expires_at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("surface", "chat", "account", name=op.f("pk_prompts")),
        sa.UniqueConstraint("surface", "chat_ref", name=op.f("uq_prompts_surface_chat_ref")),
    )
    op.add_column("posts", sa.Column("copy_of", sa.Text(), nullable=True))
    copies = sa.text("copy_of IS NOT NULL")
    op.create_index(
        "ix_posts_copies", "posts", ["org", "copy_of"], sqlite_where=copies, postgresql_where=copies
    )
    position = sa.Column("position", sa.Integer(), server_default=sa.text("0"), nullable=False)
    with op.batch_alter_table("approval_routes") as routes:
        routes.add_column(position)
        routes.drop_constraint(op.f("pk_approval_routes"), type_="primary")
        routes.create_primary_key(op.f("pk_approval_routes"), ["org", "agent", "position"])
