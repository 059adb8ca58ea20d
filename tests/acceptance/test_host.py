"""What an app's host is asked and told, and that one that breaks harms no task, on both databases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from core.agents import Agent
from core.calls import Call, Outcome
from core.errors import NeedsConnect, ToolFailed
from core.gate import Setting
from core.host import BaseHost
from core.ids import OrgId
from core.parks import ParkKind
from core.ports import Model, ParkView
from core.tasks import Json, Task, TaskState
from core.testing import Line, ScriptedModel, calls, says
from core.tools import Tool, tool
from core.work import Reached
from tests.acceptance.shop import (
    NOTE,
    NOTE_SCRIPT,
    NOTED,
    PAST,
    REFUND,
    REFUND_SCRIPT,
    REFUNDED,
    Shop,
    ShopHost,
    Street,
    agent,
    results,
    settings,
)

READ = calls(("read_order", {"id": "A1"}))
ALLOWED = settings(contact=Setting.ALLOW, spend=Setting.ALLOW)
SECRET = "hunter2"


@dataclass
class Told:
    """What a host was told, in order."""

    parked: list[tuple[str, str | None]] = field(default_factory=list)
    doing: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    ran: list[tuple[str, Outcome, Json]] = field(default_factory=list)


class Watching(ShopHost):
    """A host that keeps what it is told."""

    def keep(self) -> Told:
        self.told = Told()
        return self.told

    async def notify_parked(self, task: Task, parks: Sequence[ParkView], reason: str | None = None) -> None:
        self.told.parked += [(str(v.park.kind), None if v.call is None else v.call.tool) for v in parks]

    async def mark(self, task: Task, doing: str) -> None:
        self.told.doing.append(doing)

    def thought(self, task: Task, text: str) -> None:  # type: ignore[override]  # a plain function will do
        self.told.thoughts.append(text)

    async def after_tool(self, task: Task, call: Call, outcome: Outcome, result: Json) -> None:
        self.told.ran.append((call.tool, outcome, result))


def opened(street: Street, script: Sequence[Line], host: type[ShopHost], **over: Any) -> Shop:
    """A shop whose host is of this class."""
    shop = street.open(script if isinstance(script, ScriptedModel) else ScriptedModel(script), **over)
    shop.host.__class__ = host
    return shop


async def done(shop: Shop) -> Task:
    task = await shop.ask()
    await shop.run()
    return await shop.task(task)


# ── the time ─────────────────────────────────────────────────────────────────────────────────


class Dated(ShopHost):
    clock = BaseHost.clock


def first_words(shop: Shop) -> list[str | None]:
    return [request.turns[1].text for request in shop.model.requests]


async def test_the_time_rides_on_the_first_message_and_the_system_prompt_stays_the_same(
    street: Street,
) -> None:
    shop = opened(street, [READ, says("Open.")], Dated)
    await street.sql.change_organization(time_zone="Europe/Riga")
    await done(shop)
    said = "See to it.\n\n[note] It is Monday, 05 January 2026, 11:00 (Europe/Riga)."
    assert first_words(shop) == [said, said]
    assert {r.turns[0].text for r in shop.model.requests} == {"You are Sam, who looks after orders."}


async def test_within_a_run_the_time_is_read_again_after_a_quarter_of_an_hour(street: Street) -> None:
    @tool(risk="read", timeout=None)
    async def wait(minutes: int) -> str:
        """Wait."""
        shop.clock.advance(60 * minutes)
        return "waited"

    waits = agent(tools=("wait",))
    shop = opened(
        street, [calls(("wait", {"minutes": 14})), calls(("wait", {"minutes": 1})), says("So.")], Dated,
        sam=waits, tools=(wait,),
    )  # fmt: skip
    await done(shop)
    assert [(text or "").split(", ")[2][:5] for text in first_words(shop)] == ["09:00", "09:00", "09:15"]


async def test_the_hosts_time_zone_comes_before_the_organizations(street: Street) -> None:
    class Berlin(Dated):
        def context(self, org: OrgId) -> Mapping[str, str]:  # type: ignore[override]
            return {"time_zone": "Europe/Berlin"}

    shop = opened(street, [says("So.")], Berlin)
    await done(shop)
    assert first_words(shop) == ["See to it.\n\n[note] It is Monday, 05 January 2026, 10:00 (Europe/Berlin)."]


class NoClock(Dated):
    async def clock(self, task: Task, at: datetime) -> str:
        raise ValueError(SECRET)


class NoZone(Dated):
    async def context(self, org: OrgId) -> Mapping[str, str]:
        raise ValueError(SECRET)


class StrangeZone(Dated):
    async def context(self, org: OrgId) -> Mapping[str, str]:
        return {"time_zone": "../../etc/passwd"}


class NumberZone(Dated):
    async def context(self, org: OrgId) -> Mapping[str, str]:
        return {"time_zone": 7}  # type: ignore[dict-item]


class NoFacts(Dated):
    async def context(self, org: OrgId) -> Mapping[str, str]:
        return None  # type: ignore[return-value]


class NumberClock(Dated):
    async def clock(self, task: Task, at: datetime) -> str:
        return 9  # type: ignore[return-value]


@pytest.mark.rule("I38")
@pytest.mark.parametrize("host", [NoClock, NoZone, StrangeZone, NumberZone, NoFacts, NumberClock])
async def test_a_clock_that_breaks_is_read_as_usual(street: Street, host: type[ShopHost]) -> None:
    shop = opened(street, [says("So.")], host)
    assert (await done(shop)).state is TaskState.DONE
    assert first_words(shop) == ["See to it.\n\n[note] It is Monday, 05 January 2026, 09:00 (UTC)."]


# ── answers that are needed ──────────────────────────────────────────────────────────────────


class NoModel(ShopHost):
    async def model_for(self, task: Task, agent: Agent) -> Model | None:
        raise ConnectionError(SECRET)


class NoPrompt(ShopHost):
    async def system_prompt(self, task: Task, agent: Agent) -> str:
        raise ToolFailed(SECRET)


class NoBudget(ShopHost):
    async def token_budget(self, task: Task, agent: Agent) -> int | None:
        raise NeedsConnect("bank")


class NoAnswer(ShopHost):
    async def refuse_run(self, task: Task, agent: Agent) -> str | None:
        raise RuntimeError(SECRET)


class NamedModel(ShopHost):
    async def model_for(self, task: Task, agent: Agent) -> Model | None:
        return "gpt"  # type: ignore[return-value]


class NonePrompt(ShopHost):
    async def system_prompt(self, task: Task, agent: Agent) -> str:
        return None  # type: ignore[return-value]


class WordBudget(ShopHost):
    async def token_budget(self, task: Task, agent: Agent) -> int | None:
        return "100"  # type: ignore[return-value]


class FalseAnswer(ShopHost):
    async def refuse_run(self, task: Task, agent: Agent) -> str | None:
        return False  # type: ignore[return-value]


BROKEN = [NoModel, NoPrompt, NoBudget, NoAnswer]
STRANGE = [NamedModel, NonePrompt, WordBudget, FalseAnswer]


@pytest.mark.rule("I38", "T8")
@pytest.mark.parametrize("broken", [*BROKEN, *STRANGE])
async def test_a_host_that_does_not_answer_delays_the_task_and_says_so_once(
    street: Street, broken: type[ShopHost]
) -> None:
    shop = opened(street, [says("Done.")], broken)
    task = await shop.ask()
    sent = []
    for _ in range(2):
        await shop.run()
        assert (await shop.task(task)).state is TaskState.DELAYED
        sent += await shop.send()
        await street.sql.change_task(task, not_before=PAST)
    assert [post.body for post in sent] == [
        {"text": "The app behind me is not answering; I go on as soon as it does."}
    ]
    assert shop.model.requests == []

    shop.host.__class__ = ShopHost
    await shop.run()
    assert (await shop.task(task)).state is TaskState.DONE


@pytest.mark.rule("I38", "I3")
async def test_while_the_host_does_not_answer_open_calls_still_get_their_results(street: Street) -> None:
    class Breaks(ShopHost):
        async def refuse_run(self, task: Task, agent: Agent) -> str | None:
            if task.round:
                raise RuntimeError(SECRET)
            return None

    shop = opened(street, [READ, says("Open.")], Breaks)
    task = await done(shop)
    assert ((await shop.call(task)).outcome, task.state) == (Outcome.SUCCEEDED, TaskState.DELAYED)
    assert len(shop.model.requests) == 1


async def test_a_hosts_refusal_ends_the_task_with_its_words(street: Street) -> None:
    class NoCredit(ShopHost):
        def refuse_run(self, task: Task, agent: Agent) -> str | None:  # type: ignore[override]
            return "There is no credit left."

    shop = opened(street, [says("Done.")], NoCredit)
    task = await done(shop)
    assert (task.state, task.result) == (TaskState.FAILED, {"error": "There is no credit left."})


UNSTORABLE = {"half": "no \ud800", "nul": "no \0", "long": "x" * 3_000_000, "empty": ""}
STORED = {"half": "no \\ud800", "nul": "no \\x00", "long": f"{'x' * 499}…", "empty": "the app says no"}


@pytest.mark.rule("I38")
@pytest.mark.parametrize("case", UNSTORABLE)
async def test_a_hosts_refusal_is_cut_and_made_storable(street: Street, case: str) -> None:
    class Odd(ShopHost):
        async def refuse_run(self, task: Task, agent: Agent) -> str | None:
            return UNSTORABLE[case]

    task = await done(opened(street, [says("Done.")], Odd))
    assert (task.state, task.result) == (TaskState.FAILED, {"error": STORED[case]})


@pytest.mark.rule("I23")
async def test_the_hosts_budget_stops_an_agent_whose_folder_names_none(street: Street) -> None:
    class Poor(ShopHost):
        async def token_budget(self, task: Task, agent: Agent) -> int | None:
            return 100

    shop = opened(street, [READ, says("never said")], Poor)
    task = await shop.parked()
    view = await shop.view(task, kind=ParkKind.LIMIT)
    assert (view.park.shown["limit"], len(shop.model.requests)) == ("budget", 1)


# ── around a tool ────────────────────────────────────────────────────────────────────────────


class Careful(ShopHost):
    error: Exception = ToolFailed("not on a Sunday")

    async def before_tool(self, task: Task, call: Call) -> None:
        raise self.error


class Clumsy(Careful):
    error = KeyError(SECRET)


@pytest.mark.rule("I38", "I2")
@pytest.mark.parametrize(
    ("host", "words"), [(Careful, "not on a Sunday"), (Clumsy, "the app could not prepare it")]
)
@pytest.mark.parametrize("asked", [READ, calls(("send_note", NOTE))], ids=["read", "effect"])
async def test_a_host_may_keep_a_call_from_running_and_one_that_breaks_does(
    street: Street, host: type[ShopHost], words: str, asked: Line
) -> None:
    shop = opened(street, [asked, says("Then not.")], host, sam=agent(settings=ALLOWED))
    task = await done(shop)
    call = await shop.call(task)
    assert (task.state, call.outcome, call.marked_at) == (TaskState.DONE, Outcome.FAILED, None)
    assert results(shop.model.requests[1])[0][1] == f"Error: {words}"
    assert shop.effects == []


@pytest.mark.rule("I38")
@pytest.mark.parametrize("case", UNSTORABLE)
async def test_the_words_that_keep_a_call_from_running_are_cut_and_made_storable(
    street: Street, case: str
) -> None:
    class Odd(ShopHost):
        async def before_tool(self, task: Task, call: Call) -> None:
            raise Odder

    class Odder(ToolFailed):
        def __init__(self) -> None:
            super().__init__("")

        def __str__(self) -> str:
            return UNSTORABLE[case]

    shop = opened(street, [*NOTE_SCRIPT], Odd, sam=agent(settings=ALLOWED))
    call = await shop.call(await done(shop))
    assert (call.outcome, call.result, shop.effects) == (Outcome.FAILED, {"error": STORED[case]}, [])


@pytest.mark.rule("I30", "I38")
async def test_an_approved_call_that_the_host_forbids_is_void(street: Street) -> None:
    shop = opened(street, [*REFUND_SCRIPT], Careful)
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()
    assert ((await shop.call(task)).outcome, shop.effects) == (Outcome.VOID, [])


class NoKey(ShopHost):
    def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
        raise KeyError(SECRET)


class NoReach(ShopHost):
    def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
        raise KeyError(SECRET)


class TextReach(ShopHost):
    def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
        return "x@example.test"  # type: ignore[return-value]


class NulReach(ShopHost):
    def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
        return Reached(surface="mail", address="x\0@example.test")


class NoneReach(ShopHost):
    def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
        return Reached(surface="mail", address=None)  # type: ignore[arg-type]


@pytest.mark.rule("I38", "I6")
@pytest.mark.parametrize("host", [NoKey, NoReach, TextReach, NulReach, NoneReach])
async def test_an_effect_whose_key_the_host_cannot_say_does_not_go_out(
    street: Street, host: type[ShopHost]
) -> None:
    shop = opened(street, [*NOTE_SCRIPT], host, sam=agent(settings=ALLOWED))
    task = await done(shop)
    assert ((await shop.call(task)).outcome, shop.effects) == (Outcome.FAILED, [])
    assert results(shop.model.requests[1])[0][1] == "Error: the app did not say whom it goes to"


@pytest.mark.rule("I38", "I6")
@pytest.mark.parametrize(
    ("said", "kept"), [(7, "7"), (0, "0"), ("", None), (None, None), ("a\0\ud800", "a\\u0000\\ud800")]
)
async def test_a_key_that_is_no_text_is_taken_as_it_reads(
    street: Street, said: Json, kept: str | None
) -> None:
    class Numbered(ShopHost):
        def sent_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> str | None:
            return said  # type: ignore[no-any-return]

    shop = opened(street, [*NOTE_SCRIPT], Numbered, sam=agent(settings=ALLOWED))
    task = await done(shop)
    assert ((await shop.call(task)).sent_key, shop.effects) == (kept, [NOTED])


async def test_whom_an_effect_reaches_is_kept_with_its_call(street: Street) -> None:
    class Reaching(ShopHost):
        def reach_key(self, task: Task, tool: Tool, args: Mapping[str, Json]) -> Reached | None:
            return Reached(surface="mail", address=args["to"])

    shop = opened(street, [*NOTE_SCRIPT], Reaching, sam=agent(settings=ALLOWED))
    task = await done(shop)
    call = await shop.call(task)
    [row] = await street.sql.table("reach_keys")
    assert (row["address"], row["task_id"], row["call_id"]) == ("x@example.test", task.id, call.id)
    assert call.marked_at is not None
    assert row["until"] == call.marked_at + timedelta(days=14)
    assert shop.effects == [NOTED]


# ── news ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_host_is_told_what_is_done_thought_and_come_out(street: Street) -> None:
    asked = calls(("read_order", {"id": "A1"}), ("send_note", NOTE), text="I look, then I write.")
    shop = opened(street, [asked, says("Both done.")], Watching, sam=agent(settings=ALLOWED))
    assert isinstance(shop.host, Watching)
    told = shop.host.keep()
    assert (await done(shop)).state is TaskState.DONE
    assert told.doing == ["Sam thinks…", "Sam runs read_order…", "Sam runs send_note…", "Sam thinks…"]
    assert told.thoughts == ["I look, then I write."]
    assert told.ran == [
        ("read_order", Outcome.SUCCEEDED, {"value": "Order A1: 30.00 EUR."}),
        ("send_note", Outcome.SUCCEEDED, {"value": "Sent."}),
    ]


async def test_a_host_is_told_of_each_park_that_waits_for_a_person(street: Street) -> None:
    @tool(risk="contact", check=lambda to: (_ for _ in ()).throw(NeedsConnect("mail")))
    async def send_mail(to: str) -> str:
        """Send a mail."""
        return "sent"

    asked = calls(("refund", REFUND), ("ask_owner", {"question": "Why?"}), ("send_mail", {"to": "x"}))
    able = agent(
        tools=("refund", "ask_owner", "send_mail", "send_note"), settings=settings(contact=Setting.ASK)
    )
    shop = opened(street, [asked], Watching, sam=able, tools=(send_mail,))
    assert isinstance(shop.host, Watching)
    told = shop.host.keep()
    await shop.parked()
    assert told.parked == [("approval", "refund"), ("question", "ask_owner"), ("connect", "send_mail")]


async def test_a_host_is_told_of_what_may_have_gone_out_and_of_a_limit(street: Street) -> None:
    street.world.raises["send_note"] = TimeoutError()
    only = agent(settings=ALLOWED, limits=replace_rounds(1))
    shop = opened(street, [calls(("send_note", NOTE)), says("Unsure.")], Watching, sam=only)
    assert isinstance(shop.host, Watching)
    told = shop.host.keep()
    await shop.parked()
    assert told.parked == [("unknown", "send_note"), ("limit", None)]


def replace_rounds(rounds: int) -> Any:
    return agent().limits.__class__(rounds=rounds)


class Deaf(ShopHost):
    """Breaks at all it is told."""

    async def notify_parked(self, task: Task, parks: Sequence[ParkView], reason: str | None = None) -> None:
        raise ValueError(SECRET)

    async def mark(self, task: Task, doing: str) -> None:
        raise SystemExit(SECRET)

    async def thought(self, task: Task, text: str) -> None:
        raise ToolFailed(SECRET)

    async def after_tool(self, task: Task, call: Call, outcome: Outcome, result: Json) -> None:
        raise NeedsConnect(SECRET)


@pytest.mark.rule("I38")
async def test_a_host_that_breaks_at_what_it_is_told_harms_nothing(
    street: Street, caplog: pytest.LogCaptureFixture
) -> None:
    asked = calls(("refund", REFUND), text="I refund it.")
    shop = opened(street, [asked, says("Refunded.")], Deaf)
    task = await shop.parked()
    await shop.approve(await shop.view(task))
    await shop.run()
    assert ((await shop.task(task)).state, shop.effects) == (TaskState.DONE, [REFUNDED])
    heard = {r.getMessage() for r in caplog.records if r.name == "core.hooks" and r.levelname == "WARNING"}
    assert heard == {
        "host.notify_parked raised ValueError",
        "host.mark raised SystemExit",
        "host.thought raised ToolFailed",
        "host.after_tool raised NeedsConnect",
    }
    assert SECRET not in str(shop.model.requests)


# ── secrets ──────────────────────────────────────────────────────────────────────────────────


class Secretive(ShopHost):
    """A host whose secrets can't be had at first."""

    asked = 0

    async def secrets(self) -> Mapping[str, str]:
        self.asked += 1
        if self.asked == 1:
            raise RuntimeError("no secrets today")
        return {"TAG": "A1-canary"}


@pytest.mark.rule("I33")
async def test_nothing_runs_before_the_apps_secrets_are_known_and_then_they_are_shown_by_name(
    street: Street,
) -> None:
    shop = opened(street, [calls(("read_order", {"id": "A1-canary"})), says("It is A1-canary.")], Secretive)
    task = await shop.ask()
    await shop.run()
    assert ((await shop.task(task)).state, shop.model.requests) == (TaskState.DELAYED, [])
    await street.sql.change_task(task, not_before=PAST)
    await shop.run()
    assert (await shop.report(task)).words == "It is [secret TAG]."
    assert "A1-canary" not in repr(shop.model.requests)
