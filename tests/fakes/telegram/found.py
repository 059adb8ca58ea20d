"""What Telegram makes of a text by itself, whatever entities came with it: mentions, links, commands."""

import re
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from tests.fakes.telegram.domains import is_common
from tests.fakes.telegram.text import units
from tests.fakes.telegram.things import Found

SHORT: Final = frozenset({"gif", "vid", "pic"})
"""Mentions of fewer than four letters that there are."""

MENTION: Final = re.compile(r"(?<!\w)@([A-Za-z0-9_]{2,32})(?!\w)")
COMMAND: Final = re.compile(r"(?<![\w/<>])/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{3,32}))?(?![\w/<>@])")
HASHTAG: Final = re.compile(r"(?<![\w\u200c\u00b7])#([\w\u200c\u00b7]{1,256})(?![\w\u200c\u00b7]*#)")
CASHTAG: Final = re.compile(r"(?<![\w$])\$(?:1INCH|[A-Z]{1,8})(?![\w$])")
CARD: Final = re.compile(r"(?<![+\w.,-])\d(?:[ -]?\d){12,18}(?![\w-])")

SPACES: Final = r"\s\u2000-\u200b\u200e\u200f\u2016-\u206f"
PATH: Final = rf"(?:[/?#][^{SPACES}<>«»\"]*)?"
DOMAIN: Final = rf"(?:[A-Za-z0-9_~\-.]|[^\x00-\xbf{SPACES}])"
LINK: Final = re.compile(
    rf"(?P<scheme>[A-Za-z0-9+\-]+://)?(?P<user>[^{SPACES}/\[\]{{}}()'`<>\"@«»]+@)?"
    rf"(?P<domain>{DOMAIN}*\.{DOMAIN}+)(?P<port>:\d{{1,5}})?(?P<path>{PATH})"
)
INNER: Final = re.compile(rf"(?:tg|ton)://[A-Za-z0-9_-]{{1,253}}{PATH}", re.IGNORECASE)
EMAIL: Final = re.compile(
    r"(?:mailto:)?((?:[a-z0-9_-]{0,26}[.+]){0,10}[a-z0-9_-]{1,35}"
    r"@(?:(?:[a-z0-9][a-z0-9_-]{0,28})?[a-z0-9][.]){1,6}[a-z]{2,8})",
    re.IGNORECASE,
)
ENDINGS: Final = ".:;,('?!`"

Finder: TypeAlias = Callable[[str], Iterator[tuple[str, int, int]]]
"""Of a text: the kind of each thing found, and where it begins and ends, in characters."""


def detect(text: str) -> list[Found]:
    """All that Telegram finds in *text*, in order; of what overlaps, the first and longest."""
    hits = sorted(
        (begin, -end, kind) for finder in FINDERS for kind, begin, end in finder(text) if end > begin
    )
    found: list[Found] = []
    last = 0
    for begin, minus_end, kind in hits:
        if begin >= last:
            last = -minus_end
            found.append(
                Found(
                    type=kind,
                    offset=units(text[:begin]),
                    length=units(text[begin:last]),
                    text=text[begin:last],
                )
            )
    return found


def _mentions(text: str) -> Iterator[tuple[str, int, int]]:
    for match in MENTION.finditer(text):
        if len(match[1]) >= 4 or match[1].lower() in SHORT:
            yield "mention", *match.span()


def _commands(text: str) -> Iterator[tuple[str, int, int]]:
    for match in COMMAND.finditer(text):
        yield "bot_command", *match.span()


def _hashtags(text: str) -> Iterator[tuple[str, int, int]]:
    for match in HASHTAG.finditer(text):
        if any(character.isalpha() for character in match[1]):
            yield "hashtag", *match.span()


def _cashtags(text: str) -> Iterator[tuple[str, int, int]]:
    for match in CASHTAG.finditer(text):
        yield "cashtag", *match.span()


def _cards(text: str) -> Iterator[tuple[str, int, int]]:
    for match in CARD.finditer(text):
        digits = [int(digit) for digit in match[0] if digit.isdigit()]
        doubled = [2 * d - 9 * (d > 4) if place % 2 else d for place, d in enumerate(reversed(digits))]
        if sum(doubled) % 10 == 0:
            yield "bank_card_number", *match.span()


def _inner_links(text: str) -> Iterator[tuple[str, int, int]]:
    for match in INNER.finditer(text):
        yield "url", match.start(), match.start() + len(match[0].rstrip(ENDINGS))


def _links(text: str) -> Iterator[tuple[str, int, int]]:
    for match in LINK.finditer(text):
        begin, end = match.span()
        scheme, user, domain = match["scheme"], match["user"], match["domain"].rstrip(".")
        path = _balanced(match["path"])
        if not path:
            end = match.end("port") if match["port"] else match.start("domain") + len(domain)
        else:
            end = match.start("path") + len(path)
        if user and not scheme and (email := EMAIL.fullmatch(text, begin, end)):
            yield "email", *email.span(1)
            continue
        protocol = scheme[:-3].lower() if scheme else ""
        known = next((p for p in ("https", "http", "ftp") if protocol.endswith(p)), "")
        if scheme:
            if not known or protocol in ("shttp", "tftp", "sftp"):
                continue
            begin += len(protocol) - len(known)
        elif begin and (text[begin - 1].isalnum() or text[begin - 1] in "_/#@"):
            continue
        if _is_host(domain, with_protocol=bool(scheme)):
            yield "url", begin, end


def _balanced(path: str) -> str:
    """*path* until a bracket closes that it did not open, and without a sentence's end."""
    opened: list[str] = []
    for position, character in enumerate(path):
        if character in "([{":
            opened.append(character)
        elif character in ")]}":
            if not opened:
                path = path[:position]
                break
            opened.pop()
    kept = path.rstrip(ENDINGS)
    return "" if kept in ("", "?", "#") else kept


def _is_host(domain: str, *, with_protocol: bool) -> bool:
    """It names a machine: an address of four numbers, or a name under a top-level domain that there is."""
    parts = domain.split(".")
    if len(parts) < 2 or any(not part or len(part) > 63 or part.endswith("-") for part in parts):
        return False
    if all(part.isascii() and part.isdigit() for part in parts):
        return len(parts) == 4 and all(int(part) < 256 and str(int(part)) == part for part in parts)
    top = parts[-1]
    if len(top) < 2 or "_" in parts[-2]:
        return False
    if top.startswith("xn--"):
        return len(top) > 5 and top[4:].isalnum()
    if "_" in top or "-" in top:
        return False
    return with_protocol or is_common(top)


FINDERS: Final[tuple[Finder, ...]] = (
    _mentions,
    _commands,
    _hashtags,
    _cashtags,
    _cards,
    _inner_links,
    _links,
)
