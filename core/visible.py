"""Text as it is to be read: what would hide or reorder other characters is spelled out."""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that are drawn as nothing."""


def visible(text: str, *, lines: bool = False) -> str:
    """*text* with every character that hides or reorders others spelled out; line breaks kept if *lines*."""
    return "".join(c if _shows(c, lines=lines) else f"⟨U+{ord(c):04X}⟩" for c in text)


def line(text: str, limit: int) -> str:
    """*text* on one line, visible, cut to *limit* characters."""
    seen = visible(text[: limit + 1])  # cut first, so that a huge text costs nothing
    return seen if len(seen) <= limit else f"{seen[: limit - 1]}…"


def _shows(c: str, *, lines: bool) -> bool:
    if c == "\n":
        return lines
    variation = "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"
    return unicodedata.category(c) not in _HIDDEN and c not in _FILLERS and not variation
