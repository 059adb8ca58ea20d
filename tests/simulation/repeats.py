"""I25, seen from outside: how often one call with one result stands in a task."""

from core.calls import Outcome
from core.canonical import digest
from core.tasks import MessageKind, Task
from core.testing.memory.rows import Rows
from tests.simulation.rules import demand

MOST = 3
"""The second is answered with a reminder, the third ends in a closing round."""
_WORDS = frozenset({MessageKind.GOAL, MessageKind.OWNER, MessageKind.NOTE})


def check(rows: Rows, task: Task) -> None:
    """Raises Violation where *task* went on repeating itself."""
    said = [row.message for row in rows.messages.under("task", task.org, task.id)]
    words = sorted((m.episode, m.round) for m in said if m.kind in _WORDS)
    calls = [c for c in rows.calls.under("task", task.org, task.id) if c.round is not None and c.settled]
    rounds: dict[str, set[tuple[int, int]]] = {}
    since = (0, 0)
    for call in sorted(calls, key=lambda c: (c.episode, c.round or 0, c.ordinal)):
        place = (call.episode, call.round or 0)
        heard = [w for w in words if since <= w < place]
        since = place
        if heard:
            rounds.clear()
        if call.outcome is Outcome.ANSWERED or (not call.pure and call.outcome is Outcome.SUCCEEDED):
            rounds.clear()
            continue
        result = {k: v for k, v in (call.result or {}).items() if k not in ("reminder", "fence")}
        key = digest([call.tool, call.tool_digest, call.proposed_args, result])  # a changed tool is another
        rounds.setdefault(key, set()).add(place)
        demand(
            len(rounds[key]) <= MOST, f"I25: {call.tool} was called {len(rounds[key])} times with one result"
        )
