"""Slack's installations, where the app is in several workspaces: slack_sdk's columns, with room for seals."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "slack_bots",
        sa.Column("id", sa.Integer(), nullable=False),
        *_installed_bot(),
        sa.Column("is_enterprise_install", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_bots")),
    )
    op.create_index("ix_slack_bots_place", "slack_bots", ["client_id", "team_id", "enterprise_id"])
    op.create_table(
        "slack_installations",
        sa.Column("id", sa.Integer(), nullable=False),
        *_installed_bot(),
        sa.Column("enterprise_url", sa.Text(), nullable=True),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("user_token", sa.Text(), nullable=True),
        sa.Column("user_scopes", sa.Text(), nullable=True),
        sa.Column("user_refresh_token", sa.Text(), nullable=True),
        sa.Column("user_token_expires_at", sa.DateTime(), nullable=True),
        sa.Column("incoming_webhook_url", sa.Text(), nullable=True),
        sa.Column("incoming_webhook_channel", sa.Text(), nullable=True),
        sa.Column("incoming_webhook_channel_id", sa.Text(), nullable=True),
        sa.Column("incoming_webhook_configuration_url", sa.Text(), nullable=True),
        sa.Column("is_enterprise_install", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("token_type", sa.Text(), nullable=True),
        sa.Column("installed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_installations")),
    )
    op.create_index(
        "ix_slack_installations_place",
        "slack_installations",
        ["client_id", "team_id", "enterprise_id", "user_id"],
    )
    op.create_table(
        "slack_oauth_states",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("expire_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_slack_oauth_states")),
    )
    op.create_index("ix_slack_oauth_states_state", "slack_oauth_states", ["state"])


def _installed_bot() -> "list[sa.Column[object]]":
    """The columns that both tables have of an installation."""
    return [
        sa.Column("client_id", sa.Text(), nullable=False),
        sa.Column("app_id", sa.Text(), nullable=False),
        sa.Column("enterprise_id", sa.Text(), nullable=True),
        sa.Column("enterprise_name", sa.Text(), nullable=True),
        sa.Column("team_id", sa.Text(), nullable=True),
        sa.Column("team_name", sa.Text(), nullable=True),
        sa.Column("bot_token", sa.Text(), nullable=True),
        sa.Column("bot_id", sa.Text(), nullable=True),
        sa.Column("bot_user_id", sa.Text(), nullable=True),
        sa.Column("bot_scopes", sa.Text(), nullable=True),
        sa.Column("bot_refresh_token", sa.Text(), nullable=True),
        sa.Column("bot_token_expires_at", sa.DateTime(), nullable=True),
    ]
