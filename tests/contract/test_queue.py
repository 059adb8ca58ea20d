"""The queue: owner first, then turns between organizations; and what brings tasks back (T2, T3)."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import update

from adapters.store import tables
from adapters.store.queue import QueueSettings, SqlQueue
from core.ids import OrgId, Run, WorkerId
from core.people import OrgState
from core.tasks import Origin, Prio, Task, TaskState
from tests.contract.planted import BORN_AT, FAR, Planted

W1, W2 = WorkerId("w1"), WorkerId("w2")


async def queued(planted: Planted, org: OrgId, n: int, **fields: object) -> list[Task]:
    """*n* tasks of *org*, one round each, as if queued one after another."""
    return [await planted.task(org, vrt=vrt, **fields) for vrt in range(n)]


@pytest.mark.rule("T2")
@pytest.mark.parametrize("each", [1, 10])
async def test_what_a_person_asked_for_is_claimed_first_then_organizations_take_turns(
    planted: Planted, each: int
) -> None:
    flood, small = await planted.organization("flood"), await planted.organization("small")
    many = await queued(planted, flood, 3)
    asked_many = await queued(planted, flood, 3, prio=Prio.PERSON)
    few = await queued(planted, small, 2)
    asked_few = await queued(planted, small, 1, prio=Prio.PERSON)

    queue = SqlQueue(planted.db)
    runs = [run for _ in range(10 // each) for run in await queue.claim(W1, each, 60)]

    asked = [asked_many[0], asked_few[0], asked_many[1], asked_many[2]]
    started = [many[0], few[0], many[1], few[1], many[2]]
    assert [run.task_id for run in runs] == [task.id for task in (*asked, *started)]


@pytest.mark.rule("T2")
async def test_a_claimed_task_runs_in_a_new_epoch_under_the_workers_lease(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), epoch=3)
    (run,) = await SqlQueue(planted.db).claim(W1, 1, 60)

    assert run == Run(org=task.org, task_id=task.id, epoch=4, worker=W1)
    row = await planted.task_row(task)
    assert (row.state, row.epoch, row.worker) == (TaskState.RUNNING, 4, W1)
    now = await planted.now()
    assert row.lease_until is not None and row.started_at is not None
    assert timedelta(seconds=50) < row.lease_until - now <= timedelta(seconds=60)
    assert timedelta(0) <= now - row.started_at < timedelta(seconds=10)


async def test_a_task_that_ran_before_keeps_when_it_started(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), started_at=BORN_AT)
    await SqlQueue(planted.db).claim(W1, 1, 60)
    assert (await planted.task_row(task)).started_at == BORN_AT


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.rule("T2")
async def test_workers_that_claim_at_once_never_share_a_task(planted: Planted, each: int) -> None:
    org = await planted.organization("a")
    tasks = [*await queued(planted, org, 20), *await queued(planted, org, 20, prio=Prio.PERSON)]
    queue = SqlQueue(planted.db)

    async def work(worker: WorkerId) -> list[Run]:
        mine: list[Run] = []
        while runs := await queue.claim(worker, each, 60):
            mine += runs
        return mine

    shares = await asyncio.gather(*(work(WorkerId(f"w{n}")) for n in range(8)))
    claimed = [run.task_id for share in shares for run in share]
    assert sorted(claimed) == sorted(task.id for task in tasks)


async def test_no_more_than_wanted_is_claimed(planted: Planted) -> None:
    await queued(planted, await planted.organization("a"), 5)
    queue = SqlQueue(planted.db)
    assert len(await queue.claim(W1, 2, 60)) == 2
    assert len(await queue.claim(W1, 9, 60)) == 3
    assert await queue.claim(W1, 9, 60) == []


@pytest.mark.rule("T2")
async def test_tasks_of_a_paused_agent_are_held_and_the_claim_goes_on(planted: Planted) -> None:
    org = await planted.organization("a")
    paused = await queued(planted, org, 12, agent="mailer")
    others = [await planted.task(org, agent="inbox", vrt=99 + n) for n in range(3)]
    await planted.pause(org, "mailer")

    runs = await SqlQueue(planted.db).claim(W1, 1, 60)

    assert [run.task_id for run in runs] == [others[0].id]
    assert [await planted.task_row(task) for task in others[1:]] == others[1:]
    rows = [await planted.task_row(task) for task in paused]
    assert {(row.state, row.epoch, row.worker, row.started_at) for row in rows} == {
        (TaskState.HELD, 0, None, None)
    }


@pytest.mark.rule("T2")
async def test_tasks_of_a_paused_organization_are_held(planted: Planted) -> None:
    held = await planted.task(await planted.organization("a", OrgState.PAUSED), prio=Prio.PERSON)
    other = await planted.task(await planted.organization("b"))
    assert [run.task_id for run in await SqlQueue(planted.db).claim(W1, 5, 60)] == [other.id]
    assert (await planted.task_row(held)).state is TaskState.HELD


async def test_an_agent_paused_elsewhere_still_works_here(planted: Planted) -> None:
    here, there = await planted.organization("a"), await planted.organization("b")
    await planted.pause(there, "inbox")
    task = await planted.task(here)
    assert [run.task_id for run in await SqlQueue(planted.db).claim(W1, 1, 60)] == [task.id]


@pytest.mark.rule("T3")
async def test_a_held_task_comes_back_once_nothing_blocks_it(planted: Planted) -> None:
    org = await planted.organization("a")
    task = await planted.task(org)
    await planted.pause(org, "inbox")
    queue = SqlQueue(planted.db)
    await queue.claim(W1, 1, 60)

    assert await queue.recover(10) == []
    await planted.run("UPDATE switches SET paused_by = NULL, paused_at = NULL")
    assert await queue.recover(10) == [task.ref]

    row = await planted.task_row(task)
    assert (row.state, row.attempts) == (TaskState.QUEUED, 0)
    assert len(await queue.claim(W1, 1, 60)) == 1


@pytest.mark.rule("T3")
async def test_a_lost_lease_is_counted_and_the_next_run_has_a_new_epoch(planted: Planted) -> None:
    org = await planted.organization("a")
    lost = await planted.running(org, "w1", BORN_AT, prio=Prio.PERSON)
    kept = await planted.running(org, "w1", BORN_AT + FAR)
    queue = SqlQueue(planted.db)

    assert await queue.recover(10) == [lost.ref]

    row = await planted.task_row(lost)
    assert (row.state, row.attempts, row.epoch, row.prio) == (TaskState.QUEUED, 1, 1, Prio.PERSON)
    assert (row.worker, row.lease_until) == (None, None)
    assert (await planted.task_row(kept)) == kept
    assert await queue.claim(W2, 1, 60) == [Run(org=org, task_id=lost.id, epoch=2, worker=W2)]


@pytest.mark.rule("T3")
async def test_a_delayed_task_is_queued_once_its_time_has_come(planted: Planted) -> None:
    org = await planted.organization("a")
    due = await planted.task(org, state=TaskState.DELAYED, not_before=BORN_AT, attempts=2)
    later = await planted.task(org, state=TaskState.DELAYED, not_before=BORN_AT + FAR)

    assert await SqlQueue(planted.db).recover(10) == [due.ref]

    row = await planted.task_row(due)
    assert (row.state, row.not_before, row.attempts) == (TaskState.QUEUED, None, 2)
    assert (await planted.task_row(later)) == later


@pytest.mark.rule("T3")
async def test_recovered_tasks_stand_at_the_end_of_their_organizations_turns(planted: Planted) -> None:
    a, b = await planted.organization("a"), await planted.organization("b")
    await planted.task(a, vrt=10)
    await planted.task(a, vrt=4, prio=Prio.PERSON)
    lost = [await planted.running(a, "w1", BORN_AT, vrt=vrt) for vrt in (1, 2, 3)]
    other = await planted.running(b, "w1", BORN_AT, vrt=1)
    await planted.run("UPDATE queue_floor SET floor = 6 WHERE prio = 1")

    await SqlQueue(planted.db).recover(10)

    assert [(await planted.task_row(task)).vrt for task in (*lost, other)] == [11, 12, 13, 6]


async def test_recover_queues_no_more_than_its_limit(planted: Planted) -> None:
    org = await planted.organization("a")
    for _ in range(3):
        await planted.running(org, "w1", BORN_AT)
        await planted.task(org, state=TaskState.DELAYED, not_before=BORN_AT)
        await planted.task(org, state=TaskState.HELD)
    queue = SqlQueue(planted.db)
    assert [len(await queue.recover(4)) for _ in range(4)] == [4, 4, 1, 0]


async def test_those_who_recover_at_once_queue_a_task_once(planted: Planted) -> None:
    org = await planted.organization("a")
    lost = [await planted.running(org, "w1", BORN_AT) for _ in range(20)]
    queue = SqlQueue(planted.db)
    shares = await asyncio.gather(*(queue.recover(20) for _ in range(8)))
    assert sorted(ref.task_id for share in shares for ref in share) == sorted(task.id for task in lost)
    assert {(await planted.task_row(task)).attempts for task in lost} == {1}


def run_of(task: Task) -> Run:
    return Run(org=task.org, task_id=task.id, epoch=task.epoch, worker=W1)


async def test_a_heartbeat_renews_what_its_worker_still_holds(planted: Planted) -> None:
    org = await planted.organization("a")
    mine = await planted.running(org, "w1", BORN_AT)
    others = await planted.running(org, "w2", BORN_AT)
    ended = await planted.task(org, state=TaskState.DONE, worker="w1")
    broken_off = await planted.running(org, "w1", BORN_AT)
    runs = [run_of(task) for task in (mine, others, ended)]

    assert await SqlQueue(planted.db).heartbeat(W1, runs, 60) == [mine.ref]

    renewed = (await planted.task_row(mine)).lease_until
    assert renewed is not None and renewed > await planted.now()
    left = [others, ended, broken_off]
    assert [await planted.task_row(task) for task in left] == left


@pytest.mark.rule("T3")
async def test_a_task_that_was_recovered_is_missing_from_the_heartbeat(planted: Planted) -> None:
    lost = await planted.running(await planted.organization("a"), "w1", BORN_AT)
    queue = SqlQueue(planted.db)
    await queue.recover(10)
    assert await queue.heartbeat(W1, [run_of(lost)], 60) == []


async def floors(planted: Planted) -> list[int]:
    return [row[0] for row in await planted.all("SELECT floor FROM queue_floor ORDER BY prio")]


async def test_the_floor_is_the_lowest_place_still_queued(planted: Planted) -> None:
    org = await planted.organization("a")
    await planted.task(org, vrt=8)
    await planted.task(org, vrt=5)
    await planted.task(org, vrt=2, state=TaskState.DONE)
    queue = SqlQueue(planted.db)
    await queue.recover(10)
    assert await floors(planted) == [0, 5]
    await queue.claim(W1, 2, 60)
    await queue.recover(10)
    assert await floors(planted) == [0, 5]


async def test_a_task_that_was_queued_below_the_floor_is_found_by_the_next_recover(planted: Planted) -> None:
    late = await planted.task(await planted.organization("a"), vrt=3)
    await planted.run("UPDATE queue_floor SET floor = 9")
    queue = SqlQueue(planted.db)
    assert await queue.claim(W1, 1, 60) == []
    await queue.recover(10)
    assert [run.task_id for run in await queue.claim(W1, 1, 60)] == [late.id]


# ── how many of one organization run at once ─────────────────────────────────────────────────


async def cap(planted: Planted, org: OrgId, max_running: int) -> None:
    await planted.run("UPDATE organizations SET max_running = :n WHERE id = :org", n=max_running, org=org)


async def finish(planted: Planted, run: Run) -> None:
    await planted.run("UPDATE tasks SET state = 'done' WHERE id = :id", id=run.task_id)


@pytest.mark.rule("T2")
async def test_a_full_organizations_tasks_are_held_and_the_others_go_on(planted: Planted) -> None:
    full, other = await planted.organization("full"), await planted.organization("other")
    await cap(planted, full, 3)
    await planted.running(full, "w2", BORN_AT + FAR)
    many = await queued(planted, full, 6)
    last = await planted.task(other, vrt=99)

    runs = await SqlQueue(planted.db).claim(W1, 3, 60)

    assert [run.task_id for run in runs] == [many[0].id, many[1].id, last.id]
    states = [(await planted.task_row(task)).state for task in many]
    assert states == [TaskState.RUNNING] * 2 + [TaskState.HELD] * 4


@pytest.mark.rule("T2")
async def test_what_no_worker_asked_for_is_not_held_although_it_could_not_run_now(planted: Planted) -> None:
    org = await planted.organization("a")
    await cap(planted, org, 2)
    tasks = await queued(planted, org, 12)
    queue = SqlQueue(planted.db)
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert [await planted.task_row(task) for task in tasks[2:]] == tasks[2:]


@pytest.mark.rule("T3")
async def test_held_tasks_come_back_as_places_become_free(planted: Planted) -> None:
    org = await planted.organization("a")
    await cap(planted, org, 2)
    tasks = await queued(planted, org, 6)
    queue = SqlQueue(planted.db)
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
    queue = SqlQueue(planted.db, QueueSettings(max_running=1))
    runs = await queue.claim(W1, 8, 60)
    assert [run.org for run in runs] == [org, special, special, special, special]


async def test_each_organization_gets_its_share_of_what_recover_brings_back(planted: Planted) -> None:
    orgs = [await planted.organization(name) for name in ("a", "b", "c")]
    for org in orgs:
        for _ in range(5):
            await planted.task(org, state=TaskState.HELD)
    back = await SqlQueue(planted.db).recover(7)
    assert sorted(sum(ref.org == org for ref in back) for org in orgs) == [2, 2, 3]


async def test_a_paused_agents_tasks_do_not_stand_before_those_that_may_come_back(planted: Planted) -> None:
    org = await planted.organization("a")
    for _ in range(3):
        await planted.task(org, state=TaskState.HELD, agent="mailer")
    free = await planted.task(org, state=TaskState.HELD, vrt=9)
    await planted.pause(org, "mailer")
    await cap(planted, org, 1)
    assert await SqlQueue(planted.db).recover(10) == [free.ref]


# ── ageing ───────────────────────────────────────────────────────────────────────────────────


async def waits_for(planted: Planted, task: Task, minutes: float) -> None:
    at = await planted.now() - timedelta(minutes=minutes)
    await planted.run(update(tables.tasks).where(tables.tasks.c.id == task.id).values(queued_at=at))


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
    queue = SqlQueue(planted.db)

    await queue.recover(10)

    row = await planted.task_row(old)
    assert (row.prio, row.origin) == (Prio.PERSON, Origin.SCHEDULE)
    assert await planted.task_row(young) == young
    runs = await queue.claim(W1, 2, 60)
    assert sorted(run.task_id for run in runs) == sorted([asked[0].id, old.id])
    assert (await planted.task_row(old)).prio == Prio.SELF_STARTED  # it waits no longer


@pytest.mark.rule("T3")
async def test_one_task_of_an_organization_ages_at_a_time_so_that_owners_stay_first(planted: Planted) -> None:
    org = await planted.organization("a")
    crowd = await queued(planted, org, 4)
    for task in crowd:
        await waits_for(planted, task, 60)
    queue = SqlQueue(planted.db)
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
    await SqlQueue(planted.db).recover(10)
    assert [(await planted.task_row(task)).prio for task in (held, lost, due)] == [0, 1, 1]


async def test_an_aged_task_that_is_held_comes_back_aged(planted: Planted) -> None:
    org = await planted.organization("a")
    old = await planted.task(org)
    await waits_for(planted, old, 60)
    await planted.pause(org, "inbox")
    queue = SqlQueue(planted.db)
    await queue.recover(10)
    assert await queue.claim(W1, 1, 60) == []
    assert (await planted.task_row(old)).state is TaskState.HELD
    await planted.run("UPDATE switches SET paused_by = NULL, paused_at = NULL")
    await queue.recover(10)
    assert (await planted.task_row(old)).prio == Prio.PERSON
    assert len(await queue.claim(W1, 1, 60)) == 1
    assert (await planted.task_row(old)).prio == Prio.SELF_STARTED
