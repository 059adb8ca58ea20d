"""Text as it is to be read: what would hide or reorder other characters is spelled out, and is read back."""

import re
import unicodedata
from typing import Final

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\U00016fe4\U0001d159")
"""Letters, marks and signs that are drawn as nothing."""
_VARIATIONS: Final = (("\u180b", "\u180f"), ("\ufe00", "\ufe0f"), ("\U000e0100", "\U000e01ef"))
"""What chooses how the sign before it is drawn, first and last of each block."""

_OPENS: Final = "⟨"
"""How a spelled-out character begins; in the text itself it is spelled out too, so that none is forged."""
_SPELLED = re.compile("⟨U\\+([0-9A-F]{4,6})⟩")


def visible(text: str, *, lines: bool = False) -> str:
    """*text* with every character that hides or reorders others spelled out; line breaks kept if *lines*.

    No two texts are shown alike: `raw` has the text again.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _shows(c, lines=lines) and c != _OPENS else f"⟨U+{ord(c):04X}⟩" for c in text)


def raw(seen: str) -> str:
    """The text that `visible` shows as *seen*; of words a person typed, those with what they spelled out."""
    return _SPELLED.sub(lambda spelled: _character(spelled), seen)


def _character(spelled: re.Match[str]) -> str:
    code = int(spelled[1], 16)
    return chr(code) if code <= 0x10FFFF else spelled[0]


def cut(seen: str, most: int) -> str:
    """The first *most* characters of what is *seen*, fewer where a spelled-out one would be cut in two."""
    part = seen[:most]
    opened = part.rfind(_OPENS)
    inside = len(part) < len(seen) and opened >= 0 and "⟩" not in part[opened:]
    return part[:opened] if inside else part


def shortened(seen: str, most: int) -> str:
    """At most *most* characters of what is *seen*, an ellipsis for what is missing."""
    return seen if len(seen) <= most else f"{cut(seen, most - 1)}…"


def units(text: str) -> int:
    """The length of *text* as chats count it: in UTF-16, where a sign outside the basic plane is two."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


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
    return seen if len(seen) <= limit else f"{cut(seen, limit - 1)}…"


def _shows(c: str, *, lines: bool) -> bool:
    if c == "\n":
        return lines
    variation = any(first <= c <= last for first, last in _VARIATIONS)
    return unicodedata.category(c) not in _HIDDEN and c not in _FILLERS and not variation
