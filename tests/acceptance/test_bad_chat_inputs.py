"""What people and chats may do wrongly, and the one right outcome of each: bad inputs 30 to 51."""

from collections.abc import AsyncIterator

import pytest

from core.chat import LONGEST_WORDS, SILENCE
from core.errors import BadArguments
from core.forms import Typed as Filled
from core.ids import ParkId, Token
from core.moves.people import amend
from core.parks import DecisionKind, ParkState, Slip
from core.ports import Query
from core.rendering import Notice
from core.tasks import MessageKind
from core.testing.chat import Seat, Trouble
from core.work import Need
from tests.acceptance.office import Office
from tests.acceptance.shop import NOTE_SCRIPT, ORG, REFUND_SCRIPT, REFUNDED, U1, U2, U9
from tests.contract.planted_memory import MemoryPlanted


@pytest.fixture
async def office() -> AsyncIterator[Office]:
    made = Office(planted=MemoryPlanted())
    await made.people()
    yield made
    assert await made.is_whole()


async def parked(office: Office, *script: object) -> Seat:
    """U1 asked for something, and its card is there."""
    office.opens(list(script or REFUND_SCRIPT))  # type: ignore[arg-type]
    ada = office.seat(U1)
    await ada.says("refund the mug")
    await office.last.works()
    return ada


async def states(office: Office) -> list[ParkState]:
    return [p.state for p in (await office.story()).parks]


async def test_an_edit_without_a_field_changes_nothing(office: Office) -> None:
    """Bad input 30."""
    ada = await parked(office)
    assert "nothing to change" in (await ada.types("/edit t-1.1")).words
    assert await states(office) == [ParkState.OPEN]


@pytest.mark.parametrize("amount", ["ten", "-3", "250", "", True, '{"n":1}', "1e400", "NaN"])
async def test_an_edit_of_the_wrong_type_or_range_stays_at_its_field(office: Office, amount: Filled) -> None:
    """Bad input 31."""
    ada = await parked(office)
    with pytest.raises(BadArguments) as raised:
        await ada.presses("t-1.1", "edit", fields={"amount": amount})
    assert list(raised.value.problems) == ["amount"]
    assert await states(office) == [ParkState.OPEN]


async def test_an_edit_that_changes_nothing_is_an_approval(office: Office) -> None:
    """Bad input 32."""
    ada = await parked(office)
    await ada.presses("t-1.1", "edit", fields={"amount": "10"})
    (park,) = (await office.story()).parks
    assert (park.decision, park.version) == (DecisionKind.APPROVE, 1)


async def test_an_edit_after_an_approval_is_told_who_was_first(office: Office) -> None:
    """Bad input 33."""
    ada = await parked(office)
    ben = office.seat(U2)
    await ada.presses("t-1.1", "approve")
    answer = await ben.presses("t-1.1", "edit", fields={"amount": "5"})
    assert answer.words.startswith("U1 approved it at ")


async def test_an_edit_keeps_every_character_and_the_card_shows_those_that_hide(office: Office) -> None:
    """Bad input 34."""
    words = "👩‍👩‍👧 e\u0301 \u202eevil\u202c \u05d0"
    ada = await parked(office, *NOTE_SCRIPT)
    await ada.presses("t-1.1", "edit", fields={"text": words})
    await office.last.works()
    assert office.world.effects == [("send_note", "x@example.test", words)]
    (shown,) = [f.value for f in office.chat.row("t-1.1").fields if f.name == "text"]
    assert "⟨U+202E⟩evil⟨U+202C⟩" in shown


async def test_an_edit_that_is_too_long_stays_at_its_field(office: Office) -> None:
    """Bad input 35."""
    ada = await parked(office, *NOTE_SCRIPT)
    with pytest.raises(BadArguments) as raised:
        await ada.presses("t-1.1", "edit", fields={"text": "x" * 40_000})
    assert list(raised.value.problems) == ["text"]
    assert await states(office) == [ParkState.OPEN]


async def test_a_command_that_is_too_long_is_not_cut_into_another_one(office: Office) -> None:
    """Bad input 35."""
    ada = await parked(office, *NOTE_SCRIPT)
    answer = await ada.types(f"edit t-1.1 text={'x' * LONGEST_WORDS}")
    assert answer.words == "A command has at most 40,000 characters; nothing is done."
    assert await states(office) == [ParkState.OPEN]


