"""``python -m bot`` and the ``gatepost`` command."""


def main() -> None:
    """Run the command line, and leave with its exit status."""
    from bot.cli import app  # after bot/__init__ has put the packaged parts on the path

    app()


if __name__ == "__main__":
    main()
