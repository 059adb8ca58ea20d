"""Whatever a task went through, clearing takes nothing from its requests but what tools returned (I26)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.calls import Call, CallState, Outcome, ParksAs
from core.compaction import clearing, tokens
from core.fence import FENCE
from core.model import Request, ToolSpec, Turn, WireCall
from core.tasks import Message, MessageKind
from core.testing import check_history
from core.transcript import CLEARED, CLEARED_EFFECT, WORTH_CLEARING, clearable, result_text, turns
from core.work import NewMessage
from tests.contract import factories as make

MARK = "7f3a" * 8
BEGINS, ENDS = f"[{MARK}: words from outside", f"[{MARK}: end of the words from outside]"
SYSTEM = "You are Sam."
SAID = (MessageKind.OWNER, MessageKind.EXTERNAL, MessageKind.REPLY, MessageKind.NUDGE, MessageKind.NOTE)

LENGTHS = [3000, WORTH_CLEARING + 1, WORTH_CLEARING, 5, 0]
ROWS = [*[MessageKind.ASSISTANT] * 8, *SAID, MessageKind.COMPACT, None]


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    outcome = draw(st.sampled_from([*[Outcome.SUCCEEDED] * 12, *Outcome]))
    text = "x" * draw(st.sampled_from(LENGTHS))
    key = "value" if outcome in (Outcome.SUCCEEDED, Outcome.ANSWERED) else "error"
    fence = {FENCE: MARK} if draw(st.booleans()) else {}
    return {"outcome": outcome, "result": {key: text, **fence}}


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Message], list[Call]]:
    """A transcript as moves write it, of up to two episodes, compactions on the way included."""
    messages = [make.message(seq=1, episode=1, round=0, kind=MessageKind.GOAL, body={"text": "Go."})]
    calls: list[Call] = []
    episode, round_ = 1, 0
    for what in draw(st.lists(st.sampled_from(ROWS), min_size=2, max_size=12)):
        if what is None:
            episode, round_ = episode + 1, 0
        elif what is MessageKind.COMPACT:
            if (found := clearing(messages, calls)) is not None:
                messages.append(row_of(found.row(), messages, episode, round_))
        elif what is MessageKind.ASSISTANT:
            round_ += 1
            asked = draw(st.lists(results(), min_size=1, max_size=4))
            calls += [_call(draw, episode, round_, n, len(calls) + n + 1, r) for n, r in enumerate(asked)]
            body = {"text": "I see." if draw(st.booleans()) else None}
            messages.append(_message(messages, episode, round_, what, body))
        else:
            body = {"text": "y" * draw(st.sampled_from(LENGTHS))}
            outside = what in (MessageKind.EXTERNAL, MessageKind.REPLY)
            fenced = {**body, FENCE: MARK} if outside else body
            messages.append(_message(messages, episode, round_, what, fenced))
    return messages, calls


def _message(so_far: list[Message], episode: int, round_: int, kind: MessageKind, body: Any) -> Message:
    return make.message(seq=so_far[-1].seq + 1, episode=episode, round=round_, kind=kind, body=body)


def _call(draw: st.DrawFn, episode: int, round_: int, ordinal: int, number: int, ended: Any) -> Call:
    pure = draw(st.booleans())
    edit = draw(st.booleans())
    return make.call(
        id=f"call-{number}",
        number=number,
        episode=episode,
        round=round_,
        ordinal=ordinal,
        pure=pure,
        risk="read" if pure else "spend",
        parks_as=draw(st.sampled_from([*[None] * 9, *ParksAs])),
        proposed_args={"amount": 1},
        args={"amount": 2 if edit else 1},
        state=CallState.SETTLED,
        **ended,
    )


def row_of(new: NewMessage, so_far: list[Message], episode: int = 1, round_: int = 1) -> Message:
    return make.message(
        seq=so_far[-1].seq + 1,
        episode=episode,
        round=round_,
        kind=new.kind,
        body=new.body,
        from_seq=new.from_seq,
        to_seq=new.to_seq,
    )


def whole(kept: str, call: Call, changed: str | None) -> bool:
    """*changed* is what a clearing makes of *kept*, and may make of it."""
    cleared = CLEARED if call.pure else CLEARED_EFFECT
    return clearable(call) and changed == kept.replace(result_text(call.result), cleared)


def fences(turn: Turn) -> tuple[int, int]:
    """How many fences begin in *turn*, and how many end."""
    return (turn.text or "").count(BEGINS), (turn.text or "").count(ENDS)


@pytest.mark.rule("I26")
@given(story=stories())
def test_a_compaction_takes_nothing_but_what_tools_returned(story: tuple[list[Message], list[Call]]) -> None:
    messages, calls = story
    before = turns(SYSTEM, messages, calls)
    found = clearing(messages, calls)
    if found is None:
        return
    after = turns(SYSTEM, [*messages, row_of(found.row(), messages)], calls)
    check_history(after)
    assert after[0] == Turn(role="system", text=SYSTEM)
    by_id = {f"c{c.number:08d}": c for c in calls}
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert len(changed) == found.calls > 0
    for one, other in changed:
        assert (one.role, one.call_id, one.calls) == (other.role, other.call_id, other.calls)
        call = by_id[str(one.call_id)]
        # decisions, answers, failures and what is unknown: whole; a fence goes with all that is in it
        assert (call.outcome, call.parks_as) == (Outcome.SUCCEEDED, None)
        assert whole(one.text or "", call, other.text)
        assert (BEGINS in (other.text or "")) == (ENDS in (other.text or "")) is False
        assert ("The owner changed it" in (one.text or "")) == ("The owner changed it" in (other.text or ""))
    assert [fences(turn) for turn in after if turn.role == "user"] == [
        fences(turn) for turn in before if turn.role == "user"
    ]
    assert all(begun == ended for begun, ended in map(fences, after))
    assert sum(len(t.text or "") for t in after) < sum(len(t.text or "") for t in before)


@pytest.mark.rule("I26")
@given(story=stories())
def test_what_was_cleared_stays_so_and_nothing_new_is_nothing_to_clear(
    story: tuple[list[Message], list[Call]],
) -> None:
    messages, calls = story
    if (found := clearing(messages, calls)) is None:
        return
    once = [*messages, row_of(found.row(), messages)]
    assert clearing(once, calls) is None
    later = [*once, _message(once, 9, 0, MessageKind.OWNER, {"text": "And?"})]
    assert turns(SYSTEM, later, calls)[:-1] == turns(SYSTEM, once, calls)


def test_the_stories_do_hold_what_can_be_cleared() -> None:
    found: list[int] = []

    @given(story=stories())
    def look(story: tuple[list[Message], list[Call]]) -> None:
        one = clearing(*story)
        found.append(0 if one is None else one.calls)

    look()
    assert sum(n > 0 for n in found) > 20
    assert max(found) > 1


def test_the_reply_that_is_asked_for_takes_room_too() -> None:
    request = Request(
        turns=(
            Turn(role="user", text="€" * 4),
            Turn(role="assistant", calls=(WireCall(id="c", name="read", arguments="{" * 8),)),
        ),
        tools=(ToolSpec(name="read", description="a" * 6, parameters={}),),
        max_tokens=100,
    )
    assert tokens(request) == (12 + 4 + 8 + 6 + 2) // 4 + 100
