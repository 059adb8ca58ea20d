"""Entities as Telegram takes them: refused where they make no sense, dropped where they do not fit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from tests.fakes.telegram.found import detect
from tests.fakes.telegram.text import Marked, units
from tests.fakes.telegram.things import Found, Json, Refused

TEXT: Final = 4096
CAPTION: Final = 1024
KEPT: Final = 100
PAYLOAD: Final = 9_500
"""Bytes that the entities of a message may take on the wire; Telegram tells no number, this was measured."""

SPLITTABLE: Final = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
QUOTES: Final = frozenset({"blockquote", "expandable_blockquote"})
CODE: Final = frozenset({"pre", "code"})
LINKS: Final = frozenset({"text_link", "text_mention", "custom_emoji", "date_time"})
OWN: Final = frozenset(
    {"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"}
)
"""Telegram finds these by itself, and ignores those that are given."""

Blame: TypeAlias = Callable[[str, str], None]
"""Hears of what Telegram drops without a word: what is wrong, and with what."""


@dataclass(frozen=True, kw_only=True)
class Formatted:
    """A text as it is kept: the entities that were given, and what Telegram found beside them."""

    text: str
    entities: list[Json]
    found: list[Found]


def formatted(
    text: str, entities: Any, *, limit: int = TEXT, empty: bool = False, too_long: str, blame: Blame
) -> Formatted:
    """The text and the entities that Telegram keeps; *blame* hears what it silently drops. Raises Refused.

    *empty*: there may be no text. *too_long*: what is said of more than *limit* units.
    """
    given = _read(entities)
    for entity in given:
        if entity["type"] in OWN:
            blame("an entity that only Telegram finds", str(entity))
        elif entity["type"] == "text_link" and not _is_link(str(entity["url"])):
            blame("a link to nowhere is dropped", str(entity))
    marked = Marked(text, [entity for entity in given if _is_kept(entity)])
    marked.clean()
    marked.trim()
    if not marked.text and not empty:
        raise Refused(400, "Bad Request: text must be non-empty", fault=True)
    if units(marked.text) > limit:
        raise Refused(400, f"Bad Request: {too_long}", fault=True)
    kept = _limited(_nested(marked.entities(), blame), blame)
    if payload(kept) > PAYLOAD:
        raise Refused(400, "Bad Request: ENTITIES_TOO_LONG", fault=True)
    return Formatted(text=marked.text, entities=kept, found=_beside(kept, detect(marked.text)))


def payload(entities: Iterable[Json]) -> int:
    """The bytes that *entities* take as Telegram's own protocol writes them."""
    return sum(12 + _written(entity.get("url")) + _written(entity.get("language")) for entity in entities)


def _written(word: str | None) -> int:
    return 0 if word is None else (len(word.encode()) + 4) // 4 * 4


def _read(entities: Any) -> list[Json]:
    if entities is None:
        return []
    if not isinstance(entities, list):
        raise Refused(400, "Bad Request: can't parse entities: expected an Array", fault=True)
    for entity in entities:
        _check(entity)
    return entities


def _check(entity: Any) -> None:
    """It is an entity of a known type with all that its type needs. Raises Refused."""
    parsing = "Bad Request: can't parse entities: can't parse MessageEntity"
    if not isinstance(entity, dict):
        raise Refused(400, f"{parsing}: expected an Object", fault=True)
    for name in ("offset", "length"):
        if type(entity.get(name)) is not int:
            raise Refused(400, f'{parsing}: field "{name}" must be of type Number', fault=True)
        if not 0 <= entity[name] <= 1_000_000:
            raise Refused(
                400, f"Bad Request: receive an entity with incorrect {name} {entity[name]}", fault=True
            )
    kind = entity.get("type")
    if kind not in SPLITTABLE | QUOTES | CODE | LINKS | OWN:
        raise Refused(400, f"{parsing}: unsupported type specified: {kind}", fault=True)
    if kind == "text_link" and not entity.get("url"):
        raise Refused(400, f'{parsing}: can\'t find field "url"', fault=True)


def _is_kept(entity: Json) -> bool:
    return entity["type"] not in OWN and (entity["type"] != "text_link" or _is_link(str(entity["url"])))


def _is_link(url: str) -> bool:
    """Telegram would open it: a host with a dot, or one of its own addresses."""
    if url.lower().startswith(("tg://", "ton://")):
        return True
    parts = urlsplit(url if "://" in url else f"http://{url}")
    return parts.scheme.lower() in ("http", "https", "ftp") and "." in (parts.hostname or "")


def _nested(entities: list[Json], blame: Blame) -> list[Json]:
    """Those that lie in each other as Telegram allows. The others it cuts or drops without a word."""
    kept: list[Json] = []
    for entity in entities:
        end = entity["offset"] + entity["length"]
        around = [other for other in kept if other["offset"] + other["length"] > entity["offset"]]
        wrong = next((why for other in around if (why := _clash(other, entity, end))), "")
        if wrong:
            blame(wrong, str(entity))
        elif not any(other["type"] == entity["type"] and _ends(other) >= end for other in around):
            kept.append(entity)
    return kept


def _ends(entity: Json) -> int:
    return int(entity["offset"] + entity["length"])


def _clash(outer: Json, inner: Json, end: int) -> str:
    """Why *inner*, which begins in *outer*, cannot be there; empty where it can."""
    if end > _ends(outer):
        return "entities overlap"
    if outer["type"] in CODE or (inner["type"] in CODE and outer["type"] not in QUOTES):
        return "code holds nothing and lies in nothing but a quote"
    if inner["type"] in QUOTES and outer["type"] in QUOTES:
        return "quotes do not nest"
    if inner["type"] in LINKS | QUOTES and outer["type"] in LINKS:
        return "links hold no links and no quotes"
    return ""


def _limited(entities: list[Json], blame: Blame) -> list[Json]:
    """The first hundred, where words that are only set in another type go last."""
    ranked = sorted(entities, key=lambda entity: entity["type"] in SPLITTABLE)
    if len(ranked) > KEPT:
        blame("more than 100 entities: the rest is dropped", str(len(ranked)))
    kept = ranked[:KEPT]
    return [entity for entity in entities if entity in kept]


def _beside(entities: list[Json], found: list[Found]) -> list[Found]:
    """What was found where no code or link is, and that lies wholly in a quote or wholly out of it."""
    taken = [e for e in entities if e["type"] in CODE | LINKS]
    quotes = [e for e in entities if e["type"] in QUOTES]

    def free(one: Found) -> bool:
        begin, end = one.offset, one.offset + one.length
        if any(begin < _ends(e) and e["offset"] < end for e in taken):
            return False
        return all(
            end <= q["offset"] or begin >= _ends(q) or (q["offset"] <= begin and end <= _ends(q))
            for q in quotes
        )

    return [one for one in found if free(one)]
