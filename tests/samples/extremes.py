"""Cards, reports and digests of the longest, the most and the strangest there is, and random ones.

For whatever shows them: *room* is that of its surface, for a card's arguments.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any, Final

from core.calls import Call, CallState, Outcome, ParksAs
from core.cards import Card
from core.fence import FENCE
from core.parks import UNKNOWN_CHOICES, Choice, DecisionKind, Park, ParkKind
from core.rendering import Digest, DigestLine, Notice, Progress, View
from core.report import Report, build
from core.shown import Room
from core.tasks import Json, TaskState
from tests.samples.shop import AT, ROSTER, call, decided, park, ran, said, shown, task

HOSTILE: Final = "\u202e⟨⟩\U000e0041<!channel>&`*_\x00\n\t \"'\u0430é漢😀\u0301|"
LONG: Final = "\u202e" * 60 + "<!channel> & " + "漢字" * 30
"""What is shown eight times as long as it is."""
TOOL_NAME: Final = "t" * 64


# ── extremes ─────────────────────────────────────────────────────────────────────────────────


def everything(n: int, together: int = 1, **over: Any) -> tuple[Park, Call]:
    """A call of the longest everything, and its park."""
    long = "\u0430b\u202e " * 2_000
    args = {"to": [f"{LONG}{n}@example.com"] * 9, "text": long, **{f"{'a' * 60}{i}": LONG for i in range(20)}}
    made = call(TOOL_NAME, over.pop("args", args), n, risk=over.pop("risk", "profile"), late_note=long)
    before = {
        "call": "c",
        "code": "t-1.1",
        "agent": LONG,
        "at": AT.isoformat(),
        "tool": TOOL_NAME,
        "args": args,
        "state": "succeeded",
    }
    beside = {"seen": long, "preview": long, "earlier": [before] * 5}
    return park(made, **{"shown": beside, **over}), made


def crowd(n: int, room: Room | None, **over: Any) -> Card:
    """*n* of them on one card, which is not where it should be, of a task that read much from outside."""
    outside = tuple(
        ran(call(f"{TOOL_NAME[:-2]}{i:02}", {}, 100 + i), Outcome.SUCCEEDED, {"value": LONG, FENCE: "f"})
        for i in range(30)
    )
    pairs = [everything(i, n, **over) for i in range(1, n + 1)]
    about = task(LONG * 9, unread=99)
    made = shown(*pairs, about=about, messages=(said(LONG * 99),), before=outside, room=room)
    return replace(made, moved=LONG * 9, agent=LONG[:80] * 2)


def short_crowd(n: int, room: Room) -> Card:
    """*n* calls that are each shown whole, as long as they may be for that."""
    each = room.of_each(n)
    pairs = [everything(i, n, args={"to": "x" * (each - 10 - 4), "text": "y"}) for i in range(1, n + 1)]
    return shown(*pairs, room=room)


def names_of_16(room: Room | None, **over: Any) -> Card:
    return replace(crowd(16, room, **over), agent="n" * 80)


def question(suggestions: Sequence[str], room: Room | None, asked: str = LONG * 40) -> Card:
    args = {"question": asked, "suggestions": list(suggestions)}
    made = call(TOOL_NAME, args, parks_as=ParksAs.QUESTION)
    return shown((park(made, kind=ParkKind.QUESTION), made), room=room)


def floods(room: Room | None) -> Iterator[Card]:
    """Arguments of line breaks, of very many names, and none at all."""
    for args in (
        {"text": "\n" * 39, "a": "b"},
        {"text": "\n" * 20_000},
        {f"n{i}": i for i in range(600)},
        {f"n{i}": "" for i in range(200)},
        {},
    ):
        made = call("send_note", args)
        yield shown((park(made), made), room=room)


def nothing(room: Room | None) -> Card:
    """Words that are empty, wherever there may be some."""
    made = call("send_note", {"": "", "text": ""})
    asks = call("ask", {"question": "", "suggestions": [""]}, 2, parks_as=ParksAs.QUESTION)
    beside = {"seen": "", "preview": ""}
    return shown(
        (park(made, shown=beside), made),
        (park(asks, kind=ParkKind.QUESTION), asks),
        about=task(""),
        room=room,
    )


def unknown(room: Room | None) -> Card:
    own, made = everything(1, kind=ParkKind.UNKNOWN, choices=(*UNKNOWN_CHOICES, Choice.LOOK_UP))
    about = ran(made, Outcome.UNKNOWN, {"error": LONG * 99})
    return shown((replace(own, expires_at=None), about), room=room)


def connect(room: Room | None) -> Card:
    needs = {"account": "a" * 80, "url": f"https://example.com/{'u' * 1_980}"}
    made = call(TOOL_NAME, {"text": LONG})
    return shown((park(made, kind=ParkKind.CONNECT, shown=needs), made), room=room)


REASON: Final = MappingProxyType(decided(DecisionKind.DECLINE, reason=LONG * 30))

CARDS: Final[dict[str, Callable[[Room], Card]]] = {
    "16 of the longest": lambda room: crowd(16, room),
    "16 of the longest, of a long name": names_of_16,
    "16 decided": lambda room: names_of_16(room, **REASON),
    "16 as long as they are shown whole": lambda room: short_crowd(16, room),
    "one of the longest": lambda room: crowd(1, room),
    "one as long as it is shown whole": lambda room: short_crowd(1, room),
    "two as long as they are shown whole": lambda room: short_crowd(2, room),
    "three as long as they are shown whole": lambda room: short_crowd(3, room),
    "nine as long as they are shown whole": lambda room: short_crowd(9, room),
    "one decided": lambda room: crowd(1, room, **REASON),
    "100 suggestions": lambda room: question([f"{n}. {LONG}" for n in range(100)], room),
    "100 short suggestions": lambda room: question([str(n) for n in range(100)], room),
    "nothing": nothing,
    "an unknown": unknown,
    "an account": connect,
    **{f"flood {n}": lambda room, n=n: list(floods(room))[n] for n in range(5)},  # type: ignore[misc]
}


def report(n: int) -> Report:
    calls = [call(TOOL_NAME, {"to": LONG * 9, "a" * 80: "\n" * 99, LONG: 1}, i) for i in range(1, n + 1)]
    ends = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.UNKNOWN)
    done = [ran(c, ends[i % 3], {"error": LONG * 99}) if i % 4 else c for i, c in enumerate(calls)]
    about = task(LONG * 9, state=TaskState.FAILED, result={"value": "\u202e" * 50_000})
    return build(about, done, (), ROSTER)


def digest(n: int) -> Digest:
    line = DigestLine(code="t-999999999.999999999v2", title=LONG * 4, risk="contact", since=AT, status=None)
    lines = [replace(line, code=f"t-{i}.1", status=LONG * 9 if i % 3 == 0 else None) for i in range(n)]
    return Digest(lines=tuple(lines), more=10**6, moved=LONG * 99)


VIEWS: Final[dict[str, View]] = {
    "a report of 200 calls": report(200),
    "a report of nothing": report(0),
    "a report of a goal that is no text": replace(report(1), task=task(goal={"a": [LONG] * 99})),  # type: ignore[arg-type]
    "a report of a goal of blanks": replace(report(1), task=task(goal=" \n ")),
    "a digest of 30": digest(30),
    "a digest of nothing": Digest(lines=(), more=0),
    "a notice": Notice(task_code="t-1", text="&<>" * 20_000, moved=LONG * 99),
    "how it goes": Progress(task_code="t-1", text=LONG * 9, over=False),
    "how it went": Progress(task_code="t-1", text=LONG * 9, over=True),
}


# ── random ones ──────────────────────────────────────────────────────────────────────────────

WORDS: Final = (
    *("", " ", "\n", "24", "24.0", "true", "null", "(not set)", "⟨U+202E⟩", "as it was proposed", "→", "…"),
    *("a\nb", "a\n\n", "x" * 61, "x" * 900, "to  evil@example.com", "\nto\n", "Not all of it is shown here"),
)


def text_of(rng: Random) -> str:
    if rng.random() < 0.5:
        return rng.choice(WORDS)
    return "".join(rng.choices(HOSTILE, k=rng.randrange(90)))


def value_of(rng: Random, depth: int = 0) -> Json:
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind < 4:
        return text_of(rng)
    if kind < 6:
        return rng.choice((None, True, 7, -1, 10**30, "7"))
    inner = [value_of(rng, depth + 1) for _ in range(rng.randrange(4))]
    return inner if kind == 6 else {text_of(rng): one for one in inner}


def args_of(rng: Random) -> dict[str, Json]:
    """A tool's arguments: their names are declared, so none is empty."""
    return {text_of(rng) or "name": value_of(rng) for _ in range(rng.randrange(6))}


def card_of(rng: Random, room: Room | None) -> tuple[Card, dict[str, dict[str, Json]]]:
    """A card of some calls and whatever else stands on one; what would run, by the codes of its rows."""
    many = rng.choice((1, 1, 1, 2, 3, 7, 16))
    pairs, runs = [], {}
    for n in range(1, many + 1):
        runs[f"t-41.{n}"] = args = args_of(rng)
        proposed = args_of(rng) | args if rng.random() < 0.3 else args
        made = replace(call(rng.choice(("send_note", "refund")), args, n), proposed_args=proposed)
        beside = {"seen": text_of(rng), "preview": value_of(rng)} if rng.random() < 0.3 else {}
        over = decided(DecisionKind.APPROVE, reason=text_of(rng)) if rng.random() < 0.1 else {}
        made = replace(made, state=CallState.APPROVED) if over else made
        pairs.append((park(made, shown=beside, **over), made))
    words = (said(text_of(rng)),) if rng.random() < 0.5 else ()
    return shown(*pairs, messages=words, room=room), runs
