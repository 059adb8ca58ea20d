"""The kill points of states.md §8 by name: what is on disk then, and what another process makes of it."""

from collections import Counter
from dataclasses import dataclass

import pytest

from core.calls import Call, Outcome
from core.parks import DecisionKind, ParkState
from core.tasks import TaskState
from tests.crash.mortal import On, Side
from tests.crash.playing import Played, played, wrong
from tests.crash.scenarios import COMPACTED, EDIT, READ, SEND, TWO_SENDS, Scenario
from tests.crash.world import Ground, Sight

RESERVED = 4096  # tokens of a request, as the agent's limits say


def asked(of: Played) -> list[int]:
    """How many replies the history held, each time the model was asked."""
    return [request["place"] for request in of.journal.read("asked")]


def posted(of: Played) -> Counter[str]:
    return Counter(post["what"] for post in of.journal.read("posted"))


def state(sight: Sight) -> tuple[str, ...]:
    """The task's state, then each call's state, or its outcome if it has one."""
    if sight.story is None:
        return ()
    return (sight.story.task.state, *(_state(call) for call in sight.story.calls))


def _state(call: Call) -> str:
    return call.state if call.outcome is None else call.outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """*on_disk*: task and calls after the death. *outcomes*, *sent*: at the end, if not the scenario's."""

    scenario: Scenario
    fate: On
    on_disk: tuple[str, ...]
    outcomes: tuple[Outcome, ...] | None = None
    sent: int | None = None
    asked: list[int] | None = None
    posted: dict[str, int] | None = None
    inbox: tuple[str, ...] = ("applied",)


def before(name: str, nth: int = 1) -> On:
    return On(name=name, side=Side.BEFORE, nth=nth)


def after(name: str, nth: int = 1) -> On:
    return On(name=name, side=Side.AFTER, nth=nth)


# What went out unseen is unknown; the owner, who looks, settles it. The second, same note is a duplicate.
NEVER_SENT = (Outcome.FAILED, Outcome.DUPLICATE)

POINTS = {
    ("K1", "T3"): Point(scenario=SEND, fate=after("queue.claim"), on_disk=("running",), asked=[0, 1, 2]),
    ("K2",): Point(scenario=SEND, fate=before("model.reply"), on_disk=("running",), asked=[0, 1, 2]),
    ("K3",): Point(scenario=SEND, fate=after("model.reply"), on_disk=("running",), asked=[0, 0, 1, 2]),
    ("K4", "T4"): Point(
        scenario=SEND,
        fate=after("tasks.change(record_reply)"),
        on_disk=("running", "proposed"),
        asked=[0, 1, 2],
    ),
    ("K5",): Point(
        scenario=TWO_SENDS,
        fate=after("tasks.change(outcome)"),
        on_disk=("running", "succeeded", "proposed"),
        asked=[0, 1],
    ),
    ("K6",): Point(
        scenario=EDIT, fate=after("tasks.change(outcome)"), on_disk=("running", "succeeded"), asked=[0, 1]
    ),
    ("K7", "I26"): Point(
        scenario=COMPACTED,
        fate=before("tasks.change(note)"),
        on_disk=("running", "succeeded"),
        asked=[0, 1, 1, 1],
    ),
    ("K7",): Point(
        scenario=COMPACTED,
        fate=after("tasks.change(note)"),
        on_disk=("running", "succeeded"),
        asked=[0, 1, 1],
    ),
    ("K8", "T9"): Point(
        scenario=SEND,
        fate=after("tasks.change(end)"),
        on_disk=("done", "succeeded", "duplicate"),
        posted={"Report": 1},
    ),
    ("K9",): Point(scenario=SEND, fate=before("tasks.change(mark)"), on_disk=("running", "proposed")),
    ("K9", "K27"): Point(scenario=EDIT, fate=before("tasks.change(mark)"), on_disk=("running", "approved")),
    ("K10", "C15", "C19"): Point(
        scenario=SEND,
        fate=after("tasks.change(mark)"),
        on_disk=("running", "executing"),
        outcomes=NEVER_SENT,
        sent=0,
    ),
    ("K11", "C19", "C16"): Point(
        scenario=SEND, fate=after("provider.send"), on_disk=("running", "executing"), sent=1
    ),
    ("K12", "C19", "C21"): Point(
        scenario=SEND, fate=before("tasks.change(outcome)"), on_disk=("running", "executing"), sent=1
    ),
    ("K14", "C20"): Point(
        scenario=READ, fate=after("provider.read"), on_disk=("running", "proposed", "proposed")
    ),
    ("K16",): Point(
        scenario=EDIT, fate=before("tasks.change(ask)"), on_disk=("running", "proposed"), asked=[0, 1]
    ),
    ("K17", "C5"): Point(
        scenario=EDIT,
        fate=after("tasks.change(ask)"),
        on_disk=("running", "parked"),
        posted={"Card": 1, "Report": 1},
    ),
    ("K18",): Point(
        scenario=EDIT,
        fate=after("chat.post"),
        on_disk=("waiting", "parked"),
        posted={"Card": 2, "Report": 1},
    ),
    ("K20", "K26", "T7"): Point(
        scenario=EDIT, fate=after("tasks.change(decide)"), on_disk=("queued", "approved"), asked=[0, 1]
    ),
    ("K21",): Point(scenario=SEND, fate=before("inbox.receive"), on_disk=(), inbox=()),
    ("K22",): Point(scenario=SEND, fate=after("inbox.receive"), on_disk=(), inbox=("new",)),
    ("K23", "T1"): Point(scenario=SEND, fate=before("tasks.open"), on_disk=(), inbox=("new",)),
    ("K27",): Point(scenario=EDIT, fate=after("tasks.load", nth=2), on_disk=("running", "approved")),
    ("K38",): Point(
        scenario=EDIT,
        fate=after("outbox.take"),
        on_disk=("waiting", "parked"),
        posted={"Card": 1, "Report": 1},
    ),
}


