"""A benchmark's result as it is kept: where, how and when it ran, and its tables.

Each benchmark writes one to build/bench; `python -m bench.report` makes docs/PERFORMANCE.md of them.
"""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench"


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of cells as people read them, under *columns*; *notes* say what a figure means."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    name: str
    title: str
    command: str
    date: str
    machine: Sequence[str]
    tables: Sequence[Table]


def machine() -> list[str]:
    """What the figures depend on, a line each, as it is now."""
    return [
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
        f"{platform.python_implementation()} {platform.python_version()}",
    ]


def load() -> str:
    """How busy the machine is: the mean number of runnable processes over the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def keep(result: Result) -> Path:
    """*result* is in build/bench, under its name."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{result.name}.json"
    path.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def kept() -> list[Result]:
    """The results that are there, by name."""
    return [_read(path) for path in sorted(RESULTS.glob("*.json"))]


def _read(path: Path) -> Result:
    said = json.loads(path.read_text(encoding="utf-8"))
    return Result(**{**said, "tables": [Table(**table) for table in said["tables"]]})


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
