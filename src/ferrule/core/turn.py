"""One turn: the steps that the loop names, and what they leave behind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from ..types.completion import ModelOptions
from ..types.errors import StoreError
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
from ..types.turn import SILENT, TurnResult
from ..types.usage import MICRO, Usage
from .calls import RoundCalls
from .conversation import undisturbed
from .endings import GO_ON, Ending, Stopped, guarded_error, info_of, limit_of
from .guard import NoSecrets
from .hooks import HookSet
from .leash import Leash
from .output import OutputForm
from .parts import AgentParts
from .request import Asked, ask_model
from .results import readable
from .toolset import ToolSet

log = logging.getLogger(__name__)


class Turn:
    """One turn of an agent. Hooks see it as their send context.

    Attributes:
        content: What was sent.
        state: Room for hooks, for the length of the turn.
        rounds: Model requests made.
        usage: Tokens and money so far.
        hooks: The hooks that were there when the turn began.
        leash: Stops the turn.
    """

    def __init__(
        self,
        parts: AgentParts,
        content: Content,
        *,
        listener: Callable[[AgentEvent], None] | None,
        form: OutputForm | None = None,
    ) -> None:
        options = parts.options
        self._parts = parts
        self.content = content
        self.turn_id = options.ids.new("trn")
        self.head = Head(session_id=parts.conversation.session.id, turn_id=self.turn_id, agent=options.name)
        self.state: dict[str, object] = {}
        self.rounds = 0
        self.usage = Usage()
        self.text = ""
        self.hooks: HookSet = parts.hooks.current
        self.leash = Leash(options.limits.wall_time_s)
        self.tools: ToolSet = parts.toolbox.current
        self._listener = listener
        self._form = form
        self._seq = 0
        self._denied: list[str] = []
        self._began = self._started = self._in_round = False
        self._calls = RoundCalls(parts.dispatcher, self.leash, options.limits.parallel_tools)
        self._partial = ""
        self._tool_calls = 0

    # -- steps ------------------------------------------------------------

    async def begin(self) -> None:
        """Let hooks reject the message, then add it to the history."""
        parts, options = self._parts, self._parts.options
        self._began = True
        reason = await self.hooks.ask("before_send", self)
        self.leash.check()
        if reason is not None:
            raise Stopped("rejected", ErrorInfo(code="turn.rejected", message=reason.strip() or "rejected by a hook"))
        now = options.clock.now_ms()
        self._started = True
        self.emit(TurnStarted, person=options.person, principal=options.principal, origin=options.origin)
        log.info("turn started")
        if lost := parts.conversation.recover(now):
            text = f"{lost} tool call(s) were interrupted earlier; whether they took effect is unknown"
            self.emit(Notice, code="tool.unknown_outcome", text=text)
        message_id = options.ids.new("msg")
        parts.conversation.begin_turn(user_message(self.content, id=message_id, at_ms=now, origin=options.origin))
        parts.conversation.write_soon()
        self._interrupt(await self.hooks.ask("inner_loops_start", self))

    async def begin_round(self) -> None:
        """Check the limits, let hooks interrupt, refresh the tools."""
        self.leash.check()
        limit = self._parts.options.limits.rounds
        if limit is not None and self.rounds >= limit:
            raise limit_of("rounds", f"{limit} rounds were made and the model still wants to call tools", "max_rounds")
        self._in_round = True
        self._interrupt(await self.hooks.ask("inner_loop_start", self))
        self.leash.check()
        self.tools = self._parts.toolbox.refresh()
        self.rounds += 1

    async def request(self) -> None:
        """Ask the model; its answer becomes the assistant's message."""
        asked = await ask_model(self)
        self.leash.check()  # an answer that comes after a stop is no answer
        options, conversation = self._parts.options, self._parts.conversation
        self._partial = ""
        if options.single_tool_rounds and len(asked.calls) > 1:
            self.text = asked.text
            raise Stopped("failed", _too_many(len(asked.calls)))
        calls = tuple(conversation.unique(readable(call), options.ids) for call in asked.calls)
        self._calls.take(calls)
        self.text = asked.text if not calls or asked.text else self.text
        conversation.add(self._assistant(asked))
        self.spend()

    async def run_tools(self) -> None:
        """Run the round's calls, at most `parallel_tools` at a time; their results follow in call order."""
        if not self._calls.asked:
            return
        await self._calls.run(self)
        self._answer_calls()
        self._calls.check()

    async def commit(self) -> None:
        """Put the round on disk."""
        await self._parts.conversation.commit()

    async def end_round(self) -> None:
        """Tell the hooks that a round which began has ended, however; they cannot veto."""
        if not self._in_round:
            return
        self._in_round = False
        telling = self.hooks.tell("inner_loop_end", self)
        await (undisturbed(telling) if "inner_loop_end" in self.hooks.steps else telling)

    def check_progress(self) -> None:
        """Stop a model that goes round in circles."""
        if self._calls.repeat.is_lost:
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
            spent, most = (usage.cost_micro_usd or 0) / MICRO, limits.cost_micro_usd / MICRO
            raise limit_of("cost", f"${spent:.6f} were spent, the limit is ${most:.6f}", "max_cost_micro_usd")

    @property
    def is_answered(self) -> bool:
        """Whether the model answered without asking for tools."""
        return not self._calls.asked

    def repair(self) -> bool:
        """Take the answer in the wanted form; True when the model is asked for it once more."""
        if self._form is None or (text := self._form.take(self.text)) is None:
            return False
        options = self._parts.options
        message_id, now = options.ids.new("msg"), options.clock.now_ms()
        self._parts.conversation.add(user_message(text, id=message_id, at_ms=now, origin="operator"))
        return True

    # -- the end ----------------------------------------------------------

    @property
    def settles_at_once(self) -> bool:
        """Whether nothing in `settle` waits, so that no cancellation can come between."""
        waits = self._in_round or self._partial or self._calls.is_unanswered or self.hooks.watch_ends
        return not (waits or self._parts.conversation.is_unwritten)

    async def settle(self, ending: Ending) -> TurnResult:
        """Leave a valid history behind, whatever happened, and tell everybody."""
        status, error = ending.status, ending.error
        await self.end_round()
        if self._started:
            error = await self._keep_what_was_done(status, error)
            status = "failed" if error is not None and status == "completed" else status
            await self.hooks.tell("inner_loops_end", self)
        if self._began:
            await self.hooks.tell("after_send", self)
        if status == "completed" and not self.text.strip():
            self.emit(Notice, code="answer.silent", text=SILENT)
        error = guarded_error(self._parts.options.guard or NoSecrets(), error)
        output = None if self._form is None else self._form.value
        self.emit(TurnFinished, status=status, error=error, rounds=self.rounds, usage=self.usage, output=output)
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
            output=output,
        )

    async def _keep_what_was_done(self, status: TurnStatus, error: ErrorInfo | None) -> ErrorInfo | None:
        self._answer_calls()
        if self._partial:
            end: Literal["aborted", "error"] = "aborted" if status == "cancelled" else "error"
            self._parts.conversation.add(self._unfinished(self._partial).advance(end))
        try:
            await self._parts.conversation.commit()
        except StoreError as failure:
            if error is None or error.code != failure.code:
                self.tell_unstored(failure)
            return error or info_of(failure)
        return error

    def tell_unstored(self, failure: StoreError) -> None:
        """Tell of a failed write beside the first cause, which stays the outcome."""
        log.error("the turn could not be stored: %s", failure)
        self.emit(Notice, code=failure.code, text=f"the turn could not be stored: {failure}")

    # -- what a call needs of its turn -------------------------------------

    def emit(self, kind: type[Any], /, **fields: object) -> None:
        """Send an event, if anybody listens."""
        hooks = self.hooks
        if self._listener is None and not hooks.events:
            return
        self._seq += 1
        event = kind(head=self.head, seq=self._seq, at_ms=self._parts.options.clock.now_ms(), **fields)
        if self._listener is not None:
            self._listener(event)
        hooks.event(event)

    @property
    def listens(self) -> bool:
        """Whether anybody sees text as it comes."""
        return self._listener is not None or bool(self.hooks.events)

    @property
    def model_options(self) -> ModelOptions:
        """Parameters of the next request."""
        options = self._parts.model_options
        return options if self._form is None else self._form.options(options)

    @property
    def agent(self) -> str:
        """Alias of the agent."""
        return self.head.agent

    @property
    def session_id(self) -> str:
        """The session of the turn."""
        return self.head.session_id

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as it is now."""
        return self._parts.conversation.messages

    @property
    def parts(self) -> AgentParts:
        """What all turns of the agent share."""
        return self._parts

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Stop the turn's clock while people are asked; it goes on when the last question is answered."""
        self.leash.pause()
        try:
            yield
        finally:
            self.leash.resume()

    def reserve_call(self) -> ToolResult | None:
        """Count one call; a result says that the limit is reached."""
        self.leash.check()  # a hook or an approver may have swallowed a stop
        limit = self._parts.options.limits.tool_calls
        if limit is not None and self._tool_calls >= limit:
            self._calls.fail(limit_of("tool_calls", f"{limit} tool calls were made", "max_tool_calls"))
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
        self.leash.check()
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

    def _interrupt(self, reason: str | None) -> None:
        if reason is not None:
            message = reason.strip() or "interrupted by a hook"
            raise Stopped("interrupted", ErrorInfo(code="turn.interrupted", message=message))

    def _answer_calls(self) -> None:
        options, conversation = self._parts.options, self._parts.conversation
        for call, answer in self._calls.answers():
            message_id, now = options.ids.new("msg"), options.clock.now_ms()
            conversation.add(tool_message(call, answer, id=message_id, at_ms=now))

    def _assistant(self, asked: Asked) -> Message:
        options = self._parts.options
        return Message(
            id=options.ids.new("msg"),
            role="assistant",
            text=asked.text,
            calls=self._calls.asked,
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


def _too_many(count: int) -> ErrorInfo:
    return ErrorInfo(
        code="rounds.multiple_calls",
        message=f"the model asked for {count} tools at once, and this agent takes one a round; none of them ran",
        hint=f"{GO_ON}, use a model that can be held to one call, or set single_tool_rounds = false",
    )
