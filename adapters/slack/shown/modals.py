"""Modals: an edit's typed fields, what is to be said with a decision, the whole of a call, a short answer.

What comes back with a modal is a token and a verb, never what was shown: the rows have that.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from adapters.slack.shown.cards import buttons, row_parts
from adapters.slack.shown.kit import (
    LONGEST_INPUT,
    LONGEST_LABEL,
    LONGEST_OPTION,
    MOST_BLOCKS_IN_VIEW,
    MOST_BYTES,
    MOST_OPTIONS,
    Block,
    context,
    modal,
    paragraph,
    plain_text,
    rich,
    said,
    section,
    size,
    verbatim,
)
from core.cards import Card, Row, Verb
from core.chat import Answer
from core.forms import Form, Input, Kind
from core.forms import Typed as Filled
from core.headlines import reviewed
from core.parks import ParkKind
from core.shown import NOT_SET

SUBMITTED: Final = "submitted"
"""The modal says something when it is submitted."""
TOLD: Final = "told"
"""It does not."""
NEW_TASK: Final = "new_task"

WORDS: Final = "words"
STOP_TOO: Final = "stop_too"


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """What a modal is about, as it comes back with it."""

    verb: str
    token: str = ""
    chat: str = ""  # of a new task: where it is to speak
    thread: str = ""

    def written(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value})


def about(metadata: str) -> About | None:
    """What *metadata* says; None of a modal that is not of this kind, or of another release."""
    try:
        return About(**json.loads(metadata))
    except (ValueError, TypeError):
        return None


# ── what is shown ────────────────────────────────────────────────────────────────────────────


def told(words: str, title: str = "Gatepost") -> Block:
    """*words* alone."""
    parts = [words[n : n + 2_900] for n in range(0, len(words), 2_900)] or ["…"]
    return modal(title, [section(part) for part in parts[:20]], callback_id=TOLD)


def edit_form(form: Form, token: str, tool: str) -> Block:
    """A typed input for each field that may be changed; submitting it approves the call with what it says."""
    blocks: list[Block] = []
    bytes_left = MOST_BYTES
    for n, asked in enumerate(form.inputs):
        more = _asked(asked, n)
        bytes_left -= size(more)
        if len(blocks) + len(more) > MOST_BLOCKS_IN_VIEW - 2 or bytes_left < 0:
            left = len(form.inputs) - n
            blocks.append(context(f"{left} more have no room in a form; they stay as they are."))
            break
        blocks += more
    if not any(block["type"] == "input" for block in blocks):
        return told(
            "Nothing of this call can be changed in a form. Decline it, and say what you want instead."
        )
    return modal(
        f"Edit {tool}",
        [context("It runs with what stands here once you approve it; the agent is told."), *blocks],
        callback_id=SUBMITTED,
        metadata=About(verb=Verb.EDIT, token=token).written(),
        submit="Approve with changes",
        close="Back",
    )


def decline_form(token: str) -> Block:
    """Why, which may stay empty, and whether its task is to stop."""
    stop = {"text": plain_text("Stop it as well"), "value": STOP_TOO}
    boxes = {"type": "checkboxes", "action_id": STOP_TOO, "options": [stop]}
    return modal(
        "Decline",
        [
            _text_input(WORDS, "Why? The agent is told.", optional=True),
            {
                "type": "input",
                "block_id": STOP_TOO,
                "label": plain_text("The task"),
                "element": boxes,
                "optional": True,
            },
        ],
        callback_id=SUBMITTED,
        metadata=About(verb=Verb.DECLINE, token=token).written(),
        submit="Decline",
        close="Back",
    )


def words_form(verb: str, token: str, asks: str) -> Block:
    """What is still to be said before *verb* is done."""
    return modal(
        "Change it" if verb == Verb.REVISE else "Answer",
        [_text_input(WORDS, asks)],
        callback_id=SUBMITTED,
        metadata=About(verb=verb, token=token).written(),
        submit="Send",
        close="Back",
    )


def new_task_form(text: str, chat: str, thread: str) -> Block:
    """A message as the goal of a task, to be changed first: what is sent are the words of who sends it."""
    made = _text_input(WORDS, "What is to be done?", value=text[:LONGEST_INPUT])
    cut = [context("The message is longer: its beginning is here.")] if len(text) > LONGEST_INPUT else []
    return modal(
        "Make it a task",
        [made, *cut],
        callback_id=SUBMITTED,
        metadata=About(verb=NEW_TASK, chat=chat, thread=thread).written(),
        submit="Start",
        close="Back",
    )


def review(answer: Answer) -> Block | None:
    """All of a call's arguments, then how to answer; None where even a modal has no room for them."""
    card = answer.views[0]
    assert isinstance(card, Card)
    row = card.rows[0]
    blocks = [
        rich(paragraph(said(row.title, "bold")), *row_parts(_without_fields(row))),
        *([context(row.why)] if row.why else []),
        *(rich(verbatim(page)) for page in answer.pages),
        context(
            " · ".join(
                part for part in (row.code, row.risk, f"#{row.short_hash}", "this is all of it") if part
            )
        ),
        *buttons(_reviewed(row)),
    ]
    if len(blocks) > MOST_BLOCKS_IN_VIEW or size(blocks) > MOST_BYTES:
        return None
    return modal(
        f"Review {row.code}",
        blocks,
        callback_id=SUBMITTED,
        metadata=About(verb=Verb.APPROVE, token=row.token).written(),
        submit="Approve" if row.kind is ParkKind.APPROVAL and row.status is None else None,
    )


