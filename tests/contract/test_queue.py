"""The queue: owner first, then turns between organizations; and what brings tasks back (T2, T3)."""

import asyncio
from datetime import timedelta

import pytest

from core.ids import OrgId, Run, WorkerId
from core.people import OrgState
from core.tasks import Prio, Task, TaskState
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

    queue = planted.store.queue
    runs = [run for _ in range(10 // each) for run in await queue.claim(W1, each, 60)]

    asked = [asked_many[0], asked_few[0], asked_many[1], asked_many[2]]
    started = [many[0], few[0], many[1], few[1], many[2]]
    assert [run.task_id for run in runs] == [task.id for task in (*asked, *started)]


@pytest.mark.rule("T2")
async def test_a_claimed_task_runs_in_a_new_epoch_under_the_workers_lease(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), epoch=3)
    (run,) = await planted.store.queue.claim(W1, 1, 60)

    assert run == Run(org=task.org, task_id=task.id, epoch=4, worker=W1)
    row = await planted.task_row(task)
    assert (row.state, row.epoch, row.worker) == (TaskState.RUNNING, 4, W1)
    now = await planted.now()
    assert row.lease_until is not None and row.started_at is not None
    assert timedelta(seconds=50) < row.lease_until - now <= timedelta(seconds=60)
    assert timedelta(0) <= now - row.started_at < timedelta(seconds=10)


async def test_a_task_that_ran_before_keeps_when_it_started(planted: Planted) -> None:
    task = await planted.task(await planted.organization("a"), started_at=BORN_AT)
    await planted.store.queue.claim(W1, 1, 60)
    assert (await planted.task_row(task)).started_at == BORN_AT


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.rule("T2")
async def test_workers_that_claim_at_once_never_share_a_task(planted: Planted, each: int) -> None:
    org = await planted.organization("a")
    tasks = [*await queued(planted, org, 20), *await queued(planted, org, 20, prio=Prio.PERSON)]
    queue = planted.store.queue

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
    queue = planted.store.queue
    assert len(await queue.claim(W1, 2, 60)) == 2
    assert len(await queue.claim(W1, 9, 60)) == 3
    assert await queue.claim(W1, 9, 60) == []


@pytest.mark.rule("T2")
async def test_tasks_of_a_paused_agent_are_held_and_the_claim_goes_on(planted: Planted) -> None:
    org = await planted.organization("a")
    paused = await queued(planted, org, 12, agent="mailer")
    others = [await planted.task(org, agent="inbox", vrt=99 + n) for n in range(3)]
    await planted.pause(org, "mailer")

    runs = await planted.store.queue.claim(W1, 1, 60)

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
    assert [run.task_id for run in await planted.store.queue.claim(W1, 5, 60)] == [other.id]
    assert (await planted.task_row(held)).state is TaskState.HELD


async def test_an_agent_paused_elsewhere_still_works_here(planted: Planted) -> None:
    here, there = await planted.organization("a"), await planted.organization("b")
    await planted.pause(there, "inbox")
    task = await planted.task(here)
    assert [run.task_id for run in await planted.store.queue.claim(W1, 1, 60)] == [task.id]


@pytest.mark.rule("T3")
async def test_a_held_task_comes_back_once_nothing_blocks_it(planted: Planted) -> None:
    org = await planted.organization("a")
    task = await planted.task(org)
    await planted.pause(org, "inbox")
    queue = planted.store.queue
    await queue.claim(W1, 1, 60)

    assert await queue.recover(10) == []
    await planted.pause(org, "inbox", paused=False)
    assert await queue.recover(10) == [task.ref]

    row = await planted.task_row(task)
    assert (row.state, row.attempts) == (TaskState.QUEUED, 0)
    assert len(await queue.claim(W1, 1, 60)) == 1


@pytest.mark.rule("T3")
async def test_a_lost_lease_is_counted_and_the_next_run_has_a_new_epoch(planted: Planted) -> None:
    org = await planted.organization("a")
    lost = await planted.running(org, "w1", BORN_AT, prio=Prio.PERSON)
    kept = await planted.running(org, "w1", BORN_AT + FAR)
    queue = planted.store.queue

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

    assert await planted.store.queue.recover(10) == [due.ref]

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
    await planted.update("queue_floor", {"floor": 6}, prio=1)

    await planted.store.queue.recover(10)

    assert [(await planted.task_row(task)).vrt for task in (*lost, other)] == [11, 12, 13, 6]


async def test_recover_queues_no_more_than_its_limit(planted: Planted) -> None:
    org = await planted.organization("a")
    for _ in range(3):
        await planted.running(org, "w1", BORN_AT)
        await planted.task(org, state=TaskState.DELAYED, not_before=BORN_AT)
        await planted.task(org, state=TaskState.HELD)
    queue = planted.store.queue
    assert [len(await queue.recover(4)) for _ in range(4)] == [4, 4, 1, 0]


async def test_those_who_recover_at_once_queue_a_task_once(planted: Planted) -> None:
    org = await planted.organization("a")
    lost = [await planted.running(org, "w1", BORN_AT) for _ in range(20)]
    queue = planted.store.queue
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

    assert await planted.store.queue.heartbeat(W1, runs, 60) == [mine.ref]

    renewed = (await planted.task_row(mine)).lease_until
    assert renewed is not None and renewed > await planted.now()
    left = [others, ended, broken_off]
    assert [await planted.task_row(task) for task in left] == left


@pytest.mark.rule("T3")
async def test_a_task_that_was_recovered_is_missing_from_the_heartbeat(planted: Planted) -> None:
    lost = await planted.running(await planted.organization("a"), "w1", BORN_AT)
    queue = planted.store.queue
    await queue.recover(10)
    assert await queue.heartbeat(W1, [run_of(lost)], 60) == []


async def floors(planted: Planted) -> list[int]:
    return [row["floor"] for row in await planted.table("queue_floor")]


async def test_the_floor_is_the_lowest_place_still_queued(planted: Planted) -> None:
    org = await planted.organization("a")
    await planted.task(org, vrt=8)
    await planted.task(org, vrt=5)
    await planted.task(org, vrt=2, state=TaskState.DONE)
    queue = planted.store.queue
    await queue.recover(10)
    assert await floors(planted) == [0, 5]
    await queue.claim(W1, 2, 60)
    await queue.recover(10)
    assert await floors(planted) == [0, 5]


async def test_a_task_that_was_queued_below_the_floor_is_found_by_the_next_recover(planted: Planted) -> None:
    late = await planted.task(await planted.organization("a"), vrt=3)
    await planted.update("queue_floor", {"floor": 9})
    queue = planted.store.queue
    assert await queue.claim(W1, 1, 60) == []
    await queue.recover(10)
    assert [run.task_id for run in await queue.claim(W1, 1, 60)] == [late.id]
