"""Posts that take their time: due a while after they were written, however often they are revised by then."""

from datetime import timedelta

import pytest

from core.ports import Sent
from core.tasks import Task
from core.work import PostIntent, PostKind
from tests.contract import factories as make
from tests.contract.planted import BORN_AT, Planted

SLOW = PostIntent(kind=PostKind.PROGRESS, dedup_key="progress", episode=1, prio=2, after_seconds=3)


@pytest.fixture
async def task(planted: Planted) -> Task:
    return await planted.task(await planted.organization("a"))


async def write(planted: Planted, task: Task) -> None:
    await planted.store.tasks.change(task.ref, lambda work, at: (make.change(work.task, posts=(SLOW,)), None))


async def wait(planted: Planted) -> timedelta:
    due_at = (await planted.row("posts"))["due_at"] - await planted.now()
    assert isinstance(due_at, timedelta)
    return due_at


async def test_a_slow_post_is_due_a_while_after_it_was_written(planted: Planted, task: Task) -> None:
    await write(planted, task)
    assert timedelta(0) < await wait(planted) <= timedelta(seconds=3)


async def test_a_revision_makes_it_due_no_later(planted: Planted, task: Task) -> None:
    await write(planted, task)
    await planted.update("posts", {"due_at": BORN_AT})
    await write(planted, task)
    (post,) = await planted.store.outbox.take(1, "slack")
    assert post.rev == 2


async def test_after_it_was_sent_its_next_edit_waits_again(planted: Planted, task: Task) -> None:
    await write(planted, task)
    await planted.update("posts", {"due_at": BORN_AT})
    (post,) = await planted.store.outbox.take(1, "slack")
    await planted.store.outbox.settle(post.id, task.org, post.rev, Sent(chat_ref="m1"))
    await write(planted, task)
    assert await planted.store.outbox.take(1, "slack") == []
    assert timedelta(0) < await wait(planted) <= timedelta(seconds=3)
