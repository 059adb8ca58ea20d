"""The command line."""

import typer

app = typer.Typer(name="gatepost", no_args_is_help=True, help="AI agents that ask before they act.")


@app.callback()
def gatepost() -> None:
    """AI agents that ask before they act."""
