"""Time and ids that a test owns."""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from itertools import count

from ..types.ids import IdKind


class FakeClock:
    """A clock that moves only when `advance` is called; sleepers wake in order of their time."""

    def __init__(self, *, now_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = now_ms
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return self._start_ms + int(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        """Wait until `advance` has passed the time; a sleep of nothing only lets others run."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        done = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), done))
        await done

    @property
    def sleepers(self) -> int:
        """How many wait now."""
        return sum(not done.done() for _, _, done in self._sleepers)

    def advance(self, seconds: float) -> None:
        """Let time pass and wake whoever is due."""
        end = self._elapsed + max(0.0, seconds)
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, done = heapq.heappop(self._sleepers)
            self._elapsed = due
            if not done.done():
                done.set_result(None)
        self._elapsed = end


class InstantClock(FakeClock):
    """A fake clock on which sleeping takes no real time: it advances itself."""

    async def sleep(self, seconds: float) -> None:
        """Note the wait, move the time, and let other tasks run once."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)


class SequenceIds:
    """Ids ``ses_1, ses_2, ...`` by kind, the same in every run."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def new(self, kind: IdKind) -> str:
        """Return the next id of this kind."""
        self._seen[kind] += 1
        return f"{kind}_{self._seen[kind]}"
