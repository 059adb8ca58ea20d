"""How secrets look: tokens of the services people use, keys, logins in addresses, ``password=…``.

None of what is found goes past the end of a quoted line, so that a fence stays whole around it (I27). Each
expression takes time in proportion to the text, whoever wrote it: what it repeats it never reads twice
from one place, and where it can fail after a long stretch, it starts only at the stretch's beginning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """A kind of secret. Looked for only where one of *hints* is in the text (in small letters, if *folded*).

    The secret is the group *it* of what *expression* finds, or all of it.
    """

    hints: tuple[str, ...]
    expression: re.Pattern[str]
    folded: bool = False


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrt]))"
"""Where a word begins, also behind an escape."""

_OTHER_TOKENS = "".join(
    f"(?<!{each}token)(?<!{each}[_-]token)" for each in ("page", "next", "sync", "continuation", "cursor")
)
"""What is called a token and keeps nothing secret: where a list goes on."""

_NAMES = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret(?:[_-]?key)?|(?:api|access|private)[_-]?key|credentials?|"
    rf"token{_OTHER_TOKENS})"
)
SECRET_NAME: Final = re.compile(rf"(?:{_NAMES}|authorization)\Z", re.IGNORECASE)
"""How the name of a field ends whose text is a secret."""

_NONE = r"(?!\[secret|(?:none|null|true|false|not)\b)"

LOOKS: Final = (
    Look(hints=("sk-",), expression=re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}")),
    Look(
        hints=("k_live_", "k_test_", "whsec_"),
        expression=re.compile(r"(?:[rs]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}"),
    ),
    Look(
        hints=("xox", "xapp-"),
        expression=re.compile(r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}"),
    ),
    Look(
        hints=("hooks.slack.com/",),
        expression=re.compile(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<it>[A-Za-z0-9/_-]{8,})"
        ),
    ),
    Look(
        hints=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
        expression=re.compile(r"(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{20,}"),
    ),
    Look(hints=("AKIA", "ASIA"), expression=re.compile(rf"{_START}A[KS]IA[A-Z0-9]{{16,}}")),
    Look(
        hints=("AIza", "ya29.", "GOCSPX-"),
        expression=re.compile(
            r"(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})"
        ),
    ),
    Look(  # Telegram: the bot's number, and 35 characters
        hints=(":", "%3A"), expression=re.compile(r"(?<![0-9])[0-9]{6,12}(?::|%3A)[A-Za-z0-9_-]{30,}")
    ),
    Look(
        hints=("eyJ",),
        expression=re.compile(
            rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]{{8,}}(?:\.[A-Za-z0-9_-]*)*",
        ),
    ),
    Look(
        hints=("PRIVATE KEY",),  # also one that was cut, and one whose lines are escaped or fenced
        expression=re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?:(?!-----END)[A-Za-z0-9+/=:,|\\\s-])*"
            r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----)?"
        ),
    ),
    Look(hints=("://",), expression=re.compile(r"""://[^\s/:@"'<>]*:(?P<it>[^\s/"'<>]+)@""")),
    Look(
        hints=("bearer", "basic"),
        folded=True,
        expression=re.compile(
            r"(?<![a-z0-9])(?:bearer|basic)(?:\s{1,4}|%20)(?=[a-z._~/-]{0,400}[0-9=_+])"
            r"(?P<it>[a-z0-9._~+/=-]{8,})",
            re.IGNORECASE,
        ),
    ),
    Look(
        hints=("authorization",),
        folded=True,
        expression=re.compile(
            rf"authorization\\?[\"']?\s{{0,4}}[:=]\s{{0,4}}\\?[\"']?(?![a-z]{{3,12}}\s{{1,4}}\[secret)"
            rf"(?:[a-z]{{3,12}}\s{{1,4}})?{_NONE}(?P<it>[^\s\"',;]{{4,}})",
            re.IGNORECASE,
        ),
    ),
)

_AT_ALL = re.compile(
    r"sk-|k_live_|k_test_|whsec_|xox|xapp-|slack\.com/|gh[pousr]_|github_pat_|glpat-|A[KS]IA|AIza|ya29\.|GOCSPX-|"
    r"[0-9]{6}(?::|%3A)|eyJ|PRIVATE KEY|://|"
    r"(?i:bearer|basic|authorization|passw|passphrase|pwd|secret|key|credential|token)"
)
"""What has none of these has nothing that is looked for."""

SHORT: Final = 2000
"""Up to so many characters one search for any of them is quicker than one for each."""

_PAIR_NAME = re.compile(_NAMES)
_PAIR_VALUE = re.compile(
    r"(?:\\?[\"'])?\s{0,4}(?:=>|:=|=|:|%3D)\s{0,4}"
    rf"(?:\\\"{_NONE}(?P<escaped>[^\"\\\n]{{4,}})"
    rf"|\"{_NONE}(?P<double>(?:[^\"\\\n]|\\.){{4,}})"
    rf"|'{_NONE}(?P<single>(?:[^'\\\n]|\\.){{4,}})"
    # Bare behind a colon it may be prose: only what has a digit in it
    rf"|(?<=[=D>])\s{{0,4}}{_NONE}(?P<equal>[^\s\"'&<>]{{4,}})"
    rf"|{_NONE}(?=[^\s\"'&<>]{{0,400}}[0-9])(?P<bare>[^\s\"'&<>]{{6,}}))",
    re.IGNORECASE,
)
"""What follows such a name in an assignment, an object, a header or an address."""


def looked_for(text: str, *, pairs: bool = True) -> Iterator[tuple[int, int]]:
    """Where in *text* something stands that looks like a secret.

    *pairs*: also what is a secret by the name beside it alone, as in ``password=…``.
    """
    if len(text) <= SHORT and _AT_ALL.search(text) is None:
        return
    folded = _folded(text)
    for look in LOOKS:
        within = folded if look.folded else text
        if any(hint in within for hint in look.hints):
            for found in look.expression.finditer(text):
                begin, end = found.span(found.lastgroup or 0)
                yield begin, end
    end = 0
    for name in _PAIR_NAME.finditer(folded) if pairs else ():
        if name.end() >= end and (value := _PAIR_VALUE.match(text, name.end())):
            begin, end = value.span(value.lastgroup or 0)
            yield begin, end


def _folded(text: str) -> str:
    """*text* in small letters, each where it was."""
    folded = text.lower()
    return folded if len(folded) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)
