"""The real time, and ids that sort by it."""

from __future__ import annotations

import asyncio
import os
import time

from ..types.ids import IdKind

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letters that are taken for digits."""


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


class RandomIds:
    """Ids of a time part, a counter within the process and 40 random bits."""

    def __init__(self) -> None:
        self._last = 0

    def new(self, kind: IdKind) -> str:
        """Return a fresh id; ids of one process sort in the order they were made."""
        self._last = max(self._last + 1, time.time_ns() // 1_000)
        tail = int.from_bytes(os.urandom(5), "big")
        return f"{kind}_{_base32(self._last, 11)}{_base32(tail, 8)}"


def _base32(number: int, width: int) -> str:
    out = ""
    for _ in range(width):
        out = _DIGITS[number & 31] + out
        number >>= 5
    return out
