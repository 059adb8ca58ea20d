"""The commands in Telegram: every one of the table, where it may be said and to whom it is answered."""

from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from adapters.telegram.heard.telling import ELSEWHERE
from core.agents import Limits
from core.commands import BY_NAME, COMMANDS
from core.parks import Choice, DecisionKind, ParkState
from core.ports import Query
from core.tasks import TaskState
from core.testing import Line, calls, says
from tests.acceptance.shop import NOTE_SCRIPT, ORG, REFUND_SCRIPT, REFUNDED, SAM, U2, Effect
from tests.acceptance.telegram_office import TelegramOffice, telegram_office
from tests.acceptance.test_connect import READ, Mailbox
from tests.contract.planted_memory import MemoryPlanted
from tests.fakes.telegram import Message, User

QUESTION = calls(("ask_owner", {"question": "Which one?"}))
POINTED = "Words decide nothing. Press a button on the card, or give the command /approve t-1.1."


@pytest.fixture
async def office() -> AsyncIterator[TelegramOffice]:
    async with telegram_office(MemoryPlanted()) as made:
        yield made
        assert await made.is_whole()


async def parked(office: TelegramOffice, *script: Line) -> Message:
    """Ada asked for something in the group, and its card is there."""
    office.opens(list(script or REFUND_SCRIPT), sam=replace(SAM, tools=(*SAM.tools, "ask_owner")))
    await office.asks(office.ada, "refund the mug", office.ops)
    await office.last.works()
    return office.card


async def types(office: TelegramOffice, user: User, line: str) -> list[str]:
    """What *line* is answered with, in private."""
    before = len(office.told(user))
    await office.asks(user, line)
    return office.told(user)[before:]


async def states(office: TelegramOffice) -> list[ParkState]:
    return [park.state for park in (await office.story()).parks]


# ── what is decided ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C6", "C7", "C8", "C9", "C10")
@pytest.mark.parametrize(
    ("line", "answer", "kind", "effects"),
    [
        ("/approve t-1.1", "t-1.1 approved by U2. A worker runs it.", DecisionKind.APPROVE, [REFUNDED]),
        ("/APPROVE@GatePost_Bot T-1.1", "t-1.1 approved by U2.", DecisionKind.APPROVE, [REFUNDED]),
        (
            "/edit t-1.1 amount=12.50",
            "t-1.1 approved",
            DecisionKind.EDIT,
            [("refund", "A1", Decimal("12.5"))],
        ),
        ('/edit t-1.1 order_id="A 7"', "t-1.1 approved", DecisionKind.EDIT, [("refund", "A 7", Decimal(10))]),
        ("/edit t-1.1 order_id=“A 7”", "t-1.1 approved", DecisionKind.EDIT, [("refund", "A 7", Decimal(10))]),
        ("/decline t-1.1", "t-1.1 declined by U2.", DecisionKind.DECLINE, []),
        ("/decline t-1.1 not this\none", "t-1.1 declined by U2: not this", DecisionKind.DECLINE, []),
        ("/revise t-1.1 half of it — please", "t-1.1", DecisionKind.REVISE, []),
    ],
)
async def test_a_command_decides_as_its_button_does(
    office: TelegramOffice, line: str, answer: str, kind: DecisionKind, effects: list[Effect]
) -> None:
    card = await parked(office)
    (words,) = await types(office, office.ben, line)
    assert words.startswith(answer)
    await office.last.works()
    (park,) = [p for p in (await office.story()).parks if p.decision is not None]
    assert (park.decision, park.by_person) == (kind, U2.id)
    assert (office.world.effects, card.labels) == (effects, [])
    assert "by U2" in card.text


@pytest.mark.rule("C9", "T11")
@pytest.mark.parametrize("flag", ["--stop", "—stop"])
async def test_a_decline_may_stop_the_task_with_it(office: TelegramOffice, flag: str) -> None:
    await parked(office)
    (words,) = await types(office, office.ben, f"/decline t-1.1 too much {flag}")
    assert words == "t-1.1 declined by U2: too much. t-1 is stopped."
    assert (await office.task()).state is TaskState.STOPPED


