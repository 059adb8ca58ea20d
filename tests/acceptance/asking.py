"""An app whose one agent asks before it answers; HOST_APP of the tests of questions."""

from core.agents import Agent
from core.host import BaseHost
from core.testing import calls, says, script_from


class Asking(BaseHost):
    def __init__(self) -> None:
        self.agents = {"lead": Agent(key="lead", name="Sam", chief=True, tools=("ask_owner",))}
        asks = calls(("ask_owner", {"question": "Which colour?", "suggestions": ["red", "blue"]}))
        self.model = script_from([asks, says("I painted it.")])
