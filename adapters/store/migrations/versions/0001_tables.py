"""Every table with its keys, checks and indexes, and the rows that are always there."""

import sqlalchemy as sa
from alembic import op

from adapters.store.columns import JsonText, Time

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "accounts",
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("account_ref", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("surface", "account_ref", "org", name=op.f("pk_accounts")),
    )
    op.create_index("ix_accounts_org_person_id", "accounts", ["org", "person_id"])
    op.create_table(
        "audit",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("at", Time(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=True),
        sa.Column("move", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.Column("mac", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("prev_hash", sa.Text(), nullable=True),
        sa.Column("hash", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_audit")),
        sa.UniqueConstraint("org", "seq", name=op.f("uq_audit_org_seq")),
    )
    op.create_index("ix_audit_task", "audit", ["org", "task_id", "id"])
    op.create_index(
        "ix_audit_unsealed",
        "audit",
        ["org", "id"],
        sqlite_where=sa.text("seq IS NULL"),
        postgresql_where=sa.text("seq IS NULL"),
    )
    op.create_table(
        "blobs",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("org", "sha256", name=op.f("pk_blobs")),
    )
    op.create_table(
        "calls",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("episode", sa.Integer(), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("provider_call_id", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("tool_digest", sa.Text(), nullable=False),
        sa.Column("risk", sa.Text(), nullable=False),
        sa.Column("pure", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("proposed_args", JsonText(), nullable=True),
        sa.Column("args", JsonText(), nullable=True),
        sa.Column("args_hash", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("parks_as", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("result", JsonText(), nullable=True),
        sa.Column("result_blob", sa.Text(), nullable=True),
        sa.Column("effect_key", sa.Text(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("marked_at", Time(), nullable=True),
        sa.Column("settled_at", Time(), nullable=True),
        sa.Column("resend_of", sa.Text(), nullable=True),
        sa.Column("late_note", sa.Text(), nullable=True),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.CheckConstraint(
            "(state = 'settled') = (outcome IS NOT NULL AND result IS NOT NULL)",
            name=op.f("ck_calls_settled_has_result"),
        ),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_calls")),
        sa.UniqueConstraint(
            "org",
            "task_id",
            "episode",
            "round",
            "ordinal",
            name=op.f("uq_calls_org_task_id_episode_round_ordinal"),
        ),
        sa.UniqueConstraint("org", "task_id", "number", name=op.f("uq_calls_org_task_id_number")),
    )
    op.create_index("ix_calls_effect_key_marked_at", "calls", ["org", "effect_key", "marked_at"])
    op.create_index(
        "ix_calls_open",
        "calls",
        ["org", "task_id"],
        sqlite_where=sa.text("state <> 'settled'"),
        postgresql_where=sa.text("state <> 'settled'"),
    )
    op.create_index("ix_calls_outcome", "calls", ["org", "outcome"])
    op.create_index("ix_calls_tool", "calls", ["org", "tool"])
    op.create_index(
        "uq_calls_effect",
        "calls",
        ["org", "task_id", "effect_key"],
        unique=True,
        sqlite_where=sa.text("state = 'executing' OR outcome IN ('succeeded', 'unknown')"),
        postgresql_where=sa.text("state = 'executing' OR outcome IN ('succeeded', 'unknown')"),
    )
    op.create_table(
        "connect_states",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=True),
        sa.Column("park_id", sa.Text(), nullable=True),
        sa.Column("expires_at", Time(), nullable=False),
        sa.Column("used_at", Time(), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_connect_states")),
    )
    op.create_table(
        "effect_guards",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("effect_key", sa.Text(), nullable=False),
        sa.Column("touched_at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "effect_key", name=op.f("pk_effect_guards")),
    )
    op.create_table(
        "events",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("data", JsonText(), nullable=True),
        sa.Column("at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_events")),
    )
    op.create_index("ix_events_name", "events", ["org", "name", "id"])
    op.create_index("ix_events_task", "events", ["org", "task_id", "id"])
    op.create_table(
        "inbox",
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", JsonText(), nullable=True),
        sa.Column("received_at", Time(), nullable=False),
        sa.Column("state", sa.Text(), server_default="new", nullable=False),
        sa.Column("due_at", Time(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("source", "event_id", name=op.f("pk_inbox")),
    )
    op.create_index(
        "ix_inbox_new",
        "inbox",
        ["due_at"],
        sqlite_where=sa.text("state = 'new'"),
        postgresql_where=sa.text("state = 'new'"),
    )
    op.create_index(
        "ix_inbox_taken",
        "inbox",
        ["org", "task_id"],
        sqlite_where=sa.text("state = 'taken'"),
        postgresql_where=sa.text("state = 'taken'"),
    )
    op.create_table(
        "join_codes",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=True),
        sa.Column("expires_at", Time(), nullable=False),
        sa.Column("used_at", Time(), nullable=True),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_join_codes")),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("expires_at", Time(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leases")),
    )
    op.create_table(
        "messages",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("episode", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("round", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("body", JsonText(), nullable=True),
        sa.Column("tokens", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("from_seq", sa.Integer(), nullable=True),
        sa.Column("to_seq", sa.Integer(), nullable=True),
        sa.Column("epoch", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("at", Time(), nullable=False),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("org", "task_id", "seq", name=op.f("pk_messages")),
    )
    op.create_table(
        "organizations",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("time_zone", sa.Text(), server_default="UTC", nullable=False),
        sa.Column("state", sa.Text(), server_default="active", nullable=False),
        sa.Column("next_task_no", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("audit_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "audit_hash",
            sa.Text(),
            server_default="0000000000000000000000000000000000000000000000000000000000000000",
            nullable=False,
        ),
        sa.Column("approvals_route", sa.Text(), nullable=True),
        sa.Column("created_at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
    )
    op.create_table(
        "parks",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("holds", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("shown", JsonText(), nullable=True),
        sa.Column("shown_hash", sa.Text(), nullable=False),
        sa.Column("renderer", sa.Text(), nullable=False),
        sa.Column("choices", JsonText(), nullable=True),
        sa.Column("approvers", JsonText(), nullable=True),
        sa.Column("created_at", Time(), nullable=False),
        sa.Column("remind_at", Time(), nullable=True),
        sa.Column("expires_at", Time(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("choice", sa.Text(), nullable=True),
        sa.Column("by_person", sa.Text(), nullable=True),
        sa.Column("surface", sa.Text(), nullable=True),
        sa.Column("event_id", sa.Text(), nullable=True),
        sa.Column("patch", JsonText(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("viewed", JsonText(), nullable=True),
        sa.Column("decided_at", Time(), nullable=True),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_parks")),
        sa.UniqueConstraint(
            "org", "call_id", "kind", "version", name=op.f("uq_parks_org_call_id_kind_version")
        ),
        sa.UniqueConstraint("org", "event_id", name=op.f("uq_parks_org_event_id")),
        sa.UniqueConstraint("token", name=op.f("uq_parks_token")),
    )
    op.create_index(
        "ix_parks_expiring",
        "parks",
        ["expires_at"],
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "ix_parks_open",
        "parks",
        ["org", "task_id"],
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "ix_parks_reminding",
        "parks",
        ["remind_at"],
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index("ix_parks_task", "parks", ["org", "task_id"])
    op.create_table(
        "people",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("roles", JsonText(), nullable=True),
        sa.Column("left_at", Time(), nullable=True),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_people")),
    )
    op.create_table(
        "posts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("dedup_key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("episode", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("route", sa.Text(), nullable=False),
        sa.Column("body", JsonText(), nullable=True),
        sa.Column("rev", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("sent_rev", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("chat_ref", sa.Text(), nullable=True),
        sa.Column("prio", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("due_at", Time(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("state", sa.Text(), server_default="due", nullable=False),
        sa.Column("epoch", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_posts")),
        sa.UniqueConstraint("org", "dedup_key", name=op.f("uq_posts_org_dedup_key")),
    )
    op.create_index("ix_posts_chat_ref", "posts", ["surface", "chat_ref"])
    op.create_index(
        "ix_posts_due",
        "posts",
        ["due_at"],
        sqlite_where=sa.text("rev > sent_rev AND state <> 'dead'"),
        postgresql_where=sa.text("rev > sent_rev AND state <> 'dead'"),
    )
    op.create_index("ix_posts_task", "posts", ["org", "task_id"])
    op.create_table(
        "prompts",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("chat_ref", sa.Text(), nullable=False),
        sa.Column("person_id", sa.Text(), nullable=False),
        sa.Column("park_id", sa.Text(), nullable=False),
        sa.Column("field", sa.Text(), nullable=True),
        sa.Column("expires_at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "surface", "chat_ref", name=op.f("pk_prompts")),
    )
    op.create_table(
        "queue_floor",
        sa.Column("prio", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("floor", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("prio", name=op.f("pk_queue_floor")),
    )
    op.create_table(
        "reach_keys",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("surface", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("thread_ref", sa.Text(), server_default="", nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=True),
        sa.Column("until", Time(), nullable=False),
        sa.PrimaryKeyConstraint(
            "org", "surface", "address", "thread_ref", "task_id", name=op.f("pk_reach_keys")
        ),
    )
    op.create_table(
        "schema_compat",
        sa.Column("one", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("oldest", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_schema_compat")),
    )
    op.create_table(
        "switches",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("paused_by", sa.Text(), nullable=True),
        sa.Column("paused_at", Time(), nullable=True),
        sa.Column("mode", sa.Text(), server_default="normal", nullable=False),
        sa.Column("settings", JsonText(), nullable=True),
        sa.PrimaryKeyConstraint("org", "agent", name=op.f("pk_switches")),
    )
    op.create_table(
        "tasks",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=True),
        sa.Column("mode", sa.Text(), server_default="normal", nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        sa.Column("parent_call_id", sa.Text(), nullable=True),
        sa.Column("depth", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("surface", sa.Text(), nullable=True),
        sa.Column("thread_ref", sa.Text(), nullable=True),
        sa.Column("goal", JsonText(), nullable=True),
        sa.Column("schema", JsonText(), nullable=True),
        sa.Column("taint", sa.Text(), server_default="none", nullable=False),
        sa.Column("read_private", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("episode", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("epoch", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("lease_until", Time(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", Time(), nullable=True),
        sa.Column("prio", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("vrt", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("round", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_seq", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("next_call_no", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("unread", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("strikes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("repeats", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("stop_by", sa.Text(), nullable=True),
        sa.Column("wrap", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("extra_rounds", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("extra_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_in", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("result", JsonText(), nullable=True),
        sa.Column("created_at", Time(), nullable=False),
        sa.Column("started_at", Time(), nullable=True),
        sa.Column("ended_at", Time(), nullable=True),
        sa.Column("schema_ver", sa.SmallInteger(), server_default=sa.text("1"), nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("org", "number", name=op.f("uq_tasks_org_number")),
        postgresql_with={
            "fillfactor": 80,
            "autovacuum_vacuum_scale_factor": 0,
            "autovacuum_vacuum_threshold": 5000,
            "autovacuum_vacuum_cost_delay": 0,
        },
    )
    op.create_index(
        "ix_tasks_delayed",
        "tasks",
        ["not_before"],
        sqlite_where=sa.text("state = 'delayed'"),
        postgresql_where=sa.text("state = 'delayed'"),
    )
    op.create_index(
        "ix_tasks_held",
        "tasks",
        ["org"],
        sqlite_where=sa.text("state = 'held'"),
        postgresql_where=sa.text("state = 'held'"),
    )
    op.create_index(
        "ix_tasks_org_queue",
        "tasks",
        ["org", "prio", "vrt"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index("ix_tasks_parent", "tasks", ["org", "parent_id"])
    op.create_index(
        "ix_tasks_queue",
        "tasks",
        ["prio", "vrt", "id"],
        sqlite_where=sa.text("state = 'queued'"),
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index(
        "ix_tasks_running",
        "tasks",
        ["worker"],
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index("ix_tasks_thread", "tasks", ["org", "surface", "thread_ref"])
    op.create_table(
        "trigger_fires",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("trigger_id", sa.Text(), nullable=False),
        sa.Column("slot", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=True),
        sa.Column("at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "trigger_id", "slot", name=op.f("pk_trigger_fires")),
    )
    op.create_index("ix_trigger_fires_at", "trigger_fires", ["org", "at"])
    op.create_table(
        "triggers",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("spec", JsonText(), nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("born_at", Time(), nullable=False),
        sa.PrimaryKeyConstraint("org", "id", name=op.f("pk_triggers")),
    )
    op.create_table(
        "usage",
        sa.Column("org", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("hour", Time(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("used", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("org", "agent", "hour", name=op.f("pk_usage")),
    )
    op.execute("INSERT INTO queue_floor (prio, floor) VALUES (0, 0), (1, 0)")
    op.execute("INSERT INTO schema_compat (one, oldest) VALUES (1, 1)")
