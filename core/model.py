"""What is asked of a model and what it answers, whichever service serves it."""

from dataclasses import dataclass
from enum import StrEnum

from core.tasks import Json


class Finish(StrEnum):
    STOP = "stop"  # said all it wanted
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"  # cut by the token limit: never taken as whole
    CONTENT_FILTER = "content_filter"  # the service held it back
    REFUSAL = "refusal"  # the model refused


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; *parameters* is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class WireCall:
    """A tool call as the model wrote it: *arguments* is its raw text, not yet believed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One message of a request. *role*: system, user, assistant (with *calls*), or tool (with *call_id*)."""

    role: str
    text: str | None = None
    calls: tuple[WireCall, ...] = ()
    call_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A whole request: *turns* in order, the system text first; no *tools* in a closing round."""

    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...]
    max_tokens: int
    model: str | None = None  # None: the port's own default


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def total(self) -> int:
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReply:
    """A whole reply; text and calls may both be there."""

    text: str | None
    calls: tuple[WireCall, ...] = ()
    finish: Finish = Finish.STOP
    usage: Usage = Usage()
    model: str = ""
