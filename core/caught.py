"""Somebody else's code, run so that whatever it raises ends there: the one place that catches everything.

For a tool's handler, a host's method, and the top of the worker, which have to go on whatever happens.
Nothing is logged and nothing said here: each caller knows what the error means to it.
"""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec

P = ParamSpec("P")


@dataclass(slots=True)
class Caught:
    """*error*: what the block raised; None where it came to its end."""

    error: BaseException | None = None


@contextmanager
def caught() -> Iterator[Caught]:
    """A block whose errors end at it; CancelledError too, where the block cancelled something of its own.

    A cancellation from outside goes on, and so do KeyboardInterrupt and GeneratorExit.
    """
    it = Caught()
    try:
        yield it
    except asyncio.CancelledError as error:
        if _from_outside():
            raise
        it.error = error
    except (Exception, SystemExit) as error:
        it.error = error


def _from_outside() -> bool:
    """Whether somebody cancelled the task that runs, rather than the block something of its own."""
    try:
        current = asyncio.current_task()
    except RuntimeError:  # a thread without a loop
        return True
    return current is None or current.cancelling() > 0


def words_of(said: object) -> str:
    """*said* as text; empty where its own words fail."""
    words = ""
    with caught():
        words = str(said)
    return words


async def called(function: Callable[P, object], *args: P.args, **keywords: P.kwargs) -> object:
    """What *function*, a coroutine or a plain function, answers; a plain one runs off the event loop."""
    is_coroutine = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # an object with an async __call__
    )
    if is_coroutine:
        said = function(*args, **keywords)
    else:
        said, ended = await asyncio.to_thread(_in_thread, partial(function, *args, **keywords))
        if ended.error is not None:
            raise ended.error
    return await said if inspect.isawaitable(said) else said


def _in_thread(function: Callable[[], object]) -> tuple[object, Caught]:
    """An error comes back as a value: a StopIteration put on a future would never wake who awaits it."""
    said: object = None
    with caught() as ended:
        said = function()
    return said, ended
