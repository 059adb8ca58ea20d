"""Every change of tasks, calls and parks, as pure functions of the locked rows.

`rounds`: the model's replies and what joins the transcript. `effects`: calls from their verdict to
their result. `waits`: asking, resting, expiry. `ends`: ends, stops, giving back. `people`: what
persons decide and say. `common`: what they share.

A move is made by naming what it is about, ``mark(run, agent, call_id, …)``, and handed to
``store.tasks.change``. A worker's move answers the next RunState, or Fenced where its run has lost
the task. A move that can't be made from these rows raises IllegalMove.
"""
