"""``python -m tests.simulation --seeds 10000 [--json]``: lives through the worlds of so many seeds.

A seed that breaks a rule is told with the command that lives through it again and shows its trace.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from tests.simulation.faults import Fault
from tests.simulation.world import Verdict, simulate

CHUNK = 20
SHOWN = 5
"""Violations told in full; more of the same say no more."""


@dataclass(kw_only=True)
class Tally:
    """What all seeds together came to."""

    seeds: int = 0
    broken: list[Verdict] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    sends: int = 0
    duplicates: int = 0
    transactions: int = 0
    seconds: float = 0.0

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.faults += verdict.faults
        self.seen += verdict.seen
        self.sends += verdict.sends
        self.duplicates += verdict.duplicates
        self.transactions += verdict.transactions
        if verdict.broken is not None:
            self.broken.append(verdict)

    def as_json(self) -> str:
        """One line: seeds, violations, fault_kinds, sends, duplicates, seconds, and what else was counted."""
        return json.dumps(
            {
                "seeds": self.seeds,
                "violations": len(self.broken),
                "fault_kinds": len(self.faults),
                "sends": self.sends,
                "duplicates": self.duplicates,
                "seconds": round(self.seconds, 2),
                "transactions": self.transactions,
                "rules": dict(Counter(v.rule for v in self.broken)),
                "failing_seeds": [v.seed for v in self.broken[:20]],
                "faults": dict(sorted(self.faults.items())),
            }
        )


def replay(seed: int) -> str:
    """The command that lives through *seed* again, with its trace."""
    return f"python -m tests.simulation --replay {seed}"


def lived(seeds: Sequence[int]) -> list[Verdict]:
    """The verdicts of *seeds*, in their order."""
    return [simulate(seed) for seed in seeds]


def verdicts(seeds: range, jobs: int) -> Iterator[Verdict]:
    """Of each seed, in order, by *jobs* processes."""
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    if jobs == 1:
        for chunk in chunks:
            yield from lived(chunk)
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        for part in pool.map(lived, chunks):
            yield from part


def tallied(seeds: range, jobs: int, *, until: int | None = None) -> Tally:
    """The tally of *seeds*; with *until*, no further than so many violations."""
    tally, began = Tally(), time.perf_counter()
    for verdict in verdicts(seeds, jobs):
        tally.add(verdict)
        tally.seconds = time.perf_counter() - began
        _progress(tally, len(seeds))
        if until is not None and len(tally.broken) >= until:
            break
    return tally


def _progress(tally: Tally, of: int) -> None:
    if sys.stderr.isatty():
        rate = tally.seeds / tally.seconds * 60
        words = f"{tally.seeds:,} of {of:,} seeds, {len(tally.broken)} broken, {rate:,.0f} a minute"
        sys.stderr.write(f"\r{words}{'' if tally.seeds < of else chr(10)}")
        sys.stderr.flush()
    elif tally.seeds % max(1, of // 10) == 0:
        sys.stderr.write(f"{tally.seeds:,} of {of:,} seeds, {len(tally.broken)} broken\n")


def _told(tally: Tally) -> str:
    lines = [f"seed {v.seed}: {v.broken}\n  {replay(v.seed)}" for v in tally.broken[:SHOWN]]
    if len(tally.broken) > SHOWN:
        lines.append(f"and {len(tally.broken) - SHOWN} more")
    missing = [fault.name for fault in Fault if fault.name not in tally.faults]
    rate = tally.seeds / tally.seconds * 60
    lines += [
        f"{tally.seeds:,} seeds in {tally.seconds:.1f} s ({rate:,.0f} a minute): "
        f"{len(tally.broken)} broke a rule",
        f"{tally.transactions:,} transactions looked at, {tally.sends:,} sends, {tally.duplicates} doubled",
        f"{len(tally.faults)} of {len(Fault)} kinds of fault happened"
        + (f"; never: {', '.join(missing)}" if missing else ""),
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)"
    )
    parser.add_argument("--until", type=int, help="stop after so many violations")
    parser.add_argument("--json", action="store_true", help="the last line is JSON")
    parser.add_argument("--replay", type=int, metavar="SEED", help="one seed again, with its trace")
    asked = parser.parse_args(argv)
    if asked.replay is not None:
        verdict = simulate(asked.replay, traced=True)
        sys.stdout.write("\n".join((*verdict.trace, verdict.broken or "every rule held", "")))
        return 1 if verdict.broken else 0
    tally = tallied(range(asked.first, asked.first + asked.seeds), asked.jobs, until=asked.until)
    sys.stdout.write(f"{_told(tally)}\n")
    if asked.json:
        sys.stdout.write(f"{tally.as_json()}\n")
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
