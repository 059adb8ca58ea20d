"""Who might approve at this moment, in words of the simulation's own: sets of ids, and no code of core's.

What core.approvers says is looked at by what is said here, so neither may call the other.
"""

from core.calls import Call
from core.ids import OrgId, PersonId
from core.people import Role
from core.tasks import Task
from core.testing.memory.rows import Rows


def might(rows: Rows, who: PersonId, task: Task, call: Call | None, *, runs: bool) -> bool:
    """Whether *who* might decide something of *task*; *runs*: so that *call* runs."""
    roles = {p.id: p.roles for p in rows.people.under("org", task.org) if not p.left}
    owners = {one for one, has in roles.items() if Role.OWNER in has}
    able = owners | {one for one, has in roles.items() if Role.APPROVER in has}
    named, own = _said(rows, task.org, call)
    pool = able
    if named is not None:
        pool = {one for one in able if named & {one, *roles[one]}} or owners
    if runs and own is False and task.requester is not None:
        asked = {task.requester}
        pool = (pool - asked) or (owners - asked) or pool
    return who in pool


def _said(rows: Rows, org: OrgId, call: Call | None) -> tuple[set[str] | None, bool | None]:
    """Whom the rules name for *call*, and whether who asked may: each by the first that says it."""
    row = rows.organizations.get(org)
    assert row is not None
    named: set[str] | None = None
    own: bool | None = None
    for what in ("any",) if call is None else (call.tool, call.risk, "any"):
        for rule in (r for r in row.organization.rules if r.what == what):
            named = set(rule.who) if named is None and rule.who is not None else named
            own = rule.self_approval if own is None else own
    return named, own
