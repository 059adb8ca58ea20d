"""Payloads for tests: builders of blocks, and examples of what Slack takes and what it refuses."""

from typing import Any

from tests.fakes.slack.things import Json


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def section(text: str = "words", **more: Any) -> Json:
    return {"type": "section", "text": mrkdwn(text), **more}


def button(action_id: str = "approve", text: str = "Approve", **more: Any) -> Json:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def actions(*elements: Json, **more: Any) -> Json:
    return {"type": "actions", "elements": list(elements), **more}


def option(value: str, text: str | None = None) -> Json:
    return {"text": plain(text or value), "value": value}


def asks(name: str, *, optional: bool = False, **more: Any) -> Json:
    """An input block for a text, with *name* as its block id and action id."""
    element = {"type": "plain_text_input", "action_id": name, **more}
    return {
        "type": "input",
        "block_id": name,
        "label": plain(name),
        "element": element,
        "optional": optional,
    }


def modal(*blocks: Json, title: str = "Edit", submit: str = "Send", **more: Any) -> Json:
    return {
        "type": "modal",
        "title": plain(title),
        "submit": plain(submit),
        "blocks": list(blocks or [section()]),
        **more,
    }


CARD: list[Json] = [
    {"type": "header", "text": plain("Refund $24.00")},
    section("*Sam* wants to run `refund` for order A7."),
    {
        "type": "rich_text",
        "elements": [
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "sorry for the delay"}]}
        ],
    },
    {"type": "context", "elements": [mrkdwn("spend · expires Thu 09:00 · a1b2")]},
    actions(
        button("approve", "Approve", style="primary", value="a1b2"),
        button("edit", "Edit", value="a1b2"),
        button("decline", "Decline", style="danger", value="a1b2"),
        block_id="park:a1b2",
    ),
]

GOOD: dict[str, list[Json]] = {
    "a card": CARD,
    "fields": [{"type": "section", "fields": [mrkdwn("a"), plain("b")]}],
    "the longest texts": [
        section("x" * 3000),
        {"type": "header", "text": plain("x" * 150)},
        actions(button("a" * 255, "x" * 75, value="x" * 2000)),
    ],
    "menus": [
        actions(
            {"type": "overflow", "action_id": "more", "options": [option(str(n)) for n in range(5)]},
            {
                "type": "static_select",
                "action_id": "pick",
                "placeholder": plain("Pick"),
                "options": [option("a"), option("b")],
                "initial_option": option("a"),
            },
            {"type": "checkboxes", "action_id": "tick", "options": [option(str(n)) for n in range(10)]},
        )
    ],
    "groups of options": [
        actions(
            {
                "type": "multi_static_select",
                "action_id": "pick",
                "option_groups": [{"label": plain("Some"), "options": [option("a"), option("b")]}],
                "initial_options": [option("b")],
            }
        )
    ],
    "feedback": [
        {
            "type": "context_actions",
            "elements": [
                {
                    "type": "feedback_buttons",
                    "action_id": "feedback",
                    "positive_button": {"text": plain("Good"), "value": "good"},
                    "negative_button": {"text": plain("Bad"), "value": "bad"},
                }
            ],
        }
    ],
    "an accessory and a confirmation": [
        section(
            accessory=button(
                confirm={
                    "title": plain("Sure?"),
                    "text": mrkdwn("It is gone *then*."),
                    "confirm": plain("Yes"),
                    "deny": plain("No"),
                }
            )
        )
    ],
    "rich text": [
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [
                        {"type": "text", "text": "a", "style": {"bold": True}},
                        {"type": "user", "user_id": "U1"},
                        {"type": "link", "url": "https://example.com"},
                    ],
                },
                {
                    "type": "rich_text_list",
                    "style": "bullet",
                    "elements": [{"type": "rich_text_section", "elements": []}],
                },
            ],
        }
    ],
    "the same action in two blocks": [actions(button()), actions(button())],
    "fifty blocks": [{"type": "divider"}] * 50,
    "an image and a divider": [
        {"type": "image", "image_url": "https://example.com/a.png", "alt_text": "A"},
        {"type": "divider"},
    ],
    "markdown": [{"type": "markdown", "text": "**bold**"}],
}

LONG_CONFIRM = {"text": mrkdwn("x"), "confirm": plain("Yes"), "deny": plain("No")}

