"""What the environment sets is what the parts do."""

from datetime import timedelta

from bot.settings import Settings
from bot.wiring import open_store
from core.ids import WorkerId
from core.tasks import Prio
from core.testing import CountingIds
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