def _reviewed(row: Row) -> Row:
    """*row* as it may be answered by who has read it whole; approving is what the modal's end is for."""
    whole = reviewed(row)
    return replace(whole, choices=tuple(choice for choice in whole.choices if choice != Verb.APPROVE))


def _without_fields(row: Row) -> Row:
    return replace(row, fields=())


# ── inputs ───────────────────────────────────────────────────────────────────────────────────


def _text_input(block_id: str, label: str, *, optional: bool = False, value: str = "") -> Block:
    element: Block = {
        "type": "plain_text_input",
        "action_id": block_id,
        "multiline": True,
        "max_length": LONGEST_INPUT,
    }
    if value:
        element["initial_value"] = value
    return {
        "type": "input",
        "block_id": block_id,
        "label": plain_text(label, LONGEST_LABEL),
        "element": element,
        "optional": optional,
    }


def _asked(asked: Input, n: int) -> list[Block]:
    """The input of one field; what is too long for any is named, and stays as it is."""
    if len(asked.value) > LONGEST_INPUT or len(asked.name) > 255:
        return [context(f"{asked.label[:200]}: longer than a form takes; it stays as it is.")]
    hint = " · ".join(part for part in (_takes(asked), asked.limits, asked.description) if part)
    made: Block = {
        "type": "input",
        "block_id": f"field:{n}",
        "label": plain_text(asked.label or asked.name, LONGEST_LABEL),
        "element": _element(asked),
        "optional": not (asked.required and asked.value != ""),
    }
    return [made | {"hint": plain_text(hint, 1_000)} if hint else made]


def _element(asked: Input) -> Block:
    if asked.kind is Kind.BOOLEAN:
        return _select(asked, ("yes", "no"))
    fits = asked.choices and len(asked.choices) <= MOST_OPTIONS
    if fits and all(0 < len(choice) <= LONGEST_OPTION for choice in asked.choices):
        if asked.kind is Kind.CHOICE:
            return _select(asked, asked.choices)
        return _several(asked)
    element: Block = {
        "type": "plain_text_input",
        "action_id": asked.name,
        "multiline": asked.multiline,
        "max_length": LONGEST_INPUT,
    }
    if asked.value:
        element["initial_value"] = asked.value
    if not asked.present:
        element["placeholder"] = plain_text(NOT_SET, 150)
    return element


def _option(words: str) -> Block:
    return {"text": plain_text(words, LONGEST_OPTION), "value": words}


def _select(asked: Input, choices: Sequence[str]) -> Block:
    made: Block = {
        "type": "static_select",
        "action_id": asked.name,
        "options": [_option(choice) for choice in choices],
    }
    return made | {"initial_option": _option(asked.value)} if asked.value in choices else made


def _several(asked: Input) -> Block:
    made: Block = {
        "type": "multi_static_select",
        "action_id": asked.name,
        "options": [_option(choice) for choice in asked.choices],
    }
    given = [line for line in asked.value.split("\n") if line in asked.choices]
    return made | {"initial_options": [_option(choice) for choice in given]} if given else made


_TAKES: Final = {
    Kind.NUMBER: "a number",
    Kind.DATE: "a date, such as 2025-01-31",
    Kind.LIST: "one a line",
    Kind.JSON: "JSON",
}


def _takes(asked: Input) -> str:
    if asked.choices and asked.kind in (Kind.CHOICE, Kind.LIST):
        return "some of these" if asked.kind is Kind.LIST else ""
    return _TAKES.get(asked.kind, "")


# ── what comes back ──────────────────────────────────────────────────────────────────────────


def fields_in(values: Mapping[str, Mapping[str, Any]]) -> dict[str, Filled]:
    """The texts of an edit's fields, by name."""
    return {
        name: _filled(state)
        for block_id, by_action in values.items()
        if block_id.startswith("field:")
        for name, state in by_action.items()
    }


def _filled(state: Mapping[str, Any]) -> Filled:
    match state.get("type"):
        case "static_select":
            chosen = state.get("selected_option")
            return str(chosen["value"]) if chosen else ""
        case "multi_static_select":
            return [str(option["value"]) for option in state.get("selected_options") or ()]
        case _:
            return str(state.get("value") or "")


def words_in(values: Mapping[str, Mapping[str, Any]]) -> str:
    """What was written beside a decision."""
    return str(values.get(WORDS, {}).get(WORDS, {}).get("value") or "")


def stops_too(values: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether its task is to stop as well."""
    return bool(values.get(STOP_TOO, {}).get(STOP_TOO, {}).get("selected_options"))


def errors_at(problems: Mapping[str, str], values: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """*problems*, by field, at the blocks of a form that was filled in; at its first where theirs is gone."""
    at = {name: block_id for block_id, by_action in values.items() for name in by_action}
    first = next((block_id for block_id in values if block_id.startswith("field:")), WORDS)
    made: dict[str, str] = {}
    for name, words in problems.items():
        block_id = at.get(name, first)
        said_of = words if name in at or not name else f"{name}: {words}"
        made[block_id] = f"{made[block_id]}; {said_of}" if block_id in made else said_of
    return {block_id: words[:1_900] for block_id, words in made.items()}
