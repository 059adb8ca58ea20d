"""Texts with entities: what is bold, code or a quote stands beside the words, so that no words are markup.

Telegram's server looks for names, addresses, tags and commands by itself, in all that is no code: in words
that are not ours each of them is broken by a sign that is not drawn (`safe`), so that it names nobody and
leads nowhere. Lengths and offsets are in UTF-16 units, as Telegram counts them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Final, TypeAlias

from telegram import MessageEntity, User

from core.visible import cut, units

LONGEST: Final = 4_096
"""Of a message, in UTF-16 units."""
MOST_ENTITIES: Final = 100
"""That Telegram takes of a message; it drops the rest without a word."""
JOINER: Final = "\u2060"
"""WORD JOINER: nothing is drawn, no line breaks there, and no address goes on behind it. Words that are shown
have none of their own: `core.visible` spells it out."""
BLANKS: Final = " \n"
NOTHING: Final = "–"
"""For an empty text."""


class Kind(StrEnum):
    """How words are set. What comes later lies within what comes before, never across its border."""

    QUOTE = "blockquote"
    FOLDED = "expandable_blockquote"  # a quote whose beginning is seen until it is tapped
    BOLD = "bold"
    ITALIC = "italic"
    MENTION = "text_mention"  # a person, by their number
    CODE = "code"  # in letters of one width, within a line
    PRE = "pre"  # the same, as a paragraph


VERBATIM: Final = frozenset({Kind.CODE, Kind.PRE})
"""In these nothing else lies, and Telegram looks for nothing."""
QUOTES: Final = frozenset({Kind.QUOTE, Kind.FOLDED})


@dataclass(frozen=True, slots=True)
class Run:
    """Words that are set in one way. *user*: of a mention."""

    words: str
    kinds: frozenset[Kind] = frozenset()
    user: int | None = None


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of a text, in UTF-16 units."""

    kind: Kind
    offset: int
    length: int
    user: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """Words, and how each of them is set. Those that touch and are set alike are one stretch."""

    runs: tuple[Run, ...] = ()

    def __add__(self, other: "Text") -> "Text":
        return Text((*self.runs, *other.runs))

    def __bool__(self) -> bool:
        return any(run.words for run in self.runs)

    @property
    def words(self) -> str:
        return "".join(run.words for run in self.runs)

    @property
    def units(self) -> int:
        return units(self.words)

    @property
    def stretches(self) -> tuple[Entity, ...]:
        """The entities, first ones first, the longer of two that begin together before the shorter."""
        found = [one for kind in Kind for one in self._stretches(kind)]
        return tuple(sorted(found, key=lambda one: (one.offset, -one.length)))  # alike: the outer one first

    def _stretches(self, kind: Kind) -> Iterator[Entity]:
        """Blanks about what is set are not: Telegram takes them off, but of code."""
        around = tuple(Kind)[: tuple(Kind).index(kind)]
        offset = 0
        for (there, user, _), group in groupby(
            self.runs, key=lambda run: (kind in run.kinds, run.user, run.kinds.intersection(around))
        ):
            words = "".join(run.words for run in group)
            seen = words if kind in VERBATIM else words.strip(BLANKS)
            if there and seen:
                before = len(words) - len(words.lstrip(BLANKS)) if seen != words else 0
                named = user if kind is Kind.MENTION else None
                yield Entity(kind, offset + before, units(seen), named)
            offset += units(words)

    def entities(self) -> list[MessageEntity]:
        """As python-telegram-bot sends them."""
        return [
            MessageEntity(
                type=one.kind.value,
                offset=one.offset,
                length=one.length,
                user=None if one.user is None else User(id=one.user, first_name=NOTHING, is_bot=False),
            )
            for one in self.stretches
        ]

    @property
    def plain(self) -> "Text":
        """The same words, none of them set in any way; those that were code are broken as others are."""
        return Text(tuple(map(_unset, self.runs)))


Part: TypeAlias = str | Text
"""A str is somebody's words: they are made `safe`."""


# ── making ───────────────────────────────────────────────────────────────────────────────────


def plain(words: str) -> Text:
    """Words of ours, as they are."""
    return Text((Run(_kept(words)),)) if words else Text()


def safe(words: str) -> Text:
    """Words of anybody's: nothing in them is a link, a name, a tag or a command."""
    return Text((Run(_broken(_kept(words))),)) if words else Text()


