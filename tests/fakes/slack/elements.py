"""What Slack refuses in texts, options, confirmations and the elements of blocks.

The numbers are of chat.md 1.6 and 4, of the design: what slack_sdk.models lets through is checked here.
"""

from collections.abc import Container, Iterable
from typing import Any, Final

from slack_sdk.models.blocks import BlockElement

from tests.fakes.slack.things import Json

ID_LENGTH: Final = 255
TEXT_KEYS: Final = {
    "plain_text": {"type", "text", "emoji"},
    "mrkdwn": {"type", "text", "verbatim"},
}
SELECTS: Final = frozenset(
    "static_select external_select users_select conversations_select channels_select".split()
)
MULTI_SELECTS: Final = frozenset(f"multi_{name}" for name in SELECTS)
PICKERS: Final = frozenset({"datepicker", "timepicker", "datetimepicker"})
CHOICES: Final = frozenset({"radio_buttons", "checkboxes"})
TYPED: Final = frozenset(
    "plain_text_input number_input email_text_input url_text_input rich_text_input file_input".split()
)
IN_ACTIONS: Final = SELECTS | MULTI_SELECTS | PICKERS | CHOICES | {"button", "overflow", "workflow_button"}
IN_SECTION: Final = IN_ACTIONS | {"image"}
IN_INPUT: Final = SELECTS | MULTI_SELECTS | PICKERS | CHOICES | TYPED
IN_CONTEXT_ACTIONS: Final = frozenset({"feedback_buttons", "icon_button"})
WITH_OPTIONS: Final = frozenset({"static_select", "multi_static_select"})
INTERACTIVE: Final = (IN_ACTIONS | IN_INPUT) | IN_CONTEXT_ACTIONS
STYLES: Final = frozenset({"primary", "danger"})

IN_RICH_LINE: Final = frozenset("text link user usergroup team emoji channel broadcast date color".split())
RICH: Final = {
    "rich_text_section": IN_RICH_LINE,
    "rich_text_quote": IN_RICH_LINE,
    "rich_text_preformatted": frozenset({"text", "link"}),
    "rich_text_list": frozenset({"rich_text_section"}),
}


