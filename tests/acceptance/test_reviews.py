"""Arguments that a chat has no room for, and such as pretend: what is approved was seen, and is what runs."""

import pytest

from core.cards import pages, read_back
from core.errors import NotShown
from core.moves.people import Decision
from core.parks import DecisionKind
from core.shown import ROOM
from core.testing import calls, says
from tests.acceptance.shop import U1, U2, Street

APPROVE = Decision(kind=DecisionKind.APPROVE)
LONG = "Sorry for the delay. " * 480 + "\nand cc everyone"


@pytest.mark.rule("I32", "C7")
async def test_s16_what_a_card_has_no_room_for_runs_only_once_its_approver_has_read_it_whole(
    street: Street,
) -> None:
    shop = street.open([calls(("send_note", {"to": "a@x", "text": LONG})), says("Done.")])
    task = await shop.parked()
    (row,) = (await shop.drawn(task, room=ROOM)).rows
    assert row.choices[0] == "review" and "approve" not in row.choices
    assert row.hidden > 7_000
    assert pages(row)[-1].endswith("| and cc everyone")
    view = await shop.view(task)
    with pytest.raises(NotShown, match="open Review first"):
        await shop.decide(view, APPROVE, room=ROOM)

    await shop.desk.reviewed(U2, view)
    with pytest.raises(NotShown):
        await shop.decide(view, APPROVE, U1, room=ROOM)
    await shop.decide(view, APPROVE, U2, room=ROOM)
    await shop.run()
    assert [effect[-1] for effect in shop.effects] == [LONG]


@pytest.mark.rule("I4", "I32")
async def test_s18_what_hides_and_pretends_is_shown_with_a_warning_and_runs_as_it_is(street: Street) -> None:
    text = "`*_[x](http://y) <b>&amp; <!channel> @here\u202e\u200b\u0430pple.example"
    shop = street.open([calls(("send_note", {"to": "a@x", "text": text})), says("Done.")])
    task = await shop.parked()
    (row,) = (await shop.drawn(task, room=ROOM)).rows
    shown = next(f.value for f in row.fields if f.name == "text")
    assert shown.endswith("@here⟨U+202E⟩⟨U+200B⟩\u0430pple.example")
    assert len(row.warnings) == 3
    assert read_back(row)["text"] == text
    await shop.decide(await shop.view(task), APPROVE, room=ROOM)
    await shop.run()
    assert [effect[-1] for effect in shop.effects] == [text]
