"""The words of a card: what is wanted, why it asks, what came of it. Whatever others wrote is made visible.

Which rows a card has and what may be answered is cards.py; what stands here is only how it is said.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from core.calls import Call, CallState, Outcome
from core.canonical import dump
from core.gate import Ruling, words
from core.lookalikes import hosts, mixed
from core.moves.past import said
from core.moves.people import MORE_ROUNDS, MORE_TOKENS
from core.parks import Choice, DecisionKind, Park, ParkKind, ParkState
from core.people import Roster
from core.shown import on_one_line, rank
from core.tasks import Json, Origin, Task
from core.transcript import edited
from core.visible import cut, hidden, line, raw, visible

LONGEST_ASIDE: Final = 3000
"""Of what stands beside the arguments, in characters: what is decided on must not drown in it (I39)."""
LONGEST_EARLIER: Final = 1000
"""Of each that was sent before: there may be several."""
LONGEST_SAID: Final = 600
"""Of the agent's own words beside its call: they inform, and must not talk anybody into it (threats S4)."""
LINES_SAID: Final = 12
"""Of them: empty lines would push the arguments out of sight."""
LONGEST_STATUS: Final = 600
"""Of each part of what came of it; the task's story has it whole."""
LONGEST_TO: Final = 60
"""Of whom it is for, in a title; the argument itself is whole below."""
SCANNED: Final = 20_000
"""Characters of one text that are searched for look-alikes."""
MOST_WARNINGS: Final = 6


def day(at: datetime) -> str:
    """6 Dec, 13:04 UTC"""
    at = at.astimezone(UTC)
    return f"{at.day} {at:%b, %H:%M} UTC"


def beginning(text: str, most: int, *, lines: bool = True) -> str:
    """*text* visible, at most *most* characters of it; where that is not all, it says so."""
    seen = cut(visible(text[: most + 1], lines=lines), most)
    shown = len(raw(seen))
    return seen if shown == len(text) else f"{seen}… (the first {shown:,} of {len(text):,} characters)"


def aside(value: Json, most: int = LONGEST_ASIDE) -> str:
    """*value* as it stands beside the arguments: text as it is, else JSON; its beginning where it is long."""
    text = value if isinstance(value, str) else dump(value)
    return beginning(text, most, lines=isinstance(value, str))


# ── what is wanted ───────────────────────────────────────────────────────────────────────────


def title(name: str, park: Park, call: Call | None) -> str:
    """Sam wants to refund; of a call with a recipient, to whom."""
    tool = visible(call.tool) if call else ""
    titles = {
        ParkKind.APPROVAL: f"{name} wants to {tool}{_to(call)}",
        ParkKind.UNKNOWN: f"{tool} may have gone out, and nobody knows",
        ParkKind.LIMIT: f"{name} reached a limit: {park.shown.get('limit', '')}",
        ParkKind.CONNECT: f"{name} needs {visible(str(park.shown.get('account', '')))} for {tool}",
        ParkKind.QUESTION: f"{name} asks",
        ParkKind.REPLY: f"{name} waits for an answer",
        ParkKind.CHILD: f"{name} waits for a teammate",
        ParkKind.MESSAGE: f"{name} waits for your next message",
    }
    return titles[park.kind]


def recipient(args: Mapping[str, Json]) -> str | None:
    """Whom a call with *args* is for: the first argument whose name says a recipient, on one line, cut."""
    for name, value in args.items():
        if rank(name) == 0 and value:
            texts = value if isinstance(value, list) else [value]
            return line(", ".join(map(str, texts)), LONGEST_TO)
    return None


def _to(call: Call | None) -> str:
    to = None if call is None else recipient(call.args)
    return "" if to is None else f" to {to}"


_STARTED: Final = {
    Origin.SCHEDULE: "started by a schedule",
    Origin.EVENT: "started by an event",
    Origin.DONE: "started by a teammate's end",
    Origin.REPLY: "started by an outside answer",
    Origin.DELEGATE: "handed on by a teammate",
    Origin.PROGRAM: "started by a program",
}


def asked(task: Task, roster: Roster) -> str:
    """asked by Ada; started by a schedule"""
    by = f"asked by {visible(roster.name(task.requester))}" if task.requester else ""
    started = _STARTED.get(task.origin, "")
    return ", ".join(part for part in (started, by) if part) or "asked by its owner"


def own_words(text: str | None) -> str | None:
    """What the agent said along with its calls, capped; None where it said nothing."""
    lines = [part for part in (text or "").splitlines() if part.strip()]
    if not lines:
        return None
    shown = beginning("\n".join(lines[:LINES_SAID]), LONGEST_SAID)
    return shown if len(lines) <= LINES_SAID else f"{shown}\n… ({len(lines) - LINES_SAID} more lines)"


# ── why it asks ──────────────────────────────────────────────────────────────────────────────


