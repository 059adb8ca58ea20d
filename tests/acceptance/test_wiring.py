"""What the environment sets is what the parts do."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from bot.settings import Settings
from bot.wiring import load_host_agents, open_store
from core.agents import Agent
from core.errors import ConfigError
from core.host import BaseHost
from core.ids import WorkerId
from core.tasks import Prio
from core.testing import CountingIds
from core.tools import Tool, tool
from tests.acceptance.command_line import KEY
from tests.contract.planted_sql import SqlPlanted


async def test_the_queue_has_the_cap_and_the_age_of_the_environment(migrated_url: str) -> None:
    hand = SqlPlanted(migrated_url)
    org = await hand.organization("a")
    old, young = [await hand.task(org, vrt=place) for place in range(2)]
    await hand.update("tasks", {"queued_at": await hand.now() - timedelta(seconds=61)}, id=old.id)
    environ = {"DATABASE_URL": migrated_url, "AUDIT_KEY": KEY, "MAX_RUNNING": "1", "AGE_SECONDS": "60"}
    store = await open_store(Settings.from_env(environ), CountingIds())
    await store.queue.recover(9)
    assert [(await hand.task_row(task)).prio for task in (old, young)] == [Prio.PERSON, Prio.SELF_STARTED]
    assert [run.task_id for run in await store.queue.claim(WorkerId("w"), 2, 60)] == [old.id]
    await store.close()
    await hand.close()


@pytest.mark.parametrize("name", ["finish", "read_skill", "ask_owner"])
@pytest.mark.parametrize("key", ["its name", "close"])
def test_a_hosts_tool_with_the_name_of_a_built_in_one_is_refused_at_the_start(name: str, key: str) -> None:
    @tool(risk="read", name=name)
    async def mine() -> None:
        """Does something else."""

    class Shop(BaseHost):
        tools: Mapping[str, Tool] = {name if key == "its name" else key: mine}
        agents: Mapping[str, Agent] = {"sam": Agent(key="sam", name="Sam")}

    environ = {"DATABASE_URL": "sqlite:///bot.db", "AUDIT_KEY": KEY}
    words = f"the host's tool {name} has the name of a built-in one: give it another, as in "
    with pytest.raises(ConfigError, match=f"^{words}"):
        load_host_agents(Shop(), Settings.from_env(environ))
