"""What Slack refuses in blocks, views and texts: what slack_sdk.models find, and what they let through."""

import copy
import json
from collections.abc import Callable
from typing import Any, Final

from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View

from tests.fakes.slack.elements import (
    ID_LENGTH,
    IN_ACTIONS,
    IN_CONTEXT_ACTIONS,
    IN_INPUT,
    IN_SECTION,
    RICH,
    Check,
    elements_of,
    kind_of,
)
from tests.fakes.slack.things import Json, Refused

BLOCKS_IN_MESSAGE: Final = 50
BLOCKS_IN_VIEW: Final = 100
TEXT_LENGTH: Final = 40_000
BLOCK_TEXT_LENGTH: Final = 13_200
MARKDOWN_LENGTH: Final = 12_000
VIEW_BYTES: Final = 250_000

IN_VIEWS: Final = frozenset("actions context divider header image input rich_text section video".split())
"""The types of blocks that modals and homes take; the others are for messages."""

VIEW_KEYS: Final = {
    "modal": frozenset(
        "type title blocks close submit private_metadata callback_id clear_on_close notify_on_close "
        "external_id submit_disabled".split()
    ),
    "home": frozenset("type blocks private_metadata callback_id external_id".split()),
}


def check_message(text: str | None, blocks: Any) -> None:
    """Slack takes a message of *text* and *blocks* (None or a list). Raises Refused."""
    if not text and not blocks:
        raise Refused("no_text")
    if text and len(text) > TEXT_LENGTH:
        raise Refused("msg_too_long")
    if blocks:
        check_blocks(blocks)


def check_blocks(blocks: Any) -> None:
    """Slack takes *blocks* in a message. Raises Refused."""
    if not isinstance(blocks, list):
        raise Refused("invalid_blocks_format")
    check = Check()
    _blocks(check, blocks, "/blocks", most=BLOCKS_IN_MESSAGE)
    if text_length(_of_type(blocks, "markdown")) > MARKDOWN_LENGTH:
        check.wrong("/blocks", f"all markdown must be less than {MARKDOWN_LENGTH + 1} characters")
    if check.problems:
        raise _refused("invalid_blocks", check, errors=check.problems)
    if text_length(blocks) > BLOCK_TEXT_LENGTH:
        raise Refused("msg_blocks_too_long")


def check_view(view: Any, *kinds: str) -> None:
    """Slack takes *view*, which is one of *kinds*. Raises Refused."""
    check = Check()
    if not isinstance(view, dict) or view.get("type") not in kinds:
        check.wrong("/view/type", f"must be {' or '.join(kinds)}")
        raise _refused("invalid_arguments", check)
    if len(json.dumps(view)) > VIEW_BYTES:
        raise Refused("view_too_large")
    _view(check, view)
    if check.problems:
        raise _refused("invalid_arguments", check)


def text_length(value: Any) -> int:
    """The characters of all texts within *value*."""
    if isinstance(value, list):
        return sum(text_length(item) for item in value)
    if isinstance(value, dict):
        own = len(value["text"]) if isinstance(value.get("text"), str) else 0
        return own + sum(text_length(item) for item in value.values())
    return 0


def _refused(error: str, check: Check, **beside: Any) -> Refused:
    messages = [f"[ERROR] {problem}" for problem in check.problems]
    return Refused(error, **beside, response_metadata={"messages": messages})


def _view(check: Check, view: Json) -> None:
    check.keys(view, "/view", VIEW_KEYS[view["type"]])
    if view["type"] == "modal":
        check.text(view.get("title"), "/view/title", most=24, plain=True)
    check.optional_text(view, "submit", "/view", most=24)
    check.optional_text(view, "close", "/view", most=24)
    if "private_metadata" in view:
        check.length(view["private_metadata"], "/view/private_metadata", most=3000, least=0)
    for key in ("callback_id", "external_id"):
        if key in view:
            check.length(view[key], f"/view/{key}", most=ID_LENGTH, least=0)
    blocks = view.get("blocks")
    if not isinstance(blocks, list):
        check.wrong("/view/blocks", "must be an array")
        return
    _blocks(check, blocks, "/view/blocks", most=BLOCKS_IN_VIEW, only=IN_VIEWS)
    if view["type"] == "modal" and "submit" not in view and _of_type(blocks, "input"):
        check.wrong("/view", "missing required field: submit (there are input blocks)")
    _by_sdk(check, "/view", lambda: View(**_without_extras(view)))


def _without_extras(view: Json) -> Json:
    return copy.deepcopy({key: value for key, value in view.items() if key != "submit_disabled"})


