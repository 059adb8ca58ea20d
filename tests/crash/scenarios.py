"""Short stories of one task, as data: what the model says, what the owner answers, what comes of it.

Each is played once without a crash, and then once for every place where it can be cut.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from core.calls import Outcome
from core.errors import ModelOverflow
from core.gate import Setting
from core.model import ModelReply, Request
from core.parks import DecisionKind
from core.tasks import Json, TaskState
from core.testing import Line, calls, says
from core.transcript import CLEARED


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the owner says to a card of one tool."""

    kind: DecisionKind
    changes: Mapping[str, Json] = field(default_factory=dict)
    reason: str | None = None


class Stop(StrEnum):
    """When the owner stops the task."""

    WAITING = "waiting"  # while it waits for a card
    SENDING = "sending"  # while an effect is at the provider


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """*outcomes* and *sent* (tool and arguments, as the provider got them) are those without a crash."""

    name: str
    script: tuple[Line, ...]
    settings: Mapping[str, Setting] = field(default_factory=dict)  # by risk
    answers: Mapping[str, Answer] = field(default_factory=dict)  # by tool; a tool without one is left
    stop: Stop | None = None
    silent: frozenset[str] = frozenset()  # tools whose provider accepts and never answers
    refusing: frozenset[str] = frozenset()  # tools whose provider provably does nothing
    outcomes: tuple[Outcome, ...]
    sent: tuple[tuple[str, Json], ...] = ()
    ends: TaskState = TaskState.DONE
    at_least: int  # calls to the outside, without a crash; fewer would mean that they aren't counted


NOTE = ("send_note", {"to": "bob@example.com", "text": "It is ready."})
REFUND = ("refund", {"order_id": "A7", "amount": Decimal("24.00")})
TAG = ("delete_tag", {"name": "old"})
APPROVE = Answer(kind=DecisionKind.APPROVE)
DECLINE = Answer(kind=DecisionKind.DECLINE, reason="not now")

READ = Scenario(
    name="read",
    script=(
        calls(("read_order", {"order_id": "A7"}), ("read_order", {"order_id": "B8"})),
        says("Both are open."),
    ),
    outcomes=(Outcome.SUCCEEDED, Outcome.SUCCEEDED),
    at_least=30,
)

# The second note is the same one: its key is taken by then, whatever became of the first.
SEND = Scenario(
    name="send",
    script=(calls(NOTE), calls(NOTE), says("Bob knows.")),
    settings={"contact": Setting.ALLOW},
    outcomes=(Outcome.SUCCEEDED, Outcome.DUPLICATE),
    sent=(NOTE,),
    at_least=35,
)

TWO_PARKS = Scenario(
    name="two_parks",
    script=(calls(REFUND, TAG), says("Refunded; the tag stays.")),
    answers={"refund": APPROVE, "delete_tag": DECLINE},
    outcomes=(Outcome.SUCCEEDED, Outcome.DECLINED),
    sent=(REFUND,),
    at_least=55,
)

EDIT = Scenario(
    name="edit",
    script=(calls(REFUND), says("Refunded, less than asked.")),
    answers={"refund": Answer(kind=DecisionKind.EDIT, changes={"amount": Decimal("19.50")})},
    outcomes=(Outcome.SUCCEEDED,),
    sent=(("refund", {"order_id": "A7", "amount": Decimal("19.50")}),),
    at_least=55,
)

DECLINED = Scenario(
    name="decline",
    script=(calls(REFUND), calls(REFUND), says("Then not.")),
    answers={"refund": DECLINE},
    outcomes=(Outcome.DECLINED, Outcome.REFUSED),
    at_least=55,
)

TIMEOUT = Scenario(
    name="timeout",
    script=(calls(REFUND), says("It may be refunded; you were asked.")),
    settings={"spend": Setting.ALLOW},
    silent=frozenset({"refund"}),
    outcomes=(Outcome.SUCCEEDED,),  # once the owner said that it went out
    sent=(REFUND,),
    at_least=50,
)

OBSERVE = Scenario(
    name="observe",
    script=(calls(("read_order", {"order_id": "A7"}), NOTE), says("I would have written to Bob.")),
    settings={"contact": Setting.OBSERVE},
    outcomes=(Outcome.SUCCEEDED, Outcome.OBSERVED),
    at_least=30,
)

STOPPED = Scenario(
    name="stop",
    script=(calls(REFUND, TAG), says("never said")),
    answers={"refund": APPROVE},
    stop=Stop.SENDING,
    outcomes=(Outcome.SUCCEEDED, Outcome.WITHDRAWN),
    sent=(REFUND,),
    ends=TaskState.STOPPED,
    at_least=50,
)

EIGHT = (READ, SEND, TWO_PARKS, EDIT, DECLINED, TIMEOUT, OBSERVE, STOPPED)

STOPPED_WAITING = Scenario(
    name="stop_waiting",
    script=(calls(REFUND), says("never said")),
    stop=Stop.WAITING,
    outcomes=(Outcome.WITHDRAWN,),
    ends=TaskState.STOPPED,
    at_least=40,
)

NOT_SENT = Scenario(
    name="not_sent",
    script=(calls(NOTE), says("Bob could not be reached.")),
    settings={"contact": Setting.ALLOW},
    refusing=frozenset({"send_note"}),
    outcomes=(Outcome.FAILED,),
    at_least=30,
)

# A round of two effects that need no click, between which a process may end.
TWO_SENDS = Scenario(
    name="two_sends",
    script=(calls(NOTE, ("send_note", {"to": "eve@example.com", "text": "Hello."})), says("Both know.")),
    settings={"contact": Setting.ALLOW},
    outcomes=(Outcome.SUCCEEDED, Outcome.SUCCEEDED),
    sent=(NOTE, ("send_note", {"to": "eve@example.com", "text": "Hello."})),
    at_least=35,
)

# The one that is played with real processes: an effect without a click, and one that a person edits.
SEND_AND_EDIT = Scenario(
    name="send_and_edit",
    script=(calls(NOTE), calls(REFUND), says("Bob knows, and has his money.")),
    settings={"contact": Setting.ALLOW},
    answers=EDIT.answers,
    outcomes=(Outcome.SUCCEEDED, Outcome.SUCCEEDED),
    sent=(NOTE, *EDIT.sent),
    at_least=60,
)


def once_cleared(request: Request) -> ModelReply:
    """What a model with a small window says: too long, until the old results are gone."""
    if all(turn.text != CLEARED for turn in request.turns):
        raise ModelOverflow
    return says("It is open.")


COMPACTED = Scenario(
    name="compact",
    script=(calls(("read_order", {"order_id": "A7" * 150})), once_cleared),
    outcomes=(Outcome.SUCCEEDED,),
    at_least=30,
)

ALL = {s.name: s for s in (*EIGHT, STOPPED_WAITING, NOT_SENT, TWO_SENDS, SEND_AND_EDIT, COMPACTED)}
