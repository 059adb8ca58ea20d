"""Tools every app has, for agents that name them in `tools`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.calls import ParksAs
from core.errors import ToolFailed
from core.gate import Risk
from core.skills import READ_SKILL, read_skill
from core.tasks import Json
from core.tools import Tool, ToolContext

_QUESTION: Final = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "minLength": 1, "maxLength": 2000},
        "suggestions": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 75},
            "maxItems": 5,
        },
    },
    "required": ["question"],
}


async def _never_runs(args: Mapping[str, Json], context: ToolContext) -> Json:
    """A question is answered by a person; if it gets here, nothing was asked."""
    raise ToolFailed("this is answered by the owner, never run", sent=False)


ASK_OWNER: Final = Tool(
    name="ask_owner",
    description=(
        "Ask the owner something only they can know, and wait for the answer. Up to five suggested answers."
    ),
    risk=Risk.READ,
    parameters=_QUESTION,
    handler=_never_runs,
    editable=frozenset(),
    parks_as=ParksAs.QUESTION,
)

BUILTINS: Final[Mapping[str, Tool]] = MappingProxyType(
    {ASK_OWNER.name: ASK_OWNER, READ_SKILL: read_skill(())}  # of an agent with skills: its own, see proposals
)
