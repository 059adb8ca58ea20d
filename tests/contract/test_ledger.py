"""The ledger: what was done, inside one organization; and a trail that shows where it was touched."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from core.audit import GENESIS, AuditEntry, Finding, Flaw, Head, Verified, verify
from core.errors import StoreError, TaskNotFound
from core.ids import OrgId, TaskId, TaskRef
from core.parks import ParkKind
from core.ports import Query, Story
from core.tasks import TaskState
from tests.contract.factories import AUDIT_KEY, message
from tests.contract.planted import Planted
from tests.contract.planted_sql import SqlPlanted

ALL = 100


async def looked_at(planted: Planted, org: OrgId, key: bytes = AUDIT_KEY) -> Verified:
    ledger = planted.store.ledger
    sealed, loose = await ledger.audit(org, 0, ALL), await ledger.unsealed(org, ALL)
    return verify(key, sealed, loose, await ledger.head(org))


async def trail(planted: Planted, n: int = 5) -> list[AuditEntry]:
    """A sealed trail of *n* entries of the organization *a*, by seq from 1."""
    org = await planted.organization("a")
    for minute in range(n):
        await planted.entry(org, minute)
    ledger = planted.store.ledger
    await ledger.seal(org, ALL)
    return await ledger.audit(org, 0, ALL)


# ── the trail ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I34")
async def test_a_sealed_trail_is_whole_and_says_how_far_it_is_sealed(planted: Planted) -> None:
    org = await planted.organization("a")
    entries = [await planted.entry(org, minute) for minute in (2, 0, 1, 3, 4)]
    ledger = planted.store.ledger

    assert await looked_at(planted, org) == Verified(sealed=0, unsealed=5, findings=())
    assert (await ledger.seal(org, 3)).seq == 3
    assert await looked_at(planted, org) == Verified(sealed=3, unsealed=2, findings=())
    head = await ledger.seal(org, ALL)
    assert await looked_at(planted, org) == Verified(sealed=5, unsealed=0, findings=())

    sealed = await ledger.audit(org, 0, ALL)
    in_time = sorted(entries, key=lambda entry: entry.at)
    assert [replace(e, seq=None, prev_hash=None, hash=None) for e in sealed] == in_time
    assert [(e.seq, e.prev_hash) for e in sealed] == [
        (n + 1, GENESIS if n == 0 else sealed[n - 1].hash) for n in range(5)
    ]
    assert head == await ledger.head(org) == Head(seq=5, hash=str(sealed[-1].hash))
    assert await ledger.audit(org, 3, 1) == [sealed[3]]


@pytest.mark.rule("I34")
async def test_nothing_new_leaves_the_head_where_it_is(planted: Planted) -> None:
    org = await planted.organization("a")
    ledger = planted.store.ledger
    assert await ledger.seal(org, ALL) == Head(seq=0, hash=GENESIS)
    await planted.entry(org, 1)
    assert await ledger.seal(org, ALL) == await ledger.seal(org, ALL)


@pytest.mark.rule("I34")
async def test_an_entry_that_was_committed_late_is_sealed_after_those_before_it(planted: Planted) -> None:
    org = await planted.organization("a")
    ledger = planted.store.ledger
    await planted.entry(org, 5)
    await ledger.seal(org, ALL)
    await planted.entry(org, 1)
    assert (await ledger.seal(org, ALL)).seq == 2
    assert (await looked_at(planted, org)).whole


@pytest.mark.rule("I34")
async def test_those_who_seal_at_once_make_one_chain(planted: Planted) -> None:
    org = await planted.organization("a")
    for minute in range(30):
        await planted.entry(org, minute)
    ledger = planted.store.ledger
    await asyncio.gather(*(ledger.seal(org, 5) for _ in range(8)))
    assert await looked_at(planted, org) == Verified(sealed=30, unsealed=0, findings=())


@pytest.mark.rule("I18", "I34")
async def test_each_organization_has_a_chain_of_its_own(planted: Planted) -> None:
    await trail(planted, 3)
    other = await planted.organization("b")
    await planted.entry(other, 1)
    assert (await looked_at(planted, OrgId("a"))).whole
    ledger = planted.store.ledger
    assert await ledger.seal(other, ALL) == await ledger.head(other)
    assert await looked_at(planted, other) == Verified(sealed=1, unsealed=0, findings=())
    assert await ledger.organizations() == ["a", "b"]


@pytest.mark.rule("I35")
@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE audit SET entry = '{}' WHERE seq = 3",
        "UPDATE audit SET hash = 'x' WHERE seq = 3",
        "UPDATE audit SET seq = 9 WHERE seq = 3",
        "DELETE FROM audit WHERE seq = 3",
    ],
)
async def test_the_database_refuses_to_touch_what_is_sealed(sql: SqlPlanted, tampering: str) -> None:
    # By its triggers; rows in memory are their owner's to change.
    before = await trail(sql)
    with pytest.raises(StoreError):
        await sql.run(tampering)
    assert await sql.store.ledger.audit(OrgId("a"), 0, ALL) == before


SIGNED = ("id", "actor", "surface", "move", "rule", "task_id", "call_id", "entry", "mac")


@pytest.mark.rule("I34", "I35")
@pytest.mark.parametrize("column", SIGNED)
async def test_one_byte_changed_in_what_was_written_names_the_entry(planted: Planted, column: str) -> None:
    third = (await trail(planted))[2]
    written = str(getattr(third, column))
    changed = written[:-1] + ("x" if written[-1] != "x" else "y")
    await planted.defenceless()
    await planted.update("audit", {column: changed}, seq=3)

    entry_id = changed if column == "id" else third.id
    findings = (Finding(flaw=Flaw.EDITED, seq=3, entry_id=entry_id),)
    assert await looked_at(planted, third.org) == Verified(sealed=5, unsealed=0, findings=findings)


@pytest.mark.rule("I34", "I35")
async def test_a_time_changed_by_a_millisecond_names_the_entry(planted: Planted) -> None:
    third = (await trail(planted))[2]
    await planted.defenceless()
    await planted.update("audit", {"at": third.at + timedelta(milliseconds=1)}, seq=3)
    findings = (Finding(flaw=Flaw.EDITED, seq=3, entry_id=third.id),)
    assert (await looked_at(planted, third.org)).findings == findings


@pytest.mark.rule("I34", "I35")
@pytest.mark.parametrize("column", ["prev_hash", "hash"])
async def test_one_byte_changed_in_the_chain_names_the_entry(planted: Planted, column: str) -> None:
    third = (await trail(planted))[2]
    written = str(getattr(third, column))
    changed = ("1" if written[0] != "1" else "2") + written[1:]
    await planted.defenceless()
    await planted.update("audit", {column: changed}, seq=3)
    findings = (await looked_at(planted, third.org)).findings
    assert findings[0] == Finding(flaw=Flaw.MOVED, seq=3, entry_id=third.id)


@pytest.mark.rule("I34", "I35")
@pytest.mark.parametrize("moved_to", [None, "b"])
@pytest.mark.parametrize("seq", [1, 3, 5])
async def test_an_entry_that_is_gone_is_missed_by_its_number(
    planted: Planted, moved_to: str | None, seq: int
) -> None:
    await trail(planted)
    await planted.defenceless()
    if moved_to is None:
        await planted.delete("audit", seq=seq)
    else:
        await planted.update("audit", {"org": moved_to}, seq=seq)
    assert (await looked_at(planted, OrgId("a"))).findings[0] == Finding(flaw=Flaw.MISSING, seq=seq)


@pytest.mark.rule("I34", "I35")
async def test_two_entries_exchanged_are_both_named(planted: Planted) -> None:
    entries = await trail(planted)
    await planted.defenceless()
    for before, after in ((2, 99), (3, 2), (99, 3)):
        await planted.update("audit", {"seq": after}, seq=before)
    findings = (await looked_at(planted, OrgId("a"))).findings
    assert findings[:2] == (
        Finding(flaw=Flaw.MOVED, seq=2, entry_id=entries[2].id),
        Finding(flaw=Flaw.MOVED, seq=3, entry_id=entries[1].id),
    )


@pytest.mark.rule("I34", "I35")
async def test_an_entry_given_another_number_is_missed_at_its_own(planted: Planted) -> None:
    await trail(planted)
    await planted.defenceless()
    await planted.update("audit", {"seq": 7}, seq=5)
    findings = (await looked_at(planted, OrgId("a"))).findings
    assert findings[0] == Finding(flaw=Flaw.MISSING, seq=5)


@pytest.mark.rule("I34", "I35")
async def test_an_entry_inserted_without_the_key_is_named(planted: Planted) -> None:
    fifth = (await trail(planted))[4]
    await planted.defenceless()
    forged = await planted.entry(fifth.org, 9, key=b"not ours", seq=6, prev_hash=fifth.hash, hash="0" * 64)
    findings = (await looked_at(planted, fifth.org)).findings
    assert findings[0] == Finding(flaw=Flaw.EDITED, seq=6, entry_id=forged.id)


@pytest.mark.rule("I34", "I35")
async def test_an_entry_inserted_without_the_key_is_named_before_it_is_sealed(planted: Planted) -> None:
    org = await planted.organization("a")
    await planted.entry(org, 1)
    forged = await planted.entry(org, 2, key=b"not ours")
    findings = (Finding(flaw=Flaw.EDITED, seq=None, entry_id=forged.id),)
    assert await looked_at(planted, org) == Verified(sealed=0, unsealed=2, findings=findings)
    await planted.store.ledger.seal(org, ALL)  # which makes it no truer
    findings = (Finding(flaw=Flaw.EDITED, seq=2, entry_id=forged.id),)
    assert await looked_at(planted, org) == Verified(sealed=2, unsealed=0, findings=findings)


@pytest.mark.rule("I34")
@pytest.mark.parametrize("tampering", [{"audit_hash": "x"}, {"audit_seq": 4}])
async def test_a_head_that_is_not_the_last_entry_is_told(
    planted: Planted, tampering: dict[str, object]
) -> None:
    await trail(planted)
    await planted.update("organizations", tampering)
    (finding,) = (await looked_at(planted, OrgId("a"))).findings
    assert finding.flaw is Flaw.HEAD


@pytest.mark.rule("I34")
async def test_under_another_key_every_entry_is_flagged(planted: Planted) -> None:
    entries = await trail(planted)
    loose = await planted.entry(OrgId("a"), 9)
    seen = await looked_at(planted, OrgId("a"), key=b"another key")
    assert seen.findings == (
        *(Finding(flaw=Flaw.EDITED, seq=e.seq, entry_id=e.id) for e in entries),
        Finding(flaw=Flaw.EDITED, seq=None, entry_id=loose.id),
    )


# ── tasks ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(), [3, 2, 1]),
        (Query(limit=2), [3, 2]),
        (Query(number=2), [2]),
        (Query(agent="mailer"), [3, 1]),
        (Query(states=frozenset({TaskState.DONE, TaskState.FAILED})), [2, 1]),
        (Query(agent="mailer", states=frozenset({TaskState.DONE})), [1]),
        (Query(number=9), []),
    ],
)
async def test_tasks_are_found_newest_first_by_all_that_is_asked(
    planted: Planted, query: Query, numbers: list[int]
) -> None:
    org = await planted.organization("a")
    await planted.task(org, agent="mailer", state=TaskState.DONE)
    await planted.task(org, agent="inbox", state=TaskState.FAILED)
    await planted.task(org, agent="mailer")
    assert [task.number for task in await planted.store.ledger.find(org, query)] == numbers


async def test_tasks_are_found_by_where_they_speak_and_by_the_messages_they_posted(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    first = await planted.task(org, surface="slack", chat="C1", thread_ref="C1:1")
    second = await planted.task(org, surface="slack", chat="C1", thread_ref="C1:2")
    await planted.task(org, surface="telegram", chat="C1", thread_ref="C1:1")
    await planted.task(other, surface="slack", chat="C1", thread_ref="C1:1")
    await planted.post(first, surface="telegram", chat_ref="m-7")  # its card was moved there
    found = planted.store.ledger.find
    assert await found(org, Query(surface="slack", chat="C1")) == [second, first]
    assert await found(org, Query(surface="slack", thread="C1:1")) == [first]
    assert await found(org, Query(surface="telegram", message="m-7")) == [first]
    assert await found(org, Query(surface="slack", message="m-7")) == []
    assert await found(other, Query(surface="telegram", message="m-7")) == []


async def test_of_the_tasks_with_these_ids_others_are_left_out(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    first, _, third = [await planted.task(org) for _ in range(3)]
    foreign = await planted.task(other)
    asked = Query(ids=frozenset({first.id, third.id, foreign.id}))
    assert await planted.store.ledger.find(org, asked) == [third, first]
    assert await planted.store.ledger.find(org, Query(ids=frozenset())) == []


async def test_the_newest_entries_are_those_of_the_trails_end_whatever_is_sealed(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    entries = [await planted.entry(org, minute) for minute in range(6)]
    await planted.entry(other, 9)
    ledger = planted.store.ledger
    for sealed in (0, 3, 6):
        if sealed:
            assert (await ledger.seal(org, 3)).seq == sealed
        for n in (0, 2, 4, 9):
            assert [e.id for e in await ledger.newest(org, n)] == [e.id for e in entries][6 - min(n, 6) :]


async def test_the_tokens_of_a_day_are_summed_by_agent(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    hour = (await planted.now()).replace(minute=0, second=0, microsecond=0)
    for agent, of, hours, reserved, used in (
        ("lead", org, 0, 5, 10),
        ("lead", org, 23, 0, 100),
        ("lead", org, 25, 1000, 1000),
        ("scout", org, 1, 7, 0),
        ("lead", other, 0, 9, 9),
    ):
        row = {"org": of, "agent": agent, "hour": hour - timedelta(hours=hours)}
        await planted.insert("usage", **row, reserved=reserved, used=used)
    assert await planted.store.ledger.usage(org) == {"lead": 115, "scout": 7}


@pytest.mark.rule("I18")
async def test_another_organizations_task_is_not_found(planted: Planted) -> None:
    org, other = await planted.organization("a"), await planted.organization("b")
    task = await planted.task(org)
    ledger = planted.store.ledger
    assert await ledger.find(other, Query(number=task.number)) == []
    said = []
    for task_id in (task.id, TaskId("no such task")):
        with pytest.raises(TaskNotFound) as raised:
            await ledger.story(TaskRef(org=other, task_id=task_id))
        said.append(str(raised.value))
    assert said[0] == said[1]


async def test_a_story_has_all_of_one_task_in_order(planted: Planted) -> None:
    org = await planted.organization("a")
    task, other = await planted.task(org), await planted.task(org)
    second = await planted.call(task, number=2, ordinal=1)
    first = await planted.call(task, number=1, ordinal=0)
    asked = await planted.park(task, first)
    unsure = await planted.park(task, first, kind=ParkKind.UNKNOWN)
    rows = [message(seq=seq) for seq in (2, 1)]
    await planted.save_messages(task, *rows)
    entries = [await planted.entry(org, minute, task_id=task.id) for minute in (1, 0)]
    await planted.call(other)
    await planted.entry(org, 5, task_id=other.id)

    assert await planted.store.ledger.story(task.ref) == Story(
        task=task,
        messages=(rows[1], rows[0]),
        calls=(first, second),
        parks=(asked, unsure),
        audit=(entries[1], entries[0]),
    )
