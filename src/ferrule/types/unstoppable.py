"""A future for what has been set going and cannot be called back, such as a write on its way to disk."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


class Unstoppable(asyncio.Future[T]):
    """A future that refuses to be cancelled.

    A task that is cancelled while it awaits one goes on waiting; the
    cancellation is delivered when the future is done. This needs no second
    task, which a shield does.
    """

    def cancel(self, msg: object = None) -> bool:
        """Refuse: what this stands for goes on, whoever waits for it."""
        return False


def settled() -> Unstoppable[None]:
    """Return one that is done already."""
    future: Unstoppable[None] = Unstoppable()
    future.set_result(None)
    return future
