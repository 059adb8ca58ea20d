"""Posts on a chat whose places die, whose hours are full, and whose answers come late."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.cards import Card
from core.errors import ChatBusy, ChatError, ChatForbidden, ChatGone
from core.ids import ParkId, PersonId, Token
from core.model import ModelReply, Request
from core.parks import ParkState
from core.people import Route
from core.ports import ParkView
from core.poster import SENDING_SECONDS, TRIES
from core.rendering import Digest, Notice, Progress, View, card_with
from core.report import Report
from core.routes import CARDS_AN_HOUR
from core.tasks import Task
from core.testing import calls, says
from tests.unit.square import EVE, SURFACE, Board, Host, Refunder, Square

OPS = Route(surface=SURFACE, ref="C9")
HOUR = 3600.0
DIE = pytest.mark.rule("K40")


@pytest.fixture
def square() -> Square:
    return Square()


def open_cards(board: Board, route: str) -> list[str]:
    """The codes that wait on the cards there."""
    return [row.code for card in board.cards(route) for row in card.rows if row.status is None]


# ── places that die ──────────────────────────────────────────────────────────────────────────


async def test_cards_go_where_cards_go_and_reports_to_the_thread(square: Square) -> None:
    square.cards_go_to(OPS)
    task = await square.ask()
    await square.deliver()
    assert open_cards(square.board, "C9") == ["t-1.1"]
    await square.approve(task)
    await square.work()
    await square.deliver()
    assert open_cards(square.board, "C9") == []
    assert [type(view) for view in square.board.at("C1")] == [Report]


@DIE
async def test_a_card_whose_place_is_dead_is_shown_at_the_next_and_says_where_it_should_be(
    square: Square,
) -> None:
    """Bad input 48."""
    square.cards_go_to(OPS)
    square.board.dead["C9"] = ChatGone("the channel is archived")
    task = await square.ask()
    await square.deliver()
    (card,) = square.board.cards("C1")
    assert card.moved == "Shown here since it could not be shown in C9 on slack (the channel is archived)."
    await square.approve(task)
    await square.deliver()
    assert open_cards(square.board, "C1") == []  # the same message, edited
    assert len(square.board.cards("C1")) == 1


@DIE
async def test_where_every_place_is_dead_the_app_is_told_once_and_why(
    square: Square, caplog: pytest.LogCaptureFixture
) -> None:
    """Bad input 49."""
    square.board.dead |= {"C1": ChatGone("archived"), "@UA": ChatForbidden("blocked")}
    task = await square.ask()
    await square.deliver()
    why = "it could not be shown in C1 on slack (archived); @UA on slack (blocked)"
    assert square.host.told == [("t-1", why)]
    await square.approve(task)  # the park is as good as ever
    await square.work()
    await square.deliver()
    assert len(square.host.told) == 1
    assert (await square.store.ledger.story(task.ref)).task.state == "done"
    assert "nobody is shown the card of t-1" in caplog.text


class Curt(Host):
    """An app that knows no reason."""

    async def notify_parked(self, task: Task, parks: Sequence[ParkView]) -> None:  # type: ignore[override]
        self.told += [(f"{task.code} {view.park.kind}", None) for view in parks]


@DIE
async def test_an_app_that_takes_no_reason_is_told_without_it(caplog: pytest.LogCaptureFixture) -> None:
    host = Curt()
    square = Square(host)
    square.board.dead |= {"C1": ChatGone(), "@UA": ChatGone()}
    await square.ask()
    await square.deliver()
    assert host.told == [("t-1 approval", None)] * 2  # when it opened, and now
    caplog.clear()


@DIE
async def test_a_place_that_fails_too_often_is_as_dead(square: Square) -> None:
    square.cards_go_to(OPS)
    square.board.dead["C9"] = ChatError("the chat is down")
    await square.ask(chat=None)
    for _ in range(TRIES):
        assert square.board.messages == {}
        await square.deliver(HOUR)
    await square.deliver()
    assert open_cards(square.board, "C1") == ["t-1.1"]


@pytest.mark.rule("K39")
async def test_a_place_that_asks_to_wait_is_never_dead(square: Square) -> None:
    square.board.dead["C1"] = ChatBusy(60)
    await square.ask(chat=None)
    for _ in range(TRIES * 2):
        await square.deliver(61)
    del square.board.dead["C1"]
    await square.deliver(61)
    assert open_cards(square.board, "C1") == ["t-1.1"]


@DIE
async def test_what_is_over_follows_nobody_to_another_place(square: Square) -> None:
    task = await square.ask()
    await square.deliver()
    square.board.dead["C1"] = ChatGone()
    await square.approve(task)
    await square.deliver()
    assert square.board.at("@UA") == []
    assert square.host.told == []


async def test_a_card_that_somebody_deleted_is_posted_anew_while_it_waits(square: Square) -> None:
    task = await square.ask()
    await square.deliver()
    square.board.gone["m1"] = ChatGone("message_not_found")
    await square.say(task)
    await square.deliver()
    assert [card.unread for card in square.board.cards("C1")] == [0, 1]
    assert square.board.at("@UA") == []


async def test_a_report_falls_to_whoever_asked(square: Square) -> None:
    task = await square.ask(EVE)
    await square.deliver()
    square.board.dead["C1"] = ChatGone("archived")
    await square.approve(task)
    await square.work()
    await square.deliver()
    (report,) = [view for view in square.board.at("@UE") if isinstance(view, Report)]
    assert report.moved == "Shown here since it could not be shown in C1 on slack (archived)."


# ── copies ───────────────────────────────────────────────────────────────────────────────────

ASKED = Route(surface=SURFACE, ref="C5")


async def copied(square: Square, task: Task, name: str = "a1") -> Token:
    """Somebody asked to see what waits of *task*, and the message *name* in C5 is the answer."""
    token = (await square.view(task)).park.token
    square.board.messages[name] = ("C5", await card_with(square.desk, task.ref, {token}))
    await square.store.outbox.copied(token, ASKED, name)
    return token


@pytest.mark.rule("K20")
async def test_a_card_that_was_shown_on_request_ends_with_the_card(square: Square) -> None:
    task = await square.ask()
    await square.deliver()
    await copied(square, task)
    await square.deliver()
    assert (open_cards(square.board, "C1"), open_cards(square.board, "C5")) == (["t-1.1"], ["t-1.1"])
    await square.approve(task)
    await square.deliver()
    assert (open_cards(square.board, "C1"), open_cards(square.board, "C5")) == ([], [])
    assert len(square.board.cards("C5")) == 1


class Pair(Refunder):
    async def reply(self, request: Request) -> ModelReply:
        if request.turns[-1].role == "tool":
            return says("Done.")
        return calls(("refund", {"n": 1}), ("refund", {"n": 2}))


async def test_a_copy_shows_its_call_alone_in_whatever_version(square: Square) -> None:
    square.host.model = Pair()
    task = await square.ask()
    await square.deliver()
    await copied(square, task)
    assert open_cards(square.board, "C1") == ["t-1.1", "t-1.2"]
    view = await square.view(task)
    rows = square.store.rows
    with rows.transaction():
        rows.parks.update(replace(view.park, state=ParkState.SUPERSEDED))
        rows.parks.insert(replace(view.park, id=ParkId("p2"), token=Token("new"), version=2))
    await square.say(task)
    await square.deliver()
    (card,) = square.board.cards("C5")
    assert [(row.code, row.token) for row in card.rows] == [("t-1.1v2", "new")]
    assert open_cards(square.board, "C1") == ["t-1.1v2", "t-1.2"]


@DIE
@pytest.mark.parametrize("error", [ChatGone("deleted"), ChatForbidden("blocked")])
async def test_a_copy_whose_message_is_gone_is_over_and_nobody_is_told(
    square: Square, error: ChatError
) -> None:
    task = await square.ask()
    await square.deliver()
    await copied(square, task)
    square.board.gone["a1"] = error
    await square.say(task)
    await square.deliver()
    assert len(square.board.at("C5")) == 1
    assert square.board.cards("@UA") == []
    (row,) = square.store.rows.posts.under("message", SURFACE, "a1")
    assert (row.state, row.post.rev, row.sent_rev) == ("sent", 2, 2)
    assert square.host.told == []
    await square.store.outbox.move(SURFACE, "C5", "C6")
    await square.say(task)
    await square.deliver()
    assert square.board.at("C6") == []


@DIE
async def test_a_copy_that_breaks_each_time_is_over_and_nobody_is_told(square: Square) -> None:
    task = await square.ask()
    await square.deliver()
    await copied(square, task)
    square.board.gone["a1"] = ChatError("the chat is down")
    await square.say(task)
    for _ in range(TRIES):
        await square.deliver(HOUR)
    (row,) = square.store.rows.posts.under("message", SURFACE, "a1")
    assert (row.state, row.owed) == ("sent", False)
    await square.say(task)
    (row,) = square.store.rows.posts.under("message", SURFACE, "a1")
    with square.store.rows.transaction():  # by processes that die of it
        square.store.rows.posts.update(replace(row, post=replace(row.post, attempts=TRIES + 1)))
    await square.deliver()
    (row,) = square.store.rows.posts.under("message", SURFACE, "a1")
    assert (row.state, row.owed, square.host.told) == ("sent", False, [])


ALONE = Route(surface=SURFACE, ref="@UE")


async def shown_alone(square: Square, name: str = "a1") -> tuple[Task, Token]:
    """Eve asked to see what waits, and was shown it where she is alone with us."""
    task = await square.ask()
    await square.deliver()
    token = (await square.view(task)).park.token
    square.board.messages[name] = ("@UE", await card_with(square.desk, task.ref, {token}))
    await square.store.outbox.copied(token, ALONE, name)
    return task, token


def leaves(square: Square, person_id: PersonId) -> None:
    """They are of the organization no more, and no account is theirs."""
    rows = square.store.rows
    with rows.transaction():
        rows.people.update(replace(EVE, left=True))
        (link,) = [row for row in rows.accounts if row.person_id == person_id]
        rows.accounts.delete(link)


@pytest.mark.rule("K20")
async def test_what_somebody_asked_to_see_is_theirs_until_they_leave(square: Square) -> None:
    task, _ = await shown_alone(square)
    await square.say(task)
    await square.deliver()
    assert [card.unread for card in square.board.cards("@UE")] == [1]
    leaves(square, EVE.id)
    for _ in range(2):
        await square.say(task)
        await square.deliver()
    assert square.board.at("@UE") == [Notice(task_code="t-1", text="This is no longer yours.")]
    handed = square.board.handed
    await square.approve(task)
    await square.deliver()
    assert square.board.handed == handed + 1  # the card alone
    assert square.store.rows.posts.under("message", SURFACE, "a1") == []


@pytest.mark.rule("K20")
async def test_whoever_has_left_is_shown_nothing_however_their_chat_answers(square: Square) -> None:
    task, _ = await shown_alone(square)
    leaves(square, EVE.id)
    square.board.gone["a1"] = ChatError("the chat is down")
    await square.say(task)
    await square.deliver()
    square.board.gone["a1"] = ChatForbidden("blocked")
    await square.deliver(HOUR)
    del square.board.gone["a1"]
    await square.approve(task)
    await square.deliver()
    assert len(square.board.cards("@UE")) == 1
    assert open_cards(square.board, "@UE") == ["t-1.1"]  # as it was when they were there


@pytest.mark.rule("K20")
async def test_what_is_shown_again_says_so_above_and_is_revised_no_more(square: Square) -> None:
    task, token = await shown_alone(square)
    square.board.messages["a2"] = square.board.messages["a1"]
    await square.store.outbox.copied(token, ALONE, "a2")
    await square.deliver()
    above, below = square.board.at("@UE")
    assert above == Notice(task_code="t-1", text="It is shown again below.")
    assert open_cards(square.board, "@UE") == ["t-1.1"]
    await square.approve(task)
    await square.deliver()
    assert (square.board.at("@UE")[0], open_cards(square.board, "@UE")) == (above, [])
    assert square.board.at("@UE")[1] != below


@DIE
async def test_a_message_that_is_gone_is_not_shown_for_saying_that_it_is_shown_again(square: Square) -> None:
    _, token = await shown_alone(square)
    square.board.gone["a1"] = ChatGone("deleted")
    await square.store.outbox.copied(token, ALONE, "a2")
    await square.deliver()
    assert square.store.rows.posts.under("message", SURFACE, "a1") == []
    assert not any(isinstance(view, Notice) for view in square.board.at("@UE"))


@pytest.mark.rule("I39")
async def test_copies_count_in_no_hour_and_are_in_no_digest(square: Square) -> None:
    tasks = [await square.ask(chat=None) for _ in range(CARDS_AN_HOUR)]
    await square.deliver()
    for n, task in enumerate(tasks):
        await square.store.outbox.copied((await square.view(task)).park.token, OPS, f"a{n}")
    square.cards_go_to(OPS)
    late = await square.ask(chat=None)
    for task in tasks:
        await square.say(task)
    await square.digested()
    assert open_cards(square.board, "C9") == [f"{t.code}.1" for t in (late, *tasks)]
    assert not any(isinstance(view, Digest) for view in square.board.at("C9"))


BESIDE = Route(surface=SURFACE, ref="C8")


@pytest.mark.rule("K20")
async def test_a_card_in_two_places_ends_in_both(square: Square) -> None:
    square.cards_go_to(OPS, BESIDE)
    task = await square.ask()
    await square.deliver()
    assert (open_cards(square.board, "C9"), open_cards(square.board, "C8")) == (["t-1.1"], ["t-1.1"])
    await square.approve(task)
    await square.deliver()
    ended = [row.status for place in ("C9", "C8") for card in square.board.cards(place) for row in card.rows]
    assert len(ended) == 2 and len(set(ended)) == 1
    assert str(ended[0]).startswith("✔ Approved by Ada")


@DIE
async def test_where_a_copy_cant_be_shown_it_is_dead_and_the_card_is_as_it_was(square: Square) -> None:
    square.cards_go_to(OPS, BESIDE)
    square.board.dead["C8"] = ChatForbidden("kicked")
    await square.ask()
    await square.deliver()
    assert open_cards(square.board, "C9") == ["t-1.1"]
    assert square.board.cards("C1") == square.board.cards("@UA") == []
    (copy,) = [row for row in square.store.rows.posts if row.post.copy_of]
    assert (copy.state, copy.error, square.host.told) == ("dead", "kicked", [])


@DIE
async def test_where_a_card_can_be_shown_no_more_it_falls_on_and_its_copy_stays(square: Square) -> None:
    square.cards_go_to(OPS, BESIDE)
    square.board.dead["C9"] = ChatGone("archived")
    await square.ask()
    await square.deliver()
    assert open_cards(square.board, "C8") == open_cards(square.board, "C1") == ["t-1.1"]
    assert [card.moved is None for card in square.board.cards("C8")] == [True]


async def test_a_copy_that_somebody_deleted_is_posted_anew_while_it_waits(square: Square) -> None:
    square.cards_go_to(OPS, BESIDE)
    task = await square.ask()
    await square.deliver()
    (name,) = [name for name, (place, _) in square.board.messages.items() if place == "C8"]
    square.board.gone[name] = ChatGone("deleted")
    await square.say(task)
    await square.deliver()
    assert [card.unread for card in square.board.cards("C8")] == [0, 1]


@pytest.mark.rule("I39")
async def test_copies_in_further_places_are_never_folded(square: Square) -> None:
    square.cards_go_to(OPS, BESIDE)
    await flood(square)
    assert len(square.board.cards("C8")) == CARDS_AN_HOUR + 3
    assert len(square.board.cards("C9")) == CARDS_AN_HOUR
    assert len(digest(square.board, "C9").waiting) == 3


# ── how it goes ──────────────────────────────────────────────────────────────────────────────


def progress(board: Board) -> list[str]:
    return [view.text for view in board.at("C1") if isinstance(view, Progress)]


async def test_how_a_task_goes_is_one_message_edited_in_place(square: Square) -> None:
    task = await square.ask()
    await square.deliver()
    assert progress(square.board) == []  # not before its time, nor before the card
    await square.deliver(4)
    assert progress(square.board) == ["Sam waits for your click on t-1.1 · round 1"]
    await square.approve(task)
    await square.work()
    await square.deliver(4)
    assert progress(square.board) == ["Finished: see the report."]


async def test_what_is_over_at_once_shows_no_progress(square: Square) -> None:
    task = await square.ask()
    await square.approve(task)
    await square.work()
    await square.deliver(4)
    assert progress(square.board) == []


async def test_a_surface_that_is_no_chat_is_shown_no_progress(square: Square) -> None:
    await square.ask(chat=None)
    await square.deliver(9)
    assert [type(view) for view in square.board.at("C1")] == [Card]


async def test_progress_follows_nobody_to_another_place(square: Square) -> None:
    square.cards_go_to(OPS)
    square.board.dead["C1"] = ChatGone()
    await square.ask()
    await square.deliver(9)
    assert square.board.at("@UA") == []


# ── too many ─────────────────────────────────────────────────────────────────────────────────


async def flood(square: Square, n: int = CARDS_AN_HOUR + 3) -> list[Task]:
    """So many cards at once."""
    tasks = [await square.ask(chat=None) for _ in range(n)]
    await square.digested()
    return tasks


def digest(board: Board, route: str = "C1") -> Digest:
    (found,) = [view for view in board.at(route) if isinstance(view, Digest)]
    return found


@pytest.mark.rule("I39")
async def test_no_more_cards_come_to_a_place_in_an_hour_and_a_digest_tells_of_the_rest(
    square: Square,
) -> None:
    tasks = await flood(square)
    assert open_cards(square.board, "C1") == [f"{t.code}.1" for t in tasks[:12]]
    told = digest(square.board)
    assert [(line.code, line.title, line.risk, line.how) for line in told.waiting] == [
        (f"{t.code}.1", "Sam wants to refund", "spend", f"show {t.code}.1") for t in tasks[12:]
    ]


@pytest.mark.rule("I39")
async def test_the_next_ones_join_the_same_digest(square: Square) -> None:
    await flood(square)
    await flood(square, 2)
    assert len(digest(square.board).waiting) == 5
    assert len(square.board.messages) == CARDS_AN_HOUR + 1


@pytest.mark.rule("I39")
async def test_edits_of_cards_that_are_there_are_never_folded(square: Square) -> None:
    tasks = await flood(square)
    await square.approve(tasks[0])
    await square.deliver()
    assert open_cards(square.board, "C1") == [f"{t.code}.1" for t in tasks[1:12]]
    assert len(digest(square.board).lines) == 3


@pytest.mark.rule("I39")
async def test_an_hour_later_cards_come_by_themselves_again(square: Square) -> None:
    await flood(square)
    square.clock.advance(HOUR + 1)
    (late,) = await flood(square, 1)
    assert open_cards(square.board, "C1")[-1] == f"{late.code}.1"


@pytest.mark.rule("I39")
async def test_the_digest_says_what_became_of_a_folded_card(square: Square) -> None:
    tasks = await flood(square)
    await square.approve(tasks[13])
    await square.digested()
    told = digest(square.board)
    assert [line.code for line in told.waiting] == ["t-13.1", "t-15.1"]
    assert told.lines[-1].code == "t-14.1"
    assert (told.lines[-1].status or "").startswith("✔ Approved by Ada")
    assert len(square.board.cards("C1")) == CARDS_AN_HOUR


@pytest.mark.rule("I39")
async def test_a_folded_card_that_is_asked_for_is_shown_beyond_the_hours_number(square: Square) -> None:
    tasks = await flood(square)
    assert await square.store.outbox.show((await square.view(tasks[14])).park.token)
    await square.digested()
    assert open_cards(square.board, "C1")[-1] == "t-15.1"
    assert [line.code for line in digest(square.board).lines] == ["t-13.1", "t-14.1"]
    await square.approve(tasks[14])
    await square.digested()
    assert "t-15.1" not in open_cards(square.board, "C1")


@pytest.mark.rule("I39")
async def test_a_folded_card_is_recalled_in_its_digest(square: Square) -> None:
    tasks = await flood(square)
    handed = square.board.handed
    await square.remind(tasks[0])
    await square.remind(tasks[14])
    await square.digested()
    reminders = [view for view in square.board.at("C1") if isinstance(view, Notice)]
    assert [view.text[:6] for view in reminders] == ["t-1.1 "]
    assert square.board.handed == handed + 2  # that, and the digest


@pytest.mark.rule("I39")
async def test_what_a_dead_digest_told_of_is_told_of_elsewhere(square: Square) -> None:
    square.cards_go_to(OPS)
    tasks = await flood(square)
    square.board.dead["C9"] = ChatGone("archived")
    await square.remind(tasks[14])
    await square.digested()
    assert open_cards(square.board, "C1") == ["t-13.1", "t-14.1", "t-15.1"]
    assert all(card.moved is not None for card in square.board.cards("C1"))


@pytest.mark.rule("I39")
async def test_reports_are_never_folded(square: Square) -> None:
    for task in await flood(square):
        await square.approve(task)
    await square.work()
    await square.deliver()
    assert sum(isinstance(view, Report) for view in square.board.at("C1")) == CARDS_AN_HOUR + 3


# ── who sends ────────────────────────────────────────────────────────────────────────────────


async def test_one_process_sends_and_another_takes_over_where_it_is_gone(square: Square) -> None:
    first, second = square.poster_of("p1"), square.poster_of("p2")
    await square.ask(chat=None)
    assert (await first.deliver(), await second.deliver()) == (1, 0)
    await square.ask(chat=None)
    assert await second.deliver() == 0
    square.clock.advance(SENDING_SECONDS + 1)
    assert (await second.deliver(), await first.deliver()) == (1, 0)


async def test_one_that_leaves_lets_another_send_at_once(square: Square) -> None:
    first, second = square.poster_of("p1"), square.poster_of("p2")
    await square.ask(chat=None)
    await first.deliver()
    await first.leave()
    await square.ask(chat=None)
    assert await second.deliver() == 1


async def test_one_that_goes_on_sending_keeps_others_from_it(square: Square) -> None:
    first, second = square.poster_of("p1"), square.poster_of("p2")
    for _ in range(6):
        square.clock.advance(SENDING_SECONDS / 2)
        await square.ask(chat=None)
        assert (await first.deliver(), await second.deliver()) == (1, 0)


# ── answers ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("K19", "K20")
async def test_a_click_that_comes_before_the_posts_own_answer_counts(square: Square) -> None:
    """Bad input 43: the button is pressed while the chat has not yet said what the message is called."""
    task = await square.ask(chat=None)
    board = square.board
    posts = board.post

    async def slow(view: View, route: str) -> str:
        name = await posts(view, route)
        token = (await square.view(task)).park.token
        await square.approve(task)
        await square.store.outbox.learn(token, "slack", name)
        return name

    board.post = slow  # type: ignore[method-assign]  # where a test may come between
    await square.poster.deliver(1)
    await square.deliver()
    assert list(board.messages) == ["m1"]
    assert open_cards(board, "C1") == []


@pytest.mark.rule("K39")
async def test_a_chat_that_asks_to_wait_is_left_alone_so_long(square: Square) -> None:
    square.board.dead["C1"] = ChatBusy(60)
    await square.ask(chat=None)
    await square.deliver()
    del square.board.dead["C1"]
    await square.deliver(59)
    assert square.board.messages == {}
    await square.deliver(2)
    assert open_cards(square.board, "C1") == ["t-1.1"]
