"""Questions, the repeat guard, and what an approver saw, on both databases."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from core.calls import Outcome
from core.decisions import Answering
from core.errors import AlreadyDecided, DecisionError, NotYourDecision, ToolFailed
from core.gate import Risk, Setting
from core.lookups import look_up
from core.moves.people import Decision
from core.parks import UNKNOWN_CHOICES, Choice, DecisionKind, ParkKind
from core.people import Person
from core.ports import ParkView
from core.repeats import REMINDER
from core.tasks import Json, MessageKind, Task, TaskState
from core.testing import calls, says
from core.tools import Tool, ToolContext, tool
from tests.acceptance.shop import (
    NOTE,
    REFUND,
    SURFACE,
    U1,
    U2,
    U9,
    Shop,
    Street,
    agent,
    results,
    settings,
    words,
)

READ = calls(("read_order", {"id": "A1"}))

# ── the same again (I25) ─────────────────────────────────────────────────────────────────────


@pytest.mark.rule("I25")
async def test_the_same_read_is_answered_with_a_reminder_and_the_third_time_ends_it(street: Street) -> None:
    shop = street.open([READ, READ, READ, says("A1 is all I know.")])
    task = await shop.ask()
    await shop.run()

    told = [results(request)[0][1] for request in shop.model.requests[1:]]
    assert [REMINDER in (text or "") for text in told] == [False, True, True]
    assert shop.model.requests[-1].tools == ()  # the closing round
    assert (await shop.task(task)).state is TaskState.WAITING
    view = await shop.view(task, None, kind=ParkKind.LIMIT)
    assert view.park.choices == (Choice.MORE_ROUNDS, Choice.STOP)


@pytest.mark.rule("I25")
async def test_a_message_in_between_makes_it_no_repetition(street: Street) -> None:
    shop = street.open([READ, says("Done."), READ, says("Done."), READ, says("Done.")])
    task = await shop.ask()
    await shop.run()
    for _ in range(2):
        await shop.say(task, "Look again.")
        await shop.run()
    assert all(REMINDER not in (text or "") for _, text in results(shop.model.requests[-1]))
    assert (await shop.task(task)).state is TaskState.DONE


# ── questions (C11) ──────────────────────────────────────────────────────────────────────────

ASK = calls(("ask_owner", {"question": "Which colour?", "suggestions": ["red", "blue"]}))
CURIOUS = agent(tools=("read_order", "ask_owner"))


async def asked(shop: Shop) -> tuple[Task, Json]:
    task = await shop.ask()
    await shop.run()
    return task, await shop.view(task, kind=ParkKind.QUESTION)


@pytest.mark.rule("C11", "T7")
async def test_the_owners_answer_is_the_result_of_the_question(street: Street) -> None:
    shop = street.open([ASK, says("Blue it is.")], sam=CURIOUS)
    task, view = await asked(shop)
    await shop.decide(view, Decision(kind=DecisionKind.ANSWER, reason="the blue one"))
    await shop.run()
    assert results(shop.model.requests[-1])[0][1] == "the blue one"
    assert (await shop.call(task)).outcome is Outcome.ANSWERED


@pytest.mark.rule("C11", "I15")
async def test_words_in_the_thread_answer_a_question_and_approve_nothing(street: Street) -> None:
    both = calls(("ask_owner", {"question": "Which colour?"}), ("refund", REFUND), text="Two things at once.")
    shop = street.open([both, says("Noted.")], sam=agent(tools=("refund", "ask_owner")))
    task = await shop.ask()
    await shop.run()
    await shop.say(task, "approve")
    await shop.run()
    first, second = await shop.call(task, 1), await shop.call(task, 2)
    assert (first.outcome, first.result) == (Outcome.ANSWERED, {"value": "approve"})
    assert (second.outcome, shop.effects) == (None, [])


@pytest.mark.rule("I14", "C11")
async def test_the_words_of_who_may_not_decide_answer_no_question(street: Street) -> None:
    shop = street.open([ASK, says("Blue it is.")], sam=CURIOUS)
    task, view = await asked(shop)
    await shop.say(task, "paint it black", by=U9)
    await shop.run()
    assert (await shop.call(task)).outcome is None
    await shop.decide(view, Decision(kind=DecisionKind.ANSWER, reason="the blue one"))
    await shop.run()
    assert results(shop.model.requests[-1])[0][1] == "the blue one"
    assert [turn.text for turn in shop.model.requests[-1].turns if turn.role == "user"][
        -1
    ] == "paint it black"


@pytest.mark.rule("C11")
@pytest.mark.parametrize("words", [None, "", "  "])
async def test_an_answer_has_words(street: Street, words: str | None) -> None:
    shop = street.open([ASK], sam=CURIOUS)
    _, view = await asked(shop)
    with pytest.raises(DecisionError, match="say the answer"):
        await shop.decide(view, Decision(kind=DecisionKind.ANSWER, reason=words))


@pytest.mark.rule("C11")
async def test_a_question_can_be_declined_and_not_approved(street: Street) -> None:
    shop = street.open([ASK, says("Then I leave it.")], sam=CURIOUS)
    task, view = await asked(shop)
    with pytest.raises(DecisionError):
        await shop.approve(view)
    await shop.decline(view, "guess")
    await shop.run()
    assert (await shop.call(task)).outcome is Outcome.DECLINED


# ── change it (C10) ──────────────────────────────────────────────────────────────────────────


@pytest.mark.rule("C10", "I1")
async def test_a_call_sent_back_is_not_run_and_what_comes_instead_is_asked_anew(street: Street) -> None:
    better = calls(("send_note", {"to": "x@example.test", "text": "sorry, and hi"}))
    shop = street.open([calls(("send_note", NOTE)), better, says("Sent.")])
    task = await shop.parked()
    first = await shop.view(task)

    await shop.decide(first, Decision(kind=DecisionKind.REVISE, reason="say sorry first"))
    await shop.run()

    assert "change it: say sorry first" in (results(shop.model.requests[1])[0][1] or "")
    assert ((await shop.call(task, 1)).outcome, shop.effects) == (Outcome.REVISED, [])
    with pytest.raises(AlreadyDecided, match="U1 sent it back"):
        await shop.approve(first)
    second = await shop.view(task, 2)
    assert second.park.token != first.park.token
    await shop.approve(second)
    await shop.run()
    assert shop.effects == [("send_note", "x@example.test", "sorry, and hi")]


# ── what the approver saw (precondition) ─────────────────────────────────────────────────────


class Till:
    """What is in the till: the refund's precondition."""

    def __init__(self) -> None:
        self.cash: Json = 100
        self.paid: list[Json] = []

    def tools(self) -> Mapping[str, Tool]:
        async def in_the_till() -> Json:
            if self.cash is None:
                raise ToolFailed("the till is locked")
            return {"cash": self.cash}

        @tool(risk="spend", precondition=in_the_till)
        async def pay(amount: int) -> str:
            """Pay from the till."""
            self.paid.append(amount)
            return "paid"

        return {"pay": pay}


