"""Block Kit: blocks of plain and rich text, in which nothing that anybody wrote is read as markup.

Rich text and plain text name nobody and link to nothing. The one markup here is of our own making: a moment,
which Slack shows in the reader's own time zone.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from adapters.slack.words import escaped
from core.visible import shortened

Block: TypeAlias = dict[str, Any]
"""A block, an element or a view, as its JSON."""

MOST_BLOCKS: Final = 50
MOST_BLOCKS_IN_VIEW: Final = 100
MOST_TEXT: Final = 12_000
"""Of all that a message shows, in characters: Slack refuses from about 13,200 on, without saying so (bolt-js
issue 2509)."""
MOST_BYTES: Final = 240_000
"""Of a view, as it is sent; Slack takes 250,000."""
LONGEST_SECTION: Final = 3_000
LONGEST_HEADER: Final = 150
LONGEST_TITLE: Final = 24
"""Of a modal's title and its buttons."""
LONGEST_INPUT: Final = 3_000
LONGEST_BUTTON: Final = 75
LONGEST_OPTION: Final = 75
MOST_OPTIONS: Final = 100
LONGEST_LABEL: Final = 2_000
LONGEST_NOTICE: Final = 3_000
"""Of what stands in a notification, beside the blocks."""


NOTHING: Final = "–"
"""For an empty text, which Slack does not take."""


# ── words ────────────────────────────────────────────────────────────────────────────────────


def plain_text(words: str, most: int = LONGEST_SECTION) -> Block:
    """*words* as they are, no emoji made of them; what is longer than *most* ends in an ellipsis."""
    return {"type": "plain_text", "text": shortened(words, most) or NOTHING, "emoji": False}


def said(words: str, *styles: str) -> Block:
    """*words* within a paragraph, *styles* such as bold, italic, strike or code."""
    made: Block = {"type": "text", "text": words or NOTHING}
    return made | {"style": dict.fromkeys(styles, True)} if styles else made


def paragraph(*parts: Block) -> Block:
    return {"type": "rich_text_section", "elements": list(parts)}


def verbatim(words: str) -> Block:
    """*words* in letters of one width, to the character."""
    return {"type": "rich_text_preformatted", "elements": [said(words)]}


def quoted(*parts: Block) -> Block:
    return {"type": "rich_text_quote", "elements": list(parts)}


def bullets(lines: Sequence[Sequence[Block]]) -> Block:
    return {"type": "rich_text_list", "style": "bullet", "elements": [paragraph(*parts) for parts in lines]}


def moment(at: datetime) -> Block:
    """*at* in the reader's own time zone."""
    at = at.astimezone(UTC)
    return {
        "type": "date",
        "timestamp": int(at.timestamp()),
        "format": "{date_short_pretty} at {time}",
        "fallback": f"{at:%a} {at.day} {at:%b, %H:%M} UTC",
    }


# ── blocks ───────────────────────────────────────────────────────────────────────────────────


def header(words: str) -> Block:
    return {"type": "header", "text": plain_text(words, LONGEST_HEADER)}


def rich(*parts: Block) -> Block:
    """Paragraphs that follow each other are one, with line breaks: Slack puts none between two."""
    made: list[Block] = []
    for part in parts:
        if made and made[-1]["type"] == part["type"] == "rich_text_section":
            made[-1] = paragraph(*made[-1]["elements"], said("\n"), *part["elements"])
        else:
            made.append(part)
    return {"type": "rich_text", "elements": made}


def section(words: str, accessory: Block | None = None) -> Block:
    made: Block = {"type": "section", "text": plain_text(words)}
    return made if accessory is None else made | {"accessory": accessory}


def context(*words: str) -> Block:
    return {"type": "context", "elements": [plain_text(text) for text in words]}


def context_at(before: str, at: datetime, after: str = "") -> Block:
    """*at* between two texts, in the reader's own time zone."""
    date = moment(at)
    said_at = f"<!date^{date['timestamp']}^{date['format']}|{date['fallback']}>"
    words = f"{escaped(before)} {said_at}{escaped(after)}"
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": words, "verbatim": True}]}


def actions(block_id: str, elements: Sequence[Block]) -> Block:
    return {"type": "actions", "block_id": block_id, "elements": list(elements)}


DIVIDER: Final[Block] = {"type": "divider"}


def button(
    words: str,
    action_id: str,
    value: str,
    *,
    style: str | None = None,
    url: str | None = None,
    confirm: Block | None = None,
) -> Block:
    """*style*: primary or danger. *url*: what it opens; its press comes to us all the same."""
    made: Block = {
        "type": "button",
        "text": plain_text(words, LONGEST_BUTTON),
        "action_id": action_id,
        "value": value,
    }
    extra = {"style": style, "url": url, "confirm": confirm}
    return made | {name: given for name, given in extra.items() if given is not None}


def sure(title: str, words: str, yes: str, *, danger: bool = False) -> Block:
    """What is asked once more before a press counts; *danger*: its yes is red."""
    made: Block = {
        "title": plain_text(title, 100),
        "text": plain_text(words, 300),
        "confirm": plain_text(yes, 30),
        "deny": plain_text("Not now", 30),
    }
    return made | {"style": "danger"} if danger else made


def modal(
    title: str,
    blocks: Sequence[Block],
    *,
    callback_id: str,
    metadata: str = "",
    submit: str | None = None,
    close: str = "Close",
) -> Block:
    """*metadata*: what comes back with it; never what is shown or run."""
    made: Block = {
        "type": "modal",
        "callback_id": callback_id,
        "private_metadata": metadata,
        "title": plain_text(title, LONGEST_TITLE),
        "close": plain_text(close, LONGEST_TITLE),
        "blocks": list(blocks),
    }
    return made if submit is None else made | {"submit": plain_text(submit, LONGEST_TITLE)}


# ── what is in it ────────────────────────────────────────────────────────────────────────────


def extent(blocks: Sequence[Mapping[str, Any]]) -> int:
    """The characters that *blocks* show in all."""
    return sum(len(text) for block in blocks for text in _texts(block))


def size(blocks: Sequence[Mapping[str, Any]]) -> int:
    """The bytes of *blocks* as they are sent: of what is not ASCII six for a character, or twelve."""
    return len(json.dumps(blocks))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("text", "fallback") and isinstance(inner, str):
                yield inner
            elif key not in ("value", "action_id", "block_id", "url", "confirm"):
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
