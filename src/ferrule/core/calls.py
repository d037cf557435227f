"""The calls of one round: at most so many at a time, their results in call order."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from ..types.errors import FerruleError, StoreError
from ..types.tools import ToolCall, ToolResult
from .dispatch import Dispatcher, Surroundings
from .leash import Leash
from .repeat import HINT, HINT_AFTER, STOP_AFTER, RepeatWatch
from .results import CANCELLED, NOT_BEGUN


class RoundCalls:
    """Runs the calls of each round of one turn.

    Attributes:
        asked: The calls of the present round.
    """

    def __init__(self, dispatcher: Dispatcher, leash: Leash, parallel: int) -> None:
        self._dispatcher = dispatcher
        self._leash = leash
        self._parallel = parallel
        self._results: list[ToolResult | None] = []
        self._begun: set[str] = set()
        self._fault: FerruleError | None = None
        self._failures: list[Exception] = []
        self._workers: list[asyncio.Task[None]] = []
        self.repeat = RepeatWatch()
        self.asked: tuple[ToolCall, ...] = ()

    def take(self, calls: tuple[ToolCall, ...]) -> None:
        """Begin a round with these calls."""
        self.asked = calls
        self._results = [None] * len(calls)

    def fail(self, fault: FerruleError) -> None:
        """End the turn after this round's results."""
        self._fault = fault

    async def run(self, turn: Surroundings) -> None:
        """Run the calls; nothing new begins once the turn is to stop."""
        calls = self.asked
        if len(calls) == 1:
            self._results[0] = await self._run(calls[0], turn)
            return
        waiting = deque(enumerate(calls))
        async with asyncio.TaskGroup() as group:
            count = min(self._parallel, len(calls))
            self._workers = [group.create_task(self._work(waiting, turn)) for _ in range(count)]
            self._leash.lead(self._workers)
        self._leash.lead(())
        if self._failures:
            raise self._failures[0]

    @property
    def is_unanswered(self) -> bool:
        """Whether `answers` has something to hand out."""
        return bool(self._results)

    def answers(self) -> Iterator[tuple[ToolCall, ToolResult]]:
        """Hand out every call of the round with its result, once; one that has none was stopped, or never begun."""
        results, self._results = self._results, []
        for call, result in zip(self.asked, results, strict=False):
            yield call, result or (CANCELLED if call.id in self._begun else NOT_BEGUN)

    def check(self) -> None:
        """End the turn if a call has found a reason to.

        Raises:
            FerruleError: the reason.
        """
        if self._fault is not None:
            raise self._fault

    async def _work(self, waiting: deque[tuple[int, ToolCall]], turn: Surroundings) -> None:
        me = asyncio.current_task()
        while waiting and not self._failures and not self._leash.is_stopped:
            index, call = waiting.popleft()
            try:
                self._results[index] = await self._run(call, turn)
            # Whatever it is, it ends the round. It must not fail the group, which would cancel the turn's own task.
            except Exception as failure:
                self._failures.append(failure)
                for worker in self._workers:
                    if worker is not me:
                        worker.cancel()

    async def _run(self, call: ToolCall, turn: Surroundings) -> ToolResult:
        self._begun.add(call.id)
        try:
            result = await self._dispatcher.dispatch(call, turn)
        except StoreError as failure:
            self._fault = failure
            return ToolResult.failed(failure.code, "Not run: the call could not be recorded.")
        times = self.repeat.count(call, result)
        if times >= STOP_AFTER:
            self._fault = FerruleError(
                f"the model repeated the same failing call of {call.name} {STOP_AFTER} times",
                code="loop.stuck",
                hint="say what to do differently; the conversation is kept",
            )
        if times >= HINT_AFTER:
            return replace(result, content=result.content + HINT.format(times=times))
        return result