async def test_a_click_on_an_old_version_is_out_of_date(office: Office) -> None:
    """Bad input 36."""
    ada = await parked(office)
    chat_ref, old = office.chat.button("t-1.1")
    (park,) = (await office.story()).parks
    task = await office.task()
    slip = Slip(park_id=ParkId("p2"), token=Token("token-2"))
    args = {"order_id": "A1", "amount": 5}
    move = amend(park.token, args, slip, by=U1.id, surface="chat")
    await office.store.tasks.change(task.ref, move, Need(token=park.token, roster=True))
    await office.last.works()
    answer = await ada.brings(ada.press(old, "approve", chat_ref=chat_ref))
    assert answer.words == "The card is out of date: version 2 waits now."
    assert office.world.effects == []
    assert office.chat.row("t-1.1").code == "t-1.1v2"


async def test_of_two_approvers_the_second_is_told_who_was_first(office: Office) -> None:
    """Bad input 37."""
    ada = await parked(office)
    await office.seat(U2).presses("t-1.1", "decline")
    assert (await ada.presses("t-1.1", "approve")).words.startswith("U2 declined it at ")


async def test_a_strangers_click_is_refused_and_changes_nothing(office: Office) -> None:
    """Bad input 38."""
    await parked(office)
    await office.seat(U9).presses("t-1.1", "approve")
    assert await states(office) == [ParkState.OPEN]
    assert [e.actor for e in (await office.story()).audit if e.move == "refused"] == [U9.id]


async def test_a_click_after_its_message_was_deleted_works_by_its_token(office: Office) -> None:
    """Bad input 39."""
    ada = await parked(office)
    _, row = office.chat.button("t-1.1")
    office.chat.shown.clear()
    assert (await ada.brings(ada.press(row, "approve"))).words == "t-1.1 approved by U1. A worker runs it."
    await office.last.works()
    assert office.world.effects == [REFUNDED]


@pytest.mark.parametrize("how", [{"edited": True}, {"by_bot": True}])
async def test_edited_and_bots_messages_are_no_words_of_anybody(office: Office, how: dict[str, bool]) -> None:
    """Bad inputs 40 and 41."""
    ada = await parked(office)
    assert await ada.says("stop", edited=how.get("edited", False), by_bot=how.get("by_bot", False)) == SILENCE
    assert await office.planted.count("inbox") == 1


async def test_a_click_that_arrives_four_times_is_one_effect(office: Office) -> None:
    """Bad input 42."""
    ada = await parked(office)
    first = await ada.presses("t-1.1", "approve")
    assert [await ada.again() for _ in range(3)] == [first] * 3
    await office.last.works()
    assert office.world.effects == [REFUNDED]


async def test_a_click_before_our_posts_answer_works(office: Office) -> None:
    """Bad input 43."""
    office.opens(list(REFUND_SCRIPT))
    ada = office.seat(U1)
    await ada.says("refund the mug")
    await office.last.worker.until_idle()
    office.chat.trouble = lambda operation, route: Trouble.LOST_AFTER
    await office.last.poster.deliver()
    await ada.presses("t-1.1", "approve")
    office.chat.trouble = lambda operation, route: None
    await office.last.works()
    assert office.world.effects == [REFUNDED]


async def test_approve_as_words_is_pointed_at_the_buttons(office: Office) -> None:
    """Bad input 47."""
    ada = await parked(office)
    assert (await ada.says("approve")).words.startswith("Words decide nothing.")
    assert await states(office) == [ParkState.OPEN]


async def test_who_was_removed_decides_nothing_any_more(office: Office) -> None:
    """Bad input 50."""
    await parked(office)
    await office.leaves(U2)
    await office.seat(U2).presses("t-1.1", "approve")
    assert await states(office) == [ParkState.OPEN]


async def test_twenty_messages_while_it_works_are_read_together(office: Office) -> None:
    """Bad input 51."""
    ada = await parked(office)
    for n in range(20):
        await ada.says(f"and A{n}")
    await office.last.works()
    assert len([v for v in office.chat.room("D1") if isinstance(v, Notice)]) == 1
    await ada.presses("t-1.1", "approve")
    await office.last.works()
    story = await office.story()
    assert [m.kind for m in story.messages].count(MessageKind.OWNER) == 20
    assert len(office.last.model.requests) == 2
    assert len(await office.store.ledger.find(ORG, Query())) == 1