PAY = [calls(("pay", {"amount": 5})), says("Paid."), says("Then not.")]


async def paying(street: Street) -> tuple[Shop, Till, Task]:
    till = Till()
    shop = street.open(PAY, sam=agent(tools=("pay",)))
    shop.host.tools = till.tools()
    return shop, till, await shop.parked()


@pytest.mark.rule("C15")
async def test_what_the_approver_saw_is_still_so_and_it_runs(street: Street) -> None:
    shop, till, task = await paying(street)
    view = await shop.view(task)
    assert view.park.shown["seen"] == {"cash": 100}
    await shop.approve(view)
    await shop.run()
    assert till.paid == [5]


@pytest.mark.rule("C15", "I4")
async def test_what_the_approver_saw_has_changed_and_it_asks_again_showing_the_difference(
    street: Street,
) -> None:
    shop, till, task = await paying(street)
    await shop.approve(await shop.view(task))
    till.cash = 3
    await shop.run()
    assert till.paid == []
    again = await shop.view(task)
    assert (again.park.version, again.park.shown["seen"]) == (2, {"cash": 3})
    assert again.park.shown["problem"] == 'it was {"cash":100}, and is {"cash":3} now'
    await shop.approve(again, who=U1)
    await shop.run()
    assert till.paid == [5]


