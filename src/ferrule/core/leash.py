"""Stops a turn: when somebody cancels it, and when its time is up.

A stop is a cancellation of the turn's task, which code of other people may
swallow: a tool's `except BaseException`, a vendor's library. So a stop is
sticky (`check` at every step), and it is repeated until the turn ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ..types.errors import LimitReached
from ..types.events import ErrorInfo
from .endings import GO_ON, Stopped, limit_of

INSIST_S = 1.0
"""Seconds after which a stop that was swallowed is given again."""


class Leash:
    """Holds the task of one turn. Made before the turn runs, started in its task."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._task: asyncio.Task[object] | None = None
        self._workers: tuple[asyncio.Task[None], ...] = ()
        self._foreign = 0  # cancellations of the task that were not given here, before the turn
        self._given = 0
        self._timer: asyncio.TimerHandle | None = None
        self._left_s: float | None = None
        self._questions = 0
        self._is_released = False
        self.stop: Stopped | LimitReached | None = None

    def start(self) -> None:
        """Begin to count the time, in the turn's own task."""
        self._task = task = asyncio.current_task()
        self._foreign = 0 if task is None else task.cancelling()
        if self._limit_s is not None:
            self._timer = asyncio.get_running_loop().call_later(self._limit_s, self._late)

    def cancel(self, reason: str) -> bool:
        """Stop the turn; False when it has not begun, or is stopping or ending already."""
        if self.stop is not None or self._is_released or self._task is None:
            return False
        error = ErrorInfo(code="turn.cancelled", message=reason.strip() or "cancelled", hint=GO_ON)
        self._stop(Stopped("cancelled", error))
        return True

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody else cancelled the task itself."""
        task = self._task
        return task is not None and task.cancelling() > self._foreign + self._given

    @property
    def is_stopped(self) -> bool:
        """Whether the turn must not begin anything more."""
        return self.stop is not None or self.is_cancelled

    def check(self) -> None:
        """Hold a stop against code that swallowed it.

        Raises:
            Stopped, LimitReached: the turn was cancelled, or its time is up.
            asyncio.CancelledError: its task was cancelled.
        """
        if self.stop is not None:
            raise self.stop
        if self.is_cancelled:
            raise asyncio.CancelledError

    def lead(self, workers: Iterable[asyncio.Task[None]]) -> None:
        """Repeat a stop to these tasks too: a group passes on only the first one."""
        self._workers = tuple(workers)

    def pause(self) -> None:
        """Stop counting while a person is asked; questions nest."""
        self._questions += 1
        if self._questions == 1 and self.stop is None and self._timer is not None:
            self._left_s = self._timer.when() - asyncio.get_running_loop().time()
            self._timer.cancel()

    def resume(self) -> None:
        """Count on when the last question is answered."""
        self._questions -= 1
        if self._questions == 0 and self.stop is None and self._left_s is not None:
            self._timer = asyncio.get_running_loop().call_later(self._left_s, self._late)
            self._left_s = None

    def release(self) -> None:
        """Stop insisting: the turn has ended and only tidies up."""
        self._is_released = True
        if self._timer is not None:
            self._timer.cancel()

    def forget(self) -> None:
        """Take back the cancellations that were given here, so that the task can go on."""
        while self._given and self._task is not None:
            self._task.uncancel()
            self._given -= 1

    def _late(self) -> None:
        self._stop(limit_of("wall_time", f"the turn took longer than {self._limit_s} s", "turn_timeout_s"))

    def _stop(self, stop: Stopped | LimitReached) -> None:
        self.stop = stop
        self._give()

    def _give(self) -> None:
        assert self._task is not None, "a leash is started before it stops anything"
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        self._given += 1
        self._timer = self._task.get_loop().call_later(INSIST_S, self._again)

    def _again(self) -> None:
        for worker in self._workers:
            worker.cancel()
        self._give()
