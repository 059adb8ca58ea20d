"""Slack's markup in and out: what people wrote as plain words, and words that are never read as markup."""

import re
from typing import Final

_MARKS: Final = re.compile(r"<([^<>]*)>")
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def escaped(text: str) -> str:
    """*text* where Slack reads markup: it can name nobody and link to nothing."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain(text: str, bot_user: str) -> str:
    """What somebody wrote, as words: who is named as ``@U1``, an address as it is, the bot left out."""
    without = re.sub(rf"\s*<@{re.escape(bot_user)}(?:\|[^<>]*)?>[ \t]*", _gap, text)
    words = _MARKS.sub(lambda mark: _mark(mark[1]), without)
    for written, meant in _ESCAPES:
        words = words.replace(written, meant)
    return words.strip()


def names(text: str, bot_user: str) -> bool:
    """Whether *text* names *bot_user*."""
    return re.search(rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>", text) is not None


def _gap(found: re.Match[str]) -> str:
    """What is left where the bot was named: the line break before it, or a blank."""
    return "\n" if "\n" in found[0] else " "


def _mark(inside: str) -> str:
    target, bar, label = inside.partition("|")
    if target.startswith(("@", "#")):
        return f"{target[0]}{(label or target[1:]).lstrip('@#')}"
    if target.startswith("!"):
        return label or f"@{target[1:]}"
    if target.startswith("mailto:"):
        return label or target.removeprefix("mailto:")
    return f"{label} ({target})" if bar and label and label not in target else target
