"""``python -m tests.explorer --walks 10000 [--first SEED]``: the first that fails is told."""

import argparse
import asyncio
import logging
import sys

from tests.explorer.walk import Walk


def explore(first: int, walks: int) -> str | None:
    """None if all *walks* from seed *first* held; else the failing one, with its trace."""

    async def each() -> str | None:
        for seed in range(first, first + walks):
            walk = Walk(seed=seed)
            try:
                await walk.run()
            except Exception as broken:
                # whatever a walk raises is its finding
                trace = "\n".join(walk.trace[-60:])
                return f"{trace}\nseed {seed}: {type(broken).__name__}: {broken}"
        return None

    return asyncio.run(each())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.explorer", description=__doc__)
    parser.add_argument("--walks", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    logging.disable()
    found = explore(asked.first, asked.walks)
    sys.stdout.write(f"{found}\n" if found else f"{asked.walks} walks held\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
