"""What a person typed into a form means, and what they are told of what they just decided."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from core.calls import CallState, Outcome
from core.decisions import Answering, Desk
from core.errors import BadArguments
from core.forms import Form, Input, changes_in, form
from core.forms import Typed as Filled
from core.lookups import look_up
from core.moves.past import said
from core.moves.people import Decided
from core.parks import Choice, DecisionKind
from core.ports import Clock, ParkView
from core.shown import NOT_SET, on_one_line
from core.standing import held_back
from core.tasks import Json
from core.visible import visible


def decided_words(who: str, view: ParkView, decided: Decided) -> str:
    """t-1.2 approved with changes by ada: amount 24.00 → 18.50. A worker runs it."""
    line = f"{code_of(view)} {said(decided.park)} by {visible(who)}"
    details = _details(view, decided)
    if details:
        line += f": {details}"
    stop = "" if details.endswith((".", "!", "?")) else "."
    return f"{line}{stop} {what_follows(decided)}"


async def looked_up(desk: Desk, clock: Clock, by: Answering, view: ParkView) -> str:
    """What its destination says of *view*, which is settled so; or that it can't say. Raises as `look_up`."""
    found = await look_up(desk, clock, by, view)
    if found is None:
        return f"{code_of(view)} can't be looked up now: it still may have gone out."
    return decided_words(by.who.name, view, found)


async def answer_to(desk: Desk, who: str, view: ParkView, decided: Decided) -> str:
    """`decided_words`, and why it does not run just now, where its agent or all of them are paused."""
    words = decided_words(who, view, decided)
    if decided.call is None or decided.call.state is not CallState.APPROVED:
        return words
    held = await held_back(desk.store.people, decided.task.org, desk.agent(decided.task.agent))
    return words if held is None else f"{words.removesuffix(what_follows(decided))}{held}"


def edited_by(desk: Desk, view: ParkView, typed: Mapping[str, Filled]) -> dict[str, Json]:
    """The changes that *typed*, the texts of a form's fields by name, are to the call of *view*.

    As they stand where its tool is gone, which the desk refuses. Raises BadArguments by field.
    """
    tool = None if view.call is None else desk.host.tools.get(view.call.tool)
    if tool is None or view.call is None:
        return dict(typed)
    made = form(tool, view.call.args)
    return changes_in(made, {name: as_it_was(desk, made, name, text) for name, text in typed.items()})


def shown_form(desk: Desk, made: Form) -> Form:
    """*made* as a person may see it: a secret is a mark, and left as it stands it changes nothing."""
    return replace(made, inputs=tuple(shown_input(desk, asked) for asked in made.inputs))


def shown_input(desk: Desk, asked: Input) -> Input:
    """One field of such a form; what is called a secret is a mark whatever it looks like."""
    return replace(desk.redactor.clean(asked), value=_shown(desk, asked))


def _shown(desk: Desk, asked: Input) -> str:
    (value,) = desk.redactor.clean({asked.name: asked.value}).values()
    return str(value)


def as_it_was(desk: Desk, made: Form, name: str, given: Filled) -> Filled:
    """The field's own text where what a person was shown of it came back.

    Raises BadArguments where it came back changed, a mark in it still: that would run in the secret's place.
    """
    asked = made.input(name)
    if asked is None or isinstance(given, bool):
        return given
    text = given if isinstance(given, str) else "\n".join(given)
    shown = _shown(desk, asked)
    if text == shown:
        return asked.value
    if shown != asked.value and any(mark in text for mark in _MARK.findall(shown)):
        raise BadArguments(
            {name: "has a secret that is not shown; leave it as it stands, or write it all anew"}
        )
    return given


_MARK: Final = re.compile(r"\[secret[^\]\n]*\]")
"""What stands for a secret in a text that was redacted."""


def code_of(view: ParkView) -> str:
    """t-1.2, or t-1 for a park about the task itself."""
    return view.task.code if view.call is None else f"{view.task.code}.{view.call.number}"


def _details(view: ParkView, decided: Decided) -> str:
    park = decided.park
    if park.decision is DecisionKind.EDIT and view.call and decided.call:
        return ", ".join(differences(view.call.args, decided.call.args))
    return visible(park.reason or "")


def differences(before: Mapping[str, Json], after: Mapping[str, Json]) -> list[str]:
    """amount 24.00 → 18.50, for every field that is another; visible."""
    names = [*before, *(name for name in after if name not in before)]
    shown = [
        (name, *(on_one_line(args[name]) if name in args else NOT_SET for args in (before, after)))
        for name in names
    ]
    return [f"{visible(name)} {old} → {new}" for name, old, new in shown if old != new]


def what_follows(decided: Decided) -> str:
    """What happens now, or what a look at the destination found."""
    park, task = decided.park, decided.task
    if park.choice is Choice.LOOK_UP and decided.call is not None:
        return _FOLLOWS[Choice.WENT_OUT if decided.call.outcome is Outcome.SUCCEEDED else Choice.DID_NOT]
    if task.stop_by is not None:
        return f"{task.code} is stopped." if task.ended else f"{task.code} stops."
    return _FOLLOWS.get(park.choice or park.decision, "") or "The agent is told."


_FOLLOWS: Final[Mapping[Choice | DecisionKind | None, str]] = {
    DecisionKind.APPROVE: "A worker runs it.",
    DecisionKind.EDIT: "A worker runs it.",
    DecisionKind.DECLINE: "It is not run; the agent is told.",
    DecisionKind.REVISE: "It is not run; the agent proposes something else.",
    DecisionKind.CONNECTED: "The agent may make the call again.",
    Choice.WENT_OUT: "It counts as done.",
    Choice.DID_NOT: "It counts as not done.",
    Choice.SEND_AGAIN: "A worker runs it once more.",
    Choice.MORE_ROUNDS: "The task goes on.",
    Choice.MORE_TOKENS: "The task goes on.",
}
