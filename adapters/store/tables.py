"""The tables, as the newest migration leaves them (a test compares the two).

Each row carries its organization, first in every key but where it is read before its organization
is known (inbox, accounts, codes). Ids are made outside, times are aware UTC, bodies plain JSON. Slack's
tables are as its library has them. What is a chat's and no organization's is in chats.py.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from adapters.store.columns import JsonText, Time
from core.audit import GENESIS

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True)


def _words(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _words_or_none(name: str) -> Column[str]:
    return Column(name, Text)


def _count(name: str, start: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(start)))


def _big_count(name: str, start: int = 0) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text(str(start)))


def _number_or_none(name: str) -> Column[int]:
    return Column(name, Integer)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _time(name: str) -> "Column[object]":
    return Column(name, Time, nullable=False)


def _time_or_none(name: str) -> "Column[object]":
    return Column(name, Time)


def _json(name: str) -> "Column[object]":
    return Column(name, JsonText)


def _version() -> Column[int]:
    """Which shape the row's bodies have (K29)."""
    return Column("schema_ver", SmallInteger, nullable=False, server_default=text("1"))


def _index(name: str, *columns: str, where: str | None = None, unique: bool = False) -> Index:
    clause = None if where is None else text(where)
    return Index(name, *columns, unique=unique, sqlite_where=clause, postgresql_where=clause)


# ── organizations and people ─────────────────────────────────────────────────────────────────

organizations = Table(
    "organizations",
    metadata,
    _key("id"),
    _words("name"),
    Column("time_zone", Text, nullable=False, server_default="UTC"),
    Column("state", Text, nullable=False, server_default="active"),  # OrgState
    _count("next_task_no", 1),  # the number the next task gets
    _big_count("audit_seq"),  # the head of the audit chain: its last number and its hash
    Column("audit_hash", Text, nullable=False, server_default=GENESIS),
    _words_or_none("approvals_route"),  # approval_routes says it; dropped once no release reads this
    _json("rules"),  # list of ApprovalRule: who may approve what
    _number_or_none("max_running"),  # tasks that run at once; NULL: the queue's own default
    _number_or_none("send_window_seconds"),  # in which the same send asks anew; NULL: people.SEND_WINDOW
    _time("created_at"),
)

people = Table(
    "people",
    metadata,
    _key("org"),
    _key("id"),
    _words("name"),
    _json("roles"),  # list of Role
    _time_or_none("left_at"),
)

accounts = Table(
    "accounts",
    metadata,
    _key("surface"),
    _key("account_ref"),
    _key("org"),
    _words("person_id"),
    _index("ix_accounts_org_person_id", "org", "person_id"),
)

switches = Table(
    "switches",  # what chat changed; the folder stays the default
    metadata,
    _key("org"),
    _key("agent"),
    _words_or_none("paused_by"),
    _time_or_none("paused_at"),
    Column("mode", Text, nullable=False, server_default="normal"),  # SwitchMode
    _json("settings"),  # object: risk or tool to setting, in order
)

rights = Table(
    "rights",  # of an agent's folder, that hold; a wider folder waits for an owner
    metadata,
    _key("org"),
    _key("agent"),
    _json("tools"),  # list of names
    _json("settings"),  # object: risk or tool to setting, in order
    _json("hosts"),  # list: where tools with egress may go without a click
    _words("digest"),  # of the folder that brought them
    _words_or_none("by_person"),  # NULL: first seen, or narrowed by the folder
    _time("at"),
)

join_codes = Table(
    "join_codes",
    metadata,
    _key("digest"),
    _words("org"),
    _words_or_none("person_id"),
    _time("expires_at"),
    _time_or_none("used_at"),
)

connect_states = Table(
    "connect_states",
    metadata,
    _key("digest"),
    _words("org"),
    _words_or_none("person_id"),
    _words_or_none("park_id"),
    _time("expires_at"),
    _time_or_none("used_at"),
)

approval_routes = Table(
    "approval_routes",  # where cards go; without a row, to the thread of their task
    metadata,
    _key("org"),
    _key("agent"),  # '': of every agent without one of its own
    Column("position", Integer, primary_key=True, autoincrement=False, server_default=text("0")),  # 1: copies
    _words("surface"),
    _words("ref"),
)

secrets = Table(
    "secrets",  # accounts' keys and the like, sealed under SECRET_KEY
    metadata,
    _key("org"),
    _key("name"),
    _words("sealed"),
    _time("at"),
)

# ── tasks, their transcript, calls and parks: written by Tasks.open and Tasks.change only ────

