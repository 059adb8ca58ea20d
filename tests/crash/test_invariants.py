"""Each rule that crash tests look at complains about a story in which it is broken, and about no other."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from core.audit import Finding, Flaw
from core.calls import CallState, Outcome
from core.parks import ParkState
from core.ports import Story
from core.tasks import Json, TaskState
from tests.crash.invariants import RULES, complaints
from tests.crash.playing import Played, played
from tests.crash.scenarios import EDIT
from tests.crash.world import Ground, MemoryJournal, Sight

Break = Callable[[Sight], Sight]


def in_story(**changes: Callable[[Story], object]) -> Break:
    """The last sight's story with some of its fields made anew."""

    def broken(sight: Sight) -> Sight:
        assert sight.story is not None
        made: dict[str, Json] = {name: make(sight.story) for name, make in changes.items()}
        return replace(sight, story=replace(sight.story, **made))

    return broken


BROKEN: dict[str, Break] = {
    "I1": in_story(parks=lambda s: tuple(replace(p, state=ParkState.DECIDED) for p in s.parks)),
    "I4": in_story(parks=lambda s: (s.parks[0], replace(s.parks[1], shown_hash=s.parks[0].shown_hash))),
    "I5": in_story(calls=lambda s: (replace(s.calls[0], args_hash="another"),)),
    "I6": in_story(calls=lambda s: (replace(s.calls[0], effect_key=None),)),
    "I8": in_story(calls=lambda s: (replace(s.calls[0], outcome=Outcome.FAILED),)),
    "I16": in_story(calls=lambda s: (replace(s.calls[0], result={"value": "another"}),)),
    "I19": in_story(task=lambda s: replace(s.task, state=TaskState.WAITING)),
    "I20": in_story(task=lambda s: replace(s.task, state=TaskState.QUEUED)),
    "I34": lambda sight: replace(
        sight, trail=replace(sight.trail, findings=(Finding(flaw=Flaw.EDITED, seq=1),))
    ),
}


def said(of: Played, *sights: Sight, journal: MemoryJournal | None = None) -> set[str]:
    """The rules that are complained about, after the sights of *of* and then *sights*."""
    found = complaints([*of.sights, *sights], of.journal if journal is None else journal)
    return {words.partition(":")[0] for words in found}


_WHOLE: dict[str, Played] = {}


@pytest.fixture
async def whole(ground: Ground, database_kind: str) -> Played:
    """A story without a crash, of each kind of database; it is played once and changed by nobody."""
    if database_kind not in _WHOLE:
        _WHOLE[database_kind] = await played(ground, EDIT, 1)
    return _WHOLE[database_kind]


@pytest.mark.parametrize("rule", BROKEN)
async def test_a_row_that_breaks_a_rule_is_complained_about(rule: str, whole: Played) -> None:
    of = whole
    assert said(of) == set()
    assert rule in said(of, BROKEN[rule](of.sights[-1]))


async def test_what_the_outside_saw_wrong_is_complained_about(whole: Played) -> None:
    of = whole
    (arrival,) = of.journal.read("arrival")
    seen = {**arrival["seen"], "state": CallState.APPROVED, "marks": 0}
    twice, early, invalid = MemoryJournal(), MemoryJournal(), MemoryJournal()
    for _ in range(2):
        twice.write("arrival", **arrival)
    early.write("arrival", **{**arrival, "seen": seen})
    invalid.write("arrival", **arrival)
    invalid.write("broken", words="a result is missing")
    assert [said(of, journal=j) for j in (twice, early, invalid)] == [{"I6", "I7"}, {"I2"}, {"I3"}]


def test_every_rule_that_is_looked_at_was_seen_broken() -> None:
    assert {*BROKEN, "I2", "I3", "I6", "I7"} == set(RULES)
