"""When one more message may go where no more than so many may in so long: a strict sliding window. Pure.

Times are whole microseconds since 1970, oldest first, as a row keeps them.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from core.ports import LONGEST_COUNTED_SECONDS, MOST_COUNTED, Rate

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000


def moment(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)


def wait(
    rates: Sequence[Rate], times: Sequence[int], held_until: datetime | None, now: datetime, keep: int = 0
) -> float:
    """Seconds until one more may go; 0.0: now. *keep*: what is left of each rate, but at most half of it."""
    held = 0.0 if held_until is None else (held_until - now).total_seconds()
    return max(0.0, held, *(_wait(rate, times, moment(now), keep) for rate in rates))


def counted(rates: Sequence[Rate], times: Sequence[int], now: datetime) -> list[int]:
    """*times* and *now*, as far back as *rates* look; without any, as far as a rate may look."""
    most = max((rate.count for rate in rates), default=MOST_COUNTED)
    seconds = max((rate.seconds for rate in rates), default=LONGEST_COUNTED_SECONDS)
    return sorted((*_near(times, moment(now), seconds), moment(now)))[-most:]


def _wait(rate: Rate, times: Sequence[int], now: int, keep: int) -> float:
    near = _near(times, now, rate.seconds)
    may = rate.count - min(keep, rate.count // 2)
    return 0.0 if len(near) < may else (near[-may] - now) / _SECOND + rate.seconds


def _near(times: Sequence[int], now: int, seconds: float) -> list[int]:
    """Those that count; also what a clock that was set back calls the near future, but no more than that."""
    return [at for at in times if abs(now - at) < seconds * _SECOND]
