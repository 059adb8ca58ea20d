"""Reads the YAML between the ``---`` fences of a Markdown file, strictly, every value with its line.

YAML reads many things as something other than what they look like (``on`` as true, ``21:00`` as 1260);
each such thing is refused here with what to write instead. Anchors, aliases, merge keys and tags are
refused before anything is built, so a small file can't become a large value. What the keys mean is not
known here.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import yaml

from core.errors import AgentFolderError
from core.nearest import nearest
from core.visible import hidden

MAX_BYTES = 64 * 1024
"""Of a whole file, checked before it is parsed."""
MAX_DEPTH = 8
"""Nesting of collections; nothing we read is deeper than three."""
MAX_DIGITS = 15
LONGEST_KEY = 64

FENCE = "---"

T = TypeVar("T")

Value: TypeAlias = "str | bool | int | float | Mapping[str, Entry] | Sequence[Entry] | None"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A value with the line it stands on. *raw* is a plain scalar's own text, None where it was quoted."""

    value: Value
    line: int
    raw: str | None = None
    key_line: int | None = None

    @property
    def said(self) -> int:
        """The line to name: its key's, if it has one."""
        return self.line if self.key_line is None else self.key_line


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A file taken apart: *keys* of the front matter, the *body* below it, the whole normalised *text*."""

    path: str
    keys: Mapping[str, Entry]
    body: str
    text: str


def read_page(content: bytes, path: str) -> Page:
    """What the file *content* says; a byte-order mark and CRLF are taken as if they were not there.

    *path* is the name that errors carry. Raises AgentFolderError with the line and what to write instead.
    """
    text = _text(content, path)
    front, body = _split(text, path)
    keys = _Reader(path).read(front)
    _check_visible(text, path)
    return Page(path=path, keys=keys, body=body, text=text)


def _text(content: bytes, path: str) -> str:
    if len(content) > MAX_BYTES:
        raise AgentFolderError(
            f"the file is larger than {MAX_BYTES // 1024} KiB: keep the role short, and move knowledge "
            "into skills",
            path=path,
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise AgentFolderError("this is not UTF-8: save the file as UTF-8", path=path, line=line) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, row in enumerate(text.split("\n"), start=1):
        if bad := next((c for c in row if c != "\t" and unicodedata.category(c) == "Cc"), None):
            raise AgentFolderError(
                f"the control character U+{ord(bad):04X} stands here: remove it", path=path, line=number
            )
    return text


def _check_visible(text: str, path: str) -> None:
    """What an author reads is what the model is told (S29)."""
    for number, row in enumerate(text.split("\n"), start=1):
        if bad := hidden(row):
            raise AgentFolderError(
                f"U+{ord(bad):04X}, which can't be seen or moves what can, stands here: remove it",
                path=path,
                line=number,
            )


def _split(text: str, path: str) -> tuple[str, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        raise AgentFolderError(
            f"the file must begin with a line {FENCE}, then name: and the other keys, then a line {FENCE}",
            path=path,
            line=1,
        )
    end = next((n for n, line in enumerate(lines[1:], start=1) if line.rstrip() == FENCE), None)
    if end is None:
        raise AgentFolderError(
            f"the {FENCE} opened here is never closed: write a line {FENCE} after the last key",
            path=path,
            line=1,
        )
    front = "\n".join(lines[1:end])
    for number, line in enumerate(lines[1:end], start=2):
        if any(c in line for c in "\u2028\u2029"):
            raise AgentFolderError(
                "an invisible line separator stands here, which YAML takes for a new line: remove it",
                path=path,
                line=number,
            )
    return front, "\n".join(lines[end + 1 :]).strip("\n")


class _Refused(Exception):
    """What is wrong and what to write instead; *line* counts from the top of the front matter, from 0."""

    def __init__(self, message: str, line: int) -> None:
        self.message, self.line = message, line
        super().__init__(message)


class _Loader(yaml.SafeLoader):
    """SafeLoader without anchors, aliases, tags and deep nesting; it only composes, nothing is built."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise _Refused(
                "YAML anchors (&) and aliases (*) are not taken: write the value out, or quote it", line
            )
        if event.tag is not None:
            raise _Refused("YAML tags (!) are not taken: write a plain value, or quote it", line)
        if self.depth >= MAX_DEPTH:
            raise _Refused(f"nested deeper than {MAX_DEPTH}: no key here takes that, write it flat", line)
        self.depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


