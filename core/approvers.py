"""Who may decide what waits: the organization's people, by its rules, as the roster says it now.

Asked at the click and once more right before an effect starts (I14, C14). Nothing but a person of the
roster ever may: not an agent, not whoever was a person of it.
"""

from typing import Final

from core.calls import Call
from core.ids import PersonId
from core.names import spoken
from core.parks import Choice, DecisionKind, Park
from core.people import ANY, ApprovalRule, Organization, Person, Role, Roster
from core.tasks import Task

RUNS: Final = frozenset({DecisionKind.APPROVE, DecisionKind.EDIT})
"""Decisions by which a call runs; so does having one sent again."""


def lets_run(decision: DecisionKind | None, choice: Choice | None = None) -> bool:
    """Whether an effect may start by this decision; declining, answering or settling starts none."""
    return decision in RUNS or choice is Choice.SEND_AGAIN


def may_decide(
    roster: Roster, who: PersonId, task: Task, park: Park, call: Call | None, *, to_run: bool = False
) -> bool:
    """Whether *who* may decide *park*; *to_run*: also in such a way that its call runs."""
    return why_not(roster, who, task, park, call, to_run=to_run) is None


def why_not(
    roster: Roster, who: PersonId, task: Task, park: Park, call: Call | None, *, to_run: bool = False
) -> str | None:
    """Why *who* may not decide *park*, in a sentence for their own eyes; None where they may.

    *call*: what the park is about, None where that is the task itself. *to_run*: they want its call to run,
    which the one who asked for the task may not where self-approval is off.
    """
    why = _objection(roster, who, task, park, call, to_run=to_run)
    return None if why is None else f"This is not yours to decide: {why}."


def _objection(
    roster: Roster, who: PersonId, task: Task, park: Park, call: Call | None, *, to_run: bool
) -> str | None:
    person = roster.person(who)
    if person is None or roster.organization.id != task.org or person.org != task.org:
        return "you are not of this organization"  # a foreign person answers like an unknown one (I18)
    if person.left:
        return "you have left this organization"
    if not person.may_decide:
        return "only owners and approvers decide"
    named = deciders(roster, park, call)
    if to_run and task.requester is not None and not said_of(roster.organization, call).self_approval:
        others = [p for p in named if p.id != task.requester]
        others = others or [p for p in _owners(roster) if p.id != task.requester]
        if who == task.requester and others:
            return f"you asked for this task yourself; {_either(others)} may approve it"
        named = others or named
    return None if person in named else f"{_either(named)} may decide this"


def deciders(roster: Roster, park: Park, call: Call | None) -> list[Person]:
    """Those who decide *park*, whoever asked for its task: whom its row names, else the rule."""
    return among(roster, park.approvers or said_of(roster.organization, call).who)


def among(roster: Roster, who: tuple[str, ...] | None) -> list[Person]:
    """Those of *who*, persons and roles, who are there and may decide; None: all of these.

    Where none of *who* is left the owners decide, so that nobody is locked out.
    """
    there = [p for p in roster.people if p.may_decide]
    if who is None:
        return there
    return [p for p in there if p.id in who or p.roles & set(who)] or _owners(roster)


def said_of(organization: Organization, call: Call | None) -> ApprovalRule:
    """What holds for *call*: each attribute by the narrowest rule that says it (its tool, its risk, any)."""
    keys = (ANY,) if call is None else (call.tool, call.risk, ANY)
    return holding(organization, *keys)


def holding(organization: Organization, *keys: str) -> ApprovalRule:
    """The rules of *keys*, the narrowest first, as one; self-approval is on where none says."""
    by_key = {rule.what: rule for rule in organization.rules}
    rules = [by_key[key] for key in keys if key in by_key]
    self_approval = next((r.self_approval for r in rules if r.self_approval is not None), True)
    who = next((r.who for r in rules if r.who is not None), None)
    return ApprovalRule(what=keys[0], who=who, self_approval=self_approval)


def _owners(roster: Roster) -> list[Person]:
    return [p for p in roster.people if not p.left and Role.OWNER in p.roles]


def _either(people: list[Person]) -> str:
    return spoken([person.name for person in people], "or") or "nobody"