tasks = Table(
    "tasks",
    metadata,
    _key("org"),
    _key("id"),
    _count("number"),
    _words("agent"),
    _words_or_none("label"),
    _words("origin"),
    _words_or_none("requester"),
    Column("mode", Text, nullable=False, server_default="normal"),
    _words_or_none("parent_id"),
    _words_or_none("parent_call_id"),
    _count("depth"),
    _words_or_none("surface"),
    _words_or_none("chat"),  # the channel, group or direct chat its thread is in
    _words_or_none("thread_ref"),
    _json("goal"),
    _json("schema"),
    Column("taint", Text, nullable=False, server_default="none"),
    _flag("read_private"),
    _words("state"),  # TaskState
    _words_or_none("reason"),
    _count("episode", 1),
    _count("epoch"),
    _words_or_none("worker"),
    _time_or_none("lease_until"),  # in no index: heartbeats stay heap-only updates
    _count("attempts"),
    _time_or_none("not_before"),
    Column("prio", SmallInteger, nullable=False, server_default=text("1")),
    _big_count("vrt"),
    _time_or_none("queued_at"),  # since when it waits for a worker; time held counts
    _flag("aged"),  # the queue's: waited so long that it stands at prio 0 until it is claimed
    _count("round"),
    _count("next_seq", 1),
    _count("next_call_no", 1),
    _count("unread"),
    _count("strikes"),
    _count("repeats"),
    _words_or_none("stop_by"),
    _flag("wrap"),
    _count("extra_rounds"),
    _big_count("extra_tokens"),
    _big_count("tokens_in"),
    _big_count("tokens_out"),
    _json("result"),
    _time("created_at"),
    _time_or_none("started_at"),
    _time_or_none("ended_at"),
    _version(),
    UniqueConstraint("org", "number"),
    _index("ix_tasks_queue", "prio", "vrt", "id", where="state = 'queued'"),
    _index("ix_tasks_org_queue", "org", "prio", "vrt", where="state = 'queued'"),
    _index("ix_tasks_running", "org", "worker", where="state = 'running'"),
    _index("ix_tasks_delayed", "not_before", where="state = 'delayed'"),
    _index("ix_tasks_held", "org", "prio", "vrt", "id", where="state = 'held'"),
    _index("ix_tasks_aged", "org", where="state = 'queued' AND aged"),
    _index("ix_tasks_thread", "org", "surface", "thread_ref"),
    _index("ix_tasks_chat", "org", "surface", "chat"),
    _index("ix_tasks_parent", "org", "parent_id"),
    postgresql_with={
        "fillfactor": 80,
        "autovacuum_vacuum_scale_factor": 0,  # the queue's dead rows go early, whatever the table's size
        "autovacuum_vacuum_threshold": 5000,
        "autovacuum_vacuum_cost_delay": 0,
    },
)

messages = Table(
    "messages",  # append-only: a trigger refuses the rest
    metadata,
    _key("org"),
    _key("task_id"),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    _count("episode", 1),
    _count("round"),
    _words("kind"),  # MessageKind
    _json("body"),
    _count("tokens"),
    _number_or_none("from_seq"),
    _number_or_none("to_seq"),
    _count("epoch"),
    _time("at"),
    _version(),
)

calls = Table(
    "calls",
    metadata,
    _key("org"),
    _key("id"),
    _words("task_id"),
    Column("number", Integer, nullable=False),
    Column("episode", Integer, nullable=False),
    _number_or_none("round"),  # NULL: an owner call
    Column("ordinal", Integer, nullable=False),
    _words_or_none("provider_call_id"),
    _words("tool"),
    _words("tool_digest"),
    _words("risk"),
    _flag("pure"),
    _words_or_none("account"),
    _json("proposed_args"),
    _json("args"),
    _words("args_hash"),
    _words("verdict"),
    _words("rule"),
    _words_or_none("parks_as"),
    _words("state"),  # CallState
    _words_or_none("outcome"),
    _json("result"),
    _words_or_none("result_blob"),  # digest of a result kept in blobs
    _words_or_none("effect_key"),
    _words_or_none("sent_key"),
    _number_or_none("epoch"),
    _count("attempts"),
    _time_or_none("marked_at"),
    _time_or_none("settled_at"),
    _words_or_none("resend_of"),
    _words_or_none("late_note"),
    _version(),
    UniqueConstraint("org", "task_id", "number"),
    UniqueConstraint("org", "task_id", "episode", "round", "ordinal"),
    CheckConstraint(
        "(state = 'settled') = (outcome IS NOT NULL AND result IS NOT NULL)",
        name="settled_has_result",  # I3 by construction
    ),
    _index("ix_calls_open", "org", "task_id", where="state <> 'settled'"),
    _index(
        "uq_calls_effect",  # I6 by construction
        "org",
        "task_id",
        "effect_key",
        where="state = 'executing' OR outcome IN ('succeeded', 'unknown')",
        unique=True,
    ),
    _index("ix_calls_sent_key", "org", "sent_key", "marked_at", where="sent_key IS NOT NULL"),
    _index("ix_calls_tool", "org", "tool"),
    _index("ix_calls_outcome", "org", "outcome"),
)

