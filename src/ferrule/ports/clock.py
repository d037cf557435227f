"""Time and identifiers, so that tests can own both."""

from __future__ import annotations

from typing import Protocol

from ..types.ids import IdKind


class Clock(Protocol):
    """Wall time for records, monotonic time for durations."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; cancellable."""
        ...


class Ids(Protocol):
    """Makes identifiers."""

    def new(self, kind: IdKind) -> str:
        """Return a fresh id with the kind as its prefix, for example ``ses_4k2...``; ids of one process sort by time."""
        ...
