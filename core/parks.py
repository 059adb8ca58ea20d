"""A park: a call, or a task, waiting on a person or an answer; its decision is part of its row."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.canonical import digest
from core.ids import CallId, OrgId, ParkId, PersonId, TaskId, Token
from core.tasks import Json


class ParkKind(StrEnum):
    APPROVAL = "approval"  # may this call run?
    QUESTION = "question"  # the agent asks something
    CONNECT = "connect"  # an account is missing
    UNKNOWN = "unknown"  # it may have gone out; did it? Does not hold the task
    LIMIT = "limit"  # a limit was reached: more, or stop?
    REPLY = "reply"  # waits for an outside answer
    CHILD = "child"  # waits for a teammate
    MESSAGE = "message"  # an interactive agent waits for the next message


class ParkState(StrEnum):
    OPEN = "open"
    DECIDED = "decided"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"  # the task went on, stopped or ended without it
    SUPERSEDED = "superseded"  # a newer version replaced it


class DecisionKind(StrEnum):
    APPROVE = "approve"
    EDIT = "edit"  # approve, with changed arguments
    DECLINE = "decline"
    REVISE = "revise"  # change it and propose again
    ANSWER = "answer"
    CONNECTED = "connected"
    CHOICE = "choice"  # one of the park's choices


class Choice(StrEnum):
    """The choices of parks that offer some."""

    WENT_OUT = "went_out"  # unknown: it went out
    DID_NOT = "did_not"  # unknown: it did not
    SEND_AGAIN = "send_again"  # unknown: send it again, knowing it may be the second time
    LOOK_UP = "look_up"  # unknown: look at the destination, where its tool can
    MORE_ROUNDS = "more_rounds"  # limit: 20 more rounds
    MORE_TOKENS = "more_tokens"  # limit: 50,000 more tokens
    STOP = "stop"  # limit: stop here


RENDERER = "2"
"""The version of what a card shows of a call (cards.py); part of the shown hash (I5)."""

OUTSIDE: Final = "outside"
"""In what a card shows: its words came from outside, so the model reads none of them (I27)."""

TOGETHER: Final = "together"
"""In what a card shows: how many asked at once, and share a card's room; missing where it asked alone."""

UNKNOWN_CHOICES = (Choice.WENT_OUT, Choice.DID_NOT, Choice.SEND_AGAIN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Park:
    """The row of a park. *version* grows when what is shown changes; a token names one version."""

    org: OrgId
    id: ParkId
    token: Token
    task_id: TaskId
    call_id: CallId | None
    version: int = 1
    kind: ParkKind
    holds: bool  # keeps its task waiting
    shown: Json  # what a card shows beside the call: why, what changed, the first attempt, …
    shown_hash: str
    renderer: str = RENDERER
    choices: tuple[Choice, ...] = ()
    approvers: tuple[PersonId, ...] = ()  # empty: whoever the roster lets decide
    created_at: datetime
    remind_at: datetime | None = None
    expires_at: datetime | None = None
    state: ParkState = ParkState.OPEN
    decision: DecisionKind | None = None
    choice: Choice | None = None
    by_person: PersonId | None = None
    surface: str | None = None
    event_id: str | None = None
    patch: Json = None  # an edit's changed fields
    reason: str | None = None
    viewed: Json = None
    decided_at: datetime | None = None

    @property
    def open(self) -> bool:
        return self.state is ParkState.OPEN

    @property
    def together(self) -> int:
        """How many asked at once, this one among them."""
        return int(self.shown.get(TOGETHER, 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Slip:
    """The names a park will have if one is opened; drawn before the transaction, since moves are pure."""

    park_id: ParkId
    token: Token


def shown_hash(
    *,
    org: OrgId,
    agent: str,
    tool: str,
    tool_digest: str,
    risk: str,
    account: str | None,
    args: Json,
    renderer: str = RENDERER,
) -> str:
    """What a decision is bound to (I5): everything that makes a call what it is, not its arguments alone."""
    return digest(
        {
            "org": org,
            "agent": agent,
            "tool": tool,
            "tool_digest": tool_digest,
            "risk": risk,
            "account": account,
            "args": args,
            "renderer": renderer,
        }
    )
