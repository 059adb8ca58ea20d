"""The smallest moves: one that looks, one that writes what it is told, one that changes the task."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from core.work import Lost, Move, Work
from tests.contract import factories as make


def read(work: Work, at: datetime) -> tuple[Lost, Work]:
    """A move that only looks."""
    return Lost(why="only looking"), work


def writing(**over: Any) -> Move[datetime]:
    """A move that leaves the task's row and writes what *over* says."""
    return lambda work, at: (make.change(work.task, **over), at)


def becoming(**fields: Any) -> Move[datetime]:
    """A move that changes *fields* of the task."""
    return lambda work, at: (make.change(replace(work.task, **fields)), at)
