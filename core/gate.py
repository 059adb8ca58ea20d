"""The gate: what may run alone, what asks, what is only recorded, what is refused.

The whole table of states.md §4, as data. Total and fail-closed: what is not listed is refused,
and the rule that decided is named so that the audit and the card can say it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from core.tasks import Mode, Origin, Taint


class Risk(StrEnum):
    READ = "read"  # looks, changes nothing
    DRAFT = "draft"  # writes where nobody but the owner sees it
    ROUTINE = "routine"  # an everyday answer to somebody who asked
    CONTACT = "contact"  # words to somebody outside
    SPEND = "spend"  # moves money
    CHANGE = "change"  # edits records
    REMOVE = "remove"  # deletes
    PROFILE = "profile"  # changes who may do what, or who the business is


class Setting(StrEnum):
    ALLOW = "allow"  # runs without a click where the table leaves the choice
    ASK = "ask"  # waits for a click
    OBSERVE = "observe"  # practice: recorded, not run


class Verdict(StrEnum):
    RUN = "run"  # runs without a click
    ASK = "ask"  # parks for a person's decision
    OBSERVE = "observe"  # recorded, not run
    REFUSE = "refuse"  # not run, and the model is told


class Column(StrEnum):
    """Whose wish a call is, as far as the gate can tell; where several fit, the later one holds."""

    OWNER = "owner"  # owner or program, untainted
    TAINTED = "tainted"  # owner or program, after reading words from outside
    MEMBER = "member"  # somebody who may ask for work, and approve nothing
    SCHEDULE = "schedule"
    OUTSIDE = "outside"  # event, done, reply
    OBSERVE = "observe"
    WATCH = "watch"


class BySetting(StrEnum):
    """A cell that leaves the choice to the owner's setting: allow runs, ask asks."""

    SETTING = "setting"


_RUN, _ASK, _OBSERVE, _REFUSE = Verdict.RUN, Verdict.ASK, Verdict.OBSERVE, Verdict.REFUSE
_SETTING = BySetting.SETTING

_LOOKS = (_RUN, _RUN, _RUN, _RUN, _RUN, _RUN, _RUN)
_WRITES = (_RUN, _RUN, _RUN, _RUN, _RUN, _OBSERVE, _REFUSE)
_ANSWERS = (_RUN, _ASK, _ASK, _ASK, _ASK, _OBSERVE, _REFUSE)
_ACTS = (_SETTING, _ASK, _ASK, _ASK, _ASK, _OBSERVE, _REFUSE)
_ALWAYS_ASKS = (_ASK, _ASK, _ASK, _ASK, _ASK, _OBSERVE, _REFUSE)

_ROWS: dict[Risk, tuple[Verdict | BySetting, ...]] = {
    Risk.READ: _LOOKS,
    Risk.DRAFT: _WRITES,
    Risk.ROUTINE: _ANSWERS,
    Risk.CONTACT: _ACTS,
    Risk.SPEND: _ACTS,
    Risk.CHANGE: _ACTS,
    Risk.REMOVE: _ALWAYS_ASKS,
    Risk.PROFILE: _ALWAYS_ASKS,
}

TABLE: Mapping[tuple[str, str], Verdict | BySetting] = MappingProxyType(
    {(risk, column): cell for risk, row in _ROWS.items() for column, cell in zip(Column, row, strict=True)}
)
"""Every cell of states.md §4 by (risk, column)."""

_COLUMN_OF_ORIGIN: Mapping[str, Column] = MappingProxyType(
    {
        Origin.OWNER: Column.OWNER,
        Origin.PROGRAM: Column.OWNER,
        Origin.MEMBER: Column.MEMBER,
        Origin.SCHEDULE: Column.SCHEDULE,
        Origin.EVENT: Column.OUTSIDE,
        Origin.DONE: Column.OUTSIDE,
        Origin.REPLY: Column.OUTSIDE,
    }
)