def why(park: Park, call: Call | None, most: int = LONGEST_ASIDE) -> str:
    """Why it waits, in a sentence; what others said of it is cut to *most* characters."""
    match park.kind:
        case ParkKind.UNKNOWN:
            note = beginning(call.late_note, most, lines=False) if call and call.late_note else ""
            after = f" Its worker said afterwards: {note}." if note else ""
            return f"It was started, and its end was never seen. It is not repeated unless you say so.{after}"
        case ParkKind.CONNECT:
            return "It goes on once the account is connected, or you say that it won't be."
        case ParkKind.QUESTION:
            return "It goes on with your answer."
        case ParkKind.LIMIT:
            return f"It may have {_more(park)}, or stop here."
        case ParkKind.MESSAGE:
            return "It goes on with your next message."
    if call is None:
        return ""
    if problem := park.shown.get("problem"):
        return f"It asks again: {beginning(str(problem), most, lines=False)}"
    if park.shown.get("earlier"):
        return "It asks since another task sent the same, or may have."
    return words(Ruling(verdict=call.verdict, rule=call.rule))


MORE: Final[Mapping[str, str]] = {
    Choice.MORE_ROUNDS: f"{MORE_ROUNDS} more rounds",
    Choice.MORE_TOKENS: f"{MORE_TOKENS:,} more tokens",
}
"""How much more each choice at a limit gives."""


def _more(park: Park) -> str:
    return " or ".join(MORE[choice] for choice in park.choices if choice in MORE) or "no more"


def earlier(one: Json, name_of: Callable[[str], str], most: int = LONGEST_EARLIER) -> str:
    """t-3.1 by Sam, 29 Nov, 10:04 UTC: send_note to mara@example.test, text Hello · done"""
    at = f", {day(datetime.fromisoformat(one['at']))}" if one["at"] else ""
    state = _STATES.get(one["state"], one["state"])
    args = beginning(inline(one["args"]), most, lines=False)
    return f"{visible(one['code'])} by {name_of(one['agent'])}{at}: {visible(one['tool'])} {args} · {state}"


def inline(args: Mapping[str, Json]) -> str:
    """to mara@example.test, amount 24.00: on one line, the arguments that matter first, not made visible."""
    names = sorted(args, key=rank)
    return ", ".join(f"{name} {raw(on_one_line(args[name]))}" for name in names) or "(no arguments)"


_STATES: Final[Mapping[str, str]] = {
    Outcome.SUCCEEDED: "done",
    Outcome.UNKNOWN: "may have gone out",
    CallState.EXECUTING: "under way",
}


def warnings(args: Mapping[str, Json]) -> tuple[str, ...]:
    """What of *args* is not what it looks like, by argument: hidden characters, look-alike letters, hosts."""
    found = [words for name, value in args.items() for words in _warned(visible(name), [name, value])]
    more = len(found) - MOST_WARNINGS
    return (*found[:MOST_WARNINGS], *([f"{more} more of the kind"] if more > 0 else []))


def left_out(runs: Mapping[str, Json], shown: Mapping[str, Json]) -> tuple[str, ...]:
    """That not all of what *runs* is *shown*: words in quotes behind ``password=`` may be none."""
    names = [visible(name) for name, value in shown.items() if runs.get(name) != value]
    if not names:
        return ()
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    said = f"{', '.join(names[:3])}{more}"
    return (f"{said}: what is a secret, or looks like one, is not shown, and runs as well",)


def _warned(name: str, value: Json) -> Iterator[str]:
    texts = [text[:SCANNED].replace("\r\n", "\n") for text in _texts(value)]
    unseen = dict.fromkeys(c for text in texts if (c := hidden(text)) is not None)
    if unseen:
        spelled = ", ".join(map(visible, unseen))
        yield f"{name} holds characters that can't be seen, spelled out as {spelled}"
    for text in texts:
        yield from (f"{name}: {words}, which look alike" for words in mixed(text))
        yield from (f"{name}: {words}" for words in hosts(text))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _texts(one)


def standing_in(found: Sequence[tuple[str, str]], most: int = 5) -> tuple[str, ...]:
    """order_id stands word for word in what read_mail brought"""
    lines = [f"{visible(name)} stands word for word in {_brought(by)}" for name, by in found]
    more = len(lines) - most
    return (*lines[:most], *([f"{more} more of the kind"] if more > 0 else []))


def _brought(by: str) -> str:
    """What a tool brought, whose name has no blank; or a message, by its kind."""
    return by if " " in by else f"what {visible(by)} brought"


# ── what came of it ──────────────────────────────────────────────────────────────────────────

_AFTER: Final = {
    CallState.APPROVED: "not run yet",
    CallState.EXECUTING: "running",
}

_CAME_OF_IT: Final = {
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


def status(park: Park, call: Call | None, roster: Roster) -> str:
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
        line += f": {beginning(park.reason, LONGEST_STATUS, lines=False)}"
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
    changed = edited(call).removesuffix(".")
    changes = [beginning(changed, LONGEST_STATUS, lines=False)] if changed else []
    if call.state is not CallState.SETTLED:
        return [*changes, _AFTER.get(call.state, "")]
    came = _CAME_OF_IT.get(call.outcome, "") if call.outcome else ""
    if call.outcome in (Outcome.FAILED, Outcome.VOID, Outcome.REFUSED) and "error" in call.result:
        came = f"{came}: {beginning(str(call.result['error']), LONGEST_STATUS, lines=False)}"
    return [*changes, came] if came else changes


def sentence(words: str) -> str:
    """*words* with a full stop, and a capital unless a code begins them."""
    said = words if re.match(r"t-\d", words) else words[:1].upper() + words[1:]
    return said if said.endswith((".", "!", "?")) else f"{said}."
