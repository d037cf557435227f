"""The real time, and ids that sort by it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

from ..types.ids import IdKind

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letters that are taken for digits."""
_DRAWN = 64


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        await asyncio.sleep(seconds)


_PAIRS = tuple(first + second for first in _DIGITS for second in _DIGITS)


class RandomIds:
    """Ids of a time part, a counter within the process and 40 random bits."""

    def __init__(self) -> None:
        self._last = 0
        self._random: Iterator[int] = iter(())
        self._drawn_by = 0

    def new(self, kind: IdKind) -> str:
        """Return a fresh id; ids of one process sort in the order they were made."""
        self._last = now = max(self._last + 1, time.time_ns() // 1_000)
        tail = next(self._random, None)
        if tail is None or self._drawn_by != os.getpid():  # a forked child must not repeat its parent's
            tail = self._draw()
        pairs = _PAIRS
        return (
            f"{kind}_{_DIGITS[now >> 50 & 31]}{pairs[now >> 40 & 1023]}{pairs[now >> 30 & 1023]}"
            f"{pairs[now >> 20 & 1023]}{pairs[now >> 10 & 1023]}{pairs[now & 1023]}"
            f"{pairs[tail >> 30 & 1023]}{pairs[tail >> 20 & 1023]}{pairs[tail >> 10 & 1023]}{pairs[tail & 1023]}"
        )

    def _draw(self) -> int:
        """Take random bits for many ids at once: asking the system for each costs more than the rest of an id."""
        block = os.urandom(5 * _DRAWN)
        self._random = iter([int.from_bytes(block[i : i + 5], "big") for i in range(0, len(block), 5)])
        self._drawn_by = os.getpid()
        return next(self._random)
