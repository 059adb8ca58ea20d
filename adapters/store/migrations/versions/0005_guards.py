"""What the host says makes two sends the same one, kept on the call, and an organization's window for it."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("organizations", sa.Column("send_window_seconds", sa.Integer(), nullable=True))
    op.add_column("calls", sa.Column("sent_key", sa.Text(), nullable=True))
    # An effect key that is not the call's own id was the host's; one sent again has `!n` behind it.
    op.execute("UPDATE calls SET sent_key = effect_key WHERE effect_key <> id AND resend_of IS NULL")
    op.drop_index("ix_calls_effect_key_marked_at", "calls")
    held = sa.text("sent_key IS NOT NULL")
    columns = ["org", "sent_key", "marked_at"]
    op.create_index("ix_calls_sent_key", "calls", columns, sqlite_where=held, postgresql_where=held)
