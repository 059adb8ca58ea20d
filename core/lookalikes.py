"""Words that look like others: letters of two alphabets in one word, hosts that are not what they seem.

Nothing is refused for it: many an honest text mixes. Who decides is told.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from core.visible import cut, visible

_ALPHABETS: Final = frozenset(
    "LATIN CYRILLIC GREEK ARMENIAN COPTIC CHEROKEE LISU GEORGIAN FULLWIDTH MATHEMATICAL".split()
)
"""Those whose letters are drawn like one another's; the first word of a letter's name in Unicode."""

_WORD = re.compile(r"[^\W\d_]+")
_LABEL: Final = r"[^\s/?#@:,;<>()\[\]{}\"'\\⟨⟩]+"
_DOT: Final = "[.\u3002\uff0e\uff61]"
"""What readers of host names take for a dot."""
_HOST = re.compile(
    rf"//(?:[^\s/?#@]*@)?({_LABEL})"  # whatever an address leads to
    rf"|@({_LABEL}{_DOT}{_LABEL})"  # where mail goes
    rf"|(?<![\w.-])((?:[\w-]+{_DOT})++[a-zA-Z]{{2,}})"  # words joined by dots that end like a domain
)

LONGEST_WORD: Final = 60
"""Of a word or host in a warning."""
LONGEST_HOST: Final = 253
"""Of a host that anybody looks up."""
MOST: Final = 3
"""Warnings of one kind about one text: more say nothing new."""


def mixed(text: str) -> tuple[str, ...]:
    """Words of *text* with letters of more than one alphabet, each with their names; the first few."""
    return () if text.isascii() else tuple(_first(_mixed(text)))


def _mixed(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if not word.isascii() and len(names := _alphabets(word)) > 1:
            yield f"{_short(word)} mixes {' and '.join(names)} letters"


def _alphabets(word: str) -> list[str]:
    named = (unicodedata.name(c, "").partition(" ")[0] for c in word)
    return [name.capitalize() for name in sorted(set(named) & _ALPHABETS)]


def hosts(text: str) -> tuple[str, ...]:
    """Host names in *text* that are not plain ASCII, each with what a browser asks for; the first few."""
    return () if text.isascii() else tuple(_first(_hosts(text)))


def _hosts(text: str) -> Iterator[str]:
    for match in _HOST.finditer(text):
        host = (match[1] or match[2] or match[3])[:LONGEST_HOST].rstrip(".!…")
        if not host.isascii():
            yield f"{_short(host)} is {_short(ascii_host(host))}"


def ascii_host(host: str) -> str:
    """*host* as it is looked up: each label that is not ASCII in its ``xn--`` form."""
    return ".".join(map(_label, re.split(_DOT, host)))


def _label(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).lower()
    return folded if folded.isascii() else f"xn--{folded.encode('punycode').decode()}"


def _short(text: str) -> str:
    seen = visible(text)
    return seen if len(seen) <= LONGEST_WORD else f"{cut(seen, LONGEST_WORD)}…"


def _first(found: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for words in found:
        if words not in seen:
            seen.add(words)
            yield words
        if len(seen) == MOST:
            return
