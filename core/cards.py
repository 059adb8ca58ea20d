"""What a card shows of a park, free of any surface: who wants what, why it asks, every argument whole.

Everything that came from a model, a customer or a person is made visible before it is shown: control,
bidirectional, invisible and private characters appear as ``⟨U+202E⟩``, so that what is read is what
would run. The raw value is what is hashed and run.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from core.agents import Agent
from core.calls import Call, CallState, Outcome
from core.canonical import dump
from core.gate import Ruling, words
from core.ids import CallCode
from core.moves.people import said
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import Roster
from core.tasks import Json, Task
from core.transcript import edited
from core.visible import visible

LONGEST_ASIDE = 3000
"""Of what stands beside the arguments, in characters: what is decided on must not drown in it (I39)."""
LONGEST_EARLIER = 1000
"""Of each that was sent before: there may be several."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One argument: its name, its value as text, and what it was before an edit."""

    name: str
    value: str
    before: str | None = None
    editable: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One park on a card, decided on its own."""

    code: str  # t-12.3, or t-12.3v2 from the second version on
    token: str
    kind: ParkKind
    title: str  # Sam wants to refund
    risk: str
    why: str  # the rule, in words
    fields: tuple[Field, ...]
    choices: tuple[str, ...]  # the verbs a person may answer with, in the order shown; none once ended
    status: str | None  # who decided what and when, and what came of it; None while it waits
    expires_at: datetime | None
    short_hash: str
    seen: str | None = None  # what is so now, by the tool's precondition; a decision holds while it stays so
    preview: str | None = None  # what it would do, by its tool; the beginning, of this and what is seen
    url: str | None = None  # where an account is connected
    earlier: tuple[str, ...] = ()  # the same as other tasks sent it: who, when, where and what, newest first


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card: the parks of one round of one task, in call order."""

    task_code: str
    agent: str
    goal: str
    rows: tuple[Row, ...]
    unread: int
    moved: str | None = None  # why it is not in its place

    @property
    def open(self) -> bool:
        return any(row.status is None for row in self.rows)


def reminder(task: Task, agent: Agent | None, park: Park, call: Call | None) -> str:
    """t-1.2 still waits: Sam wants to refund. It expires on 6 Dec, 13:04 UTC."""
    name = visible(agent.name if agent else task.agent)
    expires = f" It expires on {_day(park.expires_at)}." if park.expires_at else ""
    return f"{_code(task, park, call)} still waits: {_title(name, park, call)}.{expires}"


def _day(at: datetime) -> str:
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b, %H:%M} UTC"


def _code(task: Task, park: Park, call: Call | None) -> str:
    """t-12.3, or t-12.3v2 from the second version on; t-12 of what is about the task itself."""
    if call is None:
        return task.code
    version = park.version if park.version > 1 else None
    return str(CallCode(task_number=task.number, call_number=call.number, version=version))


_CHOICES: dict[ParkKind, tuple[str, ...]] = {
    ParkKind.APPROVAL: ("approve", "edit", "decline"),
    ParkKind.CONNECT: ("connected", "decline"),
    ParkKind.QUESTION: ("answer", "decline"),
}