@pytest.mark.rule("C11")
async def test_a_question_is_answered_by_a_command(office: TelegramOffice) -> None:
    await parked(office, QUESTION, says("Blue it is."))
    (words,) = await types(office, office.ada, "/answer t-1.1 the blue one")
    assert words.startswith("t-1.1 answered by U1")
    await office.last.works()
    assert [call.result for call in (await office.story()).calls] == [{"value": "the blue one"}]


@pytest.mark.rule("C12")
async def test_an_account_is_said_to_be_connected_by_a_command(office: TelegramOffice) -> None:
    mailbox = Mailbox()
    tools = tuple(mailbox.tools().values())
    office.opens(
        [calls(READ), calls(READ), says("Read.")], sam=replace(SAM, tools=("read_mail",)), tools=tools
    )
    await office.asks(office.ada, "read my mail", office.ops)
    await office.last.works()
    mailbox.connected = True
    assert await types(office, office.ada, "/connected t-1.1") == [
        "t-1.1 connected by U1. The agent may make the call again."
    ]
    await office.last.works()
    assert mailbox.done == ["read"]


@pytest.mark.rule("C6")
async def test_a_task_at_its_limit_is_settled_by_a_command(office: TelegramOffice) -> None:
    look = calls(("read_order", {"id": "A1"}))
    office.opens([look, says("So far."), look, says("Read.")], sam=replace(SAM, limits=Limits(rounds=1)))
    await office.asks(office.ada, "read A1", office.ops)
    await office.last.works()
    assert await types(office, office.ada, "/settle t-1 more-rounds") == [
        "t-1 given more rounds by U1. The task goes on."
    ]
    assert [p.choice for p in (await office.story()).parks] == [Choice.MORE_ROUNDS]


# ── everything else ──────────────────────────────────────────────────────────────────────────

LINES = [
    ("eve", "/show t-1", "t-1 waiting, Sam: refund the mug\n\nCall   Tool    Outcome\nt-1.1  refund  parked"),
    ("eve", "/show it", "It is no code; those are like t-12, or t-12.3 for a call. Like this: show t-12."),
    ("eve", "/tasks", "refund the mug"),
    ("eve", "/tasks 5", "refund the mug"),
    ("eve", "/agents", "sam"),
    ("eve", "/rules", "Owners and approvers may approve whatever no rule says otherwise of."),
    ("eve", "/budget", "Agent"),
    ("eve", "/new look around", "t-2 opened for Sam: look around"),
    ("eve", "/run SAM look around", "t-3 opened for Sam: look around"),
    ("eve", "/run max look around", "There is no agent max; there are sam."),
    ("eve", "/stop t-1", "t-1 is not yours to stop."),
    ("ada", "/pause", "Shop is paused: nothing new starts."),
    ("ada", "/resume", "Shop works again, and goes on with what was held."),
    ("ada", "/pause sam", "Sam is paused: nothing new starts."),
    ("ada", "/resume Sam", "Sam works again, and goes on with what was held."),
    ("ada", "/practice sam", "Sam practises: reads run, everything else is recorded."),
    ("ada", "/practice sam off", "Sam acts again."),
    ("ben", "/pause", "Only an owner may pause."),
    ("ben", "/audit t-1", "t-1 · U1 · open"),
    ("ben", "/audit", "t-1"),
    ("eve", "/audit", "Only an owner or approver may audit."),
    ("eve", "/approve t-1.1", "Only an owner or approver may approve."),
    ("ada", "/approve t-1", "t-1 is no call's code; those are like t-12.3. Like this: approve t-12.3."),
    ("ada", "/approve t-1.7", "Nothing waits under t-1.7."),
    ("ada", "/edit t-1.1 amount=ten", "amount: "),
    ("ada", '/edit t-1.1 order_id="A', 'Write order_id="A as field=value, with quotes around blanks.'),
    ("ada", "/answer t-1.1 yes", "An approval can't be decided with answer."),
    ("ada", "/connected t-1.1", "An approval can't be decided with connected."),
    ("ada", "/settle t-1.1 maybe", "Maybe is none of went-out, did-not,"),
    ("ada", "/join ABCD", "This code is wrong, was used, or has run out. You are known here as U1."),
    ("ada", "/help", "pending"),
    ("ada", "/help approve", "approve CALL\nApprove a call as its card shows it.\nLike this: approve t-12.3"),
    ("ada", "/start", "pending"),
    ("ada", "/settings", "pending"),
    ("ada", "/cancel", "There is nothing to cancel."),
    ("ada", "/aprove t-1.1", "There is no command aprove (did you mean approve?); /help lists them."),
    ("ada", "/approve@other_bot t-1.1", None),
    ("ada", "/stop t-1", "t-1 is stopped."),
]
"""Who types what, in this order, and what is in the answer; None: there is none."""


