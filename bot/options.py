"""What commands of every group share: the option that says who is at the terminal, and the one event loop."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any

import typer

As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="WHO",
        help="Who you are: a person's name, or NAME@ORGANIZATION. Default: this terminal's user.",
    ),
]


def run(work: Coroutine[Any, Any, None]) -> None:
    """The one event loop of the process."""
    asyncio.run(work)
