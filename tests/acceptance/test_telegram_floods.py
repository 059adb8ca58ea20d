"""Telegram's limits, held in rows: what goes where, how often, and who goes first, whoever sends."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from adapters.clock import SystemClock
from adapters.telegram.client import SURFACE
from adapters.telegram.surface import FILE_SECONDS
from core.rates import moment
from core.testing import Line, calls, says
from core.work import PostKind
from tests.acceptance.shop import REFUND_SCRIPT, REFUNDED, HandClock
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.conftest import Templates, migrated
from tests.contract.planted_sql import SqlPlanted
from tests.fakes.telegram import Call, Chat, Message, User, hangs, too_many
from tests.fakes.telegram.trouble import BURST, GROUP, OVERALL, POSTS
from tests.postgres import Server

on_both = pytest.mark.parametrize("office", ["sqlite", "postgres"], indirect=True)
SKIPPED = timedelta(milliseconds=20)
"""What is skipped beyond the time that is waited for, so that it is over."""


class Skipping(HandClock):
    """The machine's time and what was skipped of it: as far on as the database, whose rows are made older."""

    def __init__(self) -> None:
        self.skipped = timedelta()
        super().__init__()

    def now(self) -> datetime:
        return SystemClock().now() + self.skipped


@pytest.fixture(params=["sqlite"])
async def office(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres_server: Server,
    templates: Templates,
    caplog: pytest.LogCaptureFixture,
) -> AsyncIterator[TelegramOffice]:
    """The shop's people in a Telegram that refuses whoever writes too much; two processes send.

    Afterwards: nobody had to be refused but where a test said so, no run broke off, and the trail is whole.
    """
    async with AsyncExitStack() as closing:
        url = await closing.enter_async_context(migrated(request.param, tmp_path, postgres_server, templates))
        planted = SqlPlanted(url)
        closing.push_async_callback(planted.close)
        made = await closing.enter_async_context(telegram_office(planted))
        made.clock = made.telegram.clock = clock = Skipping()
        made.telegram.troubles.now = clock.now
        made.telegram.limits_posts()
        for _ in range(2):
            made.opens(list(REFUND_SCRIPT))
        yield made
        assert await made.is_whole()
    assert [r.getMessage() for r in caplog.get_records("call") if r.levelno >= logging.ERROR] == []


# ── what is done ─────────────────────────────────────────────────────────────────────────────


async def asked(
    office: TelegramOffice, chat: Chat | None = None, times: int = 1, by: User | None = None
) -> None:
    """So many refunds were asked for and wait for somebody; nothing of it is shown yet, and no progress."""
    for n in range(times):
        await office.asks(by or office.ada, f"Sam: refund mug {n}", chat)
    await office.last.worker.until_idle()
    await office.planted.update("posts", {"state": "sent"}, kind=PostKind.PROGRESS)


async def later(office: TelegramOffice, by: timedelta) -> None:
    """So much time has passed, for the database as for Telegram."""
    assert isinstance(office.clock, Skipping)
    office.clock.skipped += by
    for row in await office.planted.table("rates"):
        times = [at - round(by.total_seconds() * 1_000_000) for at in row["times"]]
        held = row["held_until"] and row["held_until"] - by
        await office.planted.update("rates", {"times": times, "held_until": held}, chat=row["chat"])
    for row in await office.planted.table("posts", state="due"):
        await office.planted.update("posts", {"due_at": row["due_at"] - by}, id=row["id"])


async def owed(office: TelegramOffice) -> list[datetime]:
    """When each post that is still to be sent is due."""
    assert isinstance(office.planted, SqlPlanted)
    rows = await office.planted.table("posts", state="due")
    return sorted(row["due_at"] for row in rows)


async def sent(office: TelegramOffice) -> None:
    """Both processes have sent what may go now."""
    await asyncio.gather(*(process.poster.deliver_all() for process in office.processes))


async def all_sent(office: TelegramOffice) -> None:
    """Nothing is left to send, however long that took."""
    await sent(office)
    while due := await owed(office):
        await later(office, max(timedelta(), due[0] - await now(office)) + SKIPPED)
        await sent(office)