def _blocks(
    check: Check, blocks: list[Any], at: str, *, most: int, only: frozenset[str] | None = None
) -> None:
    check.items(blocks, at, most=most)
    block_ids: set[str] = set()
    for n, block in enumerate(blocks):
        there = f"{at}/{n}"
        if not kind_of(block):
            check.wrong(there, "must be a block with a type")
            continue
        if only is not None and block["type"] not in only:
            check.wrong(f"{there}/type", f"unsupported type: {block['type']}")
            continue
        _by_sdk(check, there, lambda block=block: Block.parse(copy.deepcopy(block)))  # type: ignore[misc]
        if (inside := INSIDE.get(block["type"])) is not None:
            inside(check, block, there)
        if (block_id := block.get("block_id")) is not None:
            check.length(block_id, f"{there}/block_id", most=ID_LENGTH)
            if str(block_id) in block_ids:
                check.wrong(f"{there}/block_id", f"block_id already exists: {block_id}")
            block_ids.add(str(block_id))
        _action_ids(check, block, there)


def _action_ids(check: Check, block: Json, at: str) -> None:
    if not isinstance(block.get("elements", []), list):
        return
    given = [element["action_id"] for element in elements_of(block) if "action_id" in element]
    if len(given) != len(set(map(str, given))):
        check.wrong(at, "action_id already exists in this block")


def _by_sdk(check: Check, at: str, parse: Callable[[], Any]) -> None:
    """slack_sdk's models take it, know its type and its keys."""
    try:
        parsed = parse()
        if parsed is None:
            check.wrong(f"{at}/type", "unsupported type")
            return
        parsed.validate_json()
        parsed.to_dict()  # the whole of it; validate_json looks at the outermost alone
    except Exception as error:  # the models raise what they happen to, of a malformed payload
        check.wrong(at, f"{type(error).__name__}: {error}")


def _section(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "text", "fields", "accessory", "expand"})
    if "text" in block or "fields" not in block:
        check.text(block.get("text"), f"{at}/text")
    if "fields" in block:
        for n, field in enumerate(check.items(block["fields"], f"{at}/fields", most=10)):
            check.text(field, f"{at}/fields/{n}", most=2000)
    if "accessory" in block:
        check.element(block["accessory"], f"{at}/accessory", IN_SECTION)


def _header(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "text"})
    check.text(block.get("text"), f"{at}/text", most=150, plain=True)


def _divider(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id"})


def _image(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "alt_text", "image_url", "slack_file", "title"})
    check.length(block.get("alt_text"), f"{at}/alt_text", most=2000)
    check.optional_text(block, "title", at, most=2000)
    if ("image_url" in block) == ("slack_file" in block):
        check.wrong(at, "must have either image_url or slack_file")


def _context(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "elements"})
    for n, element in enumerate(check.items(block.get("elements"), f"{at}/elements", most=10)):
        if isinstance(element, dict) and element.get("type") == "image":
            check.element(element, f"{at}/elements/{n}", {"image"})
        else:
            check.text(element, f"{at}/elements/{n}")


def _actions(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "elements"})
    for n, element in enumerate(check.items(block.get("elements"), f"{at}/elements", most=25)):
        check.element(element, f"{at}/elements/{n}", IN_ACTIONS)


def _context_actions(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "elements"})
    for n, element in enumerate(check.items(block.get("elements"), f"{at}/elements", most=5)):
        check.element(element, f"{at}/elements/{n}", IN_CONTEXT_ACTIONS)


def _input(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "label", "element", "hint", "optional", "dispatch_action"})
    check.text(block.get("label"), f"{at}/label", most=2000, plain=True)
    check.optional_text(block, "hint", at, most=2000)
    check.element(block.get("element"), f"{at}/element", IN_INPUT)


def _markdown(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "text"})
    check.length(block.get("text"), f"{at}/text", most=MARKDOWN_LENGTH)


def _rich_text(check: Check, block: Json, at: str) -> None:
    check.keys(block, at, {"type", "block_id", "elements"})
    for n, part in enumerate(check.items(block.get("elements"), f"{at}/elements", most=1_000_000)):
        check.rich(part, f"{at}/elements/{n}", RICH)


def _of_type(blocks: list[Any], kind: str) -> list[Json]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


INSIDE: Final[dict[str, Callable[[Check, Json, str], None]]] = {
    "section": _section,
    "header": _header,
    "divider": _divider,
    "image": _image,
    "context": _context,
    "actions": _actions,
    "context_actions": _context_actions,
    "input": _input,
    "markdown": _markdown,
    "rich_text": _rich_text,
}
"""The types whose insides are known here; of the others slack_sdk's models alone say what is wrong."""
