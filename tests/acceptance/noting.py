"""An app whose one agent sends three notes at once; HOST_APP of the tests of cards with several calls."""

from core.agents import Agent
from core.host import BaseHost
from core.testing import calls, says, script_from
from core.tools import tool


class Noting(BaseHost):
    def __init__(self) -> None:
        @tool(risk="contact")
        async def send_note(to: str, text: str) -> str:
            """Send a note."""
            return f"sent to {to}"

        self.tools = {"send_note": send_note}
        self.agents = {"lead": Agent(key="lead", name="Sam", chief=True, tools=("send_note",))}
        notes = [("send_note", {"to": to, "text": "Dear\nfriend"}) for to in ("ada", "ben", "cy")]
        self.model = script_from([calls(*notes), says("I wrote to them.")])
