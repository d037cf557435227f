"""Hands events from a running turn to whoever iterates over them."""

from __future__ import annotations

import asyncio
from collections import deque

from ..types.events import AgentEvent


class EventFeed:
    """A queue with one writer and one reader, in one task each."""

    __slots__ = ("_waiter", "items")

    def __init__(self) -> None:
        self.items: deque[AgentEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, event: AgentEvent) -> None:
        """Add an event and wake the reader."""
        self.items.append(event)
        self.wake()

    def wake(self) -> None:
        """Wake the reader, also when nothing was added."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        """Wait until something was added, or `wake` was called."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
