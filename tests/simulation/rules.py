"""How a broken invariant of docs/states.md is said."""


class Violation(AssertionError):
    """``I4: …``: the rule, and what was seen."""

    @property
    def rule(self) -> str:
        return str(self).partition(":")[0]


def demand(holds: bool, words: str) -> None:
    """Raises Violation with *words*, which begin with the rule."""
    if not holds:
        raise Violation(words)