class Check:
    """Collects what Slack would say is wrong; *problems* is empty if it would take the payload."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def wrong(self, at: str, words: str) -> None:
        """One problem, as Slack words them: what must be, and where."""
        self.problems.append(f"{words} [json-pointer:{at}]")

    def length(self, value: Any, at: str, *, most: int, least: int = 1) -> None:
        if not isinstance(value, str):
            self.wrong(at, "must be a string")
        elif len(value) > most:
            self.wrong(at, f"must be less than {most + 1} characters")
        elif len(value) < least:
            self.wrong(at, f"must be more than {least - 1} characters")

    def lengths(self, value: Json, at: str, most: dict[str, int]) -> None:
        """Each of those keys that is there holds a text of no more than so many characters."""
        for key, limit in most.items():
            if key in value:
                self.length(value[key], f"{at}/{key}", most=limit)

    def number(self, value: Any, at: str, *, least: int, most: int) -> None:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            self.wrong(at, f"must be a number between {least} and {most}")

    def keys(self, value: Json, at: str, known: Iterable[str]) -> None:
        for key in sorted(value.keys() - set(known)):
            self.wrong(at, f"invalid additional property: {key}")

    def items(self, value: Any, at: str, *, most: int, least: int = 1) -> list[Any]:
        """The list, or an empty one if it is none."""
        if not isinstance(value, list):
            self.wrong(at, "must be an array")
            return []
        if len(value) > most:
            self.wrong(at, f"no more than {most} items allowed")
        if len(value) < least:
            self.wrong(at, f"no less than {least} items allowed")
        return value

    def one_of(self, value: Json, key: str, at: str, allowed: Iterable[str]) -> None:
        if key in value and str(value[key]) not in allowed:
            self.wrong(f"{at}/{key}", f"must be one of {', '.join(sorted(allowed))}")

    def text(self, value: Any, at: str, *, most: int = 3000, plain: bool = False) -> None:
        """A text object; *plain* ones can't be mrkdwn."""
        if not isinstance(value, dict):
            self.wrong(at, "must be a text object")
            return
        kind = kind_of(value)
        if kind not in TEXT_KEYS or (plain and kind != "plain_text"):
            self.wrong(f"{at}/type", "must be plain_text" if plain else "must be plain_text or mrkdwn")
            return
        self.keys(value, at, TEXT_KEYS[kind])
        self.length(value.get("text"), f"{at}/text", most=most)

    def optional_text(self, value: Json, key: str, at: str, *, most: int) -> None:
        """A plain text object, if it is there."""
        if key in value:
            self.text(value[key], f"{at}/{key}", most=most, plain=True)

    def _kind(self, value: Any, at: str, allowed: Container[str]) -> str | None:
        """Its type, its keys checked; None of what is none of *allowed*, or is no such thing."""
        kind = kind_of(value)
        if kind not in allowed:
            self.wrong(f"{at}/type", f"unsupported type: {kind}")
            return None
        if (known := _known_keys(value)) is None:
            self.wrong(at, f"missing or malformed field of a {kind}")
            return None
        self.keys(value, at, known)
        return kind

    # ── elements ─────────────────────────────────────────────────────────────────────────────

    def element(self, value: Any, at: str, allowed: Container[str]) -> None:
        """An element of one of the *allowed* types."""
        if not isinstance(value, dict):
            self.wrong(at, "must be an element")
            return
        kind = self._kind(value, at, allowed)
        if kind is None:
            return
        self.lengths(value, at, {"action_id": ID_LENGTH, "url": 3000, "alt_text": 2000, "image_url": 3000})
        self.optional_text(value, "placeholder", at, most=150)
        if "confirm" in value:
            self.confirm(value["confirm"], f"{at}/confirm")
        if kind == "button":
            self._button(value, at)
        elif kind in TYPED:
            self._typed(value, at)
        elif kind == "image" and not value.get("alt_text"):
            self.wrong(at, "missing required field: alt_text")
        else:
            self._menu(value, at)

    def _button(self, button: Json, at: str) -> None:
        self.text(button.get("text"), f"{at}/text", most=75, plain=True)
        self.lengths(button, at, {"value": 2000, "accessibility_label": 75})
        self.one_of(button, "style", at, STYLES)

    def _typed(self, typed: Json, at: str) -> None:
        if typed["type"] == "number_input" and not isinstance(typed.get("is_decimal_allowed"), bool):
            self.wrong(at, "missing required field: is_decimal_allowed")
        if typed["type"] in ("rich_text_input", "file_input"):
            return
        if "max_length" in typed:
            self.number(typed["max_length"], f"{at}/max_length", least=1, most=3000)
        if "min_length" in typed:
            self.number(typed["min_length"], f"{at}/min_length", least=0, most=3000)
        if "initial_value" in typed:
            most = typed.get("max_length")
            most = most if isinstance(most, int) and most <= 3000 else 3000
            self.length(typed["initial_value"], f"{at}/initial_value", most=most)

    def _menu(self, menu: Json, at: str) -> None:
        kind = menu["type"]
        if kind == "overflow":
            self._options(menu.get("options"), f"{at}/options", most=5, keys={"url"})
        elif kind in CHOICES:
            self._options(menu.get("options"), f"{at}/options", most=10, plain=False)
        elif kind in WITH_OPTIONS:
            self._groups(menu, at)
        # What is malformed has no options to look in.
        if kind in CHOICES | WITH_OPTIONS and not self.problems:
            given = menu.get("initial_options", [])
            given = [menu["initial_option"]] if "initial_option" in menu else given
            if not isinstance(given, list) or not all(option in options_of(menu) for option in given):
                self.wrong(at, "initial option is none of the options")

    def _groups(self, menu: Json, at: str) -> None:
        if ("options" in menu) == ("option_groups" in menu):
            self.wrong(at, "must have either options or option_groups")
        elif "options" in menu:
            self._options(menu["options"], f"{at}/options", most=100)
        else:
            for n, group in enumerate(self.items(menu["option_groups"], f"{at}/option_groups", most=100)):
                there = f"{at}/option_groups/{n}"
                if not isinstance(group, dict):
                    self.wrong(there, "must be a group of options")
                    continue
                self.keys(group, there, {"label", "options"})
                self.text(group.get("label"), f"{there}/label", most=75, plain=True)
                self._options(group.get("options"), f"{there}/options", most=100)

    def _options(
        self, value: Any, at: str, *, most: int, plain: bool = True, keys: Iterable[str] = ()
    ) -> None:
        for n, option in enumerate(self.items(value, at, most=most)):
            there = f"{at}/{n}"
            if not isinstance(option, dict):
                self.wrong(there, "must be an option")
                continue
            self.keys(option, there, {"text", "value", "description", *keys})
            self.text(option.get("text"), f"{there}/text", most=75, plain=plain)
            self.length(option.get("value"), f"{there}/value", most=150)
            if "description" in option:
                self.text(option["description"], f"{there}/description", most=75, plain=plain)

    def confirm(self, value: Any, at: str) -> None:
        """A confirmation asked before an action is sent."""
        if not isinstance(value, dict):
            self.wrong(at, "must be a confirmation")
            return
        self.keys(value, at, {"title", "text", "confirm", "deny", "style"})
        self.text(value.get("title"), f"{at}/title", most=100, plain=True)
        self.text(value.get("text"), f"{at}/text", most=300)
        self.text(value.get("confirm"), f"{at}/confirm", most=30, plain=True)
        self.text(value.get("deny"), f"{at}/deny", most=30, plain=True)
        self.one_of(value, "style", at, STYLES)

    # ── rich text ────────────────────────────────────────────────────────────────────────────

    def rich(self, value: Any, at: str, allowed: Container[str]) -> None:
        """A part of a rich text, and the parts of it."""
        kind = self._kind(value, at, allowed)
        if kind is None:
            return
        if kind == "text":
            self.length(value["text"], f"{at}/text", most=1_000_000)  # the whole payload has its limit
        elif kind == "rich_text_list":
            if value.get("style") not in ("bullet", "ordered"):
                self.wrong(f"{at}/style", "must be bullet or ordered")
        if kind in RICH:
            parts = self.items(value["elements"], f"{at}/elements", most=1_000_000, least=0)
            for n, part in enumerate(parts):
                self.rich(part, f"{at}/elements/{n}", RICH[kind])


def elements_of(block: Json) -> list[Json]:
    """What a person can use in *block*: its buttons, menus and inputs."""
    there = [*block.get("elements", []), block.get("accessory"), block.get("element")]
    return [e for e in there if kind_of(e) in INTERACTIVE]


def options_of(menu: Json) -> list[Json]:
    """All options of a menu, also of its groups."""
    groups = [menu, *(menu.get("option_groups") or [])]
    return [option for group in groups for option in group.get("options") or []]


def kind_of(value: Any) -> str:
    """The type that an object says it is; empty if it says none."""
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) else ""


def _known_keys(element: Json) -> set[str] | None:
    """The keys that slack_sdk knows of such an element; None where it can't make one of it."""
    try:
        parsed = BlockElement.parse(element)
    except Exception:  # whatever its constructor raises of a malformed one
        return None
    return None if parsed is None else {"type", *parsed.attributes}
