"""Secrets taken out of what people and models read: by registered value, and by how secrets look (I33).

A tool is given the real value; what is shown, logged, asked and audited goes through a `Redactor` first.
Every stretch that is found is replaced whole, also where two overlap, and a text is redacted before it is
cut: so no part of a secret stays.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeVar, cast
from urllib.parse import quote, quote_plus

from core.canonical import dump, load
from core.looks import SECRET_NAME, looked_for
from core.visible import visible

T = TypeVar("T")

MARK: Final = "[secret]"
"""What stands for a stretch that only looks like a secret; one that was registered says its name."""

SHORTEST: Final = 6
"""Characters of a value that can be registered: a shorter one would be found in ordinary words."""

SHORTEST_LINE: Final = 12
"""Of a value of several lines, which a card or a traceback may show one by one."""

_NAME = re.compile(r"[^A-Za-z0-9_.:/@-]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]*")


_OURS: Final = frozenset(
    {"id", "token", "org", "task_id", "call_id", "park_id", "code", "task_code", "chat_ref"}
    | {"shown_hash", "short_hash", "args_hash", "tool_digest", "mac", "hash", "prev_hash"}
)
"""Fields of our own values whose words we made: a button's token may look like anything."""


class Redactor:
    """Knows values by their names, and how secrets look. More values may be registered at any time.

    They are only ever added, each by one step that no thread sees half of; so one redactor serves a process.
    """

    def __init__(self, named: Mapping[str, str] | None = None) -> None:
        self._forms: dict[str, str] = {}  # a form of a value: its mark
        self._encoded: dict[str, str] = {}  # the same for what stands inside a longer base64 text
        self.register_all(named or {})

    def register(self, name: str, value: str) -> None:
        """*value* is shown as ``[secret name]`` from here on, in whatever form; too short a one is not."""
        mark = f"[secret {_NAME.sub('-', name).strip('-') or 'value'}]"
        if len(value) < SHORTEST or not value.strip() or value in self._forms:
            return
        for form in _base64_of(value):
            self._encoded.setdefault(form, mark)
        for form in _forms_of(value):
            self._forms.setdefault(form, mark)

    def register_all(self, named: Mapping[str, str]) -> None:
        for name, value in named.items():
            self.register(name, value)

    def redact(self, text: str) -> str:
        """*text* with a mark for every stretch that is a secret, or looks like one."""
        return _marked(text, [*self._registered(text), *_looks(text)])

    def clean(self, value: T) -> T:
        """*value* with every text in it redacted, whatever it is made of: JSON, or our own frozen values.

        A field of JSON whose name says that it is a secret has a mark alone. What has no secret in it is
        answered as the very same object.
        """
        return cast(T, self._cleaned(value))

    def json(self, text: str) -> str:
        """*text*, which is JSON, redacted and JSON still."""
        redacted = self.redact(text)
        if redacted == text:
            return text
        try:
            value = load(text)
        except (ValueError, RecursionError):
            return redacted
        return dump(self.clean(value))

    def address(self, url: str) -> str:
        """*url* as it may be shown to be pressed: a word in it for one use is what it is for, and stays."""
        return _marked(url, [*self._registered(url), *_looks(url, pairs=False)])

    def _registered(self, text: str) -> Iterator[tuple[int, int, str]]:
        for form, mark in tuple(self._forms.items()):
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form), mark
                at = text.find(form, at + 1)  # occurrences may overlap
        for form, mark in tuple(self._encoded.items()):
            at = text.find(form)
            while at >= 0:
                begin, end = _around(text, at, at + len(form))
                yield begin, end, mark
                at = text.find(form, end)

    def _cleaned(self, value: Any) -> Any:
        if type(value) is str:  # by far the most
            return self.redact(value)
        match value:
            case Enum() | bool() | None:
                return value
            case str():
                return self.redact(value)
            case int() | float() | Decimal():
                return self._number(value)
            case Mapping():
                return self._object(value)
            case tuple() | list() | frozenset():
                items = [self._cleaned(one) for one in value]
                same = all(new is old for new, old in zip(items, value, strict=True))
                return value if same else type(value)(items)
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._own(value)
        return value

    def _number(self, value: Any) -> Any:
        """A number of JSON may be a registered value, too."""
        return next((mark for _, _, mark in self._registered(str(value))), value)

    def _object(self, value: Mapping[Any, Any]) -> Any:
        made: dict[Any, Any] = {}
        for key, one in value.items():
            made[_not_in(made, self._cleaned(key))] = self._field(key, one)
        same = all(key in made and made[key] is one for key, one in value.items())
        return value if same else made

    def _field(self, key: object, value: Any) -> Any:
        if isinstance(key, str) and isinstance(value, str) and len(value) >= 4 and SECRET_NAME.search(key):
            return next((mark for _, _, mark in self._registered(value)), MARK)
        return self._cleaned(value)

    def _own(self, value: Any) -> Any:
        """A value of ours: names, numbers and times of its own are as they are."""
        changed: dict[str, Any] = {}
        for each in fields(value):
            before = getattr(value, each.name)
            if each.name in _OURS or isinstance(before, int | float) or not each.init:
                continue
            way = _WAYS.get(each.name) if isinstance(before, str) else None
            after = self._cleaned(before) if way is None else way(self, before)
            if after is not before:
                changed[each.name] = after
        return replace(value, **changed) if changed else value


