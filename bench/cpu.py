"""Whose the machine's time is, by /proc: what a benchmark's own processes took of it, and what others did."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
OTHERS = "others"


@dataclass(frozen=True, kw_only=True, slots=True)
class Times:
    """Seconds of CPU so far: of the whole machine, and by pid of us and of all that we started."""

    at: float
    busy: float
    by_pid: Mapping[int, float]


def times() -> Times | None:
    """As they are now; None where there is no /proc."""
    if not (PROC / "stat").exists():
        return None
    first = (PROC / "stat").read_text().partition("\n")[0].split()
    user, nice, system, _, _, irq, softirq, *_ = (int(part) / TICK for part in first[1:])
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit() and (found := _process(folder)) is not None:
            parents[int(folder.name)], spent[int(folder.name)] = found
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    by_pid = {pid: seconds for pid, seconds in spent.items() if pid in ours}
    return Times(at=time.monotonic(), busy=user + nice + system + irq + softirq, by_pid=by_pid)


def _process(folder: Path) -> tuple[int, float] | None:
    """Its parent and its seconds; None where it has ended meanwhile."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), (int(fields[11]) + int(fields[12])) / TICK


def shares(before: Times, after: Times, names: Mapping[int, str], rest: str) -> dict[str, float]:
    """Cores used between the two, by name; *rest*: of ours that have no name, "others": of nobody of ours."""
    took = after.at - before.at
    found = dict.fromkeys([*names.values(), rest], 0.0)
    for pid, seconds in after.by_pid.items():
        found[names.get(pid, rest)] += (seconds - before.by_pid.get(pid, 0.0)) / took
    return {**found, OTHERS: max(0.0, (after.busy - before.busy) / took - sum(found.values()))}
