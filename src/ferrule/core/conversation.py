"""A session as the loop uses it: what was said, what is on disk, and what still waits for the round's commit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from ..ports.session import Session
from ..types.codec import clean
from ..types.errors import StoreError
from ..types.messages import Message, tool_message
from ..types.tools import ToolCall, ToolResult
from .history import NO_RESULT, valid_history
from .trim import first_kept

T = TypeVar("T")

EARLY_WRITE_S = 0.05
"""A person's message is written on its own when the model has not answered after this time; else with the round."""


class Conversation:
    """The history of one agent, in memory and on its way to disk."""

    def __init__(self, session: Session, system: Message | None) -> None:
        self.session = session
        self._system = system
        self._messages = list(session.messages)
        self._pending: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None
        self._early: asyncio.Task[None] | None = None
        self._early_batch: list[Message] = []
        self._begin = 0  # what goes to the model begins with this message; see `trim`
        self._call_ids = {call.id for message in self._messages for call in message.calls}

    def recover(self, now_ms: int) -> int:
        """Answer calls that a crash interrupted with "unknown"; returns how many there were."""
        calls = self.session.interrupted
        for call in calls:
            result = ToolResult.failed("tool.unknown_outcome", NO_RESULT)
            self.add(tool_message(call, result, id=f"{call.id}_unknown", at_ms=now_ms))
        return len(calls)

    def add(self, message: Message) -> None:
        """Add a message; it is on disk after the next `commit`."""
        self._messages.append(message)
        self._pending.append(message)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said so far, oldest first, as it is now."""
        return tuple(self._messages)

    @property
    def system(self) -> Message | None:
        """The instructions; None when there are none."""
        return self._system

    def outgoing(self) -> list[Message]:
        """Return the valid history to send."""
        history = valid_history(self._messages[self._begin :] if self._begin else self._messages)
        return [self._system, *history] if self._system is not None else history

    def trim(self, fixed: int, share: float) -> tuple[int, int] | None:
        """Leave out older turns of what goes to the model, from now on; what is stored stays whole.

        Args:
            fixed: Characters that are sent beside the history.
            share: How much of the present request may remain.

        Returns:
            How many messages were and are sent; None when only the present turn is left.
        """
        begin = first_kept(self._messages, begin=self._begin, fixed=fixed, share=share)
        if begin == self._begin:
            return None
        before = len(self._messages) - self._begin
        self._begin = begin
        return before, len(self._messages) - begin

    def unique(self, call: ToolCall, fallback: str) -> ToolCall:
        """Return the call with an id that no other call of the session has."""
        wanted = clean(call.id)
        if not wanted or wanted in self._call_ids:
            wanted = fallback
        if wanted != call.id:
            call = replace(call, id=wanted)
        self._call_ids.add(call.id)
        return call

    def write_soon(self) -> None:
        """Write what waits on its own, unless the round's commit comes first."""
        self._timer = asyncio.get_running_loop().call_later(EARLY_WRITE_S, self._write_early)

    async def commit(self) -> None:
        """Put everything that waits on disk, also when cancelled meanwhile.

        Raises:
            StoreError: it was not written; the history is again what is on disk.
        """
        try:
            await self._settle_early()
            if self._pending:
                batch, self._pending = self._pending, []
                await undisturbed(self.session.append(batch))
        except StoreError:
            self._reset()
            raise

    async def intend(self, call: ToolCall) -> None:
        """Put on disk, with everything that waits, that this call is about to run.

        Raises:
            StoreError: nothing was written; the call must not run.
        """
        batch: list[Message] = []
        try:
            await self._settle_early()
            batch, self._pending = self._pending, []
            await undisturbed(self.session.intend(batch, [call]))
        except StoreError:
            self._pending = batch + self._pending
            raise

    def _write_early(self) -> None:
        self._timer = None
        self._early_batch, self._pending = self._pending, []
        self._early = asyncio.ensure_future(self.session.append(self._early_batch))

    async def _settle_early(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._early is not None:
            early, self._early = self._early, None
            batch, self._early_batch = self._early_batch, []
            stop = await until_done(early)
            try:
                early.result()
            except StoreError:
                self._pending = batch + self._pending  # not on disk, so it still waits
                raise
            if stop is not None:
                raise stop

    def _reset(self) -> None:
        self._messages = list(self.session.messages)
        self._pending = []
        self._begin = min(self._begin, len(self._messages))


async def until_done(task: asyncio.Task[Any]) -> asyncio.CancelledError | None:
    """Wait until a task has ended, however often the waiting is cancelled; returns the last cancellation."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as stop:
            cancelled = stop
    return cancelled


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
    """Await something that must not stop half-way; a cancellation is delivered when it has ended.

    When it fails, its failure comes first: a cancellation would hide that nothing was written.
    """
    task = asyncio.ensure_future(work)
    cancelled = await until_done(task)
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result