async def now(office: TelegramOffice) -> datetime:
    assert isinstance(office.planted, SqlPlanted)
    return await office.planted.now()


async def went(office: TelegramOffice, chat: Chat | None, times: int, seconds_ago: float) -> None:
    """So much went to *chat* (None: anywhere) so many seconds ago."""
    at = moment(await now(office) - timedelta(seconds=seconds_ago))
    name = "" if chat is None else str(chat.id)
    await office.planted.insert("rates", surface=SURFACE, chat=name, times=[at] * times, held_until=None)


# ── what is to be seen ───────────────────────────────────────────────────────────────────────


def posted(office: TelegramOffice, chat: Chat | User | None = None) -> list[Call]:
    """What was written in *chat*, or anywhere."""
    return [c for c in office.telegram.calls if c.method in POSTS and chat in (None, _of(office, c))]


def _of(office: TelegramOffice, call: Call) -> Chat | User | None:
    chat = office.telegram.chats.get(call.chat_id or 0)
    return None if chat is None else chat.user or chat


def most(calls: Sequence[Call], seconds: float) -> int:
    """The most of *calls* in any so many seconds."""
    times = sorted(call.at for call in calls)
    span = timedelta(seconds=seconds)
    return max(sum(at <= other < at + span for other in times) for at in times)


def refused(office: TelegramOffice) -> list[Call]:
    return [call for call in office.telegram.calls if call.status == 429]


def cards(office: TelegramOffice, chat: Chat | User) -> list[Message]:
    return [message for message in office.telegram.said(chat) if "Approve" in str(message.labels)]


# ── how often ────────────────────────────────────────────────────────────────────────────────


@on_both
@pytest.mark.rule("I39")
async def test_a_group_gets_twenty_messages_a_minute_from_all_processes_and_in_the_end_all(
    office: TelegramOffice,
) -> None:
    for _ in range(GROUP - 3):  # each is answered at once, and that counts too
        await office.asks(office.eve, "/approve t-9.1", office.ops)
    await asked(office, office.ops, times=6)
    await all_sent(office)
    assert len(cards(office, office.ops)) == 6
    sent_there = posted(office, office.ops)
    assert len(sent_there) > GROUP  # in how many minutes, the machine says
    assert most(sent_there, 60) <= GROUP
    assert refused(office) == []


async def test_one_person_gets_about_a_message_a_second(office: TelegramOffice) -> None:
    await asked(office, office.ops, times=7, by=office.eve)  # who may not decide: an owner is asked
    await all_sent(office)
    assert len(cards(office, office.ada)) == 7
    assert (most(posted(office, office.ada), BURST), refused(office)) == (BURST, [])


async def test_what_goes_to_everybody_together_has_its_limit_too(office: TelegramOffice) -> None:
    others = [office.telegram.add_group(f"group {n}", office.ada) for n in range(2)]
    for group in others:
        await asked(office, group)
    await went(office, None, times=OVERALL, seconds_ago=-0.9)  # by a clock that is ahead: still for a while
    await sent(office)
    assert posted(office) == []
    await later(office, timedelta(seconds=2))
    await sent(office)
    assert [len(cards(office, group)) for group in others] == [1, 1]


async def test_what_is_edited_counts_as_what_is_written(office: TelegramOffice) -> None:
    await asked(office, office.ops)
    await sent(office)
    await went_on(office, office.ops, GROUP - 1)
    await office.telegram.presses(office.ada, office.card, "Approve")
    await sent(office)
    assert office.card.labels  # its end is owed
    await all_sent(office)
    assert "✔ Approved by U1" in office.telegram.said(office.ops)[0].text
    assert (most(posted(office, office.ops), 60) <= GROUP, refused(office)) == (True, [])


async def went_on(office: TelegramOffice, chat: Chat, times: int) -> None:
    """So much more has just gone to *chat*."""
    for _ in range(times):
        await office.store.rates.take(SURFACE, {str(chat.id): ()})


# ── what is long ─────────────────────────────────────────────────────────────────────────────

LONG: Final = "word " * 1_000
LONG_SCRIPT: Final[tuple[Line, ...]] = (
    calls(*(("send_note", {"to": f"n{n}@example.test", "text": f"{LONG}{n}"}) for n in range(3))),
    says("Sent."),
)