BAD: dict[str, tuple[list[Json], str]] = {
    "an unknown type": ([{"type": "banner"}], "/blocks/0"),
    "no type": ([{"text": "x"}], "/blocks/0"),
    "an empty text": ([section("")], "/blocks/0/text/text"),
    "a section's text": ([section("x" * 3001)], "/blocks/0"),
    "a section without text": ([{"type": "section"}], "/blocks/0"),
    "a field's text": ([{"type": "section", "fields": [mrkdwn("x" * 2001)]}], "/blocks/0/fields/0/text"),
    "eleven fields": ([{"type": "section", "fields": [mrkdwn("x")] * 11}], "/blocks/0"),
    "a header's text": ([{"type": "header", "text": plain("x" * 151)}], "/blocks/0"),
    "a header in mrkdwn": ([{"type": "header", "text": mrkdwn("x")}], "/blocks/0/text/type"),
    "a button's text": ([actions(button(text="x" * 76))], "/blocks/0"),
    "a button's value": ([actions(button(value="x" * 2001))], "/blocks/0"),
    "a button in mrkdwn": (
        [actions({"type": "button", "action_id": "a", "text": mrkdwn("x")})],
        "/blocks/0/elements/0/text/type",
    ),
    "a button's style": ([actions(button(style="blue"))], "/blocks/0"),
    "an action id": ([actions(button("a" * 256))], "/blocks/0"),
    "a block id": ([section(block_id="b" * 256)], "/blocks/0"),
    "a block id twice": ([section(block_id="b"), section(block_id="b")], "/blocks/1/block_id"),
    "an action id twice": ([actions(button(), button())], "/blocks/0"),
    "an option's text": (
        [actions({"type": "overflow", "action_id": "m", "options": [option("a", "x" * 76)]})],
        "/blocks/0",
    ),
    "an option's value": (
        [actions({"type": "overflow", "action_id": "m", "options": [option("x" * 151, "a")]})],
        "/blocks/0",
    ),
    "six options of an overflow": (
        [actions({"type": "overflow", "action_id": "m", "options": [option(str(n)) for n in range(6)]})],
        "/blocks/0",
    ),
    "eleven radio buttons": (
        [
            actions(
                {"type": "radio_buttons", "action_id": "m", "options": [option(str(n)) for n in range(11)]}
            )
        ],
        "/blocks/0/elements/0/options",
    ),
    "eleven checkboxes": (
        [actions({"type": "checkboxes", "action_id": "m", "options": [option(str(n)) for n in range(11)]})],
        "/blocks/0/elements/0/options",
    ),
    "a confirmation's title": (
        [actions(button(confirm={"title": plain("x" * 101), **LONG_CONFIRM}))],
        "/blocks/0",
    ),
    "a confirmation's text": (
        [actions(button(confirm={"title": plain("x"), **LONG_CONFIRM, "text": mrkdwn("x" * 301)}))],
        "/blocks/0",
    ),
    "a confirmation's button": (
        [actions(button(confirm={"title": plain("x"), **LONG_CONFIRM, "deny": plain("x" * 31)}))],
        "/blocks/0",
    ),
    "eleven elements of a context": (
        [{"type": "context", "elements": [mrkdwn("x")] * 11}],
        "/blocks/0",
    ),
    "twenty-six actions": ([actions(*(button(f"a{n}") for n in range(26)))], "/blocks/0"),
    "an unknown element of rich text": (
        [
            {
                "type": "rich_text",
                "elements": [{"type": "rich_text_section", "elements": [{"type": "blink"}]}],
            }
        ],
        "/blocks/0/elements/0/elements/0/type",
    ),
    "a mention in preformatted text": (
        [
            {
                "type": "rich_text",
                "elements": [
                    {"type": "rich_text_preformatted", "elements": [{"type": "user", "user_id": "U1"}]}
                ],
            }
        ],
        "/blocks/0/elements/0/elements/0/type",
    ),
    "an unknown key of a block": ([section(colour="red")], "/blocks/0"),
    "an unknown key of an element": ([actions(button(colour="red"))], "/blocks/0/elements/0"),
    "an unknown key of a text": (
        [{"type": "section", "text": {**mrkdwn("x"), "emoji": True}}],
        "/blocks/0",
    ),
    "fifty-one blocks": ([{"type": "divider"}] * 51, "/blocks"),
    "an input's longest text": ([asks("note", max_length=3001)], "/blocks/0/element/max_length"),
    "an input's first text": ([asks("note", initial_value="x" * 3001)], "/blocks/0/element/initial_value"),
    "a first text longer than allowed": (
        [asks("note", initial_value="abc", max_length=2)],
        "/blocks/0/element/initial_value",
    ),
    "a first choice that is none": (
        [
            actions(
                {
                    "type": "static_select",
                    "action_id": "m",
                    "options": [option("a")],
                    "initial_option": option("b"),
                }
            )
        ],
        "/blocks/0/elements/0",
    ),
    "a group that is none": (
        [actions({"type": "static_select", "action_id": "m", "option_groups": ["a"]})],
        "/blocks/0",
    ),
    "an input in a row of actions": (
        [actions({"type": "plain_text_input", "action_id": "a"})],
        "/blocks/0/elements/0/type",
    ),
}

BAD_VIEWS: dict[str, Json] = {
    "a title": modal(title="x" * 25),
    "no title": {"type": "modal", "blocks": [section()]},
    "a submit": modal(submit="x" * 25),
    "a close": modal(close=plain("x" * 25)),
    "metadata": modal(private_metadata="x" * 3001),
    "a callback id": modal(callback_id="x" * 256),
    "an input without submit": {"type": "modal", "title": plain("x"), "blocks": [asks("note")]},
    "a hundred and one blocks": modal(*[{"type": "divider"}] * 101),
    "no blocks": {"type": "modal", "title": plain("x"), "blocks": []},
    "an unknown key": modal(colour="red"),
    "a block for messages": modal({"type": "markdown", "text": "x"}),
    "an unknown block": modal({"type": "banner"}),
    "a home": {"type": "home", "blocks": [section()]},
}