@pytest.mark.rule("C15", "C14")
async def test_what_can_no_longer_be_looked_at_does_not_run(street: Street) -> None:
    shop, till, task = await paying(street)
    await shop.approve(await shop.view(task))
    till.cash = None
    await shop.run()
    assert (till.paid, (await shop.call(task)).outcome) == ([], Outcome.VOID)


@pytest.mark.rule("C15")
async def test_what_is_seen_when_it_is_gated_anew_is_asked_once(street: Street) -> None:
    till = Till()

    @tool(risk="read", taints=True)
    async def read_page() -> str:
        """Read a page."""
        return "Pay now."

    pay = replace(till.tools()["pay"], risk=Risk.ROUTINE)
    shop = street.open(
        [calls(("read_page", {}), ("pay", {"amount": 5})), says("Paid.")],
        tools=[read_page, pay],
        sam=agent(tools=("read_page", "pay")),
    )
    task = await shop.parked()
    view = await shop.view(task, 2)
    assert view.park.shown == {"seen": {"cash": 100}}
    await shop.approve(view)
    await shop.run()
    assert till.paid == [5]


# ── looked up at the destination (C22) ───────────────────────────────────────────────────────


class Mail:
    """A provider that may lose its answer, and can be asked afterwards what it has."""

    def __init__(self, *, accepts: bool, knows: bool | None = True) -> None:
        self.accepts, self.knows = accepts, knows
        self.sent: list[str] = []
        self.looked: list[str] = []

    def tools(self) -> Mapping[str, Tool]:
        async def is_there(context: ToolContext) -> bool | None:
            self.looked.append(context.call_id)
            return None if self.knows is None else context.call_id in self.sent

        @tool(risk="contact", reconcile=is_there)
        async def mail(to: str, context: ToolContext) -> None:
            """Send a mail."""
            if self.accepts:
                self.sent.append(context.call_id)
            raise ConnectionResetError("reset")

        return {"mail": mail}


async def mailed(street: Street, mail: Mail) -> tuple[Shop, Task]:
    script = [calls(("mail", {"to": "x@example.test"})), says("Noted.")]
    shop = street.open(script, sam=agent(tools=("mail",), settings=settings(mail=Setting.ALLOW)))
    shop.host.tools = mail.tools()
    task = await shop.ask()
    await shop.run()
    return shop, task


@pytest.mark.rule("C22", "I7", "I8")
@pytest.mark.parametrize(("accepts", "outcome"), [(True, Outcome.SUCCEEDED), (False, Outcome.UNKNOWN)])
async def test_an_unknown_is_looked_up_at_once_and_believed_only_where_it_went_out(
    street: Street, accepts: bool, outcome: Outcome
) -> None:
    """What is not there yet may still be on its way (K13, K15)."""
    mail = Mail(accepts=accepts)
    shop, task = await mailed(street, mail)
    call = await shop.call(task)
    assert (call.outcome, len(mail.sent), mail.looked) == (outcome, int(accepts), [call.id])
    assert [p.open for p in (await shop.story(task)).parks] == [not accepts]
    said = [text for text in words(shop.model.requests[-1]) if "A look at the destination says" in text]
    assert [text.endswith("it went out.") for text in said] == [True] * accepts


@pytest.mark.rule("C22", "C19")
async def test_what_nobody_can_tell_stays_unknown_and_asks_the_owner(street: Street) -> None:
    shop, task = await mailed(street, Mail(accepts=True, knows=None))
    assert (await shop.call(task)).outcome is Outcome.UNKNOWN
    await shop.choose(await shop.view(task, kind=ParkKind.UNKNOWN), Choice.WENT_OUT)
    assert (await shop.call(task)).outcome is Outcome.SUCCEEDED


# ── looked up when the owner says so (C22) ───────────────────────────────────────────────────


async def unknown(street: Street, *, accepts: bool = True) -> tuple[Shop, Mail, Task, ParkView]:
    """A mail of which even its provider knew nothing at first."""
    mail = Mail(accepts=accepts, knows=None)
    shop, task = await mailed(street, mail)
    view = await shop.view(task, kind=ParkKind.UNKNOWN)
    assert view.park.choices == (*UNKNOWN_CHOICES, Choice.LOOK_UP)
    mail.looked.clear()
    return shop, mail, task, view


