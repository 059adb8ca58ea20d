"""What a decision is called once it was taken, and what has come of it; for those who come late, too."""

from typing import Final

from core.calls import Call, CallState, Outcome
from core.parks import Choice, DecisionKind, Park

_SAID: Final = {
    DecisionKind.APPROVE: "approved",
    DecisionKind.EDIT: "approved with changes",
    DecisionKind.DECLINE: "declined",
    DecisionKind.REVISE: "sent back",
    DecisionKind.ANSWER: "answered",
    DecisionKind.CONNECTED: "connected",
}

_CHOSEN: Final = {
    Choice.WENT_OUT: "settled as gone out",
    Choice.DID_NOT: "settled as not gone out",
    Choice.SEND_AGAIN: "sent again",
    Choice.LOOK_UP: "looked up",
    Choice.MORE_ROUNDS: "given more rounds",
    Choice.MORE_TOKENS: "given more tokens",
    Choice.STOP: "stopped",
}


def said(park: Park) -> str:
    """A decided park's decision in the past tense: approved, declined, sent again, …"""
    if park.decision is DecisionKind.CHOICE:
        return _CHOSEN[park.choice] if park.choice else "decided"
    return _SAID[park.decision] if park.decision else "decided"


_DID: Final = {
    DecisionKind.APPROVE: "approved it",
    DecisionKind.EDIT: "approved it with changes",
    DecisionKind.DECLINE: "declined it",
    DecisionKind.REVISE: "sent it back",
    DecisionKind.ANSWER: "answered it",
    DecisionKind.CONNECTED: "connected it",
    Choice.WENT_OUT: "said that it went out",
    Choice.DID_NOT: "said that it did not go out",
    Choice.SEND_AGAIN: "had it sent again",
    Choice.LOOK_UP: "had it looked up",
    Choice.MORE_ROUNDS: "gave it more rounds",
    Choice.MORE_TOKENS: "gave it more tokens",
    Choice.STOP: "stopped it",
}

_HAS_COME: Final = {
    Outcome.SUCCEEDED: "it has run",
    Outcome.FAILED: "it failed",
    Outcome.UNKNOWN: "it may have gone out",
    Outcome.OBSERVED: "it was only recorded",
    Outcome.WITHDRAWN: "then the task was stopped",
    Outcome.VOID: "it did not run: it was no longer the same",
    Outcome.SKIPPED: "it was skipped",
    Outcome.DUPLICATE: "it was not repeated",
}


def did(park: Park) -> str:
    """A decided park's decision, as what somebody did: approved it, had it sent again, …"""
    key = park.choice if park.decision is DecisionKind.CHOICE else park.decision
    return _DID[key] if key else "decided it"


def since(park: Park, call: Call | None) -> str:
    """What has come of an approved call; of other decisions nothing has to."""
    if call is None or park.decision not in (DecisionKind.APPROVE, DecisionKind.EDIT):
        return ""
    if call.outcome is not None:
        return _HAS_COME.get(call.outcome, "")
    return "it is running" if call.state is CallState.EXECUTING else "it has not run yet"
