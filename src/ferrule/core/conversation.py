"""A session as the loop uses it: what was said, what is on disk, and what still waits for the round's commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from ..ports.clock import Ids
from ..ports.session import Session
from ..types.codec import clean
from ..types.errors import StoreError
from ..types.messages import Message, tool_message
from ..types.tools import ToolCall, ToolResult
from ..types.unstoppable import Unstoppable
from .history import NO_RESULT, OutgoingHistory
from .trim import first_kept, present_turn

T = TypeVar("T")

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
        self._early_batch: list[Message] = []
        self._turn_began = ""  # with this message
        self._first_sent = ""  # what goes to the model begins with this message; see `trim`
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

    @property
    def messages(self) -> tuple[Message, ...]:
        """What was said so far, oldest first, as it is now."""
        return tuple(self._messages)

    @property
    def system(self) -> Message | None:
        """The instructions; None when there are none."""
        return self._system

    def begin_turn(self, message: Message) -> None:
        """Add the message that a turn begins with."""
        self._turn_began = message.id
        self.add(message)

    @property
    def turn_began(self) -> str:
        """The id of the message that the present turn began with; "" before the first."""
        return self._turn_began

    def add(self, message: Message) -> None:
        """Add a message; it is on disk after the next `commit`."""
        self._messages.append(message)
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

    def trim(self, fixed: int, share: float) -> tuple[int, int] | None:
        """Leave out older turns of what goes to the model, from now on; what is stored stays whole.

        Args:
            fixed: Characters that are sent beside the history.
            share: How much of the present request may remain.

        Returns:
            How many messages were and are sent; None when only the present turn is left.
        """
        sent = self._history.messages()
        kept = first_kept(sent, fixed=fixed, share=share, present=present_turn(sent, self._turn_began))
        if kept == 0:
            return None
        self._first_sent = sent[kept].id
        self._history.begin_at(self._first_sent)
        return len(sent), len(self._history.messages())

    def unique(self, call: ToolCall, ids: Ids) -> ToolCall:
        """Return the call with an id that no other call of the session has."""
        wanted = clean(call.id)
        if not wanted or wanted in self._call_ids:
            wanted = ids.new("call")
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

    def _write_early(self) -> None:
        self._timer = None
        self._early_batch = self._take()
        self._early = asyncio.ensure_future(self.session.append(self._early_batch))

    async def _settle_early(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._early is not None:
            early, self._early = self._early, None
            try:
                await undisturbed(early)
            except StoreError:
                self._put_back(self._early_batch)  # not on disk, so it still waits
                raise

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
        self._messages = list(messages)
        self._stored = len(messages)
        self._history = OutgoingHistory()
        self._call_ids: set[str] = set()
        add = self._history.add
        for message in messages:
            add(message)
            if message.calls:
                self._call_ids.update([call.id for call in message.calls])
        if self._first_sent:
            self._history.begin_at(self._first_sent)


async def undisturbed(work: Awaitable[T]) -> T:
    """Await something that must not stop half-way; a cancellation is delivered when it has ended.

    When it fails, its failure is raised instead: a cancellation would hide
    that nothing was written, and the turn knows of its stop without it.
    """
    if isinstance(work, Unstoppable):  # it goes on by itself, whoever is cancelled
        try:
            result: T = await work
        except asyncio.CancelledError:
            work.result()
            raise
        return result
    task: asyncio.Future[T] = asyncio.ensure_future(work)
    cancelled = await until_done(task)
    result = task.result()
    if cancelled is not None:
        raise cancelled
    return result


async def until_done(work: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until something has ended, however often the waiting is cancelled; returns the last cancellation."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as stop:
            cancelled = stop
    return cancelled
