"""The gate against the very table of docs/states.md §4, cell by cell."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.gate import TABLE, BySetting, Column, Risk, Setting, Verdict, rule, words
from core.tasks import Mode, Origin, Taint

STATES = Path(__file__).parents[2] / "docs" / "states.md"

COLUMNS = {
    "owner or program, untainted": Column.OWNER,
    "owner or program, tainted": Column.TAINTED,
    "member": Column.MEMBER,
    "schedule": Column.SCHEDULE,
    "event, done, reply": Column.OUTSIDE,
    "observe": Column.OBSERVE,
    "watch": Column.WATCH,
}
CELLS = {
    "run": Verdict.RUN,
    "ask": Verdict.ASK,
    "observe": Verdict.OBSERVE,
    "refuse": Verdict.REFUSE,
    "setting: allow → run, ask → ask": BySetting.SETTING,
}


def written() -> Iterator[tuple[str, Column, object]]:
    """(risk, column, cell) as the document's table says them."""
    section = STATES.read_text(encoding="utf-8").split("## 4. Gate", 1)[1].split("\n## ", 1)[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|") and not re.fullmatch(r"[|\-]+", line)
    ]
    head, body = rows[0], rows[1:]
    assert head[0] == "risk"
    for row in body:
        for risk in row[0].split(", "):
            for name, cell in zip(head[1:], row[1:], strict=True):
                yield risk, COLUMNS[name], CELLS[cell]


@pytest.mark.rule("C2", "C3", "C4", "I9", "I10", "I12")
def test_every_cell_is_what_the_document_says() -> None:
    cells = list(written())
    assert len(cells) == len(Risk) * len(Column) == 56
    assert {(risk, place): cell for risk, place, cell in cells} == dict(TABLE)


ORIGINS = {
    Column.OWNER: (Origin.OWNER, Origin.PROGRAM),
    Column.MEMBER: (Origin.MEMBER,),
    Column.SCHEDULE: (Origin.SCHEDULE,),
    Column.OUTSIDE: (Origin.EVENT, Origin.DONE, Origin.REPLY),
}


def expected_column(origin: Origin, taint: Taint, mode: Mode, setting: Setting) -> Column:
    """The rightmost of all columns that fit, by the document's words."""
    fits = [place for place, origins in ORIGINS.items() if origin in origins]
    if origin in (Origin.OWNER, Origin.PROGRAM) and taint is Taint.OUTSIDE:
        fits.append(Column.TAINTED)
    if mode is Mode.OBSERVE or setting is Setting.OBSERVE:
        fits.append(Column.OBSERVE)
    if mode is Mode.WATCH:
        fits.append(Column.WATCH)
    return max(fits, key=list(Column).index)


@pytest.mark.rule("I9", "I10", "I12")
def test_the_rightmost_column_that_fits_decides() -> None:
    known = [o for o in Origin if o is not Origin.DELEGATE]
    looked_at = 0
    for risk, origin, taint, mode, setting in itertools.product(Risk, known, Taint, Mode, Setting):
        cell = TABLE[risk, expected_column(origin, taint, mode, setting)]
        if cell is BySetting.SETTING:
            cell = Verdict.RUN if setting is Setting.ALLOW else Verdict.ASK
        ruling = rule(risk, origin=origin, taint=taint, mode=mode, setting=setting)
        assert (ruling.verdict, ruling.rule.split(":")[0]) == (cell, risk)
        looked_at += 1
    assert looked_at == 8 * 7 * 2 * 3 * 3


@pytest.mark.rule("I13")
@pytest.mark.parametrize("wrong", ["risk", "origin", "taint", "mode", "setting"])
@pytest.mark.parametrize("word", ["", "Read", "contcat", "run", "delegate", "allow "])
def test_an_unknown_word_is_refused(wrong: str, word: str) -> None:
    said = {"risk": "read", "origin": "owner", "taint": "none", "mode": "normal", "setting": "allow"}
    said[wrong] = word
    risk = said.pop("risk")
    ruling = rule(risk, **said)
    assert (ruling.verdict, ruling.rule) == (Verdict.REFUSE, "unknown")


@pytest.mark.rule("C2")
def test_each_rule_has_words_for_the_card() -> None:
    ruling = rule("spend", origin="owner", taint="none", mode="normal", setting="ask")
    assert ruling.rule == "spend:owner:ask"
    assert words(ruling) == "spend asks first in a task you asked for (setting: ask)"
    ruling = rule("remove", origin="event", taint="none", mode="normal", setting="allow")
    assert words(ruling) == "remove asks first in a task that something outside started"
