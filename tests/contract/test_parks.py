"""Parks as people meet them: by token, by code, by what is due; each inside one organization."""

import asyncio
from datetime import datetime, timedelta

import pytest

from core.audit import mac
from core.canonical import load
from core.errors import ParkNotFound
from core.ids import CallCode, Token
from core.parks import ParkKind, ParkState
from core.people import Person
from core.ports import Due, NotFound, ParkView
from core.tasks import Task
from tests.contract.factories import AUDIT_KEY
from tests.contract.planted import BORN_AT, FAR, Planted

OPEN, DECIDED, SUPERSEDED = ParkState.OPEN, ParkState.DECIDED, ParkState.SUPERSEDED


@pytest.fixture
async def ada(planted: Planted) -> Person:
    return await planted.person(await planted.organization("a"))


@pytest.fixture
async def eve(planted: Planted) -> Person:
    """An owner too, but of another organization."""
    return await planted.person(await planted.organization("b"))


@pytest.fixture
async def task(planted: Planted, ada: Person) -> Task:
    return await planted.task(ada.org, number=12)


def after(seconds: int) -> dict[str, datetime]:
    return {"created_at": BORN_AT + timedelta(seconds=seconds)}


async def test_a_token_finds_its_park_whatever_its_state(planted: Planted, ada: Person, task: Task) -> None:
    call = await planted.call(task)
    old = await planted.park(task, call, state=SUPERSEDED)
    new = await planted.park(task, call, version=2)
    parks = planted.store.parks
    for park in (old, new):
        assert await parks.find(ada, park.token) == ParkView(park=park, task=task, call=call)


async def test_a_park_about_the_task_itself_has_no_call(planted: Planted, ada: Person, task: Task) -> None:
    park = await planted.park(task, None, kind=ParkKind.LIMIT)
    assert await planted.store.parks.find(ada, park.token) == ParkView(park=park, task=task, call=None)


@pytest.mark.rule("I18", "I14")
async def test_another_organizations_park_answers_like_one_that_is_not_there(
    planted: Planted, ada: Person, eve: Person, task: Task
) -> None:
    park = await planted.park(task, await planted.call(task, number=3))
    parks = planted.store.parks
    code = CallCode(task_number=12, call_number=3)
    assert isinstance(await parks.find(ada, code), ParkView)
    for key in (park.token, Token("unknown"), code, CallCode(task_number=99, call_number=1)):
        assert await parks.find(eve, key) == NotFound()
    assert await parks.waiting_for(eve, 9) == []


@pytest.mark.rule("I18")
async def test_the_same_code_in_two_organizations_finds_each_its_own(
    planted: Planted, ada: Person, eve: Person, task: Task
) -> None:
    other = await planted.task(eve.org, number=12)
    found = {}
    for mine in (task, other):
        found[mine.org] = await planted.park(mine, await planted.call(mine, number=3))
    parks = planted.store.parks
    for who in (ada, eve):
        view = await parks.find(who, CallCode(task_number=12, call_number=3))
        assert isinstance(view, ParkView)
        assert view.park == found[who.org]


@pytest.mark.parametrize(
    ("states", "found"),
    [
        ({"approval": OPEN, "unknown": OPEN}, "approval"),
        ({"approval": DECIDED, "unknown": OPEN}, "unknown"),
        ({"unknown": OPEN, "question": DECIDED}, "unknown"),
        ({"approval": DECIDED, "unknown": DECIDED}, "unknown"),
    ],
)
async def test_a_code_finds_an_open_approval_then_an_open_park_then_the_newest(
    planted: Planted, ada: Person, task: Task, states: dict[str, ParkState], found: str
) -> None:
    call = await planted.call(task, number=3)
    for n, (kind, state) in enumerate(states.items()):
        await planted.park(task, call, kind=ParkKind(kind), state=state, **after(n))
    view = await planted.store.parks.find(ada, CallCode(task_number=12, call_number=3))
    assert isinstance(view, ParkView)
    assert view.park.kind == found


async def test_a_code_with_a_version_finds_that_version(planted: Planted, ada: Person, task: Task) -> None:
    call = await planted.call(task, number=3)
    versions = [
        await planted.park(task, call, version=1, state=SUPERSEDED, **after(0)),
        await planted.park(task, call, version=2, **after(1)),
    ]
    parks = planted.store.parks
    for park in versions:
        view = await parks.find(ada, CallCode(task_number=12, call_number=3, version=park.version))
        assert isinstance(view, ParkView)
        assert view.park == park
    assert await parks.find(ada, CallCode(task_number=12, call_number=3, version=3)) == NotFound()


async def test_what_waits_is_listed_oldest_first_with_what_it_is_about(
    planted: Planted, ada: Person, task: Task
) -> None:
    call = await planted.call(task)
    young = await planted.park(task, call, **after(2))
    old = await planted.park(task, None, kind=ParkKind.LIMIT, **after(1))
    await planted.park(task, call, version=2, state=DECIDED, **after(0))
    parks = planted.store.parks
    assert await parks.waiting_for(ada, 9) == [
        ParkView(park=old, task=task, call=None),
        ParkView(park=young, task=task, call=call),
    ]
    assert [view.park for view in await parks.waiting_for(ada, 1)] == [old]


