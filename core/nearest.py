"""What somebody who mistyped a word may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, words: Iterable[str]) -> str:
    """`` (did you mean refund?)`` where one of *words* is close to *word*, else nothing."""
    near = get_close_matches(word, list(words), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