def code(value: str) -> Text:
    """*value* to the character, within a line."""
    return Text((Run(_kept(value), frozenset({Kind.CODE})),)) if value else plain(NOTHING)


def pre(value: str) -> Text:
    """*value* to the character, as a paragraph."""
    return Text((Run(_kept(value), frozenset({Kind.PRE})),)) if value else plain(NOTHING)


def bold(*parts: Part) -> Text:
    return _set(Kind.BOLD, parts)


def italic(*parts: Part) -> Text:
    return _set(Kind.ITALIC, parts)


def quote(*parts: Part, expandable: bool = False) -> Text:
    """*parts* as a quote, a paragraph of its own; a code in it is plain there, a quote is the same one."""
    kind = Kind.FOLDED if expandable else Kind.QUOTE
    return _set(kind, [Text(tuple(map(_unquoted, _text(part).runs))) for part in parts])


def mention(name: str, user: int) -> Text:
    """*name* as that of the person with this number, who is told of the message."""
    return Text((Run(_broken(_kept(name)) or NOTHING, frozenset({Kind.MENTION}), user),))


def joined(parts: Iterable[Part], between: str = "\n") -> Text:
    """*parts*, each but the empty ones, with words of ours *between*."""
    made = Text()
    for part in parts:
        if text := _text(part):
            made = made + plain(between) + text if made else text
    return made


def _text(part: Part) -> Text:
    return safe(part) if isinstance(part, str) else part


def _set(kind: Kind, parts: Iterable[Part]) -> Text:
    """All of *parts* in *kind*, but what is code: nothing lies about that."""
    return Text(tuple(_also(kind, run) for part in parts for run in _text(part).runs))


def _also(kind: Kind, run: Run) -> Run:
    return run if run.kinds & VERBATIM else replace(run, kinds=run.kinds | {kind})


def _unquoted(run: Run) -> Run:
    return replace(run, words=_unset(run).words, kinds=run.kinds - VERBATIM - QUOTES)


def _unset(run: Run) -> Run:
    return Run(_broken(run.words) if run.kinds & VERBATIM else run.words)


# ── words that mean nothing ──────────────────────────────────────────────────────────────────

_BREAKS: Final = re.compile(
    r"(?<=[/@#$])(?=\w)"  # a command, a name, a tag, a share; the path of an address
    r"|(?<=\.)(?=[^\s0-9.])|(?<=[^0-9]\.)(?=[0-9])"  # an address: none goes on without its dot
    r"|(?<=:)(?=//)"  # one that needs no dot: tg://
)
_DOTTED: Final = re.compile(r"[0-9]+(?:\.[0-9]+){2,}")
"""An address in numbers; what has one dot is a sum, and stays what somebody may copy."""
_NUMBER: Final = re.compile(r"[0-9](?:[ ().\-/\u00a0\u2060]{0,3}[0-9]){6,}")
"""Digits enough for a telephone or a card."""
_THREE: Final = re.compile(r"(?:[0-9][^0-9]*){2}[0-9](?=.)", re.DOTALL)
_DROPPED: Final = re.compile("[\x00-\x09\x0b-\x1f\ud800-\udfff\u0333\u033f\u030a\u2028-\u202e\u2060]")
"""What no text can hold, and what Telegram takes out of one or makes a blank."""


_RING: Final = re.compile("[aAuUwy]\u030a")
"""A letter and its ring, which there is as one sign, too: drawn alike, and not taken out."""


def _kept(words: str) -> str:
    """*words* where what would not arrive is spelled out, as `core.visible` does with what is not seen."""
    words = _RING.sub(lambda found: unicodedata.normalize("NFC", found[0]), words)
    return _DROPPED.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", words)


def _broken(words: str) -> str:
    made = _DOTTED.sub(lambda found: found[0].replace(".", f".{JOINER}"), _BREAKS.sub(JOINER, words))
    return _NUMBER.sub(lambda found: _THREE.sub(lambda three: f"{three[0]}{JOINER}", found[0]), made)


def unbroken(words: str) -> str:
    """*words* that were shown here, as they were before; so somebody may send back what they copied."""
    return words.replace(JOINER, "")


# ── fitting ──────────────────────────────────────────────────────────────────────────────────


def fits(text: Text, most: int = LONGEST) -> bool:
    """Whether a message takes it."""
    return text.units <= most and len(text.stretches) <= MOST_ENTITIES