@dataclass
class Waiting(Skipping):
    """The same; a sender that sleeps here is asleep until so much has passed for the database, too."""

    office: TelegramOffice
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        Skipping.__init__(self)

    async def sleep(self, seconds: float) -> None:
        if seconds > FILE_SECONDS:  # no sender does
            await Skipping.sleep(self, seconds)
        self.waits.append(seconds)
        await later(self.office, timedelta(seconds=seconds) + SKIPPED)


async def long_cards(office: TelegramOffice, times: int = 1) -> Waiting:
    """So many cards of three long calls each wait in ada's private chat, sent by one process."""
    office.clock = office.telegram.clock = clock = Waiting(office)
    office.telegram.troubles.now = clock.now
    del office.processes[:]
    office.opens(list(LONG_SCRIPT) * times)
    await asked(office, times=times)
    return clock


def files(office: TelegramOffice) -> list[tuple[int | None, str]]:
    """Each file in ada's private chat: what it is a reply to, and what it says."""
    return [
        (None if m.reply_to is None else m.reply_to.id, m.file.content.decode())
        for m in office.telegram.said(office.ada)
        if m.file
    ]


async def test_what_a_card_of_several_has_no_room_for_is_one_file_under_it(office: TelegramOffice) -> None:
    await long_cards(office)
    await sent(office)
    (card,) = cards_of_long(office)
    ((answered, words),) = files(office)
    assert answered == card.id
    assert [words.count(f"{LONG}{n}") for n in range(3)] == [1, 1, 1]
    assert [f"t-1.{n} · " in words for n in (1, 2, 3)] == [True] * 3


async def test_each_of_several_long_cards_has_its_file_however_fast_they_come(office: TelegramOffice) -> None:
    await long_cards(office, times=4)
    await all_sent(office)
    long = [card.id for card in cards_of_long(office)]
    assert len(long) == 4
    assert [answered for answered, _ in files(office)] == long
    assert refused(office) == []


async def test_a_card_waits_until_its_file_may_follow_it(office: TelegramOffice) -> None:
    office.opens(list(LONG_SCRIPT))
    await asked(office, office.ops)
    await went(office, office.ops, times=GROUP - 1, seconds_ago=10)
    await sent(office)
    assert posted(office) == []
    await all_sent(office)
    assert [call.method for call in posted(office, office.ops)] == ["sendMessage", "sendDocument"]


async def test_a_file_waits_for_a_chat_that_telegram_holds_for_a_moment(office: TelegramOffice) -> None:
    clock = await long_cards(office)
    office.telegram.breaks("sendDocument", too_many(3))
    await sent(office)
    assert (len(files(office)), [round(wait) for wait in clock.waits]) == (1, [3])


async def test_a_file_that_would_wait_for_long_is_left_out_and_its_card_stands(
    office: TelegramOffice,
) -> None:
    clock = await long_cards(office)
    office.telegram.breaks("sendDocument", too_many(30))
    await sent(office)
    await later(office, timedelta(seconds=31))
    await all_sent(office)
    assert (len(cards_of_long(office)), files(office), clock.waits) == (1, [], [])


async def test_a_card_is_sent_once_where_the_database_is_away_before_its_file(office: TelegramOffice) -> None:
    await long_cards(office)
    office.telegram.breaks("sendMessage", hangs(done := asyncio.Event()), chat=office.ada)
    sending = asyncio.ensure_future(office.last.poster.deliver(1))
    await office.telegram.wait_for(lambda: posted(office, office.ada))
    assert isinstance(office.planted, SqlPlanted)
    await office.planted.run("ALTER TABLE rates RENAME TO rates_away")
    done.set()
    await sending
    await office.planted.run("ALTER TABLE rates_away RENAME TO rates")
    await all_sent(office)
    assert (len(cards_of_long(office)), files(office)) == (1, [])


def cards_of_long(office: TelegramOffice) -> list[Message]:
    return [m for m in office.telegram.said(office.ada) if "more characters" in m.text]


# ── who goes first ───────────────────────────────────────────────────────────────────────────