def by(shop: Shop, who: Person = U1) -> Answering:
    return Answering(who=who, surface=SURFACE, event_id=shop.desk.ids.new())


@pytest.mark.rule("C22", "C21", "I7")
@pytest.mark.parametrize(
    ("accepts", "outcome", "said"),
    [(True, Outcome.SUCCEEDED, "it went out"), (False, Outcome.FAILED, "it did not go out")],
)
async def test_the_owner_has_it_looked_up_and_the_destination_settles_it(
    street: Street, accepts: bool, outcome: Outcome, said: str
) -> None:
    shop, mail, task, view = await unknown(street, accepts=accepts)
    mail.knows = True
    decided = await look_up(shop.desk, shop.clock, by(shop), view)
    assert decided is not None
    assert ((await shop.call(task)).outcome, len(mail.sent), len(mail.looked)) == (outcome, int(accepts), 1)
    notes = [m.body["text"] for m in (await shop.story(task)).messages if m.kind is MessageKind.NOTE]
    assert notes == [f"A look at the destination says of mail (call 1): {said}."]
    (status,) = await shop.card(task)
    assert status is not None and status.startswith("✔ Looked up by U1, ") and status.endswith(f" · {said}")


@pytest.mark.rule("C22", "I14")
async def test_only_a_parks_approvers_have_it_looked_up(street: Street) -> None:
    shop, mail, _, view = await unknown(street)
    await street.sql.change_park(view.park, approvers=[U2.id])
    view = await shop.find(view.park.token)
    with pytest.raises(NotYourDecision):
        await look_up(shop.desk, shop.clock, by(shop), view)
    assert mail.looked == []
    assert await look_up(shop.desk, shop.clock, by(shop, U2), view) is None
    assert len(mail.looked) == 1


@pytest.mark.rule("C22", "I7")
async def test_what_still_nobody_can_tell_stays_and_can_be_looked_up_again(street: Street) -> None:
    shop, mail, task, view = await unknown(street)
    before = await shop.story(task)
    assert await look_up(shop.desk, shop.clock, by(shop), view) is None
    assert await shop.story(task) == before
    mail.knows = True
    assert await look_up(shop.desk, shop.clock, by(shop), view) is not None
    assert len(mail.sent) == 1


@pytest.mark.rule("C22", "I1")
async def test_what_somebody_said_while_it_was_looked_up_stands(street: Street) -> None:
    shop, mail, task, view = await unknown(street)
    await shop.choose(view, Choice.DID_NOT)
    mail.knows = True
    with pytest.raises(AlreadyDecided, match="U1 said that it did not go out"):
        await look_up(shop.desk, shop.clock, by(shop), view)
    assert (await shop.call(task)).outcome is Outcome.FAILED
    with pytest.raises(AlreadyDecided):
        await look_up(shop.desk, shop.clock, by(shop), await shop.find(view.park.token))
    assert len(mail.looked) == 1  # once it is known to be decided, nobody looks


@pytest.mark.rule("C22", "I14")
async def test_who_may_not_decide_has_nothing_looked_up(street: Street) -> None:
    shop, mail, _, view = await unknown(street)
    with pytest.raises(NotYourDecision):
        await look_up(shop.desk, shop.clock, by(shop, U9), view)
    assert mail.looked == []


@pytest.mark.rule("C22")
async def test_a_look_up_has_to_find_something_and_its_tool_a_way(street: Street) -> None:
    shop, _, _, view = await unknown(street)
    with pytest.raises(DecisionError, match="it has to be looked up first"):
        await shop.choose(view, Choice.LOOK_UP)
    shop.host.tools = {"mail": replace(shop.host.tools["mail"], reconcile=None)}
    with pytest.raises(DecisionError, match="nobody but you can tell whether mail went out"):
        await look_up(shop.desk, shop.clock, by(shop), view)


@pytest.mark.rule("C22")
async def test_a_tool_that_cannot_look_offers_no_look(street: Street) -> None:
    shop = street.open([calls(("send_note", NOTE)), says("Noted.")])
    street.world.raises["send_note"] = ConnectionResetError("reset")
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()
    assert (await shop.view(task, kind=ParkKind.UNKNOWN)).park.choices == UNKNOWN_CHOICES