class _Reader:
    """Front matter to entries, for one file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def read(self, front: str) -> Mapping[str, Entry]:
        try:
            loader = _Loader(front)
            try:
                node = loader.get_single_node()
                if node is None:
                    return {}
                if not isinstance(node, yaml.MappingNode):
                    raise _Refused("between the fences stand keys with values, such as name: Sam", 0)
                return self._mapping(node)
            finally:
                loader.dispose()
        except _Refused as refused:
            raise self._error(refused.message, refused.line) from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            words = (
                f"this is not YAML ({error.problem}): check the indentation, and quote text with : or # in it"
            )
            raise self._error(words, mark.line if mark else 0) from None
        except yaml.reader.ReaderError as error:
            line = front.count("\n", 0, error.position)
            raise self._error("a character stands here that YAML does not take: remove it", line) from None

    def _error(self, message: str, line: int) -> AgentFolderError:
        return AgentFolderError(message, path=self._path, line=line + 2)  # the fence is line 1

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line
            key = self._key(key_node)
            if key in found:
                raise _Refused(
                    f"{key} stands here a second time (first on line {found[key].said}): keep one", line
                )
            found[key] = self._entry(value_node, key_line=line + 2)
        return found

    def _key(self, node: yaml.Node) -> str:
        line = node.start_mark.line
        if not isinstance(node, yaml.ScalarNode):
            raise _Refused("a key must be a word", line)
        if node.tag == "tag:yaml.org,2002:merge":
            raise _Refused("YAML merge keys (<<) are not taken: write the keys out", line)
        if node.tag == "tag:yaml.org,2002:bool":
            mend = "write when" if node.value.lower() == "on" else "use another word"
            raise _Refused(f"YAML reads {node.value} as {_truth(node.value)}; {mend}", line)
        if node.tag != "tag:yaml.org,2002:str":
            raise _Refused(f"a key must be a word, and YAML reads {_cut(node.value)} as something else", line)
        if len(node.value) > LONGEST_KEY:
            raise _Refused(f"a key of more than {LONGEST_KEY} characters: was a line break meant?", line)
        return str(node.value)

    def _entry(self, node: yaml.Node, key_line: int | None = None) -> Entry:
        line = node.start_mark.line + 2
        if isinstance(node, yaml.MappingNode):
            return Entry(value=self._mapping(node), line=line, key_line=key_line)
        if isinstance(node, yaml.SequenceNode):
            return Entry(value=tuple(map(self._entry, node.value)), line=line, key_line=key_line)
        assert isinstance(node, yaml.ScalarNode)
        raw = str(node.value) if node.style is None else None
        return Entry(value=_scalar(node), line=line, raw=raw, key_line=key_line)


def _scalar(node: yaml.ScalarNode) -> str | bool | int | float | None:
    text = str(node.value)
    match node.tag.removeprefix("tag:yaml.org,2002:"):
        case "str":
            return text
        case "null":
            return None
        case "bool":
            return _truth(text) == "true"
        case "int" | "float" as kind:
            return _number(text, kind, node.start_mark.line)
        case other:
            raise _Refused(f"YAML reads {_cut(text)} as a {other}: put it in quotes", node.start_mark.line)


def _cut(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"


def _truth(text: str) -> str:
    return "true" if text.lower() in ("yes", "true", "on") else "false"


_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:e[-+]?[0-9]+)?", re.ASCII | re.IGNORECASE)
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{1,2})", re.ASCII)


def _number(text: str, kind: str, line: int) -> int | float:
    if ":" in text:
        raise _Refused(f"YAML reads {_cut(text)} as a number, counting in sixties: {_quoted(text)}", line)
    if (word := text.lower().lstrip("+-")) in (".nan", ".inf"):
        return math.nan if word == ".nan" else math.inf
    bare = text.replace("_", "")
    if (_INT if kind == "int" else _FLOAT).fullmatch(text) is None:
        raise _Refused(
            f"YAML reads {_cut(text)} in another base: write a decimal number, or put it in quotes", line
        )
    if sum(c.isdigit() for c in bare) > MAX_DIGITS:
        raise _Refused(f"a number of more than {MAX_DIGITS} digits: write a smaller one", line)
    return int(bare) if kind == "int" else float(bare)


def _quoted(text: str) -> str:
    """The mend for a time without quotes."""
    if (found := _CLOCK.fullmatch(text)) and int(found[1]) < 24 and int(found[2]) < 60:
        return f'write it in quotes, "{int(found[1]):02}:{int(found[2]):02}"'
    return 'write it in quotes, as "HH:MM" if it is a time'


# ── values by key ───────────────────────────────────────────────────────────────────────────


class Fields:
    """The entries of one mapping, read key by key. Every reader raises AgentFolderError at the key's line."""

    def __init__(self, path: str, entries: Mapping[str, Entry], *, line: int, known: Collection[str]) -> None:
        self.path, self.entries, self.line_of_all = path, entries, line
        for key, entry in entries.items():
            if known and key not in known:
                raise self.error(f"there is no key {key}{nearest(key, known)}: {one_of(known)}", entry.said)

    def get(self, key: str, read: Callable[["Fields", str], T], default: T) -> T:
        return read(self, key) if key in self.entries else default

    def need(self, key: str, read: Callable[["Fields", str], T], mend: str) -> T:
        if key not in self.entries:
            raise self.error(f"{key} is missing: {mend}", self.line_of_all)
        return read(self, key)

    def error(self, message: str, line: int) -> AgentFolderError:
        return AgentFolderError(message, path=self.path, line=line)

    def wrong(self, key: str, mend: str) -> AgentFolderError:
        """What *key* holds is not taken, with YAML's own reading of it where that surprises."""
        entry = self.entries[key]
        return self.error(f"{key}: {surprise(entry)}{mend}", entry.said)

    def text(self, key: str) -> str:
        value = self.entries[key].value
        if not isinstance(value, str):
            raise self.wrong(key, "write text, in quotes if it looks like something else")
        if not value.strip():
            raise self.wrong(key, "it says nothing: write text, or leave the key out")
        if bad := hidden(value):
            raise self.wrong(key, f"it holds U+{ord(bad):04X}, which can't be seen: write what can")
        return value.strip()

    def line(self, key: str, most: int = 200) -> str:
        """One line without characters that can't be seen."""
        text = self.text(key)
        if len(text) > most:
            raise self.wrong(key, f"longer than {most} characters: shorten it")
        if bad := next((c for c in text if c in "\n\t"), None):
            raise self.wrong(key, f"it holds U+{ord(bad):04X}: write one plain line")
        return text

    def shown(self, key: str) -> str:
        return self.line(key, 60)

    def switch(self, key: str) -> bool:
        value = self.entries[key].value
        if not isinstance(value, bool):
            raise self.wrong(key, "write true or false")
        return value

    def whole(self, key: str) -> int:
        value = self.entries[key].value
        if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
            raise self.wrong(key, "write a whole number above zero, or leave the key out")
        return value

    def number(self, key: str) -> float:
        value = self.entries[key].value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "write a number above zero, or leave the key out")
        if not math.isfinite(value) or value <= 0:
            raise self.wrong(key, "write a finite number above zero, or leave the key out for no limit")
        return float(value)

    def choice(self, key: str, words: Collection[str]) -> str:
        value = self.entries[key].value
        if not isinstance(value, str) or value not in words:
            near = nearest(value, words) if isinstance(value, str) else ""
            raise self.wrong(key, f"{one_of(words)}{near}")
        return value

    def fields(self, key: str, known: Collection[str] = ()) -> "Fields":
        entry = self.entries[key]
        if not isinstance(entry.value, Mapping):
            raise self.wrong(key, "write keys with values below it")
        return Fields(self.path, entry.value, line=entry.said, known=known)

    def items(self, key: str) -> list[Entry]:
        value = self.entries[key].value
        if not isinstance(value, tuple):
            raise self.wrong(key, "write a list, such as [one, two]; [] is the empty one")
        return list(value)


def surprise(entry: Entry) -> str:
    """How YAML reads a plain word, where an author may not expect it."""
    if entry.value is None:
        return "nothing stands here: "
    if isinstance(entry.value, bool) and entry.raw is not None and entry.raw.lower() not in ("true", "false"):
        return f"YAML reads {entry.raw} as {str(entry.value).lower()}; "
    return ""


def one_of(words: Iterable[str]) -> str:
    *most, last = words
    return f"write {', '.join(most)} or {last}"
