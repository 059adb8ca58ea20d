"""Commands that words name in backticks, as they are typed here: with a slash.

Whose words they are can't be told any more: what people wrote stands among ours. So what can be tapped only
shows something; every other command is code, which is copied when it is tapped, and sent by nobody.
"""

import re
from collections.abc import Iterator
from typing import Final

from adapters.telegram.shown.text import Text, code, plain, safe
from core.commands import BY_NAME

SHOWING: Final = frozenset({"agents", "budget", "help", "pending", "rules", "tasks"})
"""Commands that, alone, change nothing."""
_NAMED: Final = re.compile(r"(?<!\w)`([a-z]+)((?: [^`\n]*)?)`(?!\w)")


def typed_here(words: str) -> str:
    """*words* with each command as it is typed."""
    return "".join(command or other for other, command in _parts(words))


def with_commands(words: str) -> Text:
    """The same as a text, safe but for its commands."""
    made = Text()
    for other, command in _parts(words):
        set_so = plain if command.removeprefix("/") in SHOWING else code
        made += set_so(command) if command else safe(other)
    return made


def _parts(words: str) -> Iterator[tuple[str, str]]:
    """What is no command, or a command, in their order; the other of both is empty."""
    begin = 0
    for found in _NAMED.finditer(words):
        if found[1] in BY_NAME:
            yield words[begin : found.start()], ""
            yield "", f"/{found[1]}{found[2]}".rstrip()
            begin = found.end()
    yield words[begin:], ""
