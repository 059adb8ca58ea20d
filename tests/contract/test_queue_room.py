"""How much room an organization has in the queue, and how what waited long ages (T2, T3)."""

from datetime import timedelta

import pytest

from core.ids import OrgId, Run, WorkerId
from core.queue import QueueSettings
from core.tasks import Origin, Prio, Task, TaskState
from tests.contract.planted import BORN_AT, FAR, Planted
from tests.contract.test_queue import queued

W1 = WorkerId("w1")


# ── how many of one organization run at once ─────────────────────────────────────────────────


async def cap(planted: Planted, org: OrgId, max_running: int) -> None:
    await planted.update("organizations", {"max_running": max_running}, id=org)


async def finish(planted: Planted, run: Run) -> None:
    await planted.update("tasks", {"state": TaskState.DONE}, id=run.task_id)


@pytest.mark.rule("T2")
async def test_a_full_organizations_tasks_are_held_and_the_others_go_on(planted: Planted) -> None:
    full, other = await planted.organization("full"), await planted.organization("other")
    await cap(planted, full, 3)
    await planted.running(full, "w2", BORN_AT + FAR)
    many = await queued(planted, full, 6)
    last = await planted.task(other, vrt=99)

    runs = await planted.store.queue.claim(W1, 3, 60)

    assert [run.task_id for run in runs] == [many[0].id, many[1].id, last.id]
    states = [(await planted.task_row(task)).state for task in many]
    assert states == [TaskState.RUNNING] * 2 + [TaskState.HELD] * 4


@pytest.mark.rule("T2")
async def test_what_no_worker_asked_for_is_not_held_although_it_could_not_run_now(
    planted: Planted,
) -> None:
    org = await planted.organization("a")
    await cap(planted, org, 2)
    tasks = await queued(planted, org, 12)
    queue = planted.store.queue
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert [await planted.task_row(task) for task in tasks[2:]] == tasks[2:]


@pytest.mark.rule("T3")
async def test_held_tasks_come_back_as_places_become_free(planted: Planted) -> None:
    org = await planted.organization("a")
    await cap(planted, org, 2)
    tasks = await queued(planted, org, 6)
    queue = planted.store.queue
    runs = await queue.claim(W1, 6, 60)
    assert await queue.recover(10) == []

    await finish(planted, runs[0])
    assert await queue.recover(10) == [tasks[2].ref]
    assert (await planted.task_row(tasks[2])).vrt == 0  # the floor: nothing else of it is queued
    assert [run.task_id for run in await queue.claim(W1, 6, 60)] == [tasks[2].id]

    await finish(planted, runs[1])
    await cap(planted, org, 9)
    assert sorted(ref.task_id for ref in await queue.recover(10)) == sorted(task.id for task in tasks[3:])


async def test_an_organization_without_a_cap_of_its_own_has_the_queues(planted: Planted) -> None:
    org, special = await planted.organization("a"), await planted.organization("b")
    await cap(planted, special, 5)
    await queued(planted, org, 4)
    await queued(planted, special, 4)
    queue = planted.queue(QueueSettings(max_running=1))
    runs = await queue.claim(W1, 8, 60)
    assert [run.org for run in runs] == [org, special, special, special, special]


async def test_each_organization_gets_its_share_of_what_recover_brings_back(planted: Planted) -> None:
    orgs = [await planted.organization(name) for name in ("a", "b", "c")]
    for org in orgs:
        for _ in range(5):
            await planted.task(org, state=TaskState.HELD)
    back = await planted.store.queue.recover(7)
    assert sorted(sum(ref.org == org for ref in back) for org in orgs) == [2, 2, 3]


async def test_a_paused_agents_tasks_do_not_stand_before_those_that_may_come_back(
    planted: Planted,
) -> None:
    org = await planted.organization("a")
    for _ in range(3):
        await planted.task(org, state=TaskState.HELD, agent="mailer")
    free = await planted.task(org, state=TaskState.HELD, vrt=9)
    await planted.pause(org, "mailer")
    await cap(planted, org, 1)
    assert await planted.store.queue.recover(10) == [free.ref]


# ── ageing ───────────────────────────────────────────────────────────────────────────────────