effect_guards = Table(
    "effect_guards",  # a lock only: who holds the key is read from calls
    metadata,
    _key("org"),
    _key("effect_key"),
    _time("touched_at"),
)

parks = Table(
    "parks",
    metadata,
    _key("org"),
    _key("id"),
    _words("token"),
    _words("task_id"),
    _words_or_none("call_id"),
    _count("version", 1),
    _words("kind"),  # ParkKind
    _flag("holds"),
    _json("shown"),
    _words("shown_hash"),
    _words("renderer"),
    _json("choices"),  # list of Choice
    _json("approvers"),  # list of person ids
    _time("created_at"),
    _time_or_none("remind_at"),
    _time_or_none("expires_at"),
    _words("state"),  # ParkState
    _words_or_none("decision"),
    _words_or_none("choice"),
    _words_or_none("by_person"),
    _words_or_none("surface"),
    _words_or_none("event_id"),
    _json("patch"),
    _words_or_none("reason"),
    _json("viewed"),
    _time_or_none("decided_at"),
    _version(),
    UniqueConstraint("token"),
    UniqueConstraint("org", "call_id", "kind", "version"),
    UniqueConstraint("org", "event_id"),
    _index("ix_parks_task", "org", "task_id"),
    _index("ix_parks_open", "org", "task_id", where="state = 'open'"),
    _index("ix_parks_expiring", "expires_at", where="state = 'open'"),
    _index("ix_parks_reminding", "remind_at", where="state = 'open'"),
)

# ── what goes out and what comes in ──────────────────────────────────────────────────────────

posts = Table(
    "posts",  # a row is a message that should exist, rendered when it is sent; an edit is rev + 1
    metadata,
    _key("org"),
    _key("id"),
    _words("dedup_key"),
    _words("kind"),  # PostKind
    _words_or_none("task_id"),  # NULL: about several, a digest
    _count("episode", 1),
    _number_or_none("round"),
    _words("surface"),
    _words("route"),
    _json("tried"),  # list of {surface, ref, error}: where it should have been before
    _time_or_none("shown_at"),  # when its first revision got to this route, by itself or in a digest
    _json("body"),
    _count("rev", 1),
    _count("sent_rev"),
    _words_or_none("chat_ref"),
    Column("prio", SmallInteger, nullable=False, server_default=text("1")),
    _time("due_at"),
    _count("attempts"),
    Column("state", Text, nullable=False, server_default="due"),  # due, sending, sent, maybe, dead
    _count("epoch"),
    _words_or_none("error"),
    _words_or_none("copy_of"),  # the dedup_key of the card that it shows once more, elsewhere
    _version(),
    UniqueConstraint("org", "dedup_key"),
    _index("ix_posts_due", "due_at", where="rev > sent_rev AND state <> 'dead'"),
    _index("ix_posts_chat_ref", "surface", "chat_ref"),
    _index("ix_posts_task", "org", "task_id"),
    _index("ix_posts_shown", "org", "surface", "route", "shown_at"),
    _index("ix_posts_copies", "org", "copy_of", where="copy_of IS NOT NULL"),
)

inbox = Table(
    "inbox",  # new: to be routed; taken: belongs to a task, unread; applied; ignored; dead
    metadata,
    _key("source"),
    _key("event_id"),
    _words_or_none("org"),  # NULL until it is routed
    _words("kind"),  # EventKind
    _json("body"),
    _time("received_at"),
    Column("state", Text, nullable=False, server_default="new"),
    _time_or_none("due_at"),  # of a new row: when it is offered (again)
    _count("attempts"),
    _words_or_none("task_id"),
    _words_or_none("error"),
    _version(),
    _index("ix_inbox_new", "due_at", where="state = 'new'"),
    _index("ix_inbox_taken", "org", "task_id", where="state = 'taken'"),
)

reach_keys = Table(
    "reach_keys",  # whom a task wrote to, so that an answer finds it (I28)
    metadata,
    _key("org"),
    _key("surface"),
    _key("address"),
    Column("thread_ref", Text, primary_key=True, server_default=""),  # '': no thread
    _key("task_id"),
    _words_or_none("call_id"),
    _time("until"),
)

triggers = Table(
    "triggers",
    metadata,
    _key("org"),
    _key("id"),
    _words("agent"),
    _json("spec"),
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    _count("version", 1),
    _time("born_at"),
)

