"""The rules of states.md §6 that rows and the outside can tell, as complaints about what was seen."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from core.calls import Call, CallState, Outcome
from core.ids import CallId
from core.parks import Choice, Park, ParkKind, ParkState, shown_hash
from core.ports import Story
from core.tasks import Json, Task, TaskState
from tests.crash.world import TOOLS, Journal, Sight

RULES = ("I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I16", "I19", "I20", "I34")


def complaints(sights: Sequence[Sight], journal: Journal, *, zombie: bool = False) -> list[str]:
    """What is wrong, each beginning with its rule; *sights* in order, the last one at the end.

    *zombie*: a run that had lost its task was let go on, which may send once what it had marked (K13).
    """
    last = sights[-1]
    if last.story is None:
        return ["I20: there is no task"]
    story = last.story
    arrivals = journal.read("arrival")
    return [
        *_one_decision(story, journal),
        *_marked_first(arrivals, zombie=zombie),
        *(f"I3: {broken['words']}" for broken in journal.read("broken")),
        *_as_shown(story, arrivals),
        *_keys(story, arrivals),
        *_unknowns(sights, arrivals),
        *_failed(story, arrivals),
        *(words for sight in sights for words in _waits(sight)),
        *(words for before, after in pairwise(sights) for words in _grows(before, after)),
        *_ended(last),
        *_trail(sights),
    ]


def _one_decision(story: Story, journal: Journal) -> Iterator[str]:
    """I1: one decision a call and kind of card, written down once; who pressed after it changed nothing."""
    decided = [p for p in story.parks if p.state is ParkState.DECIDED]
    for (call_id, kind), n in Counter((p.call_id, p.kind) for p in decided).items():
        if n > 1:
            yield f"I1: call {call_id} has {n} decided parks of kind {kind}"
    written = sum(e.move == "decide" for e in story.audit)
    if written != len(decided):
        yield f"I1: {written} decisions in the audit, {len(decided)} decided parks"
    for won in journal.read("rival_won"):
        yield f"I1: the second click on {won['token']} counted"
    for misled in journal.read("rival_misled"):
        yield f"I1: who clicked second on {misled['token']} is told: {misled['words']}"
    undecided = [p for p in story.parks if p.state is not ParkState.DECIDED and p.by_person is not None]
    yield from (f"I1: park {p.id} is {p.state} and has a decision" for p in undecided)


def _marked_first(arrivals: Iterable[dict[str, Json]], *, zombie: bool) -> Iterator[str]:
    """I2: at the moment it arrives, the call is committed as executing, by the epoch that has the task."""
    for arrival in arrivals:
        seen = arrival["seen"]
        if not seen["marks"]:
            yield f"I2: {arrival['tool']} {arrival['call']} arrived without a mark"
        owned = (seen["state"], seen["task_state"]) == (CallState.EXECUTING, TaskState.RUNNING)
        if not zombie and not (owned and seen["epoch"] == seen["task_epoch"]):
            yield f"I2: {arrival['tool']} {arrival['call']} arrived while {seen}"


def _as_shown(story: Story, arrivals: Iterable[dict[str, Json]]) -> Iterator[str]:
    """I4, I5: what arrived hashes to what the decided park showed, or to what was recorded of it."""
    calls = {c.id: c for c in story.calls}
    for arrival in arrivals:
        call, tool = calls[arrival["call"]], TOOLS[arrival["tool"]]
        arrived = shown_hash(
            org=story.task.org,
            agent=story.task.agent,
            tool=tool.name,
            tool_digest=tool.digest,
            risk=tool.risk,
            account=call.account,
            args=arrival["args"],
        )
        if arrived != call.args_hash:
            yield f"I5: {call.tool} {call.id} got {arrival['args']}, which is not what was recorded"
        if call.verdict != "ask":
            continue
        shown = [p.shown_hash for p in _decided(story, call, ParkKind.APPROVAL)]
        if shown != [arrived]:
            yield f"I4: {call.tool} {call.id} got {arrival['args']}, which nobody was shown and approved"


def _decided(story: Story, call: Call, kind: ParkKind) -> list[Park]:
    of_call = [p for p in story.parks if p.call_id == call.id and p.kind is kind]
    return [p for p in of_call if p.state is ParkState.DECIDED]


def _keys(story: Story, arrivals: Iterable[dict[str, Json]]) -> Iterator[str]:
    """I6: a key reached the provider once. It is free again only where a person said it did not go out."""
    calls = {c.id: c for c in story.calls}
    for key, n in Counter(calls[a["call"]].effect_key for a in arrivals if a["accepted"]).items():
        if n > 1 or key is None:
            yield f"I6: {n} sends with the key {key}"


def _unknowns(sights: Sequence[Sight], arrivals: Iterable[dict[str, Json]]) -> Iterator[str]:
    """I7: no call is sent twice, and what was unknown once stays so but by a person's word."""
    for call_id, n in Counter(a["call"] for a in arrivals).items():
        if n > 1:
            yield f"I7: call {call_id} was sent {n} times"
    once = {c.id for s in sights if s.story for c in s.story.calls if c.outcome is Outcome.UNKNOWN}
    story = sights[-1].story
    assert story is not None
    for call in story.calls:
        if call.id in once and call.outcome is not Outcome.UNKNOWN:
            said = {p.choice for p in _decided(story, call, ParkKind.UNKNOWN) if p.by_person is not None}
            wanted = {Outcome.SUCCEEDED: Choice.WENT_OUT, Outcome.FAILED: Choice.DID_NOT}
            if call.outcome is None or wanted.get(call.outcome) not in said:
                yield f"I7: call {call.id} was unknown, is {call.outcome}, and people said {said}"