def trimmed(text: Text) -> Text:
    """*text* without white space around it, which Telegram takes away; what code begins with it keeps."""
    whole = text.words
    begin, end = 0, len(whole.rstrip())
    for run in text.runs:
        lead = 0 if run.kinds & VERBATIM else len(run.words) - len(run.words.lstrip())
        begin += lead
        if lead < len(run.words):
            break
    return _between(text, begin, max(begin, end))


def folded(text: Text, most: int = MOST_ENTITIES) -> Text:
    """*text* with at most *most* entities: the last ones are plain words, broken as others are."""
    if len(text.stretches) <= most:
        return text
    runs = list(text.runs)
    for n in reversed(range(len(runs))):
        runs[n] = _unset(runs[n])
        if len(Text(tuple(runs)).stretches) <= most:
            break
    return Text(tuple(runs))


def cut_to(text: Text, most: int = LONGEST) -> Text:
    """*text* in at most *most* units; an ellipsis is where it was cut."""
    if text.units <= most:
        return text
    whole = text.words
    end = _whole_signs(whole, _within(whole, most - 1))
    shorter = _between(text, 0, end)
    last = shorter.runs[-1] if shorter.runs else Run("")
    return shorter + Text((replace(last, words="…"),))


def split(text: Text, most: int = LONGEST) -> tuple[Text, ...]:
    """*text* in pieces of at most *most* units, which are the whole again; none where there are no words.

    Cut after a line where one ends in their second half, else before a blank, never within a sign. What is
    set in some way is so in each piece.
    """
    made: list[Text] = []
    whole, begin = text.words, 0
    while begin < len(whole):
        rest = whole[begin:]
        end = _border(rest, _within(rest, most))
        while len((piece := _between(text, begin, begin + end)).stretches) > MOST_ENTITIES:
            end = _border(rest, end - 1)
        made.append(piece)
        begin += end
    return tuple(made)


def _border(words: str, end: int) -> int:
    """Where to cut *words*, at *end* at the latest, and behind their beginning."""
    if end >= len(words):
        return len(words)
    line = words.rfind("\n", end // 2, end)
    if line >= 0:
        return line + 1
    blank = words.rfind(" ", max(end * 3 // 4, 1), end)
    return blank if blank >= 0 else _whole_signs(words, end)


def _within(words: str, most: int) -> int:
    """How many characters of *words* are at most *most* units; one, where there is room for none."""
    if len(words) <= most // 2:
        return len(words)
    taken = 0
    for n, c in enumerate(words):
        taken += 2 if ord(c) > 0xFFFF else 1
        if taken > most:
            return max(n, 1)
    return len(words)


_LONGEST_SIGN: Final = 16
"""Characters of a sign that is drawn as one; what goes on and on is cut after all."""


def _whole_signs(words: str, end: int) -> int:
    """*end*, or a place before it where no spelled-out character and no joined sign is cut in two."""
    n = len(cut(words, end))
    while n > 0 and end - n < _LONGEST_SIGN and _goes_on(words, n):
        n -= 1
    return n if n > 0 and not _goes_on(words, n) else max(end, 1)


def _goes_on(words: str, n: int) -> bool:
    """Whether the character at *n* is drawn as one with those before it."""
    if n >= len(words):
        return False
    before, c = words[n - 1], words[n]
    if (
        unicodedata.category(c) in ("Mn", "Me", "Mc")
        or c in "\u200d\ufe0f"
        or "\U0001f3fb" <= c <= "\U0001f3ff"
    ):
        return True
    pairs = _is_regional(c) and sum(1 for _ in _before(words, n)) % 2 == 1
    return before == "\u200d" or pairs


def _before(words: str, n: int) -> Iterator[str]:
    """The letters of flags right before *n*."""
    while n > 0 and _is_regional(words[n - 1]):
        n -= 1
        yield words[n]


def _is_regional(c: str) -> bool:
    return "\U0001f1e6" <= c <= "\U0001f1ff"


def _between(text: Text, begin: int, end: int) -> Text:
    """The characters from *begin* to *end*, set as they are."""
    made, at = [], 0
    for run in text.runs:
        part = run.words[max(begin - at, 0) : max(end - at, 0)]
        at += len(run.words)
        if part:
            made.append(replace(run, words=part))
    return Text(tuple(made))
