"""Skills: what an agent may read up on, offered by a line each and read when it is needed.

A skill is words of the agent's author, no code and no right: what it tells to do goes through the gate
like everything else.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from core.agents import Skill
from core.arguments import shown
from core.errors import ToolFailed
from core.gate import Risk
from core.tasks import Json
from core.tools import Tool, ToolContext

READ_SKILL: Final = "read_skill"

_NAMED: Final = {
    "type": "object",
    "properties": {"name": {"type": "string", "description": "as the list of skills has it"}},
    "required": ["name"],
}


def listed(skills: Sequence[Skill]) -> str:
    """What the system prompt says of them: each by its name and one line."""
    if not skills:
        return ""
    lines = [f"- {skill.name}: {skill.about}" for skill in skills]
    head = f"Skills. Read one with `{READ_SKILL}` before you do what it is about:"
    return "\n".join(["", "", head, *lines])


@lru_cache(maxsize=256)
def read_skill(skills: tuple[Skill, ...]) -> Tool:
    """The tool that reads one of *skills*, looked up by its name and by nothing else.

    Made once, since each step of a run asks for the tools of its task.
    """
    known = {skill.name: skill for skill in skills}

    async def handler(args: Mapping[str, Json], context: ToolContext) -> Json:
        name = args["name"]
        if (found := known.get(name)) is not None:
            return found.text
        near = get_close_matches(name.strip().casefold(), known, n=1)
        meant = f", did you mean {near[0]}?" if near else "."
        names = f"Skills: {', '.join(known)}." if known else "There are none."
        raise ToolFailed(f"there is no skill {shown(name, 60)}{meant} {names}")

    return Tool(
        name=READ_SKILL,
        description="Read one of your skills, whole.",
        risk=Risk.READ,
        parameters=_NAMED,
        handler=handler,
        editable=frozenset(),
    )