_TAINTS: frozenset[str] = frozenset(Taint)
_MODES: frozenset[str] = frozenset(Mode)
_SETTINGS: frozenset[str] = frozenset(Setting)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """What the gate says of one call, and the rule that says it, e.g. ``spend:owner:ask``."""

    verdict: Verdict
    rule: str


def column(*, origin: str, taint: str, mode: str, setting: str) -> Column | None:
    """The rightmost column that fits, or None where one of the four words is unknown (I13).

    A delegate has its parent's column; whoever asks passes the parent's origin for it.
    """
    known = _COLUMN_OF_ORIGIN.get(origin)
    if known is None or taint not in _TAINTS or mode not in _MODES or setting not in _SETTINGS:
        return None
    if mode == Mode.WATCH:
        return Column.WATCH
    if mode == Mode.OBSERVE or setting == Setting.OBSERVE:
        return Column.OBSERVE
    if known is Column.OWNER and taint == Taint.OUTSIDE:
        return Column.TAINTED
    return known


def rule(risk: str, *, origin: str, taint: str, mode: str, setting: str) -> Ruling:
    """The verdict for a call of *risk*, with the rule's name. Total: the unknown is refused (I13).

    Source: states.md §4. The words come as text so that what a damaged row says is refused
    rather than raised.
    """
    place = column(origin=origin, taint=taint, mode=mode, setting=setting)
    cell = None if place is None else TABLE.get((risk, place))
    if place is None or cell is None:
        return Ruling(verdict=Verdict.REFUSE, rule="unknown")
    if cell is BySetting.SETTING:
        verdict = Verdict.RUN if setting == Setting.ALLOW else Verdict.ASK
        return Ruling(verdict=verdict, rule=f"{risk}:{place}:{setting}")
    by_setting = place is Column.OBSERVE and mode != Mode.OBSERVE
    return Ruling(
        verdict=Verdict(cell), rule=f"{risk}:{place}:{setting}" if by_setting else f"{risk}:{place}"
    )


_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "unknown": "refused: it is not in the table of what may run",
        "tool": "refused: there is no such tool for this agent",
        "arguments": "refused: the arguments are not what the tool takes",
        "declined": "refused: you declined this very call",
        "too_many": "refused: more calls in one round than are taken",
        "wrap_up": "refused: this was the closing round",
        "owner_call": "you asked to send it again",
        "egress": "asks first: the task has read records of yours and a stranger's words, and would go there",
    }
)

_COLUMN_WORDS: Mapping[str, str] = MappingProxyType(
    {
        Column.OWNER: "a task you asked for",
        Column.TAINTED: "a task that has read words from outside",
        Column.MEMBER: "a task that somebody asked for, or wrote in, who may not approve it",
        Column.SCHEDULE: "a task the schedule started",
        Column.OUTSIDE: "a task that something outside started",
        Column.OBSERVE: "practice",
        Column.WATCH: "a task that only looks",
    }
)

_VERDICT_WORDS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.RUN: "runs without a click",
        Verdict.ASK: "asks first",
        Verdict.OBSERVE: "is only recorded",
        Verdict.REFUSE: "is refused",
    }
)


def observed_by(rule: str) -> str:
    """Why a call of *rule* was only recorded: practice, or what an owner or the folder says of it."""
    return "setting: observe" if rule.endswith(":observe:observe") else "practice"


def words(ruling: Ruling) -> str:
    """The rule as a sentence for a card: ``spend asks first in a task you asked for (setting: ask)``."""
    if (said := _WORDS.get(ruling.rule)) is not None:
        return said
    risk, _, rest = ruling.rule.partition(":")
    place, _, setting = rest.partition(":")
    chosen = f" (setting: {setting})" if setting else ""
    if place == Column.OBSERVE and setting:
        return f"{risk} {_VERDICT_WORDS[ruling.verdict]}{chosen}"
    return f"{risk} {_VERDICT_WORDS[ruling.verdict]} in {_COLUMN_WORDS.get(place, place)}{chosen}"
