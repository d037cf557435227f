"""A session as the loop uses it: what was said, what is on disk, and what still waits for the round's commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from ..ports.session import Session
from ..types.codec import clean
from ..types.errors import StoreError
from ..types.messages import Message, tool_message
from ..types.tools import ToolCall, ToolResult
from ..types.unstoppable import Unstoppable
from .history import NO_RESULT, OutgoingHistory

T = TypeVar("T")
log = logging.getLogger(__name__)

EARLY_WRITE_S = 0.05
"""A person's message is written on its own when the model has not answered after this time; else with the round."""


class Conversation:
    """The history of one agent, in memory and on its way to disk."""

    def __init__(self, session: Session, system: Message | None) -> None:
        self.session = session
        self._system = system
        self._pending: list[Message] = []
        self._timer: asyncio.TimerHandle | None = None
        self._early: asyncio.Future[None] | None = None
        self._load()

    def recover(self, now_ms: int) -> int:
        """Take in what was added beside this conversation, and answer calls that a crash interrupted with "unknown".

        Returns how many of those there were.
        """
        if len(self.session.messages) != self._stored:
            self._load()
        calls = self.session.interrupted
        for call in calls:
            result = ToolResult.failed("tool.unknown_outcome", NO_RESULT)
            self.add(tool_message(call, result, id=f"{call.id}_unknown", at_ms=now_ms))
        return len(calls)

    def add(self, message: Message) -> None:
        """Add a message; it is on disk after the next `commit`."""
        self._history.add(message)
        self._pending.append(message)

    @property
    def is_unwritten(self) -> bool:
        """Whether something is not on disk yet."""
        return bool(self._pending) or self._early is not None

    def outgoing(self) -> list[Message]:
        """Return the valid history to send."""
        history = self._history.messages()
        return [self._system, *history] if self._system is not None else history

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
                batch = self._take()
                await undisturbed(self.session.append(batch))
        except StoreError:
            self._load()
            raise
        except asyncio.CancelledError as stop:
            if isinstance(stop.__cause__, StoreError):
                log.error("what was said could not be stored: %s", stop.__cause__)
                self._load()
            raise

    async def intend(self, call: ToolCall) -> None:
        """Put on disk, with everything that waits, that this call is about to run.

        Raises:
            StoreError: nothing was written; the call must not run.
        """
        batch: list[Message] = []
        try:
            await self._settle_early()
            batch = self._take()
            await undisturbed(self.session.intend(batch, [call]))
        except StoreError:
            self._put_back(batch)
            raise
        except asyncio.CancelledError as stop:
            if isinstance(stop.__cause__, StoreError):
                self._put_back(batch)
            raise

    def _write_early(self) -> None:
        self._timer = None
        batch = self._take()
        self._early = asyncio.ensure_future(self.session.append(batch))

    async def _settle_early(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._early is not None:
            early, self._early = self._early, None
            await undisturbed(early)

    def _take(self) -> list[Message]:
        batch, self._pending = self._pending, []
        self._stored += len(batch)
        return batch

    def _put_back(self, batch: list[Message]) -> None:
        self._pending = batch + self._pending
        self._stored -= len(batch)

    def _load(self) -> None:
        """Begin anew with what the session holds."""
        messages = self.session.messages
        self._pending = []
        self._stored = len(messages)
        self._history = OutgoingHistory()
        self._call_ids: set[str] = set()
        add = self._history.add
        for message in messages:
            add(message)
            if message.calls:
                self._call_ids.update([call.id for call in message.calls])


async def undisturbed(work: Awaitable[T]) -> T:
    """Await something that must not stop half-way; a cancellation is delivered when it has ended.

    If it failed too, its failure is the cancellation's cause.
    """
    if isinstance(work, Unstoppable):
        return await _unstoppable(work)
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as stop:
            cancelled = stop
    if cancelled is not None:
        raise cancelled from task.exception()
    return task.result()


async def _unstoppable(work: Unstoppable[T]) -> T:
    try:
        return await work
    except asyncio.CancelledError as stop:
        raise stop from work.exception()
