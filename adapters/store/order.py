"""Where a task stands in the queue: one rule, for whoever queues one.

Start-time fair queueing: a task's place (*vrt*) is one past its organization's last queued task
of the same prio, but never below the floor. A flooding organization's tasks get places 1, 2, 3, …,
a newcomer starts at the floor, so plain order by place is round robin, with nothing to recompute
at the claim. Two that race may share a place, which is harmless.
Source: storage.md §3 (flat from 1,000 to 1,000,000 rows).
"""


def place(org: str, prio: str) -> str:
    """SQL for the next place of *org* at *prio* (both SQL themselves); see words.py for {greatest}."""
    return f"""{{greatest}}(
        coalesce((
            SELECT max(last.vrt) + 1 FROM tasks AS last
            WHERE last.org = {org} AND last.prio = {prio} AND last.state = 'queued'
        ), 0),
        coalesce((SELECT lowest.floor FROM queue_floor AS lowest WHERE lowest.prio = {prio}), 0)
    )"""
