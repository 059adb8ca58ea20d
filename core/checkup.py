"""What a look at a deployment found. Surfaces look, and the command line says it; neither is known here."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.visible import line


class State(StrEnum):
    WELL = "well"
    WRONG = "wrong"
    UNCHECKED = "unchecked"  # not set up, or what it stands on is wrong


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was looked at. *said*: how it is. *mend*: what to do; of what is well a remark."""

    name: str
    state: State
    said: str
    mend: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Routed:
    """Cards of *whose* go to *ref*. *elsewhere*: the command that sends them on, but for where to."""

    whose: str
    ref: str
    elsewhere: str


def well(name: str, said: str, remark: str = "") -> Finding:
    return Finding(name=name, state=State.WELL, said=said, mend=remark)


def wrong(name: str, said: str, mend: str) -> Finding:
    return Finding(name=name, state=State.WRONG, said=said, mend=mend)


def unchecked(name: str, why: str, mend: str = "") -> Finding:
    return Finding(name=name, state=State.UNCHECKED, said=why, mend=mend)


def failed(findings: Iterable[Finding]) -> list[Finding]:
    """Those that are wrong."""
    return [each for each in findings if each.state is State.WRONG]


def sentence(error: Exception) -> str:
    """What *error* says, on one line of sane length."""
    return line(str(error), 300)
