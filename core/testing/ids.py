"""Ids by count: the same in every run."""


class CountingIds:
    """Ids that count up: UUIDv7 in form, in order, the same in every run. *first* sets two sources apart."""

    def __init__(self, first: int = 1) -> None:
        self._next = first

    def new(self) -> str:
        return f"00000000-0000-7000-8000-{self._take():012x}"

    def nonce(self) -> str:
        return f"nonce{self._take():017d}"

    def _take(self) -> int:
        self._next += 1
        return self._next - 1
