"""What Slack sends, parsed once: what was clicked, submitted, typed or said, in words of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from adapters.slack.heard.actors import Actor
from adapters.slack.places import Spot
from adapters.slack.shown.cards import ANSWER_WITH, CONNECT
from adapters.slack.shown.modals import About, about
from adapters.slack.shown.posts import SHOW, STOP
from adapters.slack.words import names, plain
from core.cards import Verb
from core.chat import Attachment, ChatMessage, Place, Press, Typed
from core.ids import Token
from core.route import ChatKind

_HUMAN: Final = frozenset({None, "thread_broadcast", "file_share", "me_message"})
"""Kinds of messages that a person wrote, as they wrote them."""
MODAL: Final = "modal"


@dataclass(frozen=True, kw_only=True, slots=True)
class Click:
    """A button that was pressed. *inside*: home or modal, where it is no message's.

    *shown*: its message, where that is one that others see, too.
    """

    action: str
    value: str
    event_id: str
    trigger_id: str
    response_url: str | None
    inside: str | None
    view_id: str
    shown: str | None

    @property
    def is_link(self) -> bool:
        """It opened an address; nothing else is to be done."""
        return self.action == CONNECT

    @property
    def command(self) -> str | None:
        """The command that it says for who pressed it: ``stop t-12``."""
        said = {STOP: "stop", SHOW: "show"}.get(self.action)
        return None if said is None else f"{said} {self.value}"


def click_of(body: Mapping[str, Any]) -> Click:
    """The first action of a ``block_actions`` request; Slack sends one at a time."""
    action = body["actions"][0]
    container = body.get("container") or {}
    view = body.get("view") or {}
    ephemeral = bool(container.get("is_ephemeral"))
    message = body.get("message") or {}
    where = (body.get("channel") or {}).get("id") or container.get("channel_id")
    at = message.get("ts") or container.get("message_ts")
    said = action.get("value") or (action.get("selected_option") or {}).get("value") or ""
    return Click(
        action=str(action.get("action_id", "")),
        value=str(said),
        event_id=f"click:{action.get('action_id')}:{action.get('action_ts')}:{said}",
        trigger_id=str(body.get("trigger_id", "")),
        response_url=body.get("response_url"),
        inside=view.get("type"),
        view_id=str(view.get("id", "")),
        shown=f"{where}/{at}" if where and at and not ephemeral and not view else None,
    )


def press_of(click: Click, actor: Actor) -> Press:
    """What the click says to a park."""
    verb, suggestion = click.action, None
    if verb.startswith(ANSWER_WITH):
        number = verb.removeprefix(ANSWER_WITH)
        verb, suggestion = Verb.ANSWER, int(number) if number.isdecimal() else -1
    shown = None if click.shown is None else f"{actor.installation.name}/{click.shown}"
    return Press(
        account=actor.account,
        event_id=f"{actor.account.ref}:{click.event_id}",
        verb=verb,
        token=Token(click.value),
        chat_ref=shown,
        suggestion=suggestion,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A modal that was submitted. *about*: None where it is of another release."""

    about: About | None
    values: Mapping[str, Mapping[str, Any]]
    event_id: str


def submission_of(body: Mapping[str, Any], actor: Actor) -> Submission:
    view = body["view"]
    return Submission(
        about=about(view.get("private_metadata") or ""),
        values=(view.get("state") or {}).get("values") or {},
        event_id=f"{actor.account.ref}:view:{view.get('id')}:{view.get('hash')}",
    )


def typed_of(body: Mapping[str, Any], actor: Actor) -> Typed:
    """A slash command; one without words asks for help."""
    chat = str(Spot(workspace=actor.installation.name, channel=body["channel_id"]))
    return Typed(
        account=actor.account,
        event_id=f"command:{body.get('trigger_id')}",
        text=plain(body.get("text") or "", actor.installation.bot_user) or "help",
        place=Place(chat=chat, kind=kind_of(body["channel_id"])),
    )


def message_of(body: Mapping[str, Any], actor: Actor) -> ChatMessage | None:
    """What somebody wrote; None of what is no person's message: edits, deletions, joins, other bots.

    Its id is that of the message, not of the event: a mention comes as two events.
    """
    event = body["event"]
    if event.get("subtype") not in _HUMAN or event.get("hidden") or event.get("bot_id"):
        return None
    installation, text, ts = actor.installation, event.get("text") or "", event["ts"]
    here = Spot(workspace=installation.name, channel=event["channel"])
    thread = event.get("thread_ts")
    in_thread = thread is not None and thread != ts
    return ChatMessage(
        account=actor.account,
        event_id=f"{here}/{ts}",
        place=Place(
            chat=str(here),
            kind=kind_of(event["channel"]),
            thread=f"{here}/{thread}" if in_thread else None,
            opens=f"{here}/{ts}",
        ),
        text=plain(text, installation.bot_user),
        reply_to=f"{here}/{thread}" if in_thread else None,  # to a card that stands where cards go, say
        edited="edited" in event,  # a mention that was put in later comes as one
        addressed=event.get("type") == "app_mention" or names(text, installation.bot_user),
        attachments=tuple(_attachment(file) for file in event.get("files") or ()),
    )


def _attachment(file: Mapping[str, Any]) -> Attachment:
    size = file.get("size")
    return Attachment(name=str(file.get("name") or "a file"), size=size if isinstance(size, int) else None)


def kind_of(channel: str) -> ChatKind:
    """By how Slack begins the ids of direct messages."""
    return ChatKind.DIRECT if channel.startswith("D") else ChatKind.CHANNEL
