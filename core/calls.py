"""A call: one tool call the model asked for, from proposed to settled. Frozen; moves make the next one."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.gate import Verdict
from core.ids import CallId, OrgId, TaskId
from core.tasks import Json


class CallState(StrEnum):
    PROPOSED = "proposed"  # recorded with its verdict
    PARKED = "parked"  # waits for a person or an answer
    APPROVED = "approved"  # somebody said yes; runs as soon as a worker has it
    EXECUTING = "executing"  # may have gone out
    SETTLED = "settled"  # has its one result


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # provably did not go out
    UNKNOWN = "unknown"  # may have gone out; code never repeats it
    OBSERVED = "observed"  # practice: recorded, not run
    REFUSED = "refused"  # by the gate, or its arguments were no good
    DECLINED = "declined"  # a person said no
    REVISED = "revised"  # a person said: change it
    ANSWERED = "answered"  # a person's words are the result
    EXPIRED = "expired"  # nobody decided in time
    WITHDRAWN = "withdrawn"  # the task was stopped or ended first
    SKIPPED = "skipped"  # an earlier action of its round did not go through
    VOID = "void"  # what was approved is no longer what would run
    DUPLICATE = "duplicate"  # the same thing already went, or may have gone, out


class ParksAs(StrEnum):
    """Tools that are a wait by nature, whatever the gate says of their risk."""

    QUESTION = "question"  # ask_owner
    REPLY = "reply"  # wait_for_reply
    CHILD = "child"  # delegate


MODEL_PURE_RISKS = frozenset({"read", "draft"})
"""Risks whose calls may be run again after a crash (C20): nobody outside sees them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """The row of a call. *proposed_args* are the model's; *args* what will run, once that is known."""

    org: OrgId
    id: CallId
    task_id: TaskId
    number: int
    episode: int
    round: int | None  # None: an owner call, which belongs to no model reply
    ordinal: int
    provider_call_id: str | None = None  # as the provider wrote it; never used as a key
    tool: str
    tool_digest: str
    risk: str
    pure: bool
    account: str | None = None
    proposed_args: Json  # an object; or the raw text where it was not one
    args: Json  # an object
    args_hash: str  # shown_hash (I5) of what would run
    verdict: Verdict
    rule: str
    parks_as: ParksAs | None = None
    state: CallState = CallState.PROPOSED
    outcome: Outcome | None = None
    result: Json = None  # {"value": …} or {"error": …}; a wrapper, so that None is a result
    effect_key: str | None = None
    sent_key: str | None = None  # the host's: what makes two sends the same one; None: each is its own
    epoch: int | None = None  # of the run that marked it
    attempts: int = 0
    marked_at: datetime | None = None
    settled_at: datetime | None = None
    resend_of: CallId | None = None
    late_note: str | None = None  # what a run that had lost its lease reported afterwards

    @property
    def settled(self) -> bool:
        return self.state is CallState.SETTLED

    @property
    def asks_person(self) -> bool:
        """Proposed, and only a person or an answer can take it further."""
        return self.state is CallState.PROPOSED and (
            self.verdict is Verdict.ASK or (self.verdict is Verdict.RUN and self.parks_as is not None)
        )
