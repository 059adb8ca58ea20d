"""How a broken invariant of docs/states.md is said."""

from tests.simulation.outside import CANARY, ENCODED


class Violation(AssertionError):
    """``I4: …``: the rule, and what was seen."""

    @property
    def rule(self) -> str:
        return str(self).partition(":")[0]


def unread(value: object, where: str) -> None:
    """I33: no secret stands in *value*, which somebody reads."""
    words = repr(value)
    demand(CANARY not in words and ENCODED not in words, f"I33: a secret stands in {where}")


def demand(holds: bool, words: str) -> None:
    """Raises Violation with *words*, which begin with the rule."""
    if not holds:
        raise Violation(words)