async def waits_for(planted: Planted, task: Task, minutes: float) -> None:
    at = await planted.now() - timedelta(minutes=minutes)
    await planted.update("tasks", {"queued_at": at}, id=task.id)


@pytest.mark.rule("T3")
async def test_a_self_started_task_that_waited_long_is_not_starved_by_a_flood_of_owners(
    planted: Planted,
) -> None:
    flood, small = await planted.organization("flood"), await planted.organization("small")
    asked = await queued(planted, flood, 5, prio=Prio.PERSON)
    old = await planted.task(small, origin=Origin.SCHEDULE)
    young = await planted.task(flood, origin=Origin.SCHEDULE)
    await waits_for(planted, old, 10.1)
    await waits_for(planted, young, 9.9)
    queue = planted.store.queue

    await queue.recover(10)

    row = await planted.task_row(old)
    assert (row.prio, row.origin) == (Prio.PERSON, Origin.SCHEDULE)
    assert await planted.task_row(young) == young
    runs = await queue.claim(W1, 2, 60)
    assert sorted(run.task_id for run in runs) == sorted([asked[0].id, old.id])
    assert (await planted.task_row(old)).prio == Prio.SELF_STARTED  # it waits no longer


@pytest.mark.rule("T3")
async def test_one_task_of_an_organization_ages_at_a_time_so_that_owners_stay_first(
    planted: Planted,
) -> None:
    org = await planted.organization("a")
    crowd = await queued(planted, org, 4)
    for task in crowd:
        await waits_for(planted, task, 60)
    queue = planted.store.queue
    await queue.recover(10)
    await queue.recover(10)
    asked = await planted.task(org, prio=Prio.PERSON, vrt=1)

    assert [(await planted.task_row(task)).prio for task in crowd] == [0, 1, 1, 1]
    assert [run.task_id for run in await queue.claim(W1, 2, 60)] == [crowd[0].id, asked.id]
    await queue.recover(10)
    assert [(await planted.task_row(task)).prio for task in crowd] == [1, 0, 1, 1]


async def test_time_held_counts_and_a_new_run_starts_afresh(planted: Planted) -> None:
    org = await planted.organization("a")
    held = await planted.task(org, state=TaskState.HELD)
    lost = await planted.running(await planted.organization("b"), "w1", BORN_AT)
    due = await planted.task(await planted.organization("c"), state=TaskState.DELAYED, not_before=BORN_AT)
    for task in (held, lost, due):
        await waits_for(planted, task, 60)
    await planted.store.queue.recover(10)
    assert [(await planted.task_row(task)).prio for task in (held, lost, due)] == [0, 1, 1]


async def test_an_aged_task_that_is_held_comes_back_aged(planted: Planted) -> None:
    org = await planted.organization("a")
    old = await planted.task(org)
    await waits_for(planted, old, 60)
    await planted.pause(org, "inbox")
    queue = planted.store.queue
    await queue.recover(10)
    assert await queue.claim(W1, 1, 60) == []
    assert (await planted.task_row(old)).state is TaskState.HELD
    await planted.pause(org, "inbox", paused=False)
    await queue.recover(10)
    assert (await planted.task_row(old)).prio == Prio.PERSON
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert (await planted.task_row(old)).prio == Prio.SELF_STARTED


async def test_an_aged_task_whose_run_was_lost_waits_afresh(planted: Planted) -> None:
    old = await planted.task(await planted.organization("a"))
    await waits_for(planted, old, 60)
    queue = planted.store.queue
    await queue.recover(10)
    assert len(await queue.claim(W1, 1, -1)) == 1
    assert await queue.recover(10) == [old.ref]
    row = await planted.row("tasks", id=old.id)
    assert (row["state"], row["prio"], row["aged"]) == ("queued", Prio.SELF_STARTED, False)


@pytest.mark.rule("T3")
async def test_held_tasks_of_paused_agents_take_no_other_organizations_turn(planted: Planted) -> None:
    for n in range(3):
        org = await planted.organization(f"paused-{n}")
        await planted.task(org, state=TaskState.HELD, agent="mailer", vrt=n)
        await planted.pause(org, "mailer")
    waits = await planted.task(await planted.organization("z"), state=TaskState.HELD, vrt=50)
    assert await planted.store.queue.recover(3) == [waits.ref]
