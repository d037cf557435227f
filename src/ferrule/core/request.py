"""One model request with its retries: events become guarded text, calls and usage."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from types import AsyncGeneratorType
from typing import Any, Protocol

from ..ports.guard import StreamGuard
from ..types.completion import (
    CallReady,
    Finished,
    ModelOptions,
    ProviderEvent,
    ReasoningChunk,
    Request,
    StopReason,
    TextChunk,
    UsageReported,
)
from ..types.errors import ContextOverflow, EmptyAnswer, ProviderError, RateLimited, StreamBroken
from ..types.events import Notice, ReasoningDelta, Rollover, TextDelta
from ..types.log_context import bound
from ..types.tools import ToolCall
from ..types.usage import Usage
from .guard import NoSecrets
from .parts import AgentParts
from .toolset import ToolSet
from .trim import present_turn, share_of, size_of, size_of_tools, too_long

log = logging.getLogger(__name__)

FIRST_DELAY_S = 0.5
LONGEST_WAIT_S = 60.0
"""A vendor that asks for a longer pause gets none: the turn fails and says so."""

CUT: dict[StopReason, str] = {
    "length": "the answer was cut at the model's output limit",
    "content_filter": "the vendor's content filter cut the answer",
}


@dataclass(slots=True, kw_only=True)
class Asked:
    """A whole answer, guarded."""

    text: str = ""
    reasoning: str | None = None
    reasoning_field: str = ""
    calls: tuple[ToolCall, ...] = ()
    reason: StopReason = "stop"


class AskingTurn(Protocol):
    """What a request needs of its turn."""

    tools: ToolSet

    @property
    def parts(self) -> AgentParts:
        """What all turns of the agent share."""
        ...

    @property
    def listens(self) -> bool:
        """Whether anybody sees text as it comes."""
        ...

    @property
    def model_options(self) -> ModelOptions:
        """Parameters of the next request."""
        ...

    def emit(self, kind: type[Any], /, **fields: object) -> None:
        """Send an event, if anybody listens."""
        ...

    def asking(self, request_id: str, attempt: int) -> None:
        """Tell that a request goes out."""
        ...

    def saw(self, text: str) -> None:
        """Note text that was shown before the answer is whole."""
        ...

    def book(self, request_id: str, usage: Usage) -> None:
        """Add up tokens and money."""
        ...


async def ask_model(turn: AskingTurn) -> Asked:
    """Ask the model until it answers, at most as often as the options say.

    Raises:
        ProviderError: it did not answer, or in a way that asking again cannot mend.
    """
    options, attempt, is_trimmed = turn.parts.options, 0, False
    while True:
        attempt += 1
        request_id = options.ids.new("req")
        try:
            with bound({"request": request_id}):
                turn.asking(request_id, attempt)
                return await _ask_once(turn, request_id)
        except ContextOverflow as error:
            _trim(turn, error, is_trimmed=is_trimmed)
            is_trimmed = True
        except ProviderError as error:
            delay = _delay(error, attempt)
            if not error.retryable or attempt >= options.attempts or delay > LONGEST_WAIT_S:
                raise
            log.warning("request %s failed, asking again in %.1f s: %s", request_id, delay, error)
            guard = options.guard or NoSecrets()
            text = guard.clean(f"{error}; asking again in {delay:.0f} s")
            turn.emit(Notice, code="provider.retry", text=text)
            await options.clock.sleep(delay)


def _trim(turn: AskingTurn, error: ContextOverflow, *, is_trimmed: bool) -> None:
    """Leave out older turns, once; the same request is never made twice.

    Raises:
        ContextOverflow: there is nothing more to leave out; names sizes and the fix.
    """
    conversation, specs = turn.parts.conversation, turn.tools.specs
    instructions = size_of(() if conversation.system is None else (conversation.system,))
    trimmed = None
    if not is_trimmed:
        trimmed = conversation.trim(instructions + size_of_tools(specs), share_of(str(error)))
    if trimmed is None:
        history = [message for message in conversation.outgoing() if message.role != "system"]
        present = present_turn(history, conversation.turn_began)
        text, hint = too_long(instructions, specs, history, present=present)
        raise ContextOverflow(f"{text}. The vendor says: {error}", hint=hint) from error
    before, after = trimmed
    log.warning("the request was too long, %d of %d messages are left out: %s", before - after, before, error)
    text = f"the conversation is too long for the model: the oldest {before - after} messages are no longer sent"
    turn.emit(Rollover, kind="trim", messages_before=before, messages_after=after, document_id=None)
    turn.emit(Notice, code="context.trimmed", text=text)


def _delay(error: ProviderError, attempt: int) -> float:
    if isinstance(error, RateLimited) and error.retry_after_s is not None:
        return max(0.0, error.retry_after_s)
    return FIRST_DELAY_S * 2.0 ** (attempt - 1)


async def _ask_once(turn: AskingTurn, request_id: str) -> Asked:
    parts, tools = turn.parts, turn.tools
    request = Request(
        id=request_id,
        messages=parts.conversation.outgoing(),
        tools=tools.specs,
        options=turn.model_options,
        deltas=turn.listens,
    )
    answer = _Answer(turn, request_id)
    events = parts.provider.stream(request)
    try:
        return await _read(events, answer, turn)
    finally:
        # A generator that is only dropped is closed later, by a task of the event loop.
        if type(events) is AsyncGeneratorType or isinstance(events, AsyncGenerator):
            await events.aclose()


async def _read(events: AsyncIterator[ProviderEvent], answer: _Answer, turn: AskingTurn) -> Asked:
    async for event in events:
        if isinstance(event, TextChunk):
            answer.text(event.text)
        elif isinstance(event, ReasoningChunk):
            answer.think(event.text, event.field)
        elif isinstance(event, CallReady):
            answer.calls.append(event.call)
        elif isinstance(event, UsageReported):
            turn.book(answer.request_id, event.usage)
        else:
            return answer.finish(event)
    raise StreamBroken(f"{turn.parts.provider.name} ended its answer without a last event")


class _Answer:
    """An answer that is being written."""

    def __init__(self, turn: AskingTurn, request_id: str) -> None:
        self._turn = turn
        self.request_id = request_id
        self._guard = turn.parts.options.guard or NoSecrets()
        self._stream: StreamGuard = self._guard.stream()
        self._thinking: StreamGuard | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._field = ""
        self.calls: list[ToolCall] = []

    def text(self, piece: str) -> None:
        self._show(self._stream.feed(piece))

    def think(self, piece: str, field: str) -> None:
        if self._thinking is None:
            self._thinking = self._guard.stream()
        self._field = field
        self._show_reasoning(self._thinking.feed(piece))

    def finish(self, end: Finished) -> Asked:
        self._show(self._stream.flush())
        if self._thinking is not None:
            self._show_reasoning(self._thinking.flush())
        text = "".join(self._text)
        if not text and not self.calls and self._thinking is None:
            raise EmptyAnswer("the model answered with nothing", hint="ask again, or use another model")
        if end.reason in CUT and not self.calls:
            self._turn.emit(Notice, code=f"answer.{end.reason}", text=CUT[end.reason])
        return Asked(
            text=text,
            reasoning=None if self._thinking is None else "".join(self._reasoning),
            reasoning_field=self._field,
            calls=tuple(self.calls),
            reason=end.reason,
        )

    def _show(self, text: str) -> None:
        if text:
            self._text.append(text)
            self._turn.saw(text)
            self._turn.emit(TextDelta, request_id=self.request_id, text=text)

    def _show_reasoning(self, text: str) -> None:
        if text:
            self._reasoning.append(text)
            self._turn.emit(ReasoningDelta, request_id=self.request_id, text=text)