async def test_every_command_is_answered_to_who_typed_it_alone(office: TelegramOffice) -> None:
    await parked(office)
    for who, line, answer in LINES:
        said = "\n".join(await types(office, getattr(office, who), line))
        assert said == "" if answer is None else answer in said, line
    assert len(office.told(office.ops)) == 1
    assert await states(office) == [ParkState.WITHDRAWN]


def test_every_command_of_the_table_was_typed() -> None:
    typed = {line.removeprefix("/").split()[0].partition("@")[0].casefold() for _, line, _ in LINES}
    decided = {"pending", "edit", "decline", "revise", "approve", "answer", "settle", "connected"}
    assert len(COMMANDS) > 20
    assert set(BY_NAME) - typed - decided == set()


@pytest.mark.rule("K20")
@pytest.mark.parametrize(("line", "n"), [("/pending", 0), ("/show t-1.1", 0), ("/show t-1.1", 1)])
async def test_a_card_that_was_asked_for_and_the_first_one_end_together_whichever_is_decided_on(
    office: TelegramOffice, line: str, n: int
) -> None:
    first = await parked(office)
    assert await types(office, office.ben, line) == [office.told(office.ops)[0]]
    (shown,) = office.telegram.said(office.ben)
    assert shown.labels == first.labels
    await office.telegram.presses(office.ben, (first, shown)[n], "Approve")
    await office.last.works()
    assert (office.world.effects, shown.labels, first.labels) == ([REFUNDED], [], [])
    assert "✔ Approved by U2" in shown.text and "✔ Approved by U2" in first.text
    assert await types(office, office.ben, "/pending") == ["Nothing waits."]


async def test_what_is_resumed_goes_on(office: TelegramOffice) -> None:
    office.opens([says("Done.")])
    await types(office, office.ada, "/pause")
    await office.asks(office.ada, "hello")
    await office.last.works()
    assert (await office.task()).state is TaskState.HELD
    assert await types(office, office.ada, "/resume") == ["Shop works again, and goes on with what was held."]
    await office.last.works()
    assert (await office.task()).state is TaskState.DONE


@pytest.mark.parametrize("where", ["in private", "in a group", "as a reply"])
async def test_stop_alone_stops_the_task_of_the_chat(office: TelegramOffice, where: str) -> None:
    office.opens(list(REFUND_SCRIPT))
    chat = None if where == "in private" else office.ops
    await office.asks(office.ada, "refund the mug", chat)
    await office.last.works()
    answered = office.card if where == "as a reply" else None
    await office.telegram.says(office.ada, chat or office.ada, "/stop", reply_to=answered)
    await office.last.works()
    assert office.told(chat or office.ada)[1] == "t-1 stops."
    assert (await office.task()).state is TaskState.STOPPED


# ── in a group ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "line", ["/approve t-1.1", "/approve@gatepost_bot t-1.1", "/Approve@GATEPOST_BOT t-1.1"]
)
async def test_a_decision_in_a_group_is_answered_there_as_a_reply(office: TelegramOffice, line: str) -> None:
    await parked(office)
    said = await office.telegram.says(office.ben, office.ops, line)
    answer = office.telegram.said(office.ops)[-1]
    assert answer.text == "t-1.1 approved by U2. A worker runs it."
    assert answer.reply_to is said.message


