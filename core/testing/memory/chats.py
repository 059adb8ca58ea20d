"""Rates and prompts: how much goes to a chat, and what somebody was asked there."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from core.ports import Prompt, Rate
from core.rates import counted, wait
from core.testing.memory.rows import PromptRow, RateRow, Rows


class MemoryRates:
    """core.ports.Rates."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def take(self, surface: str, limits: Mapping[str, Sequence[Rate]], keep: int = 0) -> float:
        now = self._rows.now()
        rows = [(rates, self._row(surface, chat)) for chat, rates in limits.items()]
        waits = (wait(rates, row.times, row.held_until, now, keep) for rates, row in rows)
        if (seconds := max(waits, default=0.0)) > 0:
            return seconds
        with self._rows.transaction():
            for rates, row in rows:
                self._write(replace(row, times=counted(rates, row.times, now)))
        return 0.0

    async def hold(self, surface: str, chat: str, seconds: float) -> None:
        until, row = self._rows.now() + timedelta(seconds=seconds), self._row(surface, chat)
        if row.held_until is None or row.held_until < until:
            with self._rows.transaction():
                self._write(replace(row, held_until=until))

    def _row(self, surface: str, chat: str) -> RateRow:
        return self._rows.rates.get(surface, chat) or RateRow(surface=surface, chat=chat)

    def _write(self, row: RateRow) -> None:
        known = self._rows.rates.get(row.surface, row.chat)
        (self._rows.rates.insert if known is None else self._rows.rates.update)(row)


def moved(rows: Rows, surface: str, old: str, new: str) -> None:
    """The chat *old* of *surface* is called *new*: what went to it is forgotten, a hold is not."""
    row = rows.rates.get(surface, old)
    if row is not None:
        rows.rates.delete(row)
        if rows.rates.get(surface, new) is None:
            rows.rates.insert(replace(row, chat=new, times=[]))


class MemoryPrompts:
    """core.ports.Prompts."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def ask(self, prompt: Prompt, seconds: float) -> None:
        kept, until = self._rows.prompts, self._rows.now() + timedelta(seconds=seconds)
        with self._rows.transaction():
            self._drop_old()
            before = kept.get(prompt.surface, prompt.chat, prompt.account)
            for row in {before, self._named(prompt.surface, prompt.chat_ref)}:
                if row is not None:
                    kept.delete(row)
            kept.insert(PromptRow(prompt=prompt, expires_at=until))

    async def asked(self, surface: str, chat_ref: str) -> Prompt | None:
        return self._open(self._named(surface, chat_ref))

    async def open_in(self, surface: str, chat: str, account: str) -> Prompt | None:
        return self._open(self._rows.prompts.get(surface, chat, account))

    async def close(self, surface: str, chat_ref: str) -> bool:
        with self._rows.transaction():
            self._drop_old()
            row = self._named(surface, chat_ref)
            if row is not None:
                self._rows.prompts.delete(row)
            return row is not None

    def _named(self, surface: str, chat_ref: str) -> PromptRow | None:
        return self._rows.prompts.one("message", surface, chat_ref)

    def _open(self, row: PromptRow | None) -> Prompt | None:
        return None if row is None or row.expires_at <= self._rows.now() else row.prompt

    def _drop_old(self) -> None:
        now = self._rows.now()
        for row in self._rows.prompts:
            if row.expires_at <= now:
                self._rows.prompts.delete(row)