def card(
    task: Task,
    agent: Agent | None,
    pairs: Sequence[tuple[Park, Call | None]],
    roster: Roster,
    editable: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> Card:
    """The card of these parks, the newest version of each call alone.

    *editable*: by a tool's name, the arguments a person may change; of a tool not in it, all.
    """
    name = visible(agent.name if agent else task.agent)
    newest = list({(p.call_id, p.kind): (p, c) for p, c in sorted(pairs, key=_age)}.values())
    rows = tuple(
        _row(task, name, p, c, roster, editable)
        for p, c in sorted(newest, key=lambda pair: _order(pair[0], pair[1]))
    )
    return Card(
        task_code=task.code, agent=name, goal=visible(_goal(task.goal)), rows=rows, unread=task.unread
    )


def _age(pair: tuple[Park, Call | None]) -> tuple[int, datetime]:
    return pair[0].version, pair[0].created_at


def _order(park: Park, call: Call | None) -> tuple[int, datetime]:
    return (call.number if call else 0), park.created_at


def _goal(goal: Json) -> str:
    return goal if isinstance(goal, str) else dump(goal)


def _row(
    task: Task,
    name: str,
    park: Park,
    call: Call | None,
    roster: Roster,
    editable: Mapping[str, Collection[str]],
) -> Row:
    choices = tuple(str(c) for c in park.choices) or _CHOICES.get(park.kind, ())
    return Row(
        code=_code(task, park, call),
        token=park.token,
        kind=park.kind,
        title=_title(name, park, call),
        risk=call.risk if call else "",
        why=_why(park, call),
        fields=_fields(call, editable.get(call.tool)) if call else (),
        seen=_aside(park.shown["seen"]) if "seen" in park.shown else None,
        preview=_aside(park.shown["preview"]) if "preview" in park.shown else None,
        url=visible(str(park.shown["url"])) if park.shown.get("url") else None,
        earlier=tuple(_earlier(one) for one in park.shown.get("earlier", ())),
        choices=choices if park.open else (),
        status=None if park.open else _status(park, call, roster),
        expires_at=park.expires_at,
        short_hash=park.shown_hash[:4],
    )


def _title(name: str, park: Park, call: Call | None) -> str:
    tool = visible(call.tool) if call else ""
    titles = {
        ParkKind.APPROVAL: f"{name} wants to {tool}",
        ParkKind.UNKNOWN: f"{tool} may have gone out, and nobody knows",
        ParkKind.LIMIT: f"{name} reached a limit: {park.shown.get('limit', '')}",
        ParkKind.CONNECT: f"{name} needs {visible(str(park.shown.get('account', '')))} for {tool}",
        ParkKind.QUESTION: f"{name} asks",
        ParkKind.REPLY: f"{name} waits for an answer",
        ParkKind.CHILD: f"{name} waits for a teammate",
        ParkKind.MESSAGE: f"{name} waits for your next message",
    }
    return titles[park.kind]


def _why(park: Park, call: Call | None) -> str:
    if park.kind is ParkKind.UNKNOWN:
        after = f" Its worker said afterwards: {visible(call.late_note)}." if call and call.late_note else ""
        return f"It was started, and its end was never seen. It is not repeated unless you say so.{after}"
    if park.kind is ParkKind.CONNECT:
        return "It goes on once the account is connected, or you say that it won't be."
    if call is None or park.kind is ParkKind.LIMIT:
        return "It goes on when you say how far."
    if problem := park.shown.get("problem"):
        return f"It asks again: {visible(_cut(str(problem), LONGEST_ASIDE))}"
    if park.shown.get("earlier"):
        return "It asks since another task sent the same, or may have."
    return words(Ruling(verdict=call.verdict, rule=call.rule))


def _earlier(one: Json) -> str:
    """t-3.1, sam, 29 Nov 10:04 UTC: send_note {"to":"x"} · succeeded"""
    at = f", {_day(datetime.fromisoformat(one['at']))}" if one["at"] else ""
    args = _cut(dump(one["args"]), LONGEST_EARLIER)
    return visible(f"{one['code']}, {one['agent']}{at}: {one['tool']} {args} · {one['state']}")


def _fields(call: Call, editable: Collection[str] | None) -> tuple[Field, ...]:
    before = call.proposed_args if isinstance(call.proposed_args, dict) else {}
    names = (*call.args, *(k for k in before if k not in call.args))
    return tuple(
        _field(name, call.args, before, editable=editable is None or name in editable) for name in names
    )


def _field(name: str, args: dict[str, Json], before: dict[str, Json], *, editable: bool) -> Field:
    now = shown_value(args[name]) if name in args else "(not set)"
    if name not in before:
        was = "(not set)" if before else None
    else:
        was = shown_value(before[name])
    return Field(name=visible(name), value=now, before=None if was == now else was, editable=editable)


def shown_value(value: Json) -> str:
    """An argument as a card shows it: text as it is but for what hides, other values as JSON to the digit."""
    return visible(value, lines=True) if isinstance(value, str) else visible(dump(value))


def _aside(value: Json) -> str:
    """*value* as `shown_value` has it, its beginning alone where it is long."""
    text = value if isinstance(value, str) else dump(value)
    return visible(_cut(text, LONGEST_ASIDE), lines=isinstance(value, str))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… (the first {most:,} of {len(text):,} characters)"


_AFTER = {
    CallState.APPROVED: "not run yet",
    CallState.EXECUTING: "running",
}

_CAME_OF_IT = {
    Outcome.SUCCEEDED: "done",
    Outcome.FAILED: "failed",
    Outcome.UNKNOWN: "may have gone out",
    Outcome.OBSERVED: "recorded, not run",
    Outcome.REFUSED: "refused, not run",
    Outcome.EXPIRED: "nothing was done",
    Outcome.WITHDRAWN: "not run: the task was stopped",
    Outcome.SKIPPED: "skipped",
    Outcome.VOID: "void, not run",
    Outcome.DUPLICATE: "not repeated",
}


def _status(park: Park, call: Call | None, roster: Roster) -> str:
    """✔ Approved with changes by Ada, 10:04 UTC (amount 24.00 → 18.50) · done"""
    if park.state is ParkState.EXPIRED:
        return "⌛ Expired: nothing was done"
    if park.state is ParkState.WITHDRAWN:
        return _found_out(call) if park.kind is ParkKind.UNKNOWN else "Withdrawn: not run"
    sign = "✖" if park.decision is DecisionKind.DECLINE or park.choice is Choice.STOP else "✔"
    at = f", {park.decided_at:%H:%M} UTC" if park.decided_at else ""
    by = visible(roster.name(park.by_person))
    line = f"{sign} {said(park).capitalize()} by {by}{at}"
    if park.reason:
        line += f": {visible(park.reason)}"
    return " · ".join([line, *_after(park, call)])


def _found_out(call: Call | None) -> str:
    return f"✔ Looked up at its destination: it {_went(call)}"


def _went(call: Call | None) -> str:
    return "went out" if call is not None and call.outcome is Outcome.SUCCEEDED else "did not go out"


def _after(park: Park, call: Call | None) -> list[str]:
    if park.choice is Choice.LOOK_UP:
        return [f"it {_went(call)}"]
    if call is None or park.kind is ParkKind.UNKNOWN:
        return []
    changes = [visible(edited(call))] if edited(call) else []
    if call.state is not CallState.SETTLED:
        return [*changes, _AFTER.get(call.state, "")]
    came = _CAME_OF_IT.get(call.outcome, "") if call.outcome else ""
    if call.outcome in (Outcome.FAILED, Outcome.VOID, Outcome.REFUSED) and "error" in call.result:
        came = f"{came}: {visible(str(call.result['error']))}"
    return [*changes, came] if came else changes