@pytest.mark.parametrize(
    "point",
    [
        pytest.param(
            point, id=f"{'-'.join(rules)}-{point.fate}".replace(" ", "-"), marks=pytest.mark.rule(*rules)
        )
        for rules, point in POINTS.items()
    ],
)
async def test_at_a_kill_point_the_rows_say_what_another_process_has_to_do(
    point: Point, ground: Ground
) -> None:
    cut = await played(ground, point.scenario, 1, point.fate)
    assert cut.died
    assert (state(cut.sights[0]), cut.sights[0].inbox) == (point.on_disk, point.inbox)
    assert wrong(cut.sights, cut.journal, point.scenario) == []
    assert tuple(c.outcome for c in cut.calls) == (point.outcomes or point.scenario.outcomes)
    assert len(cut.sent) == (len(point.scenario.sent) if point.sent is None else point.sent)
    assert point.asked in (None, asked(cut))
    assert point.posted in (None, posted(cut))


@pytest.mark.rule("K1", "T3")
async def test_a_lost_lease_queues_the_task_again_under_a_higher_epoch(ground: Ground) -> None:
    cut = await played(ground, SEND, 1, after("queue.claim"))
    lost = cut.sights[0].story
    assert lost is not None
    assert (lost.task.state, lost.task.epoch, lost.task.attempts) == (TaskState.RUNNING, 1, 0)
    assert (cut.story.task.state, cut.story.task.epoch) == (TaskState.DONE, 2)


@pytest.mark.parametrize("fate", [before("model.reply"), after("model.reply")], ids=str)
@pytest.mark.rule("K2", "K3", "I24")
async def test_what_was_reserved_for_a_request_stays_counted_when_its_process_dies(
    fate: On, ground: Ground
) -> None:
    whole = await played(ground, SEND, 1)
    cut = await played(ground, SEND, 2, fate)
    assert (await whole.world.reserved(), await cut.world.reserved()) == (0, RESERVED)


@pytest.mark.rule("K5")
async def test_a_round_goes_on_in_order_with_the_calls_that_have_no_result(ground: Ground) -> None:
    cut = await played(ground, TWO_SENDS, 1, after("tasks.change(outcome)"))
    assert cut.sent == list(TWO_SENDS.sent)


@pytest.mark.rule("K14", "C20")
async def test_a_lost_read_is_run_again(ground: Ground) -> None:
    cut = await played(ground, READ, 1, after("provider.read"))
    orders = Counter(read["order_id"] for read in cut.journal.read("read"))
    assert orders == {"A7": 2, "B8": 1}


@pytest.mark.rule("K18", "K20", "C6", "I1")
async def test_a_click_whose_answer_was_lost_counts_once_when_it_is_pressed_again(ground: Ground) -> None:
    cut = await played(ground, EDIT, 1, after("tasks.change(decide)"))
    first, second = cut.story.parks
    assert (first.state, second.state) == (ParkState.SUPERSEDED, ParkState.DECIDED)
    assert (second.version, second.decision) == (2, DecisionKind.EDIT)
    assert sum(e.move == "decide" for e in cut.story.audit) == 1
    assert cut.journal.read("lost_click") == [], "the same click is no late one"
