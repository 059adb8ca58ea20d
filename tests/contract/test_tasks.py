"""Tasks.open, change, load and transcript, on each kind of store."""

import asyncio
import dataclasses
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from core.audit import AuditEntry, mac
from core.calls import Call, CallState, Outcome
from core.errors import StoreError, TaskNotFound
from core.fence import FENCE
from core.ids import CallId, EventKey, OrgId, ParkId, TaskId, TaskRef, Token
from core.parks import DecisionKind, Park, ParkKind, ParkState
from core.people import OrgState, Role, Roster, Switch, SwitchMode
from core.ports import Tasks
from core.tasks import MessageKind, Taint, Task, TaskState
from core.work import (
    Change,
    Duplicate,
    Entry,
    Fenced,
    Lost,
    Need,
    NewMessage,
    PostIntent,
    PostKind,
    Reach,
    Reached,
    Spend,
    TaskEvent,
    Work,
)
from tests.contract import factories as make
from tests.contract.factories import AUDIT_KEY, NOW, ORG, OTHER_ORG
from tests.contract.moves import becoming, read, writing
from tests.contract.planted import Planted

HOUR = NOW.replace(minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
async def organization(planted: Planted) -> None:
    await planted.save(make.organization())


@pytest.fixture
def store(planted: Planted) -> Tasks:
    return planted.store.tasks


# ── what is written is what is read ──────────────────────────────────────────────────────────


@pytest.mark.parametrize("full", [make.full_task(), make.full_call(), make.full_park()])
def test_the_full_factories_leave_no_default_that_could_hide_a_lost_column(full: Any) -> None:
    fields = [f for f in dataclasses.fields(full) if f.default is not dataclasses.MISSING]
    assert fields
    assert [f.name for f in fields if getattr(full, f.name) == f.default] == []


async def test_every_field_of_a_task_comes_back_as_it_was_written(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    full = make.full_task()
    await store.change(full.ref, lambda work, at: (make.change(full), None))
    work = await store.change(full.ref, read)
    assert work.task == full


async def test_every_field_of_new_calls_and_parks_comes_back(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(round=1))
    await store.change(make.task().ref, writing(calls=(make.full_call(),), parks=(make.full_park(),)))
    work = await store.change(make.task().ref, read, Need(call=CallId("call-1")))
    assert (work.calls, work.parks) == ((make.full_call(),), (make.full_park(),))


async def test_every_field_of_changed_calls_and_parks_comes_back(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(round=1), make.call(), make.park())
    await store.change(make.task().ref, writing(calls=(make.full_call(),), parks=(make.full_park(),)))
    work = await store.change(make.task().ref, read, Need(call=CallId("call-1")))
    assert (work.calls, work.parks) == ((make.full_call(),), (make.full_park(),))


async def test_digits_and_the_order_of_keys_are_kept(planted: Planted, store: Tasks) -> None:
    goal = {"z": Decimal("24.00"), "a": [Decimal("1E+2"), 10**30, "ключ"], "m": {"b": 1, "a": True}}
    await planted.save(make.task(goal=goal), make.numbered_task(2, goal=Decimal("24.00")))
    work = await store.change(make.task().ref, read)
    assert repr(work.task.goal) == repr(goal)
    bare = await store.change(make.numbered_task(2).ref, read)
    assert repr(bare.task.goal) == repr(Decimal("24.00"))


async def test_a_number_that_equals_the_old_one_but_reads_otherwise_is_written(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task(result={"value": Decimal("24.00")}))
    await store.change(make.task().ref, becoming(result={"value": 24}))
    work = await store.change(make.task().ref, read)
    assert repr(work.task.result) == repr({"value": 24})


async def test_json_is_read_as_its_text_says_and_shared_with_nobody(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    written: dict[str, Any] = {"price": 1.5, "pair": (1, 2), "kind": MessageKind.NOTE}
    await store.change(make.task().ref, becoming(result=written))
    written["price"] = "changed afterwards"
    work = await store.change(make.task().ref, read)
    assert repr(work.task.result) == repr({"price": Decimal("1.5"), "pair": [1, 2], "kind": "note"})


@pytest.mark.parametrize("body", [{1: "a key that is no text"}, float("nan"), {"x": object()}, "\ud800"])
async def test_what_json_can_not_say_is_refused(planted: Planted, store: Tasks, body: Any) -> None:
    await planted.save(make.task())
    with pytest.raises(StoreError):
        await store.change(make.task().ref, writing(messages=(NewMessage(kind=MessageKind.NOTE, body=body),)))
    assert (await planted.count("messages"), await planted.count("audit")) == (0, 0)


async def test_a_result_of_nothing_is_a_result(planted: Planted, store: Tasks) -> None:
    settled = make.call(state=CallState.SETTLED, outcome=Outcome.SUCCEEDED, result={"value": None})
    await planted.save(make.task(round=1), make.call())
    await store.change(make.task().ref, writing(calls=(settled,)))
    assert (await store.change(make.task().ref, read)).calls == (settled,)


@pytest.mark.rule("I3")
async def test_a_call_settled_without_a_result_is_refused_by_the_database(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task(round=1), make.call())
    half = make.call(state=CallState.SETTLED, outcome=Outcome.SUCCEEDED)
    with pytest.raises(StoreError):
        await store.change(make.task().ref, writing(calls=(half,)))


@pytest.mark.rule("I6")
async def test_one_effect_key_is_held_by_one_call_of_a_task(planted: Planted, store: Tasks) -> None:
    first = make.full_call(round=1, episode=1)
    await planted.save(make.task(round=1), first)
    second = make.call(id=CallId("call-2"), number=2, ordinal=1, effect_key="key-1")
    await store.change(make.task().ref, writing(calls=(second,)))
    with pytest.raises(StoreError):
        await store.change(make.task().ref, writing(calls=(replace(second, state=CallState.EXECUTING),)))
    did_not = replace(first, outcome=Outcome.FAILED)
    executing = replace(second, state=CallState.EXECUTING, epoch=1)
    await store.change(make.task().ref, writing(calls=(did_not, executing)))
    work = await store.change(make.task().ref, read, Need(effect_key="key-1"))
    assert work.holders == (executing,)


async def test_times_come_back_aware_and_in_utc(planted: Planted, store: Tasks) -> None:
    elsewhere = datetime.fromisoformat("2026-03-04T12:00:00.000001+05:00")
    await planted.save(make.task(created_at=elsewhere))
    created_at = (await store.change(make.task().ref, read)).task.created_at
    assert (created_at, created_at.tzinfo) == (datetime(2026, 3, 4, 7, 0, 0, 1, tzinfo=UTC), UTC)


async def test_a_naive_datetime_is_refused(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    naive = NOW.replace(tzinfo=None)
    with pytest.raises(StoreError) as caught:
        await store.change(make.task().ref, becoming(started_at=naive))
    assert "naive" in str(caught.value.__cause__)


async def test_the_time_of_a_change_is_the_databases_and_aware(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    first = await store.change(make.task().ref, writing())
    second = await store.change(make.task().ref, writing())
    assert first.tzinfo is UTC
    assert timedelta(0) <= second - first < timedelta(minutes=1)


# ── what a Work holds ────────────────────────────────────────────────────────────────────────


async def test_a_work_holds_the_open_owner_calls_and_then_the_round_by_ordinal(
    planted: Planted, store: Tasks
) -> None:
    def one(number: int, round: int | None, ordinal: int, **over: Any) -> Call:
        return make.call(id=CallId(f"c{number}"), number=number, round=round, ordinal=ordinal, **over)

    settled: dict[str, Any] = {
        "state": CallState.SETTLED,
        "outcome": Outcome.FAILED,
        "result": {"error": "no"},
    }
    await planted.save(
        make.task(round=2),
        one(1, 1, 0),  # an earlier round
        one(2, 2, 1, **settled),
        one(3, 2, 0),
        one(4, None, 0, state=CallState.APPROVED),
        one(5, None, 1, **settled),
        one(6, 2, 0, episode=2),  # another episode
        one(7, 2, 0, task_id=TaskId("another")),
    )
    work = await store.change(make.task().ref, read)
    assert [c.id for c in work.calls] == ["c4", "c3", "c2"]
    work = await store.change(make.task().ref, read, Need(call=CallId("c1")))
    assert [c.id for c in work.calls] == ["c4", "c3", "c2", "c1"]
    work = await store.change(make.task().ref, read, Need(call=CallId("c7")))
    assert [c.id for c in work.calls] == ["c4", "c3", "c2"]


async def test_a_work_holds_the_open_parks_and_the_latest_decision_of_each_approved_call(
    planted: Planted, store: Tasks
) -> None:
    def one(name: str, call: str | None, version: int = 1, **over: Any) -> Park:
        given = {"call_id": call, "version": version, **over}
        return make.park(id=ParkId(name), token=Token(f"token-{name}"), **given)

    def decided(name: str, call: str, version: int, seconds: int, **over: Any) -> Park:
        at = NOW + timedelta(seconds=seconds)
        given = {"state": ParkState.DECIDED, "decision": DecisionKind.APPROVE, "decided_at": at, **over}
        return one(name, call, version, **given)

    await planted.save(
        make.task(round=1),
        make.call(id=CallId("c1"), number=1, ordinal=0, state=CallState.APPROVED),
        make.call(id=CallId("c2"), number=2, ordinal=1, state=CallState.PARKED),
        make.call(id=CallId("c3"), number=3, round=None, state=CallState.APPROVED, resend_of=CallId("c0")),
        make.call(id=CallId("c0"), number=4, round=9),
        decided("old", "c1", 1, 1),
        decided("new", "c1", 2, 2),
        decided("of-c2", "c2", 1, 3),
        decided("unknown", "c0", 1, 4, kind=ParkKind.UNKNOWN),
        one("open", "c2", 2),
        one("task", None, kind=ParkKind.LIMIT),
        one("gone", "c9", state=ParkState.WITHDRAWN),
        one("foreign", "c8", task_id=TaskId("another")),
    )
    work = await store.change(make.task().ref, read)
    assert {p.id for p in work.parks} == {"open", "task", "new", "unknown"}
    work = await store.change(make.task().ref, read, Need(token=Token("token-unknown")))
    assert {p.id for p in work.parks} == {"open", "task", "new", "unknown"}
    assert work.call(CallId("c0")) is not None
    work = await store.change(make.task().ref, read, Need(token=Token("token-gone")))
    assert {p.id for p in work.parks} == {"open", "task", "new", "unknown", "gone"}
    work = await store.change(make.task().ref, read, Need(token=Token("token-foreign")))
    assert {p.id for p in work.parks} == {"open", "task", "new", "unknown"}
    work = await store.change(make.task().ref, read, Need(call=CallId("c1")))
    assert {p.id for p in work.parks} == {"open", "task", "new", "unknown", "old"}


async def test_a_work_holds_what_its_need_names(planted: Planted, store: Tasks) -> None:
    ada, left = make.person(), make.person(id="person-2", roles=frozenset[Role](), left=True)
    decided = make.full_park(event_id="click-9", task_id=TaskId("another"))
    holder = make.full_call(round=9)
    await planted.save(make.task(), ada, left, make.person(org=OTHER_ORG), decided, holder, make.event())
    await planted.save(make.full_call(id=CallId("failed"), number=2, ordinal=1, outcome=Outcome.FAILED))
    await store.change(make.task().ref, writing(assigned=(make.event().key,)))
    bare = await store.change(make.task().ref, read)
    assert (bare.roster, bare.unread, bare.repeated, bare.holders) == (None, (), None, ())
    need = Need(event_id="click-9", effect_key="key-1", unread=True, roster=True)
    work = await store.change(make.task().ref, read, need)
    assert work.roster == Roster(organization=make.organization(), people=(ada, left))
    assert work.unread == (make.event(task_id=make.task().id),)
    assert (work.repeated, work.holders) == (decided, (holder,))


@pytest.mark.rule("C16", "I6")
async def test_a_work_holds_what_other_tasks_sent_inside_the_window(planted: Planted, store: Tasks) -> None:
    now, another = await planted.now(), make.numbered_task(2)
    settled = {"state": CallState.SETTLED, "outcome": Outcome.SUCCEEDED, "result": {"value": None}}

    numbers = count(1)

    def sent(name: str, ago: timedelta, task: Task = another, **over: Any) -> Call:
        own = {"org": task.org, "id": CallId(name), "task_id": task.id, "marked_at": now - ago}
        number = next(numbers)
        return make.call(**own, number=number, ordinal=number, sent_key="key-1", **{**settled, **over})

    minute, hour, day = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
    unknown = sent("unknown", minute, outcome=Outcome.UNKNOWN)
    executing = sent("executing", hour, state=CallState.EXECUTING, outcome=None, result=None)
    succeeded = sent("succeeded", day - minute)
    foreign = make.task(org=OTHER_ORG, id=TaskId("foreign"))
    await planted.save(make.task(), another, make.organization(id=OTHER_ORG), foreign)
    await planted.save(
        unknown,
        executing,
        succeeded,
        sent("older", day + minute),
        sent("failed", minute, outcome=Outcome.FAILED),
        sent("own", minute, make.task()),
        sent("foreign", minute, foreign),
        replace(sent("other-key", minute), sent_key="key-2"),
    )
    work = await store.change(make.task().ref, read, Need(sent_key="key-1"))
    assert [(e.call, e.task_number, e.agent) for e in work.elsewhere] == [
        (call, another.number, another.agent) for call in (unknown, executing, succeeded)
    ]
    assert (await store.change(make.task().ref, read)).elsewhere == ()


async def test_a_work_holds_the_organization_and_the_agents_switch(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    work = await store.change(make.task().ref, read)
    assert (work.organization, work.switch) == (make.organization(), None)
    switch = Switch(
        agent="helper",
        paused=True,
        mode=SwitchMode.OBSERVE,
        settings=(("spend", "ask"), ("contact", "allow")),
    )
    await planted.switch(ORG, switch)
    work = await store.change(make.task().ref, read)
    assert work.switch == switch


async def test_the_last_message_is_the_newest_that_is_no_compaction(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(next_seq=4))
    rows = [
        make.message(),
        make.message(seq=2, kind=MessageKind.ASSISTANT, tokens=5, epoch=1),
        make.message(seq=3, kind=MessageKind.COMPACT, from_seq=1, to_seq=2),
    ]
    await planted.save_messages(make.task(), *rows)
    assert (await store.change(make.task().ref, read)).last == rows[1]


async def test_daily_tokens_are_those_of_the_last_24_hours_of_the_agent(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task(), make.numbered_task(2, agent="other"))
    at = await store.change(make.task().ref, writing())
    hour = at.replace(minute=0, second=0, microsecond=0)
    spend = [
        Spend(hour=hour, reserved=1, used=20),
        Spend(hour=hour - timedelta(hours=22), used=300),
        Spend(hour=hour - timedelta(hours=25), used=4000),
    ]
    await store.change(make.task().ref, writing(spend=tuple(spend)))
    await store.change(make.numbered_task(2).ref, writing(spend=(Spend(hour=hour, used=50_000),)))
    work = await store.change(make.task().ref, read, Need(usage=True))
    assert work.daily_tokens == 321


# ── what a Change writes ─────────────────────────────────────────────────────────────────────


async def test_messages_are_numbered_from_the_tasks_next_seq(planted: Planted, store: Tasks) -> None:
    await planted.save(make.running(next_seq=5, episode=2, round=3, epoch=7))
    new = (
        NewMessage(kind=MessageKind.ASSISTANT, body={"text": "hi"}, tokens=9),
        NewMessage(kind=MessageKind.COMPACT, body={"text": "…"}, from_seq=1, to_seq=4),
    )
    at = await store.change(make.task().ref, writing(messages=new))
    expected = (
        make.message(seq=5, episode=2, round=3, kind=new[0].kind, body=new[0].body, tokens=9, epoch=7, at=at),
        make.message(
            seq=6,
            episode=2,
            round=3,
            kind=new[1].kind,
            body=new[1].body,
            from_seq=1,
            to_seq=4,
            epoch=7,
            at=at,
        ),
    )
    found = await store.transcript(make.task().ref)
    assert found.messages == expected
    assert (await store.transcript(make.task().ref, after_seq=5)).messages == expected[1:]
    assert (await store.change(make.task().ref, read)).task.next_seq == 7


async def test_what_a_change_leaves_is_what_work_after_said(planted: Planted, store: Tasks) -> None:
    await planted.save(make.running(), make.call(), make.park())
    said: list[Work] = []

    def move(work: Work, at: datetime) -> tuple[Change, None]:
        change = make.change(
            replace(work.task, strikes=2),
            calls=(make.call(state=CallState.PARKED), make.call(id=CallId("c2"), number=2, ordinal=1)),
            parks=(make.park(state=ParkState.SUPERSEDED), make.park(id="p2", token="t2", version=2)),
            messages=(NewMessage(kind=MessageKind.NOTE, body={"text": "note"}),),
        )
        said.append(work.after(change, at))
        return change, None

    await store.change(make.task().ref, move)
    work = await store.change(make.task().ref, read, Need(token=Token("token-1")))
    assert {p.id: p for p in work.parks} == {p.id: p for p in said[0].parks}
    assert replace(work, parks=()) == replace(said[0], parks=())


@pytest.mark.parametrize("seq_taken", [2, 3])
async def test_a_seq_that_is_taken_is_a_stale_writers_and_writes_nothing(
    planted: Planted, store: Tasks, seq_taken: int
) -> None:
    await planted.save(make.task())
    await planted.save_messages(make.task(), make.message(seq=seq_taken))
    new = NewMessage(kind=MessageKind.NOTE, body={})
    with pytest.raises(StoreError):
        await store.change(make.task().ref, writing(messages=(new, new)))
    assert (await planted.count("messages"), await planted.count("audit")) == (1, 0)


async def test_a_post_written_again_is_the_same_one_revised(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(episode=2, round=3))
    intent = PostIntent(kind=PostKind.CARD, dedup_key="card-1", episode=2, round=3, prio=0)
    first = await store.change(make.task().ref, writing(posts=(intent,)))
    [row] = await planted.table("posts")
    written = {
        name: row[name] for name in ("kind", "task_id", "episode", "round", "surface", "route", "prio")
    }
    assert written == {
        "kind": "card",
        "task_id": "task-1",
        "episode": 2,
        "round": 3,
        "surface": "slack",
        "route": "C1:123.4",
        "prio": 0,
    }
    assert (row["rev"], row["sent_rev"], row["state"], row["due_at"]) == (1, 0, "due", first)
    await planted.update("posts", {"state": "sent", "sent_rev": 1, "chat_ref": "m1"})
    second = await store.change(make.task().ref, writing(posts=(replace(intent, body={"text": "b"}),)))
    [row] = await planted.table("posts")
    assert (row["rev"], row["sent_rev"], row["state"], row["due_at"]) == (2, 1, "due", second)
    assert (row["chat_ref"], row["body"]) == ("m1", {"text": "b"})


@pytest.mark.parametrize(("state", "afterwards"), [("dead", "due"), ("maybe", "due"), ("sending", "sending")])
async def test_a_new_revision_is_due_again_unless_the_post_is_just_being_sent(
    planted: Planted, store: Tasks, state: str, afterwards: str
) -> None:
    await planted.save(make.task())
    writes = writing(posts=(PostIntent(kind=PostKind.REPORT, dedup_key="report", episode=1),))
    await store.change(make.task().ref, writes)
    later = NOW + timedelta(days=900)
    await planted.update("posts", {"state": state, "attempts": 9, "error": "x", "due_at": later})
    at = await store.change(make.task().ref, writes)
    [row] = await planted.table("posts")
    assert (row["state"], row["rev"], row["attempts"], row["error"]) == (afterwards, 2, 0, None)
    assert row["due_at"] == (later if afterwards == "sending" else at)


async def test_a_post_that_is_said_once_stays_as_it_was_first_said(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    for text in ("first", "second"):
        said = PostIntent(kind=PostKind.NOTICE, dedup_key="notice", episode=1, body={"text": text}, once=True)
        await store.change(make.task().ref, writing(posts=(said,)))
    [row] = await planted.table("posts")
    assert (row["rev"], row["body"]) == (1, {"text": "first"})


async def test_whom_a_task_wrote_to_is_kept_once_with_the_last_call(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    to = Reached(surface="mail", address="bob@example.com")
    for call, days in (("call-1", 1), ("call-2", 2)):
        reach = Reach(to=to, call_id=CallId(call), until=NOW + timedelta(days=days))
        await store.change(make.task().ref, writing(reach=(reach,)))
    [row] = await planted.table("reach_keys")
    assert (row["org"], row["task_id"], row["surface"], row["address"]) == (ORG, "task-1", "mail", to.address)
    assert (row["thread_ref"], row["call_id"], row["until"]) == ("", "call-2", NOW + timedelta(days=2))


async def test_a_task_that_speaks_nowhere_writes_no_posts(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(surface=None, thread_ref=None))
    await store.change(
        make.task().ref, writing(posts=(PostIntent(kind=PostKind.REPORT, dedup_key="report", episode=1),))
    )
    assert await planted.count("posts") == 0


@pytest.mark.rule("I21")
async def test_inbox_rows_are_assigned_then_applied_and_applied_only_once(
    planted: Planted, store: Tasks
) -> None:
    key = make.event().key
    await planted.save(make.task(), make.event(org=None))
    await store.change(make.task().ref, writing(assigned=(key,)))
    [row] = await planted.table("inbox")
    assert (row["state"], row["org"], row["task_id"], row["due_at"]) == ("taken", ORG, "task-1", None)
    await store.change(make.task().ref, writing(applied=(key,)))
    [row] = await planted.table("inbox")
    assert (row["state"], row["task_id"]) == ("applied", "task-1")
    for again in (writing(applied=(key,)), writing(assigned=(key,))):
        with pytest.raises(StoreError, match="slack e-1"):
            await store.change(make.task().ref, again)


@pytest.mark.rule("I18")
async def test_an_inbox_row_of_another_organization_or_task_can_not_be_applied(
    planted: Planted, store: Tasks
) -> None:
    foreign = make.event(key=EventKey(source="slack", event_id="foreign"), org=OTHER_ORG)
    await planted.save(make.task(), make.numbered_task(2), foreign, make.event())
    await store.change(make.numbered_task(2).ref, writing(assigned=(make.event().key,)))
    for key in (foreign.key, make.event().key):
        with pytest.raises(StoreError):
            await store.change(make.task().ref, writing(applied=(key,)))


@pytest.mark.rule("K34")
async def test_news_for_another_task_is_a_new_inbox_row_written_once(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    news = make.event(org=None, received_at=None, task_id=TaskId("parent"))
    at = await store.change(make.task().ref, writing(news=(news,)))
    await store.change(make.task().ref, writing(news=(replace(news, body={"other": True}),)))
    [row] = await planted.table("inbox")
    assert (row["org"], row["task_id"], row["kind"], row["body"]) == (ORG, "parent", news.kind, news.body)
    assert (row["state"], row["received_at"], row["due_at"]) == ("new", at, at)


async def test_spend_adds_up_by_hour(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    await store.change(make.task().ref, writing(spend=(Spend(hour=HOUR, reserved=100),)))
    both = (Spend(hour=HOUR, reserved=-100, used=70), Spend(hour=HOUR + timedelta(hours=1), reserved=5))
    await store.change(make.task().ref, writing(spend=both))
    rows = [(r["org"], r["agent"], r["hour"], r["reserved"], r["used"]) for r in await planted.table("usage")]
    assert rows == [
        (ORG, "helper", HOUR, 0, 70),
        (ORG, "helper", HOUR + timedelta(hours=1), 5, 0),
    ]


async def test_events_of_a_change_are_in_the_log_in_their_order(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(label="label"))
    happened = (
        TaskEvent(name="call_parked", data={"n": Decimal("1.0")}, call_id=CallId("c1")),
        TaskEvent(name="task_waiting"),
    )
    at = await store.change(make.task().ref, writing(events=happened))
    rows = await planted.table("events")
    assert [(r["name"], r["call_id"], r["data"]) for r in rows] == [
        ("call_parked", "c1", {"n": Decimal("1.0")}),
        ("task_waiting", None, {}),
    ]
    assert {(r["org"], r["task_id"], r["agent"], r["label"], r["at"]) for r in rows} == {
        (ORG, "task-1", "helper", "label", at)
    }


# ── one change, one entry; or nothing ────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_each_change_writes_exactly_one_audit_entry_under_its_hmac(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task())
    entry = Entry(
        actor="person-1",
        surface="slack",
        move="decide",
        rule="C7",
        call_id=CallId("c1"),
        facts={"b": Decimal("2.50"), "a": "é"},
    )
    at = await store.change(make.task().ref, writing(entry=entry))
    [found] = await planted.store.ledger.unsealed(ORG, 9)
    expected = AuditEntry(
        org=ORG,
        id=found.id,
        at=at,
        actor="person-1",
        surface="slack",
        move="decide",
        rule="C7",
        task_id=TaskId("task-1"),
        call_id=CallId("c1"),
        entry='{"b":2.50,"a":"é"}',
        mac=found.mac,
    )
    assert found == expected
    assert found.mac == mac(AUDIT_KEY, found)
    await store.change(make.task().ref, writing())
    assert await planted.count("audit") == 2


async def test_a_move_that_lost_writes_nothing_and_its_answer_is_returned(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task())
    answer = await store.change(make.task().ref, lambda work, at: (Lost(why="late"), "the answer"))
    assert answer == "the answer"
    assert await planted.count("audit") == 0


async def test_what_a_move_raises_is_raised_and_nothing_is_written(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())

    def move(work: Work, at: datetime) -> tuple[Change, None]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.change(make.task().ref, move)
    assert await planted.count("audit") == 0
    await store.change(make.task().ref, writing())


async def test_a_change_that_fails_in_its_last_row_writes_nothing(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())
    before = await store.change(make.task().ref, read)
    move = writing(
        calls=(make.call(),),
        parks=(make.park(),),
        messages=(NewMessage(kind=MessageKind.NOTE, body={}),),
        posts=(PostIntent(kind=PostKind.REPORT, dedup_key="report", episode=1),),
        news=(make.event(),),
        spend=(Spend(hour=HOUR, used=1),),
        events=(TaskEvent(name="x"),),
        entry=make.entry(actor=None),
    )
    with pytest.raises(StoreError):
        await store.change(make.task().ref, move)
    for table in ("calls", "parks", "messages", "posts", "inbox", "usage", "events", "audit"):
        assert await planted.count(table) == 0
    assert await store.change(make.task().ref, read) == before


async def test_a_task_that_is_not_there_is_not_found_and_a_foreign_one_neither(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.task())
    for ref in (
        TaskRef(org=ORG, task_id=TaskId("nobody")),
        TaskRef(org=OTHER_ORG, task_id=make.task().id),
    ):
        with pytest.raises(TaskNotFound):
            await store.change(ref, writing())


async def test_the_change_of_another_task_is_an_error(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task(), make.numbered_task(2))
    with pytest.raises(StoreError):
        await store.change(make.task().ref, lambda work, at: (make.change(make.numbered_task(2)), None))


# ── together ─────────────────────────────────────────────────────────────────────────────────


async def test_changes_of_one_task_come_one_after_the_other(planted: Planted, store: Tasks) -> None:
    await planted.save(make.task())

    def once_more(work: Work, at: datetime) -> tuple[Change, int]:
        new = (NewMessage(kind=MessageKind.NOTE, body={}),)
        return make.change(replace(work.task, strikes=work.task.strikes + 1), messages=new), work.task.strikes

    answers = await asyncio.gather(*(store.change(make.task().ref, once_more) for _ in range(12)))
    assert sorted(answers) == list(range(12))
    work = await store.change(make.task().ref, read)
    assert (work.task.strikes, work.task.next_seq, await planted.count("audit")) == (12, 14, 12)


# ── the queue's order ────────────────────────────────────────────────────────────────────────


async def test_a_task_queued_again_stands_behind_its_organizations_others(
    planted: Planted, store: Tasks
) -> None:
    waiting = {"state": TaskState.WAITING, "vrt": 1}
    await planted.save(
        make.numbered_task(1, **waiting),
        make.numbered_task(2, vrt=4),
        make.numbered_task(3, vrt=9, prio=0),
        make.numbered_task(4, vrt=30, org=OTHER_ORG),
        make.numbered_task(5, vrt=20, state=TaskState.HELD),
    )
    await store.change(make.numbered_task(1).ref, becoming(state=TaskState.QUEUED))
    assert (await store.change(make.numbered_task(1).ref, read)).task.vrt == 5
    await store.change(make.numbered_task(1).ref, becoming(strikes=1))
    assert (await store.change(make.numbered_task(1).ref, read)).task.vrt == 5


@pytest.mark.parametrize(("prio", "place"), [(0, 70), (1, 100)])
async def test_a_newcomer_stands_at_the_floor_of_its_prio(
    planted: Planted, store: Tasks, prio: int, place: int
) -> None:
    await planted.update("queue_floor", {"floor": 70}, prio=0)
    await planted.update("queue_floor", {"floor": 100}, prio=1)
    await planted.save(make.task(state=TaskState.WAITING, vrt=3), make.numbered_task(2, vrt=1, prio=prio))
    await store.change(make.task().ref, becoming(state=TaskState.QUEUED, prio=prio))
    assert (await store.change(make.task().ref, read)).task.vrt == place


# ── opening ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("T1", "I34")
async def test_an_opened_task_is_queued_with_its_goal_and_its_cause_applied(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.event(org=None))
    opened = await store.open(make.new_task(label="label", schema={"type": "object"}), make.cause())
    assert isinstance(opened, Task)
    expected = make.task(
        label="label", schema={"type": "object"}, requester=make.PERSON, prio=0, created_at=opened.created_at
    )
    assert opened == expected
    work = await store.change(opened.ref, read)
    assert work.task == expected
    assert work.last == make.message(body={"text": "write to Bob"}, at=opened.created_at)
    [row] = await planted.table("inbox")
    assert (row["state"], row["org"], row["task_id"], row["due_at"]) == ("applied", ORG, "task-1", None)
    [happened] = await planted.table("events")
    assert (happened["name"], happened["task_id"]) == ("task_created", "task-1")
    [entry] = await planted.store.ledger.unsealed(ORG, 9)
    assert (entry.actor, entry.surface, entry.move, entry.task_id) == ("person-1", "slack", "open", "task-1")
    assert entry.mac == mac(AUDIT_KEY, entry)


async def test_tasks_of_an_organization_are_numbered_in_turn_and_placed_one_after_the_other(
    planted: Planted, store: Tasks
) -> None:
    await planted.save(make.organization(id=OTHER_ORG))

    async def opened(name: str, org: OrgId) -> Task:
        key = EventKey(source="slack", event_id=name)
        await planted.save(make.event(key=key, org=org))
        task = await store.open(make.new_task(id=TaskId(name), org=org), make.cause(key=key))
        assert isinstance(task, Task)
        return task

    found = [await opened("a1", ORG), await opened("a2", ORG), await opened("b1", OTHER_ORG)]
    assert [(t.number, t.vrt) for t in found] == [(1, 0), (2, 1), (1, 0)]


async def test_tasks_opened_together_get_numbers_of_their_own(planted: Planted, store: Tasks) -> None:
    keys = [EventKey(source="slack", event_id=f"e-{n}") for n in range(8)]
    await planted.save(*(make.event(key=key) for key in keys))
    opened = await asyncio.gather(
        *(store.open(make.new_task(id=TaskId(key.event_id)), make.cause(key=key)) for key in keys)
    )
    numbers = [task.number for task in opened if isinstance(task, Task)]
    assert sorted(numbers) == list(range(1, 9))


@pytest.mark.rule("I21")
async def test_one_cause_opens_one_task_however_often_it_is_tried(planted: Planted, store: Tasks) -> None:
    await planted.save(make.event())
    tried = await asyncio.gather(
        *(store.open(make.new_task(id=TaskId(f"task-{n}")), make.cause()) for n in range(5))
    )
    [opened] = [task for task in tried if isinstance(task, Task)]
    assert [d for d in tried if isinstance(d, Duplicate)] == [Duplicate(ref=opened.ref)] * 4
    assert (await planted.count("tasks"), await planted.count("audit")) == (1, 1)
    again = make.event(key=EventKey(source="slack", event_id="e-2"))
    await planted.save(again)
    second = await store.open(make.new_task(id=TaskId("later")), make.cause(key=again.key))
    assert isinstance(second, Task) and second.number == 2


@pytest.mark.parametrize("state", ["taken", "ignored", "dead", None])
async def test_a_cause_that_is_not_new_opens_nothing(
    planted: Planted, store: Tasks, state: str | None
) -> None:
    if state is not None:
        await planted.save(make.event())
        await planted.update("inbox", {"state": state, "task_id": "another"})
    assert await store.open(make.new_task(), make.cause()) == Duplicate()
    assert await planted.count("tasks") == 0


async def test_a_paused_organizations_task_is_held(planted: Planted, store: Tasks) -> None:
    await planted.save(make.event())
    await planted.update("organizations", {"state": OrgState.PAUSED})
    opened = await store.open(make.new_task(), make.cause())
    assert isinstance(opened, Task)
    assert opened.state is TaskState.HELD


@pytest.mark.rule("I18")
async def test_another_organizations_event_opens_nothing(planted: Planted, store: Tasks) -> None:
    await planted.save(make.event(org=OTHER_ORG))
    with pytest.raises(StoreError):
        await store.open(make.new_task(), make.cause())
    assert await planted.count("tasks") == 0


@pytest.mark.rule("I27")
@pytest.mark.parametrize(
    ("goal", "taint", "body"),
    [
        ("go", Taint.NONE, {"text": "go"}),
        ("go", Taint.OUTSIDE, {"text": "go"}),
        ({"order": Decimal("7.0")}, Taint.OUTSIDE, {"value": {"order": Decimal("7.0")}}),
    ],
)
async def test_a_goal_from_outside_gets_the_mark_of_its_fence(
    planted: Planted, store: Tasks, goal: Any, taint: Taint, body: Any
) -> None:
    await planted.save(make.event())
    opened = await store.open(make.new_task(goal=goal, taint=taint), make.cause())
    assert isinstance(opened, Task)
    [message] = (await store.transcript(opened.ref)).messages
    mark = message.body.pop(FENCE, None)
    assert message.body == body
    assert (mark is not None and len(mark) == 22) if taint is Taint.OUTSIDE else mark is None


# ── reading without the lock ─────────────────────────────────────────────────────────────────


async def test_a_run_loads_the_work_that_a_change_would_see(planted: Planted, store: Tasks) -> None:
    await planted.save(make.running(), make.call(), make.park())
    loaded = await store.load(make.run_of(make.running()))
    assert loaded == await store.change(make.task().ref, read)


@pytest.mark.rule("I17")
@pytest.mark.parametrize("now", [{"epoch": 2}, {"state": TaskState.QUEUED}, {"id": "another"}])
async def test_a_run_that_lost_its_task_loads_nothing(
    planted: Planted, store: Tasks, now: dict[str, Any]
) -> None:
    await planted.save(make.running(**now))
    run = make.run_of(make.running())
    assert await store.load(run) == Fenced(run=run)


async def test_a_transcript_has_every_call_of_the_task_by_number(planted: Planted, store: Tasks) -> None:
    await planted.save(
        make.task(),
        make.call(id=CallId("b"), number=2, round=7),
        make.call(id=CallId("c"), number=1),
        make.call(id=CallId("d"), number=1, task_id=TaskId("another")),
    )
    assert [c.id for c in (await store.transcript(make.task().ref)).calls] == ["c", "b"]
