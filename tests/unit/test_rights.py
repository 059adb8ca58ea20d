"""Which folder widens which, and what holds meanwhile: tables of old and new."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest

from core.agents import Agent
from core.gate import Setting
from core.rights import Rights, differences, effective, widens, with_rights

RISKS = {"read": "read", "note": "contact", "refund": "spend"}


def rights(*tools: str, **settings: str) -> Rights:
    return Rights(tools=tools, settings=tuple(settings.items()))


NOTHING = rights()
BOTH = rights("note", "refund")


@pytest.mark.parametrize(
    ("old", "new", "wider", "holds"),
    [
        (NOTHING, NOTHING, False, NOTHING),
        (BOTH, BOTH, False, BOTH),
        (BOTH, rights("refund", "note"), False, rights("refund", "note")),
        (rights("note"), BOTH, True, rights("note", note="ask")),
        (NOTHING, rights("read"), True, NOTHING),
        (BOTH, rights("note"), False, rights("note")),
        (rights("note", "read"), BOTH, True, rights("note", note="ask")),  # gives one, takes one
        (BOTH, rights("note", "refund", spend="ask"), False, rights("note", "refund", spend="ask")),
        (
            BOTH,
            rights("note", "refund", contact="observe"),
            False,
            rights("note", "refund", contact="observe"),
        ),
        (rights("note"), rights("note", spend="allow"), False, rights("note", spend="allow")),
        (rights("refund"), rights("refund", spend="allow"), True, rights("refund", refund="ask")),
        (rights("refund"), rights("refund", refund="allow"), True, rights("refund", refund="ask")),
        (
            rights("refund", spend="allow"),
            rights("refund", refund="allow"),
            False,
            rights("refund", refund="allow"),
        ),
        (rights("refund", spend="observe"), rights("refund"), True, rights("refund", refund="observe")),
        (
            rights("refund", spend="observe"),
            rights("refund", spend="ask"),
            True,
            rights("refund", refund="observe"),
        ),
        (rights("refund", spend="allow"), rights("refund"), False, rights("refund")),
        (  # a tool's own word went, its risk's is wider
            rights("refund", spend="allow", refund="ask"),
            rights("refund", spend="allow"),
            True,
            rights("refund", refund="ask"),
        ),
        (  # one setting wider, one narrower: the narrower holds at once
            rights("note", "refund", contact="allow"),
            rights("note", "refund", spend="allow", contact="observe"),
            True,
            rights("note", "refund", note="observe", refund="ask"),
        ),
    ],
)
def test_more_waits_and_less_holds_at_once(old: Rights, new: Rights, wider: bool, holds: Rights) -> None:
    assert widens(old, new, RISKS) is wider
    assert effective(old, new, RISKS) == holds


def test_a_new_host_waits_and_one_taken_away_is_gone_at_once() -> None:
    old, new = (
        replace(BOTH, hosts=("a.example", "b.example")),
        replace(BOTH, hosts=("b.example", "c.example")),
    )
    assert widens(old, new, RISKS)
    assert effective(old, new, RISKS).hosts == ("b.example",)
    assert not widens(old, replace(BOTH, hosts=("b.example",)), RISKS)
    assert with_rights(Agent(key="lead", name="Lea", hosts=new.hosts), old).hosts == old.hosts
    said = [(d.tool, d.before, d.after) for d in differences(old, new, RISKS) if d.is_host]
    assert said == [("a.example", Setting.ALLOW, None), ("c.example", None, Setting.ALLOW)]


def everything() -> list[Rights]:
    words: list[Mapping[str, str]] = [{}, *({"refund": s} for s in ("allow", "ask", "observe"))]
    words += [{"spend": s} for s in ("allow", "ask", "observe")] + [{"spend": "allow", "refund": "ask"}]
    return [rights(*tools, **said) for tools, said in product([(), ("refund",), ("note", "refund")], words)]


def test_what_holds_is_never_wider_than_either_and_settles() -> None:
    pairs = list(product(everything(), repeat=2))
    assert len(pairs) == 24**2
    for old, new in pairs:
        now = effective(old, new, RISKS)
        assert not widens(old, now, RISKS)
        assert not widens(new, now, RISKS)
        assert differences(now, effective(now, new, RISKS), RISKS) == ()


def test_what_was_taken_away_is_not_back_by_itself() -> None:
    less = effective(BOTH, rights("note"), RISKS)
    assert effective(less, BOTH, RISKS).tools == ("note",)
