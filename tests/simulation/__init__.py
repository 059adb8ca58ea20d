"""The real core in a made-up world: several processes, people, a hostile model, and everything that breaks.

A seed decides everything. Time is virtual, each port call takes a while and may be the process's last;
the invariants of docs/states.md §6 are looked at after every committed transaction. Half-way the faults
end and a willing owner answers: then everything must come to its end.
"""
