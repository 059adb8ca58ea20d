"""Texts as Telegram counts and keeps them: in UTF-16 units, cleaned, without white space around them."""

from typing import Final

from tests.fakes.telegram.things import Json, Refused

BLANK: Final = frozenset(" \n")
UNSEEN: Final = frozenset([0x0333, 0x033F, 0x030A, *range(0x2028, 0x202F)])
"""Code points that Telegram takes out: line separators, direction overrides, vertical lines."""

HIDING: Final = frozenset({"text_link", "text_mention", "pre", "code"})
"""Entities that are kept although they mark nothing but white space."""


def units(text: str) -> int:
    """The length of *text* in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class Positions:
    """Where each UTF-16 offset of a text lies among its characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at: dict[int, int] = {}
        offset = 0
        for position, character in enumerate(text):
            self._at[offset] = position
            offset += 2 if ord(character) > 0xFFFF else 1
        self._at[offset] = len(text)
        self.end = offset

    def begin_of(self, entity: Json) -> int:
        """The character at which *entity* begins. Raises Refused."""
        offset = entity["offset"]
        begins = "Bad Request: entity begins"
        if offset > self.end:
            raise Refused(400, f"{begins} after the end of the text at UTF-16 offset {offset}", fault=True)
        if offset not in self._at:
            raise Refused(400, f"{begins} in {self._middle(offset)}", fault=True)
        return self._at[offset]

    def end_of(self, entity: Json) -> int:
        """The character before which *entity* ends. Raises Refused."""
        end = entity["offset"] + entity["length"]
        beginning = f"Bad Request: entity beginning at UTF-16 offset {entity['offset']}"
        if end > self.end:
            raise Refused(
                400, f"{beginning} ends after the end of the text at UTF-16 offset {end}", fault=True
            )
        if end not in self._at:
            raise Refused(400, f"{beginning} ends in {self._middle(end)}", fault=True)
        return self._at[end]

    def _middle(self, offset: int) -> str:
        """How Telegram names a place between the two halves of a character: by the byte after it."""
        after = self._text[: self._at[offset - 1] + 1]
        return f"a middle of a UTF-16 symbol at byte offset {len(after.encode())}"


class Marked:
    """A text with entities by character (begin, end, entity), which stay with what they mark."""

    def __init__(self, text: str, entities: list[Json]) -> None:
        positions = Positions(text)
        self.text = text
        self.marks = [
            (positions.begin_of(entity), positions.end_of(entity), entity)
            for entity in entities
            if entity["length"] > 0
        ]

    def clean(self) -> None:
        """No control characters and none that Telegram takes out are left."""
        kept: list[str] = []
        moved = [0]
        for character in self.text:
            code = ord(character)
            if code < 32 and character not in "\n\r":
                kept.append(" ")
            elif character != "\r" and code not in UNSEEN:
                kept.append(character)
            moved.append(len(kept))
        self.text = "".join(kept)
        self.marks = [(moved[begin], moved[end], entity) for begin, end, entity in self.marks]
        self._without_blank()

    def trim(self) -> None:
        """No white space is around the text; before it only what an entity marks stays."""
        end = len(self.text)
        while end and self.text[end - 1] in BLANK:
            end -= 1
        first = min([begin for begin, _, _ in self.marks], default=end)
        start = 0
        while start < min(first, end) and self.text[start] in BLANK:
            start += 1
        self.text = self.text[start:end]
        self.marks = [(b - start, min(e, end) - start, entity) for b, e, entity in self.marks if b < end]

    def entities(self) -> list[Json]:
        """The entities in UTF-16 units, the first first, the longer before the shorter."""
        told = [
            entity | {"offset": units(self.text[:begin]), "length": units(self.text[begin:end])}
            for begin, end, entity in self.marks
            if end > begin
        ]
        return sorted(told, key=lambda entity: (entity["offset"], -entity["length"]))

    def _without_blank(self) -> None:
        """An entity begins with a character; one that marks only white space is gone."""
        kept = []
        for begin, end, entity in self.marks:
            if entity["type"] not in HIDING:
                while begin < end and self.text[begin] in BLANK:
                    begin += 1
            if begin < end:
                kept.append((begin, end, entity))
        self.marks = kept
