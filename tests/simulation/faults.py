"""What may go wrong. A seed arms some of it (a swarm), so that rare faults meet and none drowns the rest."""

import random
from collections import Counter
from enum import StrEnum


class Fault(StrEnum):
    """Everything that goes wrong in some seed."""

    # processes
    KILLED_BEFORE = "killed before a port call"
    KILLED_AFTER = "killed after a port call"
    KILLED_IN_HANDLER = "killed in a tool's handler"
    TERMINATED = "asked to stop, and started again"
    STALLED = "paused past its leases"
    CLOCK_STEPPED = "its clock a day wrong"
    REDEPLOYED = "started again with changed tools"
    # the database
    STORE_FAILED = "an error before the commit"
    STORE_LOST_ANSWER = "an error after the commit"
    STORE_SLOW = "a statement of seconds"
    TIME_JUMPED = "the database's time days later"
    TAMPERED = "a row edited after the click"
    # the model
    MODEL_BUSY = "the model is busy"
    MODEL_REFUSES = "the model's service refuses"
    MODEL_OVERFLOWS = "a request longer than the model takes"
    MODEL_SLOW = "a reply of many seconds"
    MODEL_BABBLES = "broken, strange and too many calls"
    MODEL_CUT = "replies that are empty, cut or held back"
    MODEL_OBEYS = "it obeys words from outside"
    # the provider behind the tools
    PROVIDER_REFUSES = "a refused connection"
    PROVIDER_BREAKS = "an error nobody can read"
    PROVIDER_SILENT = "a time-out, and nothing arrived"
    PROVIDER_LOST_ANSWER = "a time-out, and it arrived"
    ACCOUNT_MISSING = "an account that is not connected"
    PROVIDER_SLOW = "an answer past the lease"
    # the chat
    CHAT_BUSY = "the chat asks to wait"
    CHAT_FAILED = "the chat did not take it"
    CHAT_LOST_ANSWER = "the chat took it and did not say so"
    CHAT_GONE = "the place in the chat is gone"
    PLACE_DEAD = "a place in the chat is gone for good"
    # people
    CLICKED_TWICE = "one click delivered twice"
    CLICKED_STALE = "a click on what is no longer so"
    CLICKED_BY_STRANGER = "a click by who may not"
    SENT_TWICE = "one message delivered twice"
    EDITED = "an older message's new text"
    WROTE_COMMANDS = "words that look like a decision"
    STOPPED = "an owner's stop"
    SWITCHED = "an agent paused, in practice, or set otherwise"
    ORG_PAUSED = "the organization paused"
    LEFT = "an approver who leaves, or is none any more"
    RULED = "another rule about who approves"


class Faults:
    """Which faults a seed has, and how often each happened."""

    def __init__(self, rng: random.Random) -> None:
        self.armed = frozenset(fault for fault in Fault if rng.random() < rng.choice((0.2, 0.5, 0.9)))
        self.healed = False
        self.happened: Counter[Fault] = Counter()
        self._rng = rng

    def strikes(self, fault: Fault, chance: float) -> bool:
        """Whether *fault* happens here and now; then it is counted."""
        if self.healed or fault not in self.armed or self._rng.random() >= chance:
            return False
        self.happened[fault] += 1
        return True
