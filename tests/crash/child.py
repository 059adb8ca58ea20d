"""``python -m tests.crash.child``: real processes that are really killed, for test_sigkill.py.

Reads a job a line from stdin and answers it by a line: how the process that was made for it ended. Each is
forked from here, where nothing is open, but everything imported and, since the first job is done here, every
statement compiled: so a kill costs no start.
"""

import asyncio
import json
import os
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from sqlalchemy import Connection, event

from tests.crash.mortal import At, Mortal, Side
from tests.crash.scenarios import ALL
from tests.crash.world import FileJournal, Ground, Life, World


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One life of a world. *n* and *side*: where it is killed; 0: nowhere."""

    url: str
    scenario: str
    number: int
    life: int
    journal: str
    n: int = 0
    side: Side = Side.BEFORE

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def job_of(text: str) -> Job:
    said = json.loads(text)
    return Job(**{**said, "side": Side(said["side"])})


async def kill(_: Mortal) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def live(job: Job, ground: Ground) -> None:
    """The job's life, to its end; its calls, and which of them ended in a COMMIT, are written down."""
    journal = FileJournal(Path(job.journal))
    world = World(ground, ALL[job.scenario], job.number, journal)
    mortal = Mortal(At(n=job.n, side=job.side), strike=kill)
    life = Life(world, mortal, job.life)
    commits: set[int] = set()

    def committing(_: Connection) -> None:
        if mortal.at_commit:
            os.kill(os.getpid(), signal.SIGKILL)
        commits.add(len(mortal.calls))

    event.listen(life.real.db.engine.sync_engine, "commit", committing)
    await life.live()
    await life.end()
    await ground.close()
    journal.write("lived", life=job.life, calls=mortal.calls, commits=sorted(commits))


def main() -> None:
    """Answer jobs, all on one database, until there are no more."""
    ground: Ground | None = None
    for line in sys.stdin:
        job = job_of(line)
        if ground is None:
            ground = Ground(job.url)
            asyncio.run(live(job, ground))
            code = 0
        else:
            code = forked(job, ground)
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


def forked(job: Job, ground: Ground) -> int:
    """How a process of its own for *job* ended: its exit code, or minus the signal."""
    pid = os.fork()
    if pid == 0:
        asyncio.run(live(job, ground))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    main()
