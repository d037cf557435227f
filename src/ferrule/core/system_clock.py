"""The real time, and ids that sort by it."""

from __future__ import annotations

import asyncio
import base64
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
_TO_OURS = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", _DIGITS.encode())


class RandomIds:
    """Ids of a time part, a counter within the process and 40 random bits."""

    def __init__(self) -> None:
        self._last = 0
        self._second = -1
        self._start = ""  # the part of an id that changes once in about a second
        self._tails: Iterator[str] = iter(())
        self._drawn_by = 0

    def new(self, kind: IdKind) -> str:
        """Return a fresh id; ids of one process sort in the order they were made."""
        self._last = now = max(self._last + 1, time.time_ns() // 1_000)
        pairs, second = _PAIRS, now >> 20
        if second != self._second:
            self._second = second
            self._start = (
                f"{_DIGITS[now >> 50 & 31]}{pairs[now >> 40 & 1023]}{pairs[now >> 30 & 1023]}{pairs[second & 1023]}"
            )
        tail = next(self._tails, None)
        if tail is None or self._drawn_by != os.getpid():  # a forked child must not repeat its parent's
            tail = self._draw()
        return f"{kind}_{self._start}{pairs[now >> 10 & 1023]}{pairs[now & 1023]}{tail}"

    def _draw(self) -> str:
        """Take random bits for many ids at once: asking the system for each costs more than the rest of an id."""
        text = base64.b32encode(os.urandom(5 * _DRAWN)).translate(_TO_OURS).decode()
        self._tails = iter([text[i : i + 8] for i in range(0, len(text), 8)])
        self._drawn_by = os.getpid()
        return next(self._tails)
