"""A connection on which the head of a request does not come whole in time is closed.

Uvicorn closes a connection that is idle after an answer, but waits for ever for the first byte, or for the
rest of a head that has begun.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Slack gives up after 3 s, so whoever takes longer to send a request is not Slack."""


class Heads(H11Protocol):
    """A connection whose request line and headers come whole within *head_seconds*, or it is closed.

    Counted from the connection's begin; on one that is kept open, from the next request's first bytes.
    """

    head_seconds = HEAD_SECONDS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """The deadline runs if a head is waited for, and only then; more bytes of it don't put it off."""
        if self.conn.their_state is not h11.IDLE or self.transport.is_closing():
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.head_seconds, self.timeout_keep_alive_handler)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def heads_within(seconds: float) -> type[Heads]:
    """The protocol with another deadline."""
    return type("HeadsWithin", (Heads,), {"head_seconds": seconds})
