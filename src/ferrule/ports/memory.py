"""What an agent remembers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ..types.memory import MemoryEntry


@runtime_checkable
class MemoryStore(Protocol):
    """Texts that outlive a session."""

    async def append(self, entry: MemoryEntry) -> None:
        """Remember; on disk when it returns, for a store that has one.

        Raises:
            StoreError: nothing was remembered.
        """
        ...

    async def recent(self, limit: int) -> Sequence[MemoryEntry]:
        """Return the newest `limit` entries, oldest first; 0 gives none."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[MemoryEntry]:
        """Return up to `limit` entries that match any word of `query`, best first; an empty query matches nothing."""
        ...
