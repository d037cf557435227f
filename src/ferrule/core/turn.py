"""One turn: the steps that the loop names, and what they leave behind."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from ..types.errors import FerruleError, LimitReached, StoreError
from ..types.events import (
    AgentEvent,
    ErrorInfo,
    Head,
    Notice,
    RequestStarted,
    TurnFinished,
    TurnStarted,
    TurnStatus,
    UsageEvent,
)
from ..types.messages import Content, Message, tool_message, user_message
from ..types.tools import ToolCall, ToolResult
from ..types.turn import TurnResult
from ..types.usage import Usage
from .parts import AgentParts
from .repeat import HINT, HINT_AFTER, STOP_AFTER, RepeatWatch
from .request import Asked, ask_model
from .toolset import ToolSet

log = logging.getLogger(__name__)

CANCELLED = ToolResult.failed("tool.cancelled", "Cancelled before it finished; its effects, if any, were not undone.")


class Stopped(Exception):
    """Ends a turn with another status than completed; never leaves the core."""

    def __init__(self, status: TurnStatus, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


def limit_of(what: str, message: str, key: str) -> LimitReached:
    """Make what ends a turn at a limit; the session stays usable."""
    hint = f"send another message to go on, or raise {key} in the runtime profile"
    return LimitReached(message, code=f"limit.{what}", hint=hint)


class Turn:
    """One turn of an agent. Hooks see it as their send context.

    Attributes:
        content: What was sent.
        state: Room for hooks, for the length of the turn.
        rounds: Model requests made.
        usage: Tokens and money so far.
        cancel_reason: Set when somebody cancelled the turn.
        is_settling: Whether the turn has ended and only tidies up.
    """

    def __init__(self, parts: AgentParts, content: Content, *, listener: Callable[[AgentEvent], None] | None) -> None:
        options = parts.options
        self._parts = parts
        self.content = content
        self.turn_id = options.ids.new("trn")
        self.head = Head(session_id=parts.conversation.session.id, turn_id=self.turn_id, agent=options.name)
        self.state: dict[str, object] = {}
        self.rounds = 0
        self.usage = Usage()
        self.text = ""
        self.cancel_reason: str | None = None
        self.is_settling = False
        self.deadline: asyncio.Timeout | None = None
        self.tools: ToolSet = parts.toolbox.refresh()
        self._listener = listener
        self._seq = 0
        self._denied: list[str] = []
        self._started = False
        self._calls: tuple[ToolCall, ...] = ()
        self._results: list[ToolResult | None] = []
        self._partial = ""
        self._tool_calls = 0
        self._repeat = RepeatWatch()
        self._fault: FerruleError | None = None
        self._questions = 0
        self._left_s: float | None = None

    # -- steps ------------------------------------------------------------

    async def begin(self) -> None:
        """Let hooks reject the message, then add it to the history."""
        parts, options = self._parts, self._parts.options
        reason = await parts.hooks.ask("before_send", self)
        if reason is not None:
            raise Stopped("rejected", ErrorInfo(code="turn.rejected", message=reason or "rejected by a hook"))
        now = options.clock.now_ms()
        self._started = True
        self.emit(TurnStarted, person=options.person, principal=options.principal, origin=options.origin)
        log.info("turn started")
        if lost := parts.conversation.recover(now):
            text = f"{lost} tool call(s) were interrupted earlier; whether they took effect is unknown"
            self.emit(Notice, code="tool.unknown_outcome", text=text)
        message_id = options.ids.new("msg")
        parts.conversation.add(user_message(self.content, id=message_id, at_ms=now, origin=options.origin))
        parts.conversation.write_soon()
        reason = await parts.hooks.ask("inner_loops_start", self)
        if reason is not None:
            raise Stopped("interrupted", ErrorInfo(code="turn.interrupted", message=reason or "interrupted by a hook"))

    async def begin_round(self) -> None:
        """Check the limits, let hooks interrupt, refresh the tools."""
        if self.cancel_reason is not None:  # a tool swallowed the cancellation; it holds all the same
            raise Stopped("cancelled", ErrorInfo(code="turn.cancelled", message=self.cancel_reason))
        limit = self._parts.options.limits.rounds
        if limit is not None and self.rounds >= limit:
            raise limit_of("rounds", f"{limit} rounds were made and the model still wants to call tools", "max_rounds")
        reason = await self._parts.hooks.ask("inner_loop_start", self)
        if reason is not None:
            raise Stopped("interrupted", ErrorInfo(code="turn.interrupted", message=reason or "interrupted by a hook"))
        self.tools = self._parts.toolbox.refresh()
        self.rounds += 1

    async def request(self) -> None:
        """Ask the model; its answer becomes the assistant's message."""
        asked = await ask_model(self)
        options, conversation = self._parts.options, self._parts.conversation
        self._partial = ""
        self._calls = tuple(conversation.unique(call, options.ids.new("call")) for call in asked.calls)
        self._results = [None] * len(self._calls)
        self.text = asked.text if not self._calls or asked.text else self.text
        conversation.add(self._assistant(asked))
        self.spend()

    async def run_tools(self) -> None:
        """Run the round's calls, at most `parallel_tools` at a time; their results follow in call order."""
        calls, limits = self._calls, self._parts.options.limits
        if not calls:
            return
        if len(calls) == 1:
            self._results[0] = await self._run_call(calls[0])
        else:
            waiting = deque(enumerate(calls))
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(min(limits.parallel_tools, len(calls))):
                        group.create_task(self._work(waiting))
            except BaseExceptionGroup as several:
                raise several.exceptions[0] from None
        self._answer_calls()
        if self._fault is not None:
            raise self._fault

    async def commit(self) -> None:
        """Put the round on disk."""
        await self._parts.conversation.commit()

    async def end_round(self) -> None:
        """Tell the hooks; they cannot veto."""
        await self._parts.hooks.tell("inner_loop_end", self)

    def check_progress(self) -> None:
        """Stop a model that goes round in circles."""
        if self._repeat.is_lost:
            raise Stopped(
                "failed",
                ErrorInfo(
                    code="loop.unknown_tools",
                    message="the model keeps asking for tools that do not exist",
                    hint="`ferrule tools list` shows what it has; a larger model may choose better",
                ),
            )

    def spend(self) -> None:
        """Check tokens and money.

        Raises:
            LimitReached: a limit is passed.
        """
        limits, usage = self._parts.options.limits, self.usage
        if limits.tokens is not None and usage.total > limits.tokens:
            raise limit_of("tokens", f"{usage.total:,} tokens were used, the limit is {limits.tokens:,}", "max_tokens")
        if limits.cost_micro_usd is not None and (usage.cost_micro_usd or 0) > limits.cost_micro_usd:
            spent = (usage.cost_micro_usd or 0) / 1_000_000
            raise limit_of("cost", f"${spent:.4f} were spent, which is over the limit", "max_cost_micro_usd")

    @property
    def is_answered(self) -> bool:
        """Whether the model answered without asking for tools."""
        return not self._calls

    # -- the end ----------------------------------------------------------

    @property
    def settles_at_once(self) -> bool:
        """Whether nothing in `settle` waits, so that no cancellation can come between."""
        parts = self._parts
        return not (parts.conversation.is_unwritten or self._partial or self._results or parts.hooks.watch_ends)

    async def settle(self, status: TurnStatus, error: ErrorInfo | None) -> TurnResult:
        """Leave a valid history behind, whatever happened, and tell everybody."""
        parts = self._parts
        if self._started:
            error = await self._keep_what_was_done(status, error)
            status = "failed" if error is not None and status == "completed" else status
            await parts.hooks.tell("inner_loops_end", self)
        await parts.hooks.tell("after_send", self)
        self.emit(TurnFinished, status=status, error=error, rounds=self.rounds, usage=self.usage)
        log.info("turn finished: %s%s", status, f" ({error.code}: {error.message})" if error else "")
        return TurnResult(
            status=status,
            session_id=self.head.session_id,
            turn_id=self.turn_id,
            text=self.text or self._partial,
            error=error,
            rounds=self.rounds,
            usage=self.usage,
            denied=tuple(self._denied),
        )

    async def _keep_what_was_done(self, status: TurnStatus, error: ErrorInfo | None) -> ErrorInfo | None:
        if self._calls and self._results and None in self._results:
            self._answer_calls()
        if self._partial:
            end: Literal["aborted", "error"] = "aborted" if status == "cancelled" else "error"
            self._parts.conversation.add(self._unfinished(self._partial).advance(end))
        try:
            await self._parts.conversation.commit()
        except StoreError as failure:
            log.error("the turn could not be stored: %s", failure)
            return error or ErrorInfo(code=failure.code, message=str(failure), hint=failure.hint)
        return error

    # -- what a call needs of its turn -------------------------------------

    def emit(self, kind: type[Any], **fields: object) -> None:
        """Send an event, if anybody listens."""
        hooks = self._parts.hooks
        if self._listener is None and not hooks.wants_events:
            return
        self._seq += 1
        event = kind(head=self.head, seq=self._seq, at_ms=self._parts.options.clock.now_ms(), **fields)
        if self._listener is not None:
            self._listener(event)
        hooks.event(event)

    @property
    def listens(self) -> bool:
        """Whether anybody sees text as it comes."""
        return self._listener is not None or self._parts.hooks.wants_events

    @property
    def parts(self) -> AgentParts:
        """What all turns of the agent share."""
        return self._parts

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the turn's clock while people are asked; it goes on when the last question is answered."""
        loop, deadline = asyncio.get_running_loop(), self.deadline
        if self._questions == 0 and deadline is not None and (when := deadline.when()) is not None:
            self._left_s = when - loop.time()
            deadline.reschedule(None)
        self._questions += 1
        try:
            yield
        finally:
            self._questions -= 1
            if self._questions == 0 and deadline is not None and self._left_s is not None:
                deadline.reschedule(loop.time() + self._left_s)

    def reserve_call(self) -> ToolResult | None:
        """Count one call; a result says that the limit is reached."""
        limit = self._parts.options.limits.tool_calls
        if limit is not None and self._tool_calls >= limit:
            self._fault = limit_of("tool_calls", f"{limit} tool calls were made", "max_tool_calls")
            return ToolResult.failed("limit.tool_calls", f"Not done: the limit of {limit} tool calls is reached.")
        self._tool_calls += 1
        return None

    async def intend(self, call: ToolCall) -> None:
        """Put on disk that a call with side effects is about to run."""
        await self._parts.conversation.intend(call)

    def denied(self, rule: str) -> None:
        """Note that a rule or a person stopped a call."""
        self._denied.append(rule)

    def book(self, request_id: str, usage: Usage) -> None:
        """Add up tokens and money."""
        self.usage = self.usage + usage
        self.emit(
            UsageEvent,
            request_id=request_id,
            input=usage.input,
            cached=usage.cached,
            output=usage.output,
            reasoning=usage.reasoning,
            cost_micro_usd=usage.cost_micro_usd,
        )

    def saw(self, text: str) -> None:
        """Note text that was shown before the answer is whole."""
        self._partial += text

    def asking(self, request_id: str, attempt: int) -> None:
        """Tell that a request goes out; what an earlier attempt showed is no part of the answer."""
        self._partial = ""
        self.emit(
            RequestStarted,
            request_id=request_id,
            round=self.rounds,
            attempt=attempt,
            provider=self._parts.provider.name,
            model=self._parts.model,
        )

    # -- inside ------------------------------------------------------------

    async def _work(self, waiting: deque[tuple[int, ToolCall]]) -> None:
        while waiting:
            index, call = waiting.popleft()
            self._results[index] = await self._run_call(call)

    async def _run_call(self, call: ToolCall) -> ToolResult:
        try:
            result = await self._parts.dispatcher.dispatch(call, self)
        except StoreError as failure:
            self._fault = failure
            return ToolResult.failed(failure.code, "Not run: the call could not be recorded.")
        times = self._repeat.count(call, result)
        if times >= STOP_AFTER:
            self._fault_stuck(call)
        if times >= HINT_AFTER:
            return replace(result, content=result.content + HINT.format(times=times))
        return result

    def _fault_stuck(self, call: ToolCall) -> None:
        self._fault = FerruleError(
            f"the model repeated the same failing call of {call.name} {STOP_AFTER} times",
            code="loop.stuck",
            hint="say what to do differently; the conversation is kept",
        )

    def _answer_calls(self) -> None:
        options, conversation = self._parts.options, self._parts.conversation
        for call, result in zip(self._calls, self._results, strict=True):
            answer = CANCELLED if result is None else result
            message_id, now = options.ids.new("msg"), options.clock.now_ms()
            conversation.add(tool_message(call, answer, id=message_id, at_ms=now))
        self._results = []

    def _assistant(self, asked: Asked) -> Message:
        options = self._parts.options
        return Message(
            id=options.ids.new("msg"),
            role="assistant",
            text=asked.text,
            calls=self._calls,
            reasoning=asked.reasoning,
            reasoning_field=asked.reasoning_field,
            origin="model",
            at_ms=options.clock.now_ms(),
        )

    def _unfinished(self, text: str) -> Message:
        options = self._parts.options
        return Message(
            id=options.ids.new("msg"),
            role="assistant",
            text=text,
            status="writing",
            origin="model",
            at_ms=options.clock.now_ms(),
        )