@pytest.mark.parametrize(("kind", "field"), [(Due.EXPIRE, "expires_at"), (Due.REMIND, "remind_at")])
async def test_a_task_is_due_once_for_all_of_its_open_parks_past_their_time(
    planted: Planted, ada: Person, task: Task, kind: Due, field: str
) -> None:
    async def with_parks(of: Task, *seconds: float, state: ParkState = OPEN) -> Task:
        for n, at in enumerate(seconds):
            call = await planted.call(of, number=n + 1, ordinal=n)
            await planted.park(of, call, state=state, **{field: BORN_AT + timedelta(seconds=at)})
        return of

    late = await with_parks(task, 30, 20)
    first = await with_parks(await planted.task(ada.org), 10)
    await with_parks(await planted.task(ada.org), 10, state=DECIDED)
    await with_parks(await planted.task(ada.org), FAR.total_seconds())
    await planted.park(await planted.task(ada.org), None, kind=ParkKind.UNKNOWN)

    parks = planted.store.parks
    assert await parks.due(kind, 9) == [first.ref, late.ref]
    assert await parks.due(kind, 1) == [first.ref]
    assert await parks.due(Due.REMIND if kind is Due.EXPIRE else Due.EXPIRE, 9) == []


@pytest.mark.rule("I32")
async def test_who_opened_the_whole_of_it_is_recorded(planted: Planted, ada: Person, task: Task) -> None:
    park = await planted.park(task, await planted.call(task))
    parks = planted.store.parks
    await parks.viewed(ada, park.token, "digest-1")
    await parks.viewed(ada, park.token, "digest-2")
    views = (await planted.park_row(park)).viewed
    assert [(view["person"], view["digest"]) for view in views] == [
        (ada.id, "digest-1"),
        (ada.id, "digest-2"),
    ]


@pytest.mark.rule("I32")
async def test_no_view_is_lost_where_many_look_at_once(planted: Planted, ada: Person, task: Task) -> None:
    park = await planted.park(task, await planted.call(task))
    parks = planted.store.parks
    await asyncio.gather(*(parks.viewed(ada, park.token, f"digest-{n}") for n in range(8)))
    views = (await planted.park_row(park)).viewed
    assert sorted(view["digest"] for view in views) == [f"digest-{n}" for n in range(8)]


@pytest.mark.rule("I18", "I32")
async def test_nobody_records_a_view_of_another_organizations_park(
    planted: Planted, eve: Person, task: Task
) -> None:
    park = await planted.park(task, await planted.call(task))
    for token in (park.token, Token("unknown")):
        with pytest.raises(ParkNotFound):
            await planted.store.parks.viewed(eve, token, "digest")
    assert (await planted.park_row(park)).viewed is None


# ── signing in ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C12", "I18")
async def test_a_sign_in_finds_its_park_once_and_for_its_person_alone(
    planted: Planted, ada: Person, eve: Person, task: Task
) -> None:
    park = await planted.park(task, await planted.call(task), kind=ParkKind.CONNECT)
    bob, parks = await planted.person(ada.org), planted.store.parks
    await parks.link(ada, park.token, "digest-1", 60)
    for who, digest in ((eve, "digest-1"), (bob, "digest-1"), (ada, "digest-2")):
        assert await parks.linked(who, digest) == NotFound()
    assert await parks.linked(ada, "digest-1") == park.token
    assert await parks.linked(ada, "digest-1") == NotFound()


@pytest.mark.rule("C12")
async def test_a_sign_in_that_ran_out_finds_nothing(planted: Planted, ada: Person, task: Task) -> None:
    park = await planted.park(task, await planted.call(task), kind=ParkKind.CONNECT)
    await planted.store.parks.link(ada, park.token, "digest-1", 0)
    assert await planted.store.parks.linked(ada, "digest-1") == NotFound()


@pytest.mark.rule("I18")
async def test_nobody_signs_in_for_another_organizations_park(
    planted: Planted, eve: Person, task: Task
) -> None:
    park = await planted.park(task, await planted.call(task), kind=ParkKind.CONNECT)
    for token in (park.token, Token("unknown")):
        with pytest.raises(ParkNotFound):
            await planted.store.parks.link(eve, token, "digest", 60)


@pytest.mark.rule("I14", "I34")
async def test_who_might_not_decide_is_in_the_trail_of_the_parks_organization(
    planted: Planted, ada: Person, task: Task
) -> None:
    park = await planted.park(task, await planted.call(task, number=3))
    await planted.store.parks.refused(park.token, "chat:U9", "chat", "nobody here knows them")
    await planted.store.parks.refused(Token("unknown"), "chat:U9", "chat", "nobody here knows them")
    (entry,) = await planted.store.ledger.unsealed(ada.org, 9)
    told = (entry.actor, entry.surface, entry.move, entry.task_id, entry.call_id, load(entry.entry))
    why = {"park": park.id, "version": 1, "why": "nobody here knows them"}
    assert told == ("chat:U9", "chat", "refused", task.id, park.call_id, why)
    assert entry.mac == mac(AUDIT_KEY, entry)
    found = await planted.store.parks.find(ada, park.token)
    assert isinstance(found, ParkView)
    assert found.park == park