trigger_fires = Table(
    "trigger_fires",
    metadata,
    _key("org"),
    _key("trigger_id"),
    _key("slot"),
    _words("state"),  # fired, skipped
    _words_or_none("task_id"),
    _time("at"),
    _index("ix_trigger_fires_at", "org", "at"),
)

# ── Slack's installations, where the app is in several workspaces: adapters/slack alone reads and writes ──

# The columns are slack_sdk's; their times are UTC without a zone, as it writes them. Each row is of a
# workspace, in which several organizations may be. Tokens are sealed, and longer than slack_sdk has room for.


def _slack_bot() -> "list[Column[Any]]":
    """What both tables have of an installation."""
    return [
        Column("id", Integer, primary_key=True),
        _words("client_id"),
        _words("app_id"),
        _words_or_none("enterprise_id"),
        _words_or_none("enterprise_name"),
        _words_or_none("team_id"),  # NULL: of the enterprise as a whole
        _words_or_none("team_name"),
        _words_or_none("bot_token"),
        _words_or_none("bot_id"),
        _words_or_none("bot_user_id"),
        _words_or_none("bot_scopes"),
        _words_or_none("bot_refresh_token"),
        Column("bot_token_expires_at", DateTime),
        _flag("is_enterprise_install"),
        Column("installed_at", DateTime, nullable=False),
    ]


slack_bots = Table(
    "slack_bots",
    metadata,
    *_slack_bot(),
    _index("ix_slack_bots_place", "client_id", "team_id", "enterprise_id"),
)

slack_installations = Table(
    "slack_installations",  # by whom it was installed
    metadata,
    *_slack_bot(),
    _words_or_none("enterprise_url"),
    _words("user_id"),
    _words_or_none("user_token"),
    _words_or_none("user_scopes"),
    _words_or_none("user_refresh_token"),
    Column("user_token_expires_at", DateTime),
    _words_or_none("incoming_webhook_url"),
    _words_or_none("incoming_webhook_channel"),
    _words_or_none("incoming_webhook_channel_id"),
    _words_or_none("incoming_webhook_configuration_url"),
    _words_or_none("token_type"),
    _index("ix_slack_installations_place", "client_id", "team_id", "enterprise_id", "user_id"),
)

slack_oauth_states = Table(
    "slack_oauth_states",
    metadata,
    Column("id", Integer, primary_key=True),
    _words("state"),
    Column("expire_at", DateTime, nullable=False),
    _index("ix_slack_oauth_states_state", "state"),
)

# ── counters and locks ───────────────────────────────────────────────────────────────────────

usage = Table(
    "usage",  # tokens; a rolling day is the sum of 24 rows
    metadata,
    _key("org"),
    _key("agent"),
    Column("hour", Time, primary_key=True),
    _big_count("reserved"),
    _big_count("used"),
)

leases = Table(
    "leases",
    metadata,
    _key("name"),
    _words_or_none("holder"),
    _big_count("epoch"),
    _time_or_none("expires_at"),
)

queue_floor = Table(
    "queue_floor",  # the lowest vrt of queued rows of a prio, so that claims skip dead index entries
    metadata,
    Column("prio", SmallInteger, primary_key=True, autoincrement=False),
    _big_count("floor"),
)

# ── what happened ────────────────────────────────────────────────────────────────────────────

audit = Table(
    "audit",  # triggers refuse all but inserting and sealing (I35)
    metadata,
    _key("org"),
    _key("id"),
    _time("at"),
    _words("actor"),
    _words_or_none("surface"),
    _words("move"),
    _words_or_none("rule"),
    _words_or_none("task_id"),
    _words_or_none("call_id"),
    _words("entry"),  # text, not JSON: the HMAC covers these very bytes
    _words("mac"),
    Column("seq", BigInteger),  # NULL until it is sealed
    _words_or_none("prev_hash"),
    _words_or_none("hash"),
    UniqueConstraint("org", "seq"),
    _index("ix_audit_unsealed", "org", "id", where="seq IS NULL"),
    _index("ix_audit_task", "org", "task_id", "id"),
)

events = Table(
    "events",
    metadata,
    _key("org"),
    _key("id"),
    _words("name"),
    _words_or_none("task_id"),
    _words_or_none("call_id"),
    _words_or_none("agent"),
    _words_or_none("label"),
    _json("data"),
    _time("at"),
    _index("ix_events_task", "org", "task_id", "id"),
    _index("ix_events_name", "org", "name", "id"),
)

blobs = Table(
    "blobs",
    metadata,
    _key("org"),
    _key("sha256"),
    Column("bytes", LargeBinary, nullable=False),
)

schema_compat = Table(
    "schema_compat",  # one row: the oldest SCHEMA (schema.py) whose code may still run on this database
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("oldest", Integer, nullable=False),
)