@pytest.mark.rule("I18")
@pytest.mark.parametrize(
    "line", ["/pending", "/show t-1.1", "/show t-1", "/tasks", "/audit", "/agents", "/help"]
)
async def test_what_others_there_may_not_know_is_answered_in_private(
    office: TelegramOffice, line: str
) -> None:
    await parked(office)
    await office.telegram.says(office.ben, office.ops, line)
    assert office.told(office.ops)[1:] == [ELSEWHERE]
    assert len(office.told(office.ben)) == 1


@pytest.mark.parametrize("line", ["/foo", "/approve@other_bot t-1.1", "/foo@other_bot", "/stop@other_bot"])
async def test_another_bots_command_in_a_group_is_ignored(office: TelegramOffice, line: str) -> None:
    card = await parked(office)
    office.telegram.privacy = False
    before = await office.planted.count("inbox")
    await office.telegram.says(office.ada, office.ops, line)
    if "@" in line:
        await office.telegram.replies(office.ada, card, line)
    assert len(office.told(office.ops)) == 1
    assert (await states(office), await office.planted.count("inbox") - before) == ([ParkState.OPEN], 0)
    assert card.labels


async def test_a_command_of_ours_that_there_is_not_is_answered_with_the_nearest(
    office: TelegramOffice,
) -> None:
    card = await parked(office)
    await office.telegram.says(office.ada, office.ops, "/aprove@gatepost_bot t-1.1")
    await office.telegram.replies(office.ada, card, "/aprove t-1.1")
    near = "There is no command aprove (did you mean approve?); /help lists them."
    assert office.told(office.ops)[1:] == [near, near]


@pytest.mark.rule("I15")
@pytest.mark.parametrize(
    "words", ["approve", "approve t-1.1", "Yes!", "decline t-1.1", "edit t-1.1 amount=1", "ok"]
)
async def test_bare_words_decide_nothing_and_are_pointed_at_what_does(
    office: TelegramOffice, words: str
) -> None:
    card = await parked(office)
    await office.telegram.replies(office.ada, card, words)
    assert office.told(office.ops)[1:] == [POINTED]
    assert await states(office) == [ParkState.OPEN]


@pytest.mark.rule("C6")
async def test_a_command_is_the_second_where_a_button_was_the_first(office: TelegramOffice) -> None:
    card = await parked(office)
    await office.telegram.presses(office.ada, card, "Approve")
    (words,) = await types(office, office.ben, "/decline t-1.1")
    assert words.startswith("U1 approved it at ")


async def test_a_command_may_stand_under_a_picture(office: TelegramOffice) -> None:
    await parked(office, *NOTE_SCRIPT)
    await office.telegram.says(office.ada, office.ada, "/approve t-1.1", photo=b"a picture")
    assert await states(office) == [ParkState.DECIDED]


# ── what is offered ──────────────────────────────────────────────────────────────────────────


async def test_in_private_every_command_is_offered_in_groups_those_that_others_may_see(
    office: TelegramOffice,
) -> None:
    offered = {
        scope: [command["command"] for command in commands]
        for scope, commands in office.telegram.commands.items()
    }
    everything = [*BY_NAME, "cancel"]
    few = [name for name in everything if name in offered["all_group_chats"]]
    assert offered == {"default": few[:-1], "all_group_chats": few, "all_private_chats": everything}
    assert {"approve", "decline", "pending", "stop", "help", "cancel"} < set(few) < set(everything)
    assert not {"pause", "audit", "join", "budget"} & set(few)
    assert len(everything) <= 100


async def test_what_is_offered_is_what_is_understood(office: TelegramOffice) -> None:
    await parked(office)
    offered = {command["command"] for commands in office.telegram.commands.values() for command in commands}
    for name in sorted(offered):
        said = await types(office, office.ada, f"/{name}")
        assert "There is no command" not in "\n".join(said), name
    assert len(await office.store.ledger.find(ORG, Query())) == 1
