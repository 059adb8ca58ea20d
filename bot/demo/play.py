"""The demo: two refunds, workers killed in the worst moments, and a check that the promises held."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

from bot.demo.stage import Stage, environment
from core.errors import ConfigError

FILES = ("gatepost.db", "shop.db")


async def play(*, keep: Path | None, kill_at: int | None) -> None:
    """Plays in *keep*, which has the two databases afterwards, or in a folder that is gone afterwards.

    Raises DemoFailed where anything was not as promised; ConfigError where *keep* was played in before.
    """
    started = monotonic()
    with ExitStack() as closing:
        folder = _kept(keep) if keep else Path(closing.enter_context(tempfile.TemporaryDirectory()))
        stage = Stage(folder.resolve(), environment(folder.resolve()))
        try:
            first = await stage.start_worker(kill_at=kill_at)
            from bot.demo.acts import Acts  # after the worker has started: both import at the same time

            await Acts(stage=stage, kept=keep, kill_at=kill_at, started=started).play(first)
        finally:
            await stage.clear()


def _kept(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--keep: {folder} can't be made ({error.strerror})") from error
    if held := [name for name in FILES if (folder / name).exists()]:
        raise ConfigError(
            f"--keep: {folder} has {' and '.join(held)} from before; name an empty folder, or delete them"
        )
    return folder