# ── what both need ───────────────────────────────────────────────────────────────────────────


_WAYS: Final = {"url": Redactor.address, "arguments": Redactor.json, "entry": Redactor.json}
"""Texts of our own values that have to stay what they are."""


def _not_in(made: Mapping[Any, Any], key: Any) -> Any:
    """*key*, numbered where another is called so already: two secret names have the same mark."""
    named, n = key, 1
    while named in made:
        n += 1
        named = f"{key} {n}"
    return named


def _looks(text: str, *, pairs: bool = True) -> Iterator[tuple[int, int, str]]:
    return ((begin, end, MARK) for begin, end in looked_for(text, pairs=pairs))


def _marked(text: str, found: Iterable[tuple[int, int, str]]) -> str:
    """*text* with each stretch replaced. Those that overlap are one, by the first name there is."""
    stretches = sorted(found)
    if not stretches:
        return text
    parts: list[str] = []
    done, (begin, end, mark) = 0, stretches[0]
    for next_begin, next_end, next_mark in stretches[1:]:
        if next_begin < end:
            end, mark = max(end, next_end), next_mark if mark == MARK else mark
            continue
        parts += (text[done:begin], mark)
        done, begin, end, mark = end, next_begin, next_end, next_mark
    return "".join((*parts, text[done:begin], mark, text[end:]))


def _forms_of(value: str) -> Iterator[str]:
    """How *value* may stand in a text: as it is, and escaped as URLs, JSON, Python and our cards do it."""
    whole = (value, value.strip())
    for text in (*whole, *(line.strip() for line in value.splitlines() if len(line) >= SHORTEST_LINE)):
        written = json.dumps(text)[1:-1]
        urls = (quote(text, safe=""), quote(text), quote_plus(text))
        for form in (
            text,
            written,
            json.dumps(text, ensure_ascii=False)[1:-1],
            json.dumps(written)[1:-1],
            repr(text)[1:-1],
            *urls,
            *(re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), url) for url in urls),
            visible(text),
            visible(text, lines=True),
        ):
            if len(form) >= SHORTEST:
                yield form


def _base64_of(value: str) -> Iterator[str]:
    """What of *value* in base64 is the same whatever stands before and after it in what was encoded."""
    plain = value.encode(errors="surrogatepass")
    for before in range(3):
        own = base64.b64encode(b"\0" * before + plain).rstrip(b"=").decode()
        own = own[(0, 2, 3)[before] : len(own) - (1 if (before + len(plain)) % 3 else 0)]
        if len(own) >= SHORTEST:
            yield own
            yield own.translate(str.maketrans("+/", "-_"))


def _around(text: str, begin: int, end: int) -> tuple[int, int]:
    """The whole base64 text of which this is a part: what is beside it may hold the first and last bits."""
    while begin > 0 and _BASE64.fullmatch(text[begin - 1]):
        begin -= 1
    return begin, cast(re.Match[str], _BASE64.match(text, end)).end()
