"""Where posts go first, and what a dead place falls to: one table, a line a case."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from core.ids import OrgId, PersonId, PostId
from core.people import Account, Organization, Person, Role, Roster, Route
from core.ports import ON_REQUEST, Post, Tried
from core.routes import (
    copy_routes,
    first_route,
    heard_of,
    hour_of,
    is_nobodys,
    moved,
    next_route,
    unreachable,
)
from core.tasks import Origin, Task
from core.work import PostKind
from tests.contract import factories as make

ORG = OrgId("a")


def person(name: str, *roles: Role, left: bool = False) -> Person:
    return Person(org=ORG, id=PersonId(name), name=name.title(), roles=frozenset(roles), left=left)


ADA, OLA = person("ada", Role.OWNER), person("ola", Role.OWNER)
BEN, EVE = person("ben", Role.APPROVER), person("eve", Role.MEMBER)
ZED = person("zed", Role.OWNER, left=True)
LINKED = (
    (ADA, "slack", "UA"),
    (ADA, "telegram", "7"),
    (ADA, "console", "ada"),
    (BEN, "slack", "UB"),
    (EVE, "slack", "UE"),
    (EVE, "telegram", "9"),
    (OLA, "telegram", "8"),
    (ZED, "slack", "UZ"),
)


def at(place: str) -> Route:
    """``slack:C1``"""
    surface, _, ref = place.partition(":")
    return Route(surface=surface, ref=ref)


def roster(routes: Mapping[str, str | tuple[str, ...]]) -> Roster:
    return Roster(
        organization=Organization(id=ORG, name="A"),
        people=(ADA, BEN, EVE, OLA, ZED),
        accounts=tuple((who.id, Account(surface=s, ref=ref)) for who, s, ref in LINKED),
        routes=tuple((agent, at(place)) for agent, places in routes.items() for place in _all(places)),
    )


def _all(places: str | tuple[str, ...]) -> tuple[str, ...]:
    return (places,) if isinstance(places, str) else places


def task(thread: str | None, requester: Person | None) -> Task:
    surface, _, ref = (thread or "").partition(":")
    where: dict[str, Any] = {"surface": surface or None, "thread_ref": ref or None}
    where["origin"] = Origin.MEMBER if requester == EVE else Origin.OWNER
    return make.task(org=ORG, agent="sam", requester=requester and requester.id, **where)


def way(
    routes: Mapping[str, str | tuple[str, ...]], thread: str | None, requester: Person | None, *, asks: bool
) -> list[str]:
    """Every place in turn, as each of them dies."""
    who, of = roster(routes), task(thread, requester)
    route, tried = first_route(who, of, asks=asks), list[Route]()
    while route is not None:
        assert route not in tried
        tried.append(route)
        route = next_route(who, of, tried, asks=asks)
    return [f"{route.surface}:{route.ref}" for route in tried]


OWNERS_FROM_SLACK = ["slack:@UA", "telegram:@7", "telegram:@8"]
OWNERS_FROM_TELEGRAM = ["telegram:@7", "telegram:@8", "slack:@UA"]


@pytest.mark.rule("K40")
@pytest.mark.parametrize(
    ("routes", "thread", "requester", "places"),
    [
        pytest.param({}, "slack:C1", None, ["slack:C1", *OWNERS_FROM_SLACK], id="thread"),
        pytest.param({}, "telegram:5", None, ["telegram:5", *OWNERS_FROM_TELEGRAM], id="its surface first"),
        pytest.param(
            {}, "slack:C1", BEN, ["slack:C1", "slack:@UB", *OWNERS_FROM_SLACK], id="who asked first"
        ),
        pytest.param({}, "slack:C1", ADA, ["slack:C1", *OWNERS_FROM_SLACK], id="who asked is an owner"),
        pytest.param({}, "slack:C1", EVE, [*OWNERS_FROM_SLACK, "slack:C1"], id="who asked may not decide"),
        pytest.param({}, "slack:C1", ZED, ["slack:C1", *OWNERS_FROM_SLACK], id="who asked has left"),
        pytest.param(
            {"": "slack:C9"}, "slack:C1", None, ["slack:C9", "slack:C1", *OWNERS_FROM_SLACK], id="the shop's"
        ),
        pytest.param(
            {"": "slack:C9", "sam": "slack:C8", "ann": "slack:C7"},
            "slack:C1",
            None,
            ["slack:C8", "slack:C9", "slack:C1", *OWNERS_FROM_SLACK],
            id="agent",
        ),
        pytest.param(
            {"sam": "slack:@UA"}, "slack:C1", None, ["slack:@UA", "slack:C1", "telegram:@7", "telegram:@8"],
            id="somebody's direct messages, never twice",
        ),
        pytest.param(
            {"": "telegram:5"}, None, None, ["telegram:5", *OWNERS_FROM_TELEGRAM], id="route without thread"
        ),
        pytest.param(
            {"": ("slack:C9", "telegram:5"), "sam": ("slack:C8", "telegram:6")}, "slack:C1", None,
            ["slack:C8", "slack:C9", "slack:C1", *OWNERS_FROM_SLACK],
            id="the first of several",
        ),
        pytest.param({}, None, None, OWNERS_FROM_SLACK, id="a schedule"),
        pytest.param({}, "console:ada", ADA, ["console:ada", *OWNERS_FROM_SLACK], id="a terminal"),
    ],
)  # fmt: skip
def test_a_card_falls_from_place_to_place(
    routes: Mapping[str, str | tuple[str, ...]],
    thread: str | None,
    requester: Person | None,
    places: list[str],
) -> None:
    assert way(routes, thread, requester, asks=True) == places


@pytest.mark.parametrize(
    ("thread", "requester", "places"),
    [
        ("slack:C1", EVE, ["slack:C1", "slack:@UE", "telegram:@9"]),
        ("telegram:5", EVE, ["telegram:5", "telegram:@9", "slack:@UE"]),
        ("slack:C1", None, ["slack:C1"]),
        ("slack:C1", ZED, ["slack:C1"]),
        (None, EVE, []),
    ],
)
def test_a_report_falls_to_whoever_asked(
    thread: str | None, requester: Person | None, places: list[str]
) -> None:
    assert way({"": "slack:C9"}, thread, requester, asks=False) == places


@pytest.mark.parametrize(
    ("routes", "first", "copies"),
    [
        ({}, "slack:C1", []),
        ({"": "slack:C9"}, "slack:C9", []),
        ({"": ("slack:C9", "telegram:5")}, "slack:C9", ["telegram:5"]),
        ({"": ("slack:C9", "telegram:5"), "sam": "slack:C8"}, "slack:C8", []),
        (
            {"": ("slack:C9", "x:1"), "sam": ("slack:C8", "telegram:6", "x:2")},
            "slack:C8",
            ["telegram:6", "x:2"],
        ),
        ({"": ("telegram:-1005", "slack:C9", "telegram:-1005")}, "telegram:-1005", ["slack:C9"]),
    ],
)
def test_copies_go_where_its_agents_cards_go_too_else_where_all_cards_do(
    routes: Mapping[str, str | tuple[str, ...]], first: str, copies: list[str]
) -> None:
    of = task("slack:C1", None)
    assert first_route(roster(routes), of, asks=True) == at(first)
    assert copy_routes(roster(routes), of, at(first)) == tuple(map(at, copies))


@pytest.mark.parametrize(
    ("place", "nobodys"),
    [
        ("slack:C1", False),
        ("slack:UE", False),
        ("slack:@UE", False),
        ("telegram:@9", False),
        ("telegram:@UE", True),
        ("slack:@9", True),
        ("slack:@UZ", True),
    ],
)
def test_direct_messages_are_somebodys_who_is_there_by_an_account_of_theirs(
    place: str, nobodys: bool
) -> None:
    assert is_nobodys(roster({}), at(place)) is nobodys


def card(place: str, chat_ref: str | None = None, **fields: Any) -> Post:
    given: dict[str, Any] = {"org": ORG, "task_id": None, "kind": PostKind.CARD, "episode": 1, "round": 1}
    given |= {"surface": "slack", "route": place, "body": None, "rev": 1, "attempts": 0}
    return Post(id=PostId(place), chat_ref=chat_ref, **{**given, **fields})


@pytest.mark.rule("K19")
@pytest.mark.parametrize(
    ("cards", "message", "which"),
    [
        ([card("C1")], "C1:9", "C1"),
        ([card("C1")], "C2:9", None),
        ([card("C1:7", "C1:8")], "C1:9", None),
        ([card("C1:7"), card("C2")], "C1:9", "C1:7"),
        ([card("C1", "C1:8"), card("C2")], "C1:9", None),
        ([card("C1", copy_of="k", shown_at=ON_REQUEST)], "C1:9", None),
        ([card("C1"), card("C1:7")], "C1:9", None),
        ([], "C1:9", None),
        ([card("C1")], "9.9", "C1"),
        ([card("C1"), card("C2")], "9.9", None),
        ([card("-100:t4:77")], "-100:78", "-100:t4:77"),
        ([card("-100:t4:77")], "4711:78", None),
        ([card("-1001")], "-100:78", None),
        ([card("@4711")], "4711:55", "@4711"),
        ([card("@4711")], "4712:55", None),
        ([card("@4711")], "-100:55", None),
        ([card("@4711"), card("-100")], "4711:55", "@4711"),
        ([card("T1/C1/1.0"), card("T1/C2")], "T1/C1/2.0", "T1/C1/1.0"),
        ([card("T1/C1")], "T1/D5/2.0", None),
        ([card("@T1/U1")], "T1/D5/2.0", "@T1/U1"),
        ([card("@T1/U1")], "T2/D5/2.0", None),
        ([card("@T1/U1"), card("@T1/U2")], "T1/D5/2.0", None),
    ],
)
def test_a_message_is_the_one_card_of_its_chat(cards: list[Post], message: str, which: str | None) -> None:
    found = heard_of(cards, message)
    assert (found and found.route) == which


def test_what_was_moved_names_each_place_it_should_have_been_in() -> None:
    tried = [
        Tried(route=at("slack:C1"), error="the place in the chat is gone"),
        Tried(route=at("slack:@U\u202e"), error="refused"),
    ]
    places = "C1 on slack (the place in the chat is gone); @U⟨U+202E⟩ on slack (refused)"
    assert moved(tried) == f"Shown here since it could not be shown in {places}."
    assert unreachable(tried) == f"it could not be shown in {places}"
    assert moved([]) is None


def test_the_hour_of_a_digest_is_the_same_in_every_time_zone() -> None:
    when = datetime(2026, 3, 2, 9, 59, 59, 999999, tzinfo=UTC)
    assert hour_of(when) == hour_of(when.astimezone()) == datetime(2026, 3, 2, 9, tzinfo=UTC)
