"""What hostile words become on a card, to the byte; `python -m tests.golden --write` writes it anew."""
