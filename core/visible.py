"""Text as it is to be read: what would hide or reorder other characters is spelled out."""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters and marks that are drawn as nothing."""


def visible(text: str, *, lines: bool = False) -> str:
    """*text* with every character that hides or reorders others spelled out; line breaks kept if *lines*."""
    return "".join(c if _shows(c, lines=lines) else f"⟨U+{ord(c):04X}⟩" for c in text)


def hidden(text: str) -> str | None:
    """The first character of *text* that hides or reorders others; line breaks, tabs and emoji don't."""
    if text.isascii() and text.isprintable():
        return None
    for n, c in enumerate(text):
        if not (
            c == "\t" or _shows(c, lines=True) or _in_emoji(text[max(n - 1, 0) : n], c, text[n + 1 : n + 2])
        ):
            return c
    return None


def _in_emoji(before: str, c: str, after: str) -> bool:
    """*c* says, once, how the sign *before* it is drawn, or joins it to the one *after*."""
    if c == "\ufe0f":
        return after == "\u20e3" or _is_sign(before)
    return c == "\u200d" and (before == "\ufe0f" or _is_sign(before)) and _is_sign(after)


def _is_sign(c: str) -> bool:
    return bool(c) and unicodedata.category(c) in ("So", "Sm", "Sk")


def line(text: str, limit: int) -> str:
    """*text* on one line, visible, cut to *limit* characters."""
    seen = visible(text[: limit + 1])  # cut first, so that a huge text costs nothing
    return seen if len(seen) <= limit else f"{seen[: limit - 1]}…"


def _shows(c: str, *, lines: bool) -> bool:
    if c == "\n":
        return lines
    variation = "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"
    return unicodedata.category(c) not in _HIDDEN and c not in _FILLERS and not variation