def _failed(story: Story, arrivals: Iterable[dict[str, Json]]) -> Iterator[str]:
    """I8: what is recorded as not sent was not; nor was what never was to run."""
    reached: set[CallId] = {a["call"] for a in arrivals if a["accepted"]}
    ran = (Outcome.SUCCEEDED, Outcome.UNKNOWN)
    for call in story.calls:
        if call.id in reached and call.outcome not in ran:
            yield f"I8: call {call.id} is {call.outcome}, and the provider has it"
        if call.id not in reached and call.outcome is Outcome.SUCCEEDED and not call.pure:
            yield f"I8: call {call.id} is {call.outcome}, and the provider does not have it"


def _waits(sight: Sight) -> Iterator[str]:
    """I19: who waits has an open park that holds them."""
    story = sight.story
    if story is None or story.task.state is not TaskState.WAITING:
        return
    if not any(p.open and p.holds for p in story.parks):
        yield "I19: the task waits for nothing"


def _grows(before: Sight, after: Sight) -> Iterator[str]:
    """I16: what is settled, decided or ended stays; numbers only grow; nothing said is unsaid."""
    if before.story is None:
        return
    if after.story is None:
        yield "I16: the task is gone"
        return
    old, new = before.story, after.story
    yield from _task_grows(old.task, new.task)
    calls, parks = {c.id: c for c in new.calls}, {p.id: p for p in new.parks}
    for call in old.calls:
        yield from _call_grows(call, calls.get(call.id), after)
    for park in old.parks:
        now = parks.get(park.id)
        if now is None or (not park.open and now != park) or now.version != park.version:
            yield f"I16: park {park.id} was {park.state} and is {now and now.state}"
    if new.messages[: len(old.messages)] != old.messages:
        yield "I16: the transcript was rewritten"
    if [e.id for e in new.audit][: len(old.audit)] != [e.id for e in old.audit]:
        yield "I34: the audit trail was rewritten"


def _task_grows(old: Task, new: Task) -> Iterator[str]:
    if (new.episode, new.epoch) < (old.episode, old.epoch) or new.epoch < old.epoch:
        yield f"I16: epoch {old.epoch} became {new.epoch}"
    if old.ended and new.episode == old.episode and (new.state, new.result) != (old.state, old.result):
        yield f"I16: the task was {old.state} and is {new.state}"


def _call_grows(old: Call, new: Call | None, after: Sight) -> Iterator[str]:
    if new is None:
        yield f"I16: call {old.id} is gone"
        return
    if not old.settled:
        return
    same = (old.state, old.result, old.settled_at, old.args, old.effect_key)
    if same != (new.state, new.result, new.settled_at, new.args, new.effect_key):
        yield f"I16: call {old.id} was settled and changed"
    if old.outcome is not new.outcome:
        assert after.story is not None
        if not (old.outcome is Outcome.UNKNOWN and _decided(after.story, new, ParkKind.UNKNOWN)):
            yield f"I16: call {old.id} was {old.outcome} and is {new.outcome}"


def _ended(last: Sight) -> Iterator[str]:
    """I20: one task, at its end or waiting, everything settled, every message of it delivered."""
    story = last.story
    assert story is not None
    if last.tasks != 1:
        yield f"I20: there are {last.tasks} tasks of one message"
    if not (story.task.ended or story.task.state is TaskState.WAITING):
        yield f"I20: the task is {story.task.state}"
    if story.task.ended and (left := [c.number for c in story.calls if not c.settled]):
        yield f"I20: calls {left} have no result"
    if set(last.inbox) - {"applied"}:
        yield f"I20: the inbox holds {last.inbox}"
    for post in last.posts:
        if post["rev"] > post["sent_rev"]:
            yield f"I20: the post {post['dedup_key']} is {post['state']}, revision {post['rev']} unsent"


def _trail(sights: Sequence[Sight]) -> Iterator[str]:
    """I34: the trail is whole at every sight, and says of each call what its row says."""
    for sight in sights:
        if not sight.trail.whole:
            yield f"I34: {sight.trail.findings}"
        if sight.story is not None:
            yield from _entries(sight.story)


def _entries(story: Story) -> Iterator[str]:
    marks = Counter(e.call_id for e in story.audit if e.move == "mark" and _says_key(e.entry))
    again = Counter(e.call_id for e in story.audit if e.move == "again")
    ends = Counter(e.call_id for e in story.audit if e.move == "outcome" and e.rule != "late")
    for call in story.calls:
        marked = call.marked_at is not None
        if marks[call.id] - again[call.id] != marked:
            yield f"I34: call {call.number} has {marks[call.id]} marks in the trail, its row says {marked}"
        if ends[call.id] != (marked and call.settled):
            yield f"I34: call {call.number} has {ends[call.id]} outcomes in the trail"


def _says_key(entry: str) -> bool:
    """A mark that let the call run, unlike one that ended or parked it."""
    return '"key"' in entry
