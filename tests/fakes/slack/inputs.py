"""What people fill in, as ``state.values`` has it, and what Slack's client lets them submit."""

from typing import Any, Final

from tests.fakes.slack.elements import elements_of, options_of
from tests.fakes.slack.things import Json, State, Surface

TEXTS: Final = frozenset({"plain_text_input", "number_input", "email_text_input", "url_text_input"})

CHOSEN: Final = {
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    "users_select": ("selected_user", "initial_user"),
    "channels_select": ("selected_channel", "initial_channel"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "multi_users_select": ("selected_users", "initial_users"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "rich_text_input": ("rich_text_value", "initial_value"),
    "file_input": ("files", ""),
}
"""Of an element: under which key its value is, and its initial value."""

ONE_OPTION: Final = frozenset({"static_select", "external_select", "radio_buttons"})
SOME_OPTIONS: Final = frozenset({"multi_static_select", "multi_external_select", "checkboxes"})


class NotSubmitted(ValueError):
    """Slack's client does not let the person submit that; *problems* are by block id."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__("; ".join(f"{block}: {problem}" for block, problem in problems.items()))
        self.problems = problems


def initially(element: Json) -> Json | None:
    """The value before anybody touched it; None for what holds none (a button)."""
    kind = element["type"]
    if kind in TEXTS:
        return {"type": kind, "value": element.get("initial_value")}
    if kind in ONE_OPTION:
        return {"type": kind, "selected_option": element.get("initial_option")}
    if kind in SOME_OPTIONS:
        return {"type": kind, "selected_options": element.get("initial_options", [])}
    if kind in CHOSEN:
        key, initial = CHOSEN[kind]
        return {"type": kind, key: element.get(initial, [] if key.endswith("s") else None)}
    return None


def entered(element: Json, value: Any) -> Json:
    """The value after somebody entered *value*: a text, or the value or words of an option or options.

    Raises LookupError where there is no such option.
    """
    kind = element["type"]
    if kind in TEXTS:
        return {"type": kind, "value": str(value) if value not in (None, "") else None}
    if kind in ONE_OPTION or kind == "overflow":
        return {"type": kind, "selected_option": None if value is None else _option(element, value)}
    if kind in SOME_OPTIONS:
        return {"type": kind, "selected_options": [_option(element, each) for each in value]}
    return {"type": kind, CHOSEN[kind][0]: value}


def state_of(surface: Surface, user: str) -> State:
    """What is filled in on *surface* by *user*: the initial values but for what they entered."""
    state: State = {}
    for block in surface.blocks:
        for element in elements_of(block):
            initial = initially(element)
            if initial is None:
                continue
            mine = surface.filled.get(user, {}).get(block["block_id"], {}).get(element["action_id"])
            kept = mine if mine is not None and mine["type"] == element["type"] else initial
            state.setdefault(block["block_id"], {})[element["action_id"]] = kept
    return state


def enter(surface: Surface, user: str, name: str, value: Any) -> None:
    """*user* entered *value* at the input of that block id or action id. Raises LookupError."""
    found = [
        (block["block_id"], element)
        for block in surface.blocks
        for element in elements_of(block)
        if initially(element) is not None and name in (block["block_id"], element["action_id"])
    ]
    if len(found) != 1:
        there = [f"{b['block_id']}/{e['action_id']}" for b in surface.blocks for e in elements_of(b)]
        raise LookupError(f"{len(found)} inputs are called {name}; there are {', '.join(there) or 'none'}")
    block_id, element = found[0]
    mine = surface.filled.setdefault(user, {}).setdefault(block_id, {})
    mine[element["action_id"]] = entered(element, value)


def problems_of(surface: Surface, user: str) -> dict[str, str]:
    """What Slack's client says at which block when *user* submits; empty if it lets them."""
    state = state_of(surface, user)
    problems = {}
    for block in surface.blocks:
        if block["type"] != "input":
            continue
        element = block["element"]
        value = state[block["block_id"]][element["action_id"]]
        if problem := _problem(element, value, optional=bool(block.get("optional"))):
            problems[block["block_id"]] = problem
    return problems


def _problem(element: Json, value: Json, *, optional: bool) -> str | None:
    content = next((v for key, v in value.items() if key != "type"), None)
    if content in (None, "", []):
        return None if optional else "Please complete this required field."
    if element["type"] in TEXTS:
        return _text_problem(element, str(content))
    if isinstance(content, list) and len(content) > element.get("max_selected_items", len(content)):
        return f"Please choose no more than {element['max_selected_items']}."
    return None


def _text_problem(element: Json, text: str) -> str | None:
    most, least = element.get("max_length", 3000), element.get("min_length", 0)
    if len(text) > most:
        return f"This entry must be no longer than {most} characters."
    if len(text) < least:
        return f"This entry must be at least {least} characters."
    if element["type"] == "number_input":
        return _number_problem(element, text)
    if element["type"] == "email_text_input" and "@" not in text:
        return "Please enter an email address."
    if element["type"] == "url_text_input" and "://" not in text:
        return "Please enter a URL."
    return None


def _number_problem(element: Json, text: str) -> str | None:
    try:
        number = float(text)
    except ValueError:
        return "Please enter a number."
    if not element["is_decimal_allowed"] and not number.is_integer():
        return "Please enter a whole number."
    if number < float(element.get("min_value", number)) or number > float(element.get("max_value", number)):
        return "Please enter a number within the limits."
    return None


def _option(element: Json, value: Any) -> Json:
    """The option of that value, or those words."""
    for option in options_of(element):
        if value in (option["value"], option["text"]["text"]):
            return option
    there = ", ".join(option["value"] for option in options_of(element))
    raise LookupError(f"no option {value}; there are {there or 'none'}")
