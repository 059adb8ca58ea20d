"""What there is in the fake Slack, as a test may look at it: workspaces, people, channels, what is shown."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

State: TypeAlias = dict[str, dict[str, Json]]
"""What is filled in on a surface: block id, action id, and the value as ``state.values`` has it."""


class Refused(Exception):
    """Slack answers ``ok: false`` with *error*; *beside* is what it says with it."""

    def __init__(self, error: str, **beside: Any) -> None:
        super().__init__(error)
        self.error = error
        self.beside = beside


@dataclass(kw_only=True, eq=False)
class Team:
    """A workspace where the app is installed; *scopes* are what its bot token was granted."""

    id: str
    name: str
    app_id: str
    bot_token: str
    bot_user_id: str
    bot_id: str
    scopes: set[str]
    enterprise_id: str | None = None
    is_enterprise_install: bool = False
    revoked: bool = False

    @property
    def domain(self) -> str:
        return self.name.lower().replace(" ", "-")


@dataclass(kw_only=True, eq=False)
class User:
    """A person or a bot; a stranger belongs to a workspace that has not installed the app (Slack Connect)."""

    id: str
    name: str
    team_id: str
    is_bot: bool = False
    is_restricted: bool = False
    is_stranger: bool = False
    deleted: bool = False

    def to_json(self) -> Json:
        """As ``users.info`` has it."""
        return {
            "id": self.id,
            "team_id": self.team_id,
            "name": self.name,
            "deleted": self.deleted,
            "real_name": self.name.title(),
            "tz": "Etc/UTC",
            "profile": {"real_name": self.name.title(), "display_name": self.name},
            "is_bot": self.is_bot,
            "is_restricted": self.is_restricted,
            "is_ultra_restricted": False,
            "is_stranger": self.is_stranger,
        }


@dataclass(kw_only=True, eq=False)
class File:
    """A file somebody uploaded; *content* is None until the bytes came."""

    id: str
    name: str
    size: int
    user: str
    title: str = ""
    content: bytes | None = None
    complete: bool = False
    channels: list[str] = field(default_factory=list)

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "name": self.name,
            "title": self.title or self.name,
            "size": self.size,
            "user": self.user,
            "mimetype": "application/octet-stream",
            "url_private": f"https://files.slack.com/files-pri/{self.id}/{self.name}",
        }


@dataclass(kw_only=True, eq=False)
class Surface:
    """Blocks a person can look at and use. *filled*: what each person has filled in there."""

    blocks: list[Json] = field(default_factory=list)
    filled: dict[str, State] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Version:
    """How a message read before it was changed."""

    text: str
    blocks: list[Json]


@dataclass(kw_only=True, eq=False)
class Message(Surface):
    """A message as it reads now; *history* is how it read before, oldest first."""

    channel: str
    ts: str
    user: str
    team_id: str
    text: str = ""
    bot_id: str | None = None
    app_id: str | None = None
    thread_ts: str | None = None
    subtype: str | None = None
    files: list[File] = field(default_factory=list)
    history: list[Version] = field(default_factory=list)
    metadata: Json | None = None
    edited: bool = False
    deleted: bool = False

    @property
    def is_reply(self) -> bool:
        return self.thread_ts not in (None, self.ts)

    def to_json(self) -> Json:
        """As answers, payloads and events have it."""
        said: Json = {"type": "message", "user": self.user, "ts": self.ts, "text": self.text}
        said["team"] = self.team_id
        optional = {
            "subtype": self.subtype,
            "bot_id": self.bot_id,
            "app_id": self.app_id,
            "thread_ts": self.thread_ts,
            "metadata": self.metadata,
            "edited": {"user": self.user, "ts": self.ts} if self.edited else None,
            "blocks": self.blocks or None,
            "files": [file.to_json() for file in self.files] or None,
        }
        return said | {key: value for key, value in optional.items() if value is not None}


@dataclass(kw_only=True, eq=False)
class Ephemeral(Surface):
    """A message that only *user* sees, and that Slack does not keep."""

    channel: str
    ts: str
    user: str
    text: str = ""
    thread_ts: str | None = None
    gone: bool = False


@dataclass(kw_only=True, eq=False)
class View(Surface):
    """A modal or a home as *user* sees it. *body* is all but its blocks; *errors* are at their blocks."""

    id: str
    user: str
    team: Team
    body: Json
    hash: str
    root_id: str
    previous_id: str | None = None
    errors: dict[str, str] = field(default_factory=dict)
    history: list[Version] = field(default_factory=list)

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def title(self) -> str:
        return str(self.body.get("title", {}).get("text", ""))

    @property
    def callback_id(self) -> str:
        return str(self.body.get("callback_id", ""))

    @property
    def private_metadata(self) -> str:
        return str(self.body.get("private_metadata", ""))

    def to_json(self) -> Json:
        """As answers and payloads have it."""
        return {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "title": None,
            "close": None,
            "submit": None,
            "clear_on_close": False,
            "notify_on_close": False,
            **self.body,
            "id": self.id,
            "team_id": self.team.id,
            "app_id": self.team.app_id,
            "app_installed_team_id": self.team.id,
            "bot_id": self.team.bot_id,
            "blocks": self.blocks,
            "hash": self.hash,
            "root_view_id": self.root_id,
            "previous_view_id": self.previous_id,
            "state": {"values": self.filled.get(self.user, {})},
        }


@dataclass(kw_only=True, eq=False)
class Channel:
    """A channel, private channel or direct message, with its messages in the order they were posted."""

    id: str
    name: str
    team_id: str
    members: set[str]
    is_im: bool = False
    is_private: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False
    messages: list[Message] = field(default_factory=list)

    @property
    def type(self) -> str:
        """As ``channel_type`` of an event says it."""
        if self.is_im:
            return "im"
        return "group" if self.is_private else "channel"

    @property
    def shown_name(self) -> str:
        """As payloads name it, which keep private names to themselves."""
        return {"im": "directmessage", "group": "privategroup"}.get(self.type, self.name)

    def to_json(self) -> Json:
        """As ``conversations.info`` has it."""
        told: Json = {
            "id": self.id,
            "is_im": self.is_im,
            "is_channel": self.type == "channel",
            "is_group": self.type == "group",
            "is_private": self.is_private or self.is_im,
            "is_archived": self.is_archived,
            "is_ext_shared": self.is_ext_shared,
            "context_team_id": self.team_id,
        }
        return told if self.is_im else told | {"name": self.name}


@dataclass(kw_only=True, eq=False)
class Call:
    """One request to the Web API, with what was answered: None if nothing was."""

    method: str
    payload: Json
    at: datetime
    token: str
    status: int | None = None
    answer: Json | None = None


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something the app did that Slack refuses, or that is a mistake although Slack takes it."""

    where: str
    error: str
    details: tuple[str, ...] = ()


@dataclass(kw_only=True, eq=False)
class Trigger:
    """A trigger id: one use, within three seconds. *modal*: it came from within a modal."""

    id: str
    user: str
    team: Team
    made_at: datetime
    modal: bool = False
    used: bool = False


@dataclass(kw_only=True, eq=False)
class Hook:
    """A response_url: five uses within 30 minutes, about *origin* if it came from a message."""

    id: str
    user: str
    channel: str
    team: Team
    made_at: datetime
    origin: Message | Ephemeral | None = None
    uses: int = 0


@dataclass(kw_only=True, eq=False)
class Delivery:
    """One request to the app and what it answered.

    *status* is None where it answered nothing in time; *kind* is what Socket Mode calls it. *why*: what went
    wrong, as Slack's retry would say it (``http_timeout``); *retry_reason*: what it says in this request.
    """

    kind: str
    payload: Json
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    sent: bytes = field(default=b"", repr=False)
    status: int | None = None
    body: str = ""
    seconds: float = 0.0
    retry: int = 0
    retry_reason: str = ""
    why: str = ""
    answer_headers: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300