async def shows_progress(office: TelegramOffice) -> None:
    """How each task goes is due at once, as everything else."""
    due = {"state": "due", "due_at": await now(office)}
    await office.planted.update("posts", due, kind=PostKind.PROGRESS)


async def test_where_a_slot_opens_what_waits_for_somebody_goes_before_how_it_goes(
    office: TelegramOffice,
) -> None:
    await asked(office, office.ops, times=2)
    await went(office, office.ops, times=GROUP, seconds_ago=1)
    await shows_progress(office)
    await sent(office)
    assert posted(office) == []
    await all_sent(office)
    words = [message.text for message in office.telegram.said(office.ops)]
    assert ["waits for" in text for text in words] == [False, False, True, True]


async def test_what_goes_by_leaves_room_for_what_matters(office: TelegramOffice) -> None:
    await asked(office, office.ops)
    await went(office, office.ops, times=GROUP - 5, seconds_ago=10)
    await shows_progress(office)
    await sent(office)
    assert [message.labels != [] for message in office.telegram.said(office.ops)] == [True]
    assert [row["kind"] for row in await office.planted.table("posts", state="due")] == ["progress"]


async def test_who_presses_is_answered_and_it_counts_however_full_the_chat_is(office: TelegramOffice) -> None:
    await asked(office, office.ops)
    await sent(office)
    await went_on(office, office.ops, GROUP)
    pressed = await office.telegram.presses(office.ada, office.card, "Approve")
    assert pressed.text == "t-1.1 approved by U1. A worker runs it."
    await office.last.worker.until_idle()
    assert office.world.effects == [REFUNDED]
    await all_sent(office)
    assert cards(office, office.ops) == []


# ── where Telegram asks to wait ──────────────────────────────────────────────────────────────


@on_both
async def test_a_chat_that_telegram_holds_is_left_alone_by_every_process_and_no_other_chat_is(
    office: TelegramOffice,
) -> None:
    await asked(office, office.ops, times=3)
    await asked(office)
    office.telegram.breaks("sendMessage", too_many(40), chat=office.ops)
    for process in office.processes:  # what is under way at once would be there before anybody knows
        await process.poster.deliver_all()
    assert (len(posted(office, office.ops)), cards(office, office.ops)) == (1, [])
    assert len(cards(office, office.ada)) == 1
    await later(office, timedelta(seconds=35))
    await sent(office)
    assert len(posted(office, office.ops)) == 1
    await later(office, timedelta(seconds=6))
    await all_sent(office)
    assert len(cards(office, office.ops)) == 3


async def test_who_is_told_to_wait_for_long_sleeps_in_no_sender_and_tries_are_not_used_up(
    office: TelegramOffice,
) -> None:
    await asked(office, office.ops)
    office.telegram.breaks("sendMessage", too_many(86_400), chat=office.ops)
    await sent(office)  # who sleeps here sleeps for ever
    (due,) = await owed(office)
    assert timedelta(seconds=3_590) < due - await now(office) <= timedelta(hours=1)
    (row,) = await office.planted.table("posts", kind=PostKind.CARD)
    assert (row["attempts"], row["state"]) == (0, "due")
    await all_sent(office)
    assert len(cards(office, office.ops)) == 1


async def test_where_telegram_asks_to_wait_for_longer_than_a_chats_minute_no_chat_is_written_to(
    office: TelegramOffice,
) -> None:
    await asked(office, office.ops)
    office.telegram.breaks("sendMessage", too_many(90), chat=office.ops)
    await sent(office)
    await asked(office)
    await sent(office)
    assert (len(posted(office)), cards(office, office.ada)) == (1, [])
    await all_sent(office)
    assert [len(cards(office, chat)) for chat in (office.ops, office.ada)] == [1, 1]


async def test_nobody_is_answered_in_a_chat_that_telegram_holds(office: TelegramOffice) -> None:
    await office.store.rates.hold(SURFACE, str(office.ops.id), 60)
    await office.asks(office.zoe, "/pending", office.ops)
    assert posted(office, office.ops) == []
    await later(office, timedelta(seconds=61))
    await office.asks(office.zoe, "/pending", office.ops)
    assert Counter(call.method for call in posted(office, office.ops)) == {"sendMessage": 1}
