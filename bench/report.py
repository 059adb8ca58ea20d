"""`python -m bench.report`: docs/PERFORMANCE.md from what the benchmarks left in build/bench."""

import sys
from collections.abc import Iterator, Sequence

from bench.result import ROOT, Result, Table, kept

PAGE = ROOT / "docs" / "PERFORMANCE.md"
HEAD = """# Performance

Made by `python -m bench.report` from the results of the commands below; no figure is written by hand.
Figures of one machine at one time: compare rows of one table, not tables of different days.
"""


def page(results: Sequence[Result]) -> str:
    """The page as Markdown."""
    return "\n".join([HEAD, *(line for result in results for line in _section(result))])


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.title}\n"
    yield f"`{result.command}`, {result.date}\n"
    yield from (f"- {line}" for line in result.machine)
    yield ""
    for table in result.tables:
        yield from _table(table)


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.title}\n"
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns))
    yield from map(_row, table.rows)
    yield ""
    yield from (f"{note}\n" for note in table.notes)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def main() -> int:
    """The page is written; 1 if there is nothing to write it from."""
    results = kept()
    if not results:
        sys.stderr.write(
            "no results in build/bench; run `python bench/queue.py` or `python bench/turns.py` first\n"
        )
        return 1
    PAGE.write_text(page(results), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}: {', '.join(result.name for result in results)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
